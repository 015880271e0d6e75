//! A checked scenario: everything that an engine needs, without references to the file.

use std::fmt;

use fairlane_qdisc::{Bytes, Duration, QdiscConfig, Rate};

use crate::read::plain_parameters;
use crate::source::{OnOff, Udp};
use crate::tcp::Tcp;
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

    /// Returns `true` if outcomes have the queue of `hop`: it carries data, or acknowledgements that may wait.
    ///
    /// This is so if it is the direction that the link was described for, if its queue or its wire is described, or if
    /// it is so slow that half of the acknowledgements fill it.
    #[must_use]
    pub fn reports(&self, hop: Hop) -> bool {
        let answers = |group: &FlowGroup| !matches!(group.traffic, Traffic::Udp(_)) && group.back.contains(&hop);
        let may_wait = || !hop.reverse || self.links[hop.link].answers_may_wait();
        self.flows.iter().any(|group| group.path.contains(&hop) || answers(group) && may_wait())
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

impl Link {
    /// Returns `true` if acknowledgements may wait in the reverse direction: it is not the plain default of 1000
    /// packets, or it is slow.
    fn answers_may_wait(&self) -> bool {
        /// Half the size of a packet of 1500 bytes over that of an acknowledgement of 40 (RFC 3449, section 2.1: a
        /// normalised bandwidth ratio of 1/2).
        const SLOW: u64 = 19;
        let Self { forward, reverse, .. } = self;
        let slow = reverse.rate.bits_per_second().saturating_mul(SLOW) < forward.rate.bits_per_second();
        let wire = Wire { rates: reverse.wire.rates.clone(), ..Wire::default() };
        slow || reverse.wire != wire || plain_parameters().ok().as_ref() != Some(reverse.queue.parameters())
    }
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
    /// A policer, a shaper, loss, jitter and changes of the rate.
    pub wire: Wire,
}

impl LinkSide {
    /// Returns the rate at which the queue is emptied: that of the shaper, if there is one.
    #[must_use]
    pub fn queue_rate(&self) -> Rate {
        self.wire.queue_rate(self.rate)
    }
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

/// Flows with the same parameters. Each flow has its own source host and destination host.
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
    /// Time when the flows stop sending; `None` for never. With [phases](Self::later_phases) the end of the first one.
    pub stop: Option<Duration>,
    /// The phases after the first one: the flows start and stop together at these times.
    pub later_phases: Vec<Phase>,
    /// The application that its score is about; `None` for none.
    pub score: Option<Score>,
    /// The links from the source's node to the destination's.
    pub path: Vec<Hop>,
    /// The links back, for acknowledgements.
    pub back: Vec<Hop>,
    /// The link between each source and the path's first node; `None`: the source is that node.
    pub source: Option<Access>,
    /// The link between each destination and the path's last node; `None`: the destination is that node.
    pub sink: Option<Access>,
}

/// The application that a score is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Score {
    /// A call, one direction for each flow, behind a jitter buffer: a packet is played this time after the earliest
    /// moment at which one has come so far, or not at all.
    Voip {
        /// The time.
        jitter_buffer: Duration,
    },
    /// Web pages.
    Web,
    /// Video streaming.
    VideoStreaming,
    /// A video conference.
    VideoConference,
}

/// A time in which flows send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its start.
    pub from: Duration,
    /// Its end, after the start.
    pub to: Duration,
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
    /// A transport that a program brings: the simulator's `run_endpoints` runs it. The sizes and traffic classes of its
    /// datagrams are its own, so [`FlowGroup::packet`] and [`FlowGroup::class`] do not count.
    Endpoint,
}

impl Traffic {
    /// Returns its name in a scenario file (`kind`).
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Udp(_) => "udp",
            Self::Tfrc(_) => "tfrc",
            Self::Endpoint => "endpoint",
        }
    }
}

impl fmt::Display for Traffic {
    /// Writes its kind, and which [`Tcp`] it is.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        if let Self::Tcp(tcp) = self { write!(f, " {tcp}") } else { Ok(()) }
    }
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
