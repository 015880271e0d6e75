//! The rings of a packet socket: slots for frames, in memory that we share with the kernel.
//!
//! **Source.** The kernel's `Documentation/networking/packet_mmap.rst` and `linux/if_packet.h`, version 2 of the header.
#![allow(unsafe_code, reason = "the rings are memory that the kernel has mapped for us, and it writes there too")]

use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::libc;
use nix::sys::mman::{MapFlags, ProtFlags, mmap, munmap};

use super::frame::{Incoming, TAG, VIRTIO};
use crate::option::set;

/// Bytes of the slots that the kernel writes to, together: what comes while we are at work elsewhere waits there.
const RECEIVE_BYTES: usize = 8 << 20;
/// Bytes of the slots that it reads from.
const TRANSMIT_BYTES: usize = 4 << 20;
/// What the kernel allocates at once, unless a slot is larger.
const BLOCK_BYTES: usize = 64 << 10;

/// `struct tpacket2_hdr`, aligned. What we send begins behind it.
const HEADER: usize = 32;
/// The most that stands before a received frame: the header, an address, room for alignment and virtio's header.
const BEFORE: usize = 128;

/// The state of a slot, at its start. What it means depends on the ring.
type Status = AtomicU32;
/// The kernel's to write to, or sent and ours to write to.
const FREE: u32 = 0;
/// A frame has come.
const TP_STATUS_USER: u32 = 1;
/// The frame has no room in the slot, and all of it waits at the socket.
const TP_STATUS_COPY: u32 = 1 << 1;
/// `tp_vlan_tci` is a tag, and `tp_vlan_tpid` says of which kind.
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;
const TP_STATUS_VLAN_TPID_VALID: u32 = 1 << 6;
/// A frame is to be sent.
const TP_STATUS_SEND_REQUEST: u32 = 1;

/// IEEE 802.1Q, where the kernel does not say which kind a tag is of.
const CUSTOMER_TAG: u16 = 0x8100;

/// Both rings of a socket.
pub(super) struct Rings {
    memory: Memory,
    receive: Ring,
    transmit: Ring,
}

/// A frame that has come.
pub(super) enum Came<'s> {
    /// In the slot.
    Here(Incoming<'s>),
    /// It is received from the socket, with the next that is.
    Beside,
}

/// The mapping.
struct Memory {
    start: NonNull<u8>,
    bytes: NonZeroUsize,
}

// SAFETY: the mapping belongs to the process and not to a thread, and nobody else here has a pointer to it.
unsafe impl Send for Memory {}

/// Where a ring's slots are, and the one that comes next.
struct Ring {
    first: usize,
    slot: usize,
    slots: usize,
    next: usize,
}

impl Rings {
    /// Gives `socket` rings whose slots have room for frames of `longest` bytes, and maps them.
    pub(super) fn new(socket: BorrowedFd<'_>, longest: usize) -> nix::Result<Self> {
        let option = |option, value: u32| set(socket, libc::SOL_PACKET, option, &value.to_ne_bytes());
        option(libc::PACKET_VERSION, libc::tpacket_versions::TPACKET_V2 as u32)?;
        option(libc::PACKET_VNET_HDR, 1)?;
        // A frame that the kernel finds wrong is passed over, instead of standing in the way of the others.
        option(libc::PACKET_LOSS, 1)?;
        // A frame that is longer than a slot comes whole beside the ring.
        option(libc::PACKET_COPY_THRESH, 1)?;
        // Slots of a power of two fill blocks and pages without gaps.
        let slot = (BEFORE + longest).next_power_of_two();
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
        let receive = ring(libc::PACKET_RX_RING, RECEIVE_BYTES)?;
        let transmit = ring(libc::PACKET_TX_RING, TRANSMIT_BYTES)?;
        Ok(Self { memory: Memory::map(socket, end)?, receive, transmit })
    }

    /// Tells `take` of the frame that came next, and gives its slot back; `None` if none has come. A frame that is longer than a slot is
    /// [`Beside`](Came::Beside) the ring.
    pub(super) fn receive<T>(&mut self, take: impl FnOnce(Came<'_>) -> T) -> Option<T> {
        let at = self.receive.at();
        let status = self.memory.status(at).load(Ordering::Acquire);
        if status & TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the slot is within the mapping. Its status says that it is ours: the kernel leaves it alone until we store
        // another, which we do when nobody has the slice any more.
        let slot = unsafe { std::slice::from_raw_parts(self.memory.pointer(at), self.receive.slot) };
        let came = if status & TP_STATUS_COPY == 0 { Came::Here(incoming(slot, status)) } else { Came::Beside };
        let taken = take(came);
        self.memory.status(at).store(FREE, Ordering::Release);
        self.receive.advance();
        Some(taken)
    }

    /// Lets `write` put a virtio header and a frame into the next free slot, for the kernel to send when it is told to; it says
    /// how many bytes they are. Whether there was a free slot.
    pub(super) fn transmit(&mut self, write: impl FnOnce(&mut [u8]) -> usize) -> bool {
        let at = self.transmit.at();
        if self.memory.status(at).load(Ordering::Acquire) != FREE {
            return false;
        }
        // SAFETY: the slot is within the mapping. Its status says that it is ours: the kernel leaves it alone until we store
        // another, which we do when nobody has the slice any more. We have `self` alone, so there is no other slice of it.
        let slot = unsafe { std::slice::from_raw_parts_mut(self.memory.pointer(at), self.transmit.slot) };
        let (header, frame) = slot.split_at_mut(HEADER);
        let length = write(frame) as u32;
        header[4..8].copy_from_slice(&length.to_ne_bytes());
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
        // SAFETY: a new mapping at a place of the kernel's choice takes nobody's memory.
        let start = unsafe { mmap(None, bytes, protection, flags, socket.as_fd(), 0) }?;
        Ok(Self { start: start.cast(), bytes })
    }

    fn pointer(&self, at: usize) -> *mut u8 {
        debug_assert!(at < self.bytes.get());
        // SAFETY: rings say places within the mapping only, whose size is the sum of theirs.
        unsafe { self.start.as_ptr().add(at) }
    }

    fn status(&self, at: usize) -> &Status {
        // SAFETY: a slot begins with its status, at a multiple of its size, and both sides read and write it as a whole.
        unsafe { Status::from_ptr(self.pointer(at).cast()) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and every slice of it was borrowed from its owner.
        let _ = unsafe { munmap(self.start.cast(), self.bytes.get()) };
    }
}

/// Reads a slot's header.
fn incoming(slot: &[u8], status: u32) -> Incoming<'_> {
    let long = |at: usize| slot[at..].first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)) as usize;
    let short = |at: usize| slot[at..].first_chunk().map_or(0, |bytes| u16::from_ne_bytes(*bytes));
    let (original, captured, start) = (long(4), long(8), usize::from(short(12)));
    let tag = tag(status, short(26), short(24));
    let frame = slot.get(start..start + captured).unwrap_or_default();
    let virtio = slot.get(start.saturating_sub(VIRTIO)..).and_then(|bytes| bytes.first_chunk()).copied();
    Incoming { frame, whole: captured == original, tag, virtio: virtio.unwrap_or_default() }
}

/// The tag that the kernel has taken out of a frame, if it has: of which kind, and what it says.
pub(super) fn tag(status: u32, kind: u16, control: u16) -> Option<[u8; TAG]> {
    (status & TP_STATUS_VLAN_VALID != 0).then(|| {
        let kind = if status & TP_STATUS_VLAN_TPID_VALID == 0 { CUSTOMER_TAG } else { kind };
        let ([a, b], [c, d]) = (kind.to_be_bytes(), control.to_be_bytes());
        [a, b, c, d]
    })
}
