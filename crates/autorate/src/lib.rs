#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod config;
mod controller;
mod decision;
mod delay;
mod link_rate;
mod load;
mod probes;

pub use config::{Config, ConfigError, Direction, Law};
pub use controller::Autorate;
pub use decision::{Blocker, Decision, Reason};
pub use delay::ProbeDelay;
