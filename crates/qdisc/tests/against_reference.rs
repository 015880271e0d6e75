//! Every discipline against the slow reference, decision by decision, under random scripts.

mod reference;

use fairlane_qdisc::testing::Recorder;
use fairlane_qdisc::{Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};
use proptest::prelude::*;
use reference::{Algorithm, Reference, Settings, Spacing};

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue { flow: u64, bytes: u32, ecn: bool },
    Dequeue,
    Wait(Duration),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (prop_oneof![3 => Just(0_u64), 2 => 1_u64..8], prop::sample::select(vec![40_u32, 576, 1000, 1500, 9000]), any::<bool>())
            .prop_map(|(flow, bytes, ecn)| Step::Enqueue { flow, bytes, ecn }),
        6 => Just(Step::Dequeue),
        3 => (1_u64..40_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        // Half a second to half a day.
        1 => (500_u64..43_200_000).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
    ]
}

fn algorithm() -> impl Strategy<Value = (Kind, Algorithm, Vec<(&'static str, String)>)> {
    prop_oneof![2 => founder(), 1 => successor()]
}

fn founder() -> impl Strategy<Value = (Kind, Algorithm, Vec<(&'static str, String)>)> {
    let plain = |kind, algorithm| Just((kind, algorithm, Vec::new()));
    let with = |key: &'static str, value: &str| (key, value.to_string());
    prop_oneof![
        plain(Kind::DropTail, Algorithm::TailDrop),
        Just((Kind::DropTail, Algorithm::FrontDrop, vec![with("drop", "front")])),
        Just((Kind::DropTail, Algorithm::RandomDrop, vec![with("drop", "random")])),
        plain(Kind::Red, Algorithm::Red),
        Just((Kind::Ared, Algorithm::Feng, vec![with("law", "feng")])),
        // ns-2's bottom at 1 Mbit/s is 0.01.
        plain(Kind::Ared, Algorithm::Floyd { bottom: 0.01 }),
        (1_usize..8).prop_map(move |m| (
            Kind::Choke,
            Algorithm::Choke { candidates: m },
            vec![with("candidates", &m.to_string())]
        )),
        (1_usize..4).prop_map(move |m| (
            Kind::FrontChoke,
            Algorithm::Front { candidates: m },
            vec![with("candidates", &m.to_string())]
        )),
        (1_usize..4).prop_map(move |m| (
            Kind::BackChoke,
            Algorithm::Back { candidates: m },
            vec![with("candidates", &m.to_string())]
        )),
        (1_u32..7, prop::sample::select(vec![("2i", 2, 0), ("2i-1", 2, 1), ("i", 1, 0)])).prop_map(
            move |(regions, (rule, twice, less))| (
                Kind::ChokeAdaptive,
                Algorithm::Adaptive { regions, twice, less },
                vec![with("regions", &regions.to_string()), with("candidates_rule", rule)]
            )
        ),
        ([0_u32..20, 0_u32..20], prop::sample::select(vec![("2i", 2, 0), ("2i-1", 2, 1), ("i", 1, 0)])).prop_map(
            move |(above_min, (rule, twice, less))| (
                Kind::ChokeAdaptive,
                Algorithm::Intermediate { thresholds: above_min.map(f64::from), twice, less },
                vec![with("candidates_rule", rule)]
            )
        ),
        (0_usize..5).prop_map(move |memory| (
            Kind::MlocChoke,
            Algorithm::Mloc { memory },
            vec![with("memory", &memory.to_string())]
        )),
        (1_usize..4, 1_u32..6, prop::option::of(1_u64..20_000)).prop_map(move |(size, cap, age)| {
            let mut given = vec![with("table_size", &size.to_string()), with("hit_cap", &cap.to_string())];
            given.extend(age.map(|age| ("age", format!("{age}ms"))));
            (Kind::Xchoke, Algorithm::Xchoke { size, cap, age: Duration::from_millis(age.unwrap_or(10_000)) }, given)
        }),
        prop::sample::select(vec![("1", 1), ("3", 3), ("infinite", u32::MAX)]).prop_map(move |(text, maxcomp)| (
            Kind::Gchoke,
            Algorithm::Gchoke { maxcomp },
            vec![with("maxcomp", text)]
        )),
    ]
}

/// CHOKe's successors. CHOKeW's and CHOKeR's sizes are in packets where `min` and `max` are, and else in kilobytes.
fn successor() -> impl Strategy<Value = (Kind, Algorithm, Vec<(&'static str, String)>)> {
    let factor = (any::<bool>(), 0_u32..30, 0.01_f64..1.0, 0.01_f64..0.5, 1_u32..6, 1_u32..12);
    prop_oneof![
        factor.prop_map(|(weighted, threshold, increment, decrement, band, most)| {
            let kind = if weighted { Kind::Chokew } else { Kind::Choker };
            let band = (!weighted).then_some(f64::from(band));
            let most = f64::from(most);
            let threshold = f64::from(threshold);
            (kind, Algorithm::Chokew { threshold, increment, decrement, band, most }, Vec::new())
        }),
        (1_u32..12).prop_map(|most| (
            Kind::Choked,
            Algorithm::Choked { most },
            vec![("max_candidates", most.to_string())]
        )),
        (1_u64..2000, 0.01_f64..1.0, 0.01_f64..1.0, 1_u32..6).prop_map(|(millis, share, hit_ratio, most)| (
            Kind::Sac,
            Algorithm::Sac { interval: Duration::from_millis(millis), share, hit_ratio, most },
            vec![
                ("interval", format!("{millis}ms")),
                ("share", share.to_string()),
                ("hit_ratio", hit_ratio.to_string()),
                ("max_candidates", most.to_string())
            ]
        )),
        (1_usize..4, 3_u32..8, 1_u32..4, 1_u32..3, 1_u64..20_000).prop_map(|(size, cap, hits, drops, millis)| (
            Kind::Rechoke,
            Algorithm::Rechoke { size, cap, hits, drops, window: Duration::from_millis(millis) },
            vec![
                ("table_size", size.to_string()),
                ("hit_cap", cap.to_string()),
                ("hits", hits.to_string()),
                ("drops", drops.to_string()),
                ("window", format!("{millis}ms"))
            ]
        )),
    ]
}

/// The factor's parameters, whose unit is that of the thresholds; and the algorithm with them in that unit.
fn factor(algorithm: Algorithm, in_bytes: bool) -> (Algorithm, Vec<(&'static str, String)>) {
    let Algorithm::Chokew { threshold, increment, decrement, band, most } = algorithm else {
        return (algorithm, Vec::new());
    };
    let (unit, scale) = if in_bytes { ("kb", 1000.0) } else { ("p", 1.0) };
    let mut given = vec![
        ("threshold", format!("{threshold}{unit}")),
        ("increment", increment.to_string()),
        ("decrement", decrement.to_string()),
        ("max_candidates", most.to_string()),
    ];
    given.extend(band.map(|band| ("band", format!("{band}{unit}"))));
    let band = band.map(|band| scale * band);
    (Algorithm::Chokew { threshold: scale * threshold, increment, decrement, band, most }, given)
}

/// The intermediate thresholds, which were drawn without knowing `min` and `max`, between the two; and the algorithm
/// with them.
fn intermediate(
    algorithm: Algorithm,
    min: u32,
    width: u32,
    in_bytes: bool,
) -> (Algorithm, Vec<(&'static str, String)>) {
    let Algorithm::Intermediate { thresholds: [first, second], twice, less } = algorithm else {
        return (algorithm, Vec::new());
    };
    let scale = if in_bytes { 1000.0 } else { 1.0 };
    let between = |drawn: f64| scale * (f64::from(min + 1) + drawn % f64::from(width - 1));
    let (first, second) = (between(first.min(second)), between(first.max(second)));
    let (thresholds, text) =
        if first < second { ([first, second], format!("{first},{second}")) } else { ([first, 0.0], first.to_string()) };
    (Algorithm::Intermediate { thresholds, twice, less }, vec![("int_th", text)])
}

type Switches = (bool, bool, bool, bool, bool, bool, (u32, bool, bool), (bool, bool));

/// A configuration and the reference's settings that mean the same.
fn setup() -> impl Strategy<Value = (QdiscParameters, Settings)> {
    let red = (
        prop::sample::select(vec![("none", Spacing::None), ("count", Spacing::Count), ("wait", Spacing::Wait)]),
        prop::sample::select(vec![0.037_f64, 0.31, 0.5, 1.0]),
        prop::sample::select(vec![0.07_f64, 0.39, 1.0]),
        (1_u32..20, 2_u32..20, 0_u32..40),
    );
    (algorithm(), red, any::<Switches>(), any::<bool>()).prop_filter_map(
        "a configuration that is refused",
        |((kind, algorithm, given), red, switches, limit_in_bytes)| {
            let (uniformize, weight, probability, (min, width, limit)) = red;
            let (
                gentle,
                spare,
                byte_drop,
                ecn,
                harddrop,
                compare_above_max,
                (sampling, count_matches, drop_bit),
                (in_bytes, filters),
            ) = switches;
            let size = |count: u32, bytes: bool| if bytes { format!("{count}kb") } else { format!("{count}p") };
            let scale = |count: u32, bytes: bool| f64::from(count) * if bytes { 1000.0 } else { 1.0 };
            let knows = |key: &str| kind.parameters().iter().any(|parameter| parameter.key == key);
            let sampling = ["exact", "replacement", "linux"][if knows("sampling") { sampling as usize % 3 } else { 0 }];
            let compare_above_max = compare_above_max || !knows("compare_above_max");
            let drop_bit = drop_bit && knows("drop_bit");
            let (algorithm, more) = factor(algorithm, in_bytes);
            let (algorithm, thresholds) = intermediate(algorithm, min, width, in_bytes);
            let settings = Settings {
                algorithm,
                limit: scale(limit, limit_in_bytes),
                limit_in_bytes,
                min: scale(min, in_bytes),
                max: scale(min + width, in_bytes),
                in_bytes,
                probability,
                weight,
                filter: if filters && kind == Kind::Red { 0.2 } else { 1.0 },
                gentle,
                spacing: uniformize.1,
                spare,
                byte_drop,
                ecn,
                harddrop,
                compare_above_max,
                linux: sampling == "linux",
                replacement: sampling == "replacement",
                count_matches,
                drop_bit,
                slot: Duration::from_millis(8),
            };
            let mut all = vec![
                ("limit", size(limit, limit_in_bytes)),
                ("min", size(min, in_bytes)),
                ("max", size(min + width, in_bytes)),
                ("probability", probability.to_string()),
                ("weight", weight.to_string()),
                ("probability_weight", settings.filter.to_string()),
                ("gentle", gentle.to_string()),
                ("uniformize", uniformize.0.to_string()),
                ("spare", spare.to_string()),
                ("byte_drop", byte_drop.to_string()),
                ("ecn", ecn.to_string()),
                ("harddrop", harddrop.to_string()),
                ("compare_above_max", compare_above_max.to_string()),
                ("sampling", sampling.to_string()),
                ("count_matches", count_matches.to_string()),
                ("drop_bit", drop_bit.to_string()),
            ];
            all.extend(given);
            all.extend(more);
            all.extend(thresholds);
            configure(kind, &all).ok().map(|config| (config, settings))
        },
    )
}

/// `kind` with those of `given` that it knows.
fn configure(kind: Kind, given: &[(&'static str, String)]) -> Result<QdiscParameters, ParameterError> {
    let mut config = QdiscParameters::new(kind);
    for (key, text) in given {
        if kind.parameters().iter().any(|parameter| parameter.key == *key) {
            config.set(key, text.as_str().into())?;
        }
    }
    Ok(config)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch any decision that differs from the definitions: order of stages, thresholds, who is drawn, which
    /// reason, what is counted when, and any packet lost or reported twice.
    #[test]
    fn decides_as_the_reference((config, settings) in setup(), script in prop::collection::vec(step(), 0..800), number in any::<u64>()) {
        let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(number) };
        let mut queue = config.build(&host).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut slow = Reference::new(settings, host.seed);
        let mut recorder = Recorder::default();
        let mut now = Time::ZERO;
        for (id, step) in script.into_iter().enumerate() {
            match step {
                Step::Enqueue { flow, bytes, ecn } => {
                    let packet = SimplePacket {
                        ecn_capable: ecn,
                        class: (flow * 32) as u8,
                        responsive: flow % 2 == 1,
                        ..SimplePacket::new(flow, bytes).with_id(id as u64)
                    };
                    recorder.enqueue(&mut queue, now, packet);
                    slow.enqueue(now, packet);
                }
                Step::Dequeue => {
                    recorder.dequeue(&mut queue, now);
                    slow.dequeue(now);
                }
                Step::Wait(time) => now += time,
            }
            prop_assert_eq!(&recorder.events, &slow.events);
            prop_assert_eq!(queue.packets(), slow.live().len());
            prop_assert_eq!(queue.bytes(), slow.bytes());
            if let Some(average) = queue.average() {
                prop_assert!((average - slow.average()).abs() <= 1e-9 * slow.average().abs(), "{} {}", average, slow.average());
            }
        }
        recorder.check_counters(&queue);
    }
}
