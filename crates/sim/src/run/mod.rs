//! TODO

pub(crate) mod batch;
pub(crate) mod changes;
pub(crate) mod engine;
pub(crate) mod reloaded;
pub(crate) mod replay;
pub(crate) mod sampling;
pub(crate) mod simulation;
