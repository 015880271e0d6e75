//! The schema of outcomes, which are printed, compared and plotted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::drops::Drops;
use crate::histogram::DelayHistogram;
use crate::point::Point;
use crate::record::{Key, Keyed, record};
use crate::{Cost, Estimate};

/// Results of one scenario with one seed, over one or more runs.
///
/// The JSON form is a contract; `docs/outcome.md` describes every key. With several runs each number is the mean over
/// them and its 95 % interval stands next to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The scenario's name.
    pub scenario: String,
    /// The engine, such as `sim`.
    pub engine: String,
    /// The scenario's seed.
    pub seed: u64,
    /// Number of runs that the numbers are averaged over.
    pub runs: u64,
    /// Start of the measurement in seconds.
    pub from_s: f64,
    /// End of the measurement in seconds.
    pub to_s: f64,
    /// A run was interrupted: there are fewer runs than were asked for, or they are shorter.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// The name under which tables and figures show this outcome, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The keys that a sweep varied, or in which the disciplines of a comparison differ, with the values of this
    /// outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<Point>,
    /// The name of the queue that summaries are about, if one was asked for; see [`Outcome::shown_queues`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Sentences about groups that something else than the queues limits, such as the links of their hosts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The queues, in the scenario's order.
    pub queues: Vec<QueueOutcome>,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowOutcome>,
    /// The groups of flows, in the scenario's order.
    pub groups: Vec<GroupOutcome>,
    /// The values of each run by which outcomes are compared; empty for a single run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub each_run: Vec<RunValues>,
    /// Computing time and memory, over all runs.
    pub cost: Cost,
}

/// The values of one run by which outcomes are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunValues {
    /// Number of the run. Runs of the same number and seed have the same random numbers in their traffic.
    pub run: u32,
    /// The values of each group, by its name.
    pub groups: BTreeMap<String, GroupValues>,
    /// The values of each queue, by its name.
    pub queues: BTreeMap<String, QueueValues>,
}

/// The values of a group in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupValues {
    /// As [`GroupOutcome::throughput_bps`].
    pub throughput_bps: f64,
    /// As [`GroupOutcome::share`].
    pub share: f64,
}

/// The values of a queue in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct QueueValues {
    /// The mean of [`QueueOutcome::delay_s`].
    pub delay_mean_s: f64,
    /// As [`QueueOutcome::utilisation`].
    pub utilisation: f64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_false(flag: &bool) -> bool {
    !flag
}

record! {
    /// One queue. Counts are in packets.
    pub struct QueueOutcome {
        /// The queue's name.
        pub name: String => Plain,
        /// The discipline's name.
        pub kind: String => Plain,
        /// Offered to the queue.
        pub arrived: Estimate => Count,
        /// Given to the link.
        pub departed: Estimate => Count,
        /// Marked, for any reason.
        pub marked: Estimate => Count,
        /// Dropped, by reason.
        pub dropped: Drops => Nested,
        /// Given to the link and then lost on the wire.
        pub lost: Estimate => Rare,
        /// Packets in the queue, averaged over time.
        pub mean_packets: Estimate => Real,
        /// The discipline's own average, in its own unit, averaged over arrivals; `None` where it keeps none.
        pub mean_avg: Option<Estimate> => Maybe,
        /// Time in the queue, of the packets given to the link.
        pub delay_s: Delay => Nested,
        /// Bits that the link sent, over its capacity, 0 to 1. A packet whose transmission crosses an end of the window
        /// counts with the part inside.
        pub utilisation: Estimate => Real,
        /// Deviation of the goodputs of the flows whose last queue this is from equal parts of its link, see
        /// [`stats::normalised_deviation`](crate::stats::normalised_deviation).
        pub normalised_deviation: Estimate => Real,
        /// Each group's part, for the groups that came here.
        pub groups: Vec<QueueGroup> => Nested,
        /// Each flow's part, for the flows that came here.
        pub flows: Vec<QueueFlow> => Nested,
        /// Distribution of the time in the queue, over all runs; empty when the outcome was read from JSON.
        pub delay_histogram: DelayHistogram => Hidden,
    }
}

record! {
    /// A time in seconds; 0 where there was none to measure, as in a queue that no packet left by the link.
    #[derive(Default)]
    pub struct Delay {
        /// Mean.
        pub mean: Estimate => Real,
        /// Median.
        pub p50: Estimate => Real,
        /// 95th percentile.
        pub p95: Estimate => Real,
        /// 99th percentile.
        pub p99: Estimate => Real,
    }
}

record! {
    /// One group's part of a queue. Counts are in packets.
    pub struct QueueGroup {
        /// The group's name.
        pub name: String => Plain,
        /// Offered to the queue.
        pub arrived: Estimate => Count,
        /// Given to the link.
        pub departed: Estimate => Count,
        /// Marked, for any reason.
        pub marked: Estimate => Count,
        /// Dropped, by reason.
        pub dropped: Drops => Nested,
        /// Dropped over arrived; 0 where nothing arrived.
        pub drop_ratio: Estimate => Real,
        /// Given to the link, in bit/s.
        pub throughput_bps: Estimate => Real,
        /// Part of everything that was given to the link, by bytes, 0 to 1; 0 where nothing was.
        pub share: Estimate => Real,
        /// Part of the packets in the queue, 0 to 1; 0 where it was empty.
        pub queue_share: Estimate => Real,
    }
}

record! {
    /// One flow's part of a queue. Counts are in packets.
    pub struct QueueFlow {
        /// The flow's number in the scenario.
        pub id: u32 => Plain,
        /// Offered to the queue.
        pub arrived: Estimate => Count,
        /// Given to the link.
        pub departed: Estimate => Count,
        /// Dropped, for any reason.
        pub dropped: Estimate => Count,
        /// Dropped over arrived; 0 where nothing arrived.
        pub drop_ratio: Estimate => Real,
        /// Given to the link, in bit/s.
        pub throughput_bps: Estimate => Real,
        /// Part of the packets in the queue, 0 to 1; 0 where it was empty.
        pub queue_share: Estimate => Real,
    }
}

record! {
    /// One flow from end to end. Counts are in packets.
    pub struct FlowOutcome {
        /// The flow's number in the scenario, from 0.
        pub id: u32 => Plain,
        /// The flow's name, such as `ftp/0`.
        pub name: Arc<str> => Plain,
        /// Its group's name, such as `ftp`.
        pub group: Arc<str> => Plain,
        /// `tcp`, `udp` or `tfrc`.
        pub kind: Cow<'static, str> => Plain,
        /// Data packets sent, retransmissions included.
        pub sent: Estimate => Count,
        /// Data packets that reached the receiver.
        pub delivered: Estimate => Count,
        /// Data packets dropped, at any queue.
        pub dropped: Estimate => Count,
        /// Data packets lost on a wire, behind any queue.
        pub lost: Estimate => Rare,
        /// Bit/s at the exit of the last queue on its path; for a flow that passes no queue, its goodput.
        pub throughput_bps: Estimate => Real,
        /// Bit/s of unique data at the receiver, by its size on the wire.
        pub goodput_bps: Estimate => Real,
        /// Dropped over sent; 0 where nothing was sent.
        pub drop_ratio: Estimate => Real,
        /// Part of the packets in the last queue on its path, 0 to 1; 0 where it was empty.
        pub queue_share: Estimate => Real,
        /// Data packets sent again.
        pub retransmitted: Estimate => Count,
        /// Retransmission timeouts.
        pub timeouts: Estimate => Count,
        /// Time of a data packet from the sender to the receiver, in seconds: the mean; `None` where it is not known or
        /// nothing came.
        pub delay_s: Option<Estimate> => Known,
        /// Jitter in seconds: the mean of the differences, without their signs, between the delays of consecutive data
        /// packets; `None` likewise.
        pub jitter_s: Option<Estimate> => Known,
        /// Time from sending a segment until its acknowledgement came, in seconds: the mean; `None` likewise and
        /// without TCP.
        pub rtt_s: Option<Estimate> => Known,
        /// Its completed transfers; `None` for a flow of unlimited data.
        pub transfers: Option<Box<TransferOutcome>> => Optional,
        /// The playback at its viewer; `None` for a flow that is no adaptive video.
        pub video: Option<Box<VideoOutcome>> => Optional,
    }
}

record! {
    /// Adaptive video, of one or several viewers together.
    pub struct VideoOutcome {
        /// Segments that arrived.
        pub segments: Estimate => Count,
        /// The mean bit rate of these segments, in bit/s; `None` where none arrived.
        pub bit_rate_bps: Option<Estimate> => Known,
        /// Times that the playback stopped for want of data.
        pub stalls: Estimate => Count,
        /// The time in seconds that it stood still; the start-up is not part of it.
        pub stalled_s: Estimate => Real,
        /// Segments of another bit rate than the one before.
        pub switches: Estimate => Count,
        /// The mean time in seconds from the start of a flow until its playback began, also if that was before the
        /// measurement; `None` where none began.
        pub startup_s: Option<Estimate> => Known,
    }
}

record! {
    /// How well a network suits an application.
    #[derive(Default)]
    pub struct ScoreOutcome {
        /// The application: `voip`, or a [profile](crate::score::Profile) of Quality of Outcome.
        pub application: String => Plain,
        /// Of calls: the mean opinion score, 1 to 4.5 (ITU-T G.107, Annex B); the mean over the flows.
        pub mos: Option<Estimate> => Known,
        /// Of calls: the transmission rating R of the E-model (ITU-T G.107), up to 93.2.
        pub rating: Option<Estimate> => Known,
        /// Of calls: the time from the speaker to the listener, in seconds.
        pub delay_s: Option<Estimate> => Known,
        /// Of calls: the part of the packets that were lost or came too late, 0 to 1.
        pub missing: Option<Estimate> => Known,
        /// Of other applications: Quality of Outcome, 0 to 100 (draft-ietf-ippm-qoo), of the round trips and the losses
        /// of all flows: the lowest score of those of the next two.
        pub qoo: Option<Estimate> => Known,
        /// Of other applications: the percentile of the round trips that the application is about, in seconds.
        pub round_trip_s: Option<Estimate> => Known,
        /// Of other applications: packets that were dropped or lost over those sent, 0 to 1.
        pub loss: Option<Estimate> => Known,
    }
}

record! {
    /// Transfers of limited size that were completed.
    pub struct TransferOutcome {
        /// Number of transfers.
        pub completed: Estimate => Count,
        /// The time that one took, from its start until its receiver had all of it; `None` if none was completed.
        pub completion_s: Option<Delay> => Sometimes,
        /// The mean time from its start until its first data reached the receiver, in seconds: the start-up time of RFC
        /// 7928, section 2.2, without the request; `None` if none was completed, or the engine does not know it.
        pub startup_s: Option<Estimate> => Known,
        /// Distribution of that time, over all runs, with transfers for packets; of groups only, and empty when the
        /// outcome was read from JSON.
        pub completion_histogram: DelayHistogram => Hidden,
    }
}

record! {
    /// One group of flows from end to end.
    pub struct GroupOutcome {
        /// The group's name, such as `ftp`.
        pub name: String => Plain,
        /// Which transport ran: `udp`, `tfrc`, or `tcp` with its congestion control, and its loss recovery and slow
        /// start where that name does not tell them, such as `tcp reno, recovery sack`.
        pub transport: String => Plain,
        /// Number of flows.
        pub flows: u64 => Plain,
        /// Total of its flows' throughput, in bit/s.
        pub throughput_bps: Estimate => Real,
        /// Its part of all groups' throughput, 0 to 1; 0 where there was none.
        pub share: Estimate => Real,
        /// Its flows' packets dropped over those sent; 0 where nothing was sent.
        pub drop_ratio: Estimate => Real,
        /// Its flows' max-min fair rate, all together, in bit/s; `None` where the paths are not known.
        pub fair_bps: Option<f64> => Given,
        /// Its part of all groups' max-min fair rates, 0 to 1; `None` where the paths are not known.
        pub fair_share: Option<f64> => Given,
        /// Its part of the packets in the last queues on the paths of all groups' flows, 0 to 1; 0 where they were
        /// empty. The parts of all groups add up to 1 at most. [`QueueGroup::queue_share`] is the part of a single
        /// queue.
        pub queue_share: Estimate => Real,
        /// Jain's index of its flows' throughput, see [`stats::jain`](crate::stats::jain); `None` if none had any.
        pub jain: Option<Estimate> => Maybe,
        /// Its flows' data packets sent again.
        pub retransmitted: Estimate => Count,
        /// Its flows' retransmission timeouts.
        pub timeouts: Estimate => Count,
        /// Time of a data packet from the sender to the receiver, in seconds: the mean; `None` where it is not known or
        /// nothing came.
        pub delay_s: Option<Estimate> => Known,
        /// Jitter in seconds: the mean of the differences, without their signs, between the delays of consecutive data
        /// packets; `None` likewise.
        pub jitter_s: Option<Estimate> => Known,
        /// Time from sending a segment until its acknowledgement came, in seconds: the mean; `None` likewise and
        /// without TCP.
        pub rtt_s: Option<Estimate> => Known,
        /// Its flows' completed transfers, all together; `None` for a group of unlimited data.
        pub transfers: Option<Box<TransferOutcome>> => Optional,
        /// The playback at the viewers of all its flows together; `None` for a group that is no adaptive video.
        pub video: Option<Box<VideoOutcome>> => Optional,
        /// Its score; `None` for a group without one.
        pub score: Option<Box<ScoreOutcome>> => Optional,
    }
}

macro_rules! keyed {
    ($($record:ident by $key:ident($self:ident => $value:expr);)*) => {
        $(impl Keyed for $record {
            fn key(&$self) -> Key<'_> {
                Key::$key($value)
            }
        })*
    };
}

keyed! {
    QueueOutcome by Name(self => &self.name);
    QueueGroup by Name(self => &self.name);
    QueueFlow by Number(self => self.id);
    FlowOutcome by Number(self => self.id);
    GroupOutcome by Name(self => &self.name);
}

impl Outcome {
    /// The queue called `name`.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<&QueueOutcome> {
        self.queues.iter().find(|queue| queue.name == name)
    }

    /// The group called `name`.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&GroupOutcome> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The flow called `name`, such as `ftp/0`.
    #[must_use]
    pub fn flow(&self, name: &str) -> Option<&FlowOutcome> {
        self.flows.iter().find(|flow| &*flow.name == name)
    }

    /// The flows of the group called `name`, in the scenario's order.
    pub fn flows_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a FlowOutcome> {
        self.flows.iter().filter(move |flow| &*flow.group == name)
    }

    /// The queues that a summary shows: the one that was asked for ([`at`](Self::at)), else the one called
    /// `bottleneck`, else all.
    ///
    /// The choice does not depend on measurements, so outcomes of the same links have the same queues.
    pub fn shown_queues(&self) -> impl Iterator<Item = &QueueOutcome> {
        let name = self.at.as_deref().unwrap_or("bottleneck");
        let one = self.at.is_some() || self.queue(name).is_some();
        self.queues.iter().filter(move |queue| !one || queue.name == name)
    }

    /// Length of the measurement in seconds.
    #[must_use]
    pub fn window_s(&self) -> f64 {
        (self.to_s - self.from_s).max(0.0)
    }
}

impl QueueOutcome {
    /// The part of the group called `name`.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<&QueueGroup> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The part of the flow with the number `id`.
    #[must_use]
    pub fn flow(&self, id: u32) -> Option<&QueueFlow> {
        self.flows.iter().find(|flow| flow.id == id)
    }
}

/// Several outcomes in the requested order, as `compare` and `sweep` print them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcomes {
    /// The outcomes.
    pub outcomes: Vec<Outcome>,
}
