//! The options of `fairlane scenarios`.

use clap::Args;

use super::shared::Form;

/// List the scenarios that are built in, or print one
///
/// A built-in name works wherever a scenario file does: fairlane run choke-fig5. A file of the same name takes
/// precedence. To change a scenario: fairlane scenarios choke-fig5 > mine.toml
#[derive(Debug, Args)]
pub(crate) struct ScenariosArgs {
    /// The scenario to print
    pub(crate) name: Option<String>,

    #[command(flatten)]
    pub(crate) form: Form,
}
