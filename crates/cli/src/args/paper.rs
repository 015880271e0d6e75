//! What can be typed after `fairlane paper`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{Form, Threads};

/// Run what the papers claim, and judge it
///
/// Example: fairlane paper run choke-fig3
///
/// Every figure, table and number of five papers is a claim: what the paper says, the experiment that shows it, and what is asked
/// of our numbers. A claim is met when each of its numbers, or its 95 % interval, reaches into what is asked.
#[derive(Debug, Args)]
pub(crate) struct Paper {
    #[command(subcommand)]
    pub(crate) verb: PaperVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PaperVerb {
    List(PaperList),
    Show(PaperShow),
    Run(PaperRun),
}

/// List all claims, paper by paper, with how each stood at the last full run
#[derive(Debug, Args)]
pub(crate) struct PaperList {
    #[command(flatten)]
    pub(crate) form: Form,
}

/// Show a claim: what the paper says, how it is tested, and what explains the differences
#[derive(Debug, Args)]
pub(crate) struct PaperShow {
    /// The claim, as `fairlane paper list` has it
    pub(crate) id: String,

    #[command(flatten)]
    pub(crate) form: Form,
}

/// Run claims' experiments and judge them
///
/// Exit code 0 says that nothing fell short, 1 that something did. What is done is kept until all is: when it is interrupted, the
/// same command goes on where it was.
#[derive(Debug, Args)]
pub(crate) struct PaperRun {
    /// Claims, papers, or "all"
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<String>,

    /// Run the short forms: fewer points, fewer and shorter runs
    #[arg(long)]
    pub(crate) short: bool,

    /// Runs of each point, each with randomness of its own [default: what each experiment says]
    #[arg(long, value_name = "N", value_parser = super::runs)]
    pub(crate) runs: Option<NonZeroU32>,

    #[command(flatten)]
    pub(crate) threads: Threads,

    /// Write a page with everything: figures, numbers, remarks
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,

    /// Write a page of Markdown for each paper into a folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) docs: Option<PathBuf>,

    /// Where what is done is kept until all is [default: the user's cache folder]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) state: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) form: Form,
}
