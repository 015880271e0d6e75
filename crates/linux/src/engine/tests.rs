use std::collections::HashMap;

use fairlane_qdisc::{Host, Kind, QdiscConfig, Seed, Stream};

use super::*;
use crate::flow::{FlowKeys, FlowsBy};
use crate::link_layer::LinkLayer;
use crate::nfqueue::Queued;

const RULE: Marking = Marking::ByRule(1);
const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);

fn build(config: &QdiscConfig, rate: Rate) -> AnyQdisc<Waiting> {
    config.build(&Host { rate, seed: Seed::new(1) }).unwrap()
}

/// Looks away.
impl Witness for () {}

fn engine(config: &QdiscConfig, rate: Rate) -> Engine<()> {
    Engine::new(build(config, rate), rate, RULE, ())
}

fn droptail(limit: &str) -> QdiscConfig {
    QdiscConfig::new(Kind::DropTail).with("limit", limit).unwrap()
}

/// A UDP packet of `flow` with `bytes` bytes, ECN-capable.
fn packet(keys: &FlowKeys, id: u32, flow: u8, bytes: u32) -> Held {
    let header = [0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, flow, 10, 0, 1, 1, 0, 1, 0, 2, 0, 0, 0, 0];
    let queued = Queued { queue: 0, id, mark: 0, payload: &header, bytes, joined: false };
    Held::new(&queued, keys, LinkLayer::default(), RULE)
}

fn keys() -> FlowKeys {
    FlowKeys::new(FlowsBy::FiveTuple)
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// The ids of the packets that go on, since the last call.
fn gone(engine: &mut Engine<()>) -> Vec<u32> {
    engine.verdicts().filter(|verdict| verdict.decision != Decision::Drop).map(|verdict| verdict.id).collect()
}

/// 1000 bytes take 8 ms at 1 Mbit/s. Would catch a first packet that waits, and time that is saved up while nothing is there.
#[test]
fn a_link_sends_at_its_rate_and_does_not_save_up_time() {
    let (keys, mut engine) = (keys(), engine(&droptail("100p"), MEGABIT));
    for id in 0..3 {
        engine.arrive(millis(1000), packet(&keys, id, 1, 1000));
    }
    assert_eq!((gone(&mut engine), engine.due()), (vec![0], Some(millis(1008))));
    engine.advance(millis(1007));
    assert_eq!(gone(&mut engine), [0; 0]);
    engine.advance(millis(1016));
    assert_eq!((gone(&mut engine), engine.due()), (vec![1, 2], None));
    // The link is busy until 1024, and free long before 2000.
    for (at, id) in [(1020, 3), (2000, 4), (2000, 5)] {
        engine.arrive(millis(at), packet(&keys, id, 1, 1000));
    }
    assert_eq!((gone(&mut engine), engine.due()), (vec![3, 4], Some(millis(2008))));
}

/// Whoever looks late makes up for it, so that the rate does not drift: by T a busy link has begun floor(T / 8 ms) + 1 packets,
/// whatever the moments at which it was looked at.
#[test]
fn looking_late_does_not_slow_the_link() {
    let (keys, mut engine) = (keys(), engine(&droptail("2000p"), MEGABIT));
    for id in 0..1500 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    let (mut random, mut now, mut sent) = (Seed::new(1).stream("late"), 0, 0);
    while now < 10_000_000_000 {
        now += u64::from(random.below(40_000_000));
        engine.advance(Time::from_nanos(now));
        sent += gone(&mut engine).len() as u64;
        assert_eq!(sent, now / 8_000_000 + 1, "at {now} ns");
    }
    let lateness = engine.lateness();
    assert!(lateness.count() == sent && lateness.most() < Duration::from_millis(40), "{lateness:?}");
}

/// After a pause of a second no more than 50 ms of the rate goes out at once: six packets and the one that was due.
#[test]
fn a_long_pause_is_not_made_up_for() {
    let (keys, mut engine) = (keys(), engine(&droptail("2000p"), MEGABIT));
    for id in 0..500 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    gone(&mut engine);
    engine.advance(millis(1000));
    assert_eq!(gone(&mut engine).len(), 7);
}

/// Would catch a discipline's own shaper that is not asked again: CAKE at half of the link's rate.
#[test]
fn what_a_discipline_holds_back_is_asked_for_in_time() {
    let config = QdiscConfig::new(Kind::Cake).with("bandwidth", "500kbit").unwrap();
    let (keys, mut engine) = (keys(), engine(&config, MEGABIT));
    for id in 0..10 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    assert_eq!(gone(&mut engine), [0]);
    let mut times = Vec::new();
    while let Some(due) = engine.due() {
        engine.advance(due);
        times.extend(gone(&mut engine).iter().map(|_| due));
    }
    let expected: Vec<Time> = (1..10).map(|n| millis(16 * n)).collect();
    assert_eq!(times, expected);
}

/// CAKE holds its packets back for 80 ms each; what comes to its successor meanwhile is ready at once, and the link, which was idle
/// for 72 ms, has not saved them up: 8 ms for each packet.
#[test]
fn time_in_which_a_discipline_held_back_is_lost() {
    let config = QdiscConfig::new(Kind::Cake).with("bandwidth", "100kbit").unwrap();
    let (keys, mut engine) = (keys(), engine(&config, MEGABIT));
    for id in 0..10 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    (1..=150).for_each(|at| engine.advance(millis(at)));
    assert_eq!(gone(&mut engine), [0, 1]);
    engine.replace(build(&droptail("9p"), MEGABIT), MEGABIT);
    engine.advance(millis(150));
    for id in 10..13 {
        engine.arrive(millis(151), packet(&keys, id, 1, 1000));
    }
    assert_eq!(gone(&mut engine), [10]);
    engine.advance(millis(158));
    assert!(gone(&mut engine).is_empty());
    engine.advance(millis(159));
    assert_eq!(gone(&mut engine), [11]);
    // CAKE's third is due at 160, and the link is free at 167.
    engine.advance(millis(167));
    assert_eq!(gone(&mut engine), [2]);
}

/// Under every discipline, with a script of arrivals and looks at random times: each packet gets one verdict or waits, and the
/// counts say the same.
#[test]
fn every_packet_gets_one_verdict() {
    let keys = keys();
    for kind in Kind::ALL {
        let mut random = Seed::new(7).stream("script");
        let mut engine = engine(&QdiscConfig::new(kind), Rate::from_bits_per_second(2_000_000));
        let mut verdicts: HashMap<u32, u32> = HashMap::new();
        let (mut now, mut id) = (0, 0);
        while id < 5000 {
            now += u64::from(random.below(4_000_000));
            for _ in 0..random.below(4) {
                id += 1;
                engine.arrive(Time::from_nanos(now), packet(&keys, id, random.below(5) as u8, 40 + random.below(1460)));
            }
            engine.advance(Time::from_nanos(now));
            engine.verdicts().for_each(|verdict| *verdicts.entry(verdict.id).or_default() += 1);
        }
        let counters = engine.counters();
        assert!(verdicts.values().all(|count| *count == 1), "{kind}");
        assert_eq!(counters.arrived.packets, u64::from(id), "{kind}");
        let decided = counters.departed.packets + counters.dropped_total().packets;
        assert_eq!((decided, decided + engine.packets() as u64), (verdicts.len() as u64, u64::from(id)), "{kind}");
        let bytes = counters.departed.bytes + counters.dropped_total().bytes + engine.bytes();
        assert_eq!(bytes, counters.arrived.bytes, "{kind}");
        assert_eq!(engine.sojourn().count(), counters.departed.packets, "{kind}");
    }
}

/// The discipline decides as it does anywhere: what goes on and what is dropped equals a plain loop over the same discipline,
/// in which the link takes a packet whenever it has sent the one before.
#[test]
fn decisions_are_those_of_a_plain_loop() {
    let choke = QdiscConfig::new(Kind::Choke).with("limit", "60p").unwrap();
    let choke = choke.with("min", "10p").unwrap().with("max", "30p").unwrap();
    for config in [choke, QdiscConfig::new(Kind::Pie), QdiscConfig::new(Kind::FqCodel), droptail("20p")] {
        let (keys, mut engine) = (keys(), engine(&config, MEGABIT));
        let mut plain = build(&config, MEGABIT);
        let mut books = Books::<()>::default();
        let mut random: Stream = Seed::new(3).stream("arrivals");
        let (mut now, mut free) = (Time::ZERO, Time::ZERO);
        for id in 0..4000 {
            now += Duration::from_nanos(u64::from(random.below(8_000_000)));
            let (flow, bytes) = (random.below(4) as u8, 100 + 10 * random.below(100));
            while let Some(due) = engine.due().filter(|due| *due <= now) {
                engine.advance(due);
            }
            engine.arrive(now, packet(&keys, id, flow, bytes));
            while free <= now && plain.packets() > 0 {
                take(&mut plain, &mut books, free, &mut free);
            }
            plain.enqueue(now, Tagged::new(packet(&keys, id, flow, bytes), now), &mut books);
            if free <= now {
                free = now;
                take(&mut plain, &mut books, now, &mut free);
            }
        }
        assert!(books.verdicts.iter().any(|verdict| verdict.decision != Decision::Accept), "{}", config.kind());
        assert_eq!(engine.books.verdicts, books.verdicts, "{}", config.kind());
    }
}

/// The link takes the next packet at `at` and is busy for as long as that takes.
fn take(plain: &mut AnyQdisc<Waiting>, books: &mut Books<()>, at: Time, free: &mut Time) {
    if let Some(waiting) = plain.dequeue(at, books) {
        *free = at + MEGABIT.transmission(u64::from(waiting.packet.bytes()));
        books.departed(at, waiting, Duration::ZERO, RULE);
    }
}

/// Would catch a change of the discipline that drops or overtakes what waits: a limit of one packet comes with 20 queued.
#[test]
fn another_discipline_keeps_what_waits() {
    let (keys, mut engine) = (keys(), engine(&droptail("100p"), MEGABIT));
    for id in 0..21 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    let faster = Rate::from_bits_per_second(2_000_000);
    for discipline in [droptail("50p"), droptail("1p")] {
        engine.replace(build(&discipline, faster), faster);
    }
    for id in 21..24 {
        engine.arrive(Time::ZERO, packet(&keys, id, 1, 1000));
    }
    assert_eq!((engine.packets(), engine.counters().dropped_total().packets), (21, 2));
    let mut times = Vec::new();
    while let Some(due) = engine.due() {
        engine.advance(due);
        times.push(due);
    }
    let order: Vec<u32> = gone(&mut engine);
    assert_eq!(order, (0..22).collect::<Vec<_>>());
    // The packet under way takes 8 ms, those after it 4.
    assert_eq!((times[0], times[20], engine.disciplines.len()), (millis(8), millis(8 + 20 * 4), 1));
}
