//! Properties of CHOKe's successors and BARE: equality with the disciplines that they extend, actions that they never
//! take, and the effect of weights.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use fairlane_qdisc::{
    BoxQdisc, DropSink, Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Reason, Seed, SimplePacket,
    Stream, Time,
};

type Outcome = Result<(), ParameterError>;

fn build(kind: Kind, given: &[(&str, &str)]) -> Result<BoxQdisc<SimplePacket>, ParameterError> {
    let config = given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))?;
    config.build(&Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(11) })
}

/// The fate of each packet.
#[derive(Debug, Default, PartialEq, Eq)]
struct Trace {
    dropped: Vec<(u64, Reason)>,
    marked: Vec<(u64, Reason)>,
    departed: Vec<u64>,
    /// The number of drops of packets other than the arriving one.
    from_queue: usize,
    arriving: u64,
}

impl DropSink<SimplePacket> for Trace {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.from_queue += usize::from(packet.id != self.arriving);
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

/// Runs 20,000 arrivals of the packets that `packet` makes at twice the link's rate, and then empties the queue.
fn run(queue: &mut BoxQdisc<SimplePacket>, mut packet: impl FnMut(u64, &mut Stream) -> SimplePacket) -> Trace {
    let mut chance = Seed::new(21).stream("arrivals");
    let mut trace = Trace::default();
    let mut now = Time::ZERO;
    for id in 0..20_000 {
        trace.arriving = id;
        let packet = packet(id, &mut chance).with_id(id);
        queue.enqueue(now, packet, &mut trace);
        now += Duration::from_millis(4);
        if chance.below(2) == 0 {
            let packet = queue.dequeue(now, &mut trace);
            trace.departed.extend(packet.map(|packet| packet.id));
        }
    }
    while let Some(packet) = queue.dequeue(now, &mut trace) {
        trace.departed.push(packet.id);
    }
    trace
}

const PAPER: [(&str, &str); 4] = [("limit", "300p"), ("min", "100p"), ("max", "200p"), ("ecn", "true")];

/// One heavy flow of half the packets, and 32 others; every third packet can be marked.
fn mixed(id: u64, chance: &mut Stream) -> SimplePacket {
    let flow = if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(32)) };
    SimplePacket { ecn_capable: id.is_multiple_of(3), ..SimplePacket::new(flow, 1000) }
}

/// If no two packets belong to the same flow, every discipline that builds on RED makes RED's decisions.
#[test]
fn the_successors_over_red_are_red_among_strangers() -> Outcome {
    let stranger =
        |id: u64, _: &mut Stream| SimplePacket { ecn_capable: id.is_multiple_of(3), ..SimplePacket::new(id, 1000) };
    let red = run(&mut build(Kind::Red, &PAPER)?, stranger);
    assert!(red.drops(Reason::Early) > 100 && red.marked.len() > 100);
    for kind in [Kind::Choked, Kind::Sac, Kind::Rechoke] {
        assert_eq!(red, run(&mut build(kind, &PAPER)?, |id, chance| stranger(id, chance).unresponsive()), "{kind}");
    }
    Ok(())
}

/// SAC with one candidate is CHOKe for transports that do not slow down, and RED for the others.
#[test]
fn sac_compares_only_unresponsive_packets() -> Outcome {
    let one = [PAPER[0], PAPER[1], PAPER[2], PAPER[3], ("max_candidates", "1")];
    // SAC leaves RED's count alone on a match.
    let plain = [PAPER[0], PAPER[1], PAPER[2], PAPER[3], ("count_matches", "false")];
    let choke = run(&mut build(Kind::Choke, &plain)?, mixed);
    assert!(choke.drops(Reason::MatchArrival) > 1000);
    assert_eq!(choke, run(&mut build(Kind::Sac, &one)?, |id, chance| mixed(id, chance).unresponsive()));
    let red = run(&mut build(Kind::Red, &PAPER)?, mixed);
    assert_eq!(red, run(&mut build(Kind::Sac, &PAPER)?, mixed));
    // With more candidates allowed there are more matches, since the heavy flow has more than a tenth of the queue.
    let free = run(&mut build(Kind::Sac, &PAPER)?, |id, chance| mixed(id, chance).unresponsive());
    assert!(free.drops(Reason::MatchVictim) > free.drops(Reason::MatchArrival));
    Ok(())
}

/// Govindaswamy, Zaruba, Balasekaran 2007: RECHOKe drops no packet that is queued, and punishes the flow that is in
/// both histories.
#[test]
fn rechoke_drops_no_queued_packet() -> Outcome {
    let trace = run(&mut build(Kind::Rechoke, &PAPER)?, mixed);
    assert_eq!(trace.from_queue, 0);
    assert!(trace.drops(Reason::Table) > 1000, "{}", trace.drops(Reason::Table));
    let choke = run(&mut build(Kind::Choke, &PAPER)?, mixed);
    assert!(choke.from_queue > 1000, "the trace can tell");
    // Hits alone are not punished: if RED never signals, nothing is dropped.
    let never = [("limit", "100000p"), ("min", "1p"), ("max", "16777216p"), ("probability", "0.0000001")];
    let spared = run(&mut build(Kind::Rechoke, &never)?, mixed);
    assert!(spared.dropped.is_empty());
    Ok(())
}

/// Wen, Fang, Sun 2005: below its threshold CHOKeW compares nothing. If no two packets belong to the same flow, it
/// equals DropTail.
#[test]
fn chokew_is_droptail_until_flows_meet() -> Outcome {
    let limit = [("limit", "60p")];
    let stranger = |id: u64, _: &mut Stream| SimplePacket::new(id, 1000);
    let tail = run(&mut build(Kind::DropTail, &limit)?, stranger);
    let mixed_tail = run(&mut build(Kind::DropTail, &limit)?, mixed);
    for kind in [Kind::Chokew, Kind::Choker] {
        assert_eq!(tail, run(&mut build(kind, &limit)?, stranger), "{kind}");
        let never = [("limit", "60p"), ("threshold", "60p"), ("min", "20p"), ("max", "40p")];
        assert_eq!(mixed_tail, run(&mut build(kind, &never)?, mixed), "{kind}");
        assert!(run(&mut build(kind, &limit)?, mixed).drops(Reason::MatchVictim) > 500, "{kind}");
    }
    Ok(())
}

/// Wen, Fang, Sun 2005: throughput grows with the weight, and the queue settles between `min` and `max`. Eight flows of
/// each weight send at equal rates, together at twice the link's rate.
#[test]
fn chokew_favours_weights_and_settles() -> Outcome {
    for kind in [Kind::Chokew, Kind::Choker] {
        let mut queue = build(kind, &[])?;
        let mut chance = Seed::new(8).stream("arrivals");
        let (mut served, mut lengths, mut steps, mut overflows) = ([0_u32; 4], 0.0, 0.0, 0);
        for step in 0..300_000 {
            let flow = chance.below(32);
            let packet = SimplePacket::new(flow.into(), 1000).with_class((flow % 4 * 64) as u8);
            queue.enqueue(Time::ZERO, packet, &mut ());
            if chance.below(2) == 0
                && let Some(packet) = queue.dequeue(Time::ZERO, &mut ())
                && step > 50_000
            {
                served[packet.flow as usize % 4] += 1;
            }
            let limit = queue.counters().dropped(Reason::Limit).packets;
            if step <= 50_000 {
                // The factor starts at 0, and the queue overflows until the factor has grown.
                overflows = limit;
            } else {
                assert_eq!(limit, overflows, "{kind}: the queue stays below its limit");
                lengths += queue.packets() as f64;
                steps += 1.0;
            }
        }
        let mean = lengths / steps;
        assert!((125.0..=175.0).contains(&mean), "{kind}: {mean}");
        // Each step of the weight gives at least 5 % more throughput.
        assert!(served.windows(2).all(|pair| f64::from(pair[1]) > 1.05 * f64::from(pair[0])), "{kind}: {served:?}");
    }
    Ok(())
}

/// A sender that adds one packet to its window per round trip and halves the window after a loss.
struct Sender {
    window: f64,
    flying: u32,
    /// Losses of packets before this one belong to the same loss event.
    recover: u64,
    sent: u64,
    class: u8,
    delivered: u64,
}

/// An event of the closed loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    LinkFree,
    Acknowledged(usize),
    Lost(usize, u64),
}

/// Reports drops to the senders, one round trip later.
struct Losses<'a>(&'a mut BinaryHeap<Reverse<(u64, Event)>>);

const ROUND_TRIP: u64 = 12_000_000;

impl DropSink<SimplePacket> for Losses<'_> {
    fn dropped(&mut self, now: Time, packet: SimplePacket, _reason: Reason) {
        self.0.push(Reverse((now.as_nanos() + ROUND_TRIP, Event::Lost(packet.flow as usize, packet.id))));
    }
    fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {}
}

/// Returns the number of packets delivered from each of `classes` senders in 60 s over 20 Mbit/s, without the first 10
/// s.
fn closed_loop(mut queue: BoxQdisc<SimplePacket>, classes: &[u8]) -> Vec<u64> {
    let sender = |&class: &u8| Sender { window: 2.0, flying: 0, recover: 0, sent: 0, class, delivered: 0 };
    let mut senders: Vec<Sender> = classes.iter().map(sender).collect();
    let mut events = BinaryHeap::new();
    let mut busy = false;
    for (flow, _) in classes.iter().enumerate() {
        events.push(Reverse((1_000_000 * flow as u64, Event::Acknowledged(flow))));
        senders[flow].flying = 1;
    }
    while let Some(Reverse((now, event))) = events.pop().filter(|Reverse((now, _))| *now < 60_000_000_000) {
        let sender = match event {
            Event::LinkFree => {
                busy = false;
                None
            }
            Event::Acknowledged(flow) => {
                senders[flow].window += 1.0 / senders[flow].window;
                senders[flow].delivered += u64::from(now > 10_000_000_000);
                Some(flow)
            }
            Event::Lost(flow, id) => {
                let sender = &mut senders[flow];
                if id >= sender.recover {
                    sender.window = (0.5 * sender.window).max(1.0);
                    sender.recover = sender.sent;
                }
                Some(flow)
            }
        };
        if let Some(flow) = sender {
            let sender = &mut senders[flow];
            sender.flying -= 1;
            while f64::from(sender.flying) < sender.window.floor() {
                let packet = SimplePacket::new(flow as u64, 1000).with_id(sender.sent).with_class(sender.class);
                queue.enqueue(Time::from_nanos(now), packet, &mut Losses(&mut events));
                sender.sent += 1;
                sender.flying += 1;
            }
        }
        if !busy && let Some(packet) = queue.dequeue(Time::from_nanos(now), &mut Losses(&mut events)) {
            busy = true;
            events.push(Reverse((now + 400_000, Event::LinkFree)));
            events.push(Reverse((now + ROUND_TRIP, Event::Acknowledged(packet.flow as usize))));
        }
    }
    senders.iter().map(|sender| sender.delivered).collect()
}

/// Figure 12 of BARE's paper (Cho and Cho, Computer Networks 39, 2002): eight flows that halve their windows after
/// losses, two of each weight. Their shares are in proportion to their weights, within 30 %; without weights they are
/// equal.
#[test]
fn weighted_bare_shares_by_weight() -> Outcome {
    let classes = [0x00, 0x00, 0x40, 0x40, 0x80, 0x80, 0xc0, 0xc0];
    let rate = Rate::from_bits_per_second(20_000_000);
    for weighted in [true, false] {
        let config = QdiscParameters::new(Kind::Bare).with("weighted", weighted)?;
        let delivered = closed_loop(config.build(&Host { rate, seed: Seed::new(3) })?, &classes);
        let all: u64 = delivered.iter().sum();
        assert!(all > 110_000, "the link is busy: {all} of 125,000");
        for (flow, &count) in delivered.iter().enumerate() {
            let fair = if weighted { (1 + flow / 2) as f64 / 20.0 } else { 0.125 };
            let share = count as f64 / all as f64;
            assert!((0.7..=1.3).contains(&(share / fair)), "weighted {weighted}, flow {flow}: {share}, {delivered:?}");
        }
    }
    Ok(())
}

/// Returns the error or the warnings for a kind with these parameters on a link of 20 Mbit/s.
fn complaint(kind: Kind, given: &[(&str, &str)]) -> String {
    let config = given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text));
    let explained = config.and_then(|config| config.explain(Rate::from_bits_per_second(20_000_000)));
    explained.map_or_else(|error| error.to_string(), |explained| explained.warnings.join("; "))
}

/// Would catch a contradiction that is accepted, a missing warning, and a warning without a reason.
#[test]
fn what_contradicts_is_refused_and_what_looks_wrong_is_said() {
    for kind in [Kind::Bare, Kind::Chokew, Kind::Choker, Kind::Choked, Kind::Sac, Kind::Rechoke] {
        assert_eq!(complaint(kind, &[]), "", "{kind}");
    }
    type Case = (Kind, &'static [(&'static str, &'static str)], &'static str);
    let cases: [Case; 13] = [
        (Kind::Bare, &[("beta", "11")], "beta: 11 is not between beta_min, 0.5, and beta_max, 10"),
        (Kind::Bare, &[("beta", "inf")], "beta: it cannot be \"inf\""),
        (Kind::Bare, &[("increase", "0.9")], "increase: it cannot be \"0.9\""),
        (Kind::Bare, &[("n1", "9"), ("n2", "8")], "n1: 9 is above n2, which is 8"),
        (Kind::Bare, &[("lo", "9000b")], "lo 9kb is above hi 8kb"),
        (Kind::Bare, &[("fair_drop", "400kb")], "fair_drop 400000b is above limit 320kb"),
        (Kind::Bare, &[("k", "47ms")], "k 47ms is below the 48ms of the target queue"),
        (Kind::Bare, &[("timeout", "100ms")], "timeout 100ms is below k 150ms"),
        (Kind::Chokew, &[("min", "200p"), ("max", "100p")], "min: 200p is above max, which is 100p"),
        (Kind::Chokew, &[("threshold", "300p")], "threshold 300p is above max 175p"),
        (Kind::Chokew, &[("min", "20kb")], "max: it cannot follow from limit 500p, which has another unit"),
        (Kind::Choker, &[("band", "20kb")], "band: 20kb has another unit than the other sizes, which are in packets"),
        (Kind::Rechoke, &[("hit_cap", "2")], "hits: 3 is above hit_cap, which is 2"),
    ];
    for (kind, given, expected) in cases {
        let complaint = complaint(kind, given);
        assert!(complaint.starts_with(expected), "{kind} {given:?}: {complaint}");
    }
}

/// CHOKeW's published constants, and the same fractions of another limit; a given threshold bounds the others.
#[test]
fn chokew_scales_with_its_limit() {
    let values = |given: &[(&str, &str)]| {
        let config =
            given.iter().try_fold(QdiscParameters::new(Kind::Choker), |config, &(key, text)| config.with(key, text));
        let rows = config.and_then(|config| config.explain(Rate::from_bits_per_second(0))).map(|e| e.parameters);
        let rows = rows.unwrap_or_default();
        let value = |key| rows.iter().find(|row| row.key == key).map_or("", |row| row.value.as_str()).to_string();
        ["limit", "threshold", "min", "max", "band"].map(value).join(" ")
    };
    assert_eq!(values(&[]), "500p 100p 125p 175p 82p");
    assert_eq!(values(&[("limit", "1000kb")]), "1mb 200kb 250kb 350kb 162500b");
    assert_eq!(values(&[("limit", "300p"), ("min", "30p"), ("max", "60p")]), "300p 30p 30p 60p 60p");
    assert_eq!(values(&[("limit", "300p"), ("min", "200p")]), "300p 60p 200p 200p 25p");
    assert_eq!(values(&[("limit", "0p")]), "0p 0p 0p 0p 1p");
}
