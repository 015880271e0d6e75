use super::*;
use crate::SimplePacket;

/// SPEC appendix D, the paper's equation 1; and the tc-sfb(8) manual's "about 0.2 %" for ten flows.
#[test]
fn misclassification_is_the_papers_equation() {
    for ((levels, bins, polluters), expected) in
        [((2, 23, 8), 0.089_555), ((1, 46, 8), 0.161_240), ((3, 10, 1), 0.001), ((8, 16, 10), 0.002_615)]
    {
        let probability = misclassified(levels, bins, polluters);
        assert!((probability - expected).abs() < 1e-6, "{levels} {bins} {polluters}: {probability}");
    }
}

fn blue(freeze: Option<Duration>) -> Blue {
    Blue { bin_size: 13, increment: 0.25, decrement: 0.125, freeze }
}

/// A bin learns above its size, not at it, and forgets only when it is empty. It stays within 0 and 1.
#[test]
fn a_bin_learns_as_blue_does() {
    let law = blue(None);
    let mut lesson = law.fresh();
    for (queued, expected) in
        [(13, 0.0), (14, 0.25), (1, 0.25), (0, 0.125), (14, 0.375), (99, 0.625), (99, 0.875), (99, 1.0), (99, 1.0)]
    {
        law.arrive(&mut lesson, Time::ZERO, queued);
        assert_eq!(law.probability(&lesson), expected, "{queued}");
    }
    assert!(law.is_polluted(&lesson));
    for _ in 0..9 {
        law.arrive(&mut lesson, Time::ZERO, 0);
        assert!(!law.is_polluted(&lesson));
    }
    assert_eq!(law.probability(&lesson), 0.0);
}

/// With `freeze` a bin changes once in that time, in both directions; other bins have their own time.
#[test]
fn a_frozen_bin_learns_nothing() {
    let law = blue(Some(Duration::from_millis(10)));
    let mut lesson = law.fresh();
    let at = |millis: u64| Time::ZERO + Duration::from_millis(millis);
    for (now, queued, expected) in [(0, 14, 0.25), (1, 14, 0.25), (10, 0, 0.25), (11, 0, 0.125), (15, 14, 0.125)] {
        law.arrive(&mut lesson, at(now), queued);
        assert_eq!(law.probability(&lesson), expected, "{now}");
    }
}

/// Linux's rule: at a probability p above 1/2, 2p - 1 of all arrivals are dropped and only 1 - p are marked.
#[test]
fn above_a_half_signals_drop_what_could_be_marked() {
    for (harddrop, dropped, marked) in [("true", 0.5, 0.25), ("false", 0.0, 0.75)] {
        let host = crate::Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(8) };
        let config = [
            ("bin_size", "0p"),
            ("bin_max", "1000p"),
            ("levels", "1"),
            ("bins", "1"),
            // The second packet finds the first one queued, and nothing changes again for a while.
            ("increment", "0.75"),
            ("freeze", "100s"),
            ("ecn", "true"),
            ("harddrop", harddrop),
        ]
        .into_iter()
        .try_fold(crate::QdiscConfig::new(crate::Kind::Sfb), |config, (key, text)| config.with(key, text));
        let Ok(mut queue) = config.and_then(|config| config.build::<SimplePacket>(&host)) else { panic!("refused") };
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
        let early = crate::Reason::Early;
        let drops = share(queue.counters().dropped(early).packets, before.dropped(early).packets);
        let marks = share(queue.counters().marked(early).packets, before.marked(early).packets);
        // Four standard errors are below 0.0064.
        assert!((drops - dropped).abs() < 0.007 && (marks - marked).abs() < 0.007, "{harddrop}: {drops} {marks}");
    }
}
