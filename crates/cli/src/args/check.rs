//! The options of `fairlane check`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::Overrides;

/// Check and describe a scenario, without running it
///
/// The exit code is 0 if it can be run, and 2 if not; each mistake is named with its line and its key.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    #[command(flatten)]
    pub(crate) overrides: Overrides,
}
