//! One direction of the link.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_lab::Timeline;
use fairlane_link::Bottleneck;
use fairlane_linux::{Classifier, FlowsBy, FrameLine, LinkLayer, PacketNeeds};
use fairlane_outcome::QueueRun;
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{BoxQdisc, Host, Seed, Tagged, Time};
use fairlane_scenario::LinkSide;
use fairlane_traffic::ScenarioLine;

use super::lateness::Lateness;
use super::meter::{LinkFlow, LinkPacket, Meter};
use super::sampling::Sampling;
use super::stamps::Stamps;
use crate::error::ShellError;
use crate::relay::Judgement;

/// The interfaces of a direction, from and to.
pub(crate) type Ends<'a> = [&'a str; 2];

/// A queue with its link.
pub(crate) type DirectionLink = Bottleneck<LinkPacket, BoxQdisc<LinkPacket>, ScenarioLine, Meter>;

/// A queue and its link, between two interfaces.
pub(crate) struct Direction {
    name: String,
    kind: &'static str,
    frames: FrameLine,
    link: DirectionLink,
    sampling: Sampling,
    classifier: Classifier,
    /// The time up to which all arrivals are known. The link is not moved beyond it, so that none comes too late.
    known: Time,
    lateness: Lateness,
    /// Frames that are no unicast IP packets, which the link does not carry.
    other: Vec<u32>,
}

/// The seconds in which a discipline dropped or marked packets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signalled {
    /// Their number.
    pub seconds: u64,
    /// The part of the link's capacity that was used in them, from 0 to 1.
    pub utilisation: f64,
}

/// The counts of a direction.
pub(crate) struct DirectionResults {
    pub(crate) queue: QueueRun,
    pub(crate) flows: Vec<LinkFlow>,
    pub(crate) lateness: Lateness,
    pub(crate) lost_frames: u64,
    /// See [`Ended::signalled`](crate::Ended::signalled).
    pub(crate) signalled: Signalled,
}

impl Direction {
    /// Opens the interfaces of this thread's namespace. `seed` is that of the run, from which the simulator takes the
    /// same random numbers. The direction is sampled at the times of `timeline`.
    pub(crate) fn open(
        side: &LinkSide,
        name: &str,
        [from, to]: Ends<'_>,
        seed: Seed,
        timeline: Timeline,
    ) -> Result<Self, ShellError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed: seed.named("queue").named(name) })?;
        let line = ScenarioLine::new(side, seed.named("wire").named(name));
        let needs = PacketNeeds::of(side.queue.config());
        Ok(Self {
            name: name.to_owned(),
            kind: side.queue.kind().name(),
            frames: FrameLine::open(from, to)?,
            link: Bottleneck::with_line(discipline, line, Meter::default()),
            sampling: Sampling::new(timeline),
            classifier: Classifier { needs, ..Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()) },
            known: Time::ZERO,
            lateness: Lateness::default(),
            other: Vec::new(),
        })
    }

    /// Takes packets that have arrived by `now` to the queue, each at the time at which the kernel received it. Returns
    /// `true` if there may be more.
    pub(crate) fn receive(&mut self, now: Time, clock: &Stamps) -> bool {
        let Self { frames, link, sampling, classifier, other, known, .. } = self;
        let more = frames.receive(classifier, |received, packet| {
            if !is_unicast(&packet.flow_id()) {
                return other.push(packet.id);
            }
            *known = clock.time_of(received, now).max(*known);
            sampling.take(*known, link);
            let packet = link.observer_mut().admit(*known, packet);
            link.push(*known, packet);
        });
        if !more {
            *known = now.max(*known);
            sampling.take(*known, link);
        }
        more
    }

    /// Sends the packets that have reached the far end, if `judge` lets them pass, by their frames. Returns `true` if
    /// the kernel has not accepted all frames yet.
    pub(crate) fn deliver(
        &mut self,
        now: Time,
        mut judge: impl FnMut(Time, u32, FlowId, &[u8]) -> Judgement,
    ) -> io::Result<bool> {
        let Self { frames, link, lateness, other, known, .. } = self;
        while let Some((due, Tagged { packet, .. })) = link.pop_timed(*known) {
            lateness.add(now.since(due));
            let (id, flow) = (packet.id, packet.flow_id());
            frames.change(packet);
            match judge(due, id, flow, frames.frame(id)) {
                Judgement::Pass => frames.send(id)?,
                Judgement::Drop => frames.discard(id),
                Judgement::Asked => {}
            }
        }
        link.observer_mut().gone().chain(other.drain(..)).for_each(|id| frames.discard(id));
        self.flush()
    }

    /// Lets the kernel send. Returns `true` if it has not accepted all frames yet.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        self.frames.flush()
    }

    /// Sends or drops a packet about which the relay was asked.
    pub(crate) fn answer(&mut self, id: u32, passes: bool) -> io::Result<()> {
        if passes {
            return self.frames.send(id);
        }
        self.frames.discard(id);
        Ok(())
    }

    /// Returns the time of the next event, or of the next sample.
    pub(crate) fn due(&self) -> Option<Time> {
        self.link.next().into_iter().chain(self.sampling.due()).min()
    }

    /// Returns the samples.
    pub(crate) const fn sampling(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    /// Takes the last samples, and returns the counts up to `now`.
    pub(crate) fn finish(&mut self, now: Time) -> DirectionResults {
        self.sampling.take(now, &mut self.link);
        let rate = self.link.line().mean_rate(Time::ZERO, now);
        let (queue, flows) = self.link.observer_mut().finish(now, &self.name, self.kind, rate);
        let lost_frames = self.frames.overrun() + self.frames.refused();
        let signalled = self.signalled();
        DirectionResults { queue, flows, lateness: self.lateness.clone(), lost_frames, signalled }
    }

    fn signalled(&self) -> Signalled {
        let at = |second: u64| Time::from_nanos(second * 1_000_000_000);
        let seconds = self.link.observer().signalled();
        let could: f64 =
            seconds.iter().map(|(second, _)| self.link.line().mean_rate(at(*second), at(*second + 1))).sum();
        let sent: u64 = seconds.iter().map(|(_, bytes)| bytes * 8).sum();
        Signalled { seconds: seconds.len() as u64, utilisation: sent as f64 / could.max(1.0) }
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
