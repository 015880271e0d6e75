//! Queue disciplines on a real Linux link.
//!
//! Packets come from an NFQUEUE: their bytes stay in the kernel, and their numbers wait in a discipline of `fairlane-qdisc`,
//! the same that was simulated. A shaper lets them go at the link's rate.
//!
//! A [`Router`] is one queue, a discipline and the link behind it; [`Remote`] is the hand on it from other threads, and [`Rules`]
//! send packets to it. [`nfqueue`] and [`QueueSocket`] are an NFQUEUE alone, for whoever wants nothing else.
//!
//! ```no_run
//! use fairlane_linux::{DataPath, Firewall, FlowsBy, Link, LinkLayer, Marking, QueueConfig, Router, RouterConfig, Rules};
//! use fairlane_qdisc::{Kind, QdiscConfig, Rate};
//!
//! let bit = 0x4000_0000;
//! let rules = Rules::new(0, &["eth0".to_owned()], bit)?;
//! let router = Router::new(&RouterConfig {
//!     path: DataPath::Queue(QueueConfig { queues: 0.into(), marking: Marking::ByRule(bit), fail_open: false, gso: None }),
//!     link: Link { rate: Rate::from_bits_per_second(10_000_000), layer: LinkLayer::default() },
//!     discipline: QdiscConfig::new(Kind::Choke),
//!     flows: FlowsBy::FiveTuple,
//! })?;
//! let remote = router.remote();
//! let firewall = Firewall::find()?;
//! firewall.install(&rules)?;
//! let working = std::thread::spawn(|| router.run());
//!
//! // The end: nothing more comes, what waits leaves within two seconds, and then the rules go.
//! firewall.stop(0)?;
//! remote.stop(fairlane_qdisc::Duration::from_millis(2000));
//! let report = working.join().map_err(|_| "the router panicked")??;
//! firewall.remove(0)?;
//! println!("{} of {} packets went on", report.counters.departed.packets, report.counters.arrived.packets);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With [`DataPath::Bridge`] the router is the wire between two interfaces instead, and the rest is as here.
//!
//! This crate is for Linux alone: elsewhere it is empty.
#![cfg(target_os = "linux")]

pub mod lab;
pub mod nfqueue;

mod bridge;
mod clock;
mod delays;
mod driver;
mod engine;
mod ethtool;
mod flow;
mod kernel;
mod link_layer;
mod lock;
mod option;
mod packet;
mod queues;
mod remote;
mod report;
mod router;
mod rules;
mod segments;
mod socket;
mod top_flows;
mod verdicts;

pub use bridge::BridgeError;
pub use delays::Delays;
pub use flow::{FlowKeys, FlowName, FlowsBy, random_seed};
pub use kernel::{KernelQueue, kernel_queues};
pub use link_layer::{Framing, LinkLayer};
pub use packet::Marking;
pub use queues::Queues;
pub use remote::Remote;
pub use report::{BridgeCounts, Report, WayCounts};
pub use router::{BridgeConfig, DataPath, Link, QueueConfig, Router, RouterConfig, StartError};
pub use rules::{Claim, Firewall, Leftover, RuleError, Rules, leftovers, mtu, remove_rules};
pub use socket::{Batch, BindError, QueueSocket, Received};
pub use top_flows::TopFlow;
