//! The options of `fairlane compare`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_console::values::shaper;
use fairlane_scenario::ShaperKind;

use super::shared::{
    Disciplines, FigureFiles, Form, Overrides, PageFile, SeriesFile, ShownQueue, ShownTables, TablesFolder, Threads,
    disciplines, runs,
};

/// Compare queue disciplines under the same traffic
///
/// Without FILE it runs Figure 3 of the CHOKe paper (Pan, Prabhakar, Psounis 2000: 32 TCP flows and one UDP flow of
/// twice the link's rate) and prints the paper's numbers next to Fairlane's.
///
/// All disciplines see the same traffic: each flow has its own random stream. Numbers after ± or in brackets are
/// 95 % confidence intervals.
#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input; without it, Figure 3 of the CHOKe
    /// paper
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,

    /// Disciplines to compare, or "all" [default: droptail, red and those of the file]
    ///
    /// Each discipline replaces the bottleneck's queue and keeps the parameters that both have. In a
    /// scenario with a topology of links it replaces every link queue that the file describes; links that have the
    /// plain default queue (droptail, 1000 packets) keep it.
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// Shapers to compare, "fixed" or "autorate", with the parameters of the file, and with its queue unless --queue
    /// names others
    #[arg(long, value_name = "SHAPER", value_delimiter = ',', value_parser = shaper)]
    pub(crate) shaper: Vec<ShaperKind>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of each discipline, each with its own random numbers
    #[arg(long, value_name = "N", default_value = "5", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) shown: ShownQueue,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) tables: ShownTables,

    #[command(flatten)]
    pub(crate) folder: TablesFolder,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) figures: FigureFiles,

    #[command(flatten)]
    pub(crate) series: SeriesFile,
}
