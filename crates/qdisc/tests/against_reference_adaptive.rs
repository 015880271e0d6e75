//! Compares every decision of BLUE, SFB, SFRED, SFQ and SFQ with RED with slow references, under random scripts.

use fairlane_qdisc::testing::{Event, Recorder};
use fairlane_qdisc::{Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};
use proptest::prelude::*;

#[path = "reference/blue.rs"]
mod blue;
#[allow(dead_code, reason = "only RED is used of it here")]
mod reference;
#[path = "reference/sfb.rs"]
mod sfb;
#[path = "reference/sfq.rs"]
mod sfq;
#[path = "reference/ties.rs"]
mod ties;

/// A limit in packets or bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Room {
    Packets(usize),
    Bytes(u64),
}

impl Room {
    /// Tells whether `queue` with `more` is within the limit.
    fn holds(self, queue: &[SimplePacket], more: Option<&SimplePacket>) -> bool {
        match self {
            Self::Packets(packets) => queue.iter().chain(more).count() <= packets,
            Self::Bytes(bytes) => queue.iter().chain(more).map(|p| u64::from(p.bytes)).sum::<u64>() <= bytes,
        }
    }

    /// Returns the limit as the text of a parameter.
    fn text(self) -> String {
        match self {
            Self::Packets(packets) => format!("{packets}p"),
            Self::Bytes(bytes) => format!("{bytes}b"),
        }
    }
}

/// A slow reference of a discipline, with plain lists.
pub(crate) trait Slow {
    fn enqueue(&mut self, now: Time, packet: SimplePacket, events: &mut Vec<Event>);
    fn dequeue(&mut self, now: Time, events: &mut Vec<Event>);
    /// Returns the queued packets, in any order.
    fn backlog(&self) -> Vec<SimplePacket>;
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue { flow: u64, bytes: u32, ecn: bool },
    Dequeue,
    Wait(Duration),
}

fn step() -> impl Strategy<Value = Step> {
    let flow = prop_oneof![3 => Just(0_u64), 2 => 1_u64..8, 1 => any::<u64>()];
    let bytes = prop::sample::select(vec![40_u32, 576, 1000, 1500, 9000]);
    prop_oneof![
        12 => (flow, bytes, any::<bool>()).prop_map(|(flow, bytes, ecn)| Step::Enqueue { flow, bytes, ecn }),
        6 => Just(Step::Dequeue),
        3 => (1_u64..40_000_000).prop_map(|nanos| Step::Wait(Duration::from_nanos(nanos))),
        1 => (500_u64..100_000).prop_map(|millis| Step::Wait(Duration::from_millis(millis))),
    ]
}

fn room() -> impl Strategy<Value = Room> {
    prop_oneof![(0_usize..40).prop_map(Room::Packets), (0_u64..40_000).prop_map(Room::Bytes)]
}

fn millis(range: std::ops::Range<u64>) -> impl Strategy<Value = Duration> {
    range.prop_map(Duration::from_millis)
}

fn configure(kind: Kind, given: &[(&str, String)]) -> Result<QdiscParameters, ParameterError> {
    given.iter().try_fold(QdiscParameters::new(kind), |config, (key, text)| config.with(key, text.as_str()))
}

/// Runs `script` on the queue of `config` and on the slow reference, and compares them after each step.
fn compare(
    config: &QdiscParameters,
    slow: impl FnOnce(Seed) -> Box<dyn Slow>,
    script: Vec<Step>,
    number: u64,
) -> Result<(), TestCaseError> {
    let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(number) };
    let mut queue = config.build(&host).map_err(|error| TestCaseError::fail(error.to_string()))?;
    let mut slow = slow(host.seed);
    let (mut recorder, mut events) = (Recorder::default(), Vec::new());
    let mut now = Time::ZERO;
    for (id, step) in script.into_iter().enumerate() {
        match step {
            Step::Enqueue { flow, bytes, ecn } => {
                let packet = SimplePacket { ecn_capable: ecn, ..SimplePacket::new(flow, bytes).with_id(id as u64) };
                recorder.enqueue(&mut queue, now, packet);
                slow.enqueue(now, packet, &mut events);
            }
            Step::Dequeue => {
                recorder.dequeue(&mut queue, now);
                slow.dequeue(now, &mut events);
            }
            Step::Wait(time) => now += time,
        }
        prop_assert_eq!(&recorder.events, &events);
        let backlog = slow.backlog();
        prop_assert_eq!(queue.packets(), backlog.len());
        prop_assert_eq!(queue.bytes(), backlog.iter().map(|packet| u64::from(packet.bytes)).sum::<u64>());
    }
    recorder.check_counters(&queue);
    Ok(())
}

fn ratio() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![0.003, 0.07, 0.31, 1.0])
}

fn blue_settings() -> impl Strategy<Value = blue::Blue> {
    let switches = any::<(bool, bool, bool)>();
    (room(), ratio(), ratio(), millis(5..300), prop::option::of(room()), switches).prop_map(
        |(limit, increment, decrement, freeze, trigger, (jitter, repeated, ecn))| blue::Blue {
            limit,
            increment,
            decrement,
            freeze,
            jitter,
            trigger,
            repeated,
            ecn,
        },
    )
}

fn blue_config(s: &blue::Blue) -> Result<QdiscParameters, ParameterError> {
    let mut given = vec![
        ("limit", s.limit.text()),
        ("increment", s.increment.to_string()),
        ("decrement", s.decrement.to_string()),
        ("freeze", s.freeze.to_string()),
        ("jitter", s.jitter.to_string()),
        ("idle", if s.repeated { "repeated" } else { "once" }.to_string()),
        ("ecn", s.ecn.to_string()),
    ];
    given.extend(s.trigger.map(|trigger| ("trigger", trigger.text())));
    configure(Kind::Blue, &given)
}

fn rule() -> impl Strategy<Value = sfb::Rule> {
    prop_oneof![
        (ratio(), ratio(), any::<bool>(), prop::option::of(millis(5..300))).prop_map(
            |(increment, decrement, at_departure, freeze)| sfb::Rule::Blue {
                increment,
                decrement,
                at_departure,
                freeze
            }
        ),
        (ratio(), ratio()).prop_map(|(weight, probability)| sfb::Rule::Red { weight, probability }),
    ]
}

fn sfb_settings() -> impl Strategy<Value = sfb::Sfb> {
    let shape = (1_u64..9, 1_u64..9, 0_usize..12, prop::option::of(0_usize..14));
    let hash = (millis(20..100_000), any::<bool>(), millis(1..50_000));
    (room(), shape, rule(), hash, (1_u64..200_000, 1_u64..20_000), any::<(bool, bool)>()).prop_map(
        |(limit, (levels, bins, bin_size, bin_max), rule, (rehash, jitter, warmup), penalty, (ecn, hard))| sfb::Sfb {
            limit,
            levels,
            bins,
            bin_size,
            bin_max,
            rule,
            rehash,
            jitter,
            warmup,
            penalty_rate: penalty.0,
            penalty_burst: penalty.1,
            ecn,
            harddrop: hard && matches!(rule, sfb::Rule::Blue { .. }),
        },
    )
}

fn sfb_config(s: &sfb::Sfb) -> Result<QdiscParameters, ParameterError> {
    let mut given = vec![
        ("limit", s.limit.text()),
        ("levels", s.levels.to_string()),
        ("bins", s.bins.to_string()),
        ("bin_size", format!("{}p", s.bin_size)),
        ("drop_on_over", if s.bin_max.is_some() { "all" } else { "any" }.to_string()),
        ("rehash", s.rehash.to_string()),
        ("jitter", s.jitter.to_string()),
        ("warmup", s.warmup.to_string()),
        ("penalty_rate", format!("{}bit", s.penalty_rate)),
        ("penalty_burst", format!("{}b", s.penalty_burst)),
        ("ecn", s.ecn.to_string()),
    ];
    given.extend(s.bin_max.map(|most| ("bin_max", format!("{most}p"))));
    let kind = match s.rule {
        sfb::Rule::Blue { increment, decrement, at_departure, freeze } => {
            given.push(("increment", increment.to_string()));
            given.push(("decrement", decrement.to_string()));
            given.push(("decrement_at", if at_departure { "departure" } else { "arrival" }.to_string()));
            given.push(("harddrop", s.harddrop.to_string()));
            given.extend(freeze.map(|freeze| ("freeze", freeze.to_string())));
            Kind::Sfb
        }
        sfb::Rule::Red { weight, probability } => {
            given.push(("weight", weight.to_string()));
            given.push(("probability", probability.to_string()));
            Kind::Sfred
        }
    };
    configure(kind, &given)
}

fn sfq_settings() -> impl Strategy<Value = sfq::Sfq> {
    let quantum = prop_oneof![(1_usize..4).prop_map(Room::Packets), (1_u64..4000).prop_map(Room::Bytes)];
    (room(), 1_usize..12, quantum, prop::option::of(millis(10..20_000)), any::<(bool, bool)>()).prop_map(
        |(limit, flows, quantum, perturb, (headdrop, steals))| sfq::Sfq {
            limit,
            flows,
            quantum,
            perturb,
            headdrop,
            steals: steals || matches!(limit, Room::Bytes(_)),
        },
    )
}

fn sfq_config(s: &sfq::Sfq) -> Result<QdiscParameters, ParameterError> {
    let mut given = vec![
        ("limit", s.limit.text()),
        ("flows", s.flows.to_string()),
        ("quantum", s.quantum.text()),
        ("headdrop", s.headdrop.to_string()),
        ("admission", if s.steals { "steal" } else { "ns2" }.to_string()),
    ];
    given.extend(s.perturb.map(|perturb| ("perturb", perturb.to_string())));
    configure(Kind::Sfq, &given)
}

/// Generates the number of queues, and the settings of the RED in each.
fn sfq_red_settings() -> impl Strategy<Value = (usize, reference::Settings)> {
    use reference::Spacing::{Count, None, Wait};
    let spacing = prop::sample::select(vec![None, Count, Wait]);
    let shape = (1_usize..6, 0_u32..15, 0_u32..6, 0_u32..8);
    let weight = prop::sample::select(vec![0.037, 0.31, 0.5, 1.0]);
    (shape, (ratio(), weight), spacing, any::<(bool, bool, bool, bool, bool, bool)>()).prop_map(
        |((flows, limit, min, width), (probability, weight), spacing, switches)| {
            let (in_bytes, gentle, spare, byte_drop, ecn, harddrop) = switches;
            let size = |packets: u32| f64::from(packets) * if in_bytes { 1000.0 } else { 1.0 };
            let red = reference::Settings {
                algorithm: reference::Algorithm::Red,
                limit: size(limit),
                limit_in_bytes: in_bytes,
                min: size(min),
                max: size(min + width),
                in_bytes,
                probability,
                weight,
                filter: 1.0,
                gentle,
                spacing,
                spare,
                byte_drop,
                ecn,
                harddrop,
                compare_above_max: false,
                linux: false,
                replacement: false,
                count_matches: true,
                drop_bit: false,
                slot: Duration::from_millis(8),
            };
            (flows, red)
        },
    )
}

fn sfq_red_config(flows: usize, red: &reference::Settings) -> Result<QdiscParameters, ParameterError> {
    let size = |number: f64| if red.in_bytes { format!("{number}b") } else { format!("{number}p") };
    let spacing = match red.spacing {
        reference::Spacing::None => "none",
        reference::Spacing::Count => "count",
        reference::Spacing::Wait => "wait",
    };
    let given = [
        ("limit", "1mb".to_string()),
        ("flows", flows.to_string()),
        ("queue_limit", size(red.limit)),
        ("queue_min", size(red.min)),
        ("queue_max", size(red.max)),
        ("probability", red.probability.to_string()),
        ("weight", red.weight.to_string()),
        ("gentle", red.gentle.to_string()),
        ("uniformize", spacing.to_string()),
        ("spare", red.spare.to_string()),
        ("byte_drop", red.byte_drop.to_string()),
        ("ecn", red.ecn.to_string()),
        ("harddrop", red.harddrop.to_string()),
    ];
    configure(Kind::SfqRed, &given)
}

/// Turns an error into a failure of the test.
fn built(config: Result<QdiscParameters, ParameterError>) -> Result<QdiscParameters, TestCaseError> {
    config.map_err(|error| TestCaseError::fail(error.to_string()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch a change of the probability that comes too early, too late, too often or not at all.
    #[test]
    fn blue_decides_as_the_reference(s in blue_settings(), script in prop::collection::vec(step(), 0..600), number in any::<u64>()) {
        compare(&built(blue_config(&s))?, |seed| Box::new(blue::SlowBlue::new(s, seed)), script, number)?;
    }

    /// Would catch a bin that is not the flow's, a count that differs from the queued packets, an update too many or
    /// too few, a wrong order of the tests, a hash that moves at another time, and packets that leave bins which they
    /// did not enter.
    #[test]
    fn bins_decide_as_the_reference(s in sfb_settings(), script in prop::collection::vec(step(), 0..400), number in any::<u64>()) {
        compare(&built(sfb_config(&s))?, |seed| Box::new(sfb::SlowSfb::new(s, seed)), script, number)?;
    }

    /// Would catch a turn that is lost or doubled, an allotment that is lost, a drop from another queue than the
    /// longest, a packet that the moving hash loses or reorders, and a limit of ns-2's rule that is off by one packet.
    #[test]
    fn sfq_decides_as_the_reference(s in sfq_settings(), script in prop::collection::vec(step(), 0..500), number in any::<u64>()) {
        compare(&built(sfq_config(&s))?, |seed| Box::new(sfq::SlowSfq::new(s, seed)), script, number)?;
    }

    /// Would catch an average that depends on another queue, an idle time that begins late, and a turn out of order.
    #[test]
    fn sfq_with_red_decides_as_the_reference((flows, red) in sfq_red_settings(), script in prop::collection::vec(step(), 0..500), number in any::<u64>()) {
        compare(&built(sfq_red_config(flows, &red))?, |seed| Box::new(sfq::SlowSfqRed::new(flows, red, seed)), script, number)?;
    }
}
