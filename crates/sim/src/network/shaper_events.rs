//! Packets of links with a shaper, and the controllers of their rates.

use fairlane_autorate::{Decision, PROBE_INTERVAL};
use fairlane_qdisc::Time;

use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link_run::AtLink;
use crate::network::shaper::ShapedPart;
use crate::packet::Packet;
use crate::schedule::event_key::Target;
use crate::schedule::link_events::LinkEvent;

impl<O: Observer> Network<O> {
    /// Passes on `packet`, which has left a part of the queue of a link with a shaper.
    #[cold]
    pub(crate) fn send_shaped(&mut self, now: Time, packet: &Packet, at: &mut AtLink<'_>) {
        match at.managed.part {
            Some(ShapedPart::Queue(shaper)) => {
                self.accounting(at).handed_over(now, packet);
                at.events.free = now + self.topology.shapers[shaper as usize].take(packet);
            }
            Some(ShapedPart::Buffer(shaper)) => {
                self.accounting(at).departed(now, packet);
                self.topology.left_buffer(now, shaper, packet);
                self.send_off(now, packet, at);
            }
            None => {}
        }
    }

    /// Hands the packet that has left its discipline, if there is one, over to the buffer of the link behind its
    /// shaper.
    #[inline(always)]
    pub(crate) fn hand_over(&mut self, now: Time, part: Option<ShapedPart>) {
        if let Some(ShapedPart::Queue(shaper)) = part {
            self.hand_over_behind(now, shaper);
        }
    }

    #[inline(never)]
    fn hand_over_behind(&mut self, now: Time, shaper: u32) {
        let bytes = self.topology.handed_over(shaper);
        let state = &mut self.topology.shapers[shaper as usize];
        let Some(mut packet) = state.between.take() else { return };
        packet = Packet { at: now, route: packet.route + 1, ..packet };
        if state.control.as_mut().is_some_and(|control| control.left(now, &packet, bytes)) {
            packet.sent = now;
        }
        let buffer = state.buffer;
        let dropped = self.topology.dropped(buffer);
        self.handle_at_link(now, buffer, LinkEvent::Arrival, Some(packet));
        if self.topology.dropped(buffer) > dropped {
            self.topology.overflowed(now, shaper, packet.flow);
        }
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
        self.records.observer.decided(link, decision);
    }
}
