use std::collections::HashMap;

use fairlane_qdisc::headers::FlowsBy;
use fairlane_qdisc::{Host, Kind, Packet as _, QdiscParameters, Seed, Stream};

use super::*;
use crate::nfqueue::PacketMessage;
use crate::packet::classifier::Classifier;
use crate::packet::link_layer::LinkLayer;

const RULE: Marking = Marking::ByRule(1);
const MEGABIT: Rate = Rate::from_bits_per_second(1_000_000);

fn build(config: &QdiscParameters, rate: Rate) -> BoxQdisc<TimestampedPacket> {
    config.build(&Host { rate, seed: Seed::new(1) }).unwrap()
}

/// Ignores all events.
impl PacketObserver for () {}

fn shaper(config: &QdiscParameters, rate: Rate) -> Shaper<()> {
    Shaper::new(build(config, rate), rate, RULE, ())
}

fn droptail(limit: &str) -> QdiscParameters {
    QdiscParameters::new(Kind::DropTail).with("limit", limit).unwrap()
}

/// Returns an ECN-capable UDP packet of `flow` with `bytes` bytes.
fn packet(classifier: &Classifier, id: u32, flow: u8, bytes: u32) -> QueuedPacket {
    let header = [0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, flow, 10, 0, 1, 1, 0, 1, 0, 2, 0, 0, 0, 0];
    let queued = PacketMessage { queue: 0, id, mark: 0, payload: &header, bytes, gso: false, hosts: None };
    QueuedPacket::new(&queued, classifier, RULE)
}

fn classifier() -> Classifier {
    Classifier::new(FlowsBy::FiveTuple, LinkLayer::default())
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Returns the ids of the packets sent since the last call.
fn gone(shaper: &mut Shaper<()>) -> Vec<u32> {
    shaper.verdicts().filter(|verdict| verdict.decision != Decision::Drop).map(|verdict| verdict.id).collect()
}

/// At 1 Mbit/s 1000 bytes take 8 ms. Would catch a first packet that waits, and idle time that is saved up.
#[test]
fn a_link_sends_at_its_rate_and_does_not_save_up_time() {
    let (classifier, mut shaper) = (classifier(), shaper(&droptail("100p"), MEGABIT));
    for id in 0..3 {
        shaper.arrive(millis(1000), packet(&classifier, id, 1, 1000));
    }
    assert_eq!((gone(&mut shaper), shaper.due()), (vec![0], Some(millis(1008))));
    shaper.advance(millis(1007));
    assert_eq!(gone(&mut shaper), [0; 0]);
    shaper.advance(millis(1016));
    assert_eq!((gone(&mut shaper), shaper.due()), (vec![1, 2], None));
    // The link is busy until 1024 ms and idle long before 2000 ms.
    for (at, id) in [(1020, 3), (2000, 4), (2000, 5)] {
        shaper.arrive(millis(at), packet(&classifier, id, 1, 1000));
    }
    assert_eq!((gone(&mut shaper), shaper.due()), (vec![3, 4], Some(millis(2008))));
}

/// Late calls are made up for, so that the rate does not drift: by time T a busy link has begun floor(T / 8 ms) + 1
/// packets, whenever it was called.
#[test]
fn looking_late_does_not_slow_the_link() {
    let (classifier, mut shaper) = (classifier(), shaper(&droptail("2000p"), MEGABIT));
    for id in 0..1500 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    let (mut random, mut now, mut sent) = (Seed::new(1).stream("late"), 0, 0);
    while now < 10_000_000_000 {
        now += u64::from(random.below(40_000_000));
        shaper.advance(Time::from_nanos(now));
        sent += gone(&mut shaper).len() as u64;
        assert_eq!(sent, now / 8_000_000 + 1, "at {now} ns");
    }
    let lateness = shaper.lateness();
    assert!(lateness.count() == sent && lateness.max() < Duration::from_millis(40), "{lateness:?}");
}

/// After a pause of a second only 50 ms of the rate are sent at once: six packets, and the one that was due.
#[test]
fn a_long_pause_is_not_made_up_for() {
    let (classifier, mut shaper) = (classifier(), shaper(&droptail("2000p"), MEGABIT));
    for id in 0..500 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    gone(&mut shaper);
    shaper.advance(millis(1000));
    assert_eq!(gone(&mut shaper).len(), 7);
}

/// CAKE shapes at half of the link's rate. Would catch a shaper inside a discipline that is not asked again in time.
#[test]
fn packets_held_back_by_a_discipline_are_sent_in_time() {
    let config = QdiscParameters::new(Kind::Cake).with("bandwidth", "500kbit").unwrap();
    let (classifier, mut shaper) = (classifier(), shaper(&config, MEGABIT));
    for id in 0..10 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    assert_eq!(gone(&mut shaper), [0]);
    let mut times = Vec::new();
    while let Some(due) = shaper.due() {
        shaper.advance(due);
        times.extend(gone(&mut shaper).iter().map(|_| due));
    }
    let expected: Vec<Time> = (1..10).map(|n| millis(16 * n)).collect();
    assert_eq!(times, expected);
}

/// CAKE holds its packets back for 80 ms each. Packets that arrive for its successor meanwhile are ready at once. The
/// link was idle for 72 ms and must not have saved them up: packets leave 8 ms apart.
#[test]
fn time_in_which_a_discipline_held_back_is_lost() {
    let config = QdiscParameters::new(Kind::Cake).with("bandwidth", "100kbit").unwrap();
    let (classifier, mut shaper) = (classifier(), shaper(&config, MEGABIT));
    for id in 0..10 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    (1..=150).for_each(|at| shaper.advance(millis(at)));
    assert_eq!(gone(&mut shaper), [0, 1]);
    shaper.replace(build(&droptail("9p"), MEGABIT), MEGABIT);
    shaper.advance(millis(150));
    for id in 10..13 {
        shaper.arrive(millis(151), packet(&classifier, id, 1, 1000));
    }
    assert_eq!(gone(&mut shaper), [10]);
    shaper.advance(millis(158));
    assert!(gone(&mut shaper).is_empty());
    shaper.advance(millis(159));
    assert_eq!(gone(&mut shaper), [11]);
    // CAKE's third packet is due at 160 ms; the link is free at 167 ms.
    shaper.advance(millis(167));
    assert_eq!(gone(&mut shaper), [2]);
}

/// Runs a script of arrivals at random times under every discipline. Would catch a packet with two verdicts or none,
/// and counts that disagree with the verdicts.
#[test]
fn every_packet_gets_one_verdict() {
    let classifier = classifier();
    for kind in Kind::ALL {
        let mut random = Seed::new(7).stream("script");
        let mut shaper = shaper(&QdiscParameters::new(kind), Rate::from_bits_per_second(2_000_000));
        let mut verdicts: HashMap<u32, u32> = HashMap::new();
        let (mut now, mut id) = (0, 0);
        while id < 5000 {
            now += u64::from(random.below(4_000_000));
            for _ in 0..random.below(4) {
                id += 1;
                shaper.arrive(
                    Time::from_nanos(now),
                    packet(&classifier, id, random.below(5) as u8, 40 + random.below(1460)),
                );
            }
            shaper.advance(Time::from_nanos(now));
            shaper.verdicts().for_each(|verdict| *verdicts.entry(verdict.id).or_default() += 1);
        }
        let counters = shaper.counters();
        assert!(verdicts.values().all(|count| *count == 1), "{kind}");
        assert_eq!(counters.arrived.packets, u64::from(id), "{kind}");
        let decided = counters.departed.packets + counters.dropped_total().packets;
        assert_eq!((decided, decided + shaper.packets() as u64), (verdicts.len() as u64, u64::from(id)), "{kind}");
        let bytes = counters.departed.bytes + counters.dropped_total().bytes + shaper.bytes();
        assert_eq!(bytes, counters.arrived.bytes, "{kind}");
        assert_eq!(shaper.sojourn().count(), counters.departed.packets, "{kind}");
    }
}

/// Compares with a plain loop over the same discipline, in which the link asks for a packet whenever it has sent the
/// one before, and in vain if the queue is empty. Would catch a shaper that changes a discipline's decisions.
#[test]
fn decisions_are_those_of_a_plain_loop() {
    let choke = QdiscParameters::new(Kind::Choke).with("limit", "60p").unwrap();
    let choke = choke.with("min", "10p").unwrap().with("max", "30p").unwrap();
    for config in [choke, QdiscParameters::new(Kind::Pie), QdiscParameters::new(Kind::FqCodel), droptail("20p")] {
        let (classifier, mut shaper) = (classifier(), shaper(&config, MEGABIT));
        let mut plain = build(&config, MEGABIT);
        let mut accounting = Accounting::<()>::default();
        let mut random: Stream = Seed::new(3).stream("arrivals");
        // Nobody asks before the first arrival.
        let (mut now, mut free) = (Time::ZERO, Time::MAX);
        for id in 0..4000 {
            now += Duration::from_nanos(u64::from(random.below(8_000_000)));
            let (flow, bytes) = (random.below(4) as u8, 100 + 10 * random.below(100));
            while let Some(due) = shaper.due().filter(|due| *due <= now) {
                shaper.advance(due);
            }
            shaper.arrive(now, packet(&classifier, id, flow, bytes));
            while free <= now && take(&mut plain, &mut accounting, free, &mut free) {}
            let arriving = packet(&classifier, id, flow, bytes);
            accounting.arrived(now, &arriving);
            plain.enqueue(now, Tagged::new(arriving, now), &mut accounting);
            if free <= now || id == 0 {
                free = now;
                take(&mut plain, &mut accounting, now, &mut free);
            }
        }
        assert!(accounting.verdicts.iter().any(|verdict| verdict.decision != Decision::Accept), "{}", config.kind());
        let mut both = shaper.accounting.verdicts.iter().zip(&accounting.verdicts);
        assert_eq!(both.position(|(ours, theirs)| ours != theirs), None, "{}", config.kind());
        assert_eq!(shaper.accounting.verdicts.len(), accounting.verdicts.len(), "{}", config.kind());
    }
}

/// Sends the next packet at `at`, and sets `free` to the time at which the link is free again. Returns false if there
/// is no packet.
fn take(plain: &mut BoxQdisc<TimestampedPacket>, accounting: &mut Accounting<()>, at: Time, free: &mut Time) -> bool {
    let Some(waiting) = plain.dequeue(at, accounting) else { return false };
    *free = at + MEGABIT.transmission(u64::from(waiting.packet.bytes()));
    accounting.departed(at, waiting, Duration::ZERO, (RULE, None));
    true
}

/// A limit of one packet takes effect while 20 are queued. Would catch a reload that drops queued packets or lets new
/// ones overtake them.
#[test]
fn another_discipline_keeps_queued_packets() {
    let (classifier, mut shaper) = (classifier(), shaper(&droptail("100p"), MEGABIT));
    for id in 0..21 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    let faster = Rate::from_bits_per_second(2_000_000);
    for discipline in [droptail("50p"), droptail("1p")] {
        shaper.replace(build(&discipline, faster), faster);
    }
    for id in 21..24 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    assert_eq!((shaper.packets(), shaper.counters().dropped_total().packets), (21, 2));
    let mut times = Vec::new();
    while let Some(due) = shaper.due() {
        shaper.advance(due);
        times.push(due);
    }
    let order: Vec<u32> = gone(&mut shaper);
    assert_eq!(order, (0..22).collect::<Vec<_>>());
    // The packet that is being sent takes 8 ms, those after it 4 ms each.
    assert_eq!((times[0], times[20]), (millis(8), millis(8 + 20 * 4)));
}

/// The average of RED decays by m + 1 samples while m packets could have left (Floyd and Jacobson, 1993), here to a
/// sixteenth. Would catch a link that does not tell the discipline when it becomes idle.
#[test]
fn the_average_of_red_decays_while_the_link_is_idle() {
    let config: QdiscParameters = "red min=50p max=100p weight=0.5".parse().unwrap();
    let (classifier, mut shaper) = (classifier(), shaper(&config, MEGABIT));
    for id in 0..5 {
        shaper.arrive(Time::ZERO, packet(&classifier, id, 1, 1000));
    }
    let average = shaper.average().unwrap();
    shaper.advance(millis(32));
    assert_eq!((shaper.packets(), shaper.due()), (0, None));
    // The last packet is through at 40 ms. Three of the mean size could follow.
    shaper.advance(millis(50));
    shaper.arrive(millis(40 + 3 * 8 + 1), packet(&classifier, 5, 1, 1000));
    let decayed = shaper.average().unwrap();
    assert!(average > 2.0 && (decayed - average / 16.0).abs() < 1e-9, "{average} {decayed}");
}
