//! Class-Based Queueing: the shares of Floyd and Jacobson, "Link-sharing and resource management models for packet
//! networks", IEEE/ACM ToN 3(4), 1995.

use std::collections::BTreeMap;

use fairlane_qdisc::{Kind, ParameterError, Qdisc, Reason, SimplePacket, Time};

use crate::link::{BYTE_NANOS, LONG, Outcome, RATE, Sent, backlog, build, send};

/// Returns the share of the link that each class gets within `seconds`, while all classes of `sizes` always have
/// packets queued. `sizes` gives each class with the size of its packets.
fn cbq_shares(given: &[(&str, &str)], sizes: &[(u8, u32)], seconds: u64) -> Result<BTreeMap<u8, f64>, ParameterError> {
    let mut queue = build(Kind::Cbq, given)?;
    let packet = |class: u8| {
        let size = sizes.iter().find(|(of, _)| *of == class).map_or(0, |(_, size)| *size);
        SimplePacket::new(0, size).with_class(32 * class)
    };
    for &(class, _) in sizes {
        for _ in 0..5 {
            queue.enqueue(Time::ZERO, packet(class), &mut ());
        }
    }
    let (mut now, mut bytes) = (0, BTreeMap::new());
    while now < seconds * 1_000_000_000 {
        let Some(sent) = queue.dequeue(Time::from_nanos(now), &mut ()) else {
            now = queue.ready_at().map_or(u64::MAX, Time::as_nanos);
            continue;
        };
        let class = sent.class / 32;
        *bytes.entry(class).or_default() += f64::from(sent.bytes);
        // Each packet that leaves is replaced.
        queue.enqueue(Time::from_nanos(now), packet(class), &mut ());
        now += u64::from(sent.bytes) * BYTE_NANOS;
    }
    let link = now as f64 / BYTE_NANOS as f64;
    Ok(bytes.into_iter().map(|(class, bytes): (u8, f64)| (class, bytes / link)).collect())
}

/// Tells whether `share` is within 2 % of `of`.
fn within(share: f64, of: f64) -> bool {
    (share / of - 1.0).abs() <= 0.02
}

/// A bounded class alone gets its share within 2 % in the long run. Would catch an average that drifts.
#[test]
fn cbq_holds_a_bounded_class_to_its_share() -> Outcome {
    for share in ["0.01", "0.05", "0.1", "0.3", "0.5", "0.7", "0.9", "0.99"] {
        for size in [100, 1000, 1500, 9000] {
            let got = cbq_shares(&[("shares", share), ("bounded", "0")], &[(0, size)], 2000)?;
            let of: f64 = share.parse().unwrap_or(0.0);
            assert!(within(got[&0], of), "{share} with packets of {size}: {}", got[&0]);
        }
    }
    Ok(())
}

/// With all classes busy, each gets its share within 2 %. Would catch shares that depend on the size of packets, on
/// priorities, or on the classes that may borrow.
#[test]
fn cbq_gives_every_class_its_share() -> Outcome {
    let sizes = [(0, 1000), (1, 1500), (2, 300)];
    for prio in ["1", "1,2,3", "3,2,1", "2,1,2"] {
        for bounded in [None, Some("0"), Some("1,2")] {
            let mut given = vec![LONG, ("shares", "0.5,0.3,0.2"), ("prio", prio)];
            given.extend(bounded.map(|classes| ("bounded", classes)));
            let got = cbq_shares(&given, &sizes, 400)?;
            for (class, of) in [(0, 0.5), (1, 0.3), (2, 0.2)] {
                assert!(within(got[&class], of), "prio {prio}, bounded {bounded:?}: class {class} has {}", got[&class]);
            }
        }
    }
    Ok(())
}

/// The share of an idle class goes to the classes that may borrow, in proportion to their shares. Would catch a bounded
/// class that borrows, and a class that may borrow and does not.
#[test]
fn cbq_lends_what_is_left() -> Outcome {
    let shares = ("shares", "0.4,0.3,0.2,0.1");
    let got = cbq_shares(&[LONG, shares], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 2.0 / 3.0) && within(got[&2], 1.0 / 3.0), "{got:?}");
    let got = cbq_shares(&[LONG, shares, ("bounded", "0")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.6), "{got:?}");
    let got = cbq_shares(&[LONG, shares, ("bounded", "0,2")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.2), "{got:?}");
    // All of it goes to the class of the highest priority.
    let got = cbq_shares(&[LONG, shares, ("prio", "2,1,1,1")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.6), "{got:?}");
    Ok(())
}

/// An unsatisfied class is served before a borrower of a higher priority. Would catch a class that sends less than its
/// share and loses packets, or waits for more than two packets.
#[test]
fn cbq_serves_the_unsatisfied_before_borrowers() -> Outcome {
    let mut queue = build(Kind::Cbq, &[("limit", "5p"), ("shares", "0.5,0.5"), ("prio", "1,2")])?;
    let mut arrivals: Vec<_> = (0..40_000).map(|n| (n * 4_000_000, SimplePacket::new(1, 1000))).collect();
    // 20 ms between packets of 8 ms: 0.4 of the link.
    arrivals.extend((0..8_000).map(|n| (n * 20_000_000 + 1, SimplePacket::new(2, 1000).with_class(32).with_id(n))));
    arrivals.sort_by_key(|(at, _)| *at);
    let (sent, drops) = send(&mut queue, &arrivals, 150_000_000_000);
    let slow: Vec<_> = sent.iter().filter(|s| s.packet.flow == 2).collect();
    assert!(slow.len() > 7400);
    assert!(drops.0.iter().all(|(_, reason)| *reason == Reason::Limit));
    // In the first second the other class sends the burst that it may send after an idle time.
    let later = &slow[50..];
    assert!(later.windows(2).all(|pair| pair[1].packet.id == pair[0].packet.id + 1), "none was dropped");
    let delay = |s: &Sent| s.end - (s.packet.id * 20_000_000 + 1);
    assert!(later.iter().all(|s| delay(s) <= 3 * 1000 * BYTE_NANOS), "{:?}", later.iter().map(|s| delay(s)).max());
    Ok(())
}

/// A class that was idle sends `maxburst` mean packets at once and up to two more: the first has no gap before it that
/// could be measured, and the last makes the average negative. Would catch longer and shorter bursts.
#[test]
fn cbq_bounds_bursts() -> Outcome {
    for (burst, share) in [(1, "0.1"), (5, "0.5"), (20, "0.25"), (100, "0.01")] {
        let text = format!("{burst}p");
        let given = [LONG, ("shares", share), ("bounded", "0"), ("maxburst", &text[..])];
        let (sent, _) = send(&mut build(Kind::Cbq, &given)?, &backlog(0, 0, 300, || 1000), u64::MAX);
        let gap = sent.windows(2).take_while(|pair| pair[1].end - pair[0].end == 1000 * BYTE_NANOS).count() + 1;
        assert!((burst + 1..=burst + 2).contains(&gap), "maxburst {burst}: {gap} at once");
    }
    Ok(())
}

/// Would catch a class that is held back for ever, and a packet that is not ready at the time announced, or ready
/// before.
#[test]
fn cbq_announces_when_a_packet_is_ready() -> Outcome {
    let mut queue = build(Kind::Cbq, &[("shares", "0.1"), ("bounded", "0"), ("maxburst", "1p")])?;
    assert_eq!(queue.ready_at(), None);
    for _ in 0..5 {
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
    }
    let mut now = Time::ZERO;
    while queue.dequeue(now, &mut ()).is_some() {
        now += RATE.transmission(1000);
    }
    assert!(queue.packets() > 0);
    let ready = queue.ready_at().unwrap_or(Time::ZERO);
    assert!(ready > now);
    assert!(queue.dequeue(Time::from_nanos(ready.as_nanos() - 1), &mut ()).is_none());
    assert!(queue.dequeue(ready, &mut ()).is_some());
    Ok(())
}

/// Would catch a value that is let in although it contradicts others, and a message that does not say why.
#[test]
fn impossible_parameters_of_cbq_are_refused() {
    for (given, expected) in [
        (("shares", "0.6,0.5"), "shares: 0.6,0.5 are 1.1 in all, and the link is only 1"),
        (("shares", "0,1"), "shares: it cannot be \"0,1\": expected up to 8 numbers"),
        (("prio", "1,2"), "prio: it has 2 numbers for 8 classes"),
        (("prio", "1.5"), "prio: 1.5 is no priority"),
        (("bounded", "0.5"), "bounded: there is no class 0.5: the classes are 0 to 7"),
        (("maxburst", "0p"), "maxburst: it cannot be 0p: it is 1p to 256p"),
        (("maxburst", "257p"), "maxburst: it cannot be 257p"),
    ] {
        let refused = build(Kind::Cbq, &[given]).map(|_| ()).map_err(|error| error.to_string());
        assert!(refused.as_ref().is_err_and(|error| error.starts_with(expected)), "{given:?}: {refused:?}");
    }
    let three = build(Kind::Cbq, &[("shares", "0.5,0.5"), ("bounded", "2")]).map(|_| ()).map_err(|e| e.to_string());
    assert!(three.is_err_and(|error| error.starts_with("bounded: there is no class 2: the classes are 0 to 1")));
}
