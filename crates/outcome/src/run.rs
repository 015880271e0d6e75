//! Counts of one run.

use std::borrow::Cow;
use std::sync::Arc;

use fairlane_qdisc::Reason;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::histogram::{read_histogram, write_histogram};
use crate::score::ScoreRun;

/// The counts of one run, from the end of the warm-up to the end of the run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The scenario's name.
    pub scenario: String,
    /// The engine, such as `sim`.
    pub engine: Cow<'static, str>,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of the run, from 0.
    pub run: u32,
    /// Start of the measurement in seconds.
    pub from_s: f64,
    /// End of the measurement in seconds: the scenario's duration, or less when the run was interrupted.
    pub to_s: f64,
    /// The run was interrupted before the scenario's end.
    pub partial: bool,
    /// The queues of the links between nodes that carried data, and of those that carried acknowledgements and that the
    /// scenario describes, in its order.
    pub queues: Vec<QueueRun>,
    /// All flows, in the scenario's order, which is that of their ids.
    pub flows: Vec<FlowRun>,
    /// Computing time and memory.
    pub cost: Cost,
    /// The values that follow from the scenario alone.
    #[serde(default)]
    pub expected: Expected,
}

/// The values that follow from the scenario alone, before any run; empty for engines without a scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Each group with the max-min fair rate of its flows together, in bit/s.
    pub fair_bps: Vec<(String, f64)>,
    /// Sentences about groups that something else than the queues of the run limits.
    pub notes: Vec<String>,
}

/// One queue's counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueRun {
    /// The queue's name: its link's, with `/reverse` for the other direction.
    pub name: String,
    /// The discipline's name.
    pub kind: Cow<'static, str>,
    /// Rate of its link in bit/s.
    pub rate_bps: f64,
    /// Bytes that the link sent during the measurement though they were given to it before, less those given to it
    /// during the measurement that it sent after the end; 0 where the engine does not know.
    #[serde(default)]
    pub edge_bytes: f64,
    /// Packets in the queue, averaged over time.
    pub mean_packets: f64,
    /// The discipline's own average, averaged over arrivals; `None` where it keeps none or nothing arrived.
    pub mean_avg: Option<f64>,
    /// Time in the queue of every packet that left by the link, in nanoseconds.
    #[serde(serialize_with = "write_histogram", deserialize_with = "read_histogram")]
    pub delay_ns: Histogram<u64>,
    /// Each flow's part, for the flows that came here, by rising id.
    pub flows: Vec<QueueFlowRun>,
}

/// One flow's counts at one queue, in packets unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueFlowRun {
    /// The flow's id.
    pub flow: u32,
    /// Offered to the queue.
    pub arrived: u64,
    /// Given to the link.
    pub departed: u64,
    /// Bytes given to the link.
    pub departed_bytes: u64,
    /// Marked, for any reason.
    pub marked: u64,
    /// Given to the link and then lost on the wire.
    pub lost: u64,
    /// Dropped, by [`Reason::index`].
    pub dropped: [u64; Reason::COUNT],
    /// The flow's packets in the queue, averaged over time.
    pub mean_packets: f64,
}

/// One flow's counts from end to end, in packets unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowRun {
    /// The flow's number in the scenario, from 0.
    pub id: u32,
    /// The flow's name, such as `ftp/0`.
    pub name: Arc<str>,
    /// Its group's name, such as `ftp`.
    pub group: Arc<str>,
    /// `tcp`, `udp`, `tfrc` or `endpoint`.
    pub kind: Cow<'static, str>,
    /// The kind, and for TCP its congestion control, loss recovery and slow start, such as `tcp reno, recovery sack`;
    /// the same for all flows of a group.
    pub transport: Arc<str>,
    /// The last queue on its data's path: an index into [`Run::queues`]; `None` where it passes none of them. The
    /// queues alone do not tell, since they are in the scenario's order and carry acknowledgements too.
    pub exit: Option<usize>,
    /// Data packets sent, retransmissions included.
    pub sent: u64,
    /// Data packets that reached the receiver.
    pub delivered: u64,
    /// Bytes of data that the receiver had not had before, counted by their size on the wire; of endpoints the payload
    /// that the sink tells.
    pub unique_bytes: u64,
    /// Data packets dropped, at any queue.
    pub dropped: u64,
    /// Data packets lost on a wire, behind any queue.
    pub lost: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Duration of each completed transfer in nanoseconds; `None` for a flow without transfers.
    pub completions_ns: Option<Vec<u64>>,
    /// For each of these, the time from its start until its first data reached the receiver, in nanoseconds; `None`
    /// where that is not known.
    #[serde(default)]
    pub startups_ns: Option<Vec<u64>>,
    /// Its delays; `None` where the engine does not see both ends by one clock.
    #[serde(default)]
    pub path: Option<PathRun>,
    /// The playback at its viewer; `None` for a flow that is no adaptive video.
    #[serde(default)]
    pub video: Option<Box<VideoRun>>,
    /// The measurements for its score; `None` for a flow without one.
    #[serde(default)]
    pub score: Option<Box<ScoreRun>>,
}

/// The playback of an adaptive video at its viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VideoRun {
    /// Segments that arrived.
    pub segments: u64,
    /// The sum of their bit rates in bit/s.
    pub bit_rates_bps: u64,
    /// Times that the playback stopped for want of data.
    pub stalls: u64,
    /// The time that it stood still, in nanoseconds; the start-up is not part of it.
    pub stalled_ns: u64,
    /// Segments of another bit rate than the one before.
    pub switches: u64,
    /// The time from the start of the flow until the playback began, in nanoseconds, whether or not that was in the
    /// measurement; `None` if it did not begin.
    pub startup_ns: Option<u64>,
}

/// The sums of a flow's delays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathRun {
    /// Times of the delivered data packets from the sender to the receiver, in nanoseconds.
    pub delay_ns: u64,
    /// Differences, without their signs, between the delays of consecutive delivered packets, in nanoseconds.
    pub variation_ns: u64,
    /// Times from sending a segment until the acknowledgement that answers it came, in nanoseconds.
    pub round_trip_ns: u64,
    /// Number of acknowledgements.
    pub round_trips: u64,
}

/// Computing time and memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// Events handled.
    pub events: u64,
    /// Packets handed over a link, data and acknowledgements.
    pub packet_hops: u64,
    /// CPU seconds; 0 if not measured.
    pub cpu_s: f64,
    /// Elapsed seconds; 0 if not measured.
    pub wall_s: f64,
    /// Largest resident memory of the process in bytes; 0 if not measured.
    pub peak_rss_bytes: u64,
}
