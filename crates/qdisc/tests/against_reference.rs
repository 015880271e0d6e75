//! Every discipline against the slow reference, decision by decision, under random scripts.

mod reference;

use fairlane_qdisc::{
    AnyQdisc, Duration, Fate, Host, Kind, ParameterError, Qdisc, QdiscConfig, Rate, Reason, Seed, SimplePacket, Time,
};
use proptest::prelude::*;
use reference::{Algorithm, Event, Reference, Settings, Spacing};

/// Writes down what it hears.
#[derive(Default)]
struct Diary(Vec<Event>);

impl Fate<SimplePacket> for Diary {
    fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
        self.0.push(Event::Dropped(packet.id, reason));
    }
    fn marked(&mut self, _now: Time, packet: &SimplePacket, reason: Reason) {
        assert!(packet.marked);
        self.0.push(Event::Marked(packet.id, reason));
    }
}

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
        (0_usize..5).prop_map(move |memory| (
            Kind::MlocChoke,
            Algorithm::Mloc { memory },
            vec![with("memory", &memory.to_string())]
        )),
        (1_usize..4, 1_u32..6, prop::option::of(1_u64..20_000)).prop_map(move |(size, cap, age)| {
            let mut given = vec![with("table_size", &size.to_string()), with("hit_cap", &cap.to_string())];
            given.extend(age.map(|age| ("age", format!("{age}ms"))));
            (Kind::Xchoke, Algorithm::Xchoke { size, cap, age: age.map(Duration::from_millis) }, given)
        }),
        prop::sample::select(vec![("1", 1), ("3", 3), ("infinite", u32::MAX)]).prop_map(move |(text, maxcomp)| (
            Kind::Gchoke,
            Algorithm::Gchoke { maxcomp },
            vec![with("maxcomp", text)]
        )),
    ]
}

type Switches = (bool, bool, bool, bool, bool, bool, bool, bool);

/// A configuration and the reference's settings that mean the same.
fn setup() -> impl Strategy<Value = (QdiscConfig, Settings)> {
    let red = (
        prop::sample::select(vec![("none", Spacing::None), ("count", Spacing::Count), ("wait", Spacing::Wait)]),
        prop::sample::select(vec![0.037_f64, 0.31, 0.83]),
        prop::sample::select(vec![0.07_f64, 0.39, 1.0]),
        (1_u32..20, 2_u32..20, 0_u32..40),
    );
    (algorithm(), red, any::<Switches>(), any::<bool>()).prop_filter_map(
        "a configuration that is refused",
        |((kind, algorithm, given), red, switches, limit_in_bytes)| {
            let (uniformize, weight, probability, (min, width, limit)) = red;
            let (gentle, spare, byte_drop, ecn, harddrop, compare_above_max, linux, in_bytes) = switches;
            let size = |count: u32, bytes: bool| if bytes { format!("{count}kb") } else { format!("{count}p") };
            let scale = |count: u32, bytes: bool| f64::from(count) * if bytes { 1000.0 } else { 1.0 };
            let linux = linux && kind.parameters().iter().any(|parameter| parameter.key == "sampling");
            let settings = Settings {
                algorithm,
                limit: scale(limit, limit_in_bytes),
                limit_in_bytes,
                min: scale(min, in_bytes),
                max: scale(min + width, in_bytes),
                in_bytes,
                probability,
                weight,
                gentle,
                spacing: uniformize.1,
                spare,
                byte_drop,
                ecn,
                harddrop,
                compare_above_max,
                linux,
                slot: Duration::from_millis(8),
            };
            let mut all = vec![
                ("limit", size(limit, limit_in_bytes)),
                ("min", size(min, in_bytes)),
                ("max", size(min + width, in_bytes)),
                ("probability", probability.to_string()),
                ("weight", weight.to_string()),
                ("gentle", gentle.to_string()),
                ("uniformize", uniformize.0.to_string()),
                ("spare", spare.to_string()),
                ("byte_drop", byte_drop.to_string()),
                ("ecn", ecn.to_string()),
                ("harddrop", harddrop.to_string()),
                ("compare_above_max", compare_above_max.to_string()),
                ("sampling", if linux { "linux" } else { "exact" }.to_string()),
            ];
            all.extend(given);
            configure(kind, &all).ok().map(|config| (config, settings))
        },
    )
}

/// `kind` with those of `given` that it knows.
fn configure(kind: Kind, given: &[(&'static str, String)]) -> Result<QdiscConfig, ParameterError> {
    let mut config = QdiscConfig::new(kind);
    for (key, text) in given {
        if kind.parameters().iter().any(|parameter| parameter.key == *key) {
            config.set(key, text.as_str().into())?;
        }
    }
    Ok(config)
}

/// arrived = departed + dropped + backlog, and each reason as the diary has it.
fn check_books(queue: &AnyQdisc<SimplePacket>, diary: &Diary) -> Result<(), TestCaseError> {
    let counters = queue.counters();
    let dropped = counters.dropped_total();
    prop_assert_eq!(counters.arrived.packets, counters.departed.packets + dropped.packets + queue.packets() as u64);
    prop_assert_eq!(counters.arrived.bytes, counters.departed.bytes + dropped.bytes + queue.bytes());
    for reason in Reason::ALL {
        let drops = diary.0.iter().filter(|event| matches!(event, Event::Dropped(_, r) if *r == reason)).count();
        let marks = diary.0.iter().filter(|event| matches!(event, Event::Marked(_, r) if *r == reason)).count();
        prop_assert_eq!(counters.dropped(reason).packets, drops as u64);
        prop_assert_eq!(counters.marked(reason).packets, marks as u64);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch any decision that differs from the definitions: order of stages, thresholds, who is drawn, which
    /// reason, what is counted when, and any packet lost or reported twice.
    #[test]
    fn decides_as_the_reference((config, settings) in setup(), script in prop::collection::vec(step(), 0..800), number in any::<u64>()) {
        let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(number) };
        let mut queue = config.build(&host).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut slow = Reference::new(settings, host.seed);
        let mut diary = Diary::default();
        let mut now = Time::ZERO;
        for (id, step) in script.into_iter().enumerate() {
            match step {
                Step::Enqueue { flow, bytes, ecn } => {
                    let packet = SimplePacket { ecn_capable: ecn, ..SimplePacket::new(flow, bytes).with_id(id as u64) };
                    queue.enqueue(now, packet, &mut diary);
                    slow.enqueue(now, packet);
                }
                Step::Dequeue => {
                    let packet = queue.dequeue(now, &mut diary);
                    diary.0.extend(packet.map(|packet| Event::Departed(packet.id)));
                    slow.dequeue(now);
                }
                Step::Wait(time) => now += time,
            }
            prop_assert_eq!(&diary.0, &slow.events);
            prop_assert_eq!(queue.packets(), slow.live().len());
            prop_assert_eq!(queue.bytes(), slow.bytes());
            if let Some(average) = queue.average() {
                prop_assert!((average - slow.average()).abs() <= 1e-9 * slow.average().abs(), "{} {}", average, slow.average());
            }
        }
        check_books(&queue, &diary)?;
    }
}
