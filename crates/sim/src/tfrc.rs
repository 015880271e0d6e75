//! TCP-Friendly Rate Control (RFC 5348), as two state machines that own no clock and no packets.
//!
//! The sender sends at a rate, not by a window: the rate that TCP would have for the loss event rate and the round trip time
//! that the receiver lets it know once a round trip, and at most twice what the receiver gets. Losses within one round trip
//! are one event, and the rate of events is averaged over eight intervals between them, so the rate follows the network
//! slowly and smoothly.

mod equation;
mod history;
mod receiver;
mod sender;

pub use equation::{loss_event_rate, throughput};
pub use history::LossHistory;
pub use receiver::{Arrival, Receiver};
pub use sender::Sender;

use fairlane_qdisc::{Duration, Time};

/// What a receiver lets the sender know (RFC 5348, 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// When the last packet that had arrived was sent.
    pub echo: Time,
    /// How long that packet has been here.
    pub delay: Duration,
    /// What arrived lately, in bytes per second.
    pub receive_rate: f64,
    /// The loss event rate p, 0 to 1.
    pub loss_event_rate: f64,
}
