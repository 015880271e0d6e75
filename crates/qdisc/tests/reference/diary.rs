//! What becomes of packets: the slow references say it, and a diary writes down what the library says.

use fairlane_qdisc::{AnyQdisc, Fate, Qdisc, Reason, SimplePacket, Time};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// It was dropped.
    Dropped(u64, Reason),
    /// It was marked, and stays queued.
    Marked(u64, Reason),
    /// It left for the link.
    Departed(u64),
}

/// Writes down what it hears.
#[derive(Default)]
pub(crate) struct Diary(pub(crate) Vec<Event>);

impl Fate<SimplePacket> for Diary {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push(Event::Dropped(packet.id, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        assert!(packet.marked);
        self.0.push(Event::Marked(packet.id, reason));
    }
}

impl Diary {
    /// The link asks `queue` for a packet at `now`.
    pub(crate) fn dequeue(&mut self, queue: &mut AnyQdisc<SimplePacket>, now: Time) -> Option<SimplePacket> {
        let packet = queue.dequeue(now, self);
        self.0.extend(packet.map(|packet| Event::Departed(packet.id)));
        packet
    }

    /// arrived = departed + dropped + backlog, and each reason as it was heard of.
    pub(crate) fn check_books(&self, queue: &AnyQdisc<SimplePacket>) {
        let counters = queue.counters();
        let dropped = counters.dropped_total();
        assert_eq!(counters.arrived.packets, counters.departed.packets + dropped.packets + queue.packets() as u64);
        assert_eq!(counters.arrived.bytes, counters.departed.bytes + dropped.bytes + queue.bytes());
        for reason in Reason::ALL {
            let drops = self.0.iter().filter(|event| matches!(event, Event::Dropped(_, r) if *r == reason)).count();
            let marks = self.0.iter().filter(|event| matches!(event, Event::Marked(_, r) if *r == reason)).count();
            assert_eq!(counters.dropped(reason).packets, drops as u64, "{reason}");
            assert_eq!(counters.marked(reason).packets, marks as u64, "{reason}");
        }
    }
}
