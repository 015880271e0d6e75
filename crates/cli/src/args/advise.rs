//! The options of `fairlane advise`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_console::values::{rate, time};
use fairlane_qdisc::{Duration, Rate};

use super::shared::{Disciplines, Form, PageFile, Threads, disciplines, runs, seed};

/// Recommend a discipline for a link, its traffic and a goal
///
/// Example: fairlane advise --rate 20mbit --rtt 40ms --mix 'web, 8 cubic, 1 udp 2x' --goal 'delay.p95<20ms,
/// utilisation>0.95' --quick
///
/// The command simulates all disciplines that are not experimental, with their defaults and with other parameters, and
/// ranks them by the goal: bounds on metrics and an objective, minimise METRIC or maximise METRIC. The best one and the
/// runner-up then run on seeds and links that the search has not seen.
#[derive(Debug, Args)]
pub(crate) struct AdviseArgs {
    /// Rate of the link
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Rate,

    /// Round trip without queues
    #[arg(long, value_parser = time)]
    pub(crate) rtt: Duration,

    /// Traffic: numbers of flows of a congestion control, of web browsers, of voip, or of udp with its rate or a
    /// multiple of the link's
    #[arg(long, default_value = "8 cubic, 2 web")]
    pub(crate) mix: String,

    /// Bounds and an objective, such as 'delay.p95<20ms, utilisation>0.95, maximise jain'
    #[arg(long)]
    pub(crate) goal: String,

    /// Leave out disciplines that keep state of flows
    #[arg(long)]
    pub(crate) no_flow_state: bool,

    /// Only these disciplines [default: all that are not experimental]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) kinds: Vec<Disciplines>,

    /// Few parameters, short runs and five of them
    #[arg(long)]
    pub(crate) quick: bool,

    /// Runs of the best disciplines, and of the proof [default: 10, with --quick 5]
    #[arg(long, value_name = "N", value_parser = runs)]
    pub(crate) runs: Option<NonZeroU32>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the advice as JSON, the scenario and the file of a router into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,
}
