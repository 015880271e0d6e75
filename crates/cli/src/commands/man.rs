//! `fairlane man`: the manual pages, from the definition of the command line.

use clap::CommandFactory;
use fairlane_console::Failure;
use fairlane_runner::files;

use crate::args::Cli;
use crate::args::man::ManArgs;

/// Writes a manual page for the program, for each verb and for `aqmrun` into a folder.
pub(crate) fn execute(args: &ManArgs) -> Result<(), Failure> {
    let folder = &args.dir;
    files::folder(folder)?;
    let write = |command| clap_mangen::generate_to(command, folder).map_err(|error| Failure::write(folder, &error));
    write(Cli::command())?;
    #[cfg(feature = "router")]
    write(fairlane_daemon::AqmrunArgs::command())?;
    Ok(())
}
