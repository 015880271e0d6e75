//! Dead queues, and packets that have been asked for.

use fairlane_qdisc::{DropSink, Fate};

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

/// Panics when the third packet comes.
struct Failing(Vec<Held>, Counters);

impl Qdisc<Held> for Failing {
    fn enqueue(&mut self, _now: Time, packet: Held, _sink: &mut dyn DropSink<Held>) -> Fate {
        self.0.push(packet);
        assert!(self.0.len() < 3, "no room");
        Fate::Queued
    }
    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<Held>) -> Option<Held> {
        self.0.pop()
    }
    fn status(&self) -> Status {
        Status::new(self.0.len(), 0)
    }
    fn counters(&self) -> &Counters {
        &self.1
    }
}

unsafe extern "C" fn tell(ctx: *mut c_void, _now: u64, packet: *const fl_packet, _reason: u32, _marked: i32) {
    // SAFETY: the context is the list of `dead_queues_give_each_packet_back_once`, and the packet is valid.
    unsafe { (*ctx.cast::<Vec<u64>>()).push((*packet).handle) };
}

/// Would catch a packet that is the caller's after FL_DEAD and is told as well, and one that is lost.
#[test]
fn dead_queues_give_each_packet_back_once() {
    for burst in [false, true] {
        let mut told: Vec<u64> = Vec::new();
        let ctx = (&raw mut told).cast();
        // SAFETY: the text ends with a zero, and the event function can be called with the list.
        unsafe {
            let queue = fl_queue_new(c"droptail".as_ptr(), 0, 1, Some(tell), ctx, ptr::null_mut(), 0);
            (*queue).discipline = Discipline::First(Box::new(Failing(Vec::new(), Counters::default())));
            let packets = [7, 8, 9].map(|handle| fl_packet { handle, bytes: 1, ..fl_packet::default() });
            if burst {
                assert_eq!(fl_enqueue_burst(queue, 0, packets.as_ptr(), 3), 2);
            } else {
                let came = packets.map(|packet| fl_enqueue(queue, 0, &raw const packet));
                assert_eq!(came, [0, 0, FL_DEAD]);
            }
            // The queue does not take this one either.
            assert_eq!(fl_enqueue(queue, 0, &raw const packets[0]), FL_DEAD);
            fl_queue_free(queue);
        }
        assert_eq!(told, [7, 8]);
    }
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
