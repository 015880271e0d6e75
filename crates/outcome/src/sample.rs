//! Cumulative counts of flows and queues at a moment of a run.

use fairlane_qdisc::{Count, Duration};

/// Counts of a flow since the start of the run, in packets unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowSample {
    /// The flow's number.
    pub flow: u32,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets that reached the receiver.
    pub delivered: u64,
    /// Their bytes on the wire.
    pub delivered_bytes: u64,
    /// Bytes of those that the receiver had not had before.
    pub unique_bytes: u64,
    /// Data packets dropped, at any queue.
    pub dropped: u64,
    /// Data packets lost on a wire.
    pub lost: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// The congestion window; `None` where there is none.
    pub cwnd: Option<f64>,
    /// The smoothed round trip time; `None` before the first measurement.
    pub srtt: Option<Duration>,
}

/// Counts of a queue since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueSample {
    /// The number of the link whose queue it is.
    pub link: u32,
    /// Offered to the queue.
    pub arrived: Count,
    /// Given to the link.
    pub departed: Count,
    /// Dropped, for any reason.
    pub dropped: Count,
    /// Marked, for any reason.
    pub marked: Count,
    /// In the queue now.
    pub backlog: Count,
    /// The discipline's current average, if it has one.
    pub average: Option<f64>,
    /// The probability with which the discipline signals now, where that is one number.
    pub probability: Option<f64>,
}
