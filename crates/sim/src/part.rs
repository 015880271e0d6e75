//! The events of a run, or of a part of its network.

use fairlane_qdisc::Time;

use crate::border::Mailboxes;
use crate::control::Control;
use crate::delays::Delays;
use crate::flow::Flow;
use crate::link::LinkQueue;
use crate::network::Network;
use crate::numbered::Numbered;
use crate::observer::Observer;
use crate::packet::Packet;
use crate::prefetch::Prefetcher;
use crate::schedule::Next;
use crate::target::Target;

/// Links and flows, with what is to happen to them: those of the whole run, or those of one of the parts into which a run on several threads
/// is [divided](crate::division).
pub(crate) struct Part<O> {
    pub(crate) network: Network<O>,
    pub(crate) flows: Numbered<Flow>,
    pub(crate) prefetcher: Prefetcher,
    pub(crate) delays: Delays,
    pub(crate) now: Time,
    /// The events that have been handled.
    pub(crate) events: u64,
    /// The number of events at which [`Control::stopped`] is asked again.
    check_at: u64,
}

/// Events between two checks of [`Control::stopped`].
const CHECK_EVERY: u64 = 1 << 14;

impl<O: Observer> Part<O> {
    /// Returns a part at time zero of a run of `count` flows in all, of which it has `flows`.
    pub(crate) fn new(network: Network<O>, flows: Numbered<Flow>, delays: Delays, count: usize) -> Self {
        Self {
            network,
            flows,
            prefetcher: Prefetcher::new(count),
            delays,
            now: Time::ZERO,
            events: 0,
            check_at: CHECK_EVERY,
        }
    }

    /// Handles every event before `until`; returns true if `control` stopped the run.
    pub(crate) fn handle_before(&mut self, until: Time, control: &Control) -> bool {
        let stopped = self.handle_in_order(until, control);
        if !stopped {
            self.now = until;
        }
        for link in self.network.events.links_before(self.now) {
            self.run_link(self.now, link);
        }
        stopped
    }

    /// Handles the events before `until`, but those at links that are looked at later; returns true if `control` stopped the run.
    fn handle_in_order(&mut self, until: Time, control: &Control) -> bool {
        while let Some((at, next)) = self.network.events.next_before(until) {
            self.now = at;
            match next {
                Next::Link(link) => {
                    self.run_link(at, link);
                    continue;
                }
                Next::Arrival(arriving) => {
                    let popped = self.network.events.pop(arriving);
                    let Some(packet) = &popped else { continue };
                    if self.prefetcher.is_enabled() {
                        let Network { events, topology, sacks, .. } = &mut self.network;
                        self.prefetcher.advance(events.last_place(arriving), (topology, sacks), &self.flows);
                    }
                    self.arrive(at, packet);
                }
                Next::Event(target) => self.handle(at, target),
            }
            self.events += 1;
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
        let Self { network, prefetcher, flows, .. } = self;
        self.events += network.run_link(until, link, |of, waiting| prefetcher.advance(waiting, of, flows));
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
            self.deliver(now, packet);
        }
    }

    fn handle(&mut self, now: Time, target: Target) {
        let Self { network, prefetcher, flows, .. } = self;
        prefetcher.advance_events(network.events.timers(), flows);
        match target {
            Target::LinkFree(link) => network.link_free(now, link),
            Target::ReorderedArrival(link) => {
                if let Some(packet) = network.take_reordered(link) {
                    self.arrive_reordered(now, &packet);
                }
            }
            Target::Release(link) => network.release(now, link),
            Target::Source(flow) => flows.with(flow, |flow| flow.on_source(now, network)),
            Target::SenderTimer(flow) => flows.with(flow, |flow| flow.on_sender_timer(now, network)),
            Target::ReceiverTimer(flow) => flows.with(flow, |flow| flow.on_receiver_timer(now, network)),
            Target::RateControl(shaper) => network.control_rate(now, shaper),
        }
    }

    /// Starts the measurement.
    pub(crate) fn begin_measurement(&mut self) {
        let now = self.now;
        self.flows.iter_mut().for_each(|flow| flow.begin_measurement(now));
        self.delays.begin();
        for link in &mut self.network.topology.links {
            if let LinkQueue::Managed(managed) = &mut link.queue
                && let Some(meter) = &mut managed.meter
            {
                meter.begin(self.now);
            }
        }
    }

    /// Passes a packet that has reached its host to its flow, or to the controller whose probe it is.
    #[inline(always)]
    fn deliver(&mut self, now: Time, packet: &Packet) {
        match self.flows.get_mut(packet.flow) {
            Some(flow) => {
                self.delays.arrived(now, packet, flow.is_tcp());
                flow.on_packet(now, packet, &mut self.network);
            }
            None => self.network.probe_answered(now, packet),
        }
    }
}
