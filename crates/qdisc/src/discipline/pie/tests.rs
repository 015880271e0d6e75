use super::*;
use crate::SimplePacket;

fn settings() -> PieSettings {
    PieSettings::new(&PieParameters::default(), DECAY, None)
}

fn pie(ecn: bool) -> Pie<SimplePacket> {
    let pie = PieParameters { ecn, ..PieParameters::default() };
    let queue = Pie::new(Config { pie, ..Config::default() }, Seed::new(1));
    queue.unwrap_or_else(|error| panic!("{error}"))
}

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-12, "{value} is not {expected}");
}

/// Returns the probability after an update from `probability` with a delay of `delay` ms, after `old` ms at the last
/// update.
fn updated(probability: f64, delay: u64, old: u64) -> f64 {
    let core = PieCore::new(&settings());
    let mut core = core.with(probability, Duration::from_millis(delay), old as f64 / 1000.0);
    core.catch_up(&settings(), 1, 10_000);
    core.probability()
}

/// The step alpha (30 - 15) ms + beta (30 - 20) ms = 0.014375, scaled by the table of RFC 8033, section 4.2.
#[test]
fn the_step_is_scaled_by_the_probability() {
    close(updated(0.05, 30, 20), 0.05 + 0.007_187_5);
    for (probability, part) in
        [(0.0, 2048.0), (2e-6, 512.0), (2e-5, 128.0), (2e-4, 32.0), (2e-3, 8.0), (0.02, 2.0), (0.2, 1.0)]
    {
        close(updated(probability, 30, 20), probability + 0.014_375 / part);
    }
}

/// From 10 % on no step up exceeds 2 % (RFC 8033, section 5.5); beyond 250 ms Linux adds 2 %.
#[test]
fn steps_are_bounded_and_far_too_long_delays_add_to_them() {
    close(updated(0.1, 200, 0), 0.12);
    close(updated(0.1, 300, 0), 0.14);
    close(updated(0.05, 200, 150), 0.05 + (0.125 * 0.185 + 1.25 * 0.05) / 2.0);
    close(updated(0.01, 1, 100), 0.0);
}

/// The excess of an overload over a probability of 1 is kept, as in Linux since 5.6, where the number has 8 bits before
/// the point and is set to 1 when they overflow. Would catch a bound of 1, under which a flood fills the queue again
/// and again.
#[test]
fn an_overload_is_remembered() {
    let after = |control: f64| {
        let mut core = PieCore::new(&settings()).with(control, Duration::from_millis(300), 0.0);
        core.catch_up(&settings(), 1, 10_000);
        (core.control(), core.probability())
    };
    for (control, expected) in [(0.99, 1.03), (3.0, 3.04), (255.9, 255.94), (255.97, 1.0)] {
        close(after(control).0, expected);
        close(after(control).1, 1.0);
    }
}

/// Without delay the probability decays by 2 % in addition to the control (RFC 8033, appendix A).
#[test]
fn the_probability_decays_without_delay() {
    close(updated(0.5, 0, 0), (0.5 - 0.125 * 0.015) * 0.98);
    close(updated(0.5, 0, 1), 0.5 - 0.125 * 0.015 - 1.25 * 0.001);
}

/// With probability p a signal comes after 0.85/p packets at the soonest and 8.5/p at the latest (RFC 8033, section
/// 5.4).
#[test]
fn signals_are_neither_too_close_nor_too_far_apart() {
    let mut core = PieCore::new(&settings()).with(0.2, Duration::ZERO, 0.1).without_burst();
    let mut rolls = Seed::new(3).stream("pie");
    let (mut gaps, mut gap) = (std::vec![], 0);
    for _ in 0..2_000_000 {
        gap += 1;
        if core.test(&settings(), 1000, 100_000, &mut rolls) {
            gaps.push(gap);
            gap = 0;
        }
    }
    // The sum of 42 probabilities of 0.2 stays below 8.5 and that of 43 exceeds it.
    assert_eq!((gaps.iter().min(), gaps.iter().max()), (Some(&5), Some(&43)));
}

/// Short queues and short delays are spared (RFC 8033, section 4.1).
#[test]
fn short_queues_and_short_delays_are_spared() {
    let mut rolls = Seed::new(3).stream("pie");
    let mut signals = |probability: f64, delay: f64, backlog: u64, burst: bool| {
        let core = PieCore::new(&settings()).with(probability, Duration::ZERO, delay);
        let mut core = if burst { core } else { core.without_burst() };
        (0..1000).filter(|_| core.test(&settings(), 1000, backlog, &mut rolls)).count() > 0
    };
    assert!(signals(0.19, 0.0075, 2001, false));
    assert!(!signals(0.19, 0.0075, 2000, false), "two packets");
    assert!(!signals(0.19, 0.0074, 2001, false), "half the target");
    assert!(signals(0.2, 0.0074, 2001, false), "not when the probability is high");
    assert!(!signals(1.0, 0.1, 20_000, true), "a burst");
    assert!(!signals(0.0, 0.1, 20_000, false));
}

/// For 150 ms after a quiet time nothing is signalled (RFC 8033, section 4.4); above 10 % packets are dropped, not
/// marked (section 5.1).
#[test]
fn a_burst_passes_and_marks_turn_into_drops() {
    let mut queue = pie(true);
    for tick in 0..1000 {
        // Twice as many packets arrive as leave.
        for _ in 0..2 {
            queue.enqueue(millis(tick), SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        queue.dequeue(millis(tick), &mut ());
        let probability = queue.core.probability();
        let counters = queue.counters();
        if tick < 150 {
            assert_eq!(counters.marked(Reason::Early).packets, 0);
        }
        if probability <= 0.1 {
            assert_eq!(counters.dropped(Reason::Early).packets, 0);
        }
    }
    assert!(queue.counters().marked(Reason::Early).packets > 0);
    assert!(queue.counters().dropped(Reason::Early).packets > 0);
}

/// Days of silence take the probability to 0, and the latest possible time does not overflow.
#[test]
fn idle_for_days() {
    let mut queue = pie(false);
    for tick in 0..3000 {
        for _ in 0..3 {
            queue.enqueue(millis(tick), SimplePacket::new(1, 1000), &mut ());
        }
        queue.dequeue(millis(tick), &mut ());
    }
    assert!(queue.core.probability() > 0.3);
    while queue.dequeue(millis(3000), &mut ()).is_some() {}
    let days = 3 * 86_400_000;
    queue.enqueue(millis(days), SimplePacket::new(1, 1000), &mut ());
    close(queue.core.probability(), 0.0);
    assert!(queue.dequeue(Time::MAX, &mut ()).is_some());
    queue.enqueue(Time::MAX, SimplePacket::new(1, 1000), &mut ());
    assert!(queue.dequeue(Time::MAX, &mut ()).is_some());
}

/// Periods are counted from the first call, and keep their phase.
#[test]
fn periods_are_counted() {
    let mut periods = Periods::new(Duration::from_millis(10));
    assert_eq!(periods.ended(millis(3)).0, 0);
    assert_eq!(periods.ended(millis(12)).0, 0);
    assert_eq!(periods.ended(millis(13)), (1, millis(13)));
    assert_eq!(periods.ended(millis(22)).0, 0);
    assert_eq!(periods.ended(millis(50)), (3, millis(23)));
    assert_eq!(periods.ended(millis(53)), (1, millis(53)));
}

/// Would catch values that only the text refuses.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let pie = PieParameters::default();
    for (pie, key) in [
        (PieParameters { tupdate: Duration::ZERO, ..pie }, "tupdate"),
        (PieParameters { alpha: 33, ..pie }, "alpha"),
        (PieParameters { avpkt: Bytes::new(0), ..pie }, "avpkt"),
        (PieParameters { ecn_prob: 101, ..pie }, "ecn_prob"),
    ] {
        let queue = Pie::<SimplePacket>::new(Config { pie, ..Config::default() }, Seed::new(1));
        assert_eq!(queue.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}
