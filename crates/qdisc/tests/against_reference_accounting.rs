//! The disciplines that account for flows over one FIFO against their slow references, decision by decision, under
//! random scripts.

#[path = "reference/afd.rs"]
mod afd;
#[path = "reference/csfq.rs"]
mod csfq;
#[path = "reference/echo.rs"]
mod echo;
#[path = "reference/fred.rs"]
mod fred;
#[path = "reference/line.rs"]
mod line;
#[path = "reference/penalty_box.rs"]
mod penalty_box;
#[path = "reference/red.rs"]
mod red;
#[path = "reference/red_pd.rs"]
mod red_pd;
#[path = "reference/sred.rs"]
mod sred;

use fairlane_qdisc::testing::Recorder;
use fairlane_qdisc::{
    BoxQdisc, Bytes, Duration, Host, Kind, Packets, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Size, Time,
};
use line::Slow;
use proptest::prelude::*;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Packets of a flow, with a gap after each.
    Arrive {
        flow: u64,
        bytes: u32,
        ecn: bool,
        packets: u32,
        gap: u64,
        label: u64,
    },
    /// The link asks for this many packets.
    Leave(u32),
    Wait(Duration),
}

fn step() -> impl Strategy<Value = Step> {
    let flow = prop_oneof![3 => Just(0_u64), 3 => 1_u64..6, 1 => 6_u64..40];
    let bytes = prop::sample::select(vec![40_u32, 576, 1000, 1000, 1500, 9000]);
    let gap = prop_oneof![Just(0_u64), 1_u64..4_000_000];
    // The label of CSFQ in bit/s; mostly none.
    let label = prop_oneof![4 => Just(0_u64), 1 => 1_u64..3_000_000];
    prop_oneof![
        10 => (flow, bytes, any::<bool>(), 1_u32..6, gap, label)
            .prop_map(|(flow, bytes, ecn, packets, gap, label)| Step::Arrive { flow, bytes, ecn, packets, gap, label }),
        6 => (1_u32..8).prop_map(Step::Leave),
        4 => (1_u64..60_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        // A tenth of a second to half a minute.
        1 => (100_u64..30_000).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
    ]
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    // Some scripts have a pause of up to two hours.
    let long = prop::collection::vec((0.0_f64..1.0, 1_u64..7200), 0..2);
    (prop::collection::vec(step(), 0..300), long).prop_map(|(mut steps, long)| {
        for (at, secs) in long {
            let at = (at * steps.len() as f64) as usize;
            steps.insert(at, Step::Wait(Duration::from_millis(1000 * secs)));
        }
        steps
    })
}

/// 1 Mbit/s.
const RATE: Rate = Rate::from_bits_per_second(1_000_000);

/// Returns the parameters of `kind` with those `given`.
fn configure(kind: Kind, given: &[(&str, String)]) -> Result<QdiscParameters, TestCaseError> {
    given
        .iter()
        .try_fold(QdiscParameters::new(kind), |config, (key, text)| config.with(key, text.as_str()))
        .map_err(|error| TestCaseError::fail(error.to_string()))
}

/// Checks that the discipline and the reference make the same decisions throughout `script`.
fn agree(
    kind: Kind,
    given: &[(&str, String)],
    number: u64,
    slow: impl FnOnce(Seed) -> Box<dyn Slow>,
    script: Vec<Step>,
) -> Result<(), TestCaseError> {
    let host = Host { rate: RATE, seed: Seed::new(number) };
    let mut queue: BoxQdisc<SimplePacket> =
        configure(kind, given)?.build(&host).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut slow = slow(host.seed);
    let mut recorder = Recorder::default();
    let mut now = Time::ZERO;
    let mut id = 0;
    for step in script {
        match step {
            Step::Arrive { flow, bytes, ecn, packets, gap, label } => {
                for _ in 0..packets {
                    let packet = SimplePacket::new(flow, bytes).with_id(id).with_label(label);
                    let packet = SimplePacket { ecn_capable: ecn, ..packet };
                    id += 1;
                    recorder.enqueue(&mut queue, now, packet);
                    slow.enqueue(now, packet);
                    now += Duration::from_nanos(gap);
                    same(&queue, &recorder, slow.as_ref())?;
                }
            }
            Step::Leave(packets) => {
                for _ in 0..packets {
                    let label = recorder.dequeue(&mut queue, now).map(|packet| packet.label);
                    slow.dequeue(now);
                    prop_assert!(label.is_none() || label == slow.line().labels.last().copied());
                    now += RATE.transmission(1000);
                    same(&queue, &recorder, slow.as_ref())?;
                }
            }
            Step::Wait(time) => now += time,
        }
    }
    recorder.check_counters(&queue);
    Ok(())
}

fn same(queue: &BoxQdisc<SimplePacket>, recorder: &Recorder, slow: &dyn Slow) -> Result<(), TestCaseError> {
    prop_assert_eq!(recorder.events.last(), slow.line().events.last());
    prop_assert_eq!(recorder.events.len(), slow.line().events.len());
    prop_assert_eq!(queue.packets(), slow.line().queue.len());
    prop_assert_eq!(queue.bytes(), slow.line().bytes());
    if let (Some(fast), Some(slow)) = (queue.average(), slow.average()) {
        prop_assert!((fast - slow).abs() <= 1e-9 * slow.abs(), "{} {}", fast, slow);
    }
    Ok(())
}

/// A limit of a few packets or kilobytes, sometimes 0.
fn limit() -> impl Strategy<Value = Size> {
    prop_oneof![
        (0_u32..60).prop_map(|packets| Size::Packets(Packets::new(packets))),
        (0_u64..60).prop_map(|kilobytes| Size::Bytes(Bytes::new(1000 * kilobytes))),
    ]
}

fn text(key: &'static str, value: impl ToString + Copy) -> (&'static str, String) {
    (key, value.to_string())
}

fn sred() -> impl Strategy<Value = sred::Settings> {
    let numbers = (
        prop::sample::select(vec![0.15, 0.6, 1.0]),
        1_usize..30,
        prop::sample::select(vec![0.25, 0.7, 1.0]),
        prop::sample::select(vec![0.001, 0.03, 0.4, 1.0]),
    );
    (limit(), numbers, any::<bool>(), any::<bool>()).prop_map(|(limit, (p_max, m, overwrite, alpha), full, ecn)| {
        sred::Settings { limit, p_max, m, overwrite, alpha, full, ecn }
    })
}

/// Returns a threshold of packets or kilobytes as text, and in the average's unit.
fn size(count: u32, in_bytes: bool) -> (String, f64) {
    let text = if in_bytes { format!("{count}kb") } else { format!("{count}p") };
    (text, f64::from(count) * if in_bytes { 1000.0 } else { 1.0 })
}

fn fred() -> impl Strategy<Value = (fred::Settings, Vec<(&'static str, String)>)> {
    let thresholds = (1_u32..12, 0_u32..20, 0_u32..6, any::<bool>());
    let numbers = (prop::sample::select(vec![0.02, 0.3, 1.0]), prop::sample::select(vec![0.002, 0.2, 0.7, 1.0]));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    (limit(), thresholds, numbers, switches).prop_map(
        |(limit, (least, width, minq, in_bytes), (max_p, w), (many_flows, byte_drop, ecn))| {
            let (min_text, min) = size(least, in_bytes);
            let (max_text, max) = size(least + width, in_bytes);
            let (minq_text, minq) = size(minq, in_bytes);
            let slot = RATE.transmission(1000);
            let given = vec![
                text("limit", limit),
                ("min", min_text),
                ("max", max_text),
                ("minq", minq_text),
                text("probability", max_p),
                text("weight", w),
                text("many_flows", many_flows),
                text("byte_drop", byte_drop),
                text("ecn", ecn),
            ];
            (fred::Settings { limit, min, max, minq, in_bytes, max_p, w, many_flows, byte_drop, ecn, slot }, given)
        },
    )
}

fn afd() -> impl Strategy<Value = afd::Settings> {
    let interval = prop::sample::select(vec![1_000_000_u64, 6_250_000, 300_000_000]).prop_map(Duration::from_nanos);
    let numbers = (1_usize..40, 1_u32..4, 1_u32..20);
    (limit(), numbers, interval).prop_map(|(limit, (b, s, q_target), interval)| afd::Settings {
        limit,
        b,
        s,
        q_target: f64::from(q_target),
        interval,
    })
}

fn csfq() -> impl Strategy<Value = csfq::Settings> {
    let times = (1_u64..400, 1_u64..400, 1_u64..400);
    (limit(), times, any::<bool>(), 1_usize..12, prop::option::of(1_u32..8)).prop_map(
        |(limit, (k, k_alpha, k_c), edge, table_size, part)| {
            let threshold = match (limit, part) {
                (_, None) => 0.0,
                (Size::Packets(limit), Some(part)) => f64::from(limit.get() / part),
                (Size::Bytes(limit), Some(part)) => (limit.get() / u64::from(part)) as f64,
            };
            let [k, k_alpha, k_c] = [k, k_alpha, k_c].map(Duration::from_millis);
            csfq::Settings { limit, c: 1e6, k, k_alpha, k_c, edge, table_size, threshold }
        },
    )
}

fn echo() -> impl Strategy<Value = echo::Settings> {
    let tags = prop::sample::select(vec![None, Some(64_usize), Some(512)]);
    (limit(), 1_u64..60, tags, any::<bool>(), any::<bool>()).prop_map(|(limit, target, tags, ecn, lane)| {
        echo::Settings { limit, target: Duration::from_millis(target), tags, ecn, link: RATE, lane }
    })
}

/// The parameters of RED for the disciplines that build on it.
fn red() -> impl Strategy<Value = (red::Settings, Vec<(&'static str, String)>)> {
    use red::Spacing;
    let spacing =
        prop::sample::select(vec![("none", Spacing::None), ("count", Spacing::Count), ("wait", Spacing::Wait)]);
    let numbers = (prop::sample::select(vec![0.02, 0.3, 1.0]), prop::sample::select(vec![0.002, 0.2, 0.7, 1.0]));
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    ((1_u32..12, 1_u32..20), numbers, spacing, switches).prop_map(
        |((least, width), (max_p, w), (uniformize, spacing), (in_bytes, gentle, spare, ecn))| {
            let (min_text, min) = size(least, in_bytes);
            let (max_text, max) = size(least + width, in_bytes);
            let slot = RATE.transmission(1000);
            let given = vec![
                ("min", min_text),
                ("max", max_text),
                text("probability", max_p),
                text("weight", w),
                text("gentle", gentle),
                text("uniformize", uniformize),
                text("spare", spare),
                text("ecn", ecn),
            ];
            (red::Settings { min, max, in_bytes, max_p, w, gentle, spacing, spare, ecn, slot }, given)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch any decision that differs from the definition: which entry is compared and overwritten, the
    /// frequency, the bands of the queue, both variants.
    #[test]
    fn sred_decides_as_the_reference(s in sred(), script in script(), number in any::<u64>()) {
        let given = [
            text("limit", s.limit),
            text("probability", s.p_max),
            text("zombies", s.m),
            text("overwrite", s.overwrite),
            text("weight", s.alpha),
            text("variant", if s.full { "full" } else { "simple" }),
            text("ecn", s.ecn),
        ];
        agree(Kind::Sred, &given, number, |seed| Box::new(sred::Sred::new(s, seed)), script)?;
    }

    /// Would catch any decision that differs from the definition: which flow is struck, spared or tried, the end of
    /// strikes, the times at which the average is updated, and the flows among which it is divided.
    #[test]
    fn fred_decides_as_the_reference((s, given) in fred(), script in script(), number in any::<u64>()) {
        agree(Kind::Fred, &given, number, |seed| Box::new(fred::Fred::new(s, seed)), script)?;
    }

    /// Would catch any decision that differs from the definition: the samples and evictions, the counts, the
    /// controller's formula and the times at which it runs.
    #[test]
    fn afd_decides_as_the_reference(s in afd(), script in script(), number in any::<u64>()) {
        let given = [
            text("limit", s.limit),
            text("shadow", s.b),
            text("sample", s.s),
            ("target_queue", format!("{}p", s.q_target)),
            text("interval", s.interval),
        ];
        agree(Kind::Afd, &given, number, |seed| Box::new(afd::Afd::new(s, seed)), script)?;
    }

    /// Would catch any decision that differs from the law: the sample, its thinning and its copies, the signal and what
    /// is marked, the measured rate, the times and the steps of the controller, the packets that go ahead and their
    /// order.
    #[test]
    fn echo_decides_as_the_reference(s in echo(), script in script(), number in any::<u64>()) {
        let mut given = vec![text("limit", s.limit), text("target", s.target), text("ecn", s.ecn), text("lane", s.lane)];
        given.extend(s.tags.map(|tags| text("tags", tags)));
        agree(Kind::Echo, &given, number, |seed| Box::new(echo::Echo::new(s, seed)), script)?;
    }

    /// Would catch any decision that differs from the definition: the rates, the flows known at the edge, the updates
    /// of the fair rate, and relabelling.
    #[test]
    fn csfq_decides_as_the_reference(s in csfq(), script in script(), number in any::<u64>()) {
        let unit = if matches!(s.limit, Size::Packets(_)) { "p" } else { "b" };
        let given = [
            text("limit", s.limit),
            text("edge", s.edge),
            text("table_size", s.table_size),
            text("k", s.k),
            text("k_alpha", s.k_alpha),
            text("k_c", s.k_c),
            ("threshold", format!("{}{unit}", s.threshold)),
        ];
        agree(Kind::Csfq, &given, number, |seed| Box::new(csfq::Csfq::new(s, seed)), script)?;
    }

    /// Would catch any decision that differs from the definition: the intervals and their lists, the flows that are
    /// monitored and released, the changes of their probabilities, the test of responsiveness, the filter.
    #[test]
    fn red_pd_decides_as_the_reference(
        limit in limit(),
        (s, mut given) in red(),
        rtt in prop::sample::select(vec![20_u64, 40, 300]),
        script in script(),
        number in any::<u64>(),
    ) {
        given.extend([text("limit", limit), ("rtt", format!("{rtt}ms"))]);
        let r = rtt as f64 / 1000.0;
        agree(Kind::RedPd, &given, number, |seed| Box::new(red_pd::RedPd::new(limit, s, r, seed)), script)?;
    }

    /// Would catch any decision that differs from the definition: the end of a period, the tests, the flows put into
    /// the box and released, and the packets that the box lets through.
    #[test]
    fn the_penalty_box_decides_as_the_reference(
        limit in limit(),
        (red, mut given) in red(),
        (history, period, rtt) in (1_usize..30, 50_u64..3000, prop::sample::select(vec![1_u64, 20, 100])),
        (mtu, rate, burst) in (prop::sample::select(vec![40_u32, 300, 1500]), 1_u32..300, 0_u32..10),
        script in script(),
        number in any::<u64>(),
    ) {
        given.extend([
            text("limit", limit),
            text("history", history),
            ("interval", format!("{period}ms")),
            ("rtt", format!("{rtt}ms")),
            ("mtu", format!("{mtu}b")),
            ("penalty_rate", format!("{rate}kbit")),
            ("penalty_burst", format!("{burst}p")),
        ]);
        let s = penalty_box::Settings {
            history,
            period: Duration::from_millis(period),
            r: rtt as f64 / 1000.0,
            b: f64::from(mtu),
            box_rate: u128::from(rate) * 1000,
            burst: u128::from(burst) * 1000,
        };
        let slow = |seed| -> Box<dyn Slow> { Box::new(penalty_box::PenaltyBox::new(limit, s, red, seed)) };
        agree(Kind::RedPenaltyBox, &given, number, slow, script)?;
    }
}

/// Would catch a rounding that differs from the reference's where p_a reaches 1 and jumps: with `probability` and
/// `weight` 1 the averages are whole, and with `byte_drop` a p_a below 1 is multiplied by the packet's size. About one
/// in 10,000 random scripts found such a difference.
#[test]
fn fred_and_the_reference_round_alike() {
    let arrive = |flow, bytes, packets| Step::Arrive { flow, bytes, ecn: false, packets, gap: 0, label: 0 };
    let script = vec![
        arrive(0, 40, 17),
        Step::Leave(10),
        arrive(0, 40, 4),
        arrive(1, 40, 2),
        arrive(0, 40, 6),
        Step::Leave(1),
        arrive(1, 40, 3),
        arrive(0, 576, 1),
        Step::Leave(3),
        arrive(1, 40, 1),
        arrive(0, 40, 4),
    ];
    let s = fred::Settings {
        limit: Size::Packets(Packets::new(17)),
        min: 10.0,
        max: 16.0,
        minq: 0.0,
        in_bytes: false,
        max_p: 1.0,
        w: 1.0,
        many_flows: false,
        byte_drop: true,
        ecn: false,
        slot: RATE.transmission(1000),
    };
    let given = [
        text("limit", "17p"),
        text("min", "10p"),
        text("max", "16p"),
        text("minq", "0p"),
        text("probability", 1),
        text("weight", 1),
        text("byte_drop", true),
    ];
    let agreed = agree(Kind::Fred, &given, 98_904_238_330_747_505, |seed| Box::new(fred::Fred::new(s, seed)), script);
    assert!(agreed.is_ok(), "{agreed:?}");
}

/// Eight flows send 4, 1.25, 1.4 and 4 times the link's rate for 12 seconds each: floods that last, of which random
/// scripts have none. Would catch another measure of how long a flood keeps the queue above its target, and of how much
/// the controller hurries.
#[test]
fn echo_decides_as_the_reference_in_a_lasting_flood() -> Result<(), TestCaseError> {
    let arrive = |flow| Step::Arrive { flow, bytes: 1000, ecn: false, packets: 1, gap: 0, label: 0 };
    let second = move |arrivals: u64, departures: u32| {
        (0..125 / u64::from(departures)).flat_map(move |round| {
            let arrivals = (0..arrivals).map(move |n| arrive((round * arrivals + n) % 8));
            arrivals.chain([Step::Leave(departures)])
        })
    };
    for (number, lane) in [(1, false), (2, true)] {
        let limit = Size::packets(4000);
        let s = echo::Settings { limit, target: Duration::from_millis(40), tags: None, ecn: true, link: RATE, lane };
        let given = [text("limit", limit), text("target", s.target), text("lane", lane)];
        let script = [(4, 1), (5, 4), (7, 5), (4, 1)]
            .into_iter()
            .flat_map(|(arrivals, departures)| (0..12).flat_map(move |_| second(arrivals, departures)))
            .collect();
        agree(Kind::Echo, &given, number, |seed| Box::new(echo::Echo::new(s, seed)), script)?;
    }
    Ok(())
}
