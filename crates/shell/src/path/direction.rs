//! One direction of the link.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_link::Bottleneck;
use fairlane_linux::nfqueue::Decision;
use fairlane_linux::{Classifier, FlowsBy, FrameLine, LinkLayer, Marking, PacketNeeds, QueuedPacket, now};
use fairlane_outcome::QueueRun;
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{BoxQdisc, Host, Seed, Tagged, Time};
use fairlane_scenario::LinkSide;
use fairlane_traffic::ScenarioLine;

use super::lateness::Lateness;
use super::meter::{LinkFlow, LinkPacket, Meter};
use crate::error::ShellError;
use crate::relay::Judgement;

/// The marking of frames, where it does not matter: changes are written into their headers.
const MARKING: Marking = Marking::ByRule(1);

/// The number of packets that share one reading of the clock.
const PACKETS_PER_CLOCK_READ: u32 = 8;

/// The interfaces of a direction, from and to.
pub(crate) type Ends<'a> = [&'a str; 2];

/// A queue and its link, between two interfaces.
pub(crate) struct Direction {
    name: String,
    kind: &'static str,
    frames: FrameLine,
    link: Bottleneck<LinkPacket, BoxQdisc<LinkPacket>, ScenarioLine, Meter>,
    classifier: Classifier,
    lateness: Lateness,
    /// Frames that are no unicast IP packets, which the link does not carry.
    other: Vec<u32>,
    /// The packets about which the relay was asked, and what the link has decided.
    asked: HashMap<u32, Decision>,
}

/// The counts of a direction.
pub(crate) struct DirectionResults {
    pub(crate) queue: QueueRun,
    pub(crate) flows: Vec<LinkFlow>,
    pub(crate) lateness: Lateness,
    pub(crate) lost_frames: u64,
}

impl Direction {
    /// Opens the interfaces of this thread's namespace. `seed` is that of the run, from which the simulator takes the
    /// same random numbers.
    pub(crate) fn open(side: &LinkSide, name: &str, [from, to]: Ends<'_>, seed: Seed) -> Result<Self, ShellError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed: seed.named("queue").named(name) })?;
        let line = ScenarioLine::new(side, seed.named("wire").named(name));
        let needs = PacketNeeds::of(side.queue.config());
        Ok(Self {
            name: name.to_owned(),
            kind: side.queue.kind().name(),
            frames: FrameLine::open(from, to)?,
            link: Bottleneck::with_line(discipline, line, Meter::default()),
            classifier: Classifier { needs, ..Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()) },
            lateness: Lateness::default(),
            other: Vec::new(),
            asked: HashMap::new(),
        })
    }

    /// Takes packets that have arrived since the last call to the queue. Returns `true` if there may be more.
    pub(crate) fn receive(&mut self, start: Time) -> bool {
        let Self { frames, link, classifier, other, .. } = self;
        let clock = || Time::ZERO + now().since(start);
        let (mut at, mut taken) = (clock(), 0);
        frames.receive(classifier, |packet| {
            if !is_unicast(&packet.flow_id()) {
                return other.push(packet.id);
            }
            if taken == PACKETS_PER_CLOCK_READ {
                (at, taken) = (clock(), 0);
            }
            taken += 1;
            let packet = link.observer_mut().admit(at, packet);
            link.push(at, packet);
        })
    }

    /// Sends the packets that have reached the far end by `now` as `judge` says of each, by its number and its frame.
    /// Returns `true` if the kernel has not accepted all frames yet.
    pub(crate) fn deliver(
        &mut self,
        now: Time,
        mut judge: impl FnMut(&QueuedPacket, &[u8]) -> Judgement,
    ) -> io::Result<bool> {
        let Self { frames, link, lateness, other, asked, .. } = self;
        while let Some((due, Tagged { packet, .. })) = link.pop_timed(now) {
            lateness.add(now.since(due));
            let (id, judgement) = (packet.id, judge(&packet, frames.frame(packet.id)));
            let decision = packet.decision(MARKING);
            match judgement {
                Judgement::Pass => frames.decide(id, &decision)?,
                Judgement::Drop => frames.decide(id, &Decision::Drop)?,
                Judgement::Asked => drop(asked.insert(id, decision)),
            }
        }
        for id in link.observer_mut().gone().chain(other.drain(..)) {
            frames.decide(id, &Decision::Drop)?;
        }
        self.flush()
    }

    /// Lets the kernel send. Returns `true` if it has not accepted all frames yet.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        self.frames.flush()
    }

    /// Sends or drops a packet about which the relay was asked.
    pub(crate) fn answer(&mut self, id: u32, passes: bool) -> io::Result<()> {
        let Some(decision) = self.asked.remove(&id) else { return Ok(()) };
        self.frames.decide(id, if passes { &decision } else { &Decision::Drop })
    }

    /// Returns the time of the next event.
    pub(crate) fn due(&self) -> Option<Time> {
        self.link.next()
    }

    /// Returns the counts up to `now`.
    pub(crate) fn finish(&mut self, now: Time) -> DirectionResults {
        let rate = self.link.line().mean_rate(Time::ZERO, now);
        let (queue, flows) = self.link.observer_mut().finish(now, &self.name, self.kind, rate);
        let lost_frames = self.frames.overrun() + self.frames.refused();
        DirectionResults { queue, flows, lateness: self.lateness.clone(), lost_frames }
    }
}

impl AsFd for Direction {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }
}

/// Returns `true` for an IP packet to one host.
fn is_unicast(flow: &FlowId) -> bool {
    match flow {
        FlowId::Ip { destination: IpAddr::V4(four), .. } => !four.is_multicast() && !four.is_broadcast(),
        FlowId::Ip { destination: IpAddr::V6(six), .. } => !six.is_multicast(),
        FlowId::Frame { .. } => false,
    }
}
