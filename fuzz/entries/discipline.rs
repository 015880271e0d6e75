//! Any discipline with any parameters under any script of arrivals, departures and time.

use std::collections::BTreeMap;

use arbitrary::{Result, Unstructured};
use fairlane_qdisc::{
    BoxQdisc, Count, Domain, DropSink, Duration, Host, Kind, Qdisc, QdiscParameters, Rate, Reason, Seed, SimplePacket,
    Time, Value,
};

/// Reads parameters and a script from `bytes`, and checks that every packet is accounted for.
pub(crate) fn run(bytes: &[u8]) {
    // The script ends with the bytes.
    let _ = script(&mut Unstructured::new(bytes));
}

fn script(u: &mut Unstructured<'_>) -> Result<()> {
    let kind = *u.choose(&Kind::ALL)?;
    let mut config = QdiscParameters::new(kind);
    for _ in 0..u.int_in_range(0..=8)? {
        let parameter = u.choose(kind.parameters())?;
        let value = value(u, parameter.domain)?;
        // A refused value leaves the parameter unset.
        let _ = config.set(parameter.key, value);
    }
    let rate = *u.choose(&[0, 1, 64_000, 1_000_000, 10_000_000, 1_000_000_000, u64::MAX])?;
    let host = Host { rate: Rate::from_bits_per_second(rate), seed: Seed::new(u.arbitrary::<u8>()?.into()) };
    let Ok(queue) = config.build(&host) else { return Ok(()) };
    let mut bench = Bench { queue, books: Books::default(), now: Time::ZERO, arrived: 0 };
    let outcome = bench.follow(u);
    bench.drain();
    outcome
}

/// A value for a parameter of `domain`: mostly a small and valid one.
fn value(u: &mut Unstructured<'_>, domain: Domain) -> Result<Value> {
    let small = u.int_in_range(0..=40_u32)?;
    let odd = *u.choose(&["0", "1", "3", "17", "999", "65536", "16777216", "18446744073709551615"])?;
    let number = if u.ratio(1, 4)? { odd.to_string() } else { small.to_string() };
    let pick = |u: &mut Unstructured<'_>, units: &[&str]| -> Result<Value> {
        Ok(Value::Text(format!("{number}{}", u.choose(units)?)))
    };
    match domain {
        Domain::Size => pick(u, &["p", "p", "kb", "b"]),
        Domain::Bytes => pick(u, &["b", "kb"]),
        Domain::Packets => pick(u, &["p"]),
        Domain::Rate => pick(u, &["bit", "kbit", "mbit", "tbit"]),
        Domain::Duration => pick(u, &["ns", "us", "ms", "s"]),
        Domain::Ratio | Domain::Number { .. } => {
            Ok(Value::Float(*u.choose(&[1e-9, 0.002, 0.1, 0.25, 0.5, 1.0, 1.5, 4.0, 1000.0])?))
        }
        Domain::Numbers { .. } => Ok(Value::from(*u.choose(&["0.5", "0.25,0.25", "1,1,1", "0.1,0.9", "2,1,4,3"])?)),
        Domain::Switch => Ok(Value::Boolean(u.arbitrary()?)),
        Domain::Choice(names) => Ok(Value::from(*u.choose(names)?)),
        _ => Ok(Value::Text(number)),
    }
}

/// The queued packets, and the counts of all others.
#[derive(Default)]
struct Books {
    /// The packets that are queued, by number.
    queued: BTreeMap<u64, SimplePacket>,
    dropped: [Count; Reason::COUNT],
    marked: [Count; Reason::COUNT],
    departed: Count,
    /// The number of the last packet of each flow that left.
    last: BTreeMap<u64, u64>,
}

impl Books {
    /// Removes a packet. It must have been queued, and since then only its label may have changed, and its class
    /// cleared (`wash` of CAKE).
    fn take(&mut self, packet: &SimplePacket) {
        let known = self.queued.remove(&packet.id).unwrap_or_else(|| panic!("{packet:?} was not queued"));
        // The ECN codepoint stays.
        assert!([known.class, known.class & 0b11].contains(&packet.class), "{packet:?} had the class {}", known.class);
        assert_eq!(SimplePacket { label: known.label, class: known.class, ..*packet }, known);
    }
}

impl DropSink<SimplePacket> for Books {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.take(&packet);
        self.dropped[reason.index()].add(packet.bytes);
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        assert!(packet.marked);
        let known = self.queued.get_mut(&packet.id).expect("only what is queued is marked");
        assert!(known.ecn_capable || known.marked, "{packet:?} cannot be marked");
        known.marked = true;
        self.marked[reason.index()].add(packet.bytes);
    }
}

/// A discipline under test.
struct Bench {
    queue: BoxQdisc<SimplePacket>,
    books: Books,
    now: Time,
    arrived: u64,
}

impl Bench {
    fn follow(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        while !u.is_empty() {
            match u.int_in_range(0..=9_u8)? {
                0..=4 => {
                    let (packet, count) = (packet(u)?, u.int_in_range(1..=8)?);
                    for _ in 0..count {
                        self.arrive(packet);
                    }
                }
                5..=6 => {
                    for _ in 0..u.int_in_range(1..=8)? {
                        self.leave();
                    }
                }
                7 => self.now += Duration::from_nanos(u.int_in_range(0..=3_000_000)?),
                8 => self.now += Duration::from_millis(u.int_in_range(0..=2000)?),
                _ => self.now += Duration::from_nanos(1 << u.int_in_range(0..=63)?),
            }
        }
        Ok(())
    }

    fn arrive(&mut self, packet: SimplePacket) {
        let packet = packet.with_id(self.arrived);
        self.arrived += 1;
        self.books.queued.insert(packet.id, packet);
        self.queue.enqueue(self.now, packet, &mut self.books);
        self.check();
    }

    /// Asks for a packet, and returns true if there was one.
    fn leave(&mut self) -> bool {
        let packet = self.queue.dequeue(self.now, &mut self.books);
        if let Some(packet) = packet {
            self.books.take(&packet);
            self.books.departed.add(packet.bytes);
            let before = self.books.last.insert(packet.flow, packet.id);
            assert!(before.is_none_or(|before| before < packet.id), "{packet:?} was overtaken by {before:?}");
        } else {
            let ready = self.queue.ready_at();
            assert_eq!(ready.is_some(), self.queue.packets() > 0, "who keeps packets back says until when");
            assert!(ready.is_none_or(|ready| ready > self.now), "{ready:?} is not after {:?}", self.now);
        }
        self.check();
        packet.is_some()
    }

    /// Empties the queue. Each call must return a packet, or leave a time at which there will be one.
    fn drain(&mut self) {
        while self.queue.packets() > 0 {
            if self.leave() {
                continue;
            }
            match self.queue.ready_at() {
                Some(Time::MAX) => return,
                Some(ready) => self.now = ready,
                None => {}
            }
        }
        assert_eq!(self.queue.bytes(), 0);
        assert!(!self.leave() && self.books.queued.is_empty());
    }

    /// The discipline's counts must equal those taken from its events.
    fn check(&self) {
        let (queued, counters) = (&self.books.queued, self.queue.counters());
        let bytes: u64 = queued.values().map(|packet| u64::from(packet.bytes)).sum();
        assert_eq!((self.queue.packets(), self.queue.bytes()), (queued.len(), bytes));
        assert_eq!(counters.departed, self.books.departed);
        for reason in Reason::ALL {
            assert_eq!(counters.dropped(reason), self.books.dropped[reason.index()], "{reason}");
            assert_eq!(counters.marked(reason), self.books.marked[reason.index()], "{reason}");
        }
        let gone = counters.departed.bytes + counters.dropped_total().bytes;
        assert_eq!((counters.arrived.packets, counters.arrived.bytes), (self.arrived, gone + bytes));
        assert!(self.queue.average().is_none_or(|average| average.is_finite() && average >= 0.0));
        assert!(self.queue.probability().is_none_or(|probability| (0.0..=1.0).contains(&probability)));
    }
}

/// A packet of one of a few flows. All properties that may select a queue follow from the flow, so that a flow keeps
/// its order.
fn packet(u: &mut Unstructured<'_>) -> Result<SimplePacket> {
    let flow = if u.ratio(1, 16)? { u.arbitrary::<u64>()? } else { u.int_in_range(0..=12_u64)? };
    let bytes = *u.choose(&[0, 1, 40, 576, 1000, 1000, 1500, 9000, u32::MAX])?;
    let mut packet = SimplePacket::new(flow, bytes).with_class((flow.wrapping_mul(0x9e37_79b9) >> 3) as u8);
    packet.ecn_capable = u.arbitrary()?;
    packet.responsive = flow % 3 != 0;
    if flow % 5 == 4 {
        packet = packet.with_l4s();
    }
    if flow % 7 == 6 {
        packet = packet.with_hosts((flow % 2) as u32, (flow % 4) as u32);
    }
    // CSFQ's label in bit/s; mostly 0.
    packet.label = if u.ratio(1, 8)? { u.arbitrary::<u32>()?.into() } else { 0 };
    Ok(packet)
}
