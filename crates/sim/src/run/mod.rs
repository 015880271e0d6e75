//! The entry points for callers: a run, a simulation in steps, a batch, a replay.

pub(crate) mod batch;
pub(crate) mod brought;
pub(crate) mod changes;
pub(crate) mod engine;
pub(crate) mod error;
pub(crate) mod intervals;
pub(crate) mod own_controls;
pub(crate) mod queue_results;
pub(crate) mod replay;
pub(crate) mod sampling;
pub(crate) mod simulation;
pub(crate) mod threads;
