//! What is measured of queues, flows and paths, and who is told.

pub(crate) mod accounting;
pub(crate) mod delay_histogram;
pub(crate) mod fingerprint;
pub(crate) mod observer;
pub(crate) mod path_delay;
pub(crate) mod queue_meter;
pub(crate) mod scores;
