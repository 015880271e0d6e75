//! A slow RED-PD, from the paper (Mahajan, Floyd, Wetherall, ICNP 2001) and its authors' ns-2 code: every interval is
//! evaluated, and all state is kept in plain lists.

use fairlane_qdisc::{Duration, Reason, Seed, SimplePacket, Size, Stream, Time};

use crate::line::{Line, Slow};
use crate::red::{self, Red};

/// A flow with a filter.
struct Monitored {
    flow: u64,
    p: f64,
    count: f64,
    unresponsive: bool,
    changed: Time,
    /// Observations: the rate in bytes a second, and the loss rate.
    history: Vec<(f64, f64)>,
}

/// The bytes of a flow in this interval.
#[derive(Default)]
struct Seen {
    flow: u64,
    arrived: f64,
    red_drops: f64,
    filter_drops: f64,
}

pub(crate) struct RedPd {
    line: Line,
    red: Red,
    r: f64,
    lists: Vec<Vec<(u64, f64)>>,
    monitored: Vec<Monitored>,
    seen: Vec<Seen>,
    lengths: Vec<Duration>,
    length: Duration,
    end: Option<Time>,
    ewma: Option<f64>,
    filter: Stream,
}

fn seen(all: &mut Vec<Seen>, flow: u64) -> &mut Seen {
    let at = all.iter().position(|seen| seen.flow == flow).unwrap_or_else(|| {
        all.push(Seen { flow, ..Seen::default() });
        all.len() - 1
    });
    &mut all[at]
}

fn responds(history: &[(f64, f64)]) -> bool {
    let (mut good, mut bad) = (0, 0);
    for (bw1, p1) in history {
        for (bw2, p2) in history {
            if p1 < p2 && p1 / p2 > 0.1 {
                if bw2 / bw1 > libm::sqrt(p1 / p2) {
                    bad += 1;
                } else {
                    good += 1;
                }
            }
        }
    }
    !((good == 0 && bad >= 3) || (good == 1 && bad >= 4) || (good >= 2 && bad >= 4 * good))
}

impl RedPd {
    pub(crate) fn new(limit: Size, s: red::Settings, r: f64, seed: Seed) -> Self {
        Self {
            line: Line::new(limit),
            red: Red::new(s, seed),
            r,
            lists: vec![Vec::new(); 5],
            monitored: Vec::new(),
            seen: Vec::new(),
            lengths: vec![Duration::ZERO; 5],
            length: Duration::from_secs(10.0 * r),
            end: None,
            ewma: None,
            filter: seed.stream("filter"),
        }
    }

    fn last(&self, intervals: usize) -> Duration {
        let sum: u64 = self.lengths[5 - intervals..].iter().map(|length| length.as_nanos()).sum();
        Duration::from_nanos(sum).max(Duration::from_millis(400))
    }

    fn interval(&mut self, now: Time) {
        let filtered: f64 = self.seen.iter().map(|seen| seen.filter_drops).sum();
        let arrived: f64 = self.seen.iter().map(|seen| seen.arrived).sum();
        let drops: f64 = self.seen.iter().map(|seen| seen.red_drops).sum();
        let p = if arrived > filtered { drops / (arrived - filtered) } else { 0.0 };
        let ewma = self.ewma.map_or(p, |old| 0.5 * p + 0.5 * old);
        self.ewma = Some(ewma);
        self.lengths.remove(0);
        self.lengths.push(self.length);
        let mut list: Vec<(u64, f64)> =
            self.seen.iter().filter(|seen| seen.red_drops > 0.0).map(|seen| (seen.flow, seen.red_drops)).collect();
        list.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        list.truncate(50);
        self.lists.remove(0);
        self.lists.push(list);
        if p > 0.001 {
            self.punish(now, p.min(ewma));
        }
        self.reward(now);
        self.seen.clear();
        let b = 3.0 / 5.0 * self.r / libm::sqrt(1.5 * ewma);
        self.length = Duration::from_secs(b.clamp(2.0 * self.r, 10.0 * self.r));
    }

    fn punish(&mut self, now: Time, p_use: f64) {
        let mut flows: Vec<u64> = self.lists.iter().flatten().map(|(flow, _)| *flow).collect();
        flows.sort_unstable();
        flows.dedup();
        let mut regular = Vec::new();
        for flow in flows {
            let drops: Vec<f64> = self.lists.iter().flatten().filter(|(f, _)| *f == flow).map(|(_, d)| *d).collect();
            if drops.len() >= 3 {
                regular.push((flow, drops.iter().sum::<f64>()));
            }
        }
        let d_avg = regular.iter().map(|(_, d)| d).sum::<f64>() / regular.len() as f64;
        let wait = self.last(4);
        for (flow, d) in regular {
            let Some(seen) = self.seen.iter().find(|seen| seen.flow == flow) else { continue };
            if seen.red_drops + seen.filter_drops == 0.0 {
                continue;
            }
            let g = p_use * d / d_avg;
            let observation =
                (seen.arrived / self.length.as_secs(), (seen.red_drops + seen.filter_drops) / seen.arrived);
            let Some(m) = self.monitored.iter_mut().find(|m| m.flow == flow) else {
                let p = g.min(2.0 * p_use).min(0.5);
                let history = vec![observation];
                self.monitored.push(Monitored { flow, p, count: 0.0, unresponsive: false, changed: now, history });
                continue;
            };
            if now.since(m.changed) < wait {
                continue;
            }
            m.unresponsive = m.unresponsive || !responds(&m.history);
            let raised = match (m.unresponsive, g > m.p) {
                (false, true) => 2.0 * m.p,
                (false, false) => m.p + g,
                (true, true) => 3.0 * m.p,
                (true, false) => m.p + 2.0 * g,
            };
            m.p = if raised <= 1.0 { raised } else { 1.0 - (1.0 - m.p) / if m.unresponsive { 3.0 } else { 2.0 } };
            m.changed = now;
            m.history.push(observation);
            if m.history.len() > 5 {
                m.history.remove(0);
            }
        }
    }

    fn reward(&mut self, now: Time) {
        let (three, five) = (self.last(3), self.last(5));
        let lists = &self.lists;
        self.monitored.retain_mut(|m| {
            let listed = lists.iter().flatten().any(|(flow, _)| *flow == m.flow);
            let wait = if m.unresponsive { five } else { three };
            if listed || now.since(m.changed) < wait {
                return true;
            }
            m.changed = now;
            let (enough, much, divisor) = if m.unresponsive { (0.0025, 0.075, 1.5) } else { (0.005, 0.1, 2.0) };
            if m.p <= enough {
                return false;
            }
            m.p = if m.p > much { m.p - 0.05 } else { m.p / divisor };
            true
        });
    }
}

impl Slow for RedPd {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        let mut end = *self.end.get_or_insert(now + self.length);
        while end <= now {
            self.interval(end);
            end += self.length;
        }
        self.end = Some(end);
        self.red.arrive(now, &self.line);
        let size = f64::from(p.bytes);
        seen(&mut self.seen, p.flow).arrived += size;
        if let Some(m) = self.monitored.iter_mut().find(|m| m.flow == p.flow) {
            let x = m.count * m.p;
            let p_a = if x < 1.0 { m.p / (1.0 - x) } else { 1.0 };
            let hit = self.filter.unit() < p_a;
            if hit && (m.unresponsive || (self.red.avg >= self.red.s.min && self.line.queue.len() > 1)) {
                m.count = 0.0;
                seen(&mut self.seen, p.flow).filter_drops += size;
                self.line.drop(p, Reason::RatePenalty);
                return;
            }
            m.count += 1.0;
        }
        if !self.red.pass(&mut self.line, p) {
            seen(&mut self.seen, p.flow).red_drops += size;
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
