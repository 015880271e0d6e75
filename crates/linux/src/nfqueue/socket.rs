//! The netlink socket of one NFQUEUE.

use std::fs;
use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce};
use nix::sys::socket::{
    AddressFamily, MsgFlags, MultiHeaders, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, connect, recv,
    recvmmsg, send, setsockopt, socket,
};

use crate::nfqueue::proc::kernel_queue;
use crate::nfqueue::verdict_writer::VerdictWriter;
use crate::nfqueue::{Decision, Message, Setup, Verdict, messages};
use crate::sys::sockopt::no_enobufs;

/// The maximum number of datagrams received in one call.
const BATCH: usize = 64;

/// Space for the attributes around a packet's bytes, including those of a packet that arrived through a bridge, and of
/// its connection.
const AROUND: usize = 2048;

/// The size of the receive buffer, which holds packets while the thread does other work. The kernel counts about 1 kB
/// for each packet.
const RECEIVE_BUFFER: usize = 32 << 20;

/// Verdicts are sent when this many bytes have accumulated. The kernel accepts at most 200 kB in one call.
const SEND_AT: usize = 64 << 10;

/// The sequence number of the bind request, the only request with an answer.
const SETUP: u32 = 1;

/// A reason why a queue was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The user lacks the capability CAP_NET_ADMIN.
    #[error("NFQUEUE needs the capability CAP_NET_ADMIN: run it as root")]
    NotPermitted,
    /// Another program has bound the queue: the queue's number and that program's netlink port.
    #[error("queue {0} is bound by another program ({by}): end that program, or choose another number", by = owner(*.1))]
    Taken(u16, u32),
    /// The kernel has no NFQUEUE.
    #[error("this kernel has no NFQUEUE: load the module nfnetlink_queue, or use a kernel that has it")]
    Missing,
    /// The kernel cannot tell what connection tracking knows of packets.
    #[error(
        "this kernel does not tell the hosts behind its address translation, which nat needs: leave nat out, load the module \
         nf_conntrack_netlink, or use a kernel with CONFIG_NETFILTER_NETLINK_GLUE_CT"
    )]
    NoConntrack,
    /// Another error.
    #[error("queue {0} cannot be bound: {1}")]
    Failed(u16, #[source] io::Error),
}

/// The result of [`QueueSocket::receive`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The number of datagrams received.
    pub datagrams: usize,
    /// `true` if there may be more to receive.
    pub more: bool,
    /// `true` if the kernel reported that the receive buffer was full and packets were dropped.
    pub overrun: bool,
}

/// A buffer for received datagrams, owned by the thread that receives.
pub struct ReceiveBuffer {
    headers: MultiHeaders<()>,
    buffer: Vec<u8>,
    /// The bytes in `buffer` for each datagram.
    room: usize,
}

/// A bound NFQUEUE. The owner must decide on every packet received. Dropping the socket unbinds the queue, and the
/// kernel drops the packets that wait in it.
pub struct QueueSocket {
    socket: OwnedFd,
    number: u16,
    /// The maximum size of a datagram in bytes.
    room: usize,
    /// The verdicts not sent yet.
    verdicts: VerdictWriter,
}

impl QueueSocket {
    /// Binds a queue. From now on its packets wait for a verdict.
    ///
    /// # Errors
    /// The queue is bound by another program, the user lacks the right, or the kernel has no NFQUEUE.
    pub fn bind(setup: &Setup) -> Result<Self, BindError> {
        let failed = |error: Errno| BindError::Failed(setup.queue, error.into());
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter);
        let socket = socket.map_err(|error| match error {
            Errno::EPROTONOSUPPORT | Errno::EAFNOSUPPORT => BindError::Missing,
            other => failed(other),
        })?;
        // With port 0 the kernel chooses a port. Connecting to the kernel excludes messages from others.
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed)?;
        connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed)?;
        // A size above the system's limit needs a further capability. Within the limit every user may set it.
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)
            .or_else(|_| setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER))
            .map_err(failed)?;
        no_enobufs(socket.as_fd()).map_err(failed)?;
        let room = setup.copied.bytes() as usize + AROUND;
        let mut queue = Self { socket, number: setup.queue, room, verdicts: VerdictWriter::new(setup.queue) };
        setup.write(SETUP, queue.verdicts.bytes());
        queue.flush().map_err(|error| BindError::Failed(setup.queue, error))?;
        queue.wait_for_answer(setup.conntrack)?;
        Ok(queue)
    }

    /// Waits for the answer to the bind request. If a rule exists already, packets may arrive meanwhile: they are
    /// accepted. `conntrack` tells whether [`Setup::conntrack`] was asked for.
    fn wait_for_answer(&mut self, conntrack: bool) -> Result<(), BindError> {
        let mut buffer = vec![0; self.room];
        loop {
            let length = match recv(self.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => length,
                Err(Errno::EINTR | Errno::ENOBUFS) => continue,
                Err(error) => return Err(BindError::Failed(self.number, error.into())),
            };
            for message in messages(&buffer[..length]) {
                match message {
                    Message::Packet(packet) => {
                        self.verdicts.decide(&Verdict { id: packet.id, decision: Decision::Accept, repeat: None });
                    }
                    Message::Answer(answer) if answer.sequence == SETUP => {
                        self.flush().map_err(|error| BindError::Failed(self.number, error))?;
                        return match Errno::from_raw(answer.error) {
                            _ if answer.error == 0 => Ok(()),
                            Errno::EOPNOTSUPP if conntrack => Err(BindError::NoConntrack),
                            error => Err(refused(self.number, error)),
                        };
                    }
                    _ => {}
                }
            }
        }
    }

    /// Creates a receive buffer.
    #[must_use]
    pub fn receive_buffer(&self) -> ReceiveBuffer {
        let headers = MultiHeaders::preallocate(BATCH, None);
        ReceiveBuffer { headers, buffer: vec![0; BATCH * self.room], room: self.room }
    }

    /// Passes each message that has arrived to `each`, at most one batch, without waiting.
    ///
    /// # Errors
    /// The socket failed permanently.
    pub fn receive(&mut self, batch: &mut ReceiveBuffer, mut each: impl FnMut(Message<'_>)) -> io::Result<Received> {
        let mut lengths = [0; BATCH];
        let datagrams = match batch.fill(self.socket.as_fd(), &mut lengths) {
            Ok(datagrams) => datagrams,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(Received::default()),
            Err(Errno::ENOBUFS) => return Ok(Received { more: true, overrun: true, datagrams: 0 }),
            Err(error) => return Err(error.into()),
        };
        for (datagram, length) in batch.buffer.chunks_exact(batch.room).zip(&lengths[..datagrams]) {
            for message in messages(&datagram[..*length]) {
                if let Message::Packet(packet) = message {
                    self.verdicts.arrived(packet.id);
                }
                each(message);
            }
        }
        Ok(Received { datagrams, more: datagrams == BATCH, overrun: false })
    }

    /// Adds a verdict to those sent next. Packets that are accepted in their order of arrival share one message.
    ///
    /// # Errors
    /// As [`flush`](Self::flush), which is called when many verdicts have accumulated.
    pub fn decide(&mut self, verdict: &Verdict) -> io::Result<()> {
        self.verdicts.decide(verdict);
        if self.verdicts.length() >= SEND_AT { self.flush() } else { Ok(()) }
    }

    /// Accepts every waiting packet up to `id`, and sends all verdicts.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn accept_up_to(&mut self, id: u32) -> io::Result<()> {
        self.verdicts.accept_up_to(id);
        self.flush()
    }

    /// Sends the accumulated verdicts.
    ///
    /// # Errors
    /// The kernel did not accept the verdicts. They are sent again with the next ones.
    pub fn flush(&mut self) -> io::Result<()> {
        let out = self.verdicts.bytes();
        while !out.is_empty() {
            let piece = piece(out);
            match send(self.socket.as_raw_fd(), &out[..piece], MsgFlags::empty()) {
                Ok(_) => drop(out.drain(..piece)),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Returns the number of bytes to send in one call: whole messages, at least one. More than fit accumulate only after
/// the kernel has refused some.
fn piece(out: &[u8]) -> usize {
    let mut end = 0;
    while let Some(bytes) = out.get(end..).and_then(|rest| rest.first_chunk()) {
        let next = end + (u32::from_ne_bytes(*bytes) as usize).max(1);
        if end > 0 && next > 2 * SEND_AT {
            return end;
        }
        end = next;
    }
    out.len()
}

impl ReceiveBuffer {
    /// Receives datagrams into the buffer and their lengths into `lengths`, and returns their number.
    fn fill(&mut self, socket: BorrowedFd<'_>, lengths: &mut [usize; BATCH]) -> nix::Result<usize> {
        let mut slices: Vec<_> =
            self.buffer.chunks_exact_mut(self.room).map(|chunk| [IoSliceMut::new(chunk)]).collect();
        let flags = MsgFlags::MSG_DONTWAIT;
        let datagrams = recvmmsg(socket.as_raw_fd(), &mut self.headers, &mut slices, flags, None)?;
        Ok(datagrams.zip(lengths).map(|(datagram, length)| *length = datagram.bytes).count())
    }
}

impl AsFd for QueueSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Describes the owner of a netlink port, whose number is normally a process id.
fn owner(port: u32) -> String {
    match fs::read_to_string(format!("/proc/{port}/comm")) {
        Ok(name) => format!("netlink port {port}, {}", name.trim_end()),
        Err(_) => format!("netlink port {port}"),
    }
}

/// Translates the kernel's `error`. EPERM means that the user lacks the right, or that the queue is bound by another
/// program.
fn refused(number: u16, error: Errno) -> BindError {
    match (error, kernel_queue(number)) {
        (Errno::EPERM | Errno::EBUSY, Some(queue)) => BindError::Taken(number, queue.port),
        (Errno::EPERM, None) => BindError::NotPermitted,
        (Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOENT, None) => BindError::Missing,
        (error, _) => BindError::Failed(number, error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a message that is cut in two, and a call with more bytes than the kernel accepts (about 200 kB).
    #[test]
    fn pieces_are_whole_messages() {
        let mut out = Vec::new();
        for id in 0..10_000 {
            let decision = if id % 100 == 0 { Decision::Rewrite(vec![1; 60_000].into()) } else { Decision::Drop };
            Verdict { id, decision, repeat: None }.write(0, &mut out);
        }
        let mut rest = &out[..];
        while !rest.is_empty() {
            let (sent, left) = rest.split_at(piece(rest));
            assert!(!sent.is_empty() && sent.len() <= 2 * SEND_AT, "{}", sent.len());
            assert!(
                left.is_empty() || [32, 60_036].contains(&u32::from_ne_bytes([left[0], left[1], left[2], left[3]]))
            );
            rest = left;
        }
        assert_eq!((piece(&[]), piece(&out[..32])), (0, 32));
    }
}
