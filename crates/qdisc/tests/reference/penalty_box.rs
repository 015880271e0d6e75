//! A slow RED with a penalty box, from the paper (Floyd, Fall, IEEE/ACM ToN 7(4), 1999): every period is
//! evaluated, and the log is a list. Flows are restricted while RED's average is at `min` or above.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Size, Time};

use crate::line::{Line, Slow};
use crate::red::{self, Red};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// D.
    pub(crate) history: usize,
    /// T.
    pub(crate) period: Duration,
    pub(crate) r: f64,
    /// The size of a packet in bytes.
    pub(crate) b: f64,
    /// In bits a second.
    pub(crate) box_rate: u128,
    /// In bytes.
    pub(crate) burst: u128,
}

/// 10^-9 bits in a byte.
const BYTE: u128 = 8_000_000_000;

struct Boxed {
    flow: u64,
    bound: f64,
    arrived: f64,
    calm: u32,
}

/// A flow that was tested and is not in the box.
#[derive(Clone, Copy)]
struct Seen {
    flow: u64,
    l: f64,
    p: f64,
}

pub(crate) struct PenaltyBox {
    s: Settings,
    line: Line,
    red: Red,
    log: Vec<(u64, f64)>,
    drops: usize,
    began: Time,
    arrived: f64,
    dropped: f64,
    boxed: Vec<Boxed>,
    seen: Vec<Seen>,
    /// In 10^-9 bits, so that rounding never decides.
    tokens: u128,
    filled: Time,
}

impl PenaltyBox {
    pub(crate) fn new(limit: Size, s: Settings, red: red::Settings, seed: Seed) -> Self {
        Self {
            s,
            line: Line::new(limit),
            red: Red::new(red, seed),
            log: Vec::new(),
            drops: 0,
            began: Time::ZERO,
            arrived: 0.0,
            dropped: 0.0,
            boxed: Vec::new(),
            seen: Vec::new(),
            tokens: s.burst * BYTE,
            filled: Time::ZERO,
        }
    }

    fn period(&mut self, end: Time) {
        let secs = (end - self.began).as_secs();
        for boxed in &mut self.boxed {
            boxed.calm = if boxed.arrived / secs < boxed.bound { boxed.calm + 1 } else { 0 };
            boxed.arrived = 0.0;
        }
        self.boxed.retain(|boxed| boxed.calm < 2);
        self.judge(secs);
        self.log.clear();
        (self.drops, self.arrived, self.dropped) = (0, 0.0, 0.0);
        self.began = end;
    }

    fn judge(&mut self, secs: f64) {
        let mut flows: Vec<u64> = self.log.iter().map(|(flow, _)| *flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let n = flows.len() as f64;
        let of = |flow: u64| -> f64 { self.log.iter().filter(|(f, _)| *f == flow).map(|(_, bytes)| bytes).sum() };
        let mut worst: Option<u64> = None;
        for &flow in &flows {
            if worst.is_none_or(|worst| of(flow) > of(worst)) {
                worst = Some(flow);
            }
        }
        let Some(flow) = worst else { return };
        if self.boxed.iter().any(|boxed| boxed.flow == flow) {
            return;
        }
        let f = of(flow) / self.log.iter().map(|(_, bytes)| bytes).sum::<f64>();
        let (l, p) = (f * self.arrived / secs, self.dropped / self.arrived);
        let friendly = 1.5 * libm::sqrt(2.0 / 3.0) * self.s.b / (self.s.r * libm::sqrt(p));
        let high = 12_000.0 / libm::sqrt(p);
        let before = self.seen.iter().find(|seen| seen.flow == flow).copied();
        self.seen.retain(|seen| seen.flow != flow);
        let responsive = before.map(|before| (p / before.p, before.l / libm::sqrt(p / before.p)));
        let bound = match responsive {
            _ if l > friendly => Some(friendly),
            Some((x, responsive)) if x >= 4.0 && l > responsive => Some(responsive),
            _ if f > libm::log(3.0 * n) / n && l > high => Some(high),
            _ => None,
        };
        if let Some(bound) = bound {
            self.boxed.push(Boxed { flow, bound, arrived: 0.0, calm: 0 });
            return;
        }
        if self.seen.len() == 16 {
            self.seen.remove(0);
        }
        self.seen.push(match before {
            Some(before) if before.p < p => before,
            _ => Seen { flow, l, p },
        });
    }
}

impl Slow for PenaltyBox {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        while now.since(self.began) >= self.s.period {
            self.period(self.began + self.s.period);
        }
        if self.drops >= self.s.history && now.since(self.began).as_secs() >= self.s.r {
            self.period(now);
        }
        self.red.arrive(now, &self.line);
        let size = f64::from(p.bytes);
        if let Some(boxed) = self.boxed.iter_mut().find(|boxed| boxed.flow == p.flow) {
            boxed.arrived += size;
            let filled = self.tokens + self.s.box_rate * u128::from(now.since(self.filled).as_nanos());
            self.tokens = filled.min(self.s.burst * BYTE);
            self.filled = now;
            let price = u128::from(p.bytes) * BYTE;
            if self.tokens >= price {
                self.tokens -= price;
            } else if self.red.avg >= self.red.s.min {
                self.line.drop(p, Reason::RatePenalty);
                return;
            }
        }
        self.arrived += size;
        if !self.red.pass(&mut self.line, p) {
            self.dropped += size;
            self.drops += 1;
            self.log.push((p.flow, size));
            if self.log.len() > self.s.history {
                self.log.remove(0);
            }
        }
    }

    fn dequeue(&mut self, now: Time) {
        if self.line.pop().is_none() {
            self.red.idle(now);
        }
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn average(&self) -> Option<f64> {
        Some(self.red.avg)
    }
}
