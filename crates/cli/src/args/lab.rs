//! The options of `fairlane lab`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::shared::{
    Disciplines, Form, GuestChoice, Overrides, PageFile, SeriesFile, ShownTables, TablesFolder, disciplines, runs,
};

/// Run a scenario on real Linux TCP
///
/// The lab makes network namespaces and removes them at the end; it needs Linux, and root only where user namespaces
/// are forbidden. Hosts, links, delays and the queue are those of the file; TCP and UDP are the kernel's, with the
/// congestion control of each group. A run takes as long as the scenario says. The lab checks that its queue is the
/// bottleneck, prints how, and gives no numbers otherwise. The machine's own network is not changed, and a killed lab
/// leaves nothing behind.
#[derive(Debug, Args)]
pub(crate) struct LabArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input; a dumbbell, with TCP and UDP of
    /// constant rate
    #[arg(value_hint = ValueHint::FilePath, required_unless_present = "setup")]
    pub(crate) file: Option<PathBuf>,

    /// Run over IPv6 instead of IPv4
    #[arg(long)]
    pub(crate) ipv6: bool,

    #[command(flatten)]
    pub(crate) guest: GuestChoice,

    /// Fetch a kernel for guests into that folder, and do nothing else
    #[arg(long, conflicts_with = "file")]
    pub(crate) setup: bool,

    /// Disciplines, or "all", one after the other [default: the file's]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs of each discipline, one after the other; from two on, measured values have a 95 % confidence interval
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    /// Simulate the same scenario too, at least five times, and show both side by side
    #[arg(long)]
    pub(crate) against_sim: bool,

    /// Run the kernel's own discipline too, with the same parameters, and show both side by side
    #[arg(long)]
    pub(crate) against_kernel: bool,

    /// Run our discipline in the guest's kernel too, as a BPF program, and show both side by side
    #[arg(long)]
    pub(crate) against_bpf: bool,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) tables: ShownTables,

    /// Tell the progress as lines on standard error, "progress DONE TOTAL" in seconds: for programs such as the Python
    /// package
    #[arg(long, hide = true)]
    pub(crate) progress_lines: bool,

    #[command(flatten)]
    pub(crate) folder: TablesFolder,

    #[command(flatten)]
    pub(crate) page: PageFile,

    #[command(flatten)]
    pub(crate) series: SeriesFile,
}
