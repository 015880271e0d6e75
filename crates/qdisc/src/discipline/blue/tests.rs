use super::*;
use crate::{Rate, SimplePacket};

/// The paper's configuration B1 (table II) over 100 packets.
fn b1() -> Config {
    Config {
        limit: Size::packets(100),
        increment: 0.0025,
        decrement: 0.00025,
        freeze: Duration::from_millis(10),
        ..Config::default()
    }
}

fn blue(config: Config) -> Blue<SimplePacket> {
    Blue::new(config, Seed::new(4)).unwrap_or_else(|error| panic!("{error}"))
}

/// Would catch a range that the constructor does not check.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    for (config, key) in [
        (Config { increment: 0.0, ..b1() }, "increment"),
        (Config { decrement: 1.5, ..b1() }, "decrement"),
        (Config { freeze: Duration::ZERO, ..b1() }, "freeze"),
        (Config { trigger: Some(Size::packets(u32::MAX)), ..b1() }, "trigger"),
    ] {
        let refused = Blue::<SimplePacket>::new(config, Seed::new(1));
        assert!(refused.is_err_and(|error| error.key() == key), "{key}");
    }
    Ok(())
}

fn milli(number: u64) -> Time {
    Time::ZERO + Duration::from_millis(number)
}

/// Fills the queue at `now` and offers one packet more.
fn overflow(queue: &mut Blue<SimplePacket>, now: Time) {
    for _ in 0..=queue.config.limit.number() {
        queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Figure 3: a loss raises the probability if more than a freeze time has passed since the last change. Would catch a
/// change at the very end of the freeze time, and a probability above 1.
#[test]
fn losses_raise_the_probability_once_a_freeze_time() {
    let mut queue = blue(Config { limit: Size::packets(0), ..b1() });
    for (now, changes) in [(100, 1), (100, 1), (105, 1), (110, 1), (111, 2), (121, 2), (122, 3)] {
        queue.enqueue(milli(now), SimplePacket::new(1, 1000), &mut ());
        assert!(near(queue.probability, 0.0025 * f64::from(changes)), "{now}: {}", queue.probability);
    }
    // Never above 1.
    for n in 0..1000 {
        queue.enqueue(milli(200 + 11 * n), SimplePacket::new(1, 1000), &mut ());
    }
    assert!(near(queue.probability, 1.0) && queue.probability <= 1.0);
}

/// Would catch a queue that empties and does not lower the probability at once and then after each freeze time, or only
/// once with [`IdleDecrement::Once`].
#[test]
fn an_idle_link_lowers_the_probability() {
    for (idle, after) in [(IdleDecrement::Repeated, [1, 1, 2, 5, 5]), (IdleDecrement::Once, [1, 1, 1, 1, 1])] {
        let mut queue = blue(Config { idle, ..b1() });
        queue.probability = 0.5;
        assert!(queue.dequeue(milli(1000), &mut ()).is_none());
        let mut seen = [near(queue.probability, 0.5 - 0.00025); 5];
        for (i, (now, times)) in [1005, 1010, 1011, 1041, 1050].into_iter().zip(after).enumerate() {
            assert!(queue.dequeue(milli(now), &mut ()).is_none());
            seen[i] &= near(queue.probability, 0.5 - 0.00025 * f64::from(times));
        }
        assert_eq!(seen, [true; 5], "{idle:?}");
    }
}

/// Would catch an arrival that does not apply the decrements of the idle time, and one that is dropped and yet ends it.
#[test]
fn an_arrival_makes_up_for_the_idle_time() {
    let mut queue = blue(Config { decrement: 0.01, ..b1() });
    queue.probability = 1.0;
    assert!(queue.dequeue(milli(0), &mut ()).is_none());
    // The first change comes right after 0 ms, the others right after 10, 20, 30 and 40 ms.
    queue.enqueue(milli(45), SimplePacket::new(1, 1000), &mut ());
    assert!(near(queue.probability, 0.95), "{}", queue.probability);
    queue.probability = 1.0;
    queue.enqueue(milli(46), SimplePacket::new(1, 1000), &mut ());
    assert_eq!(queue.packets(), 0);
    queue.enqueue(milli(51), SimplePacket::new(1, 1000), &mut ());
    assert!(near(queue.probability, 0.99), "{}", queue.probability);
}

/// Would catch a change down that comes within a freeze time of a change up.
#[test]
fn both_directions_share_the_freeze_time() {
    let mut queue = blue(Config { limit: Size::packets(1), increment: 0.5, ..b1() });
    overflow(&mut queue, milli(100));
    assert!(near(queue.probability, 0.5));
    assert!(queue.dequeue(milli(103), &mut ()).is_some());
    assert!(queue.dequeue(milli(110), &mut ()).is_none());
    assert!(near(queue.probability, 0.5));
    assert!(queue.dequeue(milli(111), &mut ()).is_none());
    assert!(near(queue.probability, 0.5 - 0.00025));
}

/// Figure 3's variation: a queue above `trigger` counts as a loss, one at it does not.
#[test]
fn a_long_queue_is_a_loss() {
    let mut queue = blue(Config { trigger: Some(Size::packets(3)), increment: 0.000_001, ..b1() });
    for n in 1..=6 {
        queue.enqueue(milli(100 * n), SimplePacket::new(1, 1000), &mut ());
        let expected = 0.000_001 * n.saturating_sub(3) as f64;
        assert!(near(queue.probability, expected), "{n}: {}", queue.probability);
    }
}

/// Freeze times with jitter are uniform from half to one and a half.
#[test]
fn jitter_spreads_the_freeze_time() {
    let mut queue = blue(Config { jitter: true, ..b1() });
    let times: std::vec::Vec<f64> = (0..20_000).map(|_| queue.draw_freeze().as_secs() * 1e3).collect();
    assert!(times.iter().all(|time| (5.0..15.0).contains(time)));
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    // Four standard errors of a uniform law of width 10.
    assert!((mean - 10.0).abs() < 4.0 * 10.0 / libm::sqrt(12.0 * times.len() as f64), "{mean}");
    let low = times.iter().filter(|time| **time < 7.5).count();
    assert!((4_700..5_300).contains(&low), "{low}");
}

/// Twice the link's rate of packets that cannot be marked: the admitted load settles at the link's rate, so the
/// probability settles at 1/2. Would catch steps of a wrong size or frequency: no freeze time sees more than one.
#[test]
fn settles_where_the_admitted_load_is_the_link() {
    for (increment, decrement) in [(0.0025, 0.00025), (0.02, 0.002)] {
        let mut queue = blue(Config { increment, decrement, ..b1() });
        let link = Rate::from_bits_per_second(10_000_000);
        let slot = link.transmission(1000);
        let mut now = Time::ZERO;
        let mut history = std::vec![0.0; 12];
        let (mut sum, mut lowest, mut highest) = (0.0, 1.0_f64, 0.0_f64);
        for n in 0..100_000_u32 {
            queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
            queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
            now += slot;
            queue.dequeue(now, &mut ());
            // Twelve slots of 0.8 ms are less than a freeze time.
            let before = history[n as usize % 12];
            history[n as usize % 12] = queue.probability;
            assert!(n < 12 || queue.probability <= before + increment + 1e-12, "{n}");
            assert!(n < 12 || queue.probability >= before - decrement - 1e-12, "{n}");
            if n >= 50_000 {
                sum += queue.probability;
                lowest = lowest.min(queue.probability);
                highest = highest.max(queue.probability);
            }
        }
        let mean = sum / 50_000.0;
        assert!((mean - 0.5).abs() < 0.05, "{mean}");
        assert!(lowest > 0.4 && highest < 0.6, "{lowest} {highest}");
        assert!(queue.counters().departed.packets > 98_000, "the link stays busy");
    }
}

/// Would catch an overflow after days without traffic, and a probability that has not fallen to 0 by then.
#[test]
fn idle_for_days() {
    for jitter in [false, true] {
        let mut queue = blue(Config { freeze: Duration::from_nanos(1), jitter, ..b1() });
        queue.probability = 1.0;
        assert!(queue.dequeue(milli(1), &mut ()).is_none());
        queue.enqueue(Time::ZERO + Duration::from_secs(1e6), SimplePacket::new(1, 1000), &mut ());
        assert_eq!((queue.probability, queue.packets()), (0.0, 1));
        let mut queue = blue(Config { freeze: Duration::from_nanos(u64::MAX), jitter, ..b1() });
        assert!(queue.dequeue(milli(1), &mut ()).is_none());
        queue.enqueue(Time::MAX, SimplePacket::new(1, 1000), &mut ());
        assert_eq!(queue.packets(), 1);
    }
}
