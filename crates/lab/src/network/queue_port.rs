//! An NFQUEUE of the lab's router.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fairlane_linux::nfqueue::{Copied, Decision, Message, PacketMessage, Setup, Verdict};
use fairlane_linux::{QueueSocket, ReceiveBuffer, kernel_queue, now};
use fairlane_qdisc::Time;
use fairlane_qdisc::headers::{FlowId, Headers, LinkType};
use nix::errno::Errno;

use crate::address::flow_of;
use crate::error::LabError;

/// The maximum number of packets in the kernel: more than any scenario of the lab needs, and the maximum of Linux 6.18.
const MAX_PACKETS: u32 = 65_536;

/// The IP protocol number of ICMPv6.
const ICMPV6: u8 = 58;

/// A bound NFQUEUE.
pub(crate) struct QueuePort {
    number: u16,
    socket: QueueSocket,
    batch: ReceiveBuffer,
}

/// The packets that the router has seen.
#[derive(Clone, Copy, Default)]
pub(crate) struct PacketCounts {
    /// The size of the largest packet in bytes.
    pub(crate) largest: u32,
    /// Packets that belong to no flow.
    pub(crate) unclassified: u64,
    /// All packets.
    pub(crate) packets: u64,
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
            counts.packets += 1;
            counts.largest = counts.largest.max(queued.bytes);
            let (flow, counted) = owner(&queued);
            if !flow.is_some_and(|flow| take(at, flow, &queued)) {
                counts.unclassified += u64::from(counted);
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

/// Returns the flow of a packet, by its source address, and `false` for a packet of the hosts' IPv6, which has no flow
/// and no part in the traffic: neighbour discovery and multicast listener reports.
fn owner(queued: &PacketMessage<'_>) -> (Option<u32>, bool) {
    match Headers::read(LinkType::Raw, queued.payload, queued.bytes).flow {
        FlowId::Ip { source, protocol, .. } => (flow_of(source), protocol != ICMPV6),
        FlowId::Frame { .. } => (None, true),
    }
}
