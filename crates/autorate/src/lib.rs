#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

use fairlane_qdisc::Duration;

mod config;
mod controller;
mod decision;
mod delay;
mod link_rate;
mod load;
mod probes;

/// The time between two probes: six reflectors, each probed every 0.3 s, as by cake-autorate 3.
pub const PROBE_INTERVAL: Duration = Duration::from_millis(50);

pub use config::{Config, ConfigError, Direction, Law};
pub use controller::Autorate;
pub use decision::{Blocker, Decision, Reason};
pub use delay::ProbeDelay;
