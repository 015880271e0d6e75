use super::*;
use crate::{Duration, Packets, SimplePacket};

fn pi2(pi: PiSettings, drop_overload: bool, probability: f64) -> Pi2<SimplePacket> {
    let limit = Size::Packets(Packets::new(10_000));
    let mut queue = Pi2::new(Settings { limit, pi, drop_overload }, Seed::new(1));
    queue.core = PiCore::new(pi).with(probability, 0.02);
    queue
}

/// Drops and marks in the share of `count` packets.
fn shares(queue: &mut Pi2<SimplePacket>, packet: SimplePacket, count: u32) -> (f64, f64) {
    let total = |queue: &Pi2<SimplePacket>| {
        (queue.counters().dropped(Reason::Early).packets, queue.counters().marked(Reason::Early).packets)
    };
    let before = total(queue);
    for _ in 0..count {
        queue.enqueue(Time::ZERO, packet, &mut ());
        queue.dequeue(Time::ZERO, &mut ());
    }
    let after = total(queue);
    (((after.0 - before.0) as f64) / f64::from(count), ((after.1 - before.1) as f64) / f64::from(count))
}

fn near(share: f64, expected: f64) {
    // Four standard deviations of 100,000 draws, and no more than nothing where nothing is expected.
    let error = 4.0 * libm::sqrt(expected * (1.0 - expected) / 100_000.0);
    assert!((share - expected).abs() <= error, "{share} is not {expected}");
}

/// SPEC 17.6: p_C = p'^2 and p_CL = k p', so p_C = (p_CL / k)^2.
#[test]
fn classic_signals_are_the_square_of_scalable_ones() {
    let packet = SimplePacket::new(1, 1000);
    for p in [0.0, 0.05, 0.2, 0.4] {
        let mut queue = pi2(PiSettings::FROZEN, true, p);
        let (drops, marks) = shares(&mut queue, packet, 100_000);
        near(drops, p * p);
        near(marks, 0.0);
        let (drops, marks) = shares(&mut queue, packet.with_ecn(), 100_000);
        near(marks, p * p);
        near(drops, 0.0);
        let (drops, marks) = shares(&mut queue, packet.with_l4s(), 100_000);
        near(marks, 2.0 * p);
        near(drops, 0.0);
    }
}

/// RFC 9332, appendix A.2: beyond p' = 1/k all are dropped with p'^2, and scalable packets that are left are marked.
#[test]
fn overload_drops_all_alike() {
    let packet = SimplePacket::new(1, 1000);
    let mut queue = pi2(PiSettings::FROZEN, true, 0.6);
    let (drops, marks) = shares(&mut queue, packet.with_ecn(), 100_000);
    near(drops, 0.36);
    near(marks, 0.0);
    let (drops, marks) = shares(&mut queue, packet.with_l4s(), 100_000);
    near(drops, 0.36);
    near(marks, 0.64);
    // Without, the probability is kept at 1/k, and marks go on.
    let mut queue = pi2(PiSettings::FROZEN, false, 0.5);
    let (drops, marks) = shares(&mut queue, packet.with_l4s(), 1000);
    assert_eq!((drops, marks), (0.0, 1.0));
}

/// SPEC 17.6: p' moves by alpha (q - target) + beta (q - old): here 0.16 * 15 ms + 3.2 * 10 ms.
#[test]
fn the_controller_moves_by_its_gains() {
    let mut core = PiCore::new(PiSettings::LIVE).with(0.1, 0.02);
    let start = Time::from_nanos(5_000_000_000);
    core.run_timer(start, || None);
    // At the end of the period the oldest packet is 30 ms old.
    let end = start + Duration::from_millis(16);
    core.run_timer(end + Duration::from_millis(3), || Some(Time::from_nanos(5_016_000_000 - 30_000_000)));
    assert!((core.probability() - (0.1 + 0.16 * 0.015 + 3.2 * 0.01)).abs() < 1e-12, "{}", core.probability());
    assert!((core.classic() - core.scalable() * core.scalable() / 4.0).abs() < 1e-15);
}

/// Days without a call: the probability is 0 for an empty queue, 1 for one that nobody served, and time is not lost.
#[test]
fn idle_for_days() {
    let day = Time::from_nanos(86_400_000_000_000);
    let mut core = PiCore::new(PiSettings::LIVE).with(0.9, 0.1);
    core.run_timer(Time::ZERO, || None);
    core.run_timer(day, || None);
    assert!(core.probability() == 0.0);
    core.run_timer(day + Duration::from_millis(3_600_000), || Some(day));
    assert!(core.probability() == 1.0);
    core.run_timer(Time::MAX, || None);
    core.run_timer(Time::MAX, || None);
}
