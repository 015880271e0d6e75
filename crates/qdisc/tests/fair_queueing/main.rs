//! Disciplines with a queue for each flow or class: the fairness bounds of their papers, shares of the link, and
//! extreme parameters.

mod cbq;
mod drr;
mod fairness;
mod link;
mod virtual_time;

use std::collections::BTreeMap;

use fairlane_qdisc::{BoxQdisc, Kind, ParameterError, Qdisc, Reason, Seed, SimplePacket, Time};
use fairness::traffic;
use link::{Drops, Outcome, Sent, build, send};

/// The disciplines under test.
const KINDS: [Kind; 5] = [Kind::Drr, Kind::Wfq, Kind::Scfq, Kind::Stfq, Kind::Cbq];

/// Would catch a drop from another queue than the longest by bytes, and a wrong packet or reason.
#[test]
fn the_longest_queue_makes_room() -> Outcome {
    // Flow 1 has packets 0 to 2 of 1500 bytes; flow 2 has packets 10 to 16 of 100.
    let fill = |kind: Kind, given: &[(&str, &str)]| -> Result<BoxQdisc<SimplePacket>, ParameterError> {
        let mut queue = build(kind, given)?;
        for id in 0..3 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1, 1500).with_id(id), &mut ());
        }
        for id in 10..17 {
            queue.enqueue(Time::ZERO, SimplePacket::new(2, 100).with_id(id), &mut ());
        }
        Ok(queue)
    };
    let front = [("limit", "10p"), ("drop", "front")];
    let tail = [("limit", "10p"), ("drop", "tail")];
    let limit = [("limit", "10p")];
    for (kind, given, of_another, of_its_own) in [
        (Kind::Drr, &front[..], (0, Reason::BufferSteal), (0, Reason::BufferSteal)),
        (Kind::Drr, &tail[..], (2, Reason::BufferSteal), (99, Reason::Limit)),
        (Kind::Wfq, &limit[..], (2, Reason::BufferSteal), (99, Reason::Limit)),
        (Kind::Scfq, &limit[..], (2, Reason::BufferSteal), (99, Reason::Limit)),
        (Kind::Stfq, &limit[..], (2, Reason::BufferSteal), (99, Reason::Limit)),
    ] {
        for (flow, victim) in [(3, of_another), (2, of_another), (1, of_its_own)] {
            let (mut queue, mut drops) = (fill(kind, given)?, Drops::default());
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1500).with_id(99), &mut drops);
            assert_eq!(drops.0, [victim], "{kind}: an arrival of flow {flow}");
        }
    }
    Ok(())
}

/// Would catch a panic, a packet too many or a wrong reason at limits of zero and of one, with packets larger than the
/// limit, with an empty queue, after a year without traffic and at the end of time.
#[test]
fn limits_and_idle_times_at_their_extremes() -> Outcome {
    for kind in KINDS {
        for (limit, bytes, kept) in
            [("0p", 1000, 0), ("1p", 1000, 1), ("0b", 1, 0), ("999b", 1000, 0), ("1000b", 1000, 1), ("1b", u32::MAX, 0)]
        {
            let mut queue = build(kind, &[("limit", limit)])?;
            let mut drops = Drops::default();
            for id in 0..3 {
                queue.enqueue(Time::ZERO, SimplePacket::new(1, bytes).with_id(id), &mut drops);
            }
            assert_eq!((queue.packets(), drops.0.len()), (kept, 3 - kept), "{kind} limit {limit}");
            let wrong = drops.0.iter().filter(|(_, reason)| !matches!(reason, Reason::Limit | Reason::BufferSteal));
            assert_eq!(wrong.count(), 0, "{kind}");
        }
        // A packet larger than the limit displaces no other packet.
        let mut queue = build(kind, &[("limit", "5000b")])?;
        for id in 0..4 {
            queue.enqueue(Time::ZERO, SimplePacket::new(id, 1000).with_id(id), &mut ());
        }
        let mut drops = Drops::default();
        queue.enqueue(Time::ZERO, SimplePacket::new(0, 9000).with_id(9), &mut drops);
        assert_eq!(drops.0, [(9, Reason::Limit)], "{kind}");
        // A year without traffic, then the end of time.
        for now in [Time::from_nanos(31_536_000_000_000_000), Time::MAX] {
            while queue.dequeue(now, &mut ()).is_some() {}
            assert!(queue.dequeue(now, &mut ()).is_none());
            assert_eq!((queue.packets(), queue.bytes()), (0, 0));
            assert!(queue.ready_at().is_none());
            for id in 0..4 {
                queue.enqueue(now, SimplePacket::new(id, 1000), &mut ());
            }
            assert_eq!(queue.packets(), 4, "{kind}");
        }
    }
    Ok(())
}

/// Would catch packets of a flow that leave out of order, and state that is left once the queue has drained.
#[test]
fn flows_keep_their_order_and_a_drained_queue_is_as_new() -> Outcome {
    let mut chance = Seed::new(12).stream("traffic");
    for kind in KINDS {
        let arrivals = traffic(&mut chance, 60);
        let mut queue = build(kind, &[("limit", "50p")])?;
        let (first, _) = send(&mut queue, &arrivals, u64::MAX);
        let mut last = BTreeMap::new();
        for s in &first {
            let before = last.insert(s.packet.flow, s.packet.id);
            assert!(before.is_none_or(|id| id < s.packet.id), "{kind}");
        }
        if kind == Kind::Cbq {
            // The averages of its classes outlive the backlog.
            continue;
        }
        let shift = 1_000_000_000_000;
        let again: Vec<_> = arrivals.iter().map(|&(at, packet)| (at + shift, packet)).collect();
        queue.dequeue(Time::from_nanos(shift), &mut ());
        let (second, _) = send(&mut queue, &again, u64::MAX);
        let ends = |sent: &[Sent], shift| sent.iter().map(|s| (s.packet, s.end - shift)).collect::<Vec<_>>();
        assert_eq!(ends(&first, 0), ends(&second, shift), "{kind}");
    }
    Ok(())
}
