//! The hosts, with their flows.
//!
//! # Early delivery
//!
//! Nothing but its packets and its own timers changes the receiver of a bulk transfer or of datagrams, or the sender of
//! a bulk transfer that does not pace. Such a host takes a packet as soon as a lazily processed link sends it, as of
//! its arrival: the packet need not be sorted among all events before. Timers that are due before the packet fire
//! first, and what the host sends in answer comes to a line like all else. Nothing is delivered early beyond the end of
//! a step, where somebody sees the state.
//!
//! Without it an event takes 12 to 16 % more instructions (`bench/budgets.csv`); hosts that only receive early, without
//! senders, save 4 to 6 % less.

use fairlane_qdisc::prefetch::prefetch;
use fairlane_qdisc::{Duration, Time};

use crate::flow::Flow;
use crate::flow::numbered::Numbered;
use crate::measure::observer::Observer;
use crate::measure::path_delay::Delays;
use crate::network::{FlowCache, Network, Receiver};
use crate::packet::Packet;

/// The flows of a run, or of a partition of it, and the records of their arrivals.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) flows: Numbered<Flow>,
    pub(crate) delays: Delays,
    /// The time from which nothing is delivered early; zero in the partitions of a divided run, where each has either
    /// links or flows.
    until: Time,
    /// The time of the last packet that was delivered early.
    last: Time,
    /// The packets that were delivered early.
    pub(crate) early: u64,
}

impl Hosts {
    pub(crate) const fn new(flows: Numbered<Flow>, delays: Delays) -> Self {
        Self { flows, delays, until: Time::ZERO, last: Time::ZERO, early: 0 }
    }

    /// Delivers packets early if they arrive before `until`, and first the ones that waited for early delivery.
    pub(crate) fn advance_to<O: Observer>(&mut self, until: Time, network: &mut Network<O>) {
        if network.boundary.is_none() {
            self.until = until;
        }
        loop {
            let port = network.events.early();
            let first = port.first();
            if first.at >= until {
                return;
            }
            let Some(packet) = port.pop() else { continue };
            if network.prefetches() {
                network.prefetch_at_hosts(first.place(), true, self);
            }
            self.deliver_early(packet.at, &packet, network);
        }
    }

    /// Returns the earliest time at which a run that is stopped at `now` can end, and delivers early only what arrives
    /// before it: then all that has been delivered has happened.
    pub(crate) fn stop_at(&mut self, now: Time) -> Time {
        self.until = self.last.max(now) + Duration::from_nanos(1);
        self.until
    }

    /// Handles an event of the source of `flow`.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, flow: u32, network: &mut Network<O>) {
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.on_source(now, network);
        }
    }

    /// Handles an event of the timers of the sender of `flow`; returns true if one is due.
    pub(crate) fn on_sender_timer<O: Observer>(&mut self, now: Time, flow: u32, network: &mut Network<O>) -> bool {
        self.flows.get_mut(flow).is_some_and(|flow| flow.on_sender_timer(now, network))
    }

    /// Handles an event of the timer of the receiver of `flow`; returns true if it is due.
    pub(crate) fn on_receiver_timer<O: Observer>(&mut self, now: Time, flow: u32, network: &mut Network<O>) -> bool {
        self.flows.get_mut(flow).is_some_and(|flow| flow.on_receiver_timer(now, network))
    }
}

impl<O: Observer> Receiver<O> for Hosts {
    /// Passes a packet to its flow, or to the controller whose probe it is.
    #[inline(always)]
    fn deliver(&mut self, now: Time, packet: &Packet, network: &mut Network<O>) {
        match self.flows.get_mut(packet.flow) {
            Some(flow) => {
                self.delays.arrived(now, packet, flow.is_tcp());
                flow.on_packet(now, packet, network);
            }
            None => network.probe_answered(now, packet),
        }
    }

    #[inline(always)]
    fn takes_early(&self, at: Time) -> bool {
        at < self.until
    }

    #[inline(always)]
    fn deliver_early(&mut self, at: Time, packet: &Packet, network: &mut Network<O>) {
        debug_assert!(at < self.until || network.boundary.is_some(), "a packet of {at:?} is delivered beyond the step");
        self.last = self.last.max(at);
        self.early += 1;
        self.deliver(at, packet, network);
    }
}

impl FlowCache for Hosts {
    #[inline(always)]
    fn prefetch(&self, flow: u32) {
        prefetch(self.flows.get(flow));
    }

    #[inline(always)]
    fn prefetch_scoreboard(&self, flow: u32, sender: bool) {
        if let Some(flow) = self.flows.get(flow) {
            flow.prefetch_scoreboard(sender);
        }
    }
}
