//! The options of `fairlane sweep`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;

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
    pub(crate) table: Option<PathBuf>,

    /// Run one of N parts of the points, into its own file next to --out: for jobs on several machines
    ///
    /// Each job of an array runs the same command with its own part, 1/N to N/N. A part that was interrupted goes on.
    /// Then the same command with --merge in place of --part writes --out.
    #[arg(long, value_name = "I/N", requires = "table", conflicts_with_all = ["merge", "html", "svg", "pdf"])]
    pub(crate) part: Option<Part>,

    /// Join the parts of --part, which must all be there, into --out
    #[arg(long, requires = "table")]
    pub(crate) merge: bool,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) figures: FigureFiles,
}

/// One of several parts of a sweep: every N-th point, so that all parts take about as long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its number, from 1.
    pub(crate) number: usize,
    /// The number of parts.
    pub(crate) of: usize,
}

impl Part {
    /// Returns true if the point with this number, from 0, belongs to it.
    pub(crate) const fn has(self, point: usize) -> bool {
        point % self.of + 1 == self.number
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = text.split_once('/').and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        match read {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { number, of }),
            _ => Err("write the part and the number of parts, from 1/8 to 8/8".to_owned()),
        }
    }
}
