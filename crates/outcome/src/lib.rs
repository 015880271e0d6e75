//! Results of experiments: schema, statistics, intervals and tables.
//!
//! An engine fills a [`Run`] with plain counts; shares, ratios and intervals are derived here, the same way for
//! every engine: [`Outcome::from_runs`]. `docs/outcome.md` describes the JSON form and the tables;
//! the latter need the feature `tables`.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod drops;
mod estimate;
mod histogram;
mod json;
mod measure;
mod point;
mod record;
mod run;
mod sample;
mod schema;
mod series;
pub mod stats;
#[cfg(feature = "tables")]
pub mod tables;
mod timeline;

pub use drops::Drops;
pub use estimate::Estimate;
pub use fairlane_qdisc::Reason;
pub use histogram::{DelayBin, DelayHistogram};
pub use point::{Point, PointValue};
pub use run::{Cost, FlowRun, QueueFlowRun, QueueRun, Run};
pub use sample::{FlowSample, QueueSample};
pub use schema::{
    Delay, FlowOutcome, GroupOutcome, Outcome, Outcomes, QueueFlow, QueueGroup, QueueOutcome, TransferOutcome,
};
pub use series::{FlowRow, QueueRow};
pub use timeline::{GroupTimeline, QueueTimeline, ShaperTimeline, Timeline};
