//! An end of a bridge: an interface with its packet socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, SndBuf, SndBufForce, SocketError};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, getsockopt, send, setsockopt, socket};

use super::error::BridgeError;
use super::frame::{ETHERNET, Incoming, VIRTIO};
use super::interface::{Interface, is_there};
use super::ring::{Came, Rings, tag};
use crate::lock::Lock;
use crate::option::{bind_packet, get, receive_packet, set};

/// What the kernel may hold of ours at once, with what it counts beside the frames: more than the ring has slots for.
const SEND_BUFFER: usize = 32 << 20;

/// What may wait beside the ring, with what the kernel counts beside the frames: some hundred joined ones.
const RECEIVE_BUFFER: usize = 32 << 20;

/// The longest frame that is read: the longest packet of IP with its Ethernet header and two tags.
pub(crate) const LONGEST: usize = ETHERNET + 8 + 40 + 65_535;

/// Every Ethernet type.
const ALL: u16 = libc::ETH_P_ALL as u16;
/// The type that is reserved and that no frame has (RFC 1701). The kernel takes 0 for that which was there before.
const NONE: u16 = 0xffff;
/// Hears nothing.
const DEAF: u16 = 0;

/// An interface that is open at both of its sides.
pub(crate) struct Port {
    socket: OwnedFd,
    rings: Rings,
    /// Sends joined frames, for which the ring has no room.
    joined: OwnedFd,
    /// Room for one that comes.
    long: Vec<u8>,
    interface: Interface,
    /// There are frames in the ring that the kernel has not been told of, or did not take.
    pending: bool,
    dropped: u64,
    /// As long as it lives no other bridge takes the interface.
    _lock: Lock,
}

impl Port {
    /// Opens `interface`: from now on frames of up to `longest` bytes that come in by it wait for us. Frames that leave by it do
    /// not come, our own among them.
    pub(crate) fn open(interface: Interface, longest: usize) -> Result<Self, BridgeError> {
        let failed = |error: io::Error| BridgeError::Failed(interface.name.clone(), error);
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Without a protocol it hears nothing until it is bound.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(|error| match error {
            Errno::EPERM => BridgeError::NotPermitted,
            other => failed(other.into()),
        })?;
        let lock = lock(&interface)?;
        let joined = second(&interface).map_err(|error| failed(error.into()))?;
        let rings = prepare(socket.as_fd(), &interface, longest).map_err(|error| failed(error.into()))?;
        let long = vec![0; VIRTIO + LONGEST];
        Ok(Self { socket, rings, joined, long, interface, pending: false, dropped: 0, _lock: lock })
    }

    /// Tells `take` of the frame that came next; `None` if none has come.
    pub(crate) fn receive<T>(&mut self, take: impl FnOnce(&Incoming<'_>) -> T) -> Option<T> {
        let Self { socket, rings, long, .. } = self;
        rings.receive(|came| match came {
            Came::Here(frame) => take(&frame),
            Came::Beside => take(&beside(socket.as_fd(), long)),
        })
    }

    /// Puts a virtio header and a frame, which `write` writes, with those that are sent by the next [`flush`](Self::flush). If the
    /// ring is full, what is there is sent first; whether there was room in the end.
    pub(crate) fn put(&mut self, mut write: impl FnMut(&mut [u8]) -> usize) -> io::Result<bool> {
        let mut put = self.rings.transmit(&mut write);
        if !put && self.pending {
            self.flush()?;
            put = self.rings.transmit(&mut write);
        }
        self.pending |= put;
        Ok(put)
    }

    /// Sends a virtio header and a joined frame, behind all that was put; whether there was room. The kernel cuts it, if the card cannot.
    pub(crate) fn send_joined(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.flush()?;
        // It does not overtake what waits there.
        if self.pending {
            return Ok(false);
        }
        match send(self.joined.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
            Ok(_) => Ok(true),
            Err(Errno::ENXIO | Errno::ENODEV) => is_there(&self.interface.name, self.interface.index).map(|()| false),
            // There is no room, or no link, or the kernel finds it wrong.
            Err(_) => Ok(false),
        }
    }

    /// Lets the kernel send what was put. What it does not take now it is given again with the next; see
    /// [`is_pending`](Self::is_pending).
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if !self.pending {
            return Ok(());
        }
        match send(self.socket.as_raw_fd(), &[], MsgFlags::MSG_DONTWAIT) {
            Ok(_) => self.pending = false,
            // The queue of the interface is full, or the interface is down.
            Err(Errno::ENOBUFS | Errno::EAGAIN | Errno::ENOMEM | Errno::ENETDOWN | Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Whether there are frames that the kernel has not taken.
    pub(crate) const fn is_pending(&self) -> bool {
        self.pending
    }

    /// Hears no more; what has come is still there.
    pub(crate) fn close(&self) -> io::Result<()> {
        Ok(bind_packet(self.socket.as_fd(), self.interface.index, NONE)?)
    }

    /// Takes an error away that the kernel has left, such as that the interface is down.
    ///
    /// # Errors
    /// The interface is gone.
    pub(crate) fn mend(&self) -> io::Result<()> {
        getsockopt(&self.socket, SocketError)?;
        is_there(&self.interface.name, self.interface.index)
    }

    /// Frames that the kernel dropped since there was no free slot.
    pub(crate) fn dropped(&mut self) -> u64 {
        // `struct tpacket_stats`: all frames and those that were dropped, since it was read before.
        let read = get(self.socket.as_fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, 8);
        let dropped = read.ok().and_then(|bytes| bytes.get(4..)?.first_chunk().copied());
        self.dropped += u64::from(dropped.map_or(0, u32::from_ne_bytes));
        self.dropped
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Reads the frame that waits beside the ring. One that is not there is one of which nothing is.
fn beside<'l>(socket: BorrowedFd<'_>, long: &'l mut [u8]) -> Incoming<'l> {
    // An error that the kernel has left comes first, and once.
    let received = receive_packet(socket, long).or_else(|_| receive_packet(socket, long));
    let (Ok(received), Some((virtio, frame))) = (received, long.split_first_chunk()) else {
        return Incoming { frame: &[], whole: false, tag: None, virtio: [0; VIRTIO] };
    };
    let tag = received.beside.and_then(|beside| tag(beside.tp_status, beside.tp_vlan_tpid, beside.tp_vlan_tci));
    let frame = &frame[..received.bytes.saturating_sub(VIRTIO)];
    Incoming { frame, whole: received.whole, tag, virtio: *virtio }
}

/// A socket that sends by `interface` and hears nothing: one with a ring to send from sends from there alone.
fn second(interface: &Interface) -> nix::Result<OwnedFd> {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_u32.to_ne_bytes())?;
    with_room(socket.as_fd())?;
    bind_packet(socket.as_fd(), interface.index, DEAF)?;
    Ok(socket)
}

/// Lets the kernel hold as much of ours as [`SEND_BUFFER`].
fn with_room(socket: BorrowedFd<'_>) -> nix::Result<()> {
    // Beyond the system's bound it takes another capability.
    setsockopt(&socket, SndBufForce, &SEND_BUFFER).or_else(|_| setsockopt(&socket, SndBuf, &SEND_BUFFER))
}

/// Takes the interface for us.
fn lock(interface: &Interface) -> Result<Lock, BridgeError> {
    Lock::new(&format!("bridge/{}", interface.index)).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => BridgeError::Taken(interface.name.clone()),
        _ => BridgeError::Failed(interface.name.clone(), error),
    })
}

/// Makes the socket what it is to be, and lets it hear.
fn prepare(socket: BorrowedFd<'_>, interface: &Interface, longest: usize) -> nix::Result<Rings> {
    let option = |option, value: &[u8]| set(socket, libc::SOL_PACKET, option, value);
    option(libc::PACKET_IGNORE_OUTGOING, &1_u32.to_ne_bytes())?;
    option(libc::PACKET_AUXDATA, &1_u32.to_ne_bytes())?;
    with_room(socket)?;
    setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).or_else(|_| setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER))?;
    let rings = Rings::new(socket, longest)?;
    bind_packet(socket, interface.index, ALL)?;
    // `struct packet_mreq`: the interface hears what is for others, as long as the socket lives.
    let index = interface.index.to_ne_bytes();
    let kind = (libc::PACKET_MR_PROMISC as u16).to_ne_bytes();
    option(libc::PACKET_ADD_MEMBERSHIP, &[&index[..], &kind, &[0; 10]].concat())?;
    Ok(rings)
}
