//! One direction of the link.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_lab::{Chain, FramePath, Judgement, Lateness, Stamps, Timeline};
use fairlane_outcome::QueueRun;
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::LinkSide;

use super::meter::{LinkFlow, Meter};
use super::sampling::Sampling;
use crate::error::ShellError;

/// The interfaces of a direction, from and to.
pub(crate) type Ends<'a> = [&'a str; 2];

/// A queue and its link, between two interfaces.
pub(crate) struct Direction {
    name: String,
    kind: &'static str,
    path: FramePath<Meter>,
    sampling: Sampling,
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
        ends: Ends<'_>,
        seed: Seed,
        timeline: Timeline,
    ) -> Result<Self, ShellError> {
        let chain = Chain::new(side, name, seed, Time::ZERO, Meter::default())?;
        Ok(Self {
            name: name.to_owned(),
            kind: side.queue.kind().name(),
            path: FramePath::open(ends, chain, side.queue.config())?,
            sampling: Sampling::new(timeline),
        })
    }

    /// Takes packets that have arrived by `now`, each at the time at which the kernel received it. Returns `true` if
    /// there may be more.
    pub(crate) fn receive(&mut self, now: Time, clock: &Stamps) -> bool {
        let more = self.path.receive(now, clock, |meter, packet| {
            let flow = packet.flow_id();
            is_unicast(&flow).then(|| meter.number(flow))
        });
        self.sampling.take(self.path.known(), self.path.chain_mut());
        more
    }

    /// See [`FramePath::deliver`].
    pub(crate) fn deliver(
        &mut self,
        now: Time,
        judge: impl FnMut(Time, u32, FlowId, &[u8]) -> Judgement,
    ) -> io::Result<bool> {
        self.path.deliver(now, judge)
    }

    /// Lets the kernel send. Returns `true` if it has not accepted all frames yet.
    pub(crate) fn flush(&mut self) -> io::Result<bool> {
        self.path.flush()
    }

    /// Sends or drops a packet about which the relay was asked.
    pub(crate) fn answer(&mut self, id: u32, passes: bool) -> io::Result<()> {
        self.path.answer(id, passes)
    }

    /// Returns the time of the next event, or of the next sample.
    pub(crate) fn due(&self) -> Option<Time> {
        self.path.chain().due().into_iter().chain(self.sampling.due()).min()
    }

    /// Returns the samples.
    pub(crate) const fn sampling(&mut self) -> &mut Sampling {
        &mut self.sampling
    }

    /// Takes the last samples, and returns the counts up to `now`.
    pub(crate) fn finish(&mut self, now: Time) -> DirectionResults {
        let lost_frames = self.path.lost();
        let lateness = self.path.lateness().clone();
        let chain = self.path.chain_mut();
        self.sampling.take(now, chain);
        let rate = chain.mean_rate(Time::ZERO, now);
        let (queue, flows) = chain.meter_mut().finish(now, &self.name, self.kind, rate);
        let queue = QueueRun { mean_avg: chain.mean_average(), ..queue };
        DirectionResults { queue, flows, lateness, lost_frames, signalled: self.signalled() }
    }

    fn signalled(&self) -> Signalled {
        let at = |second: u64| Time::from_nanos(second * 1_000_000_000);
        let chain = self.path.chain();
        let seconds = chain.meter().signalled();
        let could: f64 = seconds.iter().map(|(second, _)| chain.mean_rate(at(*second), at(*second + 1))).sum();
        let sent: u64 = seconds.iter().map(|(_, bytes)| bytes * 8).sum();
        Signalled { seconds: seconds.len() as u64, utilisation: sent as f64 / could.max(1.0) }
    }
}

impl AsFd for Direction {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.path.as_fd()
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
