//! The options of `fairlane run`.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_console::values::kind;
use fairlane_qdisc::Kind;
use fairlane_runner::MOST_THREADS;

use super::shared::{Form, Overrides, PageFile, SeriesFile, ShownTables, Threads, runs};

/// Run one scenario
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Scenario: a file, a name of `fairlane scenarios`, or - for standard input
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// The discipline, in place of the scenario's, as in a comparison
    ///
    /// Replaces the queues that a comparison replaces, and keeps the parameters that both have.
    #[arg(long, value_name = "KIND", value_parser = kind)]
    pub(crate) queue: Option<Kind>,

    #[command(flatten)]
    pub(crate) overrides: Overrides,

    /// Runs, each with its own random numbers; from two on, measured values have a 95 % confidence interval
    #[arg(long, value_name = "N", default_value = "1", value_parser = runs)]
    pub(crate) runs: NonZeroU32,

    #[command(flatten)]
    pub(crate) threads: Threads,

    /// Threads that share the work of each run; the runs come one after the other then. Results do not depend on it
    #[arg(long = "threads", value_name = "N", default_value = "1", value_parser = run_threads)]
    #[arg(conflicts_with_all = ["jobs", "html", "pcap", "trace", "series", "flent", "mahimahi"])]
    pub(crate) run_threads: NonZeroUsize,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) tables: ShownTables,

    /// Also write the outcome's tables into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the packets that leave the queues between nodes, in both directions and warm-up included, as a packet
    /// capture
    ///
    /// The capture has headers only: IPv4 with an address pair for each flow, and TCP or UDP. Each packet has its size
    /// on the wire (an acknowledgement more if its options need it), the time of the simulation in nanoseconds, and a
    /// TTL of 64 less one for each link that it has entered. TCP has the window, timestamps, SACK blocks and ECN flags
    /// of the simulation, after a handshake, simulated or not, so Wireshark's graphs of sequence numbers, round trips
    /// and windows work.
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<PathBuf>,

    /// Write every arrival, departure, drop and mark at every queue, warm-up included, to this .csv or .parquet
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) series: SeriesFile,

    /// Write a data file of flent (.flent.gz), which flent plots: throughput, window and round trip of each TCP flow,
    /// and the round trips of a UDP group called "ping", every 200 ms or in the interval of --series
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) flent: Option<PathBuf>,

    /// Write the bottleneck as mahimahi's mm-link logs it: FILE.log has the log, which mm-throughput-graph reads, and
    /// FILE.trace the opportunities of its link, which mm-link takes
    #[arg(long, value_name = "FILE.log", value_hint = ValueHint::FilePath)]
    pub(crate) mahimahi: Option<PathBuf>,
}

fn run_threads(text: &str) -> Result<NonZeroUsize, String> {
    let remedy = || format!("write a number from 1 to {MOST_THREADS}");
    text.parse().ok().filter(|number: &NonZeroUsize| number.get() <= MOST_THREADS).ok_or_else(remedy)
}
