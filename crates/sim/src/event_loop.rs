//! The events of a run, or of a part of its network.

use fairlane_qdisc::Time;

use crate::control::Control;
use crate::flow::hosts::Hosts;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link::LinkQueue;
use crate::packet::Packet;
use crate::parallel::mailbox::Mailboxes;
use crate::schedule::Next;
use crate::schedule::event_key::Target;

/// Links and flows, with what is to happen to them: those of the whole run, or those of one of the parts into which a run on several threads
/// is [divided](crate::parallel::partition).
pub(crate) struct Part<O> {
    pub(crate) network: Network<O>,
    pub(crate) hosts: Hosts,
    pub(crate) now: Time,
    /// The events that have been handled in their turn.
    pub(crate) events: u64,
    /// The number of events at which [`Control::stopped`] is asked again.
    check_at: u64,
}

/// Events between two checks of [`Control::stopped`].
const CHECK_EVERY: u64 = 1 << 14;

impl<O: Observer> Part<O> {
    /// Returns a part at time zero.
    pub(crate) const fn new(network: Network<O>, hosts: Hosts) -> Self {
        Self { network, hosts, now: Time::ZERO, events: 0, check_at: CHECK_EVERY }
    }

    /// Returns the number of events that have been handled: arrivals, ends of transmissions, timers that were due, and what else was scheduled.
    pub(crate) const fn events(&self) -> u64 {
        self.events + self.hosts.handled + self.network.fired_ahead
    }

    /// Handles every event before `until`; returns true if `control` stopped the run.
    pub(crate) fn handle_before(&mut self, until: Time, control: &Control) -> bool {
        self.hosts.advance_to(until, &mut self.network);
        if !self.handle_in_order(until, control) {
            self.catch_up(until);
            return false;
        }
        // It goes on to where packets have been handled ahead.
        let end = self.hosts.stop_at(self.now);
        self.handle_in_order(end, &Control::default());
        self.catch_up(end);
        true
    }

    /// Handles what happens before `now` at links that are looked at later.
    fn catch_up(&mut self, now: Time) {
        self.now = now;
        for link in self.network.events.links_before(now) {
            self.run_link(now, link);
        }
    }

    /// Handles the events before `until`, but those at links that are looked at later; returns true if `control` stopped the run.
    fn handle_in_order(&mut self, until: Time, control: &Control) -> bool {
        while let Some((at, next)) = self.network.events.next_before(until) {
            self.now = at;
            match next {
                Next::Link(link) => self.run_link(at, link),
                Next::Arrival(arriving) => {
                    let popped = self.network.events.pop(arriving);
                    let Some(packet) = &popped else { continue };
                    if let Some((prefetcher, events)) = self.network.prefetcher(&self.hosts) {
                        prefetcher.advance(events.last_place(arriving));
                    }
                    self.arrive(at, packet);
                    self.events += 1;
                }
                Next::Event(target) => self.events += u64::from(self.handle(at, target)),
            }
            if self.events >= self.check_at {
                self.check_at = self.events + CHECK_EVERY;
                if control.stopped() {
                    return true;
                }
            }
        }
        false
    }

    /// Handles what happens at `link`, which is looked at later, before `until`.
    fn run_link(&mut self, until: Time, link: u32) {
        self.events += self.network.run_link(until, link, &mut self.hosts);
    }

    /// Schedules the arrivals of the packets that other parts have sent.
    pub(crate) fn receive(&mut self, mailboxes: &Mailboxes) {
        let Network { border, events, sacks, .. } = &mut self.network;
        if let Some(border) = border {
            border.receive(mailboxes, events, sacks);
        }
    }

    #[inline(never)]
    fn arrive_reordered(&mut self, now: Time, packet: &Packet) {
        self.arrive(now, packet);
    }

    /// Handles the arrival of `packet` at the far end of a link.
    #[inline(always)]
    fn arrive(&mut self, now: Time, packet: &Packet) {
        if self.network.leave_link(now, packet) {
            self.hosts.deliver(now, packet, &mut self.network);
        }
    }

    /// Handles an event; returns false if it was for a timer whose deadline has moved.
    fn handle(&mut self, now: Time, target: Target) -> bool {
        let Self { network, hosts, .. } = self;
        if let Some((prefetcher, events)) = network.prefetcher(hosts) {
            prefetcher.advance_events(events.timers());
        }
        let flows = &mut hosts.flows;
        match target {
            Target::LinkFree(link) => network.link_free(now, link),
            Target::ReorderedArrival(link) => {
                if let Some(packet) = network.take_reordered(link) {
                    self.arrive_reordered(now, &packet);
                }
            }
            Target::Release(link) => network.release(now, link),
            Target::Source(flow) => flows.with(flow, |flow| flow.on_source(now, network)),
            Target::SenderTimer(flow) => {
                return flows.get_mut(flow).is_some_and(|flow| flow.on_sender_timer(now, network));
            }
            Target::ReceiverTimer(flow) => {
                return flows.get_mut(flow).is_some_and(|flow| flow.on_receiver_timer(now, network));
            }
            Target::RateControl(shaper) => network.control_rate(now, shaper),
        }
        true
    }

    /// Starts the measurement.
    pub(crate) fn begin_measurement(&mut self) {
        let now = self.now;
        self.hosts.flows.iter_mut().for_each(|flow| flow.begin_measurement(now));
        self.hosts.delays.begin();
        for link in &mut self.network.topology.links {
            if let LinkQueue::Managed(managed) = &mut link.queue
                && let Some(meter) = &mut managed.meter
            {
                meter.begin(self.now);
            }
        }
    }
}
