//! COBALT as a slow reference, from sch_cake's `cobalt_*` functions and ns-3's `blue_threshold`.

use fairlane_qdisc::{Duration, Reason, SimplePacket, Stream, Time};

use super::delay::{Limit, Queue, Slow, age, bytes, control_law};
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) target: Duration,
    pub(crate) interval: Duration,
    pub(crate) floor: Duration,
    pub(crate) blue_threshold: Duration,
    pub(crate) ecn: bool,
}

/// COBALT's variables for one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    pub(crate) drop_next: Time,
    last_blue: Time,
    pub(crate) p: f64,
    pub(crate) count: u32,
    dropping: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Pass,
    Mark,
    Drop(Reason),
}

impl Variables {
    fn next(&self, s: &Settings, from: Time) -> Time {
        control_law(from, s.interval, if self.count == 0 { 1 } else { self.count })
    }

    pub(crate) fn full(&mut self, s: &Settings, now: Time) {
        if age(now, self.last_blue) > s.target {
            self.p = f64::min(1.0, self.p + 1.0 / 256.0);
            self.last_blue = now;
        }
        self.dropping = true;
        self.drop_next = now;
        if self.count == 0 {
            self.count = 1;
        }
    }

    pub(crate) fn empty(&mut self, s: &Settings, now: Time) {
        if self.p > 0.0 && age(now, self.last_blue) > s.target {
            self.p = f64::max(0.0, self.p - 1.0 / 4096.0);
            self.last_blue = now;
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.count -= 1;
            self.drop_next = self.next(s, self.drop_next);
        }
    }

    /// Decides on a packet that came at `arrived`.
    pub(crate) fn ask(&mut self, s: &Settings, now: Time, arrived: Time, ect: bool, rolls: &mut Stream) -> Answer {
        let sojourn = age(now, arrived);
        let over = sojourn > s.target && sojourn > s.floor;
        let mut due = self.count > 0 && now >= self.drop_next;
        if over {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.next(s, now);
            }
            if self.count == 0 {
                self.count = 1;
            }
        } else {
            self.dropping = false;
        }
        let mut answer = Answer::Pass;
        if due && self.dropping {
            answer = if s.ecn && ect { Answer::Mark } else { Answer::Drop(Reason::AqmDequeue) };
            self.count += 1;
            self.drop_next = self.next(s, self.drop_next);
        } else {
            while due {
                self.count -= 1;
                self.drop_next = self.next(s, self.drop_next);
                due = self.count > 0 && now >= self.drop_next;
            }
        }
        if sojourn > s.blue_threshold && age(now, self.last_blue) > s.target {
            self.p = f64::min(1.0, self.p + 1.0 / 256.0);
            self.last_blue = now;
        }
        if self.p > 0.0 && !matches!(answer, Answer::Drop(_)) && rolls.unit() < self.p {
            answer = Answer::Drop(Reason::Early);
        }
        if self.count == 0 {
            self.drop_next = now + s.interval;
        } else if now > self.drop_next && !matches!(answer, Answer::Drop(_)) {
            self.drop_next = now;
        }
        answer
    }
}

/// COBALT over one queue.
pub(crate) struct Cobalt {
    pub(crate) settings: Settings,
    pub(crate) limit: Limit,
    pub(crate) queue: Queue,
    pub(crate) variables: Variables,
    pub(crate) rolls: Stream,
    pub(crate) events: Vec<Event>,
}

impl Slow for Cobalt {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.limit.is_exceeded(self.queue.len() + 1, bytes(&self.queue) + u64::from(p.bytes)) {
            self.variables.full(&self.settings, now);
            self.events.push(Event::Dropped(p.id, Reason::Limit));
        } else {
            self.queue.push((p, now));
        }
    }

    fn dequeue(&mut self, now: Time) {
        while !self.queue.is_empty() {
            let (p, arrived) = self.queue.remove(0);
            match self.variables.ask(&self.settings, now, arrived, p.ecn_capable, &mut self.rolls) {
                Answer::Drop(reason) => {
                    self.events.push(Event::Dropped(p.id, reason));
                    continue;
                }
                Answer::Mark => self.events.push(Event::Marked(p.id, Reason::AqmDequeue)),
                Answer::Pass => {}
            }
            self.events.push(Event::Departed(p.id));
            return;
        }
        self.variables.empty(&self.settings, now);
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.queue.iter().map(|(p, _)| *p).collect()
    }
}
