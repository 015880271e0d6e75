//! Scenarios on real Linux TCP: senders, a router with the queue, and receivers, each in a network namespace.
//!
//! ```text
//!  sender's namespace        router's namespace                       receiver's namespace
//!  TCP, UDP ── s0 ═══ r0 ──► access ► queue ► link ► access ──► r1 ═══ d0 ── receivers
//!                        ◄── access ◄ link ◄ queue ◄ access ◄──
//! ```
//!
//! The namespaces have no names: they belong to threads of this process, and the kernel removes them when the process
//! ends, however it ends. The network is emulated in the router, which holds each packet before and behind the queue.
//! `docs/lab.md` describes the measurements, and how the lab verifies that its queue is the bottleneck.
//!
//! The crate is empty on systems other than Linux.
#![cfg(target_os = "linux")]

mod address;
mod check;
mod differences;
mod error;
mod hosted;
mod hosts;
mod in_kernel;
mod link;
mod network;
mod path;
mod plan;
mod queue_counts;
mod router;
mod run;
mod samples;
mod timeline;
mod user_namespace;
mod verify;

pub use address::IpVersion;
pub use check::{Check, Checks};
pub use error::{LabError, Unsupported};
pub use hosted::{End, HostedCounts, HostedFlows, retransmissions};
pub use in_kernel::Installer;
pub use link::check_link;
pub use path::{Chain, Entry, FramePath, Judgement, Lateness, LinkPacket, Stamps, Waits};
pub use queue_counts::{FlowCounts, QueueCounts};
pub use run::{Lab, Measured};
pub use samples::LabSample;
pub use timeline::{SampleTimes, Timeline};
pub use user_namespace::{enter_user_namespace, namespace_refusal};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
