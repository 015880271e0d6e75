//! Packets of an NFQUEUE: they stay in the kernel, and verdicts go to its socket.

use std::io;
use std::iter::once;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;

use super::{Driver, Reading};
use crate::kernel::kernel_queue;
use crate::nfqueue::{Message, Setup, Verdict};
use crate::packet::{Held, Marking};
use crate::report::Report;
use crate::router::QueueConfig;
use crate::segments;
use crate::socket::{Batch, BindError, QueueSocket};

/// How many packets may wait in the kernel: those in our queue, and those on their way to us. It is far above any queue's limit,
/// so that the discipline decides what is dropped. Linux 6.18 holds 65,536 whatever is asked for.
const MOST_PACKETS: u32 = 1_000_000;

/// Beyond every packet that the kernel can have numbered by now: numbers are compared within half of their range.
const AHEAD: u32 = 1 << 30;

/// An NFQUEUE that is bound.
pub(crate) struct QueueDriver {
    socket: QueueSocket,
    number: u16,
    marking: Marking,
    /// How long the segments of joined packets are.
    gso: Option<u32>,
    /// The number of the last packet.
    last: u32,
    tally: Tally,
}

/// What is counted at the socket.
#[derive(Clone, Copy, Default)]
struct Tally {
    overruns: u64,
    unknown: u64,
    malformed: u64,
    unsent: u64,
}

impl QueueDriver {
    /// Binds the queue `number`: from now on its packets wait for our verdict.
    pub(crate) fn bind(number: u16, config: &QueueConfig) -> Result<Self, BindError> {
        let &QueueConfig { marking, fail_open, gso, .. } = config;
        let gso = gso.filter(|_| marking != Marking::ByUs);
        let copied = marking.copied();
        let setup = Setup { queue: number, copied, most_packets: MOST_PACKETS, fail_open, gso: gso.is_some() };
        Ok(Self { socket: QueueSocket::bind(&setup)?, number, marking, gso, last: 0, tally: Tally::default() })
    }
}

impl Driver for QueueDriver {
    type Batch = Batch;

    fn batch(&self) -> Batch {
        self.socket.batch()
    }

    fn receive(&mut self, batch: &mut Batch, reading: &Reading, mut arrive: impl FnMut(Held)) -> io::Result<bool> {
        let Self { socket, marking, gso, last, tally, .. } = self;
        let received = socket.receive(batch, |message| match message {
            Message::Packet(queued) => {
                *last = queued.id;
                let held = Held::new(&queued, &reading.keys, reading.layer, *marking);
                arrive(match *gso {
                    Some(mtu) if queued.joined => {
                        held.taking(segments::wire_bytes(reading.layer, queued.payload, queued.bytes, mtu))
                    }
                    _ => held,
                });
            }
            Message::Answer(answer) => tally.unknown += u64::from(answer.error != 0),
            Message::Malformed => tally.malformed += 1,
            Message::Other => {}
        })?;
        tally.overruns += u64::from(received.overrun);
        Ok(received.more)
    }

    /// What the kernel has no memory for now it is told again.
    fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        let mut sent = Ok(());
        for verdict in verdicts {
            sent = sent.and(self.socket.decide(&verdict));
        }
        match sent.and_then(|()| self.socket.flush()) {
            Err(error) if is_temporary(&error) => {
                self.tally.unsent += 1;
                Ok(())
            }
            result => result,
        }
    }

    fn sources(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        once(self.socket.as_fd())
    }

    fn release(&mut self) -> io::Result<()> {
        self.socket.accept_up_to(self.last.wrapping_add(AHEAD))
    }

    fn tell(&mut self, report: &mut Report) {
        let Tally { overruns, unknown, malformed, unsent } = self.tally;
        (report.overruns, report.unknown, report.malformed, report.unsent) = (overruns, unknown, malformed, unsent);
        report.kernel = kernel_queue(self.number);
    }
}

/// Whether the same call may succeed later.
fn is_temporary(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN))
}
