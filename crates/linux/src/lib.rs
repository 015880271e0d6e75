//! Queue disciplines on a real Linux link.
//!
//! Packets come from an NFQUEUE: their bytes stay in the kernel, and their numbers wait in a discipline of `fairlane-qdisc`,
//! the same that was simulated. A shaper lets them go at the link's rate.
//!
//! This crate is for Linux alone: elsewhere it is empty.
#![cfg(target_os = "linux")]

pub mod lab;
pub mod nfqueue;

mod clock;
mod delays;
mod engine;
mod flow;
mod kernel;
mod link_layer;
mod option;
mod packet;
mod remote;
mod report;
mod router;
mod rules;
mod socket;

pub use delays::Delays;
pub use flow::{FlowKeys, FlowsBy, Keys, random_seed};
pub use kernel::{KernelQueue, kernel_queues};
pub use link_layer::{Framing, LinkLayer};
pub use packet::Marking;
pub use remote::Remote;
pub use report::Report;
pub use router::{Link, Router, RouterConfig, StartError};
pub use rules::{Firewall, Leftover, RuleError, Rules, leftovers, remove_rules};
pub use socket::{Batch, BindError, QueueSocket, Received};
