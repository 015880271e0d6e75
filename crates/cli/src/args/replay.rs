//! The options of `fairlane replay`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use fairlane_capture::{FlowsBy, Network};
use fairlane_console::values::{Setting, rate, setting};
use fairlane_qdisc::Rate;

use super::shared::{Disciplines, Form, PageFile, ShownTables, Threads, disciplines, seed};

/// Send captured packets through a queue
///
/// The packets arrive at the times of the capture and leave at the link's rate.
///
/// Example: fairlane replay uplink.pcap --rate 10mbit --queue choke limit=300p min=100p max=200p
///
/// The packets do not react to the queue: traffic that would have slowed down does not. All packets of the file are
/// sent, unless --from selects one direction.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The capture: pcap or pcapng of Ethernet, Wi-Fi, PPP, raw IP, Linux cooked or loopback packets
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,

    /// Parameters as in a scenario's queue, such as limit=300p; each discipline takes those that it has
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Send only packets from this network, such as 10.0.0.0/8: one direction of a capture that has both
    #[arg(long, value_name = "NET")]
    pub(crate) from: Option<Network>,

    /// Rate of the link that the queue feeds
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Rate,

    /// Disciplines, or "all"; each sees the same packets
    #[arg(long, value_name = "KIND", value_delimiter = ',', required = true, value_parser = disciplines)]
    pub(crate) queue: Vec<Disciplines>,

    /// The seed of the discipline's random numbers
    #[arg(long, value_name = "N", default_value = "1", value_parser = seed)]
    pub(crate) seed: u64,

    /// The packets that count as one flow: by five-tuple, inner (the same inside tunnels), address-pair, source-address
    /// or destination-address
    #[arg(long, value_name = "BY", default_value = "five-tuple")]
    pub(crate) flows: FlowsBy,

    #[command(flatten)]
    pub(crate) threads: Threads,

    #[command(flatten)]
    pub(crate) form: Form,

    #[command(flatten)]
    pub(crate) tables: ShownTables,

    #[command(flatten)]
    pub(crate) page: PageFile,

    /// Write the packets that leave the queue as a capture, with the times at which the link begins to send them and
    /// their marks
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) pcap: Option<PathBuf>,
}
