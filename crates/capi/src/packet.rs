//! Packets as C has them, and as they wait in a queue.

use std::cell::RefCell;
use std::ffi::c_void;

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

/// The caller's function, and the call that goes on.
#[derive(Debug)]
pub(crate) struct Told {
    event: fl_event,
    ctx: *mut c_void,
    pub(crate) now: u64,
    /// The handle of the packet that arrives, until it is dropped.
    pub(crate) arrival: Option<u64>,
    /// The reason of the last drop.
    reason: u32,
    /// The handle of the packet in whose arrival the queue died, which stays the caller's.
    refused: Option<u64>,
}

impl Told {
    pub(crate) const fn new(event: fl_event, ctx: *mut c_void) -> Self {
        Self { event, ctx, now: 0, arrival: None, reason: 0, refused: None }
    }

    /// Notes that the queue has died as a packet arrived. Returns the reason for which that was dropped before; `None`
    /// if it was not, and is the caller's.
    #[cold]
    pub(crate) const fn refuse(&mut self) -> Option<u32> {
        self.refused = self.arrival;
        if self.refused.is_some() { None } else { Some(self.reason) }
    }

    fn tell(&self, packet: &fl_packet, reason: u32, marked: bool) {
        if let Some(event) = self.event {
            // SAFETY: the caller of fl_queue_new promised that its function can be called with its `ctx` as long as the
            // queue lives. `packet` is valid during the call.
            unsafe { event(self.ctx, self.now, packet, reason, i32::from(marked)) };
        }
    }

    /// Calls `free`, and tells of each packet that it frees.
    pub(crate) fn purging(&mut self, free: impl FnOnce()) {
        let keep = |packets| PURGED.try_with(|purged| purged.replace(packets)).ok().flatten();
        keep(Some(Vec::new()));
        free();
        for packet in keep(None).unwrap_or_default() {
            if self.refused.take_if(|handle| *handle == packet.handle).is_some() {
                continue;
            }
            self.tell(&packet, FL_REASON_PURGED, false);
        }
    }
}

impl DropSink<Held> for Told {
    fn dropped(&mut self, _now: Time, packet: Held, reason: Reason) {
        let packet = packet.leave();
        self.arrival.take_if(|handle| *handle == packet.handle);
        self.reason = number_of(reason);
        self.tell(&packet, self.reason, false);
    }

    fn marked(&mut self, _now: Time, packet: &Held, reason: Reason) {
        self.tell(&packet.0, number_of(reason), true);
    }
}

thread_local! {
    /// The packets that are freed with their queue; `None` while no queue is freed.
    static PURGED: RefCell<Option<Vec<fl_packet>>> = const { RefCell::new(None) };
}

/// A packet in a queue.
#[derive(Debug)]
pub(crate) struct Held(pub(crate) fl_packet);

impl Held {
    /// Returns the packet for the caller, as it leaves the queue.
    #[inline]
    pub(crate) const fn leave(self) -> fl_packet {
        let packet = self.0;
        std::mem::forget(self);
        packet
    }
}

impl Drop for Held {
    #[cold]
    fn drop(&mut self) {
        let _ = PURGED.try_with(|purged| purged.borrow_mut().iter_mut().for_each(|purged| purged.push(self.0)));
    }
}

const CE: u8 = 0b11;

impl Packet for Held {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.0.flow)
    }
    fn bytes(&self) -> u32 {
        self.0.bytes.max(1)
    }
    fn ecn_capable(&self) -> bool {
        self.0.tos & CE != 0
    }
    fn mark_ce(&mut self) {
        self.0.tos |= CE;
    }
    fn source_host(&self) -> u64 {
        if self.0.source == 0 { self.0.flow } else { self.0.source }
    }
    fn destination_host(&self) -> u64 {
        if self.0.destination == 0 { self.0.flow } else { self.0.destination }
    }
    fn class(&self) -> u8 {
        self.0.tos & !CE
    }
    fn clear_class(&mut self) {
        self.0.tos &= CE;
    }
    fn l4s(&self) -> bool {
        self.0.tos & 1 != 0
    }
    fn label(&self) -> u64 {
        self.0.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.0.label = bits_per_second;
    }
    fn responsive(&self) -> bool {
        self.0.flags & FL_UNRESPONSIVE == 0
    }
}
