//! Rows of time series: counts of flows and queues in each interval of a run.

use serde::Serialize;

/// Counts of a flow since its previous row, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FlowRow<'a> {
    /// The end of the interval, in seconds from the start of the run.
    pub time_s: f64,
    /// The flow's number.
    pub flow: u32,
    /// The flow's name.
    pub flow_name: &'a str,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets that reached the receiver.
    pub delivered: u64,
    /// Data packets dropped, at any queue.
    pub dropped: u64,
    /// Data packets lost on a wire.
    pub lost: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Bit/s of data at the receiver, by its size on the wire.
    pub throughput_bps: f64,
    /// Bit/s of data that the receiver had not had before.
    pub goodput_bps: f64,
    /// The congestion window in packets at the end of the interval; `None` where there is none.
    pub cwnd: Option<f64>,
    /// The smoothed round trip time in seconds at the end of the interval; `None` before the first measurement.
    pub srtt_s: Option<f64>,
}

/// Counts of a queue since its previous row, in packets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueRow<'a> {
    /// The end of the interval, in seconds from the start of the run.
    pub time_s: f64,
    /// The queue's name.
    pub queue: &'a str,
    /// Offered to the queue.
    pub arrived: u64,
    /// Given to the link.
    pub departed: u64,
    /// Dropped, for any reason.
    pub dropped: u64,
    /// Marked, for any reason.
    pub marked: u64,
    /// Bit/s given to the link.
    pub throughput_bps: f64,
    /// Packets in the queue at the end of the interval.
    pub backlog_packets: u64,
    /// Bytes in the queue at the end of the interval.
    pub backlog_bytes: u64,
    /// The discipline's own average at the end of the interval; `None` without one.
    pub avg: Option<f64>,
    /// The discipline's probability of a signal at the end of the interval; `None` without a single one.
    pub probability: Option<f64>,
}
