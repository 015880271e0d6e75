//! The state that all kinds of flows have.

use fairlane_qdisc::Time;

use crate::packet::{Flags, NO_SACK, Packet};
use crate::topology::Routes;

/// The counts at a flow's end points since time zero.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
}

/// The state that all kinds of flows have.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) id: u32,
    pub(crate) totals: Totals,
    pub(super) routes: Routes,
    /// The size of a data packet.
    pub(super) bytes: u32,
    /// The traffic class of data packets.
    pub(super) class: u8,
    pub(super) stop: Option<Time>,
}

impl Common {
    /// Returns a data packet with sequence number 0.
    pub(super) fn data(&self, now: Time, flags: Flags) -> Packet {
        Packet {
            sent: now,
            at: now,
            flow: self.id,
            seq: 0,
            bytes: self.bytes,
            route: self.routes.forward,
            sack: NO_SACK,
            flags,
            class: self.class,
        }
    }

    /// Returns true if the flow's stop time has come.
    pub(super) fn is_stopped(&self, now: Time) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }
}
