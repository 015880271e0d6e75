//! A scenario on real Linux TCP: hosts, a router with our queue and receivers, each in a network namespace of the lab's own.
//!
//! ```text
//!  sender's namespace        router's namespace                       receiver's namespace
//!  TCP, UDP ── s0 ═══ r0 ──► access ► queue ► link ► access ──► r1 ═══ d0 ── receivers
//!                        ◄── access ◄ link ◄ queue ◄ access ◄──
//! ```
//!
//! The namespaces have no names: they belong to threads of this process, and the kernel removes them with it, however it ends.
//! Delays are made in the router, which holds each packet before and behind the queue. `docs/lab.md` says what is measured, and
//! how the lab makes sure that its queue is the bottleneck.

mod checks;
mod direction;
mod error;
mod host_link;
mod meter;
mod moments;
mod network;
mod node;
mod offload;
mod plan;
mod receiver;
mod router;
mod run;
mod sender;
mod socket;
mod stage;
mod tcp_info;

pub use checks::{Check, Checks};
pub use error::{LabError, Unsupported};
pub use moments::Moment;
pub use run::{Lab, Measured};
