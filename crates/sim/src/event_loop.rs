//! The event loop of a run, or of a partition of it.

use fairlane_qdisc::Time;

use crate::control::Control;
use crate::flow::hosts::Hosts;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link::LinkQueue;
use crate::schedule::Next;
use crate::schedule::event_key::Target;
use crate::schedule::link_events::LinkEvent;

/// Links and flows with their events: those of a whole run, or those of one of the partitions into which a run on
/// several threads is [divided](crate::parallel::partition).
pub(crate) struct EventLoop<O> {
    pub(crate) network: Network<O>,
    pub(crate) hosts: Hosts,
    pub(crate) now: Time,
    /// The events that have been handled, without early deliveries and early timers.
    pub(crate) events: u64,
    /// The number of events at which [`Control::stopped`] is asked again.
    check_at: u64,
}

/// Events between two checks of [`Control::stopped`].
const CHECK_EVERY: u64 = 1 << 14;

impl<O: Observer> EventLoop<O> {
    /// Returns the event loop at time zero.
    pub(crate) const fn new(network: Network<O>, hosts: Hosts) -> Self {
        Self { network, hosts, now: Time::ZERO, events: 0, check_at: CHECK_EVERY }
    }

    /// Returns the number of events that have been handled: arrivals, ends of transmissions, and timers that were due.
    pub(crate) const fn events(&self) -> u64 {
        self.events + self.hosts.early + self.network.early_timers
    }

    /// Handles every event before `until`; returns true if `control` stopped the run.
    pub(crate) fn handle_before(&mut self, until: Time, control: &Control) -> bool {
        self.hosts.advance_to(until, &mut self.network);
        if !self.handle_in_order(until, control) {
            self.catch_up(until);
            return false;
        }
        // It goes on to where packets have been delivered early.
        let end = self.hosts.stop_at(self.now);
        self.handle_in_order(end, &Control::default());
        self.catch_up(end);
        true
    }

    /// Handles the events before `now` at lazily processed links.
    fn catch_up(&mut self, now: Time) {
        self.now = now;
        for link in self.network.events.lazy_links_before(now) {
            self.events += self.network.run_link(now, link, &mut self.hosts);
        }
        self.network.events.passed(now);
    }

    /// Handles the events before `until`, but those at lazily processed links; returns true if `control` stopped the
    /// run.
    fn handle_in_order(&mut self, until: Time, control: &Control) -> bool {
        let Self { network, hosts, .. } = self;
        while let Some((at, next)) = network.events.next_before(until) {
            self.now = at;
            network.events.passed(at);
            self.events += match next {
                Next::Link(link) => network.run_link(at, link, hosts),
                Next::Arrival(place, packet) => {
                    if network.prefetches() {
                        network.prefetch_at_hosts(place, false, hosts);
                    }
                    network.arrive(at, &packet, hosts);
                    1
                }
                Next::Timer(target) => u64::from(handle(at, target, network, hosts)),
            };
            if self.events >= self.check_at {
                self.check_at = self.events + CHECK_EVERY;
                if control.stopped() || network.failure.is_some() {
                    return true;
                }
            }
        }
        false
    }

    /// Starts the measurement.
    pub(crate) fn begin_measurement(&mut self) {
        let now = self.now;
        for flow in self.hosts.flows.iter_mut() {
            if let Err(error) = flow.begin_measurement(now) {
                self.network.failure.get_or_insert(error);
            }
        }
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

/// Handles an event of the timing wheel; returns false if it was for a timer whose deadline has moved.
fn handle<O: Observer>(now: Time, target: Target, network: &mut Network<O>, hosts: &mut Hosts) -> bool {
    if network.prefetches() {
        network.prefetch_timers(hosts);
    }
    match target {
        Target::LinkFree(link) => network.handle_at_link(now, link, LinkEvent::Free, None),
        Target::Release(link) => network.handle_at_link(now, link, LinkEvent::Release, None),
        Target::Source(flow) => hosts.on_source(now, flow, network),
        Target::SenderTimer(flow) => return hosts.on_sender_timer(now, flow, network),
        Target::ReceiverTimer(flow) => return hosts.on_receiver_timer(now, flow, network),
        Target::RateControl(shaper) => network.control_rate(now, shaper),
    }
    true
}
