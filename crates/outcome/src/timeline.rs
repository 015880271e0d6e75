//! How a run went, as one value every so often: what the figures of a page show.

/// Queues and groups over time, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueTimeline {
    /// The queue's name.
    pub name: String,
    /// Packets in the queue.
    pub packets: Vec<f64>,
    /// The discipline's own average, in its own unit; empty where it keeps none.
    pub average: Vec<f64>,
}

/// A shaper over time; one value for each of [`Timeline::time_s`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShaperTimeline {
    /// The name of its queue.
    pub name: String,
    /// Its rate in bit/s.
    pub rate_bps: Vec<f64>,
    /// The rate of the link behind it in bit/s.
    pub link_bps: Vec<f64>,
}

/// A group of flows over time; one value for each of [`Timeline::time_s`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupTimeline {
    /// The group's name.
    pub name: String,
    /// Bit/s delivered to the group's receivers since the value before.
    pub throughput_bps: Vec<f64>,
}
