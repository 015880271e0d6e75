//! Helpers for all experiments.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

use crate::queue_log::QueueLog;

/// Losses of TCP flows are random: each assertion holds for all of these seeds, or for their mean.
pub(crate) const SEEDS: [u32; 3] = [1, 2, 3];

/// Returns `document` with another seed.
pub(crate) fn seeded(mut document: Document, seed: u32) -> Document {
    document.set("seed", &seed.to_string()).unwrap_or_else(|error| panic!("{error}"));
    document
}

/// Returns the mean of `values`.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs `document` and logs the events at its bottleneck.
pub(crate) fn simulate(document: &Document) -> (Run, QueueLog) {
    let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    let mut queue_log = QueueLog::of(&scenario);
    let run = run(&scenario, 0, &Control::default(), &mut queue_log).expect("it runs");
    (run, queue_log)
}

/// Parses `text`.
pub(crate) fn document(text: &str) -> Document {
    Document::parse("shares.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the built-in scenario, figure 3 of the CHOKe paper (32 TCP flows, and a flood of twice the link's 1 Mbit/s),
/// with a queue of `kind` and changed `settings` (key, value).
pub(crate) fn figure_3(kind: &str, settings: &[(&str, &str)]) -> Document {
    let mut document = Document::builtin();
    let kind = ("bottleneck.queue.kind", kind);
    for (key, value) in [kind].iter().chain(settings) {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document
}

/// Returns the rate in kbit/s that left the bottleneck, by flow.
pub(crate) fn rates(run: &Run) -> Vec<f64> {
    let seconds = run.to_s - run.from_s;
    run.queues[0].flows.iter().map(|flow| 8e-3 * flow.departed_bytes as f64 / seconds).collect()
}

/// Returns the smallest and the largest value.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}
