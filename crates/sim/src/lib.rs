//! A fast, deterministic packet-level simulator of congested links.
//!
//! A [`Scenario`] goes in, a [`Run`](fairlane_outcome::Run) comes out: every packet of every flow crosses the links of
//! its path, one event at a time, through the disciplines of `fairlane-qdisc` unchanged. Time is counted in whole
//! nanoseconds, ties go in the order in which they were scheduled, and all randomness comes from the scenario's seed:
//! the same scenario and run give the same result on every platform and on any number of threads.
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
//! // CHOKe keeps a flow that is alone from filling the queue: it always meets itself.
//! assert!(run.queues[0].mean_packets < 40.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod ahead;
mod batch;
mod engine;
mod event;
mod fingerprint;
mod flow;
mod intervals;
mod link;
mod meter;
mod network;
mod observer;
mod own;
mod packet;
mod pipe;
mod plane;
mod replay;
mod sampling;
mod source;
pub mod tcp;
pub mod tfrc;
mod wire;

pub use batch::{Control, run_all, run_all_observed};
pub use engine::{Error, least_memory, run, run_with};
pub use fairlane_outcome::{FlowSample, QueueSample};
pub use fingerprint::Fingerprint;
pub use intervals::Intervals;
pub use network::link_name;
pub use observer::{Happening, Observer, PacketEvent};
pub use packet::{Packet, PacketKind};
pub use replay::{Replay, ReplayFlow};

#[doc(no_inline)]
pub use fairlane_scenario::Scenario;
