//! A slow reference of FRED, from Lin, Morris, "Dynamics of Random Early Detection", SIGCOMM 1997, figure 8: what each
//! flow holds is counted in the list of packets each time it is needed.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};

/// The configuration, under the paper's names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) limit: Size,
    pub(crate) min: f64,
    pub(crate) max: f64,
    pub(crate) minq: f64,
    pub(crate) in_bytes: bool,
    pub(crate) max_p: f64,
    pub(crate) w: f64,
    pub(crate) many_flows: bool,
    pub(crate) byte_drop: bool,
    pub(crate) ecn: bool,
    /// The transmission time of the mean packet of 1000 bytes.
    pub(crate) slot: Duration,
}

/// FRED with a plain list of packets.
pub(crate) struct Fred {
    s: Settings,
    line: Line,
    strikes: Vec<(u64, u32)>,
    avg: f64,
    avgcq: f64,
    q_time: Option<Time>,
    count: f64,
    red: Stream,
}

impl Fred {
    pub(crate) fn new(s: Settings, seed: Seed) -> Self {
        let count = if s.byte_drop { 0.0 } else { -1.0 };
        let red = seed.stream("red");
        Self { s, line: Line::new(s.limit), strikes: Vec::new(), avg: 0.0, avgcq: 1.0, q_time: None, count, red }
    }

    fn size(&self, p: &SimplePacket) -> f64 {
        if self.s.in_bytes { f64::from(p.bytes) } else { 1.0 }
    }

    fn q(&self) -> f64 {
        self.line.queue.iter().map(|p| self.size(p)).sum()
    }

    fn qlen(&self, flow: u64) -> f64 {
        self.line.queue.iter().filter(|p| p.flow == flow).map(|p| self.size(p)).sum()
    }

    fn n_active(&self) -> usize {
        let mut flows: Vec<u64> = self.line.queue.iter().map(|p| p.flow).collect();
        flows.sort_unstable();
        flows.dedup();
        flows.len()
    }

    fn update_avgcq(&mut self, active: usize) {
        let unit = if self.s.in_bytes { 1000.0 } else { 1.0 };
        let shared = if active > 0 { self.avg / active as f64 } else { self.avg };
        self.avgcq = shared.max(unit);
    }

    /// Returns the reason to signal `p`, or `None` if it may pass. A strike against a non-adaptive flow is a rate
    /// penalty.
    fn judge(&mut self, p: &SimplePacket) -> Option<Reason> {
        let Settings { min, max, minq, in_bytes, max_p, many_flows, byte_drop, .. } = self.s;
        let qlen = self.qlen(p.flow);
        let strike = self.strikes.iter().find(|(flow, _)| *flow == p.flow).map_or(0, |(_, strikes)| *strikes);
        let two = if in_bytes { 2000.0 } else { 2.0 };
        let maxq = if self.avg >= max { two } else { min };
        if qlen >= maxq || (self.avg >= max && qlen > 2.0 * self.avgcq) || (qlen >= self.avgcq && strike > 1) {
            if qlen > 0.0 {
                self.strikes.retain(|(flow, _)| *flow != p.flow);
                self.strikes.push((p.flow, strike + 1));
            }
            return Some(Reason::RatePenalty);
        }
        let mean_packets = f64::from(p.bytes) * (1.0 / 1000.0);
        if min <= self.avg && self.avg < max {
            self.count += if byte_drop { mean_packets } else { 1.0 };
            if qlen >= minq.max(self.avgcq) {
                // The order of operations matters: pa jumps at 1, where other rounding would change the decision.
                let pb = max_p / (max - min) * (self.avg - min);
                let x = self.count * pb;
                let mut pa = if x < 1.0 { pb / (1.0 - x) } else { 1.0 };
                if byte_drop && pa < 1.0 {
                    pa *= mean_packets;
                }
                if self.red.unit() < pa {
                    self.count = 0.0;
                    return Some(Reason::Early);
                }
            }
        } else if self.avg < min {
            self.count = if byte_drop { 0.0 } else { -1.0 };
        } else {
            self.count = 0.0;
            if !many_flows {
                return Some(Reason::Forced);
            }
        }
        None
    }
}

impl Slow for Fred {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        if self.line.queue.is_empty()
            && let Some(since) = self.q_time
        {
            let m = now.since(since).as_nanos() / self.s.slot.as_nanos();
            self.avg *= libm::pow(1.0 - self.s.w, m as f64);
            self.q_time = Some(since + Duration::from_nanos(m * self.s.slot.as_nanos()));
            self.update_avgcq(0);
        }
        let reason = self.judge(&p);
        let may_mark = reason != Some(Reason::RatePenalty) && self.s.ecn && p.ecn_capable;
        match reason {
            Some(reason) if !may_mark => self.line.drop(p, reason),
            mark => {
                if self.line.admit(p, mark) {
                    self.avg = (1.0 - self.s.w) * self.avg + self.s.w * self.q();
                    self.update_avgcq(self.n_active());
                    self.q_time = None;
                }
            }
        }
    }

    fn dequeue(&mut self, now: Time) {
        let active = self.n_active();
        let Some(p) = self.line.pop() else { return };
        self.avg = (1.0 - self.s.w) * self.avg + self.s.w * self.q();
        self.update_avgcq(active);
        if self.line.queue.is_empty() {
            self.q_time = Some(now);
        }
        if self.qlen(p.flow) == 0.0 {
            self.strikes.retain(|(flow, _)| *flow != p.flow);
        }
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn average(&self) -> Option<f64> {
        Some(self.avg)
    }
}
