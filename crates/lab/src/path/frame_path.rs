//! One direction of an emulated network between two interfaces.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_link::LinkObserver;
use fairlane_linux::{BridgeError, Classifier, FlowsBy, FrameLine, LinkLayer, PacketNeeds, QueuedPacket};
use fairlane_qdisc::headers::FlowId;
use fairlane_qdisc::{AnyConfig, Tagged, Time};

use super::{Chain, Lateness, LinkPacket, Stamps};

/// Moves frames from one interface to another through a [`Chain`], each by the time at which the kernel received it.
pub struct FramePath<M> {
    frames: FrameLine,
    classifier: Classifier,
    chain: Chain<M>,
    /// The time up to which all arrivals are known. The chain is not moved beyond it, so that none comes too late.
    known: Time,
    lateness: Lateness,
    /// Frames that the link does not carry.
    other: Vec<u32>,
}

/// A decision on a packet that has reached the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Send it.
    Pass,
    /// Drop it.
    Drop,
    /// Keep it until there is an [`answer`](FramePath::answer).
    Asked,
}

impl<M: LinkObserver<LinkPacket>> FramePath<M> {
    /// Opens the interfaces, from and to, of this thread's namespace. `discipline` is that of the chain.
    ///
    /// # Errors
    /// One of them cannot be opened.
    pub fn open([from, to]: [&str; 2], chain: Chain<M>, discipline: &AnyConfig) -> Result<Self, BridgeError> {
        let needs = PacketNeeds::of(discipline);
        Ok(Self {
            frames: FrameLine::open(from, to)?,
            classifier: Classifier { needs, ..Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()) },
            chain,
            known: Time::ZERO,
            lateness: Lateness::default(),
            other: Vec::new(),
        })
    }

    /// Takes packets that have arrived by `now`, each at the time at which the kernel received it. `flow` returns the
    /// number of a packet's flow; one without is dropped. Returns `true` if there may be more.
    pub fn receive(
        &mut self,
        now: Time,
        clock: &Stamps,
        mut flow: impl FnMut(&mut M, &QueuedPacket) -> Option<u32>,
    ) -> bool {
        let Self { frames, chain, classifier, other, known, .. } = self;
        let more = frames.receive(classifier, |received, packet| {
            let Some(flow) = flow(chain.meter_mut(), &packet) else { return other.push(packet.id) };
            *known = clock.time_of(received, now).max(*known);
            chain.arrive(*known, flow, packet);
        });
        if !more {
            *known = now.max(*known);
        }
        more
    }

    /// Returns the time up to which all arrivals are known.
    #[must_use]
    pub const fn known(&self) -> Time {
        self.known
    }

    /// Sends the packets that have reached the other end by the [known](Self::known) time, if `judge` lets them pass.
    /// Its arguments are the time of arrival, the number, the flow and the frame of a packet. Returns `true` if the
    /// kernel has not accepted all frames yet.
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn deliver(
        &mut self,
        now: Time,
        mut judge: impl FnMut(Time, u32, FlowId, &[u8]) -> Judgement,
    ) -> io::Result<bool> {
        let Self { frames, chain, lateness, other, known, .. } = self;
        chain.advance(*known);
        // A time stamp may be ahead of the clock, and with it the known time.
        while let Some((due, Tagged { packet, .. })) = chain.pop(now.min(*known)) {
            lateness.add(now.since(due));
            let (id, flow) = (packet.id, packet.flow_id());
            frames.change(packet);
            match judge(due, id, flow, frames.frame(id)) {
                Judgement::Pass => frames.send(id)?,
                Judgement::Drop => frames.discard(id),
                Judgement::Asked => {}
            }
        }
        chain.gone().chain(other.drain(..)).for_each(|id| frames.discard(id));
        self.flush()
    }

    /// Lets the kernel send. Returns `true` if it has not accepted all frames yet.
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn flush(&mut self) -> io::Result<bool> {
        self.frames.flush()
    }

    /// Sends or drops a packet that waits for an answer.
    ///
    /// # Errors
    /// No more frames can be sent.
    pub fn answer(&mut self, id: u32, passes: bool) -> io::Result<()> {
        if passes {
            return self.frames.send(id);
        }
        self.frames.discard(id);
        Ok(())
    }

    /// Returns the chain.
    #[must_use]
    pub const fn chain(&self) -> &Chain<M> {
        &self.chain
    }

    /// Returns the chain for changes.
    pub const fn chain_mut(&mut self) -> &mut Chain<M> {
        &mut self.chain
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self) {
        self.chain.begin();
        self.lateness = Lateness::default();
    }

    /// Returns how late packets were delivered.
    #[must_use]
    pub const fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// Returns the number of frames that were lost outside of the link, since the machine was too slow.
    pub fn lost(&mut self) -> u64 {
        self.frames.overrun() + self.frames.refused()
    }
}

impl<M> AsFd for FramePath<M> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.frames.as_fd()
    }
}
