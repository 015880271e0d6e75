//! A slow AFD, from section 3 of the paper (Pan et al., ACM CCR 33(2), 2003): the shadow buffer is a list whose entries
//! are counted each time, and the controller runs at every interval.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    pub(crate) b: usize,
    pub(crate) s: u32,
    pub(crate) q_target: f64,
    pub(crate) interval: Duration,
}

pub(crate) struct Afd {
    s: Settings,
    line: Line,
    shadow: Vec<u64>,
    m_fair: f64,
    q_prev: f64,
    next: Time,
    samples: Stream,
    label: Stream,
}

impl Afd {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            line: Line::new(s.limit),
            shadow: Vec::new(),
            m_fair: s.b as f64,
            q_prev: 0.0,
            next: Time::ZERO + s.interval,
            samples: seed.stream("shadow"),
            label: seed.stream("label"),
        }
    }

    fn tick_until(&mut self, now: Time) {
        let q = match self.s.limit {
            Size::Packets(_) => self.line.queue.len() as f64,
            Size::Bytes(_) => self.line.bytes() as f64 / 1000.0,
        };
        while self.next <= now {
            let step = 1.7 * (self.q_prev - self.s.q_target) - 1.8 * (q - self.s.q_target);
            let moved = (self.m_fair + step).clamp(1e-3, self.s.b as f64);
            let settled = moved == self.m_fair && self.q_prev == q;
            self.m_fair = moved;
            self.q_prev = q;
            self.next += self.s.interval;
            if settled {
                // Nothing changes any more, so all other intervals pass at once.
                while self.next <= now {
                    let left = now.since(self.next).as_nanos() / self.s.interval.as_nanos();
                    self.next += Duration::from_nanos((left + 1) * self.s.interval.as_nanos());
                }
            }
        }
    }
}

impl Slow for Afd {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.tick_until(now);
        if self.samples.below(self.s.s) == 0 {
            if self.shadow.len() == self.s.b {
                let at = self.samples.below(self.s.b as u32) as usize;
                self.shadow[at] = p.flow;
            } else {
                self.shadow.push(p.flow);
            }
        }
        let m = self.shadow.iter().filter(|&&flow| flow == p.flow).count() as f64;
        // A flow without samples draws no random number.
        if m > 0.0 && self.label.unit() < (1.0 - self.m_fair / m).max(0.0) {
            self.line.drop(p, Reason::Label);
        } else {
            self.line.admit(p, None);
        }
    }

    fn dequeue(&mut self, now: Time) {
        self.tick_until(now);
        self.line.pop();
    }

    fn line(&self) -> &Line {
        &self.line
    }
}
