//! Queues for C.

use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{mem, ptr};

use fairlane_qdisc::{
    BoxQdisc, Counters, Fate, Host, Packet as _, Qdisc as _, QdiscParameters, Rate, Seed, Shaper, Status, Time,
};

use self::line::Line;
use crate::packet::{Held, Told, fl_event, fl_packet, number_of};
use crate::text;

/// The answer of a queue that an error of the library has ended; fl_error tells it. It takes no packets and gives none.
pub const FL_DEAD: i32 = -1;

/// A queue. One thread at a time may use it; different queues have nothing in common.
pub struct fl_queue {
    /// The packets, and the link of fl_transmit.
    shaper: Shaper<Line>,
    /// The link is told of arrivals: fl_transmit is used.
    paced: bool,
    host: Host,
    parameters: QdiscParameters,
    /// The queues that have been made of it: each has another seed.
    made: u64,
    /// The error that ended it.
    error: Option<CString>,
    told: Told,
}

/// Creates a queue as `text` describes it: a discipline and its parameters, "choke limit=300p min=100p", between spaces
/// or commas. `rate` is that of the link in bit/s; 0 if it is not known, which not all disciplines accept. The same
/// `seed` makes the same random decisions: where a sender could guess them, draw it from the operating system's
/// randomness. `event` is called with `ctx` for each drop and mark.
///
/// Returns NULL for a mistake in `text`, which `error`, of `room` bytes, then has.
///
/// # Safety
/// `text` is NULL, or ends with a zero; `error` is NULL, or points to `room` bytes that can be written; `event` can be
/// called with `ctx` until fl_queue_free returns, from the threads that use the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_queue_new(
    text: *const c_char,
    rate: u64,
    seed: u64,
    event: fl_event,
    ctx: *mut c_void,
    error: *mut c_char,
    room: usize,
) -> *mut fl_queue {
    let rate = Rate::from_bits_per_second(rate);
    let host = Host { rate, seed: Seed::new(seed) };
    // SAFETY: the caller promises it.
    let made = unsafe { text::read(text) }.and_then(|text| built(text, &host));
    match made {
        Ok((parameters, discipline)) => Box::into_raw(Box::new(fl_queue {
            shaper: Shaper::new(Line::new(discipline), rate),
            paced: false,
            host,
            parameters,
            made: 1,
            error: None,
            told: Told::new(event, ctx),
        })),
        Err(message) => {
            // SAFETY: the caller promises it.
            unsafe { text::write(&message, error, room) };
            ptr::null_mut()
        }
    }
}

/// Frees a queue. Packets in it are told to its event function with FL_REASON_PURGED. NULL is ignored.
///
/// # Safety
/// `queue` is NULL, or from fl_queue_new and not freed; nothing uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_queue_free(queue: *mut fl_queue) {
    if queue.is_null() {
        return;
    }
    // SAFETY: the caller promises that it is from `Box::into_raw` and used no more.
    let queue = unsafe { Box::from_raw(queue) };
    let fl_queue { shaper, mut told, .. } = *queue;
    told.purging(|| {
        // A queue that an error has ended may not be able to free its parts.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(shaper)));
    });
}

/// Offers a packet to the queue at `now`, in nanoseconds; a time before an earlier one counts as that. Returns 0 if it
/// is in the queue; the reason, from 1 on, if it was dropped, of which the event function has been told; or FL_DEAD,
/// and then the packet is still the caller's. A packet of 0 bytes counts as one of 1 byte, and comes back as one.
///
/// # Safety
/// `queue` is NULL, or from fl_queue_new and not freed; `packet` is NULL, or points to a packet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_enqueue(queue: *mut fl_queue, now: u64, packet: *const fl_packet) -> i32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    if packet.is_null() || queue.error.is_some() {
        return FL_DEAD;
    }
    // The caller's packet is copied before its event function can free it.
    let fate = queue.call(now, |queue, now| {
        if queue.paced {
            // SAFETY: the caller promises it.
            return unsafe { queue.enqueue_paced(now, packet) };
        }
        let discipline = queue.shaper.queue_mut().discipline.get_mut();
        // SAFETY: the caller promises it.
        unsafe {
            queue.told.arrival = Some((*packet).handle);
            discipline.enqueue(now, Held::enter(packet), &mut queue.told)
        }
    });
    match fate {
        Some(Fate::Queued | Fate::Marked(_)) => 0,
        Some(Fate::Dropped(reason)) => number_of(reason) as i32,
        None => queue.told.refuse().map_or(FL_DEAD, |reason| reason as i32),
    }
}

/// Offers `count` packets as fl_enqueue does, one after the other, at the same time. Returns how many of them the queue
/// has taken or dropped: all, or fewer if the queue is dead, and then the others are still the caller's.
///
/// # Safety
/// As fl_enqueue; `packets` is NULL, or points to `count` packets.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_enqueue_burst(
    queue: *mut fl_queue,
    now: u64,
    packets: *const fl_packet,
    count: usize,
) -> usize {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return 0 };
    if packets.is_null() || queue.error.is_some() {
        return 0;
    }
    let mut taken = 0;
    let done = queue.call(now, |queue, now| {
        while taken < count && queue.paced {
            // SAFETY: `taken` is below `count`, and the caller promises so many.
            unsafe { queue.enqueue_paced(now, packets.add(taken)) };
            taken += 1;
        }
        let discipline = queue.shaper.queue_mut().discipline.get_mut();
        while taken < count {
            // SAFETY: `taken` is below `count`, and the caller promises so many.
            unsafe {
                let packet = packets.add(taken);
                queue.told.arrival = Some((*packet).handle);
                discipline.enqueue(now, Held::enter(packet), &mut queue.told);
            }
            taken += 1;
        }
    });
    if done.is_none() && queue.told.refuse().is_some() {
        taken += 1;
    }
    taken
}

/// Takes the next packet for the link at `now`. Returns 1 and writes it to `packet`; 0 if the queue is empty or holds
/// all packets back (fl_ready_at); or FL_DEAD. A link asks whenever it becomes free, also an empty queue: RED and
/// others measure idle time from then. fl_transmit does.
///
/// # Safety
/// As fl_enqueue; `packet` is NULL, or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_dequeue(queue: *mut fl_queue, now: u64, packet: *mut fl_packet) -> i32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    if packet.is_null() {
        return FL_DEAD;
    }
    // SAFETY: the caller promises it.
    let given =
        queue.call(now, |queue, now| unsafe { give(queue.shaper.queue_mut().take(now, &mut queue.told), packet) });
    given.unwrap_or(FL_DEAD)
}

/// Takes up to `room` packets as fl_dequeue does, at the same time. Returns how many there were.
///
/// # Safety
/// As fl_enqueue; `packets` is NULL, or points to room for so many packets, which can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_dequeue_burst(
    queue: *mut fl_queue,
    now: u64,
    packets: *mut fl_packet,
    room: usize,
) -> usize {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return 0 };
    if packets.is_null() {
        return 0;
    }
    let mut count = 0;
    queue.call(now, |queue, now| {
        let mut give = |packet: Held| {
            // SAFETY: `count` is below `room`, and the caller promises so many.
            unsafe { packet.leave(packets.add(count)) };
            count += 1;
            count < room
        };
        let line = queue.shaper.queue_mut();
        if room == 0 || line.next.take().is_some_and(|next| !give(next)) {
            return;
        }
        let discipline = line.discipline.get_mut();
        while discipline.dequeue(now, &mut queue.told).is_some_and(&mut give) {}
    });
    count
}

/// Returns the bytes of the packet that leaves next at `now`, which then waits outside of the discipline; 0 if there is
/// none, or if the queue is dead.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_peek_bytes(queue: *mut fl_queue, now: u64) -> u32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return 0 };
    let peeked = queue.call(now, |queue, now| {
        let line = queue.shaper.queue_mut();
        if line.next.is_none() {
            line.next = line.discipline.get_mut().dequeue(now, &mut queue.told);
        }
        line.next.as_ref().map_or(0, |packet| packet.bytes())
    });
    peeked.unwrap_or(0)
}

/// Takes the next packet as fl_dequeue does, once the link has sent the one before it: packets leave at the link's rate
/// of fl_queue_new or fl_link_rate. Time without a packet to send is lost. A call that comes late is made up for by the
/// next ones, unless it is late by more than 50 ms. While the rate is 0, not known, it is fl_dequeue. From the first
/// call on, use fl_dequeue and fl_dequeue_burst no more for this queue.
///
/// # Safety
/// As fl_dequeue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_transmit(queue: *mut fl_queue, now: u64, packet: *mut fl_packet) -> i32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return FL_DEAD };
    if packet.is_null() {
        return FL_DEAD;
    }
    let given = queue.call(now, |queue, now| {
        let next = if queue.has_rate() {
            queue.pace();
            queue.shaper.dequeue(now, &mut queue.told)
        } else {
            queue.shaper.queue_mut().take(now, &mut queue.told)
        };
        // SAFETY: the caller promises it.
        unsafe { give(next, packet) }
    });
    given.unwrap_or(FL_DEAD)
}

/// Returns when to call fl_transmit, in nanoseconds: the link becomes free, or the discipline may let a packet leave;
/// UINT64_MAX if nothing can happen before the next packet comes. It holds until the next call that changes the queue.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_transmit_at(queue: *mut fl_queue) -> u64 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return u64::MAX };
    let next = queue.ask(|queue| {
        if queue.has_rate() {
            queue.pace();
            return queue.shaper.next();
        }
        let status = queue.status();
        (status.packets > 0).then(|| status.ready_at.unwrap_or(Time::from_nanos(queue.told.now)))
    });
    next.flatten().map_or(u64::MAX, Time::as_nanos)
}

/// Returns when a packet may leave, in nanoseconds, after fl_dequeue gave none although packets wait; UINT64_MAX if
/// nothing is held back. It holds until the next call that changes the queue.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_ready_at(queue: *mut fl_queue) -> u64 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return u64::MAX };
    queue.ask(|queue| queue.status().ready_at).flatten().map_or(u64::MAX, Time::as_nanos)
}

/// Tells the queue the rate of its link in bit/s, whenever that changes. A rate of 0 is ignored.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_link_rate(queue: *mut fl_queue, bits: u64) {
    // SAFETY: the caller promises it.
    if let Some(queue) = unsafe { queue.as_mut() }
        && bits > 0
    {
        queue.ask(|queue| {
            queue.host.rate = Rate::from_bits_per_second(bits);
            queue.shaper.set_rate(queue.host.rate);
        });
    }
}

/// Replaces discipline and parameters by those of `text`. The new one takes what arrives. Packets in the queue leave
/// first; where the old discipline holds them back, packets that came later may pass them. Until they have left, more
/// than the new limit may wait. The counts go on. Returns 0; or -1 for a mistake in `text`, which `error`, of `room`
/// bytes, then has, and nothing has changed.
///
/// # Safety
/// As fl_queue_new and fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_change(queue: *mut fl_queue, text: *const c_char, error: *mut c_char, room: usize) -> i32 {
    // SAFETY: the caller promises it.
    let made = match unsafe { queue.as_mut() } {
        None => Err("there is no queue: the pointer is NULL".to_owned()),
        Some(queue) => {
            // SAFETY: the caller promises it.
            unsafe { text::read(text) }.and_then(|text| built(text, &queue.another_host())).and_then(|made| {
                let dead = queue.ask(|queue| {
                    queue.parameters = made.0;
                    queue.shaper.queue_mut().discipline.replace(made.1);
                });
                dead.ok_or_else(|| "the queue is dead".to_owned())
            })
        }
    };
    match made {
        Ok(()) => 0,
        Err(message) => {
            // SAFETY: the caller promises it.
            unsafe { text::write(&message, error, room) };
            -1
        }
    }
}

/// Frees all packets of the queue, which are told to its event function at `now` with FL_REASON_PURGED, in any order,
/// and begins afresh: averages, probabilities and counts as after fl_queue_new, and other random decisions. Returns how
/// many packets there were. A dead queue stays dead, and gives its packets back with fl_queue_free.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_purge(queue: *mut fl_queue, now: u64) -> usize {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return 0 };
    let purged = queue.call(now, |queue, _| {
        let packets = queue.status().packets;
        // What built once builds again; only a rate that has changed since could be refused.
        let host = queue.another_host();
        let Ok(discipline) = queue.parameters.build(&host) else { return 0 };
        let before = mem::replace(queue.shaper.queue_mut(), Line::new(discipline));
        queue.told.purging(|| drop(before));
        packets
    });
    purged.unwrap_or(0)
}

/// Returns the error that ended the queue; NULL if it is alive. It is valid until fl_queue_free. For NULL it says that
/// there is no queue.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_error(queue: *const fl_queue) -> *const c_char {
    // SAFETY: the caller promises it.
    match unsafe { queue.as_ref() } {
        Some(queue) => queue.error.as_ref().map_or(ptr::null(), |error| error.as_ptr()),
        None => c"there is no queue: the pointer is NULL".as_ptr(),
    }
}

impl fl_queue {
    /// Calls `act` at `now`, or at the latest time before if that is later; `None` if the queue is dead, or dies by it.
    fn call<T>(&mut self, now: u64, act: impl FnOnce(&mut Self, Time) -> T) -> Option<T> {
        let now = now.max(self.told.now);
        self.told.now = now;
        self.ask(|queue| act(queue, Time::from_nanos(now)))
    }

    /// Calls `act`; `None` if the queue is dead, or dies by it.
    pub(crate) fn ask<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.error.is_some() {
            return None;
        }
        match catch_unwind(AssertUnwindSafe(|| act(self))) {
            Ok(answer) => Some(answer),
            Err(panic) => {
                self.die(panic);
                None
            }
        }
    }

    /// Ends the queue. The panic is freed here, so that a caller keeps nothing of it in registers.
    #[cold]
    #[inline(never)]
    #[allow(clippy::needless_pass_by_value, reason = "frees it")]
    fn die(&mut self, panic: Box<dyn Any + Send>) {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        self.error = Some(text::for_c(&format!("the discipline panicked: {}", text.unwrap_or("it gave no message"))));
    }

    /// Returns the link for another discipline, with another seed.
    fn another_host(&mut self) -> Host {
        self.made += 1;
        Host { seed: self.host.seed.numbered(self.made), ..self.host }
    }

    pub(crate) fn status(&self) -> Status {
        self.shaper.queue().status()
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.shaper.queue().counters()
    }

    /// Returns the packets and bytes that have left the discipline and not the queue.
    pub(crate) fn peeked(&self) -> (u64, u64) {
        self.shaper.queue().peeked()
    }

    fn has_rate(&self) -> bool {
        self.host.rate.bits_per_second() > 0
    }

    /// Tells the link of arrivals from now on, and first of those that there were.
    fn pace(&mut self) {
        if !mem::replace(&mut self.paced, true) {
            self.shaper.hold(Time::from_nanos(self.told.now));
        }
    }

    /// Offers a packet, of which the link is told.
    ///
    /// # Safety
    /// `packet` points to a packet.
    #[inline(never)]
    unsafe fn enqueue_paced(&mut self, now: Time, packet: *const fl_packet) -> Fate {
        // SAFETY: the caller promises it.
        unsafe {
            self.told.arrival = Some((*packet).handle);
            self.shaper.enqueue(now, Held::enter(packet), &mut self.told)
        }
    }
}

/// Writes the packet that leaves, if there is one, to `to`, and returns how many there are.
///
/// # Safety
/// `to` can be written.
#[inline]
unsafe fn give(packet: Option<Held>, to: *mut fl_packet) -> i32 {
    match packet {
        Some(packet) => {
            // SAFETY: the caller promises it.
            unsafe { packet.leave(to) };
            1
        }
        None => 0,
    }
}

/// Returns the parameters of `text`, and the discipline.
fn built(text: &str, host: &Host) -> Result<(QdiscParameters, BoxQdisc<Held>), String> {
    text::caught(|| {
        let parameters: QdiscParameters = text.parse().map_err(|error| format!("{error}"))?;
        let discipline = parameters.build(host).map_err(|error| format!("{} {error}", parameters.kind()))?;
        Ok((parameters, discipline))
    })
}

mod line;
#[cfg(test)]
mod tests;
