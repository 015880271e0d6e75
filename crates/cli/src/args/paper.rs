//! The options of `fairlane paper`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::shared::{Form, Threads};

/// Run the claims of the papers, and judge them
///
/// Example: fairlane paper run choke-fig3
///
/// Every figure, table and number of five papers is a claim: the paper's statement, an experiment, and the range asked
/// of each of its numbers. A claim is met if each mean lies in its range and its 95 % interval is narrow enough; it is
/// not decided if one is wider.
#[derive(Debug, Args)]
pub(crate) struct PaperArgs {
    #[command(subcommand)]
    pub(crate) verb: PaperVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PaperVerb {
    List(PaperListArgs),
    Show(PaperShowArgs),
    Run(PaperRunArgs),
}

/// List all claims, with the result of the last full run
///
/// The list is in the order of papers.
#[derive(Debug, Args)]
pub(crate) struct PaperListArgs {
    #[command(flatten)]
    pub(crate) form: Form,
}

/// Show a claim
///
/// The output has the paper's statement, the experiment, and the reasons for differences.
#[derive(Debug, Args)]
pub(crate) struct PaperShowArgs {
    /// The claim's name, as in `fairlane paper list`, or a file of claims
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Run claims' experiments and judge them
///
/// The exit code is 0 if every claim is met, 1 if one falls short, and 3 if none does but one needs more runs (--runs).
/// Finished runs are kept until all are: after an interruption, the same command continues.
#[derive(Debug, Args)]
pub(crate) struct PaperRunArgs {
    /// Claims, papers, or "all"; or files of claims of one's own, NAME.toml
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// Run the short forms: fewer points, fewer and shorter runs
    #[arg(long)]
    pub(crate) short: bool,

    /// Runs of each point, each with its own random numbers [default: those of each experiment]
    #[arg(long, value_name = "N", value_parser = super::shared::runs)]
    pub(crate) runs: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) threads: Threads,

    /// Write a page with all figures, numbers and remarks
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,

    /// Write a page of Markdown for each paper into a folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) docs: Option<PathBuf>,

    /// The folder of finished runs until all are finished [default: the user's cache folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) form: Form,
}
