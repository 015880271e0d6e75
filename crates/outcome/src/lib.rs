//! Results of experiments: schema, statistics, intervals and tables.
//!
//! An engine fills a [`Run`] with plain counts; shares, ratios and intervals are derived here, the same way for
//! every engine: [`Outcome::from_runs`]. `docs/outcome.md` describes the JSON form and the tables;
//! the latter need the feature `tables`, which also has `OutputFile`.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod applications;
mod drops;
mod estimate;
mod histogram;
mod json;
mod measure;
#[cfg(feature = "tables")]
mod output_file;
mod paired;
mod point;
mod record;
mod run;
mod sample;
mod schema;
pub mod score;
mod series;
pub mod stats;
#[cfg(feature = "tables")]
pub mod tables;
mod timeline;

pub use drops::Drops;
pub use estimate::Estimate;
pub use fairlane_qdisc::Reason;
pub use histogram::{DelayBin, DelayHistogram};
#[cfg(feature = "tables")]
pub use output_file::{Extent, OutputFile, output_target};
pub use paired::mean_difference;
pub use point::{Point, PointValue, Unit};
pub use run::{Cost, Expected, FlowRun, PathRun, QueueFlowRun, QueueRun, Run, VideoRun};
pub use sample::{FlowSample, QueueSample};
pub use schema::{
    Delay, FlowOutcome, GroupOutcome, GroupValues, Outcome, Outcomes, QueueFlow, QueueGroup, QueueOutcome, QueueValues,
    RunValues, ScoreOutcome, TransferOutcome, VideoOutcome,
};
pub use series::{FlowRow, QueueRow};
pub use timeline::{GroupTimeline, QueueTimeline, ShaperTimeline, Timeline};
