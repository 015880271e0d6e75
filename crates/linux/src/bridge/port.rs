//! One interface of a bridge with its packet sockets.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::sockopt::{RcvBuf, RcvBufForce, SndBuf, SndBufForce, SocketError};
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, getsockopt, send, setsockopt, socket};

use super::error::BridgeError;
use super::frame::{ETHERNET, IncomingFrame, VIRTIO};
use super::interface::{Interface, check_index};
use super::ring::{PortUse, ReceivedFrame, Rings, tag};
use crate::sys::lock_file::Lock;
use crate::sys::sockopt::{bind_packet, get, receive_packet, set};

/// The send buffer, which also counts the kernel's overhead. Larger than the slots of the ring need.
const SEND_BUFFER: usize = 32 << 20;

/// The receive buffer for frames that do not fit into a slot of the ring, with the kernel's overhead: some hundred GSO
/// frames.
const RECEIVE_BUFFER: usize = 32 << 20;

/// The longest frame received: the longest IPv6 packet with its Ethernet header and two tags.
pub(crate) const LONGEST: usize = ETHERNET + 8 + 40 + 65_535;

/// All Ethernet types.
const ALL: u16 = libc::ETH_P_ALL as u16;
/// A reserved Ethernet type that no frame has (RFC 1701). The kernel would take 0 as "unchanged".
const NONE: u16 = 0xffff;
/// No Ethernet type: the socket receives nothing.
const NO_PROTOCOL: u16 = 0;

/// An interface that is open for receiving, sending or both.
pub(crate) struct Port {
    socket: OwnedFd,
    rings: Rings,
    /// Sends GSO frames, which do not fit into the ring.
    gso_socket: OwnedFd,
    /// A buffer for a received GSO frame.
    long: Vec<u8>,
    interface: Interface,
    /// The length of the longest frame that fits into the rings.
    longest: usize,
    /// `true` while the ring has frames that were not passed to the kernel or that it has not accepted.
    pending: bool,
    /// `true` from a report that the interface is down to its next frame.
    down: bool,
    dropped: u64,
    /// Prevents another bridge from receiving from the interface. `None` if this port only sends.
    _lock: Option<Lock>,
}

impl Port {
    /// Opens `interface`. From now on, unless it is only for sending, received frames of up to `longest` bytes wait for
    /// us, and no other router can receive from it. Sent frames are not received, not even our own.
    pub(crate) fn open(interface: Interface, longest: usize, purpose: PortUse) -> Result<Self, BridgeError> {
        Self::open_with(interface, longest, purpose, if purpose == PortUse::Send { |_| Ok(None) } else { lock })
    }

    /// Opens `interface` as [`open`](Self::open) does, in a namespace where there is no other router.
    pub(super) fn open_private(interface: Interface, longest: usize, purpose: PortUse) -> Result<Self, BridgeError> {
        Self::open_with(interface, longest, purpose, |_| Ok(None))
    }

    fn open_with(
        interface: Interface,
        longest: usize,
        purpose: PortUse,
        lock: fn(&Interface) -> Result<Option<Lock>, BridgeError>,
    ) -> Result<Self, BridgeError> {
        let failed = |error: io::Error| BridgeError::Failed(interface.name.clone(), error);
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        // Without a protocol the socket receives nothing until it is bound.
        let socket = socket(AddressFamily::Packet, SockType::Raw, flags, None).map_err(|error| match error {
            Errno::EPERM => BridgeError::NotPermitted,
            other => failed(other.into()),
        })?;
        let lock = lock(&interface)?;
        let gso_socket = open_gso_socket(&interface).map_err(|error| failed(error.into()))?;
        let rings = prepare(socket.as_fd(), &interface, longest, purpose).map_err(|error| failed(error.into()))?;
        let long = vec![0; VIRTIO + LONGEST];
        Ok(Self {
            socket,
            rings,
            gso_socket,
            long,
            interface,
            longest,
            pending: false,
            down: false,
            dropped: 0,
            _lock: lock,
        })
    }

    /// Returns the port to open for `interface` in place of this one, for the same purpose; `None` if it is the same
    /// interface.
    ///
    /// # Errors
    /// The interface cannot be opened, or it is the same and its rings are too small for frames of `longest` bytes.
    pub(crate) fn successor(
        &self,
        interface: Interface,
        longest: usize,
        purpose: PortUse,
    ) -> Result<Option<Self>, BridgeError> {
        if interface.index != self.interface.index {
            return Self::open(interface, longest, purpose).map(Some);
        }
        if longest > self.longest { Err(BridgeError::LongerFrames(interface.name)) } else { Ok(None) }
    }

    /// Gives its place and its counts to `successor`.
    pub(crate) fn replace(&mut self, mut successor: Self) {
        successor.dropped += self.dropped();
        *self = successor;
    }

    /// Passes the next received frame to `take`; returns `None` if there is none.
    pub(crate) fn receive<T>(&mut self, take: impl FnOnce(&IncomingFrame<'_>) -> T) -> Option<T> {
        let Self { socket, rings, long, down, .. } = self;
        let taken = rings.receive(|came| match came {
            ReceivedFrame::InSlot(frame) => take(&frame),
            ReceivedFrame::OnSocket(received) => {
                take(&IncomingFrame { received, ..receive_from_socket(socket.as_fd(), long) })
            }
        });
        *down &= taken.is_none();
        taken
    }

    /// Adds a virtio header and a frame, written by `write`, to the frames sent by the next [`flush`](Self::flush). If
    /// the ring is full, its frames are sent first. Returns `false` if there is still no room.
    pub(crate) fn put(&mut self, mut write: impl FnMut(&mut [u8]) -> usize) -> io::Result<bool> {
        let mut put = self.rings.transmit(&mut write);
        if !put && self.pending {
            self.flush()?;
            put = self.rings.transmit(&mut write);
        }
        self.pending |= put;
        Ok(put)
    }

    /// Sends a virtio header and a GSO frame after all frames added before. The kernel segments it unless the network
    /// card does. Returns `false` if there was no room.
    pub(crate) fn send_gso(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.flush()?;
        // The frame must not overtake those in the ring.
        if self.pending {
            return Ok(false);
        }
        self.send_now(frame).map(|sent| sent.is_ok())
    }

    /// Sends a frame of [`send_gso`](Self::send_gso) to the interface's discipline, which may drop it. Returns `false`
    /// if the socket's buffer has no room for it, which packets fill while they are in the discipline.
    pub(crate) fn send_through_queue(&mut self, frame: &[u8]) -> io::Result<bool> {
        self.send_now(frame).map(|sent| sent != Err(Errno::EAGAIN))
    }

    fn send_now(&self, frame: &[u8]) -> io::Result<nix::Result<()>> {
        match send(self.gso_socket.as_raw_fd(), frame, MsgFlags::MSG_DONTWAIT) {
            Err(gone @ (Errno::ENXIO | Errno::ENODEV)) => {
                check_index(&self.interface.name, self.interface.index).map(|()| Err(gone))
            }
            // If it failed: no room, no link, or a frame that the kernel finds invalid.
            sent => Ok(sent.map(drop)),
        }
    }

    /// Lets the kernel send the added frames. Those that it does not accept are offered again with the next; see
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

    /// Returns `true` if there are frames that the kernel has not accepted.
    pub(crate) const fn is_pending(&self) -> bool {
        self.pending
    }

    /// Returns `true` if the kernel reported that the interface is down. When such an interface is removed, the kernel
    /// reports nothing more, so [`clear_errors`](Self::clear_errors) has to be called from time to time.
    pub(crate) const fn is_down(&self) -> bool {
        self.down
    }

    /// Receives no new frames. Those that have arrived can still be read.
    pub(crate) fn close(&self) -> io::Result<()> {
        Ok(bind_packet(self.socket.as_fd(), self.interface.index, NONE)?)
    }

    /// Clears a pending error of the socket, such as that the interface is down.
    ///
    /// # Errors
    /// The interface does not exist any more.
    pub(crate) fn clear_errors(&mut self) -> io::Result<()> {
        self.down |= getsockopt(&self.socket, SocketError)? != 0;
        check_index(&self.interface.name, self.interface.index)
    }

    /// Returns the number of frames that the kernel dropped because no slot was free.
    pub(crate) fn dropped(&mut self) -> u64 {
        // `struct tpacket_stats`: the number of frames, and of those that were dropped, since the last read.
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

/// Receives a frame that did not fit into the ring. Returns an empty, truncated frame if there is none.
fn receive_from_socket<'l>(socket: BorrowedFd<'_>, long: &'l mut [u8]) -> IncomingFrame<'l> {
    // A pending error is returned first, and only once.
    let received = receive_packet(socket, long).or_else(|_| receive_packet(socket, long));
    let (Ok(received), Some((virtio, frame))) = (received, long.split_first_chunk()) else {
        return IncomingFrame { frame: &[], whole: false, tag: None, virtio: [0; VIRTIO], received: 0 };
    };
    let tag = received.beside.and_then(|beside| tag(beside.tp_status, beside.tp_vlan_tpid, beside.tp_vlan_tci));
    let frame = &frame[..received.bytes.saturating_sub(VIRTIO)];
    IncomingFrame { frame, whole: received.whole, tag, virtio: *virtio, received: 0 }
}

/// Opens a socket that sends on `interface` and receives nothing. A socket with a transmit ring sends only from the
/// ring.
fn open_gso_socket(interface: &Interface) -> nix::Result<OwnedFd> {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None)?;
    set(socket.as_fd(), libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1_u32.to_ne_bytes())?;
    set_send_buffer(socket.as_fd())?;
    bind_packet(socket.as_fd(), interface.index, NO_PROTOCOL)?;
    Ok(socket)
}

/// Sets the size of the send buffer to [`SEND_BUFFER`].
fn set_send_buffer(socket: BorrowedFd<'_>) -> nix::Result<()> {
    // A size above the system's limit needs another capability.
    setsockopt(&socket, SndBufForce, &SEND_BUFFER).or_else(|_| setsockopt(&socket, SndBuf, &SEND_BUFFER))
}

/// Acquires the interface for this process.
fn lock(interface: &Interface) -> Result<Option<Lock>, BridgeError> {
    Lock::new(&format!("bridge-{}", interface.index)).map(Some).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => BridgeError::Taken(interface.name.clone()),
        _ => BridgeError::NoLock(error),
    })
}

/// Configures the socket, creates its rings and starts to receive, unless it only sends.
fn prepare(socket: BorrowedFd<'_>, interface: &Interface, longest: usize, purpose: PortUse) -> nix::Result<Rings> {
    let option = |option, value: &[u8]| set(socket, libc::SOL_PACKET, option, value);
    option(libc::PACKET_IGNORE_OUTGOING, &1_u32.to_ne_bytes())?;
    option(libc::PACKET_AUXDATA, &1_u32.to_ne_bytes())?;
    set_send_buffer(socket)?;
    setsockopt(&socket, RcvBufForce, &RECEIVE_BUFFER).or_else(|_| setsockopt(&socket, RcvBuf, &RECEIVE_BUFFER))?;
    let rings = Rings::new(socket, longest, purpose)?;
    bind_packet(socket, interface.index, if purpose == PortUse::Send { NONE } else { ALL })?;
    // `struct packet_mreq`: promiscuous mode as long as the socket exists.
    let index = interface.index.to_ne_bytes();
    let kind = (libc::PACKET_MR_PROMISC as u16).to_ne_bytes();
    option(libc::PACKET_ADD_MEMBERSHIP, &[&index[..], &kind, &[0; 10]].concat())?;
    Ok(rings)
}
