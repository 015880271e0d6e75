//! The options of `fairlane bpf`.

use clap::{Args, Subcommand};
use fairlane_console::values::{Setting, kind, rate, setting};
use fairlane_qdisc::{Kind, Rate};

use super::shared::Form;

/// Run CHOKe in the Linux kernel as a BPF queue discipline
///
/// Needs Linux 6.16 or later, and root. The kernel drops and paces packets by itself; no process of Fairlane has to
/// run. `tc -s qdisc` shows the discipline like any other.
#[derive(Debug, Args)]
pub(crate) struct BpfArgs {
    #[command(subcommand)]
    pub(crate) verb: BpfVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BpfVerb {
    Attach(BpfAttachArgs),
    /// Detach the disciplines of a device, for leaving and for arriving packets
    ///
    /// The device gets the kernel's default discipline.
    Detach {
        /// The device
        #[arg(value_name = "DEV")]
        device: String,
    },
    /// Print the metrics of a device's discipline for Prometheus
    ///
    /// The metrics are those that `fairlane router` serves.
    Metrics {
        /// The device
        #[arg(value_name = "DEV")]
        device: String,
    },
    /// Show all attached disciplines with their counters
    Status(Form),
}

/// Attach a discipline to a device, replacing the present one
///
/// Example: fairlane bpf attach eth0 choke limit=300p min=100p max=200p --rate 10mbit
#[derive(Debug, Args)]
pub(crate) struct BpfAttachArgs {
    /// The device
    #[arg(value_name = "DEV")]
    pub(crate) device: String,

    /// The discipline: choke, front-choke, back-choke, gchoke or red
    #[arg(value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Kind,

    /// Parameters as in a scenario's queue, such as limit=300p
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Queue the packets that arrive by the device, instead of those that leave by it
    ///
    /// An IFB device named flifbN is made for them, N being the index of the device, which must have Ethernet headers.
    #[arg(long)]
    pub(crate) arriving: bool,

    /// Send at this rate [default: as fast as the device does]
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Option<Rate>,
}
