//! Queue disciplines on a real Linux link.
//!
//! Packets come from an NFQUEUE. The kernel keeps their bytes; the router queues their numbers in a discipline of
//! `fairlane-qdisc`, the same code that the simulator runs, and releases them at the rate of the link.
//!
//! A [`Router`] joins a data path, a discipline and a link. [`RouterHandle`] controls it from another thread, and
//! [`Rules`] are the firewall rules that send packets to its NFQUEUE. [`QueueSocket`] and the module [`nfqueue`] give
//! access to an NFQUEUE without a router.
//!
//! ```no_run
//! use fairlane_linux::{DataPath, Firewall, FlowsBy, Link, LinkLayer, Marking, QueueConfig, Router, RouterConfig, Rules};
//! use fairlane_qdisc::{Kind, QdiscParameters, Rate};
//!
//! let (bit, rate) = (0x4000_0000, Rate::from_bits_per_second(10_000_000));
//! let rules = Rules::new(0, &["eth0".to_owned()], bit)?;
//! let router = Router::new(&RouterConfig {
//!     path: DataPath::Queue(QueueConfig { queues: 0.into(), marking: Marking::ByRule(bit), fail_open: false, gso: None }),
//!     link: Link { rate, layer: LinkLayer::default() },
//!     discipline: QdiscParameters::new(Kind::Choke).resolve(rate)?,
//!     flows: FlowsBy::FiveTuple,
//! })?;
//! let handle = router.handle();
//! let firewall = Firewall::find()?;
//! firewall.install(&rules)?;
//! let working = std::thread::spawn(|| router.run());
//!
//! // The end: no more packets come, queued packets leave within two seconds, and then the rules are removed.
//! firewall.stop(0)?;
//! handle.stop(fairlane_qdisc::Duration::from_millis(2000));
//! let report = working.join().map_err(|_| "the router panicked")??;
//! firewall.remove(0)?;
//! println!("{} of {} packets went on", report.counters.departed.packets, report.counters.arrived.packets);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With [`DataPath::Bridge`] the router is a transparent bridge between two interfaces and needs no firewall rules.
//!
//! The crate is empty on systems other than Linux.
#![cfg(target_os = "linux")]

pub mod lab;
pub mod nfqueue;
pub mod rtnetlink;

mod bridge;
mod classifier;
mod clock;
mod config;
mod delay_histogram;
mod driver;
mod ethtool;
mod flow;
mod gso;
mod handle;
mod kernel;
mod link;
mod lock;
mod option;
mod packet;
mod probe;
mod queues;
mod report;
mod router;
mod rules;
mod runtime;
mod shaper;
mod socket;
mod top_flows;
mod verdict_writer;

pub use bridge::BridgeError;
pub use classifier::PacketNeeds;
pub use clock::now;
pub use config::{BridgeConfig, BridgeDirections, DataPath, QueueConfig, RouterConfig};
pub use delay_histogram::DelayHistogram;
pub use fairlane_capture::{FlowName, FlowsBy};
pub use flow::{FlowKeys, random_seed};
pub use handle::RouterHandle;
pub use kernel::{KernelQueue, kernel_queues};
pub use link::{Framing, Link, LinkLayer};
pub use packet::Marking;
pub use probe::{ProbeAnswer, ProbeEvent, ProbeKind, ProbeSocket};
pub use queues::Queues;
pub use report::{BridgeCounts, DirectionCounts, Report};
pub use router::{Router, StartError};
pub use rules::{Firewall, Leftover, Reservation, RuleChanges, RuleError, Rules, leftovers, mtu, remove_rules};
pub use runtime::{runtime_file, runtime_folder};
pub use socket::{BindError, QueueSocket, ReceiveBuffer, Received};
pub use top_flows::TopFlow;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
