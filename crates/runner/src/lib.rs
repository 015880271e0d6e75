//! Runs many scenarios on all cores: comparisons, sweeps, replays, and observers that record a run.
//!
//! The command line and the Python package share this crate, so that both give the same outcomes: a [`Batch`] of [`Job`]s, the
//! disciplines of a comparison, the points of a sweep, and the observers that write series and traces and record timelines. It reads
//! the machine's clocks and memory, which the simulator never does.
//!
//! The feature `tables` adds series and traces as CSV, the feature `parquet` as Arrow record batches and Parquet too.
//!
//! ```
//! use std::num::NonZeroU32;
//!
//! use fairlane_runner::{Batch, Job};
//! use fairlane_scenario::Document;
//! use fairlane_sim::Control;
//!
//! let mut document = Document::builtin();
//! document.set("duration", "2s")?;
//! document.set("warmup", "1s")?;
//! let batch = Batch::new(vec![Job::of(document.scenario()?)], NonZeroU32::MIN, None)?;
//! let done = batch.execute(&Control::default())?;
//! assert_eq!(done.outcomes[0].queues[0].kind, "choke");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod batch;
mod captured;
pub mod compare;
mod error;
pub mod machine;
pub mod memory;
mod record;
pub mod replay;
#[cfg(feature = "tables")]
mod series;
pub mod sweep;
#[cfg(feature = "tables")]
mod trace;

pub use batch::{Batch, BatchResult, Job, MOST_THREADS, check, pool, so_far};
pub use error::Error;
pub use record::Recorder;
#[cfg(feature = "tables")]
pub use series::Series;
#[cfg(feature = "tables")]
pub use trace::Trace;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
