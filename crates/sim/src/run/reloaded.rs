//! A discipline that has replaced another one while packets waited, as the router's reload does.

use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Packet as _, Qdisc, Rate, Reason, Status, Time};

use crate::packet::Packet;

/// A discipline that takes new packets, and the one before it, whose packets leave first.
pub(crate) struct Reloaded {
    /// The discipline before; `None` once its packets have left.
    before: Option<BoxQdisc<Packet>>,
    discipline: BoxQdisc<Packet>,
    /// The counts of both.
    counters: Counters,
}

impl Reloaded {
    pub(crate) fn new(before: BoxQdisc<Packet>, discipline: BoxQdisc<Packet>) -> Self {
        let counters = before.counters().clone();
        Self { before: Some(before).filter(|before| before.packets() > 0), discipline, counters }
    }
}

/// Counts drops and marks, and passes them on.
struct Counting<'c, 's> {
    counters: &'c mut Counters,
    sink: &'s mut dyn DropSink<Packet>,
}

impl DropSink<Packet> for Counting<'_, '_> {
    fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        self.counters.count_drop(reason, packet.bytes());
        self.sink.dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        self.counters.count_mark(reason, packet.bytes());
        self.sink.marked(now, packet, reason);
    }
}

impl Qdisc<Packet> for Reloaded {
    fn enqueue(&mut self, now: Time, packet: Packet, sink: &mut dyn DropSink<Packet>) {
        self.counters.arrived.add(packet.bytes());
        self.discipline.enqueue(now, packet, &mut Counting { counters: &mut self.counters, sink });
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        let mut sink = Counting { counters: &mut self.counters, sink };
        let first = self.before.as_mut().and_then(|before| before.dequeue(now, &mut sink));
        let packet = first.or_else(|| self.discipline.dequeue(now, &mut sink));
        self.before = self.before.take().filter(|before| before.packets() > 0);
        if let Some(packet) = &packet {
            self.counters.departed.add(packet.bytes());
        }
        packet
    }

    fn status(&self) -> Status {
        let mut status = self.discipline.status();
        if let Some(before) = &self.before {
            let last = before.status();
            // An empty discipline holds nothing back.
            let ready = status.ready_at.filter(|_| status.packets > 0);
            status.ready_at = ready.into_iter().chain(last.ready_at).min();
            status.packets += last.packets;
            status.bytes += last.bytes;
        }
        status
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        if let Some(before) = &mut self.before {
            before.link_rate(rate);
        }
        self.discipline.link_rate(rate);
    }

    fn candidates(&self, each: &mut dyn FnMut(&Packet)) {
        self.discipline.candidates(each);
    }
}
