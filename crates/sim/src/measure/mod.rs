//! Measurements of queues, flows and paths, and the observers of a run.

pub(crate) mod accounting;
pub(crate) mod delay_histogram;
pub(crate) mod fingerprint;
pub(crate) mod observer;
pub(crate) mod path_delay;
pub(crate) mod queue_meter;
pub(crate) mod scores;
