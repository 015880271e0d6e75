//! The options of `fairlane qdiscs`.

use clap::Args;

use super::shared::{Disciplines, Form, disciplines};

/// List the disciplines, or show some in full
///
/// The full form has the sources and the parameters of a discipline.
#[derive(Debug, Args)]
pub(crate) struct QdiscsArgs {
    /// Disciplines to show in full, or "all"
    #[arg(value_name = "KIND", value_parser = disciplines)]
    pub(crate) kinds: Vec<Disciplines>,

    #[command(flatten)]
    pub(crate) form: Form,
}
