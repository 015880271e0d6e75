use super::*;
use crate::{Packets, Rate, SimplePacket};

fn packets(count: u32) -> Size {
    Size::Packets(Packets::new(count))
}

/// The paper's configuration B1 over 100 packets.
fn b1() -> Settings {
    Settings {
        limit: packets(100),
        increment: 0.0025,
        decrement: 0.00025,
        freeze: Duration::from_millis(10),
        jitter: false,
        trigger: None,
        repeated: true,
        ecn: false,
    }
}

fn blue(settings: Settings) -> Blue<SimplePacket> {
    Blue::new(settings, Seed::new(4))
}

fn milli(number: u64) -> Time {
    Time::ZERO + Duration::from_millis(number)
}

/// Fills the queue at `now` and offers one packet more.
fn overflow(queue: &mut Blue<SimplePacket>, now: Time) {
    for _ in 0..=queue.settings.limit_packets() {
        queue.enqueue(now, SimplePacket::new(1, 1000), &mut ());
    }
}

impl Settings {
    fn limit_packets(&self) -> u32 {
        if let Size::Packets(packets) = self.limit { packets.get() } else { 0 }
    }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// SPEC 8: a loss raises the probability once a freeze time, and the end of the freeze time itself is too early.
#[test]
fn losses_raise_the_probability_once_a_freeze_time() {
    let mut queue = blue(Settings { limit: packets(0), ..b1() });
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

/// SPEC 8: a queue that empties lowers the probability, at once and then once a freeze time, or only once.
#[test]
fn an_idle_link_lowers_the_probability() {
    for (repeated, after) in [(true, [1, 1, 2, 5, 5]), (false, [1, 1, 1, 1, 1])] {
        let mut queue = blue(Settings { repeated, ..b1() });
        queue.probability = 0.5;
        assert!(queue.dequeue(milli(1000), &mut ()).is_none());
        let mut seen = [near(queue.probability, 0.5 - 0.00025); 5];
        for (i, (now, times)) in [1005, 1010, 1011, 1041, 1050].into_iter().zip(after).enumerate() {
            assert!(queue.dequeue(milli(now), &mut ()).is_none());
            seen[i] &= near(queue.probability, 0.5 - 0.00025 * f64::from(times));
        }
        assert_eq!(seen, [true; 5], "repeated {repeated}");
    }
}

/// An arrival makes up for the idle time as well; one that is not queued does not end it.
#[test]
fn an_arrival_makes_up_for_the_idle_time() {
    let mut queue = blue(Settings { decrement: 0.01, ..b1() });
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

/// One freeze time lies between a change up and a change down too.
#[test]
fn both_directions_share_the_freeze_time() {
    let mut queue = blue(Settings { limit: packets(1), increment: 0.5, ..b1() });
    overflow(&mut queue, milli(100));
    assert!(near(queue.probability, 0.5));
    assert!(queue.dequeue(milli(103), &mut ()).is_some());
    assert!(queue.dequeue(milli(110), &mut ()).is_none());
    assert!(near(queue.probability, 0.5));
    assert!(queue.dequeue(milli(111), &mut ()).is_none());
    assert!(near(queue.probability, 0.5 - 0.00025));
}

/// The variation: a queue above `trigger` is a loss, one at it is not.
#[test]
fn a_long_queue_is_a_loss() {
    let mut queue = blue(Settings { trigger: Some(packets(3)), increment: 0.000_001, ..b1() });
    for n in 1..=6 {
        queue.enqueue(milli(100 * n), SimplePacket::new(1, 1000), &mut ());
        let expected = 0.000_001 * n.saturating_sub(3) as f64;
        assert!(near(queue.probability, expected), "{n}: {}", queue.probability);
    }
}

/// Freeze times with jitter are uniform from half to one and a half.
#[test]
fn jitter_spreads_the_freeze_time() {
    let mut queue = blue(Settings { jitter: true, ..b1() });
    let times: std::vec::Vec<f64> = (0..20_000).map(|_| queue.freeze().as_secs() * 1e3).collect();
    assert!(times.iter().all(|time| (5.0..15.0).contains(time)));
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    // Four standard errors of a uniform law of width 10.
    assert!((mean - 10.0).abs() < 4.0 * 10.0 / libm::sqrt(12.0 * times.len() as f64), "{mean}");
    let low = times.iter().filter(|time| **time < 7.5).count();
    assert!((4_700..5_300).contains(&low), "{low}");
}

/// SPEC 8, to verify: twice the link's rate of packets that cannot be marked. What is admitted settles at the link's
/// rate, so the probability settles at a half; and no freeze time sees more than one step.
#[test]
fn settles_where_the_admitted_load_is_the_link() {
    for (increment, decrement) in [(0.0025, 0.00025), (0.02, 0.002)] {
        let mut queue = blue(Settings { increment, decrement, ..b1() });
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

/// Days without traffic overflow nothing, and forget everything.
#[test]
fn idle_for_days() {
    for jitter in [false, true] {
        let mut queue = blue(Settings { freeze: Duration::from_nanos(1), jitter, ..b1() });
        queue.probability = 1.0;
        assert!(queue.dequeue(milli(1), &mut ()).is_none());
        queue.enqueue(Time::ZERO + Duration::from_secs(1e6), SimplePacket::new(1, 1000), &mut ());
        assert_eq!((queue.probability, queue.packets()), (0.0, 1));
        let mut queue = blue(Settings { freeze: Duration::from_nanos(u64::MAX), jitter, ..b1() });
        assert!(queue.dequeue(milli(1), &mut ()).is_none());
        queue.enqueue(Time::MAX, SimplePacket::new(1, 1000), &mut ());
        assert_eq!(queue.packets(), 1);
    }
}
