//! The law against its formulas in floating point, and ECHO on a link.

use std::vec::Vec;

use super::fixed::ONE;
use super::mean::MeanCount;
use super::tag_share::TagShare;
use super::*;
use crate::SimplePacket;

/// Returns the fair share of a controller at `share` tags of 256, on a link of 10 Mbit/s with packets of 1500 bytes,
/// where the others have as many.
fn fair(share: f64) -> TagShare {
    fair_among(share, share)
}

/// The same where the others have `mean` tags.
fn fair_among(share: f64, mean: f64) -> TagShare {
    let mut controller = Controller::new(Duration::from_millis(10), 256);
    controller.set_rate(Rate::from_bits_per_second(10_000_000));
    controller.largest = 1500;
    controller.set_share(share);
    TagShare::new(&controller, 256, (mean * 65_536.0) as u64)
}

/// Returns the part of a million draws, evenly spread, for which `drawn` holds.
fn part(drawn: impl Fn(u64) -> bool) -> f64 {
    let draws = 1 << 20;
    (0..draws).filter(|draw| drawn(draw << 12)).count() as f64 / draws as f64
}

/// w² / (1 + w + w²) with w = ((K + 1/4) / T)² - 1, for a flow at its share, a little above and far above. Would
/// catch a signal of a flow within its share, and any other curve.
#[test]
fn the_excess_is_signalled_by_the_formula() {
    for share in [0.1, 0.8, 5.0, 20.0, 100.0] {
        for count in [0, 1, 2, 5, 6, 10, 21, 40, 100, 256] {
            let w = (libm::pow((f64::from(count) + 0.25) / share, 2.0) - 1.0).max(0.0);
            let expected = w * w / (1.0 + w + w * w);
            let excess = fair(share).excess(count);
            let signalled = part(|draw| excess.is_signalled(draw));
            assert!((signalled - expected).abs() < 2e-4, "{count} of {share}: {signalled} {expected}");
            let close = (expected - 0.2).abs() < 1e-3;
            assert!(close || excess.is_small() == (expected < 0.2), "{count} of {share}");
        }
    }
}

/// A flow of 40 tags where T is 20 has w = (40.25 / 20)^2 - 1, 3.05, and 2.5 times that where the others have 8 tags in
/// the mean; at most 3 times, where they have 2; and no less, where they have 30. Would catch an excess that is not
/// counted in the others' rates, or without a bound.
#[test]
fn the_excess_is_in_the_rates_of_the_others() {
    for (mean, times) in [(8.0, 2.5), (2.0, 3.0), (0.0, 3.0), (20.0, 1.0), (30.0, 1.0)] {
        let w = times * (libm::pow(40.25 / 20.0, 2.0) - 1.0);
        let expected = w * w / (1.0 + w + w * w);
        let excess = fair_among(20.0, mean).excess(40);
        let signalled = part(|draw| excess.is_signalled(draw));
        assert!((signalled - expected).abs() < 2e-4, "{mean}: {signalled} {expected}");
    }
    // The largest possible: their square fits.
    let excess = fair_among(0.02, 0.0).excess(4096);
    assert!(part(|draw| excess.is_signalled(draw)) > 0.999);
}

/// Would catch a mean of other numbers, a flood that belongs to it, and one that remains where the size of the sample
/// changes.
#[test]
fn the_mean_is_that_of_flows_within_twice_their_share() {
    let mut mean = MeanCount::default();
    (0..4000).for_each(|n| mean.add(2 + n % 2));
    assert!((mean.get() as f64 / 65_536.0 - 2.75).abs() < 0.01, "2.5 and a quarter");
    mean.resize(256, 1024);
    assert!((mean.get() as f64 / 65_536.0 - 11.0).abs() < 0.04);
    assert!(fair(20.0).is_ordinary(40) && !fair(20.0).is_ordinary(42));
    assert!(fair(0.1).is_ordinary(1) && !fair(0.1).is_ordinary(2));
}

/// Packets of 1500 bytes at 10 Mbit/s: the sample spans 200 ms, so that one of 256 tags is due each 976 bytes, less
/// than a packet. 750 bytes are half a packet. Would catch another thinning than T / K, and one by the size.
#[test]
fn arrivals_are_sampled_by_the_formula() {
    for (share, count, expected) in [
        (20.0, 0, 0.5),
        (20.0, 20, 0.5),
        (20.0, 80, 0.125),
        (20.0, 245, 0.5 * 20.0 / 245.0),
        // Below one tag each known flow is thinned.
        (0.5, 0, 0.25),
        (0.5, 1, 0.25),
        (0.5, 4, 0.0625),
    ] {
        let sampled = part(|draw| fair(share).is_sampled(count, 750, draw));
        assert!((sampled / expected - 1.0).abs() < 1e-3, "{count} of {share}: {sampled} {expected}");
    }
}

/// Would catch copies that are not drawn by the fraction: 2.25 are three in a quarter of all draws.
#[test]
fn a_fraction_of_a_copy_is_drawn() {
    let mut controller = Controller::new(Duration::from_millis(10), 256);
    controller.copies = 9 * ONE as u32 / 4;
    let fair = TagShare::new(&controller, 256, 0);
    let copies: Vec<u32> = (0..4096).map(|draw| fair.copies(draw * 16)).collect();
    assert_eq!(copies.iter().filter(|&&copies| copies == 3).count(), 1024);
    assert!(copies.iter().all(|copies| (2..=3).contains(copies)));
}

fn millis(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// Fills a queue with `packets` packets of 1000 bytes at `now`, and updates the controller.
fn filled(config: Config, packets: u64, now: Time) -> Echo<SimplePacket> {
    let mut queue = Echo::new(config, Seed::new(1)).unwrap();
    queue.link_rate(Rate::from_bits_per_second(8_000_000));
    for flow in 0..packets {
        queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
    }
    queue.control(now);
    queue
}

fn ln_share(queue: &Echo<SimplePacket>) -> f64 {
    libm::log(queue.controller.share() as f64 / 65_536.0)
}

/// The controller by hand: 8 Mbit/s is a packet of 1000 bytes in a ms, and the first update, at the first arrival, does
/// nothing. 24 packets are 24 ms, 1.4 targets more than the target and 2.4 more than before: ln T falls by 0.3 · 1.4 ·
/// 0.016
/// + 0.3 · 2.4. 60 packets are 1.5 times four targets, so the first part counts 2.25 times.
#[test]
fn the_share_moves_by_the_formula() {
    let all = libm::log(256.0);
    for (packets, expected) in [(24, 0.3 * 1.4 * 0.016 + 0.3 * 2.4), (60, 2.25 * 0.3 * 5.0 * 0.016 + 0.3 * 6.0)] {
        let queue = filled(Config::default(), packets, millis(16));
        assert!((all - ln_share(&queue) - expected).abs() < 1e-4, "{packets}: {}", ln_share(&queue));
    }
}

/// Returns by how much ln T falls where the delay is `millis` ms at each of `updates`, and at the target once, after 1
/// s, if `pause`. The law drops `dropped` of each hundred arrivals.
fn fallen_in_a_flood(dropped: u32, millis: u64, updates: u32, pause: bool) -> f64 {
    let mut controller = Controller::new(Duration::from_millis(10), 256);
    controller.set_rate(Rate::from_bits_per_second(8_000_000));
    for update in 1..=updates {
        (0..dropped).for_each(|_| controller.note_drop());
        let bytes = if pause && update == 63 { 10_000 } else { 1000 * millis };
        let reading = QueueReading { age: Duration::ZERO, bytes, fill: 0, limit: 1, arrived: 100 * update };
        controller.update(Time::from_nanos(16_000_000 * u64::from(update)), 256, reading);
    }
    libm::log(256.0) - libm::log(controller.share() as f64 / 65_536.0)
}

/// By hand, at twice the target for 2 s: ln T falls by 0.3 · 2 as the delay rises, then by 0.3 a second up to 0.7071 s,
/// and by 0.3 · 2 t² a second at t: 0.212 + 0.2 (2³ - 0.354). Where 19 of a hundred are dropped, or the delay is at its
/// target after 1 s, it is less. At 1.1 times the target a tenth of that counts, and from 4 s to 8 s as much as at 4.
/// Would catch a controller that does not hurry the longer a flood lasts, or without bound, one that does without a
/// flood, and one that goes on when the delay has been at its target.
#[test]
fn the_share_moves_faster_the_longer_a_flood_lasts() {
    let at = |seconds: f64| 0.212 + 0.2 * (libm::pow(seconds, 3.0) - 0.354);
    for (dropped, millis, updates, pause, expected) in [
        (20, 20, 125, false, 0.6 + at(2.0)),
        (100, 20, 125, false, 0.6 + at(2.0)),
        (19, 20, 125, false, 0.6 + 0.6),
        (20, 20, 125, true, 0.6 + 2.0 * at(1.0)),
        (20, 11, 500, false, 0.33 + 0.1 * at(4.0) + 0.03 * 32.0 * 4.0),
    ] {
        let fallen = fallen_in_a_flood(dropped, millis, updates, pause);
        assert!((fallen - expected).abs() < 0.03, "{dropped} {millis} {pause}: {fallen} {expected}");
    }
}

/// Would catch a controller that ignores how full the queue is: 20 of at most 25 packets count as 3.2 targets, although
/// they are only 20 ms.
#[test]
fn a_crowded_queue_counts_as_delay() {
    let queue = filled(Config { limit: Size::packets(25), ..Config::default() }, 20, millis(16));
    let fallen = libm::log(256.0) - ln_share(&queue);
    assert!((fallen - (0.3 * 2.2 * 0.016 + 0.3 * 3.2)).abs() < 1e-4, "{fallen}");
}

/// Would catch a share that does not recover while the link stands still: from its least, -4, to its most, ln 256, in
/// about a tenth of a second and what 40 a second need.
#[test]
fn the_share_recovers_while_the_link_stands_still() {
    let mut queue = Echo::<SimplePacket>::new(Config::default(), Seed::new(1)).unwrap();
    queue.controller.set_share(libm::exp(-4.0));
    assert_eq!(queue.dequeue(millis(1), &mut ()), None);
    queue.control(millis(50));
    // 0.4 a second for 50 ms, and 0.3 a second for a delay that is a whole target below its target.
    assert!((ln_share(&queue) - (-4.0 + 0.7 * 0.05)).abs() < 1e-3, "{}", ln_share(&queue));
    assert_eq!(queue.dequeue(millis(51), &mut ()), None);
    queue.controller.note_drop();
    queue.control(millis(100));
    // 4 a second for 50 ms more, since an arrival was dropped.
    assert!((ln_share(&queue) - (-4.0 + 0.7 * 0.05 + 4.3 * 0.05)).abs() < 1e-3, "{}", ln_share(&queue));
    assert_eq!(queue.dequeue(millis(101), &mut ()), None);
    queue.control(millis(500));
    assert!((ln_share(&queue) - libm::log(256.0)).abs() < 1e-3, "{}", ln_share(&queue));
}

/// Would catch a rate that counts the time in which nothing waits, or the packet that has only begun to leave: ten
/// packets of 1000 bytes, 2 ms each, are 500 kB/s, although the link then pauses.
#[test]
fn the_rate_is_measured_while_packets_wait() {
    let mut queue = Echo::new(Config::default(), Seed::new(1)).unwrap();
    for burst in 0..30 {
        let start = 1000 * burst;
        for flow in 0..10 {
            queue.enqueue(millis(start), SimplePacket::new(flow, 1000), &mut ());
        }
        for packet in 0..11 {
            queue.dequeue(millis(start + 2 * packet), &mut ());
        }
    }
    assert_eq!(queue.controller.rate, 500_000);
}

/// 256 tags for each Gbit/s, rounded up to a power of two. Would catch a sample that does not follow the link, one that
/// follows it although the size is given, and a share that becomes another part of the sample.
#[test]
fn the_sample_follows_the_link() {
    let rates = [(0, 256), (1_000_000, 256), (1_000_000_000, 256), (1_000_000_001, 512), (10_000_000_000, 4096)];
    for (rate, tags) in rates {
        let rate = Rate::from_bits_per_second(rate);
        let mut queue = filled(Config::default(), 24, millis(16));
        let part = ln_share(&queue) - libm::log(256.0);
        queue.link_rate(rate);
        assert_eq!(queue.meter.tags(), tags);
        assert!((ln_share(&queue) - libm::log(f64::from(tags)) - part).abs() < 1e-3);
        let mut fixed = filled(Config { tags: Some(64), ..Config::default() }, 24, millis(16));
        fixed.link_rate(rate);
        assert_eq!(fixed.meter.tags(), 64);
    }
    assert_eq!(tags_for(Rate::from_bits_per_second(u64::MAX)), 4096);
}

/// Offers 4 flows at 0.1 ms apart to a link of 8 Mbit/s, one of them as often as the other three; returns the packets
/// that each got through in the second half of 40 s, and the drops and the marks of the heavy one.
fn shares(ecn: bool) -> (Vec<u32>, Counters) {
    let mut queue = Echo::new(Config::default(), Seed::new(3)).unwrap();
    let mut chance = Seed::new(4).stream("arrivals");
    let mut through = std::vec![0; 4];
    for tick in 0..80_000_u64 {
        let now = Time::from_nanos(500_000 * tick);
        let draw = chance.below(6);
        let flow = u64::from(draw.saturating_sub(2));
        let packet = SimplePacket { ecn_capable: ecn, ..SimplePacket::new(flow, 1000) };
        queue.enqueue(now, packet, &mut ());
        if tick % 2 == 0
            && let Some(packet) = queue.dequeue(now, &mut ())
        {
            through[packet.flow as usize] += u32::from(tick >= 40_000);
        }
    }
    (through, queue.counters().clone())
}

/// The link carries half of the arrivals: with one flow at 1/2 and three at 1/6 each, no flow is below the fair share,
/// 1/4 of the link, so that each has 1 to 4/3 times the same. Would catch a heavy flow that is not held back.
#[test]
fn a_heavy_flow_is_held_to_its_share() {
    let (through, _) = shares(false);
    let heavy = f64::from(through[0]) / 20_000.0;
    assert!(heavy > 0.22 && heavy < 0.36, "{through:?}");
    for light in &through[1..] {
        assert!((f64::from(*light) / 20_000.0 - (1.0 - heavy) / 3.0).abs() < 0.03, "{through:?}");
    }
}

/// Would catch marks of a flow that is far above its share, which would not slow down, and drops where a mark would do.
#[test]
fn flows_near_their_share_are_marked() {
    let (_, counters) = shares(true);
    assert!(counters.marked(Reason::Label).packets > 0);
    assert!(counters.dropped(Reason::Label).packets > 0);
    let (_, counters) = shares(false);
    assert_eq!(counters.marked_total().packets, 0);
}

/// Would catch a value out of its range that is accepted.
#[test]
fn invalid_configs_are_refused() {
    for (key, config) in [
        ("target", Config { target: Duration::ZERO, ..Config::default() }),
        ("tags", Config { tags: Some(32), ..Config::default() }),
        ("tags", Config { tags: Some(300), ..Config::default() }),
        ("tags", Config { tags: Some(8192), ..Config::default() }),
        ("limit", Config { limit: Size::packets(u32::MAX), ..Config::default() }),
    ] {
        let error = Echo::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
        assert_eq!(error.key(), key);
    }
}

/// At 1 Gbit/s ECHO's state, without the packets and the counters of every discipline, fits in 1 KiB, and at 10 in 10
/// KiB, with any number of flows.
#[test]
fn its_memory_is_small() {
    for (gigabits, most) in [(1, 1024), (10, 10 * 1024)] {
        let tags = tags_for(Rate::from_bits_per_second(gigabits * 1_000_000_000));
        let bytes = FlowMeter::memory(tags) + size_of::<Controller>();
        assert!(bytes <= most, "{bytes} bytes at {gigabits} Gbit/s");
    }
}
