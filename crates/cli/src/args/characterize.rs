//! The options of `fairlane characterize`.

use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_characterize::Buffer;
use fairlane_console::values::{Setting, rate, setting, time};
use fairlane_qdisc::{Duration, Rate};

use super::shared::{Disciplines, Form, PageFile, Threads, disciplines, runs, seed};

/// Test disciplines by RFC 7928, next to DropTail
///
/// Example: fairlane characterize codel,pie target=10ms --quick --html page.html
///
/// The command runs the scenarios of each section: TCP-friendly, aggressive, unresponsive and background senders,
/// round-trip-time fairness, bursts, levels of congestion, varying capacity, a traffic mix, both directions, AQMs in
/// sequence, small packets. RFC 7928 has no pass and no fail: each section is characterised, discussed, or not
/// applicable.
#[derive(Debug, Args)]
pub(crate) struct CharacterizeArgs {
    /// Disciplines, or "all"
    #[arg(value_name = "KIND,…", value_parser = kinds)]
    pub(crate) kinds: KindList,

    /// Parameters as in a scenario's queue, such as target=10ms; each discipline takes those that it has
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Rate of the bottleneck
    #[arg(long, default_value = "10mbit", value_parser = rate)]
    pub(crate) rate: Rate,

    /// Round trip without queues
    #[arg(long, default_value = "100ms", value_parser = time)]
    pub(crate) rtt: Duration,

    /// Size of the buffer: bdp for one bandwidth-delay product, 2bdp for two, or packets, 200p
    #[arg(long, value_name = "SIZE", default_value = "bdp")]
    pub(crate) buffer: Buffer,

    /// Only these sections, such as rtt,mild
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// One or few cases of each section, 30 s each and three runs
    #[arg(long)]
    pub(crate) quick: bool,

    /// ECN in all sections, not only in the one about it
    #[arg(long)]
    pub(crate) ecn: bool,

    /// Runs of each case [default: 10, with --quick 3]
    #[arg(long, value_name = "N", value_parser = runs)]
    pub(crate) runs: Option<NonZeroU32>,

    /// The seed of all random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    /// Also write the report as JSON and the scenarios as files into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) page: PageFile,
}

/// Disciplines in one word, so that parameters can follow.
#[derive(Clone, Debug)]
pub(crate) struct KindList(pub(crate) Vec<Disciplines>);

fn kinds(text: &str) -> Result<KindList, String> {
    text.split(',').map(disciplines).collect::<Result<_, _>>().map(KindList)
}
