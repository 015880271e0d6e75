//! Queues for C.

use std::any::Any;
use std::ffi::{CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{mem, ptr};

use fairlane_qdisc::{
    BoxQdisc, Counters, Fate, Host, Packet as _, Qdisc, QdiscParameters, Rate, ReplaceableQdisc, Seed, Status, Time,
};

use crate::packet::{Held, Told, fl_event, fl_packet, number_of};
use crate::text;

/// The answer of a queue that an error of the library has ended; fl_error tells it. It takes no packets and gives none.
pub const FL_DEAD: i32 = -1;

/// A queue. One thread at a time may use it; different queues have nothing in common.
pub struct fl_queue {
    discipline: Discipline,
    /// The packet that leaves next, if that has been asked for.
    next: Option<Held>,
    host: Host,
    parameters: QdiscParameters,
    /// The queues that have been made of it: each has another seed.
    made: u64,
    /// The error that ended it.
    error: Option<CString>,
    told: Told,
}

/// The discipline of a queue.
enum Discipline {
    First(BoxQdisc<Held>),
    /// Disciplines that were replaced, with the packets that they still have, and the present one.
    Replaced(Box<ReplaceableQdisc<Held>>),
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
    let host = Host { rate: Rate::from_bits_per_second(rate), seed: Seed::new(seed) };
    // SAFETY: the caller promises it.
    let made = unsafe { text::read(text) }.and_then(|text| built(text, &host));
    match made {
        Ok((parameters, discipline)) => Box::into_raw(Box::new(fl_queue {
            discipline: Discipline::First(discipline),
            next: None,
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
    let fl_queue { discipline, next, mut told, .. } = *queue;
    told.purging(|| {
        // A queue that an error has ended may not be able to free its parts.
        let _ = catch_unwind(AssertUnwindSafe(|| drop((discipline, next))));
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
        let discipline = queue.discipline.get_mut();
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
        let discipline = queue.discipline.get_mut();
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
/// all packets back (fl_ready_at); or FL_DEAD.
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
    let given = queue.call(now, |queue, now| match queue.dequeue(now) {
        Some(next) => {
            // SAFETY: the caller promises it.
            unsafe { next.leave(packet) };
            1
        }
        None => 0,
    });
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
        if room == 0 || queue.next.take().is_some_and(|next| !give(next)) {
            return;
        }
        let discipline = queue.discipline.get_mut();
        while discipline.dequeue(now, &mut queue.told).is_some_and(&mut give) {}
    });
    count
}

/// Returns the bytes of the packet that leaves next at `now`, which then waits outside of the discipline; 0 if there is
/// none, or if the queue is dead. A shaper asks for it.
///
/// # Safety
/// As fl_enqueue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fl_peek_bytes(queue: *mut fl_queue, now: u64) -> u32 {
    // SAFETY: the caller promises it.
    let Some(queue) = (unsafe { queue.as_mut() }) else { return 0 };
    let peeked = queue.call(now, |queue, now| {
        if queue.next.is_none() {
            queue.next = queue.discipline.get_mut().dequeue(now, &mut queue.told);
        }
        queue.next.as_ref().map_or(0, |packet| packet.bytes())
    });
    peeked.unwrap_or(0)
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
            queue.discipline.get_mut().link_rate(queue.host.rate);
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
                    queue.discipline.replace(made.1);
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
        let before = mem::replace(&mut queue.discipline, Discipline::First(discipline));
        let next = queue.next.take();
        queue.told.purging(|| drop((before, next)));
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

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<Held> {
        if self.next.is_some() {
            return self.next.take();
        }
        self.discipline.get_mut().dequeue(now, &mut self.told)
    }

    pub(crate) fn status(&self) -> Status {
        let (mut status, (packets, bytes)) = (self.discipline.get().status(), self.peeked());
        status.packets += packets as usize;
        status.bytes += bytes;
        // The packet that has been asked for may leave.
        status.ready_at = status.ready_at.filter(|_| packets == 0);
        status
    }

    pub(crate) fn counters(&self) -> &Counters {
        self.discipline.get().counters()
    }

    /// Returns the packets and bytes that have left the discipline and not the queue.
    pub(crate) fn peeked(&self) -> (u64, u64) {
        self.next.as_ref().map_or((0, 0), |next| (1, u64::from(next.bytes())))
    }
}

impl Discipline {
    #[inline]
    fn get(&self) -> &dyn Qdisc<Held> {
        match self {
            Self::First(discipline) => &**discipline,
            Self::Replaced(discipline) => &**discipline,
        }
    }

    #[inline]
    fn get_mut(&mut self) -> &mut dyn Qdisc<Held> {
        match self {
            Self::First(discipline) => &mut **discipline,
            Self::Replaced(discipline) => {
                rare();
                &mut **discipline
            }
        }
    }

    /// Sends arrivals to `newest` from now on.
    fn replace(&mut self, newest: BoxQdisc<Held>) {
        match self {
            Self::Replaced(discipline) => discipline.replace(newest),
            Self::First(first) => {
                let before = mem::replace(first, newest);
                if let Self::First(newest) = mem::replace(self, Self::Replaced(Box::new(ReplaceableQdisc::new(before))))
                {
                    self.replace(newest);
                }
            }
        }
    }
}

/// Makes the way to it one that few take: a jump, and no choice between two values each time.
#[cold]
const fn rare() {}

/// Returns the parameters of `text`, and the discipline.
fn built(text: &str, host: &Host) -> Result<(QdiscParameters, BoxQdisc<Held>), String> {
    text::caught(|| {
        let parameters: QdiscParameters = text.parse().map_err(|error| format!("{error}"))?;
        let discipline = parameters.build(host).map_err(|error| format!("{} {error}", parameters.kind()))?;
        Ok((parameters, discipline))
    })
}

#[cfg(test)]
mod tests;
