//! Scenarios in, outcomes out: many runs on all cores, compared, swept and recorded.
//!
//! What the command line and the Python package do alike stands here, so that both give the same outcomes: a [`Batch`] of
//! [`Job`]s, the disciplines of a comparison, the points of a sweep, and the observers that make series, traces and the
//! figures of a page. Here the machine is asked for its clocks and its memory; the simulator never is.
//!
//! ```
//! use std::num::NonZeroU32;
//!
//! use fairlane_batch::{Batch, Job};
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
mod series;
pub mod sweep;
mod trace;

pub use batch::{Batch, Done, Job, MOST_THREADS, check, pool, so_far};
pub use error::Error;
pub use record::Recorder;
pub use series::Series;
pub use trace::Trace;
