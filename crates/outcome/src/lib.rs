//! What was measured: schema, statistics, intervals and tables.
//!
//! An engine fills a [`Run`] with plain counts; shares, ratios and intervals are derived here, the same way for
//! every engine.
#![forbid(unsafe_code)]

mod run;

pub use fairlane_qdisc::Reason;
pub use run::{Cost, FlowRun, QueueFlowRun, QueueRun, Run};
