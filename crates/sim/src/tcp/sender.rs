//! The sender.

use fairlane_qdisc::Time;
use fairlane_scenario::Tcp;

use super::{Ack, Network};

/// The sending side of one connection.
#[derive(Clone, Debug)]
pub struct Sender {}

impl Sender {
    /// A sender that has sent nothing.
    #[must_use]
    pub fn new(_tcp: &Tcp) -> Self {
        Self {}
    }

    /// Begins to send, with unlimited data.
    pub fn start(&mut self, _now: Time, _network: &mut impl Network) {}

    /// Sends no new data from now on; what is outstanding is still repaired.
    pub fn stop(&mut self) {}

    /// Takes an acknowledgement.
    pub fn on_ack(&mut self, _now: Time, _ack: &Ack, _network: &mut impl Network) {}

    /// To be called at [`deadline`](Self::deadline) or later.
    pub fn on_timer(&mut self, _now: Time, _network: &mut impl Network) {}

    /// When the sender wants to be woken if no acknowledgement comes before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        None
    }

    /// Retransmission timeouts so far.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        0
    }
}
