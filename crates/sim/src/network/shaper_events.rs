//! Packets of links with a shaper, and the controllers of their rates.

use fairlane_autorate::{Decision, PROBE_INTERVAL};
use fairlane_qdisc::Time;

use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::Observer;
use crate::network::link::LinkQueue;
use crate::network::shaper::ShapedPart;
use crate::network::{Network, observed};
use crate::packet::Packet;
use crate::schedule::event_key::Target;

impl<O: Observer> Network<O> {
    /// Passes on `packet`, which has left a part of the queue of a link with a shaper.
    #[cold]
    pub(crate) fn send_shaped(&mut self, now: Time, link: u32, part: ShapedPart, packet: &Packet) {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return };
        let (backlog, average) = observed::<O>(&managed.discipline);
        let (sacks, dropped, observer) = (&mut self.sacks, &mut self.dropped, &mut self.observer);
        let meter = managed.meter.as_mut();
        let mut accounting = QueueAccounting { link, meter, sacks, dropped, observer, backlog, average };
        match part {
            ShapedPart::Queue(shaper) => {
                accounting.handed_over(now, packet);
                self.hand_over(now, shaper, packet);
            }
            ShapedPart::Buffer(shaper) => {
                accounting.departed(now, packet);
                self.topology.left_buffer(now, shaper, packet);
                self.transmit(now, link, packet);
            }
        }
    }

    /// Hands `packet`, which has left its discipline, over to the buffer of the link behind `shaper`.
    fn hand_over(&mut self, now: Time, shaper: u32, packet: &Packet) {
        let bytes = self.topology.handed_over(shaper);
        let state = &mut self.topology.shapers[shaper as usize];
        let (queue, buffer) = (state.queue, state.buffer);
        self.events.free_at(now + state.hand_over(packet), queue);
        let mut packet = Packet { route: packet.route + 1, ..*packet };
        if state.control.as_mut().is_some_and(|control| control.left(now, &packet, bytes)) {
            packet.sent = now;
        }
        self.enter(now, buffer, &packet);
    }

    /// Schedules the first observation of each controller.
    pub(crate) fn start_controllers(&mut self) {
        for (number, shaper) in self.topology.shapers.iter().enumerate() {
            if shaper.control.is_some() {
                self.events.push(Time::ZERO, Target::RateControl(number as u32));
            }
        }
    }

    /// Shows the traffic to the controller of `shaper`, and sends its next probe.
    pub(crate) fn control_rate(&mut self, now: Time, shaper: u32) {
        self.events.push(now + PROBE_INTERVAL, Target::RateControl(shaper));
        let bytes = self.topology.handed_over(shaper);
        let Some(control) = &mut self.topology.shapers[shaper as usize].control else { return };
        let decision = control.autorate.traffic(now, bytes);
        let probe = control.probe(now);
        self.decided(shaper, &decision);
        self.inject(now, &probe);
    }

    /// Tells the controller that its probe was answered.
    pub(crate) fn probe_answered(&mut self, now: Time, packet: &Packet) {
        let Some(number) = self.topology.shaper_of(packet) else { return };
        let bytes = self.topology.handed_over(number);
        let Some(control) = &mut self.topology.shapers[number as usize].control else { return };
        if let Some(decision) = control.answered(now, packet, bytes) {
            self.decided(number, &decision);
        }
    }

    /// Applies a decision about the rate of `shaper`.
    fn decided(&mut self, shaper: u32, decision: &Decision) {
        let link = self.topology.shapers[shaper as usize].queue;
        if decision.changes() {
            self.topology.set_shaper_rate(shaper, decision.rate);
        }
        self.observer.decided(link, decision);
    }
}
