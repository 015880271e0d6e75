//! The options of `fairlane sweep`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::{FigureFiles, Form, Overrides, PageFile, ShownQueue, ShownTables, Threads, runs};

/// Run a scenario at every combination of the values given
///
/// Example: fairlane sweep a.toml --vary flows.cbr.rate=100kbit..10mbit/9log --vary bottleneck.queue.kind=red,choke
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// A key and its values: a,b,c or a..b/N (N evenly spaced) or a..b/Nlog (evenly spaced ratios)
    ///
    /// Repeatable: all combinations are run, the last one varying fastest.
    #[arg(long, value_name = "KEY=VALUES", required = true)]
    pub(crate) vary: Vec<String>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of each point, each with its own random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) shown: ShownQueue,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) tables: ShownTables,

    /// Also write one row for each point, group and queue shown to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) figures: FigureFiles,
}
