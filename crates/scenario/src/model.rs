//! A checked scenario: everything that an engine needs, without references to the file.

use fairlane_qdisc::{Bytes, Duration, QdiscConfig, Rate};

use crate::application::Application;
use crate::source::{OnOff, Udp};
use crate::wire::Wire;

/// A network, its traffic, and the time to simulate.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Name of the scenario.
    pub name: String,
    /// Simulated time.
    pub duration: Duration,
    /// Time at the start that is left out of every average; less than `duration`.
    pub warmup: Duration,
    /// Seed of all random numbers.
    pub seed: u64,
    /// The names of the nodes that links join.
    pub nodes: Vec<String>,
    /// The links between nodes; both directions of each.
    pub links: Vec<Link>,
    /// The traffic.
    pub flows: Vec<FlowGroup>,
}

impl Scenario {
    /// The names of all flows, by their numbers: that of the group, and the flow's number in it.
    pub fn flow_names(&self) -> impl Iterator<Item = String> {
        self.flows.iter().flat_map(|group| (0..group.count).map(|number| format!("{}/{number}", group.name)))
    }
}

/// A link between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The link's name; its queues are reported under it, the reverse one with `/reverse` appended.
    pub name: String,
    /// The node where it begins: an index into [`Scenario::nodes`].
    pub from: usize,
    /// The node where it ends: an index into [`Scenario::nodes`].
    pub to: usize,
    /// The direction from `from` to `to`.
    pub forward: LinkSide,
    /// The direction from `to` to `from`.
    pub reverse: LinkSide,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkSide {
    /// Rate of transmission; the [nominal](crate::RateSteps::nominal) rate if it varies.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The discipline of its queue.
    pub queue: QdiscConfig,
    /// Loss, jitter and changes of the rate.
    pub wire: Wire,
}

/// The link that connects a host to its node, the same in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    /// Rate of transmission.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Duration,
    /// The discipline of its queue, in both directions.
    pub queue: QdiscConfig,
}

/// A link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Index into [`Scenario::links`].
    pub link: usize,
    /// Against the link's direction, from its `to` to its `from`.
    pub reverse: bool,
}

/// Flows with the same parameters. Each flow has a source host and a destination host of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowGroup {
    /// The group's name; its flows are `name/0`, `name/1` …
    pub name: String,
    /// Number of flows.
    pub count: u32,
    /// The kind of traffic, with its parameters.
    pub traffic: Traffic,
    /// Size of a data packet on the wire.
    pub packet: Bytes,
    /// The TOS or traffic class byte of its data, without ECN's two bits: the DSCP times 4; 0 is best effort.
    pub class: u8,
    /// Each flow starts at a moment drawn uniformly from here to the next field.
    pub start_from: Duration,
    /// The end of the range of starts.
    pub start_to: Duration,
    /// Time when the flows stop sending; `None` for never.
    pub stop: Option<Duration>,
    /// The links from the source's node to the destination's.
    pub path: Vec<Hop>,
    /// The links back, for acknowledgements.
    pub back: Vec<Hop>,
    /// The link between each source and the path's first node; `None`: the source is that node.
    pub source: Option<Access>,
    /// The link between each destination and the path's last node; `None`: the destination is that node.
    pub sink: Option<Access>,
}

/// The kind of traffic that a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Traffic {
    /// TCP.
    Tcp(Tcp),
    /// UDP, which does not react to loss or marks.
    Udp(Udp),
    /// TCP-Friendly Rate Control.
    Tfrc(Tfrc),
}

/// TCP-Friendly Rate Control (RFC 5348).
#[derive(Clone, Debug, PartialEq)]
pub struct Tfrc {
    /// The highest rate of the application on the wire; `None`: no limit.
    pub rate: Option<Rate>,
    /// On and off periods of its data; `None`: unlimited data.
    pub on_off: Option<OnOff>,
    /// Packets are spaced by the round trip of the moment, which damps oscillations (section 4.5).
    pub damping: bool,
    /// True if its packets are ECN-capable; a mark counts as a loss.
    pub ecn: bool,
}

/// A TCP sender and its receiver.
#[derive(Clone, Debug, PartialEq)]
pub struct Tcp {
    /// The application that supplies the data.
    pub application: Application,
    /// Congestion control and loss recovery.
    pub congestion: Congestion,
    /// The receiver's window in packets.
    pub window: u32,
    /// The initial congestion window in packets.
    pub initial_window: u32,
    /// Size of an acknowledgement on the wire.
    pub ack: Bytes,
    /// Granularity of the retransmission clock (G of RFC 6298): round trips are measured and timeouts kept in whole ticks.
    pub tick: Duration,
    /// The smallest retransmission timeout.
    pub min_rto: Duration,
    /// The largest retransmission timeout, backed off or not.
    pub max_rto: Duration,
    /// The retransmission timeout before the first round trip has been measured.
    pub initial_rto: Duration,
    /// Every segment's round trip is measured, by timestamps (RFC 7323), rather than one a window (Karn).
    pub timestamps: bool,
    /// New segments on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// The window grows by the segments that are acknowledged (RFC 3465), rather than by acknowledgements. Vegas and BBR are
    /// not affected.
    pub byte_counting: bool,
    /// An acknowledgement for every second segment, or after this delay (RFC 1122); `None`: one for every segment.
    pub delayed_ack: Option<Duration>,
    /// Explicit Congestion Notification (RFC 3168).
    pub ecn: bool,
    /// A mark at a window of one packet makes the sender wait for its retransmission timer (RFC 3168, section 6.1.2);
    /// otherwise it goes on with one packet a round trip.
    pub ecn_timeout: bool,
    /// Packets leave evenly spread over the round trip. BBR's always do.
    pub pacing: bool,
    /// Slow start ends when the round trip rises (HyStart++, RFC 9406). Vegas and BBR have a slow start of their own.
    pub hystart: bool,
}

/// Congestion control with its loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Congestion {
    /// Tahoe: fast retransmit, then slow start (Jacobson 1988).
    Tahoe,
    /// Reno: fast recovery (RFC 5681), left on the first new acknowledgement.
    Reno,
    /// NewReno (RFC 6582).
    NewReno,
    /// Reno's window with SACK-based recovery (RFC 2018, RFC 6675).
    Sack,
    /// Vegas (Brakmo, Peterson 1995), with SACK.
    Vegas,
    /// CUBIC (RFC 9438), with SACK.
    Cubic,
    /// DCTCP (RFC 8257), with SACK; it needs ECN.
    Dctcp,
    /// BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00), with SACK.
    Bbr,
}

impl Congestion {
    /// Returns true if losses are repaired by selective acknowledgements (RFC 6675).
    #[must_use]
    pub const fn uses_sack(self) -> bool {
        match self {
            Self::Tahoe | Self::Reno | Self::NewReno => false,
            Self::Sack | Self::Vegas | Self::Cubic | Self::Dctcp | Self::Bbr => true,
        }
    }

    /// Returns true if it needs Explicit Congestion Notification.
    #[must_use]
    pub const fn needs_ecn(self) -> bool {
        matches!(self, Self::Dctcp)
    }
}

impl Tcp {
    /// TCP as ns-2 had it when the CHOKe papers were written (1999): a clock of 0.1 s, a round trip timed once a
    /// window, timeouts of two ticks and more, an initial window of one packet, an acknowledgement for each packet.
    #[must_use]
    pub const fn ns2_1999(congestion: Congestion, window: u32) -> Self {
        Self {
            application: Application::Ftp,
            congestion,
            window,
            initial_window: 1,
            ack: Bytes::new(40),
            tick: Duration::from_millis(100),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_millis(64_000),
            initial_rto: Duration::from_millis(6_000),
            timestamps: false,
            limited_transmit: false,
            byte_counting: false,
            delayed_ack: None,
            ecn: congestion.needs_ecn(),
            ecn_timeout: false,
            pacing: false,
            hystart: false,
        }
    }

    /// TCP as hosts run it today: timestamps in milliseconds, RTO of 200 ms and more, an initial window of ten packets
    /// (RFC 6928), limited transmit, delayed acknowledgements, and a window that grows by the acknowledged data (RFC 3465).
    #[must_use]
    pub const fn modern(congestion: Congestion, window: u32) -> Self {
        Self {
            application: Application::Ftp,
            congestion,
            window,
            initial_window: 10,
            ack: Bytes::new(40),
            tick: Duration::from_millis(1),
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_millis(60_000),
            initial_rto: Duration::from_millis(1_000),
            timestamps: true,
            limited_transmit: true,
            byte_counting: true,
            delayed_ack: Some(Duration::from_millis(40)),
            ecn: congestion.needs_ecn(),
            ecn_timeout: false,
            pacing: false,
            hystart: false,
        }
    }
}
