//! What all experiments need.

use std::path::Path;

use fairlane_outcome::{Estimate, Outcome, Reason};
use fairlane_scenario::Document;
use fairlane_sim::{Control, run_all};

/// Runs `scenarios/NAME.toml` with `settings` (key, value) put over it.
pub(crate) fn measure(name: &str, settings: &[(&str, &str)]) -> Outcome {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let mut document = Document::load(&file).unwrap_or_else(|error| panic!("{error}"));
    let full = std::env::var_os("FAIRLANE_FULL").is_some();
    let longer: &[(&str, &str)] = if full { &[("duration", "500s")] } else { &[] };
    for (key, value) in longer.iter().chain(settings) {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    let runs = run_all(&[scenario], if full { 20 } else { 5 }, &Control::default()).expect("it runs");
    let outcome = Outcome::from_runs(&runs[0]).expect("runs of one scenario");
    println!("{name} {settings:?}");
    for queue in &outcome.queues {
        let mean = queue.mean_packets.mean;
        println!(
            "  {:<10} {:<14} mean {mean:6.1} packets, link busy {:.4}",
            queue.name, queue.kind, queue.utilisation.mean
        );
        for group in &queue.groups {
            println!(
                "    {:<10} {:7.1} ± {:4.1} kbit/s, {:5.2} % dropped, {:.3} of the queue",
                group.name,
                group.throughput_bps.mean / 1e3,
                half_width(group.throughput_bps) / 1e3,
                100.0 * group.drop_ratio.mean,
                group.queue_share.mean
            );
        }
    }
    outcome
}

/// The half width of the 95 % interval.
fn half_width(estimate: Estimate) -> f64 {
    estimate.ci95().unwrap_or(0.0)
}

/// Asserts that `estimate`, times `scale`, reaches into the band.
#[track_caller]
pub(crate) fn within(what: &str, estimate: Estimate, scale: f64, band: std::ops::RangeInclusive<f64>) {
    let (mean, half) = (scale * estimate.mean, scale * half_width(estimate));
    let reaches = mean + half >= *band.start() && mean - half <= *band.end();
    println!("  {what}: {mean:.3} ± {half:.3}, to be in {band:?}");
    assert!(reaches, "{what}: {mean:.3} ± {half:.3} is not in {band:?}");
}

/// Throughput of a group at the bottleneck's exit in kbit/s.
pub(crate) fn kbits(outcome: &Outcome, group: &str) -> f64 {
    throughput(outcome, group).mean / 1e3
}

/// Throughput of a group at the bottleneck's exit.
pub(crate) fn throughput(outcome: &Outcome, group: &str) -> Estimate {
    outcome.group(group).expect("a group of the scenario").throughput_bps
}

/// What a group had dropped at the bottleneck, of what it sent there.
pub(crate) fn drop_ratio(outcome: &Outcome, group: &str) -> Estimate {
    outcome.queues[0].group(group).expect("a group of the scenario").drop_ratio
}

/// A group's part of the bottleneck's queue.
pub(crate) fn queue_share(outcome: &Outcome, group: &str) -> Estimate {
    outcome.queues[0].group(group).expect("a group of the scenario").queue_share
}

/// Of what a group had dropped at the bottleneck, the part dropped for `reasons`.
pub(crate) fn part_dropped_for(outcome: &Outcome, group: &str, reasons: &[Reason]) -> f64 {
    let dropped = &outcome.queues[0].group(group).expect("a group of the scenario").dropped;
    reasons.iter().map(|reason| dropped.get(*reason).mean).sum::<f64>() / dropped.total()
}
