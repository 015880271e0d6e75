use alloc::vec::Vec;

use super::*;
use crate::{Bytes, SimplePacket};

const PARAMETERS: RedParameters = RedParameters {
    min: Size::packets(30),
    max: Size::packets(60),
    probability: 0.1,
    weight: 0.002,
    avpkt: Bytes::new(1000),
    bandwidth: Some(Rate::from_bits_per_second(1_000_000)),
    gentle: false,
    uniformize: Uniformize::Count,
    spare: false,
    byte_drop: false,
    ecn: false,
    harddrop: false,
};

fn core(parameters: RedParameters) -> RedCore {
    RedCore::new(parameters, Seed::new(4)).unwrap_or_else(|error| panic!("{error}"))
}

/// A buffer of `packets` packets of 1000 bytes.
fn buffer(packets: u64) -> Buffer<SimplePacket> {
    let mut buffer = Buffer::new(Size::packets(1000));
    for flow in 0..packets {
        buffer.admit(Time::ZERO, SimplePacket::new(flow, 1000), None, &mut ());
    }
    buffer
}

#[track_caller]
fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 2e-6, "{value} is not {expected}");
}

/// Floyd and Jacobson, section IV, with ns-2's m + 1 samples: 10 (1 - 0.002)^101 after 100 idle slots.
#[test]
fn the_average_decays_over_idle_time_as_in_ns2() {
    let mut red = core(PARAMETERS);
    red.average = 10.0;
    red.idle(Time::from_nanos(5));
    // The link asks again: idle time began at the first question.
    red.idle(Time::from_nanos(300_000_000));
    red.arrive(Time::from_nanos(5 + 100 * 8_000_000), &buffer(0));
    close(red.average, 8.169_30);
    // One packet later no idle time is left to count.
    red.arrive(Time::from_nanos(900_000_000_000), &buffer(0));
    close(red.average, 8.169_302_95 * 0.998);
}

#[test]
fn days_of_idle_time_neither_overflow_nor_end_below_zero() {
    let mut red = core(RedParameters { bandwidth: Some(Rate::from_bits_per_second(u64::MAX)), ..PARAMETERS });
    red.average = 50.0;
    red.idle(Time::ZERO);
    red.arrive(Time::MAX, &buffer(0));
    assert_eq!(red.average, 0.0);
    assert_eq!(power(0.998, 0), 1.0);
    assert_eq!(power(1.0, u64::MAX), 1.0);
    close(power(0.5, 20), 1.0 / 1_048_576.0);
}

/// Floyd and Jacobson, equation 2: after a step of the queue from 0 to 50 the average is 50 (1 - (1 - w)^n).
#[test]
fn the_average_follows_a_step() {
    let mut red = core(PARAMETERS);
    let fifty = buffer(50);
    let mut after = Vec::new();
    for _ in 0..1000 {
        red.arrive(Time::ZERO, &fifty);
        after.push(red.average);
    }
    for (samples, expected) in [(100, 9.0717), (500, 31.6244), (1000, 43.2468)] {
        assert!((after[samples - 1] - expected).abs() < 5e-5, "{} {expected}", after[samples - 1]);
    }
}

#[test]
fn the_average_can_be_of_bytes() {
    let mut red = core(RedParameters { min: Size::bytes(1), max: Size::bytes(2), weight: 1.0, ..PARAMETERS });
    red.arrive(Time::ZERO, &buffer(7));
    assert_eq!(red.average, 7000.0);
}

/// The curve of Floyd and Jacobson, section IV, and Floyd's gentle one, at and around each threshold.
#[test]
fn the_curve_is_the_published_one() {
    let at = |parameters: RedParameters, average: f64| {
        let mut red = core(parameters);
        red.average = average;
        red.base_probability()
    };
    let gentle = RedParameters { gentle: true, ..PARAMETERS };
    close(at(PARAMETERS, 45.0), 0.05);
    close(at(gentle, 90.0), 0.55);
    close(at(gentle, 60.0), 0.1);
    assert_eq!(at(PARAMETERS, 29.999), 0.0);
    assert_eq!(at(PARAMETERS, 30.0), 0.0);
    assert_eq!(at(PARAMETERS, 60.0), 1.0);
    assert_eq!(at(gentle, 120.0), 1.0);
    let step = RedParameters { min: Size::packets(30), max: Size::packets(30), ..PARAMETERS };
    assert_eq!((at(step, 29.0), at(step, 30.0)), (0.0, 1.0));
    for average in 0..1300 {
        for parameters in [PARAMETERS, gentle, step] {
            let p = at(parameters, f64::from(average) / 10.0);
            assert!((0.0..=1.0).contains(&p), "{p}");
        }
    }
}

/// Returns the frequency with which a packet of `bytes` that is number `count` since the last signal is signalled, at a
/// base probability of 0.05.
fn frequency(parameters: RedParameters, count: f64, bytes: u32) -> f64 {
    let mut red = core(parameters);
    red.average = 45.0;
    let rolls = 400_000;
    let mut signals = 0;
    for _ in 0..rolls {
        red.count = count - if parameters.byte_drop { f64::from(bytes) / 1000.0 } else { 1.0 };
        red.settled = true;
        signals += i32::from(red.test(40, bytes).is_some());
    }
    f64::from(signals) / f64::from(rolls)
}

/// Floyd and Jacobson, section VII: p_a = p_b / (1 - count p_b), within four standard deviations; and the factor of
/// byte mode.
#[test]
fn spacing_gives_the_published_probability() {
    let wait = RedParameters { uniformize: Uniformize::Wait, ..PARAMETERS };
    let none = RedParameters { uniformize: Uniformize::None, ..PARAMETERS };
    let bytes = RedParameters { byte_drop: true, ..none };
    for (parameters, count, size, expected) in [
        (PARAMETERS, 5.0, 1000, 0.066_667),
        (wait, 25.0, 1000, 0.066_667),
        (none, 5.0, 1000, 0.05),
        (bytes, 5.0, 40, 0.002),
        (bytes, 5.0, 500, 0.025),
        (RedParameters { byte_drop: true, ..PARAMETERS }, 5.0, 500, 0.033_333),
    ] {
        let measured = frequency(parameters, count, size);
        let sigma = libm::sqrt(expected * (1.0 - expected) / 400_000.0);
        assert!((measured - expected).abs() < 4.0 * sigma, "{measured} {expected}");
    }
    assert_eq!(frequency(wait, 19.0, 1000), 0.0);
    assert_eq!(frequency(wait, 40.0, 1000), 1.0);
    assert_eq!(frequency(PARAMETERS, 20.0, 1000), 1.0);
    assert_eq!(frequency(bytes, 5.0, 20_000), 1.0);
}

/// Gaps between early signals at a base probability of just over 0.05.
fn gaps(uniformize: Uniformize) -> Vec<usize> {
    let mut red = core(RedParameters { uniformize, ..PARAMETERS });
    // A hair above 45, so that a sum of twenty probabilities reaches 1.
    red.average = 45.000_001;
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < 100_000 {
        gap += 1;
        if red.test(40, 1000).is_some() {
            gaps.push(gap);
            gap = 0;
        }
    }
    // The first gap starts from -1, not from a signal.
    gaps.remove(0);
    gaps
}

/// Floyd and Jacobson, section VII, method 2, and ns-2's `wait`: the gaps are uniform on 1..1/p-1 (`count`) and on
/// 1/p..2/p-1 (`wait`), with chi-square.
#[test]
fn gaps_are_uniform() {
    for (uniformize, from, to) in [(Uniformize::Count, 1, 19), (Uniformize::Wait, 20, 39)] {
        let gaps = gaps(uniformize);
        let mut seen = [0_u32; 64];
        for &gap in &gaps {
            seen[gap] += 1;
        }
        let outside: u32 = seen.iter().enumerate().filter(|(gap, _)| !(from..=to).contains(gap)).map(|(_, n)| n).sum();
        assert_eq!(outside, 0, "{seen:?}");
        let places = from..=to;
        let expected = gaps.len() as f64 / places.clone().count() as f64;
        let chi2: f64 =
            places.map(|gap| (f64::from(seen[gap]) - expected) * (f64::from(seen[gap]) - expected) / expected).sum();
        // The 99.9 % point of chi-square with 19 degrees of freedom.
        assert!(chi2 < 43.8, "{chi2} {seen:?}");
    }
    let none = gaps(Uniformize::None);
    let mean = none.iter().sum::<usize>() as f64 / none.len() as f64;
    assert!((mean - 20.0).abs() < 0.25, "geometric gaps of mean 20, not {mean}");
}

/// ns-2's exceptions: at most one packet queued, and the first above `min`; but never from a forced drop.
#[test]
fn spares_as_ns2_does() {
    let certain = RedParameters {
        probability: 1.0,
        spare: true,
        uniformize: Uniformize::None,
        min: Size::packets(10),
        max: Size::packets(11),
        ..PARAMETERS
    };
    let mut red = core(certain);
    red.average = 10.999_999_999_999;
    assert_eq!(red.test(1, 1000), None);
    assert_eq!(red.test(2, 1000), None, "the first above min");
    assert_eq!(red.test(2, 1000), Some(Reason::Early));
    assert_eq!(red.test(1, 1000), None);
    assert_eq!(red.test(2, 1000), None, "the first again");
    red.average = 11.0;
    assert_eq!(red.test(2, 1000), Some(Reason::Forced));
    let mut tc = core(RedParameters { spare: false, ..certain });
    tc.average = 10.999_999_999_999;
    assert_eq!(tc.test(0, 1000), Some(Reason::Early));
}

#[test]
fn marks_what_can_be_marked_unless_harddrop() {
    let ecn = RedParameters { ecn: true, ..PARAMETERS };
    let hard = RedParameters { harddrop: true, ..ecn };
    let (early, forced) = (Some(Reason::Early), Some(Reason::Forced));
    assert_eq!(core(ecn).fate(early, true), Fate::Marked(Reason::Early));
    assert_eq!(core(ecn).fate(forced, true), Fate::Marked(Reason::Forced));
    assert_eq!(core(ecn).fate(early, false), Fate::Dropped(Reason::Early));
    assert_eq!(core(hard).fate(early, true), Fate::Marked(Reason::Early));
    assert_eq!(core(hard).fate(forced, true), Fate::Dropped(Reason::Forced));
    assert_eq!(core(PARAMETERS).fate(early, true), Fate::Dropped(Reason::Early));
    assert_eq!(core(PARAMETERS).fate(None, true), Fate::Queued);
}

/// A first-order low-pass filter: at a constant p_b of 0.05 it is 0.05 (1 - 0.99^n) after n samples, and then it decays
/// by 0.99 a sample below `min`, where RED without it is silent. Would catch a filter that is reset, skipped below
/// `min` or overridden above `max`.
#[test]
fn the_filter_follows_the_probability_as_a_low_pass_does() {
    let mut red = core(RedParameters { weight: 1.0, uniformize: Uniformize::None, ..PARAMETERS });
    red.filter(0.01);
    for _ in 0..100 {
        red.sample(Time::ZERO, 45.0);
    }
    close(red.base_probability(), 0.05 * (1.0 - 0.366_032_341_27));
    for _ in 0..10 {
        red.sample(Time::ZERO, 0.0);
    }
    close(red.base_probability(), 0.031_698_382_94 * 0.904_382_075_01);
    let signals = (0..100_000).filter(|_| red.test(40, 1000).is_some()).count();
    // 2867 are expected; four standard deviations are 211.
    assert!((2656..3078).contains(&signals), "{signals}");
    red.sample(Time::ZERO, 70.0);
    assert_ne!(red.test(40, 1000), Some(Reason::Forced));
}
