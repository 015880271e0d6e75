//! The receiver.

use fairlane_qdisc::Time;
use fairlane_scenario::Tcp;

use super::Ack;

/// The receiving side of one connection.
#[derive(Clone, Debug)]
pub struct Receiver {}

/// What a segment's arrival led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The receiver had not had this segment before.
    pub new: bool,
    /// The acknowledgement to send now.
    pub ack: Option<Ack>,
}

impl Receiver {
    /// A receiver that has received nothing.
    #[must_use]
    pub fn new(_tcp: &Tcp) -> Self {
        Self {}
    }

    /// Takes segment `seq`, which was sent at `sent`; `ce`: marked on its way; `cwr`: the sender has reduced its window.
    pub fn on_segment(&mut self, _now: Time, _seq: u32, _sent: Time, _ce: bool, _cwr: bool) -> Received {
        Received { new: true, ack: None }
    }

    /// The delayed acknowledgement that is due; to be called at [`deadline`](Self::deadline) or later.
    pub fn on_timer(&mut self, _now: Time) -> Option<Ack> {
        None
    }

    /// When a delayed acknowledgement is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        None
    }
}
