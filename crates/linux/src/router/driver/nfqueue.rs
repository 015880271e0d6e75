//! The driver of an NFQUEUE. The packets stay in the kernel, and verdicts go to its socket.

use std::io;
use std::iter::once;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use super::Driver;
use crate::nfqueue::proc::kernel_queue;
use crate::nfqueue::socket::{BindError, QueueSocket, ReceiveBuffer};
use crate::nfqueue::{Message, Setup, Verdict};
use crate::packet::classifier::Classifier;
use crate::packet::gso;
use crate::router::config::QueueConfig;
use crate::router::report::Report;
use crate::shaper::queued_packet::{Marking, QueuedPacket};

/// The maximum number of packets in the kernel: those in the discipline, and those on their way to it. Far above the
/// limit of any queue, so that the discipline decides about drops. Linux 6.18 holds at most 65,536 in any case.
const MAX_PACKETS: u32 = 1_000_000;

/// A distance beyond every packet that the kernel can have numbered by now. The kernel compares numbers within half of
/// their range.
const AHEAD: u32 = 1 << 30;

/// A bound NFQUEUE.
pub(crate) struct QueueDriver {
    socket: QueueSocket,
    number: u16,
    marking: Marking,
    /// The number of the last packet received.
    last: u32,
    counts: SocketCounts,
}

/// Counts of events at the socket.
#[derive(Clone, Copy, Default)]
struct SocketCounts {
    overruns: u64,
    unknown: u64,
    malformed: u64,
    unsent: u64,
}

impl QueueDriver {
    /// Binds the queue `number`. From now on its packets wait for a verdict.
    /// With `conntrack` the kernel tells the hosts behind address translation.
    pub(crate) fn bind(number: u16, config: &QueueConfig, conntrack: bool) -> Result<Self, BindError> {
        let &QueueConfig { marking, fail_open, gso, mtu, .. } = config;
        let gso = gso && mtu.is_some() && marking != Marking::ByUs;
        let copied = marking.copied();
        let setup = Setup { queue: number, copied, max_packets: MAX_PACKETS, fail_open, gso, conntrack };
        Ok(Self { socket: QueueSocket::bind(&setup)?, number, marking, last: 0, counts: SocketCounts::default() })
    }
}

impl Driver for QueueDriver {
    type Buffer = ReceiveBuffer;
    type Successor = ();

    fn buffer(&self) -> ReceiveBuffer {
        self.socket.receive_buffer()
    }

    fn receive(
        &mut self,
        buffer: &mut ReceiveBuffer,
        classifier: &Classifier,
        mut arrive: impl FnMut(QueuedPacket),
    ) -> io::Result<bool> {
        let Self { socket, marking, last, counts, .. } = self;
        let received = socket.receive(buffer, |message| match message {
            Message::Packet(queued) => {
                *last = queued.id;
                let packet = QueuedPacket::new(&queued, classifier, *marking);
                arrive(match classifier.mtu {
                    Some(mtu) if queued.gso || queued.bytes > mtu => {
                        let size = if queued.gso { gso::wire_bytes } else { gso::in_fragments };
                        packet.with_size(size(classifier.layer, queued.payload, queued.bytes, mtu))
                    }
                    _ => packet,
                });
            }
            Message::Answer(answer) => counts.unknown += u64::from(answer.error != 0),
            Message::Malformed => counts.malformed += 1,
            Message::Other => {}
        })?;
        counts.overruns += u64::from(received.overrun);
        Ok(received.more)
    }

    /// Verdicts that the kernel has no memory for are sent again with the next ones.
    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        let mut sent = Ok(());
        for verdict in verdicts {
            sent = sent.and(self.socket.decide(&verdict));
        }
        match sent.and_then(|()| self.socket.flush()) {
            Err(error) if is_temporary(&error) => {
                self.counts.unsent += 1;
                Ok(())
            }
            result => result,
        }
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        once(self.socket.as_fd())
    }

    fn release(&mut self) -> io::Result<()> {
        // Without a repetition, which would give all of them the same firewall mark.
        self.socket.accept_up_to(self.last.wrapping_add(AHEAD))
    }

    fn fill_report(&mut self, report: &mut Report) {
        let SocketCounts { overruns, unknown, malformed, unsent } = self.counts;
        (report.overruns, report.unknown, report.malformed, report.unsent) = (overruns, unknown, malformed, unsent);
        report.kernel = kernel_queue(self.number);
    }
}

/// Returns `true` if the same call may succeed later.
fn is_temporary(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN))
}
