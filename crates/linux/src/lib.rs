//! Queue disciplines on a real Linux link.
//!
//! Packets come from an NFQUEUE: their bytes stay in the kernel, and their numbers wait in a discipline of `fairlane-qdisc`,
//! the same that was simulated. A shaper lets them go at the link's rate.
//!
//! This crate is for Linux alone: elsewhere it is empty.
#![cfg(target_os = "linux")]

pub mod nfqueue;

mod kernel;
mod option;
mod socket;

pub use kernel::{KernelQueue, kernel_queues};
pub use socket::{BindError, QueueSocket, Received};
