//! Packets as C has them, and as they wait in a queue.

use std::cell::RefCell;
use std::ffi::c_void;
use std::mem::{ManuallyDrop, offset_of};
use std::num::NonZeroU32;
use std::ptr;

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

    fn tell(&self, packet: &Held, reason: u32, marked: bool) {
        if let Some(event) = self.event {
            // A Held can be read as an fl_packet.
            let packet = ptr::from_ref(packet).cast();
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
            if self.refused.take_if(|handle| *handle == packet.handle).is_none() {
                self.tell(&packet, FL_REASON_PURGED, false);
            }
        }
    }
}

impl DropSink<Held> for Told {
    fn dropped(&mut self, _now: Time, packet: Held, reason: Reason) {
        let packet = ManuallyDrop::new(packet);
        self.arrival.take_if(|handle| *handle == packet.handle);
        self.reason = number_of(reason);
        self.tell(&packet, self.reason, false);
    }

    fn marked(&mut self, _now: Time, packet: &Held, reason: Reason) {
        self.tell(packet, number_of(reason), true);
    }
}

thread_local! {
    /// The packets that are freed with their queue; `None` while no queue is freed.
    static PURGED: RefCell<Option<Vec<ManuallyDrop<Held>>>> = const { RefCell::new(None) };
}

/// A packet in a queue: an [`fl_packet`] whose `bytes` are never 0. A place without a packet has 0 there, and so is not
/// larger.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Held {
    handle: u64,
    flow: u64,
    source: u64,
    destination: u64,
    label: u64,
    bytes: NonZeroU32,
    tos: u8,
    flags: u8,
    reserved: u16,
}

/// Each field stands where it stands in an [`fl_packet`], and all of its values are valid there.
const _: () = {
    assert!(size_of::<Held>() == size_of::<fl_packet>() && align_of::<Held>() == align_of::<fl_packet>());
    assert!(offset_of!(Held, handle) == offset_of!(fl_packet, handle));
    assert!(offset_of!(Held, flow) == offset_of!(fl_packet, flow));
    assert!(offset_of!(Held, source) == offset_of!(fl_packet, source));
    assert!(offset_of!(Held, destination) == offset_of!(fl_packet, destination));
    assert!(offset_of!(Held, label) == offset_of!(fl_packet, label));
    assert!(offset_of!(Held, bytes) == offset_of!(fl_packet, bytes));
    assert!(offset_of!(Held, tos) == offset_of!(fl_packet, tos));
    assert!(offset_of!(Held, flags) == offset_of!(fl_packet, flags));
    assert!(offset_of!(Held, reserved) == offset_of!(fl_packet, reserved));
    assert!(size_of::<Option<Held>>() == size_of::<Held>());
};

impl Held {
    /// Returns the packet at `from`, for the time that it is in a queue.
    ///
    /// # Safety
    /// `from` points to a packet.
    #[inline]
    pub(crate) unsafe fn enter(from: *const fl_packet) -> Self {
        // SAFETY: the caller promises it. An fl_packet can be read as a Held if its `bytes` are not 0.
        unsafe { if (*from).bytes == 0 { Self::empty(from.read()) } else { from.cast::<Self>().read() } }
    }

    /// Returns a packet of 0 bytes as one of 1 byte. Apart, so that others are copied whole.
    #[cold]
    #[inline(never)]
    fn empty(packet: fl_packet) -> Self {
        let fl_packet { handle, flow, source, destination, label, tos, flags, reserved, .. } = packet;
        Self { handle, flow, source, destination, label, bytes: NonZeroU32::MIN, tos, flags, reserved }
    }

    /// Writes the packet to `to` for the caller, as it leaves the queue.
    ///
    /// # Safety
    /// `to` can be written.
    #[inline]
    pub(crate) unsafe fn leave(self, to: *mut fl_packet) {
        // SAFETY: the caller promises it, and a Held can be read as an fl_packet.
        unsafe { to.cast::<Self>().write(self) };
    }
}

impl Drop for Held {
    #[cold]
    fn drop(&mut self) {
        let Self { handle, flow, source, destination, label, bytes, tos, flags, reserved } = *self;
        let packet = Self { handle, flow, source, destination, label, bytes, tos, flags, reserved };
        let packet = ManuallyDrop::new(packet);
        let _ = PURGED.try_with(|purged| purged.borrow_mut().as_mut().map(|purged| purged.push(packet)));
    }
}

const CE: u8 = 0b11;

impl Packet for Held {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.flow)
    }
    fn bytes(&self) -> u32 {
        self.bytes.get()
    }
    fn ecn_capable(&self) -> bool {
        self.tos & CE != 0
    }
    fn mark_ce(&mut self) {
        self.tos |= CE;
    }
    fn source_host(&self) -> u64 {
        if self.source == 0 { self.flow } else { self.source }
    }
    fn destination_host(&self) -> u64 {
        if self.destination == 0 { self.flow } else { self.destination }
    }
    fn class(&self) -> u8 {
        self.tos & !CE
    }
    fn clear_class(&mut self) {
        self.tos &= CE;
    }
    fn l4s(&self) -> bool {
        self.tos & 1 != 0
    }
    fn label(&self) -> u64 {
        self.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.label = bits_per_second;
    }
    fn responsive(&self) -> bool {
        self.flags & FL_UNRESPONSIVE == 0
    }
}
