//! Dead queues, packets that have been asked for, changes and purges.

use fairlane_qdisc::{DropSink, Fate, Qdisc, Reason};

use super::*;

/// Would catch a panic that goes on into C, and a queue that is used after it.
#[test]
fn an_error_of_the_library_ends_its_queue_alone() {
    // SAFETY: the text ends with a zero, and there is no event function and no room for an error.
    let queue =
        unsafe { fl_queue_new(c"choke limit=300p".as_ptr(), 1_000_000, 1, None, ptr::null_mut(), ptr::null_mut(), 0) };
    let (packet, mut out) = (fl_packet { bytes: 1000, ..fl_packet::default() }, fl_packet::default());
    // SAFETY: the queue is from fl_queue_new, and the packets can be read and written.
    unsafe {
        assert_eq!((fl_enqueue(queue, 0, &raw const packet), fl_error(queue)), (0, ptr::null()));
        assert_eq!((*queue).ask(|_| -> u32 { panic!("no number {}", 7) }), None);
        let error = std::ffi::CStr::from_ptr(fl_error(queue));
        assert_eq!(error.to_str(), Ok("the discipline panicked: no number 7"));
        assert_eq!(fl_enqueue(queue, 0, &raw const packet), FL_DEAD);
        assert_eq!(fl_dequeue(queue, 0, &raw mut out), FL_DEAD);
        assert_eq!((fl_enqueue_burst(queue, 0, &raw const packet, 1), fl_purge(queue, 0)), (0, 0));
        assert_eq!((fl_peek_bytes(queue, 0), fl_ready_at(queue)), (0, u64::MAX));
        assert_eq!(fl_change(queue, c"droptail".as_ptr(), ptr::null_mut(), 0), -1);
        fl_queue_free(queue);
    }
}

/// 1000 bytes take a millisecond at 8 Mbit/s. Would catch a link of 1 bit/s in place of one whose rate is not known.
#[test]
fn a_link_without_a_rate_sends_at_once() {
    const SECOND: u64 = 1_000_000_000;
    // SAFETY: the text ends with a zero, and there is no event function and no room for an error.
    let queue = unsafe { fl_queue_new(c"droptail".as_ptr(), 0, 1, None, ptr::null_mut(), ptr::null_mut(), 0) };
    let (packet, mut out) = (fl_packet { bytes: 1000, ..fl_packet::default() }, fl_packet::default());
    // SAFETY: the queue is from fl_queue_new, and the packets can be read and written.
    unsafe {
        for at in [0, SECOND] {
            assert_eq!([0; 2].map(|_| fl_enqueue(queue, at, &raw const packet)), [0, 0]);
            assert_eq!(fl_transmit_at(queue), at);
            assert_eq!(fl_transmit(queue, at, &raw mut out), 1);
            // From the second time on there is a rate.
            let waits = at > 0;
            assert_eq!(fl_transmit(queue, at, &raw mut out), i32::from(!waits));
            if waits {
                assert_eq!(fl_transmit_at(queue), SECOND + 1_000_000);
                assert_eq!(fl_transmit(queue, SECOND + 1_000_000, &raw mut out), 1);
            }
            fl_link_rate(queue, 8_000_000);
        }
        fl_queue_free(queue);
    }
}

/// Panics when the third packet comes.
#[derive(Default)]
struct Failing {
    packets: Vec<Held>,
    counters: Counters,
    /// The third packet is dropped before the panic.
    drops: bool,
}

impl Qdisc<Held> for Failing {
    fn enqueue(&mut self, now: Time, packet: Held, sink: &mut dyn DropSink<Held>) -> Fate {
        if self.drops && self.packets.len() == 2 {
            sink.dropped(now, packet, Reason::Limit);
            panic!("no room");
        }
        self.packets.push(packet);
        assert!(self.packets.len() < 3, "no room");
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<Held>) -> Option<Held> {
        self.packets.pop()
    }
    fn status(&self) -> Status {
        Status::new(self.packets.len(), 0)
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

unsafe extern "C" fn tell(ctx: *mut c_void, _now: u64, packet: *const fl_packet, _reason: u32, _marked: i32) {
    // SAFETY: the context is the list of `dead_queues_give_each_packet_back_once`, and the packet is valid.
    unsafe { (*ctx.cast::<Vec<u64>>()).push((*packet).handle) };
}

/// Would catch a packet that is the caller's after FL_DEAD and is told as well, and one that is lost.
#[test]
fn dead_queues_give_each_packet_back_once() {
    for (burst, drops) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut told: Vec<u64> = Vec::new();
        let ctx = (&raw mut told).cast();
        // SAFETY: the text ends with a zero, and the event function can be called with the list.
        unsafe {
            let queue = fl_queue_new(c"droptail".as_ptr(), 0, 1, Some(tell), ctx, ptr::null_mut(), 0);
            *(*queue).shaper.queue_mut() = Line::new(Box::new(Failing { drops, ..Failing::default() }));
            let packets = [7, 8, 9].map(|handle| fl_packet { handle, bytes: 1, ..fl_packet::default() });
            if burst {
                assert_eq!(fl_enqueue_burst(queue, 0, packets.as_ptr(), 3), if drops { 3 } else { 2 });
            } else {
                let came = packets.map(|packet| fl_enqueue(queue, 0, &raw const packet));
                assert_eq!(came, [0, 0, if drops { 1 } else { FL_DEAD }]);
            }
            // The queue does not take this one either.
            assert_eq!(fl_enqueue(queue, 0, &raw const packets[0]), FL_DEAD);
            fl_queue_free(queue);
        }
        assert_eq!(told, if drops { &[9, 7, 8][..] } else { &[7, 8] });
    }
}

/// Would catch the last packet that was queued taken for one that the dead queue has refused, so that it is lost.
#[test]
fn a_queue_that_dies_later_gives_back_all_that_it_has() {
    let mut told: Vec<u64> = Vec::new();
    // SAFETY: the text ends with a zero, and the event function can be called with the list.
    unsafe {
        let text = c"droptail".as_ptr();
        let queue = fl_queue_new(text, 0, 1, Some(tell), (&raw mut told).cast(), ptr::null_mut(), 0);
        let packets = [7, 8, 9].map(|handle| fl_packet { handle, bytes: 1, ..fl_packet::default() });
        assert_eq!(fl_enqueue_burst(queue, 0, packets.as_ptr(), 2), 2);
        assert_eq!((*queue).ask(|_| -> u32 { panic!("no number") }), None);
        assert_eq!(fl_enqueue_burst(queue, 0, &raw const packets[2], 1), 0);
        assert_eq!(fl_enqueue(queue, 0, &raw const packets[2]), FL_DEAD);
        fl_queue_free(queue);
    }
    assert_eq!(told, [7, 8]);
}

/// A shaper of 1 Mbit/s sends a packet of 1500 bytes in 12 ms. Would catch a time at which the packet that has been
/// asked for may not leave, although it may.
#[test]
fn a_packet_that_was_asked_for_may_leave() {
    // SAFETY: the text ends with a zero, and there is no event function.
    unsafe {
        let text = c"cake bandwidth=1mbit";
        let queue = fl_queue_new(text.as_ptr(), 0, 1, None, ptr::null_mut(), ptr::null_mut(), 0);
        let packet = fl_packet { bytes: 1500, ..fl_packet::default() };
        let mut out = packet;
        (0..3).for_each(|_| assert_eq!(fl_enqueue(queue, 0, &raw const packet), 0));
        assert_eq!(fl_dequeue(queue, 0, &raw mut out), 1);
        assert_eq!((fl_dequeue(queue, 1, &raw mut out), fl_ready_at(queue)), (0, 12_000_000));
        assert_eq!((fl_peek_bytes(queue, 12_000_000), fl_ready_at(queue)), (1500, u64::MAX));
        assert_eq!(fl_dequeue(queue, 12_000_000, &raw mut out), 1);
        fl_queue_free(queue);
    }
}

/// A link of 1 Mbit/s sends a packet of 1000 bytes in 8 ms. Would catch a first packet that waits, idle time that is
/// saved up, arrivals in a burst of which the link is not told, and a packet that was asked for and leaves too soon.
#[test]
fn packets_leave_at_the_rate_of_the_link() {
    let new = || queue(c"droptail");
    let queue = new();
    let mut out = fl_packet::default();
    // SAFETY: the queue is from fl_queue_new, and the packet can be written.
    unsafe {
        assert_eq!(
            (fl_transmit_at(queue), fl_transmit(queue, 5, &raw mut out), fl_transmit_at(queue)),
            (0, 0, u64::MAX)
        );
        fl_queue_free(queue);
    }
    let queue = new();
    assert_eq!(filled(queue, 3), 3);
    let mut at = |now| {
        // SAFETY: the queue is from fl_queue_new, and the packet can be written.
        unsafe { (fl_transmit(queue, now, &raw mut out), fl_transmit_at(queue)) }
    };
    let millisecond = 1_000_000;
    assert_eq!((at(0), at(0)), ((1, 8 * millisecond), (0, 8 * millisecond)));
    assert_eq!((at(9 * millisecond), at(10 * millisecond)), ((1, 16 * millisecond), (0, 16 * millisecond)));
    // SAFETY: the queue is from fl_queue_new.
    unsafe {
        assert_eq!((fl_peek_bytes(queue, 10 * millisecond), fl_transmit_at(queue)), (1000, 16 * millisecond));
        fl_link_rate(queue, 2_000_000);
    }
    assert_eq!((at(16 * millisecond), at(20 * millisecond)), ((1, 20 * millisecond), (0, u64::MAX)));
    let packets = [fl_packet { bytes: 1000, ..fl_packet::default() }; 2];
    // SAFETY: there are two packets.
    unsafe { assert_eq!(fl_enqueue_burst(queue, 100 * millisecond, packets.as_ptr(), 2), 2) };
    assert_eq!((at(100 * millisecond), at(100 * millisecond)), ((1, 104 * millisecond), (0, 104 * millisecond)));
    // SAFETY: the queue is from fl_queue_new, and freed once.
    unsafe {
        assert_eq!(((*queue).status().packets, (*queue).counters().departed.packets), (1, 4));
        fl_queue_free(queue);
    }
}

/// Creates a queue without an event function.
fn queue(text: &std::ffi::CStr) -> *mut fl_queue {
    // SAFETY: the text ends with a zero, and there is no event function and no room for an error.
    unsafe { fl_queue_new(text.as_ptr(), 1_000_000, 1, None, ptr::null_mut(), ptr::null_mut(), 0) }
}

fn change(queue: *mut fl_queue, text: &std::ffi::CStr) -> i32 {
    // SAFETY: the queue is from fl_queue_new, and the text ends with a zero.
    unsafe { fl_change(queue, text.as_ptr(), ptr::null_mut(), 0) }
}

/// Offers `count` packets of 1000 bytes at once, and returns how many are in the queue then.
fn filled(queue: *mut fl_queue, count: usize) -> usize {
    let packet = fl_packet { bytes: 1000, ..fl_packet::default() };
    // SAFETY: the queue is from fl_queue_new, and the packet can be read.
    unsafe {
        (0..count).for_each(|_| assert_ne!(fl_enqueue(queue, 0, &raw const packet), FL_DEAD));
        (*queue).status().packets
    }
}

/// Would catch a purge that makes the first discipline anew, and one that forgets what the queue was changed to.
#[test]
fn a_purge_keeps_the_parameters_that_were_changed() {
    let queue = queue(c"droptail limit=9p");
    assert_eq!((filled(queue, 9), change(queue, c"droptail limit=2p")), (9, 0));
    // SAFETY: the queue is from fl_queue_new, and freed once.
    unsafe {
        assert_eq!((fl_purge(queue, 0), filled(queue, 9), fl_purge(queue, 0)), (9, 2, 2));
        fl_queue_free(queue);
    }
}

/// RED needs the rate of its link. Would catch a change for the rate that the link had at first.
#[test]
fn a_change_goes_by_the_present_rate() {
    // SAFETY: the text ends with a zero, and there is no event function.
    unsafe {
        let queue = fl_queue_new(c"droptail".as_ptr(), 0, 1, None, ptr::null_mut(), ptr::null_mut(), 0);
        assert_eq!(change(queue, c"red"), -1);
        fl_link_rate(queue, 1_000_000);
        assert_eq!(change(queue, c"red"), 0);
        fl_queue_free(queue);
    }
}

/// Offers 100 packets at once, and returns what becomes of each.
fn fates(queue: *mut fl_queue) -> Vec<i32> {
    let packet = fl_packet { bytes: 1000, ..fl_packet::default() };
    // SAFETY: the queue is from fl_queue_new, and the packet can be read.
    unsafe { (0..100).map(|_| fl_enqueue(queue, 0, &raw const packet)).collect() }
}

/// Would catch decisions that repeat after a purge or a change, so that a sender can learn them; and decisions that
/// another program would not have with the same seed.
#[test]
fn purges_and_changes_decide_otherwise_and_repeatably() {
    const TEXT: &std::ffi::CStr = c"red limit=300p min=1p max=200p weight=1";
    let courses = || {
        let queue = queue(TEXT);
        let first = fates(queue);
        // SAFETY: the queue is from fl_queue_new, and freed once.
        unsafe {
            fl_purge(queue, 0);
            let second = fates(queue);
            fl_purge(queue, 0);
            assert_eq!(change(queue, TEXT), 0);
            let third = fates(queue);
            fl_queue_free(queue);
            [first, second, third]
        }
    };
    let [first, second, third] = courses();
    assert!(first.iter().any(|reason| *reason > 0));
    assert!(first != second && second != third && first != third);
    assert_eq!(courses(), [first, second, third]);
}

/// Would catch a status without the packet that has been asked for.
#[test]
fn a_packet_that_was_asked_for_is_in_the_queue() {
    let queue = queue(c"droptail");
    assert_eq!(filled(queue, 3), 3);
    // SAFETY: the queue is from fl_queue_new, and freed once.
    unsafe {
        assert_eq!(fl_peek_bytes(queue, 5), 1000);
        let status = (*queue).status();
        assert_eq!((status.packets, status.bytes), (3, 3000));
        fl_queue_free(queue);
    }
}

unsafe extern "C" fn note_time(ctx: *mut c_void, now: u64, _packet: *const fl_packet, _reason: u32, _marked: i32) {
    // SAFETY: the context is the list of `time_does_not_run_backwards`.
    unsafe { (*ctx.cast::<Vec<u64>>()).push(now) };
}

#[test]
fn time_does_not_run_backwards() {
    let mut times: Vec<u64> = Vec::new();
    let packet = fl_packet { bytes: 1, ..fl_packet::default() };
    // SAFETY: the text ends with a zero, and the event function can be called with the list.
    unsafe {
        let text = c"droptail limit=1p".as_ptr();
        let queue = fl_queue_new(text, 0, 1, Some(note_time), (&raw mut times).cast(), ptr::null_mut(), 0);
        assert_eq!([10, 5, 20, 15].map(|now| fl_enqueue(queue, now, &raw const packet)), [0, 1, 1, 1]);
        fl_purge(queue, 3);
        fl_queue_free(queue);
    }
    assert_eq!(times, [10, 20, 20, 20]);
}
