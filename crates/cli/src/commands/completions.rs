//! `fairlane completions`: a completion script, from the definition of the command line.

use clap::CommandFactory;
use fairlane_console::Failure;

use crate::args::Cli;
use crate::args::completions::CompletionsArgs;
use crate::output;

/// Prints the completion script for a shell.
pub(crate) fn execute(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "fairlane", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
