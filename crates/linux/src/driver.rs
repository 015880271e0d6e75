//! What a router needs of the way that packets come and go.

mod bridge;
mod queue;

pub(crate) use bridge::BridgeDriver;
pub(crate) use queue::QueueDriver;

use std::io;
use std::os::fd::BorrowedFd;

use fairlane_qdisc::Duration;

use crate::flow::FlowKeys;
use crate::link_layer::LinkLayer;
use crate::nfqueue::Verdict;
use crate::packet::Held;
use crate::report::Report;

/// What is told of a packet to the discipline, beside what stands in it.
#[derive(Clone)]
pub(crate) struct Reading {
    /// Its flow and its hosts.
    pub(crate) keys: FlowKeys,
    /// What it takes on the link.
    pub(crate) layer: LinkLayer,
}

/// A way for packets to come to a router and to leave it. Until its verdict a packet is the driver's, by the number
/// that its [`Held`] has.
pub(crate) trait Driver {
    /// Room for a batch. It stays with the thread that receives.
    type Batch;

    /// Makes such room.
    fn batch(&self) -> Self::Batch;

    /// Tells `arrive` of packets that have come, up to a batch, without waiting; whether there may be more.
    ///
    /// # Errors
    /// Nothing can come any more.
    fn receive(&mut self, batch: &mut Self::Batch, reading: &Reading, arrive: impl FnMut(Held)) -> io::Result<bool>;

    /// Does what was decided. What cannot be done now, but may be later, is kept and counted.
    ///
    /// # Errors
    /// Nothing can leave any more.
    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()>;

    /// What becomes readable when a packet has come.
    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>>;

    /// After how long [`decide`](Self::decide) is to be called again though nothing was decided: something is kept.
    fn retry(&self) -> Option<Duration> {
        None
    }

    /// Looks after an error of a source.
    ///
    /// # Errors
    /// Nothing can come or leave any more.
    fn mend(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Takes nothing more in but what has come already. For an NFQUEUE whoever has installed the rules sees to that.
    ///
    /// # Errors
    /// It could not be.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Lets everything go on that still waits for its verdict: the end.
    ///
    /// # Errors
    /// It could not be.
    fn release(&mut self) -> io::Result<()>;

    /// Writes what it has counted itself into `report`.
    fn tell(&mut self, report: &mut Report);
}
