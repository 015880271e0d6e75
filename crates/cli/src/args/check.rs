//! The options of `fairlane check` and `fairlane scenarios`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{Form, Overrides};

/// Check a scenario and show what it describes, without running it
///
/// The exit code is 0 if it can be run, and 2 if not; an error names the line.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) overrides: Overrides,
}

/// List the scenarios that are built in, or print one
///
/// Their names work wherever a scenario file does: fairlane run choke-fig5. A file of the same name goes first. To change one:
/// fairlane scenarios choke-fig5 > mine.toml
#[derive(Debug, Args)]
pub(crate) struct ScenariosArgs {
    /// The scenario to print
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) form: Form,
}
