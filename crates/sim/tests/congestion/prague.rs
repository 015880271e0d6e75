//! Prague (draft-briscoe-iccrg-prague-congestion-control), and the requirements of RFC 9331, section 4, for what sends
//! ECT(1).

use std::collections::VecDeque;

use fairlane_outcome::Run;
use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Packet as _, Qdisc, Seed, Status, Stream, Time};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, Packet, PacketEvent, PacketKind, QueueEvent, run, run_with};

use super::bottleneck::{BDP, Queue, rates as bottleneck_rates, simulate, utilisation};

/// The data packets at the bottleneck after the warmup, by flow.
#[derive(Default)]
struct Seen {
    from_s: f64,
    flows: Vec<Flow>,
}

#[derive(Clone, Default)]
struct Flow {
    /// In milliseconds.
    waits: Vec<f64>,
    marks: f64,
    drops: f64,
}

impl Observer for Seen {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link != 0 || event.kind != PacketKind::Data || event.at.as_secs() < self.from_s {
            return;
        }
        let flow = event.flow as usize;
        self.flows.resize(self.flows.len().max(flow + 1), Flow::default());
        let flow = &mut self.flows[flow];
        match event.queue_event {
            QueueEvent::Departed { sojourn } => flow.waits.push(sojourn.as_secs() * 1e3),
            QueueEvent::Marked(_) => flow.marks += 1.0,
            QueueEvent::Dropped(_) => flow.drops += 1.0,
            QueueEvent::Arrived | QueueEvent::Lost => {}
        }
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

impl Seen {
    /// Returns the flow with the sums of `flows`.
    fn sum(&self, flows: std::ops::Range<usize>) -> Flow {
        let mut sum = Flow::default();
        for flow in &self.flows[flows] {
            sum.waits.extend(&flow.waits);
            sum.marks += flow.marks;
            sum.drops += flow.drops;
        }
        sum.waits.sort_by(f64::total_cmp);
        sum
    }
}

impl Flow {
    fn packets(&self) -> f64 {
        self.waits.len() as f64
    }

    fn mean_wait(&self) -> f64 {
        self.waits.iter().sum::<f64>() / self.packets()
    }

    fn wait_of(&self, share: f64) -> f64 {
        self.waits[((self.waits.len() - 1) as f64 * share) as usize]
    }
}

const SECONDS: f64 = 60.0;

/// Runs groups of a congestion control, a number of flows and a round trip in ms through DualPI2 for 80 s, of which 20
/// do not count.
fn through_dualpi2(mbit: u32, groups: &[(&str, usize, f64)]) -> (Run, Seen) {
    let mut text = format!(
        "duration = \"80s\"\nwarmup = \"20s\"\n[tcp]\npreset = \"modern\"\n[bottleneck]\nrate = \"{mbit}mbit\"\n\
         delay = \"1ms\"\nqueue = {{ kind = \"dualpi2\" }}\n"
    );
    for (index, (cc, count, rtt)) in groups.iter().enumerate() {
        // Both hosts have a link of their own.
        let access = (rtt / 2.0 - 1.0) / 2.0;
        text += &format!(
            "[[flows]]\nname = \"f{index}\"\nkind = \"tcp\"\ncc = \"{cc}\"\ncount = {count}\npacket = \"1500b\"\n\
             access = {{ rate = \"1gbit\", delay = \"{access}ms\" }}\n"
        );
    }
    let scenario = Document::parse("prague.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen { from_s: 20.0, ..Seen::default() };
    (run(&scenario, 0, &Control::default(), &mut seen).expect("it runs"), seen)
}

/// The result of as many Prague as CUBIC flows.
struct Shares {
    /// Prague's rate over CUBIC's.
    ratio: f64,
    used: f64,
    prague: Flow,
    cubic: Flow,
}

fn shares(mbit: u32, rtt: f64, count: usize) -> Shares {
    let (_, seen) = through_dualpi2(mbit, &[("prague", count, rtt), ("cubic", count, rtt)]);
    let (prague, cubic) = (seen.sum(0..count), seen.sum(count..2 * count));
    let used = (prague.packets() + cubic.packets()) * 12_000.0 / SECONDS / f64::from(mbit) / 1e6;
    Shares { ratio: prague.packets() / cubic.packets(), used, prague, cubic }
}

/// RFC 9332, section 2.1, and RFC 9331, section 4.3 (reduced dependence on the round trip): four of each share a link
/// evenly, and scalable packets wait less than the step of 1 ms in 99 of 100 cases, classic ones the target of 15 ms.
/// Would catch a coupling or a classification that is not of the RFC, windows in whole segments, which at 5 ms lose a
/// fifth, and round trips that count below 25 ms: Prague would have five times as much at 5 ms.
#[test]
fn several_flows_share_evenly_with_as_many_cubics() {
    for (mbit, rtt) in [40, 120].into_iter().flat_map(|mbit| [5.0, 10.0, 20.0, 50.0].map(|rtt| (mbit, rtt))) {
        let Shares { ratio, used, prague, cubic } = shares(mbit, rtt, 4);
        println!("{mbit} Mbit/s, {rtt} ms: {ratio:.3}; {:.2} ms, {:.2} ms", prague.wait_of(0.99), cubic.mean_wait());
        assert!((0.7..=1.4).contains(&ratio), "{mbit} Mbit/s, {rtt} ms: {ratio}");
        assert!(used > 0.99 && prague.wait_of(0.99) < 1.0, "{used}, {} ms", prague.wait_of(0.99));
        assert!((cubic.mean_wait() - 15.0).abs() < 2.0 && prague.drops == 0.0, "{} ms", cubic.mean_wait());
    }
}

/// One of each: the sawtooth of a single CUBIC moves p' up and down, and it loses where p' is large while Prague
/// follows the mean: at 40 Mbit/s and 20 ms the mean is 0.023, and the root of the share that CUBIC loses 0.027.
/// Prague's window is up to (1 + √3) / p, not the 2 / p for which the RFC couples. CUBIC's is 1.22 / p' for 35 ms, so
/// that the ratio may be 35 / (1.22 · 25) · 1.17 · 1.37 = 1.84 at 20 ms.
#[test]
fn one_flow_shares_with_one_cubic() {
    for (mbit, rtt) in [40, 120].into_iter().flat_map(|mbit| [5.0, 10.0, 20.0, 50.0].map(|rtt| (mbit, rtt))) {
        let Shares { ratio, used, prague, .. } = shares(mbit, rtt, 1);
        println!("{mbit} Mbit/s, {rtt} ms: {ratio:.3}; {:.2} ms", prague.wait_of(0.99));
        assert!((0.7..=1.84).contains(&ratio), "{mbit} Mbit/s, {rtt} ms: {ratio}");
        assert!(used > 0.98 && prague.wait_of(0.99) < 1.0, "{used}, {} ms", prague.wait_of(0.99));
    }
}

/// RFC 9332, appendix C: with equal round trips, 35 ms for Prague and 20 ms with 15 ms of queue for CUBIC, the factor
/// of 2 makes equal rates. Would catch even shares above that come of two errors.
#[test]
fn equal_round_trips_make_equal_rates() {
    for mbit in [40, 120] {
        let (_, seen) = through_dualpi2(mbit, &[("prague", 4, 35.0), ("cubic", 4, 20.0)]);
        let ratio = seen.sum(0..4).packets() / seen.sum(4..8).packets();
        assert!((0.8..=1.25).contains(&ratio), "{mbit} Mbit/s: {ratio}");
    }
}

/// Runs one flow through a link without a queue that marks each packet with `probability`. Returns its rate in packets
/// a second.
fn marked(probability: f64, rtt: f64) -> f64 {
    let access = (rtt / 2.0 - 1.0) / 2.0;
    let text = format!(
        "duration = \"90s\"\nwarmup = \"30s\"\n[tcp]\npreset = \"modern\"\n[bottleneck]\nrate = \"10gbit\"\ndelay = \"1ms\"\n\
         [access]\nrate = \"10gbit\"\ndelay = \"{access}ms\"\n[[flows]]\nname = \"f\"\nkind = \"tcp\"\ncc = \"prague\"\npacket = \"1500b\"\n"
    );
    let scenario = Document::parse("marks.toml", &text).and_then(|document| document.scenario()).expect("a scenario");
    let run = run_with(&scenario, 0, &Control::default(), &mut (), |link, _host| {
        let marking = Marking { probability, random: Seed::new(7).stream("marks"), ..Marking::default() };
        (link == "bottleneck").then(|| ("marking", Box::new(marking) as BoxQdisc<Packet>))
    });
    let run = run.expect("it runs");
    run.flows[0].unique_bytes as f64 / 1500.0 / (run.to_s - run.from_s)
}

/// RFC 9331, section 4.3 (scalable): the number of marks in a virtual round trip does not depend on the rate. A
/// reduction by p / 2 each T round trips undoes T (1 - p) segments of growth if p W = 2 T (1 - p). Marks at random are
/// T = 1 + 1 / (p W) round trips apart, so p W is 1 + √3 for small p. With Reno it falls with the root of the rate. And
/// the rate does not depend on the round trip up to 25 ms (round-trip bias). Would catch windows that grow by one
/// segment a round trip of any length: at 5 ms the rate would be five times as large.
#[test]
fn marks_in_25_ms_depend_on_neither_rate_nor_round_trip() {
    for probability in [0.02, 0.1] {
        for rtt in [5.0, 10.0, 25.0, 50.0_f64] {
            let marks = marked(probability, rtt) * rtt.max(25.0) * 1e-3 * probability / (1.0 - probability);
            assert!((2.3..=2.8).contains(&marks), "{probability}, {rtt} ms: {marks} marks");
        }
    }
}

/// RFC 9331, section 4.3 (round-trip bias): flows of 5, 10 and 25 ms with CUBIC have equal rates, but for the 28 ms
/// that those of 25 ms measure with half a millisecond of queue and the wait of 2.4 ms for the second segment that an
/// acknowledgement covers. Would catch windows that grow by one segment a round trip of any length: the rates would be
/// as 5 to 1.
#[test]
fn short_round_trips_are_no_advantage() {
    let groups = [("prague", 2, 5.0), ("prague", 2, 10.0), ("prague", 2, 25.0), ("cubic", 2, 10.0)];
    let (_, seen) = through_dualpi2(40, &groups);
    let packets = [0..2, 2..4, 4..6].map(|flows| seen.sum(flows).packets());
    let expected = [28.0 / 25.0, 28.0 / 25.0, 1.0];
    let near = |(of, expected): (&f64, f64)| (of / packets[2] / expected - 1.0).abs() < 0.15;
    assert!(packets.iter().zip(expected).all(near), "{packets:?}");
}

/// RFC 9331, section 4.3 (reaction to loss): through a queue that only drops, it shares with Reno, and neither starves.
/// Would catch a loss that counts as little as a mark.
#[test]
fn yields_to_losses_as_reno_does() {
    let queue = Queue::of(BDP);
    let (run, _) = simulate(&["cc = \"prague\"\ncount = 2", "cc = \"sack\"\ncount = 2"], queue, (20, 120));
    let rates = bottleneck_rates(&run);
    let ratio = (rates[0] + rates[1]) / (rates[2] + rates[3]);
    assert!((0.6..=1.6).contains(&ratio) && utilisation(&run) > 0.97, "{rates:?}");
}

/// A FIFO that marks packets at random, and counts the data packets that are not ECT(1).
struct Marking {
    probability: f64,
    random: Stream,
    packets: VecDeque<Packet>,
    counters: Counters,
}

impl Default for Marking {
    fn default() -> Self {
        let (packets, counters) = (VecDeque::new(), Counters::default());
        Self { probability: 0.0, random: Seed::new(1).stream("marks"), packets, counters }
    }
}

impl Qdisc<Packet> for Marking {
    fn enqueue(&mut self, _now: Time, mut packet: Packet, _sink: &mut dyn DropSink<Packet>) -> Fate {
        if packet.bytes() > 100 {
            assert!(packet.l4s() && packet.ecn_capable(), "not ECT(1)");
            if self.random.chance(self.probability) {
                packet.mark_ce();
            }
        }
        self.counters.arrived.add(packet.bytes());
        self.packets.push_back(packet);
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }
    fn status(&self) -> Status {
        Status::new(self.packets.len(), self.packets.iter().map(|packet| u64::from(packet.bytes())).sum())
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Runs flows in two halves, of which the second is that of CUBIC with ECN, through a queue for 80 s, of which 20 do
/// not count.
fn beside_cubic(mbit: u32, rtt: f64, queue: &str, ccs: [(&str, usize); 2]) -> Seen {
    let access = (rtt / 2.0 - 1.0) / 2.0;
    let mut text = format!(
        "duration = \"80s\"\nwarmup = \"20s\"\n[tcp]\npreset = \"modern\"\necn = true\ndelayed_ack = false\n\
         [access]\nrate = \"1gbit\"\ndelay = \"{access}ms\"\n\
         [bottleneck]\nrate = \"{mbit}mbit\"\ndelay = \"1ms\"\nqueue = {{ {queue} }}\n"
    );
    for (index, (cc, count)) in ccs.iter().enumerate().filter(|(_, (_, count))| *count > 0) {
        text += &format!(
            "[[flows]]\nname = \"f{index}\"\nkind = \"tcp\"\ncc = \"{cc}\"\ncount = {count}\npacket = \"1500b\"\n"
        );
    }
    let scenario = Document::parse("beside.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut seen = Seen { from_s: 20.0, ..Seen::default() };
    run(&scenario, 0, &Control::default(), &mut seen).expect("it runs");
    seen
}

/// RFC 9331, section 4.3 (windows below two segments): twenty flows over 20 Mbit/s have a quarter of a segment in a
/// round trip of 3 ms. Would catch windows of at least one segment: of 20 segments the path holds 5, and the rest waits
/// for 9 ms, however many are marked.
#[test]
fn many_flows_have_windows_below_one_segment() {
    let seen = beside_cubic(20, 3.0, "kind = \"dualpi2\"", [("prague", 20), ("cubic", 0)]);
    let all = seen.sum(0..20);
    let each: Vec<f64> = (0..20).map(|flow| seen.sum(flow..flow + 1).packets()).collect();
    let (least, most) = each.iter().fold((f64::MAX, 0.0_f64), |(least, most), of| (least.min(*of), most.max(*of)));
    let used = all.packets() * 12_000.0 / SECONDS / 20e6;
    println!("{:.2} ms, {:.2} ms; {least} to {most}; {used:.3}", all.mean_wait(), all.wait_of(0.99));
    assert!(all.mean_wait() < 3.0 && used > 0.85 && all.drops == 0.0, "{} ms, {used}, {}", all.mean_wait(), all.drops);
    assert!(most < 1.3 * least, "{least} to {most}");
}

/// RFC 9331, section 4.3 (coexistence through a classic ECN AQM): behind PIE and CoDel for all, Prague and CUBIC share
/// within a factor of two. Would catch a sender without a fallback, which has five times as much behind PIE: it reduces
/// by half of the share of marks, where CUBIC reduces by 0.3.
#[test]
fn falls_back_behind_a_classic_aqm() {
    for queue in ["kind = \"pie\", ecn = true", "kind = \"codel\", ecn = true"] {
        for rtt in [10.0, 30.0] {
            let seen = beside_cubic(40, rtt, queue, [("prague", 2), ("cubic", 2)]);
            let ratio = seen.sum(0..2).packets() / seen.sum(2..4).packets();
            println!("{queue}, {rtt} ms: {ratio:.2}");
            assert!((0.5..=2.0).contains(&ratio), "{queue}, {rtt} ms: {ratio}");
        }
    }
}

/// RFC 9331, section 4.1: all data are ECT(1). Section 4.3 (loss detection in units of time): the preset of today has
/// RACK. Would catch ECT(0), which DualPI2 puts into the classic queue, and three duplicate acknowledgements.
#[test]
fn all_data_are_of_the_l4s_service() {
    let text = "duration = \"5s\"\n[tcp]\npreset = \"modern\"\n[bottleneck]\nrate = \"10mbit\"\ndelay = \"10ms\"\nloss = 0.01\n\
                [[flows]]\nname = \"f\"\nkind = \"tcp\"\ncc = \"prague\"\n";
    let scenario = Document::parse("ect.toml", text).and_then(|document| document.scenario()).expect("a scenario");
    let run = run_with(&scenario, 0, &Control::default(), &mut (), |link, _host| {
        (link == "bottleneck").then(|| ("marking", Box::new(Marking::default()) as BoxQdisc<Packet>))
    });
    let run = run.expect("it runs");
    assert!(run.flows[0].retransmitted > 5, "{:?}", run.flows[0]);
    assert_eq!(&*run.flows[0].transport, "tcp prague, recovery rack");
}
