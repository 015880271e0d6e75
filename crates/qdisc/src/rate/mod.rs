//! Rates: an estimator, a token bucket, the clock of a link, a discipline in front of a link, and ideal shares.

pub(crate) mod estimate;
pub(crate) mod ideal;
pub(crate) mod link_clock;
pub(crate) mod shaper;
pub(crate) mod token_bucket;
