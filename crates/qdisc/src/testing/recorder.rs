//! A recorder of the events of packets.

use alloc::vec::Vec;

use crate::{DropSink, Fate, Qdisc, Reason, SimplePacket, Time};

/// An event of a packet, which is identified by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The packet was dropped.
    Dropped(u64, Reason),
    /// The packet was marked, and stays in the queue.
    Marked(u64, Reason),
    /// The packet left for the link.
    Departed(u64),
}

/// Records the events of a discipline, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorder {
    /// The events so far.
    pub events: Vec<Event>,
}

impl DropSink<SimplePacket> for Recorder {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.events.push(Event::Dropped(packet.id, reason));
    }

    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        assert!(packet.marked, "{packet:?} is said to be marked and is not");
        self.events.push(Event::Marked(packet.id, reason));
    }
}

impl Recorder {
    /// Offers `packet`, whose id no other has, to `queue` at `now`, and checks its fate against what is told of it.
    ///
    /// # Panics
    /// The fate differs.
    pub fn enqueue(&mut self, queue: &mut dyn Qdisc<SimplePacket>, now: Time, packet: SimplePacket) -> Fate {
        let before = self.events.len();
        let fate = queue.enqueue(now, packet, self);
        let told = self.events[before..].iter().rev().find_map(|event| match *event {
            Event::Dropped(id, reason) if id == packet.id => Some(Fate::Dropped(reason)),
            Event::Marked(id, reason) if id == packet.id => Some(Fate::Marked(reason)),
            Event::Dropped(..) | Event::Marked(..) | Event::Departed(_) => None,
        });
        assert_eq!(fate, told.unwrap_or(Fate::Queued), "{packet:?}");
        fate
    }

    /// Asks `queue` for a packet at `now`, and records its departure.
    pub fn dequeue(&mut self, queue: &mut dyn Qdisc<SimplePacket>, now: Time) -> Option<SimplePacket> {
        let packet = queue.dequeue(now, self);
        self.events.extend(packet.map(|packet| Event::Departed(packet.id)));
        packet
    }

    /// Checks the counters of `queue`, all of whose events this recorder has seen: each arrival has departed, was
    /// dropped, or is in the queue; and each reason counts the drops and marks that were told.
    ///
    /// # Panics
    /// A counter differs.
    pub fn check_counters(&self, queue: &dyn Qdisc<SimplePacket>) {
        let counters = queue.counters();
        let dropped = counters.dropped_total();
        assert_eq!(counters.arrived.packets, counters.departed.packets + dropped.packets + queue.packets() as u64);
        assert_eq!(counters.arrived.bytes, counters.departed.bytes + dropped.bytes + queue.bytes());
        for reason in Reason::ALL {
            let count = |told: fn(u64, Reason) -> Event| {
                let same = |event: &&Event| match **event {
                    Event::Dropped(id, of) | Event::Marked(id, of) => of == reason && **event == told(id, of),
                    Event::Departed(_) => false,
                };
                self.events.iter().filter(same).count() as u64
            };
            assert_eq!(counters.dropped(reason).packets, count(Event::Dropped), "{reason}");
            assert_eq!(counters.marked(reason).packets, count(Event::Marked), "{reason}");
        }
    }
}
