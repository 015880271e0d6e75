use alloc::vec::Vec;

use super::*;
use crate::flow::hash::misclassified;
use crate::{Reason, SimplePacket};

/// Would catch a range that the constructor does not check.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let default = Config::default();
    for (config, key) in [
        (Config { bins: BinConfig { levels: 17, ..default.bins }, ..default }, "levels"),
        (Config { bins: BinConfig { bins: 0, ..default.bins }, ..default }, "bins"),
        (Config { bins: BinConfig { penalty_burst: Bytes::new(0), ..default.bins }, ..default }, "penalty_burst"),
        (Config { increment: f64::NAN, ..default }, "increment"),
        (Config { freeze: Some(Duration::ZERO), ..default }, "freeze"),
    ] {
        let refused = Sfb::<SimplePacket>::new(config, Seed::new(1));
        assert!(refused.is_err_and(|error| error.key() == key), "{key}");
    }
    Ok(())
}

/// The paper's section IV-C: 8.96 % with two levels of 23 bins and 16.12 % with one of 46, both for eight
/// non-responsive flows; tc-sfb(8)'s "about 0.2 %" for ten; and one flow in 10 x 3 bins, 10^-3 (section V-B).
#[test]
fn misclassification_is_the_papers_equation() {
    for ((levels, bins, polluters), expected) in
        [((2, 23, 8), 0.089_555), ((1, 46, 8), 0.161_240), ((3, 10, 1), 0.001), ((8, 16, 10), 0.002_615)]
    {
        let probability = misclassified(levels, bins, polluters);
        assert!((probability - expected).abs() < 1e-6, "{levels} {bins} {polluters}: {probability}");
    }
}

fn blue(freeze: Option<Duration>) -> BlueRule {
    BlueRule { bin_size: 13, increment: 0.25, decrement: 0.125, decrement_at: DecrementAt::Arrival, freeze }
}

/// Would catch a bin that learns at its size and not above it, or that forgets before it is empty, and a probability
/// outside of 0 to 1.
#[test]
fn a_bin_learns_as_blue_does() {
    let rule = blue(None);
    let mut state = rule.initial();
    for (queued, expected) in
        [(13, 0.0), (14, 0.25), (1, 0.25), (0, 0.125), (14, 0.375), (99, 0.625), (99, 0.875), (99, 1.0), (99, 1.0)]
    {
        rule.arrive(&mut state, Time::ZERO, queued);
        assert_eq!(rule.probability(&state), expected, "{queued}");
    }
    assert!(rule.pollution(&state) >= 1.0);
    for _ in 0..9 {
        rule.arrive(&mut state, Time::ZERO, 0);
        assert!(rule.pollution(&state) < 1.0);
    }
    assert_eq!(rule.probability(&state), 0.0);
}

/// Would catch a change within `freeze` of the last one, in either direction.
#[test]
fn a_frozen_bin_learns_nothing() {
    let rule = blue(Some(Duration::from_millis(10)));
    let mut state = rule.initial();
    let at = |millis: u64| Time::ZERO + Duration::from_millis(millis);
    for (now, queued, expected) in [(0, 14, 0.25), (1, 14, 0.25), (10, 0, 0.25), (11, 0, 0.125), (15, 14, 0.125)] {
        rule.arrive(&mut state, at(now), queued);
        assert_eq!(rule.probability(&state), expected, "{now}");
    }
}

/// Linux's rule (`sch_sfb.c`): at a probability p above 1/2, a share 2p - 1 of all arrivals is dropped and only 1 - p
/// is marked.
#[test]
fn above_a_half_signals_drop_what_could_be_marked() -> Result<(), ParameterError> {
    for (harddrop, dropped, marked) in [(true, 0.5, 0.25), (false, 0.0, 0.75)] {
        let bins = BinConfig {
            bin_size: Packets::new(0),
            drop_on_over: DropOnOver::All { bin_max: Packets::new(1000) },
            levels: 1,
            bins: 1,
            ecn: true,
            ..BinConfig::default()
        };
        // The second packet finds the first one queued, and nothing changes again for a while.
        let config = Config {
            bins,
            increment: 0.75,
            freeze: Some(Duration::from_millis(100_000)),
            harddrop,
            ..Config::default()
        };
        let mut queue = Sfb::new(config, Seed::new(8))?;
        let packet = SimplePacket::new(1, 1000).with_ecn();
        let now = Time::ZERO + Duration::from_millis(200_000);
        queue.enqueue(Time::ZERO, packet, &mut ());
        queue.enqueue(now, packet, &mut ());
        let before = queue.counters().clone();
        for _ in 0..100_000 {
            queue.enqueue(now, packet, &mut ());
            while queue.packets() > 1 {
                queue.dequeue(now, &mut ());
            }
        }
        let share = |count: u64, before: u64| (count - before) as f64 / 100_000.0;
        let drops = share(queue.counters().dropped(Reason::Early).packets, before.dropped(Reason::Early).packets);
        let marks = share(queue.counters().marked(Reason::Early).packets, before.marked(Reason::Early).packets);
        // Four standard errors are below 0.0064.
        assert!((drops - dropped).abs() < 0.007 && (marks - marked).abs() < 0.007, "{harddrop}: {drops} {marks}");
    }
    Ok(())
}

/// Section IV-A: "if the number of packets drops to zero, p_m is decreased". Would catch a decrease at an arrival that
/// finds the bin empty, and one at a departure that leaves a packet.
#[test]
fn a_bin_falls_when_its_last_packet_departs() {
    let rule = BlueRule { decrement_at: DecrementAt::Departure, ..blue(None) };
    let mut state = rule.initial();
    for (queued, expected) in [(14, 0.25), (14, 0.5), (0, 0.5), (0, 0.5)] {
        rule.arrive(&mut state, Time::ZERO, queued);
        assert_eq!(rule.probability(&state), expected, "{queued}");
    }
    rule.empty(&mut state, Time::ZERO);
    assert_eq!(rule.probability(&state), 0.375);
    // Of figure 14's rule a departure is no event.
    blue(None).empty(&mut state, Time::ZERO);
    assert_eq!(rule.probability(&state), 0.375);
}

/// Times between two moves are uniform from half to one and a half of `rehash`: their mean is `rehash` and their
/// variance a twelfth of its square.
#[test]
fn the_hash_moves_at_random_times() -> Result<(), ParameterError> {
    let bins = BinConfig { rehash: Duration::from_millis(2000), jitter: true, ..BinConfig::default() };
    let mut queue = Sfb::<SimplePacket>::new(Config { bins, ..Config::default() }, Seed::new(3))?.queue;
    let times: Vec<f64> = (0..10_000).map(|_| queue.draw_rehash().as_secs()).collect();
    let mean = times.iter().sum::<f64>() / 10_000.0;
    let variance = times.iter().map(|time| (time - mean) * (time - mean)).sum::<f64>() / 9_999.0;
    // Four standard errors of the mean are 0.023.
    assert!(times.iter().all(|time| (1.0..=3.0).contains(time)) && (mean - 2.0).abs() < 0.023, "{mean}");
    assert!((variance - 4.0 / 12.0).abs() < 0.02, "{variance}");
    Ok(())
}
