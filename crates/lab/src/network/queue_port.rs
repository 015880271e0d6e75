//! An NFQUEUE before or behind a discipline of the kernel.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_linux::nfqueue::{Copied, Decision, Message, PacketMessage, Setup, Verdict};
use fairlane_linux::{QueueSocket, ReceiveBuffer, kernel_queue, now};
use fairlane_qdisc::Time;
use fairlane_qdisc::headers::{Headers, LinkType};
use nix::errno::Errno;

use crate::error::LabError;
use crate::router::PacketCounts;

/// The maximum number of packets in the kernel: more than any scenario of the lab needs, and the maximum of Linux 6.18.
const MAX_PACKETS: u32 = 65_536;

/// A bound NFQUEUE.
pub(crate) struct QueuePort {
    number: u16,
    socket: QueueSocket,
    batch: ReceiveBuffer,
}

/// Binds the NFQUEUE `number` in this thread's namespace. Another thread can receive from it.
pub(crate) fn bind(number: u16) -> Result<QueueSocket, LabError> {
    let setup = Setup {
        queue: number,
        copied: Copied::Headers,
        max_packets: MAX_PACKETS,
        fail_open: false,
        gso: false,
        conntrack: false,
    };
    Ok(QueueSocket::bind(&setup)?)
}

impl QueuePort {
    /// Binds the NFQUEUE `number` in this thread's namespace.
    pub(crate) fn bind(number: u16) -> Result<Self, LabError> {
        Ok(Self::new(number, bind(number)?))
    }

    /// Receives from `socket`, which is bound to the NFQUEUE `number`.
    pub(crate) fn new(number: u16, socket: QueueSocket) -> Self {
        let batch = socket.receive_buffer();
        Self { number, socket, batch }
    }

    /// Receives packets and offers each to `take` with the time and its flow. One that is of no flow, or that `take`
    /// leaves, passes at once. Returns `true` if there may be more.
    pub(crate) fn receive(
        &mut self,
        counts: &mut PacketCounts,
        mut take: impl FnMut(Time, u32, &PacketMessage<'_>) -> bool,
    ) -> io::Result<bool> {
        let mut passing = Vec::new();
        let at = now();
        let received = self.socket.receive(&mut self.batch, |message| {
            let Message::Packet(queued) = message else { return };
            counts.add(queued.bytes);
            let packet = Headers::read(LinkType::Raw, queued.payload, queued.bytes).flow;
            if counts.flow_of(packet, |flow| take(at, flow, &queued)).is_none() {
                passing.push(queued.id);
            }
        })?;
        for id in passing {
            self.socket.decide(&Verdict { id, decision: Decision::Accept, repeat: None })?;
        }
        Ok(received.more)
    }

    /// Sends `verdicts` to the kernel.
    pub(crate) fn decide(&mut self, verdicts: impl Iterator<Item = Verdict>) -> io::Result<()> {
        for verdict in verdicts {
            self.socket.decide(&verdict)?;
        }
        match self.socket.flush() {
            // The kernel has no memory now; the verdicts are sent again with the next ones.
            Err(error) if error.raw_os_error() == Some(Errno::ENOBUFS as i32) => Ok(()),
            result => result,
        }
    }

    /// Returns the number of packets that the kernel dropped instead of handing them over. Called in the namespace of
    /// the queue.
    pub(crate) fn lost_in_kernel(&self) -> u64 {
        kernel_queue(self.number).map_or(0, |queue| queue.dropped_full + queue.dropped_unread)
    }

    /// Returns the socket, which is readable when there are packets.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
