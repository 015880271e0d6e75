//! CHOKe under overload: the more a flow sends, the more often it is compared with itself.

use std::path::Path;

use fairlane_outcome::Outcome;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_all};

/// Runs `scenarios/NAME.toml` five times with changed `settings` (key, value).
fn measure(name: &str, settings: &[(&str, &str)]) -> Outcome {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let mut document = Document::load(&file).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in settings {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    let runs = run_all(&[scenario], 5, &Control::default()).expect("it runs");
    let outcomes = runs.into_iter().filter_map(Outcome::from_runs);
    outcomes.last().expect("runs of one scenario")
}

fn protects(scenario: &str, link_bps: f64, group: &str, rate: &str, settings: &[(&str, &str)]) {
    let key = format!("flows.{group}.rate");
    let mut all = vec![(key.as_str(), rate)];
    all.extend(settings);
    let outcome = measure(scenario, &all);
    let part = outcome.group(group).expect("the group exists").throughput_bps.mean / link_bps;
    assert!(part <= 0.05, "the flood of {rate} has {part} of the link");
    let used = outcome.queues[0].utilisation.mean;
    assert!(used >= 0.98, "{used} of the link is used at {rate}");
    let queue = outcome.queues[0].group(group).expect("the group exists");
    let dropped = queue.drop_ratio.mean;
    let passed = queue.departed.mean / queue.arrived.mean;
    // Arrivals and departures differ by at most the 300 packets in the queue.
    assert!((dropped + passed - 1.0).abs() <= 300.0 / queue.arrived.mean, "{dropped} dropped, {passed} passed");
}

/// A link with a full queue is busy all the time, also in 1.002 s, in which 125 and a quarter packets are sent. Would
/// catch packets that cross an end of the window and count as a whole or not at all.
#[test]
fn a_busy_link_is_used_to_one() {
    for (warmup, duration) in [("10001ms", "11003ms"), ("10s", "11s"), ("10003ms", "10006ms")] {
        let settings = [("bottleneck.queue.kind", "droptail"), ("duration", duration), ("warmup", warmup)];
        let used = measure("choke-fig3", &settings).queues[0].utilisation;
        assert!((used.mean - 1.0).abs() < 1e-9 && used.ci95().is_some_and(|half| half < 1e-9), "{used:?}");
    }
}

/// With the link and the thresholds of figure 3 of the CHOKe paper (Pan, Prabhakar and Psounis, INFOCOM 2000). Would
/// catch a flood that gets more than 5 % of the link, and drops that leave the link idle.
#[test]
fn protects_at_ten_forty_and_a_hundred_times_the_link() {
    for rate in ["10mbit", "40mbit", "100mbit"] {
        protects("choke-fig3", 1e6, "cbr", rate, &[("access.rate", "1gbit")]);
    }
}

/// The same on a faster link, with present-day TCP.
#[test]
fn protects_today() {
    for rate in ["100mbit", "400mbit", "1gbit"] {
        protects("overload", 1e7, "flood", rate, &[("duration", "15s")]);
    }
}
