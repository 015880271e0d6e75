use std::collections::VecDeque;

use fairlane_qdisc::{Counters, DropSink};

use super::*;
use crate::packet::{Flags, NO_SACK};
use crate::schedule::event_key::Target;
use crate::schedule::timer::Timer;
use crate::schedule::{Next, Ports, Schedule};

const GAP: Duration = Duration::from_millis(10);

/// Releases one packet every `GAP`.
struct Shaper {
    queue: VecDeque<Packet>,
    next: Time,
    counters: Counters,
}

impl Qdisc<Packet> for Shaper {
    fn enqueue(&mut self, _now: Time, packet: Packet, _sink: &mut dyn DropSink<Packet>) {
        self.queue.push_back(packet);
    }
    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        if now < self.next {
            return None;
        }
        let packet = self.queue.pop_front()?;
        self.next = now + GAP;
        Some(packet)
    }
    fn status(&self) -> Status {
        let mut status = Status::new(self.queue.len(), 0);
        status.ready_at = Some(self.next);
        status
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}

fn packet(now: Time) -> Packet {
    let flags = Flags::default();
    Packet { sent: now, at: now, flow: 0, seq: 0, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 }
}

/// Would catch a shaper that is asked more than once, or not at the moment it named, however many arrivals there were
/// before; and an empty one that is asked at all.
#[test]
fn a_shaper_is_asked_when_it_is_ready() {
    let mut shaper = Shaper { queue: VecDeque::new(), next: Time::ZERO, counters: Counters::default() };
    let (mut timer, mut events) = (Timer::off(), Schedule::new(&Ports::default(), 1e3));
    let mut left = Vec::new();
    let mut ask = |shaper: &mut Shaper, timer: &mut Timer, events: &mut Schedule, now: Time| {
        while shaper.dequeue(now, &mut ()).is_some() {
            left.push(now);
        }
        timer.set(retry_at(now, &shaper.status()), Target::Release(3), events);
    };
    for arrival in 0..5 {
        let now = Time::ZERO + Duration::from_millis(arrival);
        shaper.enqueue(now, packet(now), &mut ());
        ask(&mut shaper, &mut timer, &mut events, now);
    }
    let mut fired = 0;
    while let Some((now, next)) = events.next_before(Time::MAX) {
        assert!(matches!(next, Next::Timer(Target::Release(3))));
        assert!(timer.fires(now));
        fired += 1;
        ask(&mut shaper, &mut timer, &mut events, now);
    }
    let gaps: Vec<Time> = (0..5).map(|n| Time::ZERO + Duration::from_millis(10 * n)).collect();
    assert_eq!((left, fired), (gaps, 4));
}

/// Would catch a simulation whose time does not advance because a discipline returns a time in the past.
#[test]
fn time_advances_although_the_queue_is_ready_now() {
    let now = Time::from_nanos(50);
    let queue = VecDeque::from([packet(now)]);
    let shaper = Shaper { queue, next: Time::ZERO, counters: Counters::default() };
    assert_eq!(retry_at(now, &shaper.status()), Some(Time::from_nanos(51)));
}
