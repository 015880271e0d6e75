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

use crate::kernel::kernel_queue;
use crate::nfqueue::{Decision, Message, Setup, Verdict, messages};
use crate::option::no_enobufs;
use crate::verdicts::Verdicts;

/// How many datagrams are received in one call, at most.
const BATCH: usize = 64;

/// What the kernel writes around a packet's bytes: attributes of a packet that came through a bridge, and room to spare.
const AROUND: usize = 1024;

/// The receive buffer: packets wait here while we are at work elsewhere. The kernel counts about a kilobyte for each.
const RECEIVE_BUFFER: usize = 32 << 20;

/// Verdicts are sent when so many bytes of them have come together: the kernel takes no message above 200 kB.
const SEND_AT: usize = 64 << 10;

/// The sequence number of the only request that is answered.
const SETUP: u32 = 1;

/// Why a queue was not bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// This user may not.
    #[error("NFQUEUE needs the capability CAP_NET_ADMIN: run it as root")]
    NotPermitted,
    /// Another program has it.
    #[error("queue {0} is bound by another program ({by}): end that one, or choose another number", by = owner(*.1))]
    Taken(u16, u32),
    /// The kernel cannot.
    #[error("this kernel has no NFQUEUE: load the module nfnetlink_queue, or use a kernel that has it")]
    Missing,
    /// Something else.
    #[error("queue {0} cannot be bound: {1}")]
    Failed(u16, #[source] io::Error),
}

/// What a look at the socket has brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// Datagrams that were read.
    pub datagrams: usize,
    /// There may be more.
    pub more: bool,
    /// The kernel said that it had to drop what did not fit into the buffer.
    pub overrun: bool,
}

/// Room for what is received in one call. It stays with the thread that receives.
pub struct Batch {
    headers: MultiHeaders<()>,
    buffer: Vec<u8>,
    /// Bytes in `buffer` for one datagram.
    room: usize,
}

/// A bound NFQUEUE. Whoever has it must decide on every packet that it brings; dropping it ends the queue, and with it the
/// packets that wait there.
pub struct QueueSocket {
    socket: OwnedFd,
    number: u16,
    /// Bytes that one datagram may have.
    room: usize,
    /// Those that have not been sent yet.
    verdicts: Verdicts,
}

impl QueueSocket {
    /// Binds a queue: from now on its packets wait for our verdict.
    ///
    /// # Errors
    /// The queue is taken, this user may not, or the kernel cannot.
    pub fn bind(setup: &Setup) -> Result<Self, BindError> {
        let failed = |error: Errno| BindError::Failed(setup.queue, error.into());
        let flags = SockFlag::SOCK_CLOEXEC;
        let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkNetFilter);
        let socket = socket.map_err(|error| match error {
            Errno::EPROTONOSUPPORT | Errno::EAFNOSUPPORT => BindError::Missing,
            other => failed(other),
        })?;
        // Port 0: the kernel chooses ours, and is the only one whom we hear.
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed)?;
        connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0)).map_err(failed)?;
        // Beyond the system's bound it takes more than the right to bind; within, everybody may.
        setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER)
            .or_else(|_| setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER))
            .map_err(failed)?;
        no_enobufs(socket.as_fd()).map_err(failed)?;
        let room = setup.copied.bytes() as usize + AROUND;
        let mut queue = Self { socket, number: setup.queue, room, verdicts: Verdicts::new(setup.queue) };
        setup.write(SETUP, queue.verdicts.bytes());
        queue.flush().map_err(|error| BindError::Failed(setup.queue, error))?;
        queue.wait_for_answer()?;
        Ok(queue)
    }

    /// Waits for the kernel's word on the setup. A rule may be there already, and packets with it: they pass.
    fn wait_for_answer(&mut self) -> Result<(), BindError> {
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
                        self.verdicts.decide(&Verdict { id: packet.id, decision: Decision::Accept });
                    }
                    Message::Answer(answer) if answer.sequence == SETUP => {
                        self.flush().map_err(|error| BindError::Failed(self.number, error))?;
                        return if answer.error == 0 { Ok(()) } else { Err(refused(self.number, answer.error)) };
                    }
                    _ => {}
                }
            }
        }
    }

    /// Room to receive in.
    #[must_use]
    pub fn batch(&self) -> Batch {
        let headers = MultiHeaders::preallocate(BATCH, None);
        Batch { headers, buffer: vec![0; BATCH * self.room], room: self.room }
    }

    /// Tells `each` of every message that has come, up to a batch, without waiting.
    ///
    /// # Errors
    /// The socket failed in a way that no second try mends.
    pub fn receive(&mut self, batch: &mut Batch, mut each: impl FnMut(Message<'_>)) -> io::Result<Received> {
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
                    self.verdicts.came(packet.id);
                }
                each(message);
            }
        }
        Ok(Received { datagrams, more: datagrams == BATCH, overrun: false })
    }

    /// Puts a verdict with those that will be sent next. Packets that are accepted in the order in which they came take one message
    /// together.
    ///
    /// # Errors
    /// As [`flush`](Self::flush): many together are sent at once.
    pub fn decide(&mut self, verdict: &Verdict) -> io::Result<()> {
        self.verdicts.decide(verdict);
        if self.verdicts.length() >= SEND_AT { self.flush() } else { Ok(()) }
    }

    /// Lets every packet pass that waits, up to `id`.
    ///
    /// # Errors
    /// As [`flush`](Self::flush).
    pub fn accept_up_to(&mut self, id: u32) -> io::Result<()> {
        self.verdicts.accept_up_to(id);
        self.flush()
    }

    /// Sends the verdicts that have come together.
    ///
    /// # Errors
    /// The kernel did not take them. They are sent with the next.
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

/// How many of these bytes go in one call: whole messages, one at least. There are more than fit only after the kernel has not
/// taken some.
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

impl Batch {
    /// Reads datagrams into the buffer, and their lengths into `lengths`; how many there were.
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

/// Who has a netlink port: as a rule its number is that of the process.
fn owner(port: u32) -> String {
    match fs::read_to_string(format!("/proc/{port}/comm")) {
        Ok(name) => format!("netlink port {port}, {}", name.trim_end()),
        Err(_) => format!("netlink port {port}"),
    }
}

/// What the kernel means by `error`. It says EPERM to one who may not, and when the queue is another's.
fn refused(number: u16, error: i32) -> BindError {
    match (Errno::from_raw(error), kernel_queue(number)) {
        (Errno::EPERM | Errno::EBUSY, Some(queue)) => BindError::Taken(number, queue.port),
        (Errno::EPERM, None) => BindError::NotPermitted,
        (Errno::EINVAL | Errno::EOPNOTSUPP | Errno::ENOENT, None) => BindError::Missing,
        (error, _) => BindError::Failed(number, error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a message that is cut in two, and a call with more bytes than the kernel takes (about 200 kB).
    #[test]
    fn pieces_are_whole_messages() {
        let mut out = Vec::new();
        for id in 0..10_000 {
            let decision = if id % 100 == 0 { Decision::Rewrite(vec![1; 60_000].into()) } else { Decision::Drop };
            Verdict { id, decision }.write(0, &mut out);
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
