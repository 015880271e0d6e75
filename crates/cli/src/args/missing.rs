//! The arguments of commands that this build does not have.

use clap::Args;

/// The arguments of a verb that this build does not have.
#[derive(Debug, Args)]
pub(crate) struct MissingVerb {
    /// Any arguments: the verb is not in this build
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    arguments: Vec<String>,
}
