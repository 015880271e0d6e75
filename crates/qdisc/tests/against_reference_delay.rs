//! Compares the disciplines that control delay with slow references, decision by decision, under random scripts.

use fairlane_qdisc::testing::Recorder;
use fairlane_qdisc::{
    BoxQdisc, Bytes, Counters, DropSink, Duration, Fate, FlowKey, Host, Kind, Packet, Qdisc, QdiscParameters, Rate,
    Reason, Sack, SackBlocks, Seed, SimplePacket, Status, TcpHeader, Time,
};
use proptest::prelude::*;
use reference::delay::{Limit, Slow};
use reference::{cake, choke_auto, cobalt, codel, fq, pi2, pie};

mod reference {
    pub(crate) mod acks;
    pub(crate) mod cake;
    pub(crate) mod choke_auto;
    pub(crate) mod cobalt;
    pub(crate) mod codel;
    pub(crate) mod delay;
    pub(crate) mod fq;
    pub(crate) mod pi2;
    pub(crate) mod pie;
    pub(crate) mod ties;
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue { packet: SimplePacket, times: u8 },
    Dequeue(u8),
    Wait(Duration),
}

fn packet() -> impl Strategy<Value = SimplePacket> {
    let flow = prop_oneof![3 => Just(0_u64), 2 => 1_u64..8];
    let bytes = prop::sample::select(vec![40_u32, 576, 1000, 1500, 9000]);
    let class = prop::sample::select(vec![0_u8, 0, 0, 0, 8, 46, 1, 4, 10, 2, 3, 16, 18, 24, 34, 40, 56])
        .prop_map(|dscp| dscp << 2);
    (flow, bytes, 0..3_u8, prop::option::of((0_u32..3, 0_u32..3)), class).prop_map(
        |(flow, bytes, ecn, hosts, class)| {
            let packet = SimplePacket::new(flow, bytes).with_class(class);
            let packet = hosts.map_or(packet, |(source, destination)| packet.with_hosts(source, destination));
            match ecn {
                0 => packet,
                1 => packet.with_ecn(),
                _ => packet.with_l4s(),
            }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (packet(), prop_oneof![4 => 1_u8..3, 1 => 10_u8..40]).prop_map(|(packet, times)| Step::Enqueue { packet, times }),
        8 => (1_u8..4).prop_map(Step::Dequeue),
        // Waits of up to 4 ms, 60 ms and 3 s.
        6 => (1_u64..4_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        3 => (1_u64..60_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        1 => (1_u64..3_000_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
    ]
}

/// Parameters as text, for a discipline.
#[derive(Clone, Debug, Default)]
struct Given(Vec<(&'static str, String)>);

impl Given {
    fn with(mut self, key: &'static str, value: impl std::fmt::Display + Copy) -> Self {
        self.0.push((key, value.to_string()));
        self
    }

    fn build<P>(&self, kind: Kind, host: &Host) -> Result<BoxQdisc<P>, TestCaseError>
    where
        P: Packet + Send + Sync + 'static,
    {
        let mut config = QdiscParameters::new(kind);
        for (key, value) in &self.0 {
            config.set(key, value.as_str().into()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
        config.build(host).map_err(|error| TestCaseError::fail(error.to_string()))
    }
}

fn limit() -> impl Strategy<Value = (Limit, String)> {
    prop_oneof![
        4 => (20_usize..200).prop_map(|most| (Limit::Packets(most), format!("{most}p"))),
        1 => (0_usize..4).prop_map(|most| (Limit::Packets(most), format!("{most}p"))),
        2 => (0_u64..200).prop_map(|most| (Limit::Bytes(1000 * most), format!("{most}kb"))),
    ]
}

const LINK: Rate = Rate::from_bits_per_second(10_000_000);

/// Runs `script` through both disciplines and compares their events and states.
fn compare(mut queue: BoxQdisc<SimplePacket>, slow: &mut dyn Slow, script: &[Step]) -> Result<(), TestCaseError> {
    let mut recorder = Recorder::default();
    let mut now = Time::from_nanos(1_000_000_000);
    let mut id = 0;
    let mut checked = 0;
    for step in script {
        match *step {
            Step::Enqueue { packet, times } => {
                for _ in 0..times {
                    id += 1;
                    recorder.enqueue(&mut queue, now, packet.with_id(id));
                    slow.enqueue(now, packet.with_id(id));
                }
            }
            Step::Dequeue(times) => {
                for _ in 0..times {
                    recorder.dequeue(&mut queue, now);
                    slow.dequeue(now);
                    prop_assert_eq!(queue.ready_at(), slow.ready_at());
                }
            }
            Step::Wait(time) => now += time,
        }
        prop_assert_eq!(&recorder.events[checked..], slow.events().get(checked..).unwrap_or_default(), "{:?}", step);
        checked = recorder.events.len();
        let queued = slow.queued();
        prop_assert_eq!(queue.packets(), queued.len());
        prop_assert_eq!(queue.bytes(), queued.iter().map(|p| u64::from(p.bytes)).sum::<u64>());
    }
    recorder.check_counters(&queue);
    Ok(())
}

fn host(seed: u64) -> Host {
    Host { rate: LINK, seed: Seed::new(seed) }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn codel_setup(given: Given) -> impl Strategy<Value = (Given, codel::Settings)> {
    let threshold = prop::option::of(1_u64..40);
    let mtu = prop::sample::select(vec![1_u64, 1514, 3000]);
    (1_u64..30, 20_u64..150, mtu, any::<bool>(), threshold).prop_map(
        move |(target, interval, mtu, ecn, ce_threshold)| {
            let mut given = given
                .clone()
                .with("target", millis(target))
                .with("interval", millis(interval))
                .with("mtu", Bytes::new(mtu))
                .with("ecn", ecn);
            if let Some(threshold) = ce_threshold {
                given = given.with("ce_threshold", millis(threshold));
            }
            let (target, interval, ce_threshold) = (millis(target), millis(interval), ce_threshold.map(millis));
            (given, codel::Settings { target, interval, mtu, ecn, ce_threshold })
        },
    )
}

fn pie_setup() -> impl Strategy<Value = (Given, pie::Settings)> {
    let switches = any::<(bool, bool, bool)>();
    let gains = (0_u32..33, 0_u32..33);
    let burst = prop::sample::select(vec![1_u64, 30, 150]);
    (1_u64..30, 2_u64..30, gains, burst, prop::sample::select(vec![300_u64, 1000]), switches, 0_u32..101).prop_map(
        |(target, tupdate, (alpha, beta), burst, mean, (bytemode, estimator, ecn), percent)| {
            let given = Given::default()
                .with("target", millis(target))
                .with("tupdate", millis(tupdate))
                .with("alpha", alpha)
                .with("beta", beta)
                .with("max_burst", millis(burst))
                .with("avpkt", Bytes::new(mean))
                .with("bytemode", bytemode)
                .with("dq_rate_estimator", estimator)
                .with("ecn", ecn)
                .with("ecn_prob", percent);
            let settings = pie::Settings {
                target: millis(target),
                tupdate: millis(tupdate),
                alpha: f64::from(alpha) / 16.0,
                beta: f64::from(beta) / 16.0,
                max_burst: millis(burst),
                mean: mean as f64,
                bytemode,
                ecn,
                ecn_prob: f64::from(percent) / 100.0,
                estimator,
                decay: 0.98,
                on_from: None,
            };
            (given, settings)
        },
    )
}

fn fq_setup() -> impl Strategy<Value = (Given, fq::Settings)> {
    let memory = prop::sample::select(vec![30_000_u64, 33_554_432]);
    let quantum = prop::sample::select(vec![100_i64, 300, 1514, 10_000]);
    (limit(), 1_usize..9, quantum, memory).prop_map(|((limit, text), flows, quantum, memory)| {
        let given = Given::default()
            .with("limit", text.as_str())
            .with("flows", flows)
            .with("quantum", Bytes::new(quantum as u64))
            .with("memory_limit", Bytes::new(memory));
        (given, fq::Settings { limit, memory, flows, quantum, drop_batch: 64 })
    })
}

fn pi2_setup() -> impl Strategy<Value = (Given, pi2::Settings)> {
    let gains = (prop::sample::select(vec![0.01, 0.16, 2.0]), prop::sample::select(vec![0.0, 3.2, 20.0]));
    let coupling = prop::sample::select(vec![1.0, 2.0, 3.5]);
    (limit(), 1_u64..30, 2_u64..30, gains, coupling, any::<bool>()).prop_map(
        |((limit, text), target, tupdate, (alpha, beta), k, drop_overload)| {
            let given = Given::default()
                .with("limit", text.as_str())
                .with("target", millis(target))
                .with("tupdate", millis(tupdate))
                .with("alpha", alpha)
                .with("beta", beta)
                .with("coupling_factor", k)
                .with("drop_overload", drop_overload);
            let (target, tupdate) = (millis(target), millis(tupdate));
            (given, pi2::Settings { limit, target, tupdate, alpha, beta, k, drop_overload })
        },
    )
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 0..300)
}

// Each would catch any decision that differs from the definitions: which packet, when, for which reason, in which
// order; and any packet lost or reported twice.
proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn codel_decides_as_the_reference((limit, text) in limit(), (given, settings) in codel_setup(Given::default()), script in script(), seed: u64) {
        let queue = given.with("limit", text.as_str()).build(Kind::Codel, &host(seed))?;
        let mut slow = codel::Codel { settings, limit, queue: Vec::new(), variables: codel::Variables::default(), events: Vec::new() };
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn pie_decides_as_the_reference((limit, text) in limit(), (given, mut settings) in pie_setup(), onoff: bool, script in script(), seed: u64) {
        let queue = given.with("limit", text.as_str()).with("onoff", onoff).build(Kind::Pie, &host(seed))?;
        let room = match limit {
            Limit::Packets(most) => most as u64 * settings.mean as u64,
            Limit::Bytes(most) => most,
        };
        settings.on_from = onoff.then_some(room / 3);
        let variables = pie::Variables::new(&settings);
        let rolls = Seed::new(seed).stream("pie");
        let mut slow = pie::Pie { settings, limit, queue: Vec::new(), variables, rolls, timer: None, events: Vec::new() };
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn cobalt_decides_as_the_reference((limit, text) in limit(), target in 1_u64..30, interval in 20_u64..150, blue in 1_u64..500, ecn: bool, script in script(), seed: u64) {
        let given = Given::default()
            .with("limit", text.as_str())
            .with("target", millis(target))
            .with("interval", millis(interval))
            .with("blue_threshold", millis(blue))
            .with("ecn", ecn);
        let queue = given.build(Kind::Cobalt, &host(seed))?;
        let settings = cobalt::Settings {
            target: millis(target), interval: millis(interval), floor: Duration::ZERO, blue_threshold: millis(blue), ecn,
        };
        let (variables, rolls) = (cobalt::Variables::default(), Seed::new(seed).stream("blue"));
        let mut slow = cobalt::Cobalt { settings, limit, queue: Vec::new(), variables, rolls, events: Vec::new() };
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn fq_codel_decides_as_the_reference((given, settings) in fq_setup(), (codel_given, codel) in codel_setup(Given::default()), batch in 1_usize..70, script in script(), seed: u64) {
        let given = Given([given.0, codel_given.0].concat()).with("drop_batch", batch);
        let queue = given.build(Kind::FqCodel, &host(seed))?;
        let mut slow = fq::FqCodel::new(fq::Settings { drop_batch: batch, ..settings }, codel, Seed::new(seed));
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn fq_pie_decides_as_the_reference((given, settings) in fq_setup(), (pie_given, pie) in pie_setup(), script in script(), seed: u64) {
        let queue = Given([given.0, pie_given.0].concat()).build(Kind::FqPie, &host(seed))?;
        let mut slow = fq::FqPie::new(settings, pie::Settings { decay: 63.0 / 64.0, ..pie }, Seed::new(seed));
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn pi2_decides_as_the_reference((given, settings) in pi2_setup(), script in script(), seed: u64) {
        let queue = given.build(Kind::Pi2, &host(seed))?;
        let rolls = Seed::new(seed).stream("pi2");
        let mut slow = pi2::Pi2 { settings, queue: Vec::new(), pi: pi2::Pi::default(), rolls, events: Vec::new() };
        compare(queue, &mut slow, &script)?;
    }

    #[test]
    fn choke_auto_decides_as_the_reference((limit, text) in limit(), target in 1_u64..30, candidates in prop::sample::select(vec![1_u32, 2, 16, 64]), script in script(), seed: u64) {
        let given = Given::default()
            .with("limit", text.as_str())
            .with("target", millis(target))
            .with("candidates", candidates);
        let queue = given.build(Kind::ChokeAuto, &host(seed))?;
        let settings = choke_auto::Settings { pi: choke_auto::controller(limit, millis(target)), candidates };
        compare(queue, &mut choke_auto::ChokeAuto::new(settings, Seed::new(seed)), &script)?;
    }

    #[test]
    fn dualpi2_decides_as_the_reference((given, settings) in pi2_setup(), ramp: bool, from in 1_u64..20, range in 1_u64..20, behind in 0_usize..3, spared in 0_u64..4, percent in 0_i64..101, script in script(), seed: u64) {
        let given = given
            .with("laqm", if ramp { "ramp" } else { "step" })
            .with("step_thresh", millis(from))
            .with("min_thresh", millis(from))
            .with("range", millis(range))
            .with("min_qlen_step", behind)
            .with("spare_mtus", spared)
            .with("classic_protection", percent);
        let queue = given.build(Kind::DualPi2, &host(seed))?;
        let native = if ramp {
            pi2::Native::Ramp { min: millis(from), range: millis(range) }
        } else {
            pi2::Native::Step(millis(from))
        };
        let mut slow = pi2::DualPi2 {
            settings, native, behind, spared, percent, l: Vec::new(), c: Vec::new(), sums: [0.0; 2], credit: None,
            pi: pi2::Pi::default(), events: Vec::new(),
        };
        compare(queue, &mut slow, &script)?;
    }
}

/// A packet with a TCP header.
#[derive(Debug)]
struct Segment {
    packet: SimplePacket,
    tcp: Option<TcpHeader>,
}

impl Packet for Segment {
    fn flow(&self) -> FlowKey {
        self.packet.flow()
    }
    fn bytes(&self) -> u32 {
        self.packet.bytes()
    }
    fn ecn_capable(&self) -> bool {
        self.packet.ecn_capable()
    }
    fn mark_ce(&mut self) {
        self.packet.mark_ce();
    }
    fn source_host(&self) -> u64 {
        self.packet.source_host()
    }
    fn destination_host(&self) -> u64 {
        self.packet.destination_host()
    }
    fn class(&self) -> u8 {
        self.packet.class()
    }
    fn clear_class(&mut self) {
        self.packet.clear_class();
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.tcp
    }
}

/// A discipline whose packets have the TCP headers that their labels number.
struct WithHeaders {
    queue: BoxQdisc<Segment>,
    headers: Vec<Option<TcpHeader>>,
}

/// A sink for segments that hands on their packets.
struct Plain<'s>(&'s mut dyn DropSink<SimplePacket>);

impl DropSink<Segment> for Plain<'_> {
    fn dropped(&mut self, now: Time, segment: Segment, reason: Reason) {
        self.0.dropped(now, segment.packet, reason);
    }
    fn marked(&mut self, now: Time, segment: &Segment, reason: Reason) {
        self.0.marked(now, &segment.packet, reason);
    }
}

impl Qdisc<SimplePacket> for WithHeaders {
    fn enqueue(&mut self, now: Time, packet: SimplePacket, sink: &mut dyn DropSink<SimplePacket>) -> Fate {
        let tcp = self.headers[packet.label as usize];
        self.queue.enqueue(now, Segment { packet, tcp }, &mut Plain(sink))
    }
    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<SimplePacket>) -> Option<SimplePacket> {
        self.queue.dequeue(now, &mut Plain(sink)).map(|segment| segment.packet)
    }
    fn status(&self) -> Status {
        self.queue.status()
    }
    fn counters(&self) -> &Counters {
        self.queue.counters()
    }
}

/// TCP headers of few connections, with few numbers about the end of the circle, so that most have something in common.
fn tcp() -> impl Strategy<Value = Option<TcpHeader>> {
    let number = || (0_u32..6).prop_map(|number| number.wrapping_sub(2));
    let block = (number(), 1_u32..5).prop_map(|(start, length)| (start, start.wrapping_add(length)));
    let sack = prop_oneof![
        4 => Just(Sack::None),
        4 => prop::collection::vec(block, 1..4).prop_map(|blocks| Sack::Blocks(SackBlocks::new(&blocks))),
        1 => Just(Sack::Hidden),
    ];
    let often = || prop::bool::weighted(0.9);
    let header = (
        0_u64..2,
        number(),
        sack,
        prop::option::weighted(0.3, (number(), number())),
        often(),
        often(),
        often(),
        often(),
    );
    let header =
        header.prop_map(|(connection, number, sack, timestamps, acknowledges, pure, no_ece, no_cwr)| TcpHeader {
            connection,
            acknowledges,
            number,
            pure: pure && acknowledges,
            ece: !no_ece,
            cwr: !no_cwr,
            timestamps,
            sack,
        });
    prop::option::weighted(0.8, header)
}

/// The values of CAKE's `isolation`.
const ISOLATIONS: [&str; 8] =
    ["flows", "dual-srchost", "dual-dsthost", "triple-isolate", "srchost", "dsthost", "hosts", "flowblind"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Many flows take part, so that the ways of a set run out.
    #[test]
    fn cake_decides_as_the_reference((limit, text) in limit(), rate in prop::sample::select(vec![1_000_000_u64, 7_654_321, 20_000_000]), shaped: bool, rtt in 1_u64..120, diffserv in prop::sample::select(vec!["diffserv3", "besteffort", "diffserv4", "diffserv8", "precedence"]), isolation in prop::sample::select(ISOLATIONS.to_vec()), ingress: bool, wash: bool, nat: bool, ack_filter in prop::sample::select(vec!["none", "filter", "aggressive"]), headers in prop::collection::vec(tcp(), 1..60), crowd in 0_u64..3000, script in script(), seed: u64) {
        let mut given = Given::default()
            .with("limit", text.as_str())
            .with("rtt", millis(rtt))
            .with("diffserv", diffserv)
            .with("isolation", isolation)
            .with("ingress", ingress)
            // These change what packets say, and no decision.
            .with("wash", wash)
            .with("nat", nat)
            .with("ack_filter", ack_filter);
        if shaped {
            given = given.with("bandwidth", Rate::from_bits_per_second(rate));
        }
        let queue = given.build(Kind::Cake, &Host { rate: Rate::from_bits_per_second(rate), seed: Seed::new(seed) })?;
        let settings = cake::Settings {
            limit, rate, shaped, rtt: millis(rtt), diffserv, isolation, ingress, ack_filter,
        };
        let mut script = script;
        // Each burst of the last flow is given to one of many flows.
        for (number, step) in script.iter_mut().enumerate() {
            let Step::Enqueue { packet, .. } = step else { continue };
            packet.label = (number % headers.len()) as u64;
            if packet.flow == 7 {
                packet.flow = number as u64 * 7919 % (crowd + 1);
            }
        }
        let mut slow = cake::Cake::new(settings, Seed::new(seed));
        slow.headers.clone_from(&headers);
        compare(Box::new(WithHeaders { queue, headers }), &mut slow, &script)?;
    }
}
