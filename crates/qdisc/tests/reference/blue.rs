//! A slow reference of BLUE: a plain list of packets; idle time is caught up by one decrement after the other.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use super::{Room, Slow};
use fairlane_qdisc::testing::Event;

/// The configuration of BLUE.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blue {
    pub(crate) limit: Room,
    pub(crate) increment: f64,
    pub(crate) decrement: f64,
    pub(crate) freeze: Duration,
    pub(crate) jitter: bool,
    pub(crate) trigger: Option<Room>,
    pub(crate) repeated: bool,
    pub(crate) ecn: bool,
}

/// BLUE with a plain list of packets.
pub(crate) struct SlowBlue {
    s: Blue,
    queue: Vec<SimplePacket>,
    pm: f64,
    /// The end of the freeze time: a change must come later.
    until: Option<Time>,
    idle: bool,
    rolls: Stream,
    freezes: Stream,
}

impl SlowBlue {
    pub(crate) fn new(s: Blue, seed: Seed) -> Self {
        let (rolls, freezes) = (seed.stream("blue"), seed.stream("freeze"));
        Self { s, queue: Vec::new(), pm: 0.0, until: None, idle: false, rolls, freezes }
    }

    fn draw(&mut self) -> Duration {
        if self.s.jitter {
            let nanos = self.s.freeze.as_nanos() as f64 * (0.5 + self.freezes.unit());
            Duration::from_nanos((nanos as u64).max(1))
        } else {
            self.s.freeze
        }
    }

    fn frozen(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now <= until)
    }

    fn lose(&mut self, now: Time) {
        if !self.frozen(now) {
            self.pm = (self.pm + self.s.increment).min(1.0);
            self.until = Some(now + self.draw());
        }
    }

    fn make_up(&mut self, now: Time) {
        if !self.idle || !self.s.repeated || self.frozen(now) {
            return;
        }
        let drawn = self.draw();
        while let (Some(until), false) = (self.until, self.frozen(now)) {
            self.pm = (self.pm - self.s.decrement).max(0.0);
            self.until = Some(until + drawn);
        }
    }
}

impl Slow for SlowBlue {
    fn enqueue(&mut self, now: Time, mut p: SimplePacket, events: &mut Vec<Event>) {
        self.make_up(now);
        if !self.s.limit.holds(&self.queue, Some(&p)) {
            self.lose(now);
            events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if self.rolls.unit() < self.pm {
            if !(self.s.ecn && p.ecn_capable) {
                events.push(Event::Dropped(p.id, Reason::Early));
                return;
            }
            p.marked = true;
            events.push(Event::Marked(p.id, Reason::Early));
        }
        self.queue.push(p);
        self.idle = false;
        if self.s.trigger.is_some_and(|trigger| !trigger.holds(&self.queue, None)) {
            self.lose(now);
        }
    }

    fn dequeue(&mut self, now: Time, events: &mut Vec<Event>) {
        if !self.queue.is_empty() {
            events.push(Event::Departed(self.queue.remove(0).id));
        } else if self.idle {
            self.make_up(now);
        } else {
            self.idle = true;
            if !self.frozen(now) {
                self.pm = (self.pm - self.s.decrement).max(0.0);
                self.until = Some(now + self.draw());
            }
        }
    }

    fn backlog(&self) -> Vec<SimplePacket> {
        self.queue.clone()
    }
}
