//! PI2 and DualPI2 as slow references: the pseudocode of RFC 9332, appendix A, with the step and the weighted round
//! robin of tc-dualpi2(8).

use fairlane_qdisc::{Duration, Packet, Reason, SimplePacket, Stream, Time};

use super::delay::{Limit, Queue, Slow, age, bytes};
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Limit,
    pub(crate) target: Duration,
    pub(crate) tupdate: Duration,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) k: f64,
    pub(crate) drop_overload: bool,
}

/// The probability p' and its timer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pi {
    pub(crate) p: f64,
    old: f64,
    timer: Option<Time>,
}

impl Pi {
    /// Runs the timer; the delay is the longest of `queues`.
    pub(crate) fn run(&mut self, s: &Settings, now: Time, queues: &[&Queue]) {
        let mut next = self.timer.unwrap_or(now + s.tupdate);
        while next <= now {
            let ages = queues.iter().filter_map(|queue| queue.first()).map(|(_, arrived)| age(next, *arrived));
            let q = ages.max().unwrap_or(Duration::ZERO).as_secs();
            self.p += s.alpha * (q - s.target.as_secs()) + s.beta * (q - self.old);
            self.p = self.p.clamp(0.0, if s.drop_overload { 1.0 } else { 1.0 / s.k });
            self.old = q;
            next += s.tupdate;
        }
        self.timer = Some(next);
    }
}

fn scalable(p: &SimplePacket) -> bool {
    p.l4s() && p.ecn_capable
}

pub(crate) struct Pi2 {
    pub(crate) settings: Settings,
    pub(crate) queue: Queue,
    pub(crate) pi: Pi,
    pub(crate) rolls: Stream,
    pub(crate) events: Vec<Event>,
}

impl Pi2 {
    /// Draws with the probability p'^2: two numbers are below p'.
    fn squared(&mut self) -> bool {
        self.rolls.unit() < self.pi.p && self.rolls.unit() < self.pi.p
    }
}

impl Slow for Pi2 {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.pi.run(&self.settings, now, &[&self.queue]);
        let s = self.settings;
        if s.limit.is_exceeded(self.queue.len() + 1, bytes(&self.queue) + u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        let overload = s.drop_overload && s.k * self.pi.p >= 1.0;
        let (dropped, marked) = if scalable(&p) {
            let dropped = overload && self.squared();
            (dropped, !dropped && self.rolls.unit() < s.k * self.pi.p)
        } else {
            let signal = self.squared();
            let mark = p.ecn_capable && !overload;
            (signal && !mark, signal && mark)
        };
        if marked {
            self.events.push(Event::Marked(p.id, Reason::Early));
        }
        if dropped {
            self.events.push(Event::Dropped(p.id, Reason::Early));
        } else {
            self.queue.push((p, now));
        }
    }

    fn dequeue(&mut self, now: Time) {
        self.pi.run(&self.settings, now, &[&self.queue]);
        if !self.queue.is_empty() {
            let (p, _) = self.queue.remove(0);
            self.events.push(Event::Departed(p.id));
        }
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.queue.iter().map(|(p, _)| *p).collect()
    }
}

/// The L queue's own marks, by its delay.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Native {
    Step(Duration),
    Ramp { min: Duration, range: Duration },
}

pub(crate) struct DualPi2 {
    pub(crate) settings: Settings,
    pub(crate) native: Native,
    /// The packets that must stay behind in the L queue for its own marks.
    pub(crate) behind: usize,
    /// The packets of 1514 bytes that must be left for p'.
    pub(crate) spared: u64,
    /// The classic queue's weight, in percent.
    pub(crate) percent: i64,
    pub(crate) l: Queue,
    pub(crate) c: Queue,
    /// The sums of `recur` for the L and the C queue.
    pub(crate) sums: [f64; 2],
    pub(crate) credit: Option<i64>,
    pub(crate) pi: Pi,
    pub(crate) events: Vec<Event>,
}

impl DualPi2 {
    fn recur(&mut self, lane: usize, likelihood: f64) -> bool {
        self.sums[lane] += likelihood.min(1.0);
        if self.sums[lane] > 1.0 {
            self.sums[lane] -= 1.0;
            return true;
        }
        false
    }

    fn laqm(&self, waited: Duration) -> f64 {
        if self.l.len() < self.behind {
            return 0.0;
        }
        match self.native {
            Native::Step(at) => f64::from(u8::from(waited >= at)),
            Native::Ramp { min, range } => {
                let above = waited.as_nanos() as f64 - min.as_nanos() as f64;
                (above * (1.0 / range.as_nanos() as f64)).clamp(0.0, 1.0)
            }
        }
    }
}

impl Slow for DualPi2 {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.pi.run(&self.settings, now, &[&self.l, &self.c]);
        let packets = self.l.len() + self.c.len() + 1;
        if self.settings.limit.is_exceeded(packets, bytes(&self.l) + bytes(&self.c) + u64::from(p.bytes)) {
            self.events.push(Event::Dropped(p.id, Reason::Limit));
        } else if scalable(&p) {
            self.l.push((p, now));
        } else {
            self.c.push((p, now));
        }
    }

    fn dequeue(&mut self, now: Time) {
        self.pi.run(&self.settings, now, &[&self.l, &self.c]);
        let first = 1514 * (self.percent - (100 - self.percent));
        while !(self.l.is_empty() && self.c.is_empty()) {
            let both = !self.l.is_empty() && !self.c.is_empty();
            let credit = self.credit.unwrap_or(first);
            let from_l = self.c.is_empty() || (both && credit <= 0);
            let (p, arrived) = if from_l { self.l.remove(0) } else { self.c.remove(0) };
            let spared = bytes(&self.l) + bytes(&self.c) < 1514 * self.spared;
            let p_prime = if spared { 0.0 } else { self.pi.p };
            let (p_cl, p_c) = (self.settings.k * p_prime, p_prime * p_prime);
            let overload = self.settings.drop_overload && p_cl >= 1.0;
            let (dropped, marked) = if from_l {
                if overload {
                    let dropped = self.recur(0, p_c);
                    (dropped, !dropped && self.recur(0, p_cl))
                } else {
                    let p_l = self.laqm(age(now, arrived)).max(p_cl);
                    (false, self.recur(0, p_l))
                }
            } else {
                let signal = self.recur(1, p_c);
                let mark = p.ecn_capable && !overload;
                (signal && !mark, signal && mark)
            };
            if dropped {
                self.events.push(Event::Dropped(p.id, Reason::AqmDequeue));
                continue;
            }
            if marked {
                self.events.push(Event::Marked(p.id, Reason::AqmDequeue));
            }
            if both {
                let weight = if from_l { self.percent } else { self.percent - 100 };
                self.credit = Some(credit + weight * i64::from(p.bytes));
            }
            self.events.push(Event::Departed(p.id));
            return;
        }
        self.credit = None;
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.l.iter().chain(&self.c).map(|(p, _)| *p).collect()
    }
}
