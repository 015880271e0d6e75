//! A slow RED straight from Floyd and Jacobson's section IV and ns-2's `red.cc`, for the references that build on it.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Stream, Time};

use crate::line::Line;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Spacing {
    None,
    Count,
    Wait,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) in_bytes: bool,
    pub(crate) max_p: f64,
    pub(crate) w: f64,
    pub(crate) gentle: bool,
    pub(crate) spacing: Spacing,
    pub(crate) spare: bool,
    pub(crate) ecn: bool,
    /// Transmission time of the mean packet of 1000 bytes.
    pub(crate) slot: Duration,
}

pub(crate) struct Red {
    pub(crate) s: Settings,
    pub(crate) avg: f64,
    idle_since: Option<Time>,
    count: f64,
    old: bool,
    stream: Stream,
}

impl Red {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self { s, avg: 0.0, idle_since: None, count: -1.0, old: false, stream: seed.stream("red") }
    }

    pub(crate) fn arrive(&mut self, now: Time, line: &Line) {
        if let Some(since) = self.idle_since.take() {
            let m = now.since(since).as_nanos() / self.s.slot.as_nanos();
            self.avg *= libm::pow(1.0 - self.s.w, m as f64);
        }
        let q = if self.s.in_bytes { line.bytes() as f64 } else { line.queue.len() as f64 };
        self.avg = (1.0 - self.s.w) * self.avg + self.s.w * q;
    }

    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
    }

    fn signal(&mut self, line: &Line) -> Option<Reason> {
        let Settings { min, max, max_p, gentle, spare, .. } = self.s;
        if self.avg < min || (spare && line.queue.len() <= 1) {
            self.old = false;
            self.count = -1.0;
            return None;
        }
        let p_b = if self.avg < max {
            // The order of operations matters: p_a jumps at 1, where other rounding would change the decision.
            max_p / (max - min) * (self.avg - min)
        } else if gentle && self.avg < 2.0 * max {
            max_p + (1.0 - max_p) / max * (self.avg - max)
        } else {
            self.count = 0.0;
            return Some(Reason::Forced);
        };
        if spare && !self.old {
            self.old = true;
            self.count = 1.0;
            return None;
        }
        self.count += 1.0;
        let x = p_b * self.count;
        let p_a = match self.s.spacing {
            Spacing::None => p_b,
            Spacing::Count if x < 1.0 => p_b / (1.0 - x),
            Spacing::Wait if x < 1.0 => 0.0,
            Spacing::Wait if x < 2.0 => p_b / (2.0 - x),
            Spacing::Count | Spacing::Wait => 1.0,
        };
        (self.stream.unit() < p_a).then(|| {
            self.count = 0.0;
            Reason::Early
        })
    }

    /// Applies RED and the limit to `p`; tells whether it was neither dropped nor marked.
    pub(crate) fn pass(&mut self, line: &mut Line, p: SimplePacket) -> bool {
        match self.signal(line) {
            None => line.admit(p, None),
            Some(reason) if self.s.ecn && p.ecn_capable => {
                line.admit(p, Some(reason));
                false
            }
            Some(reason) => {
                line.drop(p, reason);
                false
            }
        }
    }
}
