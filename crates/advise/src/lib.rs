//! Finds the queue discipline and the parameters for a link and a [`Goal`].
//!
//! A [`TunePlan`] searches the parameters of one discipline in any scenario; an [`AdvisePlan`] judges the disciplines
//! that a [`Target`] can run on a [`Link`] with a [`Mix`] of traffic. Both end with runs on seeds that the search has
//! not seen, the second also on other links and mixes, so that the result is no luck of the search.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod advice;
mod advise;
mod candidates;
mod cases;
mod error;
mod files;
mod goal;
mod hypercube;
mod metric;
mod mix;
#[cfg(feature = "html")]
mod page;
mod race;
mod score;
mod settings;
mod space;
mod text;
mod tune;

pub use advice::{Advice, Case, LeftOut, Ranked};
pub use advise::AdvisePlan;
pub use candidates::Target;
pub use error::Error;
pub use goal::{Bound, Comparison, Goal, Objective};
pub use metric::{FlowsMetric, GroupMetric, Metric, MetricUnit, QueueMetric, Statistic};
pub use mix::{Link, Mix};
#[cfg(feature = "html")]
pub use page::page;
pub use score::{Reading, Verdict};
pub use settings::AdviseSettings;
pub use text::TextError;
pub use tune::{Contender, Refused, TunePlan, TuneSettings, Tuning};
