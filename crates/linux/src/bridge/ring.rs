//! The rings of a packet socket: slots for frames in memory shared with the kernel.
//!
//! **Source.** The kernel's `Documentation/networking/packet_mmap.rst` and `linux/if_packet.h`, version 2 of the
//! header. Version 3 hands over a block when it is full or a timer of at least a millisecond has run out, so a sparse
//! frame would wait about as long; in return it saves no time on small frames and 35 ns on one of 1500 bytes.
#![allow(unsafe_code, reason = "the rings are memory that the kernel has mapped for us, and it writes there too")]

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::frame::{IncomingFrame, TAG, VIRTIO};
use crate::sys::sockopt::set;

/// The size of the receive ring in bytes. Frames wait there while the thread does other work.
const RECEIVE_BYTES: usize = 8 << 20;
/// The size of the transmit ring in bytes.
const TRANSMIT_BYTES: usize = 4 << 20;
/// The size of the blocks that the kernel allocates, unless a slot is larger.
const BLOCK_BYTES: usize = 64 << 10;

/// The aligned length of `struct tpacket2_hdr`, which a frame to be sent follows.
const HEADER: usize = 32;
/// The length of the status word at the start of a slot, which is no part of the slices.
const STATUS: usize = size_of::<SlotStatus>();
/// Space before a received frame: the header, an address, padding and the virtio header.
const BEFORE: usize = 128;

/// The status word at the start of a slot. The meaning of its bits depends on the ring.
type SlotStatus = AtomicU32;
/// Receive ring: the kernel may write to the slot. Transmit ring: we may.
const FREE: u32 = 0;
/// Receive ring: the slot holds a frame.
const TP_STATUS_USER: u32 = 1;
/// The frame does not fit into the slot, and waits at the socket.
const TP_STATUS_COPY: u32 = 1 << 1;
/// `tp_vlan_tci` holds a VLAN tag, and `tp_vlan_tpid` its type.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// Transmit ring: the kernel shall send the frame.
const TP_STATUS_SEND_REQUEST: u32 = 1;

/// The type of an IEEE 802.1Q tag, used if the kernel does not report the type.
const CUSTOMER_TAG: u16 = 0x8100;

/// The directions in which a port is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PortUse {
    Both,
    Receive,
    Send,
}

/// The two rings of a socket.
pub(super) struct Rings {
    memory: Memory,
    receive: Ring,
    transmit: Ring,
}

/// A received frame.
pub(super) enum ReceivedFrame<'s> {
    /// The frame is in the slot.
    InSlot(IncomingFrame<'s>),
    /// The frame has to be received from the socket. The time is that of [`IncomingFrame::received`].
    OnSocket(u64),
}

/// The mapped memory of both rings.
struct Memory {
    start: NonNull<u8>,
    bytes: NonZeroUsize,
}

// SAFETY: the mapping belongs to the process, not to a thread, and nothing else points to it.
unsafe impl Send for Memory {}

/// The position of a ring's slots, and the index of the next slot.
struct Ring {
    first: usize,
    slot: usize,
    slots: usize,
    next: usize,
}

impl Rings {
    /// Creates rings for `socket` whose slots have room for frames of `longest` bytes and a tag, and maps them. A ring
    /// that is not used is as small as possible.
    pub(super) fn new(socket: BorrowedFd<'_>, longest: usize, purpose: PortUse) -> nix::Result<Self> {
        let option = |option, value: u32| set(socket, libc::SOL_PACKET, option, &value.to_ne_bytes());
        option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as u32)?;
        option(libc::PACKET_VNET_HDR, 1)?;
        // The kernel skips an invalid frame instead of stopping at it.
        option(libc::PACKET_LOSS, 1)?;
        // A frame that is longer than a slot is received whole from the socket.
        option(libc::PACKET_COPY_THRESH, 1)?;
        // Slots whose size is a power of two fill blocks and pages without gaps.
        let slot = (BEFORE + longest + TAG).next_power_of_two();
        let mut end = 0;
        let mut ring = |option, bytes: usize| {
            let block = slot.max(BLOCK_BYTES);
            let blocks = (bytes / block).max(1);
            let ring = Ring { first: end, slot, slots: blocks * block / slot, next: 0 };
            end += blocks * block;
            // `struct tpacket_req`.
            let request: Vec<u8> =
                [block, blocks, slot, ring.slots].iter().flat_map(|number| (*number as u32).to_ne_bytes()).collect();
            set(socket, libc::SOL_PACKET, option, &request).map(|()| ring)
        };
        let of = |bytes, unused| if purpose == unused { 0 } else { bytes };
        let receive = ring(libc::PACKET_RX_RING, of(RECEIVE_BYTES, PortUse::Send))?;
        let transmit = ring(libc::PACKET_TX_RING, of(TRANSMIT_BYTES, PortUse::Receive))?;
        Ok(Self { memory: Memory::map(socket, end)?, receive, transmit })
    }

    /// Passes the next received frame to `take` and releases its slot; returns `None` if there is none. A frame that is
    /// longer than a slot is passed as [`OnSocket`](ReceivedFrame::OnSocket).
    pub(super) fn receive<T>(&mut self, take: impl FnOnce(ReceivedFrame<'_>) -> T) -> Option<T> {
        let at = self.receive.at();
        let status = self.memory.status(at).load(Ordering::Acquire);
        if status & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is within the mapping. Its status says that it is ours: the kernel does not touch it until
        // we store another status, which happens after the last use of the slice.
        let slot = unsafe { std::slice::from_raw_parts(self.memory.pointer(at + STATUS), self.receive.slot - STATUS) };
        let came = if status & TP_STATUS_COPY == 0 {
            ReceivedFrame::InSlot(incoming(slot, status))
        } else {
            ReceivedFrame::OnSocket(received(slot))
        };
        let taken = take(came);
        self.memory.status(at).store(FREE, Ordering::Release);
        self.receive.advance();
        Some(taken)
    }

    /// Lets `write` write a virtio header and a frame into the next free slot and return their length. Returns `false`
    /// if no slot is free. The kernel sends the frame at the next send call.
    pub(super) fn transmit(&mut self, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let at = self.transmit.at();
        if self.memory.status(at).load(Ordering::Acquire) != FREE {
            return false;
        }
        // SAFETY: the slot is within the mapping. Its status says that it is ours: the kernel does not touch it until
        // we store another status, which happens after the last use of the slice. `self` is borrowed exclusively, so
        // there is no other slice of the slot.
        let slot =
            unsafe { std::slice::from_raw_parts_mut(self.memory.pointer(at + STATUS), self.transmit.slot - STATUS) };
        let (header, frame) = slot.split_at_mut(HEADER - STATUS);
        let length = write(frame) as u32;
        // `tp_len`, the field behind the status.
        header[..4].copy_from_slice(&length.to_ne_bytes());
        self.memory.status(at).store(TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.transmit.advance();
        true
    }
}

impl Ring {
    const fn at(&self) -> usize {
        self.first + self.next * self.slot
    }

    const fn advance(&mut self) {
        self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
    }
}

impl Memory {
    fn map(socket: BorrowedFd<'_>, bytes: usize) -> nix::Result<Self> {
        let bytes = NonZeroUsize::new(bytes).ok_or(nix::errno::Errno::EINVAL)?;
        let (protection, flags) = (ProtFlags::PROT_READ | ProtFlags::PROT_WRITE, MapFlags::MAP_SHARED);
        // SAFETY: a new mapping at an address chosen by the kernel overlaps no other memory.
        let start = unsafe { mmap(None, bytes, protection, flags, socket.as_fd(), 0) }?;
        Ok(Self { start: start.cast(), bytes })
    }

    fn pointer(&self, at: usize) -> *mut u8 {
        debug_assert!(at < self.bytes.get());
        // SAFETY: the rings calculate only offsets within the mapping, whose size is the sum of theirs.
        unsafe { self.start.as_ptr().add(at) }
    }

    fn status(&self, at: usize) -> &SlotStatus {
        // SAFETY: a slot begins with its status word, at a multiple of its size, and both sides access it atomically.
        unsafe { SlotStatus::from_ptr(self.pointer(at).cast()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and every slice of it was borrowed from its owner.
        let _ = unsafe { munmap(self.start.cast(), self.bytes.get()) };
    }
}

/// Parses a slot, of which `slot` is everything behind the status word.
fn incoming(slot: &[u8], status: u32) -> IncomingFrame<'_> {
    let long = |at: usize| slot[at - STATUS..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)) as usize;
    let short = |at: usize| slot[at - STATUS..].first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes));
    let (original, captured, start) = (long(4), long(8), usize::from(short(12)));
    let tag = tag(status, short(26), short(24));
    // Offsets count from the start of the slot.
    let start = start.saturating_sub(STATUS);
    let frame = slot.get(start..start + captured).unwrap_or_default();
    let virtio = slot.get(start.saturating_sub(VIRTIO)..).and_then(|bytes| bytes.first_chunk()).copied();
    let received = received(slot);
    IncomingFrame { frame, whole: captured == original, tag, virtio: virtio.unwrap_or_default(), received }
}

/// Returns the time of a slot (`tp_sec`, `tp_nsec`), of which `slot` is everything behind the status word, in
/// nanoseconds since 1970.
fn received(slot: &[u8]) -> u64 {
    let long = |at: usize| slot[at - STATUS..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes));
    u64::from(long(16)) * 1_000_000_000 + u64::from(long(20))
}

/// Returns the VLAN tag that the kernel has removed from a frame, with its type; `None` if there was none.
pub(super) fn tag(status: u32, kind: u16, control: u16) -> Option<[u8; TAG]> {
    (status & TP_STATUS_VLAN_VALID != 0).then(|| {
        let kind = if status & TP_STATUS_VLAN_TPID_VALID == 0 { CUSTOMER_TAG } else { kind };
        let ([a, b], [c, d]) = (kind.to_be_bytes(), control.to_be_bytes());
        [a, b, c, d]
    })
}
