//! Documents that come from the definition of the command line.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::{Aqmrun, Cli};
use crate::error::Failure;
use crate::output;

/// Prints the completion script for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fairlane", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program, for each verb and for `aqmrun` into `folder`.
pub(crate) fn man(folder: &Path) -> Result<(), Failure> {
    output::folder(folder)?;
    let written = [Cli::command(), Aqmrun::command()].map(|command| clap_mangen::generate_to(command, folder));
    written.into_iter().collect::<Result<(), _>>().map_err(|error| Failure::write(folder, &error))
}
