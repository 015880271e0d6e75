//! Properties of the disciplines as a family: equalities between them, published formulas, and behaviour in extreme
//! cases.

use fairlane_qdisc::{
    BoxQdisc, DropSink, Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Reason, Seed, SimplePacket,
    Stream, Time,
};

type Outcome = Result<(), ParameterError>;

/// The fate of each packet, by its id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Trace {
    dropped: Vec<(u64, Reason)>,
    marked: Vec<(u64, Reason)>,
    departed: Vec<SimplePacket>,
}

impl DropSink<SimplePacket> for Trace {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.dropped.push((packet.id, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        self.marked.push((packet.id, reason));
    }
}

impl Trace {
    fn drops(&self, reason: Reason) -> usize {
        self.dropped.iter().filter(|(_, why)| *why == reason).count()
    }
}

fn config(kind: Kind, given: &[(&str, &str)]) -> Result<QdiscParameters, ParameterError> {
    given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))
}

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    config(kind, given)?.build(&Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(11) })
}

/// Runs 20,000 arrivals, on average `load` per departure, with the flows that `flow` returns, and then empties the
/// queue.
fn run(queue: &mut BoxQdisc<SimplePacket>, load: u32, mut flow: impl FnMut(u64, &mut Stream) -> u64) -> Trace {
    let mut chance = Seed::new(21).stream("arrivals");
    let mut trace = Trace::default();
    let mut now = Time::ZERO;
    for id in 0..20_000 {
        let mut packet = SimplePacket::new(flow(id, &mut chance), 1000).with_id(id);
        packet.ecn_capable = id % 3 == 0;
        queue.enqueue(now, packet, &mut trace);
        now += Duration::from_millis(8);
        if chance.below(load) == 0 {
            let packet = queue.dequeue(now, &mut trace);
            trace.departed.extend(packet);
        }
    }
    while let Some(packet) = queue.dequeue(now, &mut trace) {
        trace.departed.push(packet);
    }
    trace
}

const PAPER: [(&str, &str); 3] = [("limit", "300p"), ("min", "100p"), ("max", "200p")];

/// One heavy flow with half of the arrivals, and 32 others.
fn mixed(_id: u64, chance: &mut Stream) -> u64 {
    if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(32)) }
}

/// One candidate, configured in three ways: `candidates = 1`, one region with the rule 2i-1, and `maxcomp = 1`.
#[test]
fn one_candidate_is_one_candidate() -> Outcome {
    let plain = run(&mut build(Kind::Choke, &PAPER)?, 2, mixed);
    let geometric = config(Kind::Gchoke, &PAPER)?.with("maxcomp", 1)?;
    let adaptive = config(Kind::ChokeAdaptive, &PAPER)?.with("regions", 1)?.with("candidates_rule", "2i-1")?;
    let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(11) };
    assert!(plain.drops(Reason::MatchArrival) > 1000);
    assert_eq!(plain.drops(Reason::MatchArrival), plain.drops(Reason::MatchVictim));
    assert_eq!(plain, run(&mut geometric.build(&host)?, 2, mixed));
    assert_eq!(plain, run(&mut adaptive.build(&host)?, 2, mixed));
    Ok(())
}

/// If no two packets belong to the same flow, nothing matches, and every CHOKe makes RED's decisions (INFOCOM 2000,
/// section II-A).
#[test]
fn choke_among_strangers_is_red() -> Outcome {
    let given = [PAPER[0], PAPER[1], PAPER[2], ("ecn", "true"), ("probability", "0.3")];
    let red = run(&mut build(Kind::Red, &given)?, 2, |id, _| id);
    assert!(red.drops(Reason::Early) > 100 && red.marked.len() > 100);
    for kind in [Kind::Choke, Kind::ChokeAdaptive, Kind::FrontChoke, Kind::BackChoke, Kind::Xchoke, Kind::Gchoke] {
        assert_eq!(red, run(&mut build(kind, &given)?, 2, |id, _| id), "{kind}");
    }
    Ok(())
}

/// INFOCOM 2000, section II-A: if there is only one flow, every arrival matches, also above `max`.
#[test]
fn a_flow_alone_is_not_admitted_above_min() -> Outcome {
    // The average rises slowly: the flow fills the queue to its limit of 40 before the average exceeds `min`.
    for (above_max, matched) in [("true", 40), ("false", 0)] {
        let given = [("limit", "40p"), ("min", "10p"), ("max", "20p"), ("weight", "0.01")];
        let mut queue =
            build(Kind::Choke, &[given[0], given[1], given[2], given[3], ("compare_above_max", above_max)])?;
        let mut trace = Trace::default();
        for _ in 0..40 {
            queue.enqueue(Time::ZERO, SimplePacket::new(5, 1000), &mut trace);
        }
        // Packets of other flows find no room and raise the average above `max`.
        for flow in 0..500 {
            queue.enqueue(Time::ZERO, SimplePacket::new(1000 + flow, 1000), &mut ());
        }
        assert!(queue.average().is_some_and(|average| average > 39.0));
        for _ in 0..40 {
            queue.enqueue(Time::ZERO, SimplePacket::new(5, 1000), &mut trace);
        }
        assert_eq!((trace.drops(Reason::MatchVictim), trace.drops(Reason::MatchArrival)), (matched, matched));
        assert_eq!(trace.drops(Reason::Forced), 40 - matched);
        assert_eq!(queue.packets(), 40 - matched);
    }
    let mut queue = build(Kind::Choke, &[("limit", "300p"), ("min", "10p"), ("max", "200p"), ("weight", "1")])?;
    let mut trace = Trace::default();
    for _ in 0..11 {
        queue.enqueue(Time::ZERO, SimplePacket::new(5, 1000), &mut trace);
    }
    assert_eq!((queue.packets(), trace.dropped.len()), (11, 0));
    // Eleven packets are queued: an arrival is dropped together with one of them. Ten are not above `min`, so the next
    // one is admitted, and so on.
    for admitted in [10, 11, 10, 11, 10] {
        queue.enqueue(Time::ZERO, SimplePacket::new(5, 1000), &mut trace);
        assert_eq!(queue.packets(), admitted);
    }
    Ok(())
}

/// Pan, Prabhakar, Psounis, section IV: in a burst of one flow, back CHOKe drops every second arrival; front CHOKe
/// drops the flow's packets at the head.
#[test]
fn front_and_back_compare_with_the_ends() -> Outcome {
    let given = [("limit", "300p"), ("min", "5p"), ("max", "200p"), ("weight", "1"), ("probability", "0.000001")];
    let mut back = build(Kind::BackChoke, &given)?;
    let mut front = build(Kind::FrontChoke, &given)?;
    let mut trace = Trace::default();
    for flow in [7, 7, 3, 7, 2, 1, 0, 4] {
        back.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut trace);
        front.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut trace);
    }
    assert!(trace.dropped.is_empty());
    let mut backlog = Vec::new();
    for _ in 0..6 {
        back.enqueue(Time::ZERO, SimplePacket::new(9, 1000), &mut trace);
        backlog.push(back.packets());
    }
    assert_eq!(backlog, [9, 8, 9, 8, 9, 8]);
    backlog.clear();
    for _ in 0..4 {
        front.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut trace);
        backlog.push(front.packets());
    }
    // The first two packets belong to the flow; the third does not.
    assert_eq!(backlog, [7, 6, 7, 8]);
    Ok(())
}

/// Pan, Prabhakar, Psounis, section IV-B: an arrival of one of the last flows admitted is dropped.
#[test]
fn mloc_remembers_the_last_flows() -> Outcome {
    let given = [("limit", "40p")];
    let forgetful = run(&mut build(Kind::MlocChoke, &[("limit", "40p"), ("memory", "0")])?, 2, mixed);
    assert_eq!(forgetful, run(&mut build(Kind::DropTail, &given)?, 2, mixed));
    // Memory for all but one of five flows gives a strict round robin; with memory for all five nothing is admitted any
    // more.
    let five = |_: u64, chance: &mut Stream| u64::from(chance.below(5));
    let robin = run(&mut build(Kind::MlocChoke, &[("limit", "40000p"), ("memory", "4")])?, 1, five);
    assert!(robin.departed.len() > 1000);
    let turns: Vec<u64> = robin.departed.iter().map(|packet| packet.flow).collect();
    assert!(turns.windows(6).all(|turn| turn[0] == turn[5] && !turn[1..5].contains(&turn[0])));
    let shut = run(&mut build(Kind::MlocChoke, &[("limit", "40p"), ("memory", "5")])?, 1, five);
    assert_eq!(shut.departed.len(), 5);
    Ok(())
}

/// The Markov chain of back CHOKe (INFOCOM 2000, section IV-B): with memory of one flow the share of flow i is
/// proportional to l_i (L - l_i).
#[test]
fn mloc_shares_follow_the_chain() -> Outcome {
    let rates = [1_u32, 1, 1, 7];
    let mut queue = build(Kind::MlocChoke, &[("limit", "1000p"), ("memory", "1")])?;
    let mut chance = Seed::new(2).stream("arrivals");
    let mut admitted = [0_u32; 4];
    for _ in 0..200_000 {
        let flow = [0, 1, 2, 3, 3, 3, 3, 3, 3, 3][chance.below(10) as usize];
        queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
        if let Some(packet) = queue.dequeue(Time::ZERO, &mut ()) {
            admitted[packet.flow as usize] += 1;
        }
    }
    let all: u32 = admitted.iter().sum();
    let weight = |rate: u32| f64::from(rate * (10 - rate));
    let whole: f64 = rates.iter().map(|&rate| weight(rate)).sum();
    for (count, rate) in admitted.into_iter().zip(rates) {
        let (share, expected) = (f64::from(count) / f64::from(all), weight(rate) / whole);
        assert!((share - expected).abs() < 0.006, "{share} {expected}");
    }
    Ok(())
}

/// Eshete and Jiang, arXiv 1202.0789: an arrival of a flow that holds the part h of the buffer matches k times with
/// probability h^k (1 - h), up to maxcomp, and is dropped if there is a match; here h is 0.3.
#[test]
fn gchoke_loses_as_expected() -> Outcome {
    for (maxcomp, expected) in [("1", 0.6), ("2", 0.69), ("5", 0.72753)] {
        let given = [
            ("limit", "30000p"),
            ("min", "19999p"),
            ("max", "30000p"),
            ("weight", "1"),
            ("probability", "0.000001"),
            ("maxcomp", maxcomp),
        ];
        let (mut losses, mut arrivals) = (0, 0);
        let mut queue = build(Kind::Gchoke, &given)?;
        for _ in 0..40 {
            while queue.dequeue(Time::ZERO, &mut ()).is_some() {}
            for n in 0..20_000_u64 {
                let flow = if n % 10 < 3 { 0 } else { 1 + n };
                queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
            }
            let mut trace = Trace::default();
            for n in 0..250_u64 {
                // Replaces dropped packets by packets of other flows, so that the average stays above `min`.
                while queue.packets() < 20_000 {
                    queue.enqueue(Time::ZERO, SimplePacket::new(1_000_000 + n, 1000), &mut ());
                }
                queue.enqueue(Time::ZERO, SimplePacket::new(0, 1000), &mut trace);
            }
            arrivals += 250;
            losses += trace.dropped.len();
        }
        let mean = losses as f64 / f64::from(arrivals);
        assert!((mean - expected).abs() < 0.03, "{maxcomp}: {mean} {expected}");
    }
    Ok(())
}

/// Tang, Wang, Low, "Understanding CHOKe", IEEE/ACM ToN 12(4), 2004, for one flow of any load among flows of one packet
/// each: if h is its share of the buffer, its share of the link is zL/(1+zL), and its load is this share divided by
/// 1-2h, where z = (1-2h)/(1-h) and L = -ln z.
#[test]
fn choke_shares_follow_the_leaky_buffer() -> Outcome {
    for heavy in [20, 50, 80] {
        let given = [("limit", "8000p"), ("min", "1000p"), ("max", "4000p"), ("probability", "0.000001")];
        let mut queue = build(Kind::Choke, &given)?;
        let mut chance = Seed::new(6).stream("arrivals");
        let (mut held, mut queued, mut sent, mut left, mut left_heavy) = (0.0, 0.0, 0, 0, 0);
        let mut backlog = 0_i64;
        for id in 0..400_000_u64 {
            let flow = if chance.below(100) < heavy { 0 } else { 1 + id };
            let (before, victims) = (queue.packets(), queue.counters().dropped(Reason::MatchVictim).packets);
            queue.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
            backlog -= (queue.counters().dropped(Reason::MatchVictim).packets - victims) as i64;
            backlog += i64::from(flow == 0 && queue.packets() > before);
            let measured = id > 100_000;
            sent += u64::from(measured && flow == 0);
            if queue.packets() > 2000 {
                let packet = queue.dequeue(Time::ZERO, &mut ());
                let is_heavy = packet.is_some_and(|packet| packet.flow == 0);
                backlog -= i64::from(is_heavy);
                left += u64::from(measured);
                left_heavy += u64::from(measured && is_heavy);
            }
            if measured {
                held += backlog as f64;
                queued += queue.packets() as f64;
            }
        }
        let h = held / queued;
        let z = (1.0 - 2.0 * h) / (1.0 - h);
        let l = -libm::log(z);
        let share = z * l / (1.0 + z * l);
        let (measured_share, measured_load) = (left_heavy as f64 / left as f64, sent as f64 / left as f64);
        assert!((measured_share - share).abs() < 0.02, "{heavy}: {measured_share} {share}");
        assert!((measured_load * (1.0 - 2.0 * h) / share - 1.0).abs() < 0.06, "{heavy}: {measured_load} {h}");
    }
    Ok(())
}

/// A match and the limit drop even packets that could be marked: only signals of an AQM mark.
#[test]
fn a_match_and_the_limit_never_mark() -> Outcome {
    let given = [("limit", "40p"), ("min", "10p"), ("max", "30p"), ("ecn", "true"), ("weight", "0.05")];
    for kind in Kind::ALL {
        let known: Vec<_> =
            given.into_iter().filter(|(key, _)| kind.parameters().iter().any(|p| p.key == *key)).collect();
        let mut queue = build(kind, &known)?;
        let trace = run(&mut queue, 6, |_, chance| u64::from(chance.below(4)));
        assert!(
            trace.marked.iter().all(|(_, why)| {
                // `Label` is ECHO's signal to flows above their share.
                matches!(why, Reason::Early | Reason::Forced | Reason::AqmDequeue | Reason::Label)
            }),
            "{kind}"
        );
        let twice = trace.dropped.iter().any(|(id, _)| trace.departed.iter().any(|packet| packet.id == *id));
        assert!(!twice, "{kind}: a packet left twice");
        assert!(trace.departed.iter().all(|p| p.marked == trace.marked.iter().any(|(id, _)| *id == p.id)), "{kind}");
    }
    Ok(())
}

/// Every kind keeps the order of a flow's packets, makes the same decisions with the same seed, and accounts for every
/// packet.
#[test]
fn order_books_and_repetition() -> Outcome {
    for kind in Kind::ALL {
        let mut queue = build(kind, &[("limit", "60p")])?;
        let trace = run(&mut queue, 3, mixed);
        assert_eq!(trace, run(&mut build(kind, &[("limit", "60p")])?, 3, mixed), "{kind}");
        let mut last = std::collections::BTreeMap::new();
        let in_order = |packet: &SimplePacket| last.insert(packet.flow, packet.id).is_none_or(|id| id < packet.id);
        assert!(trace.departed.iter().all(in_order), "{kind}");
        assert_eq!(trace.departed.len() + trace.dropped.len(), 20_000, "{kind}");
        assert_eq!((queue.packets(), queue.bytes()), (0, 0), "{kind}");
    }
    Ok(())
}

/// Limits of zero packets, of one packet, and below the size of a packet.
#[test]
fn the_smallest_limits_hold() -> Outcome {
    for kind in Kind::ALL {
        for (limit, bytes, most) in
            [("0p", 1000, 0), ("1p", 1000, 1), ("999b", 1000, 0), ("1000b", 1000, 1), ("0b", 0, 50)]
        {
            let mut queue = build(kind, &[("limit", limit)])?;
            let mut deepest = 0;
            for flow in 0..50 {
                queue.enqueue(Time::ZERO, SimplePacket::new(flow, bytes), &mut ());
                deepest = deepest.max(queue.packets());
            }
            assert_eq!(deepest.min(most), deepest, "{kind} {limit}");
            assert!(most == 0 || deepest > 0, "{kind} {limit} lets something through");
            queue.dequeue(Time::MAX, &mut ());
            queue.dequeue(Time::MAX, &mut ());
            queue.enqueue(Time::MAX, SimplePacket::new(1, bytes), &mut ());
        }
    }
    Ok(())
}

/// A flow at 10, 40 and 100 times the link's rate with others that together just fill the link. Tang, Wang and Low's
/// model gives the flow 2.87 % of the link at 10 times, and less above. With Linux's ring, whose holes use up its room,
/// it would get the whole link.
#[test]
fn no_overload_takes_the_link() -> Outcome {
    for overload in [10, 40, 100] {
        let mut queue = build(Kind::Choke, &PAPER)?;
        let mut chance = Seed::new(3).stream("arrivals");
        let mut now = Time::ZERO;
        let (mut light, mut heavy) = (0_u32, 0_u32);
        for slot in 0..20_000_u64 {
            for _ in 0..overload {
                queue.enqueue(now, SimplePacket::new(0, 1000), &mut ());
            }
            queue.enqueue(now, SimplePacket::new(1 + u64::from(chance.below(3200)), 1000), &mut ());
            now += Duration::from_millis(8);
            if let Some(packet) = queue.dequeue(now, &mut ())
                && slot > 2000
            {
                if packet.flow == 0 { heavy += 1 } else { light += 1 }
            }
            let counters = queue.counters();
            let gone = counters.departed.packets + counters.dropped_total().packets;
            assert_eq!(counters.arrived.packets, gone + queue.packets() as u64);
            assert!(queue.packets() <= 300);
        }
        assert!(f64::from(heavy) < 0.035 * f64::from(heavy + light), "{overload}: {heavy} {light}");
        assert!(heavy + light > 17_900, "{overload}: the link stays busy");
    }
    Ok(())
}

/// Floyd and Jacobson, section X: RED drops the same fraction of every flow.
#[test]
fn red_drops_in_proportion() -> Outcome {
    let mut queue = build(Kind::Red, &[("limit", "300p"), ("min", "5p"), ("max", "200p"), ("uniformize", "count")])?;
    let mut chance = Seed::new(13).stream("arrivals");
    let (mut arrived, mut dropped) = ([0_u32; 2], [0_u32; 2]);
    for _ in 0..1_500_000 {
        let flow = usize::from(chance.below(4) == 0);
        arrived[flow] += 1;
        let before = queue.counters().dropped_total().packets;
        queue.enqueue(Time::ZERO, SimplePacket::new(flow as u64, 1000), &mut ());
        dropped[flow] += u32::from(queue.counters().dropped_total().packets > before);
        if queue.packets() > 60 {
            queue.dequeue(Time::ZERO, &mut ());
        }
    }
    let loss = [0, 1].map(|flow| f64::from(dropped[flow]) / f64::from(arrived[flow]));
    assert!(dropped[1] > 10_000 && (loss[0] / loss[1] - 1.0).abs() < 0.03, "{loss:?}");
    Ok(())
}

/// Poisson arrivals, exponential service, room for five waiting packets and one in service: the loss of M/M/1/6.
#[test]
fn droptail_loses_as_m_m_1_k() -> Outcome {
    let mut queue = build(Kind::DropTail, &[("limit", "5p")])?;
    let mut chance = Seed::new(17).stream("arrivals");
    let (mut busy, mut arrivals) = (false, 0_u32);
    while arrivals < 1_000_000 {
        // The next event is an arrival with rate 9, or the end of a service with rate 10 while there is one.
        if chance.below(if busy { 19 } else { 9 }) < 9 {
            arrivals += 1;
            queue.enqueue(Time::ZERO, SimplePacket::new(0, 1000), &mut ());
            busy = busy || queue.dequeue(Time::ZERO, &mut ()).is_some();
        } else {
            busy = queue.dequeue(Time::ZERO, &mut ()).is_some();
        }
    }
    let rho = [1.0, 0.9, 0.81, 0.729, 0.6561, 0.59049, 0.531_441];
    let expected = rho[6] / rho.iter().sum::<f64>();
    let loss = queue.counters().dropped(Reason::Limit).packets as f64 / f64::from(arrivals);
    assert!((loss / expected - 1.0).abs() < 0.02, "{loss} {expected}");
    Ok(())
}

/// The default of `age` is the time of 1250 packets of 1000 bytes, 10 s at 1 Mbit/s. A table that is never aged would
/// in the end contain every flow.
#[test]
fn xchoke_forgets_by_default() -> Outcome {
    for (given, rate, expected) in [
        (None, 1_000_000, "10s"),
        (None, 10_000_000, "1s"),
        (Some(("avpkt", "500b")), 1_000_000, "5s"),
        (Some(("bandwidth", "2mbit")), 1_000_000, "5s"),
    ] {
        let mut config = QdiscParameters::new(Kind::Xchoke);
        if let Some((key, value)) = given {
            config = config.with(key, value)?;
        }
        let explanation = config.explain(Rate::from_bits_per_second(rate))?;
        let age = explanation.parameters.iter().find(|parameter| parameter.key == "age").map(|age| age.value.as_str());
        assert_eq!(age, Some(expected), "{given:?}");
    }
    Ok(())
}

/// xCHOKe: arrivals of a flow that matched n times are dropped with probability p_b 2^n, before any other test; hits
/// are halved with time.
#[test]
fn xchoke_punishes_by_hits_and_forgets() -> Outcome {
    let given =
        [("limit", "900p"), ("min", "10p"), ("max", "410p"), ("weight", "1"), ("probability", "0.02"), ("age", "10s")];
    let mut queue = build(Kind::Xchoke, &given)?;
    for flow in 0..100 {
        queue.enqueue(Time::ZERO, SimplePacket::new(1000 + flow, 1000), &mut ());
    }
    let mut trace = Trace::default();
    // It is admitted until it matches, and again.
    let mut hits = 0;
    let mut n = 0;
    while hits < 8 {
        queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000).with_id(n), &mut trace);
        hits = trace.drops(Reason::MatchArrival);
        n += 1;
        assert!(n < 100_000);
    }
    // p_b is at least 0.02 * 82 / 400, and 2^8 times that is above 1.
    let before = trace.drops(Reason::Table);
    for _ in 0..100 {
        queue.enqueue(Time::ZERO, SimplePacket::new(7, 1000), &mut trace);
    }
    assert_eq!(trace.drops(Reason::Table), before + 100);
    // 8 halved six times is 0.
    let later = Time::from_nanos(60_000_000_000);
    let mut admitted = 0;
    for _ in 0..20 {
        let before = queue.packets();
        queue.enqueue(later, SimplePacket::new(7, 1000), &mut trace);
        admitted += usize::from(queue.packets() > before);
    }
    assert!(admitted > 0);
    Ok(())
}

/// Would catch a packet, a flow key or a discipline that takes more memory than before.
#[test]
fn sizes() {
    assert_eq!(size_of::<SimplePacket>(), 48);
    assert_eq!(size_of::<fairlane_qdisc::FlowKey>(), 8);
    assert!(size_of::<BoxQdisc<SimplePacket>>() <= 1024, "{}", size_of::<BoxQdisc<SimplePacket>>());
}
