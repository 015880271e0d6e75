//! A fast, deterministic packet-level simulator of congested links.
//!
//! It takes a [`Scenario`] and returns a [`Run`](fairlane_outcome::Run). Every packet of every flow crosses the links
//! of its path, event by event, through the disciplines of `fairlane-qdisc`. Time is counted in whole nanoseconds,
//! events of the same time are handled in an order that depends on what they are and not on when they were scheduled, and
//! all randomness comes from the scenario's seed: the same scenario and run number give the same result on every platform
//! and with any number of threads.
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

mod accounting;
mod aggregation;
mod arrival;
mod border;
mod changes;
mod control;
mod deferred;
mod delay_counts;
mod delays;
mod divided;
mod division;
mod engine;
mod event;
mod fingerprint;
mod flow;
mod hosts;
mod impairments;
mod inlet;
mod intervals;
mod line;
mod link;
mod link_rates;
mod lookaheads;
mod meter;
mod network;
mod numbered;
mod observer;
mod occupied;
mod opportunities;
mod packet;
mod part;
mod plain;
mod prefetch;
mod replay;
mod route;
mod routing;
mod runner;
mod sack_table;
mod sampling;
mod schedule;
mod scores;
mod shaper;
mod shaping;
mod simulation;
mod stretch;
mod target;
pub mod tcp;
pub mod tfrc;
mod timer;
mod topology;
mod tournament;
mod waited;

pub use changes::ChangeError;
pub use control::Control;
pub use divided::{run_on, undivided};
pub use division::Undivided;
pub use engine::{Error, least_memory, run, run_with};
pub use fairlane_autorate::Decision;
pub use fairlane_outcome::{FlowSample, QueueSample};
pub use fingerprint::Fingerprint;
pub use intervals::Intervals;
pub use observer::{Observer, PacketEvent, QueueEvent};
pub use packet::{Packet, PacketKind};
pub use replay::{ArrivalTag, Replay, ReplayFlow};
pub use runner::{run_all, run_all_observed, run_all_on};
pub use simulation::{Simulation, StepError};
pub use topology::{link_name, queue_names};

#[doc(no_inline)]
pub use fairlane_scenario::Scenario;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
