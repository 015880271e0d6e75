use super::*;
use crate::SimplePacket;

fn settings() -> CobaltSettings {
    CobaltSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        floor: Duration::ZERO,
        blue_threshold: Duration::from_millis(400),
        ecn: true,
    }
}

fn cobalt(limit: u32) -> Cobalt<SimplePacket> {
    let queue = Cobalt::new(Config { limit: Size::packets(limit), ..Config::default() }, Seed::new(1));
    queue.unwrap_or_else(|error| panic!("{error}"))
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// Returns COBALT's decision at `now` ms on a packet that waited for `waited` ms.
fn ask(core: &mut CobaltCore, now: u64, waited: u64) -> CobaltVerdict {
    core.test(&settings(), millis(now), Duration::from_millis(waited), false, &mut Seed::new(1).stream("blue"))
}

/// CoDel signals after 100 ms and then at intervals of 100 ms / sqrt(n), and the count falls by the same law, one at a
/// time (Palmei et al.).
#[test]
fn the_count_falls_as_it_rose() {
    let mut core = CobaltCore::new();
    let mut drops = std::vec![];
    for now in 0..1000 {
        if ask(&mut core, now, 10) == CobaltVerdict::Codel {
            drops.push(now);
        }
    }
    // The first after an interval, the next after 100/sqrt(2), 100/sqrt(3) … ms, rounded up to a millisecond.
    assert_eq!(drops[..6], [100, 171, 229, 279, 324, 364]);
    let most = core.count();
    assert_eq!(most as usize, drops.len() + 1);
    // The delay is good again: nothing is dropped, and the count falls to 0.
    let mut counts = std::vec![most];
    for now in 1000..3000 {
        assert_eq!(ask(&mut core, now, 1), CobaltVerdict::Pass);
        if counts.last() != Some(&core.count()) {
            counts.push(core.count());
        }
    }
    let falling: std::vec::Vec<_> = (0..=most).rev().collect();
    assert_eq!(counts, falling);
}

/// BLUE's probability rises by 1/256 and falls by 1/4096, at most once a target (sch_cake's `cobalt_*`), and BLUE
/// ignores ECN.
#[test]
fn blue_follows_overflow_and_idleness() {
    let mut queue = cobalt(2);
    for tick in 0..60 {
        queue.enqueue(millis(tick), SimplePacket::new(1, 1000).with_ecn(), &mut ());
    }
    // The queue is full from 2 ms on; steps are more than 5 ms apart: at 6, 12, … 54 ms.
    assert!((queue.core.probability() - 9.0 / 256.0).abs() < 1e-12, "{}", queue.core.probability());
    while queue.dequeue(millis(60), &mut ()).is_some() {}
    for tick in 61..=121 {
        assert_eq!(queue.dequeue(millis(tick), &mut ()), None);
    }
    // Steps down at 60, 66, … 120 ms.
    assert!((queue.core.probability() - (9.0 / 256.0 - 11.0 / 4096.0)).abs() < 1e-12, "{}", queue.core.probability());
    // Packets that can be marked are dropped with that probability.
    let before = queue.counters().dropped(Reason::Early).packets;
    for tick in 0..20_000_u64 {
        let now = millis(200) + Duration::from_nanos(1000 * tick);
        queue.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        queue.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        queue.dequeue(now, &mut ());
        queue.dequeue(now, &mut ());
    }
    let share = (queue.counters().dropped(Reason::Early).packets - before) as f64 / 40_000.0;
    assert!((0.02..0.036).contains(&share), "{share}");
}

/// A flow that can be marked and does not react cannot keep the queue full: BLUE drops its packets.
#[test]
fn an_unresponsive_flow_is_tamed() {
    let mut queue = cobalt(200);
    let mut waits = std::vec![];
    for tick in 0..200_000_u64 {
        let now = Time::from_nanos(1_000_000 * tick);
        for _ in 0..3 {
            queue.enqueue(now, SimplePacket::new(1, 1000).with_ecn().with_id(tick), &mut ());
        }
        if let Some(packet) = queue.dequeue(now, &mut ()) {
            waits.push(tick - packet.id);
        }
    }
    let late = &waits[waits.len() / 2..];
    let mean = late.iter().sum::<u64>() as f64 / late.len() as f64;
    // A full queue is 200 ms.
    assert!(mean < 100.0, "{mean}");
    assert!(queue.counters().dropped(Reason::Early).packets > 100_000);
}

/// Would catch values that only the text refuses.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let config = Config::default();
    for (config, key) in [
        (Config { target: Duration::ZERO, ..config }, "target"),
        (Config { blue_threshold: Duration::ZERO, ..config }, "blue_threshold"),
    ] {
        let queue = Cobalt::<SimplePacket>::new(config, Seed::new(1));
        assert_eq!(queue.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}
