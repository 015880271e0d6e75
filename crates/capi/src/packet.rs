//! Packets as C has them, and as they wait in a queue.

use std::cell::Cell;
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;

use fairlane_qdisc::{DropSink, FlowKey, Packet, Reason, Time};

/// A packet, or what stands for one.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct fl_packet {
    /// The caller's own number or pointer. No discipline looks at it.
    pub handle: u64,
    /// The flow: packets with equal numbers belong together. fl_classify finds it from an IP header.
    pub flow: u64,
    /// The sending host, for disciplines that share among hosts (cake); 0 stands for a host of the flow.
    pub source: u64,
    /// The receiving host; 0 stands for a host of the flow.
    pub destination: u64,
    /// The label of CSFQ in bit/s, which that discipline changes; 0 for none.
    pub label: u64,
    /// The size on the wire in bytes, from 1 on.
    pub bytes: u32,
    /// The TOS or traffic class byte: DSCP and ECN. A mark sets its two lowest bits (CE, RFC 3168).
    pub tos: u8,
    /// A sum of FL_UNRESPONSIVE and numbers to come; 0 for a packet of TCP and the like.
    pub flags: u8,
    /// 0.
    pub reserved: u16,
}

/// A flag of a packet: the transport does not slow down after a loss (asked by the discipline sac).
pub const FL_UNRESPONSIVE: u8 = 1;

/// The reason of packets that fl_purge and fl_queue_free find in a queue, and of those lost with a dead queue.
pub const FL_REASON_PURGED: u32 = 255;

/// Called for each packet that a queue drops or marks, with the reason: a number from 1 on, or FL_REASON_PURGED.
///
/// A dropped packet (marked is 0) has left the queue: its handle is the caller's again. A marked one stays in it. The
/// packet is valid during the call. The function may not call anything for the same queue, and may not throw or jump
/// out. NULL stands for a function that does nothing.
pub type fl_event =
    Option<unsafe extern "C" fn(ctx: *mut c_void, now: u64, packet: *const fl_packet, reason: u32, marked: i32)>;

/// Returns the number of a reason in C: 0 is no reason.
pub(crate) const fn number_of(reason: Reason) -> u32 {
    reason.index() as u32 + 1
}

/// The caller's function, and the call that goes on. A queue has one, at an address that stays.
#[derive(Debug)]
pub(crate) struct Told {
    event: fl_event,
    ctx: *mut c_void,
    pub(crate) now: Cell<u64>,
    /// The number of the packet that arrives.
    arrival: Cell<u64>,
    /// The reason for which it was dropped; 0 for none.
    outcome: Cell<u32>,
}

impl Told {
    /// Returns `packet` as it enters the queue.
    pub(crate) fn arrive(&self, packet: fl_packet) -> Held {
        self.arrival.set(self.arrival.get() + 1);
        self.outcome.set(0);
        Held { packet, number: self.arrival.get(), told: NonNull::from(self) }
    }

    /// Returns the reason for which the last arrival was dropped as it came; 0 for none.
    pub(crate) const fn outcome(&self) -> u32 {
        self.outcome.get()
    }

    fn tell(&self, packet: &fl_packet, reason: u32, marked: bool) {
        if let Some(event) = self.event {
            // SAFETY: the caller of fl_queue_new promised that its function can be called with its `ctx` as long as the
            // queue lives. `packet` is valid during the call.
            unsafe { event(self.ctx, self.now.get(), packet, reason, i32::from(marked)) };
        }
    }
}

/// The memory of a [`Told`], to which the packets of a queue point. It is no box, since a box may not be pointed to by
/// others.
#[derive(Debug)]
pub(crate) struct OwnedTold(NonNull<Told>);

impl OwnedTold {
    pub(crate) fn new(event: fl_event, ctx: *mut c_void) -> Self {
        Self(NonNull::from(Box::leak(Box::new(Told {
            event,
            ctx,
            now: Cell::new(0),
            arrival: Cell::new(0),
            outcome: Cell::new(0),
        }))))
    }
}

impl Deref for OwnedTold {
    type Target = Told;
    fn deref(&self) -> &Told {
        // SAFETY: it is from a box, and nothing but `drop` frees it.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for OwnedTold {
    fn drop(&mut self) {
        // SAFETY: it is from a box, and `fl_queue` has no packets any more that point to it.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl DropSink<Held> for &Told {
    fn dropped(&mut self, _now: Time, packet: Held, reason: Reason) {
        let reason = number_of(reason);
        if packet.number == self.arrival.get() {
            self.outcome.set(reason);
        }
        self.tell(&packet.leave(), reason, false);
    }

    fn marked(&mut self, _now: Time, packet: &Held, reason: Reason) {
        self.tell(&packet.packet, number_of(reason), true);
    }
}

/// A packet in a queue. One that is freed with its queue tells so.
#[derive(Debug)]
pub(crate) struct Held {
    packet: fl_packet,
    /// Its number among the arrivals, from 1.
    number: u64,
    /// That of its queue, which outlives it.
    told: NonNull<Told>,
}

// SAFETY: disciplines ask for both of all packets. A packet is used by the thread alone that uses its queue: C calls a
// queue from one thread at a time, as fl_queue_new demands, and nothing else reaches its packets.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    /// Returns the packet for the caller, as it leaves the queue.
    pub(crate) const fn leave(self) -> fl_packet {
        let packet = self.packet;
        std::mem::forget(self);
        packet
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: `fl_queue` frees its `Told` after all of its packets.
        let told = unsafe { self.told.as_ref() };
        told.tell(&self.packet, FL_REASON_PURGED, false);
    }
}

const CE: u8 = 0b11;

impl Packet for Held {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.packet.flow)
    }
    fn bytes(&self) -> u32 {
        self.packet.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.packet.tos & CE != 0
    }
    fn mark_ce(&mut self) {
        self.packet.tos |= CE;
    }
    fn source_host(&self) -> u64 {
        if self.packet.source == 0 { self.packet.flow } else { self.packet.source }
    }
    fn destination_host(&self) -> u64 {
        if self.packet.destination == 0 { self.packet.flow } else { self.packet.destination }
    }
    fn class(&self) -> u8 {
        self.packet.tos & !CE
    }
    fn clear_class(&mut self) {
        self.packet.tos &= CE;
    }
    fn l4s(&self) -> bool {
        self.packet.tos & 1 != 0
    }
    fn label(&self) -> u64 {
        self.packet.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.packet.label = bits_per_second;
    }
    fn responsive(&self) -> bool {
        self.packet.flags & FL_UNRESPONSIVE == 0
    }
}
