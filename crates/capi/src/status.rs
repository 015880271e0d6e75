//! The state and the counts of queues.

use fairlane_qdisc::{Count, Reason, Time};

use crate::packet::number_of;
use crate::queue::{FL_DEAD, fl_queue};

/// The state of a queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct fl_status {
    /// The packets in the queue.
    pub packets: u64,
    /// The bytes in the queue.
    pub bytes: u64,
    /// The average queue that the discipline goes by, in packets or bytes; NaN where it keeps none.
    pub average: f64,
    /// The probability, from 0 to 1, of a drop or mark; NaN where no single number holds.
    pub probability: f64,
    /// When a packet may leave, in nanoseconds, although none may now; UINT64_MAX where nothing is held back.
    pub ready_at: u64,
    /// The flows of which the discipline keeps state; UINT64_MAX where it keeps none or does not count.
    pub flows: u64,
}

/// A number of packets, and of their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct fl_count {
    /// The packets.
    pub packets: u64,
    /// The bytes.
    pub bytes: u64,
}

/// The counts of a queue since it was created, or purged.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct fl_counters {
    /// All packets that came.
    pub arrived: fl_count,
    /// Packets that left by fl_dequeue.
    pub departed: fl_count,
    /// Dropped packets.
    pub dropped: fl_count,
    /// Marked packets.
    pub marked: fl_count,
}

/// Writes the state of the queue to `status`. Returns 0, or FL_DEAD.
///
/// # Safety
/// As fl_enqueue; `status` is NULL, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_get_status(queue: *mut fl_queue, status: *mut fl_status) -> i32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    if status.is_null() {
        return FL_DEAD;
    }
    let Some(now) = queue.ask(|queue| queue.status()) else { return FL_DEAD };
    let found = fl_status {
        packets: now.packets as u64,
        bytes: now.bytes,
        average: now.average.unwrap_or(f64::NAN),
        probability: now.probability.unwrap_or(f64::NAN),
        ready_at: now.ready_at.map_or(u64::MAX, Time::as_nanos),
        flows: now.flows.map_or(u64::MAX, |flows| flows as u64),
    };
    // SAFETY: the caller promises it.
    unsafe { status.write(found) };
    0
}

/// Writes the counts of the queue to `counters`. Returns 0, or FL_DEAD.
///
/// # Safety
/// As fl_enqueue; `counters` is NULL, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_get_counters(queue: *mut fl_queue, counters: *mut fl_counters) -> i32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    if counters.is_null() {
        return FL_DEAD;
    }
    let counted = queue.ask(|queue| {
        let counters = queue.counters();
        let (mut departed, (packets, bytes)) = (fl_count::from(counters.departed), queue.peeked());
        departed.packets -= packets;
        departed.bytes -= bytes;
        fl_counters {
            arrived: counters.arrived.into(),
            departed,
            dropped: counters.dropped_total().into(),
            marked: counters.marked_total().into(),
        }
    });
    let Some(counted) = counted else { return FL_DEAD };
    // SAFETY: the caller promises it.
    unsafe { counters.write(counted) };
    0
}

/// Writes the packets that were dropped and marked for a reason; either pointer may be NULL. Returns 0; or -1 if there
/// is no such reason, or the queue is dead.
///
/// # Safety
/// As fl_enqueue; `dropped` and `marked` are NULL, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_get_reason(
    queue: *mut fl_queue,
    reason: u32,
    dropped: *mut fl_count,
    marked: *mut fl_count,
) -> i32 {
    let Some(reason) = Reason::ALL.into_iter().find(|known| number_of(*known) == reason) else { return -1 };
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    let counted = queue.ask(|queue| {
        let counters = queue.counters();
        (fl_count::from(counters.dropped(reason)), fl_count::from(counters.marked(reason)))
    });
    let Some((drops, marks)) = counted else { return FL_DEAD };
    if !dropped.is_null() {
        // SAFETY: the caller promises it.
        unsafe { dropped.write(drops) };
    }
    if !marked.is_null() {
        // SAFETY: the caller promises it.
        unsafe { marked.write(marks) };
    }
    0
}

impl From<Count> for fl_count {
    fn from(Count { packets, bytes }: Count) -> Self {
        Self { packets, bytes }
    }
}
