//! What all experiments need.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, run};

use crate::books::Books;

/// Chance decides what a TCP loses: each claim holds for all of these seeds, or for their mean.
pub(crate) const SEEDS: [u32; 3] = [1, 2, 3];

/// `document` with another seed.
pub(crate) fn seeded(mut document: Document, seed: u32) -> Document {
    document.set("seed", &seed.to_string()).unwrap_or_else(|error| panic!("{error}"));
    document
}

/// The mean of `values`.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Runs `document` and keeps books of its bottleneck.
pub(crate) fn simulate(document: &Document) -> (Run, Books) {
    let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    let mut books = Books::of(&scenario);
    let run = run(&scenario, 0, &Control::default(), &mut books).expect("it runs");
    (run, books)
}

/// What `text` says.
pub(crate) fn document(text: &str) -> Document {
    Document::parse("shares.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

/// The built-in Figure 3 of the CHOKe paper, 32 TCP flows and then a flood of twice the link of 1 Mbit/s, with a queue of
/// `kind` and `settings` (key, value) put over it.
pub(crate) fn figure_3(kind: &str, settings: &[(&str, &str)]) -> Document {
    let mut document = Document::builtin();
    let kind = ("bottleneck.queue.kind", kind);
    for (key, value) in [kind].iter().chain(settings) {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document
}

/// Kbit/s that left the bottleneck, by flow.
pub(crate) fn rates(run: &Run) -> Vec<f64> {
    let seconds = run.to_s - run.from_s;
    run.queues[0].flows.iter().map(|flow| 8e-3 * flow.departed_bytes as f64 / seconds).collect()
}

/// The least and the largest.
pub(crate) fn extremes(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}
