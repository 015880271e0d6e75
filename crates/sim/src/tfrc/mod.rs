//! TCP-Friendly Rate Control (RFC 5348) as two state machines without a clock and without I/O.
//!
//! The sender controls a rate instead of a window: TCP's rate at the loss event rate and the round-trip time in
//! the receiver's reports, one per round trip. The rate is at most twice the rate that the receiver gets.
//! Losses within one round trip are one loss event, and the loss event rate is averaged over eight intervals between
//! events, so the rate changes slowly and smoothly.

mod equation;
mod history;
mod receiver;
mod sender;

pub use equation::{loss_event_rate, throughput};
pub use history::LossHistory;
pub use receiver::{Arrival, TfrcReceiver};
pub use sender::TfrcSender;

use fairlane_qdisc::{Duration, Time};

/// A report of the receiver (RFC 5348, section 3.2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Feedback {
    /// The time at which the last received packet was sent.
    pub echo: Time,
    /// The time from the arrival of that packet to the report.
    pub delay: Duration,
    /// The receive rate X_recv, in bytes per second.
    pub receive_rate: f64,
    /// The loss event rate p, from 0 to 1.
    pub loss_event_rate: f64,
}
