//! What the disciplines with a queue for each flow promise: fairness bounds from their papers, shares, and the edges.

use std::collections::BTreeMap;

use fairlane_qdisc::{
    AnyQdisc, Fate, Host, Kind, ParameterError, Qdisc, QdiscConfig, Rate, Reason, Seed, SimplePacket, Stream, Time,
};

type Outcome = Result<(), ParameterError>;

/// 1 Mbit/s: a byte takes 8 µs.
const RATE: Rate = Rate::from_bits_per_second(1_000_000);
const BYTE_NANOS: u64 = 8_000;

const FAIR: [Kind; 3] = [Kind::Wfq, Kind::Scfq, Kind::Stfq];
const MINE: [Kind; 5] = [Kind::Drr, Kind::Wfq, Kind::Scfq, Kind::Stfq, Kind::Cbq];

/// Who was dropped, and why.
#[derive(Default)]
struct Drops(Vec<(u64, Reason)>);

impl Fate<SimplePacket> for Drops {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push((packet.id, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, _reason: Reason) {
        panic!("packet {} was marked: nothing here marks", packet.id);
    }
}

fn config(kind: Kind, given: &[(&str, &str)]) -> Result<QdiscConfig, ParameterError> {
    given.iter().try_fold(QdiscConfig::new(kind), |config, &(key, text)| config.with(key, text))
}

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<AnyQdisc<SimplePacket>, ParameterError> {
    config(kind, given)?.build(&Host { rate: RATE, seed: Seed::new(3) })
}

/// A packet that left: when the link began to send it, and when it had.
#[derive(Clone, Copy, Debug)]
struct Sent {
    packet: SimplePacket,
    end: u64,
}

/// Sends `arrivals`, which stand in the order of time, over a link of 1 Mbit/s until `until` or until nothing is left.
fn send(queue: &mut AnyQdisc<SimplePacket>, arrivals: &[(u64, SimplePacket)], until: u64) -> (Vec<Sent>, Drops) {
    let (mut sent, mut drops) = (Vec::new(), Drops::default());
    let mut arrivals = arrivals.iter().peekable();
    let mut free = 0;
    loop {
        while let Some(&(at, packet)) = arrivals.next_if(|(at, _)| *at <= free) {
            queue.enqueue(Time::from_nanos(at), packet, &mut drops);
        }
        if free >= until {
            return (sent, drops);
        }
        if let Some(packet) = queue.dequeue(Time::from_nanos(free), &mut drops) {
            free += u64::from(packet.bytes) * BYTE_NANOS;
            sent.push(Sent { packet, end: free });
            continue;
        }
        // The link idles until the next arrival, or until what is held back may go.
        let ready = queue.ready_at().map(Time::as_nanos);
        assert!(ready.is_none_or(|ready| ready > free), "it would have been ready");
        assert_eq!(ready.is_none(), queue.packets() == 0);
        match (arrivals.peek().map(|(at, _)| *at), ready) {
            (Some(arrival), Some(ready)) => free = arrival.min(ready),
            (Some(next), None) | (None, Some(next)) => free = next,
            (None, None) => return (sent, drops),
        }
    }
}

/// `count` packets of `flow` at once, of the sizes that `bytes` says, with ids from 0.
fn backlog(flow: u64, class: u8, count: u64, mut bytes: impl FnMut() -> u32) -> Vec<(u64, SimplePacket)> {
    (0..count).map(|id| (0, SimplePacket::new(flow, bytes()).with_class(class).with_id(id))).collect()
}

fn flows_of(sent: &[Sent]) -> Vec<u64> {
    sent.iter().map(|s| s.packet.flow).collect()
}

/// The largest difference of service per weight between two flows over any row of departures during which both had
/// packets to send, and the bound that `limit` gives for the two flows' largest packets per weight.
fn check_fairness(sent: &[Sent], waiting: &[BTreeMap<u64, bool>], weight: impl Fn(u64) -> f64, slack: f64) {
    let flows: Vec<u64> = waiting.iter().flat_map(|w| w.keys().copied()).collect();
    let (least, most) = (flows.iter().min().copied().unwrap_or(0), flows.iter().max().copied().unwrap_or(0));
    let largest = |flow: u64| {
        let sizes = sent.iter().filter(|s| s.packet.flow == flow).map(|s| f64::from(s.packet.bytes));
        sizes.fold(0.0, f64::max) / weight(flow)
    };
    let mut intervals = 0;
    for i in least..=most {
        for j in i + 1..=most {
            let bound = largest(i) + largest(j) + slack;
            for from in 0..sent.len() {
                let mut ahead = 0.0;
                for (s, w) in sent[from..].iter().zip(&waiting[from..]) {
                    if w.get(&i) != Some(&true) || w.get(&j) != Some(&true) {
                        break;
                    }
                    let served = f64::from(s.packet.bytes);
                    ahead += if s.packet.flow == i { served / weight(i) } else { 0.0 };
                    ahead -= if s.packet.flow == j { served / weight(j) } else { 0.0 };
                    assert!(ahead.abs() <= bound + 1e-6, "flows {i} and {j} differ by {ahead}, above {bound}");
                    intervals += 1;
                }
            }
        }
    }
    assert!(intervals > 10_000, "only {intervals} intervals were looked at");
}

/// The class of a flow in these tests: weights 1 to 4 in turn.
const fn class_of(flow: u64) -> u8 {
    (flow % 4 * 64) as u8
}

const fn weight_of(flow: u64) -> f64 {
    (1 + flow % 4) as f64
}

/// Random arrivals of flows 0 to 4, whose loads differ; some flows come late and some pause.
fn traffic(chance: &mut Stream, packets: u64) -> Vec<(u64, SimplePacket)> {
    let mut arrivals = Vec::new();
    for flow in 0..5_u64 {
        let mut at = u64::from(chance.below(60_000_000));
        for id in 0..packets {
            let bytes = 40 + chance.below(1461);
            arrivals.push((at, SimplePacket::new(flow, bytes).with_class(class_of(flow)).with_id(id)));
            let burst = chance.below(10) != 0;
            at += u64::from(if burst { chance.below(16_000_000) } else { chance.below(160_000_000) });
        }
    }
    arrivals.sort_by_key(|(at, packet)| (*at, packet.flow));
    arrivals
}

/// Which flows had packets to send just before each departure.
fn waiting(sent: &[Sent], arrivals: &[(u64, SimplePacket)]) -> Vec<BTreeMap<u64, bool>> {
    let mut counts: BTreeMap<u64, i64> = arrivals.iter().map(|(_, packet)| (packet.flow, 0)).collect();
    let mut next = arrivals.iter().peekable();
    let mut rows = Vec::new();
    for s in sent {
        let began = s.end - u64::from(s.packet.bytes) * BYTE_NANOS;
        while let Some((_, packet)) = next.next_if(|(at, _)| *at <= began) {
            *counts.entry(packet.flow).or_default() += 1;
        }
        rows.push(counts.iter().map(|(&flow, &count)| (flow, count > 0)).collect());
        *counts.entry(s.packet.flow).or_default() -= 1;
    }
    rows
}

const LONG: (&str, &str) = ("limit", "100000p");

/// Shreedhar and Varghese, theorem 3: over any interval in which two flows are backlogged they differ by at most the
/// quantum and twice the largest packet; SPEC 11: from the start on, by the quantum and one largest packet.
#[test]
fn drr_is_fair_in_bytes() -> Outcome {
    let mut chance = Seed::new(5).stream("sizes");
    for (quantum, weighted) in [(1500, false), (1000, false), (300, false), (1500, true), (40, true)] {
        let weight = |flow: u64| if weighted { weight_of(flow) } else { 1.0 };
        let mut arrivals = Vec::new();
        for (flow, sizes) in [(0, 40..=40), (1, 576..=576), (2, 1500..=1500), (3, 40..=1500), (4, 1000..=1000)] {
            let (least, most): (u32, u32) = sizes.into_inner();
            arrivals.extend(backlog(flow, class_of(flow), 400, || least + chance.below(most - least + 1)));
        }
        let quantum_text = format!("{quantum}b");
        let mut queue = build(Kind::Drr, &[LONG, ("quantum", &quantum_text), ("weighted", &weighted.to_string())])?;
        let (mut sent, _) = send(&mut queue, &arrivals, 200 * 1500 * BYTE_NANOS);
        let rows = waiting(&sent, &arrivals);
        let always = rows.iter().position(|row| row.values().any(|waits| !waits)).unwrap_or(rows.len());
        sent.truncate(always);
        check_fairness(&sent, &rows, weight, f64::from(quantum) + 1500.0);
        let mut bytes = [0.0; 5];
        for s in &sent {
            bytes[s.packet.flow as usize] += f64::from(s.packet.bytes) / weight(s.packet.flow);
            let (least, most) = bytes.iter().fold((f64::MAX, 0.0), |(l, m): (f64, f64), &b| (l.min(b), m.max(b)));
            assert!(most - least <= f64::from(quantum) + 1500.0, "{bytes:?}");
        }
        assert!(bytes[0] > 3000.0);
    }
    Ok(())
}

/// SPEC appendix E, 11. Would catch a flow that sends before its deficit is large enough, or loses what it saved.
#[test]
fn a_packet_larger_than_the_quantum_takes_several_rounds() -> Outcome {
    let mut queue = build(Kind::Drr, &[LONG, ("quantum", "1000b")])?;
    let mut arrivals = backlog(1, 0, 30, || 1000);
    arrivals.extend(backlog(2, 0, 3, || 9000));
    let (sent, _) = send(&mut queue, &arrivals, u64::MAX);
    let expected: Vec<u64> = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2].into_iter().cycle().take(30).chain([1, 1, 1]).collect();
    assert_eq!(flows_of(&sent), expected);
    // Nobody else to wait for: the rounds are over at once, however many.
    let mut queue = build(Kind::Drr, &[("limit", "9gb"), ("quantum", "1b")])?;
    queue.enqueue(Time::ZERO, SimplePacket::new(1, u32::MAX), &mut ());
    assert!(queue.dequeue(Time::ZERO, &mut ()).is_some());
    Ok(())
}

/// SPEC appendix E, 11: the deficit is lost with the last packet. If flow 1 kept its 1400 bytes it would send two.
#[test]
fn a_deficit_does_not_outlive_the_backlog() -> Outcome {
    let mut queue = build(Kind::Drr, &[LONG, ("quantum", "1500b")])?;
    queue.enqueue(Time::ZERO, SimplePacket::new(1, 100), &mut ());
    queue.dequeue(Time::ZERO, &mut ());
    let mut arrivals = backlog(1, 0, 2, || 1000);
    arrivals.extend(backlog(2, 0, 2, || 1500));
    assert_eq!(flows_of(&send(&mut queue, &arrivals, u64::MAX).0), [1, 2, 1, 2]);
    Ok(())
}

/// SPEC 11 and 12: the longest queue by bytes loses its oldest or newest packet, and it may be the arriving flow's.
#[test]
fn the_longest_queue_makes_room() -> Outcome {
    // Flow 1 has packets 0 to 2 of 1500 bytes; flow 2 has packets 10 to 16 of 100.
    let fill = |kind: Kind, given: &[(&str, &str)]| -> Result<AnyQdisc<SimplePacket>, ParameterError> {
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

/// When the fluid server has served each packet of `arrivals`, by flow and id: GPS, event by event.
fn fluid(arrivals: &[(u64, SimplePacket)], weight: impl Fn(u64) -> f64) -> BTreeMap<(u64, u64), f64> {
    let mut queues: BTreeMap<u64, Vec<(u64, f64)>> = BTreeMap::new();
    let mut served = BTreeMap::new();
    let (mut now, mut next) = (0.0_f64, arrivals.iter().peekable());
    loop {
        queues.retain(|_, packets| !packets.is_empty());
        let weights: f64 = queues.keys().map(|&flow| weight(flow)).sum();
        // The flow whose packet is served first, and how much virtual time that takes, in bytes.
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

/// By how much the packets of `kind` finish later than in the fluid server at worst, in nanoseconds.
fn lateness(kind: Kind, arrivals: &[(u64, SimplePacket)], weighted: bool) -> Result<f64, ParameterError> {
    let class = |flow: u64| arrivals.iter().find(|(_, p)| p.flow == flow).map_or(0, |(_, p)| p.class);
    let fluid = fluid(arrivals, |flow| if weighted { f64::from(1 + class(flow) / 64) } else { 1.0 });
    let (sent, drops) = send(&mut build(kind, &[LONG, ("weighted", &weighted.to_string())])?, arrivals, u64::MAX);
    assert!(drops.0.is_empty());
    assert_eq!(sent.len(), arrivals.len());
    Ok(sent.iter().map(|s| s.end as f64 - fluid[&(s.packet.flow, s.packet.id)]).fold(f64::MIN, f64::max))
}

/// Parekh and Gallager, theorem 1: no packet is later than in the fluid server by more than the largest packet's time.
/// Virtual time that misses an end, or runs at another pace, makes it late.
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

/// Golestani's clock is cheaper and pays for it: a flow of weight 4 that comes while 40 flows of weight 1 wait comes after
/// one packet of each, 40 packet times. The fluid server needs 44/4 packet times. So the bound above can fail.
#[test]
fn scfq_may_be_late_by_a_packet_of_each_flow() -> Outcome {
    let mut arrivals: Vec<_> = (0..40).flat_map(|flow| backlog(100 + flow, 0, 3, || 1000)).collect();
    arrivals.push((1, SimplePacket::new(1, 1000).with_class(0xe0)));
    let packet = (1000 * BYTE_NANOS) as f64;
    assert!(lateness(Kind::Wfq, &arrivals, true)? <= packet);
    // Its own transmission makes it 41.
    let late = lateness(Kind::Scfq, &arrivals, true)?;
    assert!(late > (41.0 - 11.1) * packet, "{late}");
    Ok(())
}

/// Golestani, theorem 1; Goyal, Vin, Cheng, theorem 1: whenever two flows are backlogged, their service per weight differs
/// by at most a largest packet of each per its weight.
#[test]
fn scfq_and_stfq_are_fair_over_every_interval() -> Outcome {
    let mut chance = Seed::new(8).stream("traffic");
    for kind in [Kind::Scfq, Kind::Stfq] {
        for _ in 0..6 {
            let arrivals = traffic(&mut chance, 80);
            let (sent, _) = send(&mut build(kind, &[LONG, ("weighted", "true")])?, &arrivals, u64::MAX);
            let rows = waiting(&sent, &arrivals);
            check_fairness(&sent, &rows, weight_of, 0.0);
        }
    }
    Ok(())
}

/// The same bound for WFQ, among flows whose backlogs begin together. Without that, WFQ may serve a flow ahead of the
/// fluid by many packets first (Bennett and Zhang, WF2Q, INFOCOM 1996), so it promises no such bound.
#[test]
fn wfq_is_fair_to_flows_that_begin_together() -> Outcome {
    let mut chance = Seed::new(9).stream("sizes");
    let arrivals: Vec<_> =
        (0..5).flat_map(|flow| backlog(flow, class_of(flow), 120, || 40 + chance.below(1461))).collect();
    let (sent, _) = send(&mut build(Kind::Wfq, &[LONG, ("weighted", "true")])?, &arrivals, u64::MAX);
    let rows = waiting(&sent, &arrivals);
    check_fairness(&sent, &rows, weight_of, 0.0);
    Ok(())
}

/// SPEC appendix E, 12. Would catch ties by arrival, or by a number that flows get as they come.
#[test]
fn ties_go_to_the_lowest_flow() -> Outcome {
    for kind in FAIR {
        let flows = [7, 3, 9, 0, 5];
        let arrivals: Vec<_> = flows.into_iter().flat_map(|flow| backlog(flow, 0, 2, || 1000)).collect();
        let (sent, _) = send(&mut build(kind, &[LONG])?, &arrivals, u64::MAX);
        assert_eq!(flows_of(&sent), [0, 3, 5, 7, 9, 0, 3, 5, 7, 9], "{kind}");
    }
    Ok(())
}

/// SPEC appendix E, 12: what a flow had before the link was idle does not count. If it did, flow 2 would come first.
#[test]
fn virtual_time_begins_anew_when_the_link_is_idle() -> Outcome {
    for kind in FAIR {
        let mut queue = build(kind, &[LONG])?;
        let mut first = backlog(1, 0, 1, || 9000);
        let (sent, _) = send(&mut queue, &first, u64::MAX);
        first[0].0 = sent[0].end;
        let later = [(sent[0].end, SimplePacket::new(2, 9000)), (sent[0].end, SimplePacket::new(1, 9000))];
        assert_eq!(flows_of(&send(&mut queue, &later, u64::MAX).0), [1, 2], "{kind}");
    }
    Ok(())
}

/// SPEC appendix E, 12: packets that are queued keep their tags. Finishes: a 1000 and 1250, b 1200, c 1300.
#[test]
fn a_new_weight_counts_for_new_packets() -> Outcome {
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

/// What share of the link each class gets in `seconds` in which all of `sizes`, classes and the size of their packets,
/// always have packets queued.
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
        // Whatever leaves is replaced.
        queue.enqueue(Time::from_nanos(now), packet(class), &mut ());
        now += u64::from(sent.bytes) * BYTE_NANOS;
    }
    let link = now as f64 / BYTE_NANOS as f64;
    Ok(bytes.into_iter().map(|(class, bytes): (u8, f64)| (class, bytes / link)).collect())
}

fn within(share: f64, of: f64) -> bool {
    (share / of - 1.0).abs() <= 0.02
}

/// SPEC 14: the long-run share is met within 2 %, by the estimator alone. Would catch an average that drifts.
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

/// SPEC 14: with every class busy each gets its share within 2 %, whatever its packets, its priority, and who may borrow.
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

/// What an idle class leaves goes to those that may borrow, in proportion to their shares, and to no bounded one.
#[test]
fn cbq_lends_what_is_left() -> Outcome {
    let shares = ("shares", "0.4,0.3,0.2,0.1");
    let got = cbq_shares(&[LONG, shares], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 2.0 / 3.0) && within(got[&2], 1.0 / 3.0), "{got:?}");
    let got = cbq_shares(&[LONG, shares, ("bounded", "0")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.6), "{got:?}");
    let got = cbq_shares(&[LONG, shares, ("bounded", "0,2")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.2), "{got:?}");
    // It goes to the one that comes first by priority.
    let got = cbq_shares(&[LONG, shares, ("prio", "2,1,1,1")], &[(0, 1000), (2, 1000)], 400)?;
    assert!(within(got[&0], 0.4) && within(got[&2], 0.6), "{got:?}");
    Ok(())
}

/// SPEC appendix E, 14: an unsatisfied class comes before any borrower, even one of a higher priority: a class that sends
/// less than its share loses nothing and waits for no more than a packet or two.
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
    // The first second belongs to the burst that the other class may send as it was idle.
    let later = &slow[50..];
    assert!(later.windows(2).all(|pair| pair[1].packet.id == pair[0].packet.id + 1), "none was dropped");
    let delay = |s: &Sent| s.end - (s.packet.id * 20_000_000 + 1);
    assert!(later.iter().all(|s| delay(s) <= 3 * 1000 * BYTE_NANOS), "{:?}", later.iter().map(|s| delay(s)).max());
    Ok(())
}

/// SPEC appendix E, 14: a class that was idle sends `maxburst` mean packets at once, and no more than a packet or two
/// beyond them: the first finds no gap before it to be measured by, the last brings the average below zero.
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

/// Would catch a packet that waits although nothing else does, and a time to ask again that is not kept.
#[test]
fn cbq_says_when_to_ask_again() -> Outcome {
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

#[test]
fn what_cbq_cannot_be_told_is_refused() {
    for (given, expected) in [
        (("shares", "0.6,0.5"), "shares: 0.6,0.5 are 1.1 in all, and the link is only 1"),
        (("shares", "0,1"), "shares: it cannot be \"0,1\": it is up to 8 numbers"),
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

/// SPEC 20.4: limits of nothing and of one, packets that never fit, an empty queue, and days without traffic.
#[test]
fn the_edges() -> Outcome {
    for kind in MINE {
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
        // A packet that never fits costs nobody else anything.
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

/// SPEC 20.2 and 20.12: a flow's packets stay in order, and after a drain the queue behaves as a new one.
#[test]
fn order_within_a_flow_and_a_fresh_start() -> Outcome {
    let mut chance = Seed::new(12).stream("traffic");
    for kind in MINE {
        let arrivals = traffic(&mut chance, 60);
        let mut queue = build(kind, &[("limit", "50p")])?;
        let (first, _) = send(&mut queue, &arrivals, u64::MAX);
        let mut last = BTreeMap::new();
        for s in &first {
            let before = last.insert(s.packet.flow, s.packet.id);
            assert!(before.is_none_or(|id| id < s.packet.id), "{kind}");
        }
        if kind == Kind::Cbq {
            // Its classes remember how much they have had.
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
