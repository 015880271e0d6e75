//! Finds the queue discipline and the parameters for a link and a [`Goal`].
//!
//! A [`TunePlan`] searches the parameters of one discipline in any scenario; an [`AdvisePlan`] ranks all disciplines on
//! a [`Link`] with a [`Mix`] of traffic. Both end with runs on seeds that the search has not seen, so that the result
//! is no luck of the search.
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

mod advice;
mod advise;
mod error;
mod files;
mod goal;
mod hypercube;
mod metric;
mod mix;
#[cfg(feature = "html")]
mod page;
mod pareto;
mod proof;
mod race;
mod score;
mod settings;
mod space;
mod text;
mod tune;

pub use advice::{Advice, Front, LeftOut, ProofCase, Ranked};
pub use advise::AdvisePlan;
pub use error::Error;
pub use goal::{Bound, Comparison, Goal, Objective};
pub use metric::{FlowsMetric, GroupMetric, Metric, MetricUnit, QueueMetric, Statistic};
pub use mix::{Link, Mix};
#[cfg(feature = "html")]
pub use page::page;
pub use score::{Reading, Verdict};
pub use settings::AdviseSettings;
pub use text::TextError;
pub use tune::{Contender, TunePlan, TuneSettings, Tuning};
