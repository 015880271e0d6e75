//! The state that all kinds of flows have.

use fairlane_qdisc::Time;
use fairlane_scenario::{FlowGroup, Phase};

use crate::network::route::Routes;
use crate::packet::{Flags, NO_SACK, Packet, packet_bytes};

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
    /// The end of the present phase; [`Time::MAX`] if it has none.
    stop: Time,
    /// `None` if the flow has one phase, as most have.
    later: Option<Box<LaterPhases>>,
}

/// The phases after the present one, the last one first.
#[derive(Debug)]
struct LaterPhases(Vec<Phase>);

impl Common {
    /// Returns the state of flow `id` of `group` before its start.
    pub(super) fn new(id: u32, group: &FlowGroup, routes: Routes) -> Self {
        Self {
            id,
            totals: Totals::default(),
            routes,
            bytes: packet_bytes(group.packet),
            class: group.class,
            stop: group.stop.map_or(Time::MAX, |stop| Time::ZERO + stop),
            later: (!group.later_phases.is_empty())
                .then(|| Box::new(LaterPhases(group.later_phases.iter().rev().copied().collect()))),
        }
    }

    /// Returns true if the flow starts again after it has stopped.
    pub(super) fn has_later_phases(&self) -> bool {
        self.later.as_ref().is_some_and(|later| !later.0.is_empty())
    }

    /// Goes on to the first phase that ends after `now` and returns its start, or `now` if that is past; `None` if
    /// there is none.
    pub(super) fn next_phase(&mut self, now: Time) -> Option<Time> {
        loop {
            let phase = self.later.as_mut()?.0.pop()?;
            let (from, to) = (Time::ZERO + phase.from, Time::ZERO + phase.to);
            if to > now {
                self.stop = to;
                return Some(from.max(now));
            }
        }
    }

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

    /// Returns the end of the present phase; `None` if it has none.
    pub(super) fn stop(&self) -> Option<Time> {
        (self.stop < Time::MAX).then_some(self.stop)
    }

    /// Returns true if the flow's stop time has come.
    pub(super) fn is_stopped(&self, now: Time) -> bool {
        now >= self.stop
    }
}
