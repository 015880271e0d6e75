//! The options of `fairlane init`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Write a first scenario file, with a comment on each key
///
/// The file is a built-in scenario with comments, ready to run. Existing files are not overwritten.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The file
    #[arg(default_value = "scenario.toml", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The scenario to begin with, a name of `fairlane scenarios`
    #[arg(long, value_name = "NAME", default_value = "choke-fig3")]
    pub(crate) from: String,
}
