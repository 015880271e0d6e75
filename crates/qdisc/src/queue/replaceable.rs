//! A discipline that can be replaced while packets wait.

use alloc::vec::Vec;

use crate::{BoxQdisc, Counters, DropSink, Fate, Packet, Qdisc, Rate, Reason, Status, Time};

/// A discipline that can be replaced while packets wait, as when a router reloads its configuration.
///
/// The newest discipline takes arrivals. Those before it send the packets that they hold, the oldest first; one that
/// holds its packets back lets the next one send. A discipline is removed when its last packet has left. Memory is
/// allocated in [`replace`](Self::replace) only.
///
/// [`counters`](Qdisc::counters) are those of all disciplines since the first was created. The average, the probability
/// and the candidates are those of the newest one.
pub struct ReplaceableQdisc<P: Packet> {
    /// Disciplines that were replaced and hold packets, the oldest first.
    draining: Vec<BoxQdisc<P>>,
    newest: BoxQdisc<P>,
    counters: Counters,
}

impl<P: Packet> ReplaceableQdisc<P> {
    /// Makes `discipline` replaceable. It keeps its packets and its counts.
    #[must_use]
    pub fn new(discipline: BoxQdisc<P>) -> Self {
        Self { draining: Vec::new(), counters: discipline.counters().clone(), newest: discipline }
    }

    /// Sends arrivals to `discipline` from now on. Packets that wait leave first.
    ///
    /// `discipline` must be empty and built for the present rate of the link.
    pub fn replace(&mut self, discipline: BoxQdisc<P>) {
        let before = core::mem::replace(&mut self.newest, discipline);
        if before.packets() > 0 {
            self.draining.push(before);
        }
    }

    /// Returns all disciplines, the oldest first.
    fn all(&self) -> impl Iterator<Item = &BoxQdisc<P>> {
        self.draining.iter().chain([&self.newest])
    }

    /// As [`all`](Self::all), for changes.
    fn all_mut(&mut self) -> impl Iterator<Item = &mut BoxQdisc<P>> {
        self.draining.iter_mut().chain([&mut self.newest])
    }
}

/// Counts drops and marks, and passes them on.
struct Counting<'c, 's, P> {
    counters: &'c mut Counters,
    sink: &'s mut dyn DropSink<P>,
}

impl<P: Packet> DropSink<P> for Counting<'_, '_, P> {
    fn dropped(&mut self, now: Time, packet: P, reason: Reason) {
        self.counters.count_drop(reason, packet.bytes());
        self.sink.dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Time, packet: &P, reason: Reason) {
        self.counters.count_mark(reason, packet.bytes());
        self.sink.marked(now, packet, reason);
    }
}

impl<P: Packet> Qdisc<P> for ReplaceableQdisc<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        self.newest.enqueue(now, packet, &mut Counting { counters: &mut self.counters, sink })
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        let mut sink = Counting { counters: &mut self.counters, sink };
        let waiting = self.draining.iter_mut().find_map(|discipline| discipline.dequeue(now, &mut sink));
        let packet = waiting.or_else(|| self.newest.dequeue(now, &mut sink));
        self.draining.retain(|discipline| discipline.packets() > 0);
        if let Some(packet) = &packet {
            self.counters.departed.add(packet.bytes());
        }
        packet
    }

    fn status(&self) -> Status {
        let mut status = self.newest.status();
        for discipline in &self.draining {
            let older = discipline.status();
            // An empty discipline holds nothing back.
            let ready = status.ready_at.filter(|_| status.packets > 0);
            status.ready_at = ready.into_iter().chain(older.ready_at).min();
            status.packets += older.packets;
            status.bytes += older.bytes;
        }
        status
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        self.all_mut().for_each(|discipline| discipline.link_rate(rate));
    }

    fn candidates(&self, each: &mut dyn FnMut(&P)) {
        self.newest.candidates(each);
    }

    // Provided by the trait too, but from the whole status of each discipline.

    fn packets(&self) -> usize {
        self.all().map(Qdisc::packets).sum()
    }

    fn bytes(&self) -> u64 {
        self.all().map(Qdisc::bytes).sum()
    }

    fn average(&self) -> Option<f64> {
        self.newest.average()
    }

    fn probability(&self) -> Option<f64> {
        self.newest.probability()
    }
}

#[cfg(all(test, feature = "params"))]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec;

    use super::*;
    use crate::{Duration, Host, Kind, QdiscParameters, Seed, SimplePacket};

    const RATE: Rate = Rate::from_bits_per_second(1_000_000);

    fn built(kind: Kind, parameters: &[(&str, &str)]) -> BoxQdisc<SimplePacket> {
        let mut given = QdiscParameters::new(kind);
        for (name, value) in parameters {
            given = given.with(name, *value).unwrap();
        }
        given.resolve(RATE).unwrap().build(&Host { rate: RATE, seed: Seed::new(1) }).unwrap()
    }

    fn droptail(limit: &str) -> BoxQdisc<SimplePacket> {
        built(Kind::DropTail, &[("limit", limit)])
    }

    fn packet(id: u64) -> SimplePacket {
        SimplePacket::new(id % 5, 1000).with_id(id)
    }

    fn taken(queue: &mut ReplaceableQdisc<SimplePacket>) -> Vec<u64> {
        core::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut ())).map(|packet| packet.id).collect()
    }

    /// The state is that of all disciplines. Would catch an arrival that goes to an old discipline, a packet that
    /// overtakes older ones, and a drained discipline that stays.
    #[test]
    fn old_packets_leave_first_and_new_ones_meet_the_new_limit() {
        let mut queue = ReplaceableQdisc::new(droptail("9p"));
        for id in 0..3 {
            queue.enqueue(Time::ZERO, packet(id), &mut ());
        }
        queue.replace(droptail("9p"));
        for id in 3..5 {
            queue.enqueue(Time::ZERO, packet(id), &mut ());
        }
        queue.replace(droptail("1p"));
        for id in 5..9 {
            queue.enqueue(Time::ZERO, packet(id), &mut ());
        }
        assert_eq!((queue.packets(), queue.bytes(), queue.draining.len()), (6, 6000, 2));
        assert_eq!((queue.status().packets, queue.status().bytes), (6, 6000));
        assert_eq!(taken(&mut queue), [0, 1, 2, 3, 4, 5]);
        let counters = queue.counters();
        assert_eq!((counters.arrived.packets, counters.departed.packets), (9, 6));
        assert_eq!(counters.dropped(Reason::Limit).packets, 3);
        assert!(queue.draining.is_empty());
    }

    /// Would catch an empty discipline that is kept, and counts that begin anew.
    #[test]
    fn an_empty_discipline_is_replaced_at_once_and_its_counts_stay() {
        let mut first = droptail("2p");
        for id in 0..3 {
            first.enqueue(Time::ZERO, packet(id), &mut ());
        }
        let mut queue = ReplaceableQdisc::new(first);
        assert_eq!(taken(&mut queue), [0, 1]);
        let counters = queue.counters().clone();
        queue.replace(droptail("2p"));
        assert!(queue.draining.is_empty());
        assert_eq!(queue.counters(), &counters);
        assert_eq!((counters.arrived.packets, counters.departed.packets, counters.dropped_total().packets), (3, 2, 1));
    }

    /// A discipline that releases nothing before a time, and notes the rate of its link.
    struct Held {
        inner: BoxQdisc<SimplePacket>,
        until: Time,
    }

    impl Qdisc<SimplePacket> for Held {
        fn enqueue(&mut self, now: Time, packet: SimplePacket, sink: &mut dyn DropSink<SimplePacket>) -> Fate {
            self.inner.enqueue(now, packet, sink)
        }
        fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<SimplePacket>) -> Option<SimplePacket> {
            (now >= self.until).then(|| self.inner.dequeue(now, sink)).flatten()
        }
        fn status(&self) -> Status {
            Status { ready_at: Some(self.until), ..self.inner.status() }
        }
        fn counters(&self) -> &Counters {
            self.inner.counters()
        }
        fn link_rate(&mut self, rate: Rate) {
            self.until = Time::ZERO + rate.transmission(1000);
        }
    }

    fn held(millis: u64) -> BoxQdisc<SimplePacket> {
        Box::new(Held { inner: droptail("9p"), until: Time::ZERO + Duration::from_millis(millis) })
    }

    /// Would catch a later discipline that waits for one that holds back, a time of an empty discipline, and a rate
    /// that only one discipline learns.
    #[test]
    fn the_next_discipline_sends_while_one_holds_back() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut queue = ReplaceableQdisc::new(held(30));
        queue.enqueue(Time::ZERO, packet(0), &mut ());
        queue.replace(held(10));
        assert_eq!(queue.ready_at(), Some(at(30)));
        queue.enqueue(Time::ZERO, packet(1), &mut ());
        queue.replace(held(20));
        queue.enqueue(Time::ZERO, packet(2), &mut ());
        assert_eq!(queue.ready_at(), Some(at(10)));
        assert_eq!(queue.dequeue(at(5), &mut ()), None);
        assert_eq!(queue.dequeue(at(25), &mut ()), Some(packet(1)));
        assert_eq!((queue.draining.len(), queue.ready_at()), (1, Some(at(20))));
        // 1000 bytes take 8 ms.
        queue.link_rate(RATE);
        assert_eq!(queue.ready_at(), Some(at(8)));
        assert_eq!(queue.dequeue(at(8), &mut ()), Some(packet(0)));
        assert_eq!(queue.dequeue(at(8), &mut ()), Some(packet(2)));
    }

    /// Counts the reports to a sink.
    #[derive(Default)]
    struct Told {
        dropped: Vec<u64>,
        marked: u64,
    }

    impl DropSink<SimplePacket> for Told {
        fn dropped(&mut self, _now: Time, packet: SimplePacket, _reason: Reason) {
            self.dropped.push(packet.id);
        }
        fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {
            self.marked += 1;
        }
    }

    /// Random arrivals at an overload, under every discipline, which is replaced by another every 500 packets. Would
    /// catch a packet that is lost or comes twice while disciplines drain, and a count that differs from the events.
    #[test]
    fn packets_and_counts_are_conserved_while_disciplines_drain() {
        let mut random = Seed::new(3).stream("script");
        let mut queue = ReplaceableQdisc::new(built(Kind::DropTail, &[]));
        let (mut told, mut left, mut arrived) = (Told::default(), vec![], 0);
        let (mut now, mut drained_beside) = (Time::ZERO, 0);
        for kind in Kind::ALL {
            queue.replace(built(kind, &[]));
            for _ in 0..500 {
                now += Duration::from_nanos(u64::from(random.below(8_000_000)));
                queue.enqueue(now, packet(arrived).with_ecn(), &mut told);
                arrived += 1;
                if random.below(3) > 0 {
                    left.extend(queue.dequeue(now, &mut told).map(|packet| packet.id));
                }
                drained_beside += usize::from(!queue.draining.is_empty());
                let counters = queue.counters();
                assert_eq!((counters.arrived.packets, counters.departed.packets), (arrived, left.len() as u64));
                assert_eq!(counters.dropped_total().packets, told.dropped.len() as u64, "{kind}");
                assert_eq!(counters.marked_total().packets, told.marked, "{kind}");
                assert_eq!(arrived, (left.len() + told.dropped.len() + queue.packets()) as u64, "{kind}");
                assert_eq!(queue.bytes(), 1000 * queue.packets() as u64, "{kind}");
            }
        }
        assert!(drained_beside > 1000 && told.marked > 0 && !told.dropped.is_empty());
        let mut seen: Vec<u64> = left.into_iter().chain(told.dropped).collect();
        let fates = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), fates);
    }
}
