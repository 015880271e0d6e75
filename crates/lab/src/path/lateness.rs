//! How late packets were delivered.

use fairlane_qdisc::Duration;
use hdrhistogram::Histogram;

/// The longest time that is recorded: 1000 s.
const LONGEST_NS: u64 = 1_000_000_000_000;

/// The times between the arrival of packets on the emulated link and their delivery.
#[derive(Clone, Debug)]
pub struct Lateness(Histogram<u64>);

impl Default for Lateness {
    fn default() -> Self {
        Self(Histogram::new(3).expect("three digits are as many as it can tell apart"))
    }
}

impl Lateness {
    /// Counts a packet that was delivered this late.
    ///
    /// # Panics
    /// Never: the histogram grows to any value.
    pub fn add(&mut self, late: Duration) {
        self.0.record(late.as_nanos().min(LONGEST_NS)).expect("it grows to any value");
    }

    /// Adds the packets of `other`.
    ///
    /// # Panics
    /// Never: the histogram grows to any value.
    pub fn join(&mut self, other: &Self) {
        self.0.add(&other.0).expect("it grows to any value");
    }

    /// Returns the number of packets.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.0.len()
    }

    /// Returns the mean lateness.
    #[must_use]
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.0.mean() as u64)
    }

    /// Returns the lateness that this part of the packets, from 0 to 1, did not exceed.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanos(self.0.value_at_quantile(part))
    }

    /// Returns the largest lateness.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.0.max())
    }
}
