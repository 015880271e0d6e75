//! Runs many scenarios on all cores: comparisons, sweeps, replays, and observers that record a run.
//!
//! The command line and the Python package share this crate, so that both give the same outcomes: a [`Batch`] of
//! [`Job`]s, the disciplines of a comparison, the points of a sweep, and the observers that record a run. It reads the
//! machine's clocks and memory, which the simulator never does.
//!
//! The feature `tables` adds series and traces as CSV, and checks of the files that are written; the feature `parquet`
//! series and traces as Arrow record batches and Parquet too; the feature `recordings` packet captures, data files of
//! flent and logs of mahimahi.
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
#[cfg(feature = "tables")]
pub mod files;
pub mod machine;
pub mod memory;
mod records;
pub mod replay;
pub mod sweep;

pub use batch::{Batch, BatchResult, Job, MOST_THREADS, check, pool, so_far};
pub use error::Error;
#[cfg(feature = "recordings")]
pub use records::{FlentFile, LinkLog, PacketCapture, RecordedRun, Records, RecordsObserver, write_link};
pub use records::{LinkRecorder, Recorder};
#[cfg(feature = "tables")]
pub use records::{Series, Trace};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
