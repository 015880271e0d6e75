//! The topology of a scenario: all links, and the route of each flow as a sequence of links.

use fairlane_qdisc::{Qdisc, Rate, Reason, Time};

use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::link_rates::RateChange;
use crate::network::route::{Routes, Step};
use crate::network::shaper::{LinkShaper, REFLECTORS};
use crate::packet::Packet;
use crate::schedule::Ports;

/// Links and routes.
#[derive(Debug)]
pub(crate) struct Topology {
    /// The scenario's links, each forward and then reverse, followed by the buffers of those with a shaper and by the
    /// hosts' links.
    pub(crate) links: Vec<Link>,
    pub(crate) media: Vec<Medium>,
    /// All routes, one after the other, each ended by [`Step::END`].
    pub(crate) table: Vec<Step>,
    /// The first flow of those that have the same routes, and these.
    pub(crate) routes: Vec<(u32, Routes)>,
    /// The number of flows, without those of probes.
    pub(crate) flows: usize,
    pub(crate) shapers: Vec<LinkShaper>,
    /// The changes of links' rates during the run, in the order of time.
    pub(crate) rate_changes: Vec<RateChange>,
    pub(crate) first_host_link: u32,
    /// The ports of the event schedule.
    pub(crate) ports: Ports,
    /// Packets and flows are [prefetched](crate::network::prefetch).
    pub(crate) prefetches: bool,
}

impl Topology {
    /// Returns the number of flows of probes.
    pub(crate) fn probe_flows(&self) -> usize {
        self.shapers.len() * REFLECTORS as usize
    }

    /// Returns the discipline of the queue before `shaper` and its meter.
    fn shaped_queue(&mut self, shaper: u32) -> Option<&mut Managed> {
        match &mut self.links[self.shapers[shaper as usize].queue as usize].queue {
            LinkQueue::Managed(managed) => Some(managed),
            LinkQueue::Droptail(_) => None,
        }
    }

    /// Counts a packet that the link behind `shaper` begins to send: only now it has left the whole queue.
    pub(crate) fn left_buffer(&mut self, now: Time, shaper: u32, packet: &Packet) {
        let arrived = self.shapers[shaper as usize].left();
        if let Some(meter) = self.shaped_queue(shaper).and_then(|queue| queue.meter.as_mut()) {
            meter.departed(now, packet.flow, packet.bytes, arrived.unwrap_or(packet.at));
        }
    }

    /// Returns the packets that the discipline of `link` has dropped so far.
    pub(crate) fn dropped(&self, link: u32) -> u64 {
        match &self.links[link as usize].queue {
            LinkQueue::Managed(managed) => managed.counters().dropped_total().packets,
            LinkQueue::Droptail(_) => 0,
        }
    }

    /// Counts a packet of `flow` for which the buffer behind `shaper` had no room.
    pub(crate) fn overflowed(&mut self, now: Time, shaper: u32, flow: u32) {
        self.shapers[shaper as usize].overflowed();
        if let Some(meter) = self.shaped_queue(shaper).and_then(|queue| queue.meter.as_mut()) {
            meter.dropped(now, flow, Reason::Limit);
        }
    }

    /// Counts a packet of `flow` that was lost on the wire behind `shaper`.
    pub(crate) fn lost_behind(&mut self, shaper: u32, flow: u32) {
        if let Some(meter) = self.shaped_queue(shaper).and_then(|queue| queue.meter.as_mut()) {
            meter.lost(flow);
        }
    }

    /// Returns the bytes that `shaper` has handed over so far.
    pub(crate) fn handed_over(&mut self, shaper: u32) -> u64 {
        self.shaped_queue(shaper).map_or(0, |queue| queue.discipline.counters().departed.bytes)
    }

    /// Tells the controller of `packet`, if it is a probe, that it has passed a link.
    pub(crate) fn probe_passed(&mut self, now: Time, packet: &Packet) {
        let shaper = self.shaper_of(packet).map(|number| &mut self.shapers[number as usize]);
        if let Some(control) = shaper.and_then(|shaper| shaper.control.as_mut()) {
            control.passed(now, packet);
        }
    }

    /// Returns the number of the shaper whose controller has sent the probe `packet`.
    pub(crate) fn shaper_of(&self, packet: &Packet) -> Option<u32> {
        let flows = self.flows as u32;
        packet
            .flow
            .checked_sub(flows)
            .map(|probe| probe / REFLECTORS)
            .filter(|number| *number < self.shapers.len() as u32)
    }

    /// Sets the rate of `shaper` and tells the discipline before it.
    pub(crate) fn set_shaper_rate(&mut self, shaper: u32, rate: Rate) {
        self.shapers[shaper as usize].set_rate(rate);
        if let Some(queue) = self.shaped_queue(shaper) {
            queue.discipline.link_rate(rate);
        }
    }

    /// Returns true if `link` may send several packets of `smallest` bytes within a nanosecond.
    pub(crate) fn is_too_fast(&self, link: u32, smallest: u64) -> bool {
        let medium = &self.media[self.links[link as usize].medium as usize];
        medium.transmission.rate().bits_per_second() > smallest.saturating_mul(8_000_000_000)
    }

    /// Returns the routes of `flow`.
    pub(crate) fn routes_of(&self, flow: u32) -> Routes {
        let after = self.routes.partition_point(|(first, _)| *first <= flow);
        self.routes.get(after.wrapping_sub(1)).map(|(_, routes)| *routes).unwrap_or_default()
    }

    /// Returns true for a droptail link.
    pub(crate) fn is_droptail(&self, link: u32) -> bool {
        matches!(self.links[link as usize].queue, LinkQueue::Droptail(_))
    }
}
