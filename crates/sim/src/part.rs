//! The events of a run, or of a part of its network.

use fairlane_qdisc::Time;

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
}

/// Events between two checks of [`Control::stopped`].
const CHECK_EVERY: u64 = 1 << 14;

impl<O: Observer> Part<O> {
    /// Handles every event before `until`; returns true if `control` stopped the run.
    pub(crate) fn handle_before(&mut self, until: Time, control: &Control) -> bool {
        while let Some((at, next)) = self.network.events.pop_before(until) {
            self.now = at;
            match next {
                Next::Arrival(packet) => {
                    self.prefetcher.advance(&mut self.network, &self.flows);
                    if let Some(packet) = self.network.leave_link(at, packet) {
                        self.deliver(at, packet);
                    }
                }
                Next::Event(target) => self.handle(at, target),
            }
            self.events += 1;
            if self.events.is_multiple_of(CHECK_EVERY) && control.stopped() {
                return true;
            }
        }
        self.now = until;
        false
    }

    fn handle(&mut self, now: Time, target: Target) {
        let Self { network, flows, .. } = self;
        match target {
            Target::LinkFree(link) => network.link_free(now, link),
            Target::ReorderedArrival(link) => {
                if let Some(packet) = network.arrive_reordered(now, link) {
                    self.deliver(now, packet);
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
    fn deliver(&mut self, now: Time, packet: Packet) {
        match self.flows.get_mut(packet.flow) {
            Some(flow) => {
                self.delays.arrived(now, &packet, flow.is_tcp());
                flow.on_packet(now, packet, &mut self.network);
            }
            None => self.network.probe_answered(now, &packet),
        }
    }
}
