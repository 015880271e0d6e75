//! The options of `fairlane explain`.

use clap::Args;
use fairlane_console::values::{Setting, kind, rate, setting, time};
use fairlane_qdisc::{Duration, Kind, Rate};

use super::shared::Form;

/// Show a discipline's parameters in use, and warn of mistakes
///
/// Example: fairlane explain choke limit=300p min=100p max=200p --rate 1mbit
///
/// With --flows or --rtt it also tells how much of the link a flood keeps, by the simulations of scenarios/flood.toml:
/// fairlane explain bare --flows 4 --rtt 5ms
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// The discipline
    #[arg(value_name = "KIND", value_parser = kind)]
    pub(crate) kind: Kind,

    /// Parameters as in a scenario's queue, such as limit=300p
    #[arg(value_name = "KEY=VALUE", value_parser = setting)]
    pub(crate) parameters: Vec<Setting>,

    /// Rate of the link that the queue feeds
    #[arg(long, default_value = "10mbit", value_parser = rate)]
    pub(crate) rate: Rate,

    /// Round-trip time of the flows that compete with a flood, to tell how much of the link it keeps
    #[arg(long, value_parser = time)]
    pub(crate) rtt: Option<Duration>,

    /// Number of flows that compete with a flood, to tell how much of the link it keeps
    #[arg(long, value_name = "N")]
    pub(crate) flows: Option<u32>,

    #[command(flatten)]
    pub(crate) form: Form,
}
