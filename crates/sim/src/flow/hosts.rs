//! The hosts, with their flows.
//!
//! Most flows are alone: nothing but its packets and its own timers changes the receiver of a bulk transfer or its sender. So a packet for such a
//! host can be handled as soon as a link sends it, as of its arrival: it is ahead of its time, and need not be sorted among all that happens
//! before. Timers that are due before the packet fire first, and what the host sends in answer comes to a
//! [delay line](crate::schedule::delay_line::DelayLine) like all else. The result is the same as if each packet were handled in its turn.

use std::mem;

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Application, FlowGroup, Tcp, Traffic};

use crate::flow::Flow;
use crate::flow::numbered::Numbered;
use crate::measure::observer::Observer;
use crate::measure::path_delay::Delays;
use crate::network::Network;
use crate::packet::Packet;
use crate::schedule::delay_line::order;

/// The flows of a run, or of a part of it, and what is noted when their packets arrive.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(crate) flows: Numbered<Flow>,
    pub(crate) delays: Delays,
    /// The time from which nothing is handled ahead; zero in the parts of a divided run, where each has either links or flows.
    until: Time,
    /// The time of the last packet that was handled ahead.
    ahead: Time,
    /// The packets that were handled ahead.
    pub(crate) handled: u64,
    /// Packets that are handled ahead in the order of their arrivals.
    due: Vec<Packet>,
}

impl Hosts {
    /// Returns the hosts of `flows`.
    pub(crate) const fn new(flows: Numbered<Flow>, delays: Delays) -> Self {
        Self { flows, delays, until: Time::ZERO, ahead: Time::ZERO, handled: 0, due: Vec::new() }
    }

    /// Passes a packet that has reached its host to its flow, or to the controller whose probe it is.
    #[inline(always)]
    pub(crate) fn deliver<O: Observer>(&mut self, now: Time, packet: &Packet, network: &mut Network<O>) {
        match self.flows.get_mut(packet.flow) {
            Some(flow) => {
                self.delays.arrived(now, packet, flow.is_tcp());
                flow.on_packet(now, packet, network);
            }
            None => network.probe_answered(now, packet),
        }
    }

    /// Returns true if a packet that arrives at `at` may be handled ahead.
    #[inline(always)]
    pub(crate) fn may_handle(&self, at: Time) -> bool {
        at < self.until
    }

    /// Handles a packet that arrives at `at` ahead of its time.
    #[inline(always)]
    pub(crate) fn deliver_ahead<O: Observer>(&mut self, at: Time, packet: &Packet, network: &mut Network<O>) {
        self.ahead = self.ahead.max(at);
        self.handled += 1;
        self.deliver(at, packet, network);
    }

    /// From now on handles packets ahead that arrive before `until`, and first those that came too early for that.
    pub(crate) fn advance_to<O: Observer>(&mut self, until: Time, network: &mut Network<O>) {
        if network.border.is_none() {
            self.until = until;
        }
        if until <= network.events.first_ahead() {
            return;
        }
        if network.events.has_waited_ahead(until) {
            return self.deliver_sorted(until, network);
        }
        // The packets of a flow for one of its hosts are all on one line.
        for place in 0..network.events.places_ahead() {
            while let Some(packet) = network.events.pop_ahead(place, until) {
                if let Some((prefetcher, events)) = network.prefetcher(self) {
                    prefetcher.advance(events.place_ahead(place));
                }
                self.deliver_ahead(packet.at, &packet, network);
            }
        }
        network.events.find_first_ahead();
    }

    /// Handles the packets that arrive before `until` ahead in the order of their arrivals: some are on lines, and others waited.
    fn deliver_sorted<O: Observer>(&mut self, until: Time, network: &mut Network<O>) {
        let mut due = mem::take(&mut self.due);
        // Of equal packets of a flow, what waited comes first, as in its turn.
        for place in (0..network.events.places_ahead()).rev() {
            due.extend(std::iter::from_fn(|| network.events.pop_ahead(place, until)));
        }
        due.sort_by(order);
        for (place, packet) in due.iter().enumerate() {
            if let Some((prefetcher, _)) = network.prefetcher(self) {
                prefetcher.advance_within(&due, place);
            }
            self.deliver_ahead(packet.at, packet, network);
        }
        due.clear();
        self.due = due;
        network.events.find_first_ahead();
    }

    /// Returns the earliest time at which a run that is stopped at `now` can end, and handles ahead only what arrives before it: then all that
    /// has been handled has happened.
    pub(crate) fn stop_at(&mut self, now: Time) -> Time {
        self.until = self.ahead.max(now) + Duration::from_nanos(1);
        self.until
    }
}

/// Returns true if nothing but data and its own timer changes a receiver of this group.
pub(crate) fn receives_ahead(group: &FlowGroup) -> bool {
    match &group.traffic {
        Traffic::Udp(_) => true,
        Traffic::Tcp(tcp) => {
            group.later_phases.is_empty() && matches!(tcp.application, Application::Ftp | Application::OnOff(_))
        }
        Traffic::Tfrc(_) => false,
    }
}

/// Returns true if nothing but acknowledgements and its own timers changes a sender of this group once it has started. One that paces sends more
/// often by its timer than after an acknowledgement.
pub(crate) fn sends_ahead(group: &FlowGroup) -> bool {
    let Traffic::Tcp(Tcp { application: Application::Ftp, pacing: false, congestion, .. }) = &group.traffic else {
        return false;
    };
    group.stop.is_none() && group.later_phases.is_empty() && !congestion.always_paces()
}
