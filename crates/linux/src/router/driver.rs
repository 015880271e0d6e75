//! The interface between the router and a data path.

mod bridge;
mod nfqueue;

pub(crate) use bridge::BridgeDriver;
pub(crate) use nfqueue::QueueDriver;

use std::io;
use std::os::fd::BorrowedFd;

use fairlane_qdisc::Duration;

use crate::bridge::BridgeError;
use crate::nfqueue::Verdict;
use crate::packet::classifier::Classifier;
use crate::router::config::BridgeConfig;
use crate::router::report::Report;
use crate::shaper::queued_packet::QueuedPacket;

/// A data path. The driver holds each packet until its verdict, and identifies it by [`QueuedPacket::id`].
pub(crate) trait Driver {
    /// A buffer for received packets, owned by the thread that receives.
    type Buffer;

    /// The other interfaces of a bridge that moves, opened.
    type Successor;

    /// Creates a receive buffer.
    fn buffer(&self) -> Self::Buffer;

    /// Passes packets that have arrived to `arrive`, at most one batch, without waiting. Returns `true` if there may be
    /// more.
    ///
    /// # Errors
    /// No more packets can be received.
    fn receive(
        &mut self,
        buffer: &mut Self::Buffer,
        classifier: &Classifier,
        arrive: impl FnMut(QueuedPacket),
    ) -> io::Result<bool>;

    /// Carries out verdicts. Those that cannot be carried out now, but may be later, are kept and counted.
    ///
    /// # Errors
    /// No more packets can be sent.
    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()>;

    /// Returns the descriptors that become readable when a packet arrives.
    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>>;

    /// Returns the time after which [`decide`](Self::decide) must be called again although nothing was decided, because
    /// verdicts were kept.
    fn retry(&self) -> Option<Duration> {
        None
    }

    /// Returns `true` if a source may have become useless without a report, so that
    /// [`clear_errors`](Self::clear_errors) has to be called after each wait.
    fn may_be_gone(&self) -> bool {
        false
    }

    /// Clears the error state of the sources.
    ///
    /// # Errors
    /// The error is permanent: packets can no longer be received or sent.
    fn clear_errors(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Accepts no new packets. Those that have arrived can still be received. An NFQUEUE does nothing here: removing
    /// its rules stops the flow of packets.
    ///
    /// # Errors
    /// The data path cannot be closed.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Opens the other interfaces of a bridge. Until [`move_to`](Self::move_to) nothing changes.
    ///
    /// # Errors
    /// The reason why they cannot be bridged.
    fn prepare(&self, _bridge: &BridgeConfig) -> Result<Self::Successor, BridgeError> {
        Err(BridgeError::NotABridge)
    }

    /// Moves to other interfaces. Packets that have arrived on those that are left are passed to `arrive` before.
    ///
    /// # Errors
    /// No more packets can be received or sent.
    fn move_to(
        &mut self,
        _successor: Self::Successor,
        _classifier: &Classifier,
        _arrive: impl FnMut(QueuedPacket),
    ) -> io::Result<()> {
        Ok(())
    }

    /// Accepts every packet that still waits for its verdict. Called once, at the end.
    ///
    /// # Errors
    /// The packets cannot be sent.
    fn release(&mut self) -> io::Result<()>;

    /// Writes the driver's own counts into `report`.
    fn fill_report(&mut self, report: &mut Report);
}
