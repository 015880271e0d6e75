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
//! let firewall = Firewall::find()?;
//! let (bits, rate) = (firewall.choose_marks()?, Rate::from_bits_per_second(10_000_000));
//! let rules = Rules::new(0, &["eth0".to_owned()], bits)?;
//! let (marking, repeat) = (Marking::ByRule(bits.ce()), firewall.repeat(bits));
//! let router = Router::new(&RouterConfig {
//!     path: DataPath::Queue(QueueConfig { queues: 0.into(), marking, repeat, fail_open: false, gso: false, mtu: Some(1500) }),
//!     link: Link { rate, layer: LinkLayer::default() },
//!     discipline: QdiscParameters::new(Kind::Choke).resolve(rate)?,
//!     flows: FlowsBy::FiveTuple,
//! })?;
//! let handle = router.handle();
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

pub mod nfqueue;

mod bridge;
mod packet;
mod router;
mod rules;
mod shaper;
mod sys;

pub use bridge::{BridgeError, FrameLine};
pub use fairlane_qdisc::headers::{FlowKeys, FlowName, FlowsBy};
pub use fairlane_qdisc::headers::{Network, UnknownNetwork};
pub use nfqueue::proc::{KernelQueue, kernel_queue, kernel_queues};
pub use nfqueue::queue_numbers::Queues;
pub use nfqueue::socket::{BindError, QueueSocket, ReceiveBuffer, Received};
pub use packet::classifier::{Classifier, PacketNeeds};
pub use packet::exempt::Exempt;
pub use packet::link_layer::{Framing, LinkLayer};
pub use router::config::{BridgeConfig, BridgeDirections, DataPath, Link, QueueConfig, RouterConfig};
pub use router::handle::RouterHandle;
pub use router::report::{BridgeCounts, DirectionCounts, Report};
pub use router::{Router, StartError};
pub use rules::{
    Encrypted, Firewall, Leftover, MarkBits, Reservation, RuleChanges, RuleError, Rules, leftovers, mtu, remove_rules,
};
pub use shaper::delay_histogram::DelayHistogram;
pub use shaper::queued_packet::{Marking, QueuedPacket};
pub use shaper::top_flows::TopFlow;
pub use shaper::{PacketObserver, Shaper, TimestampedPacket};
pub use sys::clock::{now, wall_clock};
pub use sys::icmp_probe::{ProbeAnswer, ProbeEvent, ProbeKind, ProbeSocket};
pub use sys::interface_info::{has_ethernet_headers, interface_name};
pub use sys::random::random_seed;
pub use sys::runtime_dir::{runtime_file, runtime_folder};
pub use sys::{ethtool, rtnetlink, sockopt};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
