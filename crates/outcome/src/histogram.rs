//! Distributions of times.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::estimate::Averager;
use crate::record::Combine;

/// The packets that spent about the same time in a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayBin {
    /// The shortest time that counts here, in nanoseconds.
    pub from_ns: u64,
    /// The longest time that counts here, in nanoseconds.
    pub to_ns: u64,
    /// Number of packets.
    pub packets: u64,
}

/// The time that packets spent in a queue: the bins that are not empty, from the shortest to the longest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayHistogram(Vec<DelayBin>);

impl DelayHistogram {
    /// A histogram of these non-empty bins, from the shortest time to the longest.
    #[must_use]
    pub fn from_bins(bins: impl IntoIterator<Item = DelayBin>) -> Self {
        Self(bins.into_iter().collect())
    }

    /// The bins that are not empty, from the shortest time to the longest.
    #[must_use]
    pub fn bins(&self) -> &[DelayBin] {
        &self.0
    }
}

impl From<&Histogram<u64>> for DelayHistogram {
    fn from(delays_ns: &Histogram<u64>) -> Self {
        let bin = |delay: u64, packets: u64| DelayBin {
            from_ns: delays_ns.lowest_equivalent(delay),
            to_ns: delays_ns.highest_equivalent(delay),
            packets,
        };
        let recorded = delays_ns.iter_recorded();
        Self(recorded.map(|value| bin(value.value_iterated_to(), value.count_at_value())).collect())
    }
}

impl Combine for DelayHistogram {
    /// All runs' packets together; a distribution is not averaged.
    fn combine(_first: &Self, parts: &[Option<&Self>], _over: &Averager) -> Self {
        let mut bins: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for bin in parts.iter().flatten().flat_map(|part| &part.0) {
            *bins.entry((bin.from_ns, bin.to_ns)).or_default() += bin.packets;
        }
        Self(bins.into_iter().map(|((from_ns, to_ns), packets)| DelayBin { from_ns, to_ns, packets }).collect())
    }
}

/// Writes a histogram as its significant digits and its bins, `[value, count]`.
pub(crate) fn write_histogram<S: Serializer>(histogram: &Histogram<u64>, to: S) -> Result<S::Ok, S::Error> {
    let bins: Vec<(u64, u64)> =
        histogram.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect();
    (histogram.sigfig(), bins).serialize(to)
}

pub(crate) fn read_histogram<'de, D: Deserializer<'de>>(from: D) -> Result<Histogram<u64>, D::Error> {
    let (digits, bins): (u8, Vec<(u64, u64)>) = Deserialize::deserialize(from)?;
    let mut histogram = Histogram::new(digits).map_err(|error| D::Error::custom(format!("a histogram: {error:?}")))?;
    for (value, count) in bins {
        histogram.record_n(value, count).map_err(|error| D::Error::custom(format!("a histogram: {error:?}")))?;
    }
    Ok(histogram)
}
