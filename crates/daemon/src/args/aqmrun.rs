//! The options of `aqmrun`.

use clap::{Parser, ValueEnum, value_parser};
use fairlane_console::values::rate;
use fairlane_qdisc::Rate;

/// CHOKe and its variants on the packets of an NFQUEUE
///
/// The program of the paper, for Linux and root. First send packets to the queue, as the paper does: iptables -I
/// FORWARD 1 -j NFQUEUE --queue-num 0 --queue-bypass. Then for example: aqmrun -m 5 -M 15 -b 2000 f. Ctrl-C ends it and
/// prints the counts. `fairlane router` does the same with any discipline, and with its own rules.
#[derive(Debug, Parser)]
#[command(name = "aqmrun", version, max_term_width = 100)]
pub struct AqmrunArgs {
    /// min_th: average below which nothing is compared or dropped, in packets [default: a third of -M]
    #[arg(short = 'm', value_name = "MIN")]
    pub(crate) min: Option<u32>,

    /// max_th: average from which everything is dropped, in packets; 15 is the paper's
    #[arg(short = 'M', value_name = "MAX", default_value = "15")]
    pub(crate) max: u32,

    /// Netfilter queue number
    #[arg(short = 'Q', value_name = "NUM", default_value = "0")]
    pub(crate) queue: u16,

    /// Weight of a sample in the average
    #[arg(short = 'w', value_name = "WEIGHT", default_value = "0.002")]
    pub(crate) weight: f64,

    /// Buffer size in packets
    #[arg(short = 'b', value_name = "SIZE", default_value = "2000", value_parser = value_parser!(u32).range(1..))]
    pub(crate) buffer: u32,

    /// Geometric CHOKe's maxcomp: candidates that may match one arrival [default: 1]
    #[arg(short = 'c', value_name = "MAXCOMP")]
    pub(crate) maxcomp: Option<u32>,

    /// Rate of the link behind the queue; 11mbit is that of the paper's access point
    #[arg(long, value_name = "RATE", default_value = "11mbit", value_parser = rate)]
    pub(crate) rate: Rate,

    /// Variant
    #[arg(value_name = "VARIANT", default_value = "r", hide_default_value = true)]
    pub(crate) variant: Variant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Variant {
    /// Standard CHOKe, the default
    R,
    /// Front CHOKe
    F,
    /// Back CHOKe
    B,
    /// Geometric CHOKe
    G,
    /// xCHOKe
    X,
}
