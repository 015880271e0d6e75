#![cfg_attr(target_os = "linux", doc = include_str!("../README.md"))]
#![cfg(target_os = "linux")]

mod arriving;
#[cfg(test)]
mod conformance;
mod error;
mod instance;
mod program;
mod status;

use serde::Serialize;

pub use error::Error;
pub use instance::{Attached, attach, check, detach, status};
pub use program::{Program, Settings};
pub use status::{ByReason, Count, State};

/// An attached discipline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Instance {
    /// The device; `None` if it is in another network namespace.
    pub device: Option<String>,
    /// True for packets that arrive by the device, false for those that leave by it.
    pub arriving: bool,
    /// The kind, as `tc qdisc` shows it: `fl_choke1`.
    pub kind: String,
    /// The counters and the average.
    #[serde(flatten)]
    pub state: State,
}
