//! The options of `fairlane man`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Write the manual pages of fairlane and aqmrun into a folder
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// The folder; it is created if it does not exist
    #[arg(value_hint = ValueHint::DirPath)]
    pub(crate) dir: PathBuf,
}
