//! A fast, deterministic packet-level simulator of congested links.
//!
//! A run takes a [`Scenario`] and returns a [`Run`](fairlane_outcome::Run). Every packet of every flow crosses the
//! links of its path, event by event, through the disciplines of `fairlane-qdisc`. Time is counted in whole
//! nanoseconds, events of the same time are handled in an order that depends on what they are and not on when they were
//! scheduled, and all randomness comes from the scenario's seed: the same scenario and run number give the same result
//! on every platform and with any number of threads.
//!
//! ```
//! use fairlane_scenario::Document;
//! use fairlane_sim::{Control, run};
//!
//! let document = Document::parse("example.toml", r#"
//!     duration = "10s"
//!     [bottleneck]
//!     rate = "1mbit"
//!     delay = "1ms"
//!     queue = { kind = "choke", limit = "100p", min = "20p", max = "40p" }
//!     [[flows]]
//!     name = "cbr"
//!     kind = "udp"
//!     rate = "2mbit"
//! "#)?;
//! let run = run(&document.scenario()?, 0, &Control::default(), &mut ())?;
//! // A single flow cannot fill a CHOKe queue: each comparison finds a packet of the same flow.
//! assert!(run.queues[0].mean_packets < 40.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod application;
mod build;
mod control;
pub mod endpoint;
mod event_loop;
mod flow;
mod measure;
mod network;
mod packet;
mod parallel;
mod run;
mod sack_table;
mod schedule;
mod shortcuts;
pub mod tcp;
pub mod tfrc;

pub use build::names::{link_name, queue_names};
pub use control::Control;
pub use fairlane_autorate::Decision;
pub use fairlane_outcome::{FlowSample, QueueSample};
pub use measure::fingerprint::Fingerprint;
pub use measure::observer::{Observer, PacketEvent, QueueEvent};
pub use packet::{Packet, PacketKind};
pub use parallel::partition::Undivided;
pub use run::batch::{run_all, run_all_observed, run_all_on};
pub use run::brought::Brought;
pub use run::changes::ChangeError;
pub use run::engine::{least_memory, run, run_brought, run_endpoints, run_with};
pub use run::error::{Error, Fault};
pub use run::intervals::Intervals;
pub use run::replay::{ArrivalTag, Replay, ReplayFlow};
pub use run::simulation::{Simulation, StepError};
pub use run::threads::{run_on, undivided};
pub use shortcuts::Shortcuts;

#[doc(no_inline)]
pub use fairlane_scenario::Scenario;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/congestion-control.md")]
struct OwnCongestionControl;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/applications.md")]
struct OwnApplications;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/transports.md")]
struct Transports;
