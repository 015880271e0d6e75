//! The way of packets from one end of an emulated network to the other.

mod chain;
mod frame_path;
mod host_link;
mod lateness;
mod stamps;
mod waits;
mod wire;

pub use chain::Chain;
pub use frame_path::{FramePath, Judgement};
pub(crate) use host_link::{DelayLine, HostLink, HostLinks};
pub use lateness::Lateness;
pub use stamps::Stamps;
pub use waits::Waits;
pub(crate) use wire::Wire;

use fairlane_linux::QueuedPacket;
use fairlane_qdisc::{Tagged, Time};

/// A packet of an emulated network.
pub type LinkPacket = Tagged<QueuedPacket, Entry>;

/// The arrival of a packet at the queue, and the number of its flow.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The time of the arrival.
    pub since: Time,
    /// The number, from 0.
    pub flow: u32,
}
