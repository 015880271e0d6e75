//! The library for C: any text, packets, times and calls.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;

use arbitrary::{Result, Unstructured};
use fairlane_capi::{
    FL_REASON_PURGED, FL_UNRESPONSIVE, fl_change, fl_classify, fl_count, fl_counters, fl_dequeue, fl_dequeue_burst,
    fl_enqueue, fl_enqueue_burst, fl_error, fl_explain, fl_get_counters, fl_get_reason, fl_get_status, fl_kinds,
    fl_link_rate, fl_packet, fl_peek_bytes, fl_purge, fl_queue, fl_queue_free, fl_queue_new, fl_ready_at,
    fl_reason_name, fl_status, fl_transmit, fl_transmit_at,
};

/// Reads a script from `bytes` and follows it. Every handle must come back once, and all counts must agree.
pub(crate) fn run(bytes: &[u8]) {
    // The script ends with the bytes.
    let _ = script(&mut Unstructured::new(bytes));
}

/// Values of parameters that many disciplines have.
const WORDS: [&str; 16] = [
    "limit=3p",
    "limit=20p",
    "limit=9kb",
    "min=2p",
    "max=8p",
    "min=1kb",
    "weight=0.5",
    "target=1ms",
    "interval=10ms",
    "quantum=1500b",
    "flows=4",
    "bandwidth=1mbit",
    "ecn=true",
    "gentle=true",
    "avpkt=1000b",
    "probability=1",
];

/// A discipline with some parameters, or any text without a zero in it.
fn text(u: &mut Unstructured<'_>) -> Result<CString> {
    if u.ratio(1, 16)? {
        let bytes: Vec<u8> = u.arbitrary::<Vec<u8>>()?.into_iter().filter(|byte| *byte != 0).collect();
        return Ok(CString::new(bytes).unwrap_or_default());
    }
    // SAFETY: a name that is not NULL ends with a zero.
    let name = |index| unsafe { Some(fl_kinds(index)).filter(|name| !name.is_null()).map(|name| CStr::from_ptr(name)) };
    let kinds = (0..).map_while(name).count();
    let mut text = name(u.int_in_range(0..=kinds - 1)?).unwrap_or_default().to_string_lossy().into_owned();
    for _ in 0..u.int_in_range(0..=3)? {
        text.push(*u.choose(&[' ', ',', ' '])?);
        text.push_str(u.choose(&WORDS)?);
    }
    Ok(CString::new(text).unwrap_or_default())
}

/// The packets and counts of the queue, as the caller must find them.
#[derive(Default)]
struct Books {
    /// The packets in the queue, by handle.
    queued: BTreeMap<u64, fl_packet>,
    arrived: (u64, u64),
    departed: (u64, u64),
    /// By reason: drops and marks.
    dropped: BTreeMap<u32, (u64, u64)>,
    marked: BTreeMap<u32, (u64, u64)>,
    purged: usize,
}

fn add(count: &mut (u64, u64), packet: &fl_packet) {
    *count = (count.0 + 1, count.1 + size(packet));
}

/// A packet of 0 bytes counts as one of 1 byte, and comes back as one.
fn size(packet: &fl_packet) -> u64 {
    packet.bytes.max(1).into()
}

impl Books {
    fn take(&mut self, packet: &fl_packet) {
        let known = self.queued.remove(&packet.handle).expect("a handle comes back that is in the queue");
        assert_eq!((known.flow, size(&known), known.flags), (packet.flow, packet.bytes.into(), packet.flags));
    }

    /// The sum of all reasons.
    fn sum(counts: &BTreeMap<u32, (u64, u64)>) -> (u64, u64) {
        counts.values().fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1))
    }
}

unsafe extern "C" fn on_event(ctx: *mut c_void, _now: u64, packet: *const fl_packet, reason: u32, marked: i32) {
    // SAFETY: the context is the books, which nothing else uses during a call, and the packet is valid.
    let (books, packet) = unsafe { (&mut *ctx.cast::<Books>(), &*packet) };
    assert!(!fl_reason_name(reason).is_null());
    if marked != 0 {
        assert!(books.queued.contains_key(&packet.handle) && packet.tos & 3 == 3);
        add(books.marked.entry(reason).or_default(), packet);
        return;
    }
    books.take(packet);
    if reason == FL_REASON_PURGED {
        books.purged += 1;
    } else {
        add(books.dropped.entry(reason).or_default(), packet);
    }
}

fn packet(u: &mut Unstructured<'_>, handle: u64) -> Result<fl_packet> {
    let flow = if u.ratio(1, 16)? { u.arbitrary()? } else { u.int_in_range(0..=12)? };
    let bytes = *u.choose(&[0, 1, 40, 1000, 1500, 9000, u32::MAX])?;
    let hosts = u.int_in_range(0..=8)?;
    let label = if u.ratio(1, 8)? { u.arbitrary()? } else { 0 };
    let (tos, flags) = (u.arbitrary()?, if flow % 3 == 0 { FL_UNRESPONSIVE } else { 0 });
    Ok(fl_packet { handle, flow, source: hosts / 3, destination: hosts % 3, label, bytes, tos, flags, reserved: 0 })
}

fn script(u: &mut Unstructured<'_>) -> Result<()> {
    let mut error = [1; 64];
    let rate = *u.choose(&[0, 1, 64_000, 10_000_000, 1_000_000_000, u64::MAX])?;
    let mut books = Box::<Books>::default();
    let ctx: *mut Books = &raw mut *books;
    let (described, seed) = (text(u)?, u.arbitrary::<u8>()?.into());
    // SAFETY: the text ends with a zero, the error has so much room, and the books outlive the queue.
    let queue = unsafe {
        fl_queue_new(described.as_ptr(), rate, seed, Some(on_event), ctx.cast(), error.as_mut_ptr(), error.len())
    };
    if queue.is_null() {
        assert!(error[0] != 0 && error.contains(&0), "a mistake has an explanation");
        return Ok(());
    }
    let mut caller = Caller { queue, books: ctx, now: 0, handle: 0 };
    let outcome = caller.follow(u);
    caller.check();
    // SAFETY: the queue is not used any more, and the books are used by nothing else afterwards.
    unsafe {
        fl_queue_free(queue);
        assert!((*ctx).queued.is_empty(), "each handle comes back");
    }
    outcome
}

struct Caller {
    queue: *mut fl_queue,
    books: *mut Books,
    now: u64,
    handle: u64,
}

impl Caller {
    /// The books, between two calls of the library.
    fn books(&mut self) -> &mut Books {
        // SAFETY: the library uses them during a call alone.
        unsafe { &mut *self.books }
    }

    fn follow(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let queue = self.queue;
        while !u.is_empty() {
            match u.int_in_range(0..=20_u8)? {
                0..=4 => self.enqueue(u, 1)?,
                5 => self.enqueue(u, 8)?,
                6..=8 => self.dequeue(1),
                9 => self.dequeue(u.int_in_range(0..=8)?),
                10 => {
                    // SAFETY: the queue is alive.
                    let (bytes, again) = unsafe { (fl_peek_bytes(queue, self.now), fl_peek_bytes(queue, self.now)) };
                    assert_eq!(bytes, again);
                }
                11..=12 => self.now = self.now.saturating_add(u.int_in_range(0..=3_000_000)?),
                13 => self.now = self.now.saturating_add(1 << u.int_in_range(0..=63)?),
                // A clock that goes back.
                14 => self.now -= self.now.min(u.int_in_range(0..=5_000_000)?),
                15 => {
                    let rate = *u.choose(&[0, 1, 1_000_000, u64::MAX])?;
                    // SAFETY: the queue is alive.
                    unsafe { fl_link_rate(queue, rate) };
                }
                16 => self.change(u)?,
                17 => self.purge(),
                18 => explain(u)?,
                19 => self.transmit(),
                _ => classify(u)?,
            }
            self.check();
        }
        Ok(())
    }

    fn enqueue(&mut self, u: &mut Unstructured<'_>, most: usize) -> Result<()> {
        let mut packets = Vec::new();
        for _ in 0..u.int_in_range(1..=most)? {
            packets.push(packet(u, self.handle)?);
            self.handle += 1;
        }
        for packet in &packets {
            self.books().queued.insert(packet.handle, *packet);
            add(&mut self.books().arrived, packet);
        }
        if most > 1 {
            // SAFETY: there are so many packets.
            let taken = unsafe { fl_enqueue_burst(self.queue, self.now, packets.as_ptr(), packets.len()) };
            assert_eq!(taken, packets.len());
        } else {
            // SAFETY: the packet can be read.
            let reason = unsafe { fl_enqueue(self.queue, self.now, packets.as_ptr()) };
            let stays = self.books().queued.contains_key(&packets[0].handle);
            assert_eq!(reason == 0, stays, "the answer tells where the packet is");
        }
        Ok(())
    }

    fn dequeue(&mut self, room: usize) {
        let mut packets = vec![fl_packet::default(); room];
        let count = if room == 1 {
            // SAFETY: there is room for a packet.
            let answer = unsafe { fl_dequeue(self.queue, self.now, packets.as_mut_ptr()) };
            usize::try_from(answer).expect("the queue is alive")
        } else {
            // SAFETY: there is so much room.
            unsafe { fl_dequeue_burst(self.queue, self.now, packets.as_mut_ptr(), room) }
        };
        assert!(count <= room);
        for packet in &packets[..count] {
            self.books().take(packet);
            add(&mut self.books().departed, packet);
        }
        if count < room && !self.books().queued.is_empty() {
            // SAFETY: the queue is alive.
            assert!(unsafe { fl_ready_at(self.queue) } > self.now, "a packet that may leave did not");
        }
    }

    fn transmit(&mut self) {
        let mut packet = fl_packet::default();
        // SAFETY: the queue is alive, and the packet can be written.
        let (answer, next) =
            unsafe { (fl_transmit(self.queue, self.now, &raw mut packet), fl_transmit_at(self.queue)) };
        if answer == 1 {
            self.books().take(&packet);
            add(&mut self.books().departed, &packet);
        } else {
            assert_eq!(answer, 0, "the queue is alive");
            assert!(next > self.now || self.now == u64::MAX, "the link is to ask again at once");
        }
    }

    fn change(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let (text, mut error) = (text(u)?, [1; 16]);
        // SAFETY: the text ends with a zero, and the error has so much room.
        let answer = unsafe { fl_change(self.queue, text.as_ptr(), error.as_mut_ptr(), error.len()) };
        assert!(answer == 0 || answer == -1 && error[0] != 0 && error.contains(&0));
        Ok(())
    }

    fn purge(&mut self) {
        let (before, purged) = (self.books().queued.len(), self.books().purged);
        // SAFETY: the queue is alive.
        let count = unsafe { fl_purge(self.queue, self.now) };
        assert_eq!((count, self.books().purged), (before, purged + before));
        // The counts begin afresh.
        *self.books() = Books::default();
    }

    fn check(&mut self) {
        let (mut status, mut counters) = (zeroed_status(), fl_counters::default());
        // SAFETY: the queue is alive, and all pointers can be written.
        unsafe {
            let error = fl_error(self.queue);
            assert!(error.is_null(), "{:?}", CStr::from_ptr(error));
            assert_eq!(fl_get_status(self.queue, &raw mut status), 0);
            assert_eq!(fl_get_counters(self.queue, &raw mut counters), 0);
        }
        let queue = self.queue;
        let books = self.books();
        let inside: u64 = books.queued.values().map(size).sum();
        assert_eq!((status.packets, status.bytes), (books.queued.len() as u64, inside));
        assert!(status.probability.is_nan() || (0.0..=1.0).contains(&status.probability));
        assert!(status.average.is_nan() || status.average >= 0.0);
        let pair = |count: fl_count| (count.packets, count.bytes);
        assert_eq!(pair(counters.arrived), books.arrived);
        assert_eq!(pair(counters.departed), books.departed);
        assert_eq!(pair(counters.dropped), Books::sum(&books.dropped));
        assert_eq!(pair(counters.marked), Books::sum(&books.marked));
        for reason in 1.. {
            let (mut dropped, mut marked) = (fl_count::default(), fl_count::default());
            // SAFETY: the queue is alive, and the counts can be written.
            if unsafe { fl_get_reason(queue, reason, &raw mut dropped, &raw mut marked) } != 0 {
                break;
            }
            let known = |counts: &BTreeMap<u32, _>| counts.get(&reason).copied().unwrap_or_default();
            assert_eq!((pair(dropped), pair(marked)), (known(&books.dropped), known(&books.marked)));
        }
    }
}

fn zeroed_status() -> fl_status {
    fl_status { packets: 0, bytes: 0, average: 0.0, probability: 0.0, ready_at: 0, flows: 0 }
}

/// An explanation in little room is the beginning of the whole.
fn explain(u: &mut Unstructured<'_>) -> Result<()> {
    let (text, rate) = (text(u)?, u.arbitrary()?);
    let (mut whole, mut part) = (vec![1; 65_536], [1; 32]);
    let of = |out: &mut [c_char]| {
        // SAFETY: the text ends with a zero, and `out` can be written.
        unsafe { fl_explain(text.as_ptr(), rate, out.as_mut_ptr(), out.len()) }
    };
    let (length, again) = (of(&mut whole), of(&mut part));
    assert_eq!(length, again);
    // SAFETY: both end with a zero.
    let (whole, part) = unsafe { (CStr::from_ptr(whole.as_ptr()), CStr::from_ptr(part.as_ptr())) };
    assert!(whole.to_bytes().starts_with(part.to_bytes()));
    assert!(length < 0 || whole.to_bytes().len() as i64 == length);
    Ok(())
}

/// Any bytes are a packet of IP or are none, and are the same one again.
fn classify(u: &mut Unstructured<'_>) -> Result<()> {
    let (bytes, secret): (Vec<u8>, u64) = u.arbitrary()?;
    let (mut first, mut second) = (fl_packet { handle: 7, ..fl_packet::default() }, fl_packet::default());
    // SAFETY: there are so many bytes, and the packets can be written.
    let answers = unsafe {
        [&raw mut first, &raw mut second].map(|packet| fl_classify(packet, bytes.as_ptr(), bytes.len(), secret))
    };
    assert!(answers[0] == answers[1] && (-1..=0).contains(&answers[0]));
    let found =
        |packet: &fl_packet| (packet.flow, packet.source, packet.destination, packet.bytes, packet.tos, packet.flags);
    assert_eq!((first.handle, found(&first)), (7, found(&second)));
    if answers[0] < 0 {
        assert_eq!(found(&first), (0, 0, 0, 0, 0, 0), "nothing has changed");
    }
    // SAFETY: NULL has an answer.
    assert_eq!(unsafe { fl_classify(ptr::null_mut(), bytes.as_ptr(), bytes.len(), secret) }, -1);
    Ok(())
}
