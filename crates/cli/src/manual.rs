//! Documents that are generated from the definition of the command line.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;
use fairlane_console::Failure;

use crate::args::Cli;
use crate::{files, output};

/// Prints the completion script for `shell`.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "fairlane", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}

/// Writes a manual page for the program, for each verb and for `aqmrun` into `folder`.
pub(crate) fn man(folder: &Path) -> Result<(), Failure> {
    files::folder(folder)?;
    let write = |command| clap_mangen::generate_to(command, folder).map_err(|error| Failure::write(folder, &error));
    write(Cli::command())?;
    #[cfg(feature = "router")]
    write(fairlane_daemon::AqmrunArgs::command())?;
    Ok(())
}
