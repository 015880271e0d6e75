//! Compares every decision of BARE with its slow reference, under random scripts.

#[path = "reference/bare.rs"]
mod reference;

use fairlane_qdisc::testing::Recorder;
use fairlane_qdisc::{Duration, Host, Kind, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Time};
use proptest::prelude::*;
use reference::{Reference, Settings};

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue { host: u32, bytes: u32 },
    Dequeue,
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => (prop_oneof![3 => 0_u32..2, 2 => 0_u32..9, 1 => 0_u32..60], prop::sample::select(vec![0_u32, 40, 576, 1000, 1500, 9000]))
            .prop_map(|(host, bytes)| Step::Enqueue { host, bytes }),
        6 => Just(Step::Dequeue),
        3 => (1_u64..3_000_000).prop_map(Step::Wait),
        // Up to a day.
        1 => (0_u64..86_400_000_000_000).prop_map(Step::Wait),
        1 => (0_u64..900_000_000).prop_map(Step::Wait),
    ]
}

/// Generates a configuration and the same as settings of the reference.
fn setup() -> impl Strategy<Value = (Vec<(&'static str, String)>, Settings)> {
    let queue = (any::<bool>(), 0_u64..90, 1_u64..60, 0_u64..60);
    let threshold = (3000_u64..12_000, 500_u64..9000, 1_u32..9, 0_u32..9, 1_u32..24);
    let law = (0.01_f64..8.0, 0.0_f64..4.0, 0.0_f64..6.0, 1.0_f64..3.0, 0.002_f64..1.0);
    let times = (1_u64..400, 1_u64..900, any::<bool>(), 1_u64..40, prop::option::of(0.001_f64..1.0));
    (queue, threshold, law, times).prop_map(
        |((in_packets, limit, target, fair_drop), (hi, lo, n1, more, flows), law, times)| {
            let (beta_min, up, further, a, w_q) = law;
            let (k, timeout, weighted, mbit, queue_weight) = times;
            let (beta, beta_max) = (beta_min + up, beta_min + up + further);
            let settings = Settings {
                maxq: if in_packets { u64::MAX } else { 1000 * limit },
                maxq_packets: if in_packets { limit as usize } else { usize::MAX },
                fdth: 1000 * fair_drop,
                maxtargetq: 1000.0 * target as f64,
                maxnflow: flows as usize,
                hi: hi as f64,
                lo: lo as f64,
                n1: f64::from(n1),
                n2: f64::from(n1 + more),
                a,
                w_q,
                beta: [beta, beta_min, beta_max],
                k: Duration::from_millis(k),
                queue_weight,
                timeout: Duration::from_millis(timeout),
                bw: 125_000.0 * mbit as f64,
                weighted,
            };
            let mut given = vec![
                ("limit", format!("{limit}{}", if in_packets { "p" } else { "kb" })),
                // In packets of 1000 bytes, or in bytes.
                ("target", format!("{target}{}", if weighted { "p" } else { "kb" })),
                ("fair_drop", format!("{fair_drop}kb")),
                ("hi", format!("{hi}b")),
                ("lo", format!("{lo}b")),
                ("n1", n1.to_string()),
                ("n2", (n1 + more).to_string()),
                ("flows", flows.to_string()),
                ("beta", beta.to_string()),
                ("beta_min", beta_min.to_string()),
                ("beta_max", beta_max.to_string()),
                ("increase", a.to_string()),
                ("weight", w_q.to_string()),
                ("k", format!("{k}ms")),
                ("timeout", format!("{timeout}ms")),
                ("weighted", weighted.to_string()),
                ("bandwidth", format!("{mbit}mbit")),
            ];
            given.extend(queue_weight.map(|weight| ("queue_weight", weight.to_string())));
            (given, settings)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, failure_persistence: None, ..ProptestConfig::default() })]

    /// Would catch any decision that differs from the listing: another order of its tests, a state that is created,
    /// reused or forgotten at another time, an exponent that changes otherwise, wrong shares, and a packet lost or
    /// counted twice.
    #[test]
    fn decides_as_the_listing((given, settings) in setup(), script in prop::collection::vec(step(), 0..900), number: u64) {
        let mut config = QdiscParameters::new(Kind::Bare);
        for (key, text) in given {
            config.set(key, text.as_str().into()).map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
        let host = Host { rate: Rate::from_bits_per_second(1_000_000), seed: Seed::new(number) };
        let mut queue = config.build(&host).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut slow = Reference::new(settings, host.seed);
        let mut recorder = Recorder::default();
        let mut now = Time::ZERO;
        for (id, step) in script.into_iter().enumerate() {
            match step {
                Step::Enqueue { host, bytes } => {
                    // Sixty pairs of few hosts; the flow's key must not matter.
                    let packet = SimplePacket::new(id as u64 % 3, bytes).with_id(id as u64);
                    let packet = packet.with_hosts(host % 8, host / 8).with_class((host * 67) as u8);
                    recorder.enqueue(&mut queue, now, packet);
                    slow.enqueue(now, packet);
                }
                Step::Dequeue => {
                    recorder.dequeue(&mut queue, now);
                    slow.dequeue();
                }
                Step::Wait(nanos) => now += Duration::from_nanos(nanos),
            }
            prop_assert_eq!(&recorder.events, &slow.events);
            prop_assert_eq!(queue.packets(), slow.packets());
            prop_assert_eq!(queue.bytes(), slow.bytes());
            let average = queue.average().unwrap_or(f64::NAN);
            prop_assert!((average - slow.avgq).abs() <= 1e-9 * slow.avgq.abs(), "{} {}", average, slow.avgq);
        }
        recorder.check_counters(&queue);
    }
}
