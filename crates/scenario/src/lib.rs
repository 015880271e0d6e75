//! Descriptions of experiments: the scenario file, its units, its validation and its sweeps.
//!
//! A file becomes a [`Document`], options of the command line change it, and [`Document::scenario`] checks it: a
//! [`Scenario`] is complete and free of contradictions, so that an engine needs to check nothing. The file's format is
//! described in `docs/scenario.md`.
//!
//! ```
//! use fairlane_scenario::{Document, Vary};
//!
//! let document = Document::builtin();
//! let points = document.points(&[Vary::parse("flows.cbr.rate=100kbit..10mbit/9log")?])?;
//! assert_eq!(points.len(), 9);
//! # Ok::<(), fairlane_scenario::ScenarioError>(())
//! ```
#![forbid(unsafe_code)]

mod application;
mod bundled;
mod derived;
mod document;
mod dumbbell;
mod edit;
mod error;
mod explain;
mod fair;
mod field;
mod kernel_discipline;
mod key;
mod mistakes;
mod model;
mod read;
mod route;
mod schema;
mod shaper;
mod source;
pub mod suggest;
mod tcp;
mod tree;
mod vary;
mod warnings;
mod wire;

pub use application::{Application, Cbr, Rpc, Sizes, Transfers, Video, Web};
pub use bundled::{BUNDLED, Bundled, bundled, nearest_bundled};
pub use document::Document;
pub use dumbbell::Dumbbell;
pub use error::{Quantity, ScenarioError};
pub use fairlane_link::Loss;
pub use fairlane_qdisc::{Bytes, Duration, Kind, Packets, QdiscConfig, QdiscParameters, Rate, Size, Value};
pub use kernel_discipline::KernelDiscipline;
pub use model::{Access, FlowGroup, Hop, Link, LinkSide, Phase, Scenario, Score, Tfrc, Traffic};
pub use schema::schema;
pub use shaper::{ProbeKind, Shaper, ShaperKind};
pub use source::{OnOff, PacketSizes, Periods, Recorded, Source, Ssmp, Trace, Udp};
pub use tcp::{AfterIdle, Congestion, Ledbat, LossRecovery, OwnCongestion, SlowStart, Tcp};
pub use vary::{MOST_POINTS, Point, Vary};
pub use warnings::shared_queues;
pub use wire::{Aggregation, Opportunity, Policer, RateSteps, Steps, Wire};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
