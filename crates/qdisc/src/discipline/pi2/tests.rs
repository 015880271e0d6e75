use std::string::ToString;

use super::*;
use crate::{AnyConfig, Kind, QdiscParameters, Rate, SimplePacket};

fn pi2(drop_overload: bool, probability: f64) -> Pi2<SimplePacket> {
    let pi = PiParameters { drop_overload, ..PiParameters::frozen() };
    let queue = Pi2::new(Config { pi, ..Config::default() }, Seed::new(1));
    let mut queue = queue.unwrap_or_else(|error| panic!("{error}"));
    queue.core = PiCore::new(pi).with(probability, 0.02);
    queue
}

/// Returns the shares of drops and of marks among `count` packets.
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
    // Four standard deviations of 100,000 draws; exactly 0 where 0 is expected.
    let error = 4.0 * libm::sqrt(expected * (1.0 - expected) / 100_000.0);
    assert!((share - expected).abs() <= error, "{share} is not {expected}");
}

/// p_C = p'^2 and p_CL = k p', so p_C = (p_CL / k)^2 (RFC 9332, section 2.1).
#[test]
fn classic_signals_are_the_square_of_scalable_ones() {
    let packet = SimplePacket::new(1, 1000);
    for p in [0.0, 0.05, 0.2, 0.4] {
        let mut queue = pi2(true, p);
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

/// Beyond p' = 1/k packets of all flows are dropped with p'^2, and the other scalable packets are marked (RFC 9332,
/// appendix A.2).
#[test]
fn overload_drops_all_alike() {
    let packet = SimplePacket::new(1, 1000);
    let mut queue = pi2(true, 0.6);
    let (drops, marks) = shares(&mut queue, packet.with_ecn(), 100_000);
    near(drops, 0.36);
    near(marks, 0.0);
    let (drops, marks) = shares(&mut queue, packet.with_l4s(), 100_000);
    near(drops, 0.36);
    near(marks, 0.64);
    // Without `drop_overload` the probability stays at 1/k, and packets are marked.
    let mut queue = pi2(false, 0.5);
    let (drops, marks) = shares(&mut queue, packet.with_l4s(), 1000);
    assert_eq!((drops, marks), (0.0, 1.0));
}

/// p' moves by alpha (q - target) + beta (q - old) (RFC 9332, appendix A.1): here 0.16 * 15 ms + 3.2 * 10 ms.
#[test]
fn the_controller_moves_by_its_gains() {
    let mut core = PiCore::new(PiParameters::default()).with(0.1, 0.02);
    let start = Time::from_nanos(5_000_000_000);
    core.run_timer(start, || None);
    // At the end of the period the oldest packet is 30 ms old.
    let end = start + Duration::from_millis(16);
    core.run_timer(end + Duration::from_millis(3), || Some(Time::from_nanos(5_016_000_000 - 30_000_000)));
    assert!((core.probability() - (0.1 + 0.16 * 0.015 + 3.2 * 0.01)).abs() < 1e-12, "{}", core.probability());
    assert!((core.classic() - core.scalable() * core.scalable() / 4.0).abs() < 1e-15);
}

/// After days without a call the probability is 0 for an empty queue and 1 for one that was not served.
#[test]
fn idle_for_days() {
    let day = Time::from_nanos(86_400_000_000_000);
    let mut core = PiCore::new(PiParameters::default()).with(0.9, 0.1);
    core.run_timer(Time::ZERO, || None);
    core.run_timer(day, || None);
    assert!(core.probability() == 0.0);
    core.run_timer(day + Duration::from_millis(3_600_000), || Some(day));
    assert!(core.probability() == 1.0);
    core.run_timer(Time::MAX, || None);
    core.run_timer(Time::MAX, || None);
}

/// Would catch values that only the text refuses, and
/// gains that the two derive differently.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let rate = Rate::from_bits_per_second(0);
    let text = QdiscParameters::new(Kind::Pi2);
    let default = Config::default();
    for rtt in [30, 100] {
        let pi = PiParameters::default().with_max_rtt(Duration::from_millis(rtt));
        let text = text.clone().with("max_rtt", Duration::from_millis(rtt).to_string().as_str())?;
        assert_eq!(text.resolve(rate)?.config(), &AnyConfig::Pi2(Config { pi, ..default }));
    }
    let pi = PiParameters::default();
    for (pi, key) in [
        (PiParameters { tupdate: Duration::ZERO, ..pi }, "tupdate"),
        (PiParameters { alpha: -0.1, ..pi }, "alpha"),
        (PiParameters { beta: f64::NAN, ..pi }, "beta"),
        (PiParameters { coupling_factor: 0.5, ..pi }, "coupling_factor"),
    ] {
        let queue = Pi2::<SimplePacket>::new(Config { pi, ..default }, Seed::new(1));
        assert_eq!(queue.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}
