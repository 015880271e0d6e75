//! A slow CSFQ, from figure 3 and equation 3 of the paper (Stoica et al., SIGCOMM 1998), with the threshold and the
//! cuts of the authors' ns-2 code.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    /// In bit/s.
    pub(crate) c: f64,
    pub(crate) k: Duration,
    pub(crate) k_alpha: Duration,
    pub(crate) k_c: Duration,
    pub(crate) edge: bool,
    pub(crate) table_size: usize,
    pub(crate) threshold: f64,
}

/// `r = (1 - e^-T/K) size/T + e^-T/K r`; packets that arrive at the same time count with the next.
struct Ewma {
    r: f64,
    t: Time,
    bits: f64,
}

impl Ewma {
    fn new(t: Time) -> Self {
        Self { r: 0.0, t, bits: 0.0 }
    }

    fn add(&mut self, now: Time, bits: f64, k: Duration) {
        self.bits += bits;
        let t = now.since(self.t).as_secs();
        if t > 0.0 {
            let old = libm::exp(-t / k.as_secs());
            self.r = (1.0 - old) * self.bits / t + old * self.r;
            self.t = now;
            self.bits = 0.0;
        }
    }
}

pub(crate) struct Csfq {
    s: Settings,
    line: Line,
    /// The flow unused for longest is first.
    flows: Vec<(u64, Ewma)>,
    a: Ewma,
    f: Ewma,
    alpha: f64,
    congested: bool,
    start: Time,
    tmp: f64,
    cuts: u32,
    cut_since: Time,
    rolls: Stream,
}

impl Csfq {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        Self {
            s,
            line: Line::new(s.limit),
            flows: Vec::new(),
            a: Ewma::new(Time::ZERO),
            f: Ewma::new(Time::ZERO),
            alpha: 0.0,
            congested: false,
            start: Time::ZERO,
            tmp: 0.0,
            cuts: 0,
            cut_since: Time::ZERO,
            rolls: seed.stream("label"),
        }
    }

    fn edge(&mut self, now: Time, p: &SimplePacket) -> u64 {
        let at = self.flows.iter().position(|(flow, _)| *flow == p.flow);
        let Some(at) = at else {
            if self.flows.len() == self.s.table_size {
                self.flows.remove(0);
            }
            self.flows.push((p.flow, Ewma::new(now)));
            return 0;
        };
        let (flow, mut rate) = self.flows.remove(at);
        rate.add(now, 8.0 * f64::from(p.bytes), self.s.k);
        let label = libm::round(rate.r) as u64;
        self.flows.push((flow, rate));
        label
    }

    fn estimate(&mut self, now: Time, p: &SimplePacket, label: f64, dropped: bool) {
        let bits = 8.0 * f64::from(p.bytes);
        let long = self.line.fill().0 >= self.s.threshold;
        self.a.add(now, bits, self.s.k_alpha);
        if !dropped {
            self.f.add(now, bits, self.s.k_alpha);
        }
        if self.a.r >= self.s.c {
            if !self.congested {
                self.congested = true;
                self.start = now;
            } else if now > self.start + self.s.k_c {
                if self.f.r > 0.0 {
                    self.alpha = (self.alpha * self.s.c / self.f.r).min(self.s.c);
                }
                self.start = now;
            }
            if self.alpha == 0.0 && long {
                self.alpha = label.min(self.s.c);
            }
        } else if self.congested {
            self.congested = false;
            self.start = now;
            self.tmp = 0.0;
        } else if now < self.start + self.s.k_c {
            self.tmp = self.tmp.max(label);
        } else {
            self.alpha = if long { self.tmp } else { 0.0 };
            self.start = now;
            self.tmp = 0.0;
        }
    }
}

impl Slow for Csfq {
    fn enqueue(&mut self, now: Time, mut p: SimplePacket) {
        if self.s.edge && p.label == 0 {
            p.label = self.edge(now, &p);
        }
        let label = if p.label == 0 { self.alpha } else { p.label as f64 };
        let prob = if self.alpha > 0.0 { (1.0 - self.alpha / label).max(0.0) } else { 0.0 };
        // A packet that cannot be dropped draws no random number.
        if prob > 0.0 && self.rolls.unit() < prob {
            self.estimate(now, &p, label, true);
            self.line.drop(p, Reason::Label);
            return;
        }
        self.estimate(now, &p, label, false);
        if prob > 0.0 && self.alpha > 0.0 {
            p.label = libm::round(label.min(self.alpha)).max(1.0) as u64;
        }
        if !self.line.admit(p, None) {
            if now.since(self.cut_since) >= self.s.k_c {
                self.cuts = 0;
                self.cut_since = now;
            }
            self.cuts += 1;
            if self.cuts <= 29 {
                self.alpha *= 0.99;
            }
        }
    }

    fn dequeue(&mut self, _now: Time) {
        self.line.pop();
    }

    fn line(&self) -> &Line {
        &self.line
    }
}
