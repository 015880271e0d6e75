//! The course of a run, sampled at an interval, for the figures of a page.

use serde::{Deserialize, Deserializer, Serialize};

/// Queues and groups over time, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Timeline {
    /// Time of each value, in seconds from the start.
    pub time_s: Vec<f64>,
    /// The queues.
    pub queues: Vec<QueueTimeline>,
    /// The groups of flows.
    pub groups: Vec<GroupTimeline>,
    /// The shapers whose rate a controller adjusts.
    pub shapers: Vec<ShaperTimeline>,
}

/// A queue over time; one value for each of [`Timeline::time_s`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueTimeline {
    /// The queue's name.
    pub name: String,
    /// Packets in the queue.
    pub packets: Vec<f64>,
    /// The discipline's own average, in its own unit; empty where it keeps none.
    pub average: Vec<f64>,
    /// The probability with which the discipline signals; empty where that is not one number.
    pub probability: Vec<f64>,
    /// Packets dropped per second since the value before, for any reason.
    pub dropped_pps: Vec<f64>,
    /// Packets marked per second since the value before; empty if none was in the whole run.
    pub marked_pps: Vec<f64>,
    /// The thresholds of the average, in its unit, each with its name, such as `min`; empty without any.
    pub thresholds: Vec<(String, f64)>,
}

/// A shaper over time; one value for each of [`Timeline::time_s`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ShaperTimeline {
    /// The name of its queue.
    pub name: String,
    /// Its rate in bit/s.
    pub rate_bps: Vec<f64>,
    /// The rate of the link behind it in bit/s.
    pub link_bps: Vec<f64>,
}

/// A group of flows over time; one value for each of [`Timeline::time_s`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupTimeline {
    /// The group's name.
    pub name: String,
    /// Bit/s of data that the group's receivers had not had before, since the value before.
    pub goodput_bps: Vec<f64>,
    /// The congestion window in packets, as the mean of the group's flows; NaN where none of them has one, and empty
    /// where none ever has.
    #[serde(deserialize_with = "with_gaps")]
    pub cwnd_packets: Vec<f64>,
    /// The smoothed round trip time in seconds, as the mean of the group's flows that have measured one; NaN before
    /// that, and empty where none ever has.
    #[serde(deserialize_with = "with_gaps")]
    pub srtt_s: Vec<f64>,
    /// How far the flows' windows move together after the warm-up, -1 to 1: the sum of the covariances of all pairs of
    /// flows over that of the products of their standard deviations, which is the mean correlation of pairs weighted by
    /// these products, over the times at which all of them have a window. `None` unless two windows change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_correlation: Option<f64>,
}

/// Reads values; JSON has `null` where there is none, for which the timeline has NaN.
fn with_gaps<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
    let values: Vec<Option<f64>> = Deserialize::deserialize(from)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}
