//! Fair queueing by virtual time: WFQ, SCFQ and STFQ.

use std::collections::BTreeMap;

use fairlane_qdisc::{Kind, ParameterError, Seed, SimplePacket};

use crate::fairness::{backlogged, check_fairness, class_of, traffic, weight_of};
use crate::link::{BYTE_NANOS, LONG, Outcome, backlog, build, flows_of, send};

/// The kinds of fair queueing by virtual time.
const FAIR: [Kind; 3] = [Kind::Wfq, Kind::Scfq, Kind::Stfq];

/// Returns the time at which the fluid server (GPS) has served each packet of `arrivals`, by flow and id, from a
/// simulation event by event.
fn fluid(arrivals: &[(u64, SimplePacket)], weight: impl Fn(u64) -> f64) -> BTreeMap<(u64, u64), f64> {
    let mut queues: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    let mut served = BTreeMap::new();
    let (mut now, mut next) = (0.0_f64, arrivals.iter().peekable());
    loop {
        queues.retain(|_, packets| !packets.is_empty());
        let weights: f64 = queues.keys().map(|&flow| weight(flow)).sum();
        // The flow whose packet is finished first, and the virtual time that this takes, in bytes.
        let ends = queues.iter().map(|(&flow, packets)| (packets[0].1 / weight(flow), flow));
        let first = ends.min_by(|a, b| a.0.total_cmp(&b.0));
        let done = first.map_or(f64::INFINITY, |(bytes, _)| now + bytes * weights * BYTE_NANOS as f64);
        let arrival = next.peek().map_or(f64::INFINITY, |(at, _)| *at as f64);
        let passed = match first {
            Some((bytes, _)) if done <= arrival => bytes,
            Some(_) => (arrival - now) / (weights * BYTE_NANOS as f64),
            None if arrival.is_infinite() => return served,
            None => 0.0,
        };
        now = done.min(arrival);
        for (&flow, packets) in &mut queues {
            packets[0].1 -= passed * weight(flow);
        }
        if let Some((_, flow)) = first.filter(|_| done <= arrival)
            && let Some(packets) = queues.get_mut(&flow)
        {
            served.insert((flow, packets.remove(0).0), now);
        }
        if arrival <= done
            && let Some((_, packet)) = next.next()
        {
            queues.entry(packet.flow).or_default().push((packet.id, f64::from(packet.bytes)));
        }
    }
}

/// Returns the largest time by which a packet of `kind` finishes later than in the fluid server, in nanoseconds.
fn lateness(kind: Kind, arrivals: &[(u64, SimplePacket)], weighted: bool) -> Result<f64, ParameterError> {
    let class = |flow: u64| arrivals.iter().find(|(_, p)| p.flow == flow).map_or(0, |(_, p)| p.class);
    let fluid = fluid(arrivals, |flow| if weighted { f64::from(1 + class(flow) / 64) } else { 1.0 });
    let (sent, drops) = send(&mut build(kind, &[LONG, ("weighted", &weighted.to_string())])?, arrivals, u64::MAX);
    assert!(drops.0.is_empty());
    assert_eq!(sent.len(), arrivals.len());
    Ok(sent.iter().map(|s| s.end as f64 - fluid[&(s.packet.flow, s.packet.id)]).fold(f64::MIN, f64::max))
}

/// Parekh and Gallager, theorem 1: no packet finishes later than in the fluid server by more than the time of the
/// largest packet. Would catch virtual time that misses the end of a flow or advances at another pace.
#[test]
fn wfq_is_never_later_than_the_fluid_by_more_than_a_packet() -> Outcome {
    let mut chance = Seed::new(7).stream("traffic");
    for weighted in [false, true] {
        for _ in 0..20 {
            let arrivals = traffic(&mut chance, 120);
            let largest = arrivals.iter().map(|(_, packet)| u64::from(packet.bytes) * BYTE_NANOS).max().unwrap_or(0);
            let late = lateness(Kind::Wfq, &arrivals, weighted)?;
            assert!(late <= largest as f64 + 1.0, "{late} ns");
        }
    }
    Ok(())
}

/// SCFQ's clock is cheaper than WFQ's but less exact: a flow of weight 4 that arrives while 40 flows of weight 1 are
/// backlogged waits for one packet of each, which takes 40 packet times. The fluid server needs 44/4 packet times.
/// Would catch a check of the bound above that cannot fail.
#[test]
fn scfq_may_be_late_by_a_packet_of_each_flow() -> Outcome {
    let mut arrivals: Vec<_> = (0..40).flat_map(|flow| backlog(100 + flow, 0, 3, || 1000)).collect();
    arrivals.push((1, SimplePacket::new(1, 1000).with_class(0xe0)));
    let packet = (1000 * BYTE_NANOS) as f64;
    assert!(lateness(Kind::Wfq, &arrivals, true)? <= packet);
    // With its own transmission it takes 41 packet times.
    let late = lateness(Kind::Scfq, &arrivals, true)?;
    assert!(late > (41.0 - 11.1) * packet, "{late}");
    Ok(())
}

/// Golestani, theorem 1; Goyal, Vin, Cheng, theorem 1: over every interval in which two flows are backlogged, their
/// service per weight differs by at most a largest packet of each per its weight. Would catch wrong tags and a wrong
/// virtual time.
#[test]
fn scfq_and_stfq_are_fair_over_every_interval() -> Outcome {
    let mut chance = Seed::new(8).stream("traffic");
    for kind in [Kind::Scfq, Kind::Stfq] {
        for _ in 0..6 {
            let arrivals = traffic(&mut chance, 80);
            let (sent, _) = send(&mut build(kind, &[LONG, ("weighted", "true")])?, &arrivals, u64::MAX);
            let rows = backlogged(&sent, &arrivals);
            check_fairness(&sent, &rows, weight_of, 0.0);
        }
    }
    Ok(())
}

/// The same bound for WFQ, among flows whose backlogs begin together. Otherwise WFQ may first serve a flow many packets
/// ahead of the fluid server (Bennett and Zhang, WF2Q, INFOCOM 1996) and does not keep the bound.
#[test]
fn wfq_is_fair_to_flows_that_begin_together() -> Outcome {
    let mut chance = Seed::new(9).stream("sizes");
    let arrivals: Vec<_> =
        (0..5).flat_map(|flow| backlog(flow, class_of(flow), 120, || 40 + chance.below(1461))).collect();
    let (sent, _) = send(&mut build(Kind::Wfq, &[LONG, ("weighted", "true")])?, &arrivals, u64::MAX);
    let rows = backlogged(&sent, &arrivals);
    check_fairness(&sent, &rows, weight_of, 0.0);
    Ok(())
}

/// Would catch ties that go by the flows' keys, which would favour some of them for ever.
#[test]
fn equal_tags_leave_in_the_order_of_arrival() -> Outcome {
    for kind in FAIR {
        let flows = [7, 3, 9, 0, 5];
        let arrivals: Vec<_> = flows.into_iter().flat_map(|flow| backlog(flow, 0, 2, || 1000)).collect();
        let (sent, _) = send(&mut build(kind, &[LONG])?, &arrivals, u64::MAX);
        assert_eq!(flows_of(&sent), [7, 3, 9, 0, 5, 7, 3, 9, 0, 5], "{kind}");
    }
    Ok(())
}

/// Would catch service before an idle time that still counts after it: flow 2 would be served first.
#[test]
fn virtual_time_restarts_when_the_link_is_idle() -> Outcome {
    for kind in FAIR {
        let mut queue = build(kind, &[LONG])?;
        let mut first = backlog(1, 0, 1, || 9000);
        let (sent, _) = send(&mut queue, &first, u64::MAX);
        first[0].0 = sent[0].end;
        let later = [(sent[0].end, SimplePacket::new(1, 9000)), (sent[0].end, SimplePacket::new(2, 9000))];
        assert_eq!(flows_of(&send(&mut queue, &later, u64::MAX).0), [1, 2], "{kind}");
    }
    Ok(())
}

/// Would catch a change of weight that moves the tags of queued packets. The finishes are 1000 and 1250 for flow 1,
/// 1200 for flow 2 and 1300 for flow 3.
#[test]
fn a_new_weight_applies_to_new_packets() -> Outcome {
    for kind in [Kind::Wfq, Kind::Scfq] {
        let mut queue = build(kind, &[LONG, ("weighted", "true")])?;
        let arrivals = [
            SimplePacket::new(1, 1000).with_id(10),
            SimplePacket::new(1, 1000).with_id(11).with_class(0xe0),
            SimplePacket::new(2, 1200).with_id(20),
            SimplePacket::new(3, 1300).with_id(30),
        ]
        .map(|packet| (0, packet));
        let ids: Vec<_> = send(&mut queue, &arrivals, u64::MAX).0.iter().map(|s| s.packet.id).collect();
        assert_eq!(ids, [10, 20, 11, 30], "{kind}");
    }
    Ok(())
}
