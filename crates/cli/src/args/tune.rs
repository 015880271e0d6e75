//! The options of `fairlane tune`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_console::values::kind;
use fairlane_qdisc::Kind;

use super::shared::{Form, Overrides, Threads, runs};

/// Find a discipline's parameters for a scenario and a goal
///
/// Example: fairlane tune choke-fig3 --queue red --goal 'utilisation>0.9, minimise delay.p95'
///
/// The search covers the numeric parameters, by Latin hypercubes and successive halving, with the same traffic for all
/// candidates. The winner is checked on seeds that the search has not seen: if it is not better there, the defaults are
/// the answer.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The discipline; it replaces the queues that a comparison replaces
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub(crate) queue: Kind,

    /// Bounds and an objective, such as 'delay.p95<20ms, maximise utilisation'
    #[arg(long)]
    pub(crate) goal: String,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of the best candidates, and of the comparison on a held-out seed
    #[arg(long, value_name = "N", default_value = "8", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    /// Runs of all candidates together, at most
    #[arg(long, value_name = "N", default_value = "400", value_parser = budget)]
    pub(crate) budget: u32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,
}

const MOST_BUDGET: u32 = 10_000_000;

fn budget(text: &str) -> Result<u32, String> {
    let fits = |number: &u32| (1..=MOST_BUDGET).contains(number);
    text.parse().ok().filter(fits).ok_or_else(|| format!("write a number of runs from 1 to {MOST_BUDGET}"))
}
