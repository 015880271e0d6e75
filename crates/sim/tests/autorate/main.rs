//! What autorate is for: on links that vary as LTE does, the queue is at most a third as long as behind a fixed shaper, at no less
//! than 90 % of its goodput.
//!
//! `cargo test --release -p fairlane-sim --test autorate -- --ignored --nocapture` runs more traces and prints a table.

mod trace;

use std::path::{Path, PathBuf};

use fairlane_autorate::Law;
use fairlane_outcome::Run;
use fairlane_qdisc::Rate;
use fairlane_scenario::{Document, Scenario, ShaperKind};
use fairlane_sim::{Control, run};

use trace::{Chain, csv, mean};

/// The chain of `scenarios/autorate.csv`, whose seed is 1.
const CHAIN: Chain = Chain { dwell_s: 1.0, jumps: false };

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

/// Reads the scenario, with the trace beside `place`.
fn scenario(place: &Path) -> Scenario {
    let file = place.join("autorate.toml");
    Document::load(file).and_then(|document| document.scenario()).unwrap_or_else(|error| panic!("{error}"))
}

/// How the shaper is controlled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shaping {
    /// At this part of the scenario's rate.
    Fixed(f64),
    Autorate(Law),
}

/// The 95th percentile of the delay in milliseconds, and the goodput in Mbit/s.
#[derive(Clone, Copy, Debug)]
struct Measured {
    p95: f64,
    goodput: f64,
}

fn measure(scenario: &Scenario, shaping: Shaping, number: u32) -> Measured {
    let mut scenario = scenario.clone();
    let shaper = scenario.links[0].forward.wire.shaper.as_mut().expect("the scenario has a shaper");
    match shaping {
        Shaping::Fixed(part) => {
            shaper.kind = ShaperKind::Fixed;
            shaper.rate = Rate::from_bits_per_second((shaper.rate.bits_per_second() as f64 * part) as u64);
        }
        Shaping::Autorate(law) => {
            shaper.kind = ShaperKind::Autorate;
            shaper.autorate.law = law;
        }
    }
    of(&run(&scenario, number, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}")))
}

fn of(run: &Run) -> Measured {
    let bytes: u64 = run.flows.iter().map(|flow| flow.unique_bytes).sum();
    let goodput = bytes as f64 * 8e-6 / (run.to_s - run.from_s);
    Measured { p95: run.queues[0].delay_ns.value_at_quantile(0.95) as f64 / 1e6, goodput }
}

/// Would catch a trace that was drawn again until it suited, and a fixed rate that is not the trace's mean.
#[test]
fn the_trace_is_that_of_its_law() {
    let steps = CHAIN.steps(1);
    let file = folder().join("autorate.csv");
    if std::env::var_os("UPDATE_TRACE").is_some() {
        std::fs::write(&file, csv(&steps)).expect("the trace can be written");
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == csv(&steps), "{} is another trace; UPDATE_TRACE=1 writes that of the law", file.display());
    let side = scenario(&folder()).links.remove(0).forward;
    let shaper = side.wire.shaper.expect("the scenario has a shaper");
    assert!((shaper.rate.bits_per_second() as f64 / mean(&steps) - 1.0).abs() < 0.01, "{}", mean(&steps));
}

/// The claim, for both laws. Would catch a controller that lets the modem's queue grow, or that keeps it empty by using little of the
/// link.
#[test]
fn the_queue_is_a_third_at_nine_tenths_of_the_goodput() {
    let scenario = scenario(&folder());
    let fixed = measure(&scenario, Shaping::Fixed(1.0), 0);
    for law in Law::ALL {
        let autorate = measure(&scenario, Shaping::Autorate(law), 0);
        assert!(autorate.p95 <= fixed.p95 / 3.0, "{law:?}: {autorate:?} {fixed:?}");
        assert!(autorate.goodput >= 0.9 * fixed.goodput, "{law:?}: {autorate:?} {fixed:?}");
    }
}

/// The chains of the long form.
const CHAINS: [(&str, Chain); 5] = [
    ("neighbours, 0.3 s", Chain { dwell_s: 0.3, jumps: false }),
    ("neighbours, 1 s", CHAIN),
    ("neighbours, 3 s", Chain { dwell_s: 3.0, jumps: false }),
    ("any level, 1 s", Chain { dwell_s: 1.0, jumps: true }),
    ("any level, 3 s", Chain { dwell_s: 3.0, jumps: true }),
];

/// The claim with other traces and seeds. Autorate falls short where the rate jumps to any level about once a second, which is
/// faster than its feedback: there only the goodput is asserted.
#[test]
#[ignore = "takes a minute in a release build: cargo test --release -p fairlane-sim --test autorate -- --ignored --nocapture"]
fn other_traces_and_seeds() {
    println!("| trace | seed | shaper | p95 (ms) | goodput (Mbit/s) |\n|---|---|---|---|---|");
    let place = tempfile::tempdir().expect("a folder");
    let text = std::fs::read_to_string(folder().join("autorate.toml")).expect("the scenario");
    for (name, chain) in CHAINS {
        for seed in 1..=5 {
            let steps = chain.steps(seed);
            std::fs::write(place.path().join("autorate.csv"), csv(&steps)).expect("a trace");
            std::fs::write(place.path().join("autorate.toml"), &text).expect("a scenario");
            let mut scenario = scenario(place.path());
            let mean = Rate::from_bits_per_second(mean(&steps) as u64);
            let shaper = scenario.links[0].forward.wire.shaper.as_mut().expect("the scenario has a shaper");
            (shaper.rate, shaper.autorate.base) = (mean, mean);
            let all = [
                Shaping::Fixed(0.5),
                Shaping::Fixed(0.8),
                Shaping::Fixed(1.0),
                Shaping::Autorate(Law::Steps),
                Shaping::Autorate(Law::Follow),
            ];
            let measured = all.map(|shaping| (shaping, measure(&scenario, shaping, seed as u32)));
            for (shaping, Measured { p95, goodput }) in measured {
                println!("| {name} | {seed} | {shaping:?} | {p95:.0} | {goodput:.2} |");
            }
            let [_, _, (_, fixed), _, (_, autorate)] = measured;
            assert!(autorate.goodput >= 0.9 * fixed.goodput, "{name}, seed {seed}");
            assert!(chain.jumps && chain.dwell_s < 3.0 || autorate.p95 <= fixed.p95 / 3.0, "{name}, seed {seed}");
        }
    }
}
