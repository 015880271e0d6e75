//! The options of `fairlane advise`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_advise::Target;
use fairlane_console::values::{rate, time};
use fairlane_qdisc::{Duration, Rate};

use super::shared::{Disciplines, Form, PageFile, Threads, disciplines, seed};

/// Recommend a discipline for a link, its traffic and a goal
///
/// Example: fairlane advise --rate 20mbit --rtt 40ms --mix 'web, 8 cubic, 1 udp 2x' --goal 'delay.p95<20ms,
/// utilisation>0.95'
///
/// The command simulates the disciplines of a place, with their defaults and with one or two parameters that matter.
/// Candidates that meet the goal then run with other seeds, on other links, with other numbers of flows and with a
/// flood. The answer is the one that holds in most of these cases, the simplest one if several do: what to use, why not
/// the runner-up, what will go wrong when, and the commands and files for it. `fairlane tune` searches all parameters
/// of one discipline.
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

    /// Place: linux, the kernel's own disciplines, and those of `fairlane router` only if none of them meets the goal;
    /// router, all that are not experimental; simulator, all; silicon, those with one queue and without state of flows
    #[arg(long, value_name = "PLACE", default_value = "linux")]
    pub(crate) on: Target,

    /// Leave out disciplines that keep state of flows
    #[arg(long)]
    pub(crate) no_flow_state: bool,

    /// Only these disciplines [default: those of the place]
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// Time for all of it; when it is over, the answer is that of the candidates that were judged
    #[arg(long, default_value = "60s", value_parser = time)]
    pub(crate) time: Duration,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the advice as JSON, the scenario, the file of a router and the commands of tc into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,
}
