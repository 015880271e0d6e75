//! PIE as a slow reference: the pseudocode of RFC 8033, appendices A and B, with the wait of the last packet as the
//! delay, the 2 % beyond 250 ms and a probability that may exceed 1 as in Linux. Its timer is run for every period that
//! has passed.

use fairlane_qdisc::{Duration, Reason, SimplePacket, Stream, Time};

use super::delay::{Limit, Queue, Slow, age, bytes};
use fairlane_qdisc::testing::Event;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) target: Duration,
    pub(crate) tupdate: Duration,
    pub(crate) alpha: f64,
    pub(crate) beta: f64,
    pub(crate) max_burst: Duration,
    pub(crate) mean: f64,
    pub(crate) bytemode: bool,
    pub(crate) ecn: bool,
    pub(crate) ecn_prob: f64,
    /// Takes the backlog over the departure rate as the delay, not the wait of the last packet.
    pub(crate) estimator: bool,
    /// The factor of the probability in an idle period.
    pub(crate) decay: f64,
    /// The backlog in bytes that switches PIE on; `None` keeps it on.
    pub(crate) on_from: Option<u64>,
}

/// PIE's variables for one queue.
#[derive(Clone, Debug)]
pub(crate) struct Variables {
    pub(crate) prob: f64,
    accu: f64,
    waited: f64,
    old: f64,
    burst: f64,
    active: bool,
    measuring_since: Option<Time>,
    measured: u64,
    /// The seconds that the link takes for 2^14 bytes.
    dq_time: f64,
}

impl Variables {
    pub(crate) fn new(s: &Settings) -> Self {
        Self {
            prob: 0.0,
            accu: 0.0,
            waited: 0.0,
            old: 0.0,
            burst: s.max_burst.as_nanos() as f64,
            active: s.on_from.is_none(),
            measuring_since: None,
            measured: 0,
            dq_time: 0.0,
        }
    }

    /// Does the update at the end of a period; `backlog` bytes are queued.
    pub(crate) fn update(&mut self, s: &Settings, backlog: u64) {
        if !self.active {
            return;
        }
        let target = s.target.as_secs();
        let delay = if s.estimator { backlog as f64 * self.dq_time / 16384.0 } else { self.waited };
        let mut delta = s.alpha * (delay - target) + s.beta * (delay - self.old);
        delta *= if self.prob < 0.000_001 {
            1.0 / 2048.0
        } else if self.prob < 0.000_01 {
            1.0 / 512.0
        } else if self.prob < 0.000_1 {
            1.0 / 128.0
        } else if self.prob < 0.001 {
            1.0 / 32.0
        } else if self.prob < 0.01 {
            1.0 / 8.0
        } else if self.prob < 0.1 {
            1.0 / 2.0
        } else {
            1.0
        };
        if self.prob >= 0.1 && delta > 0.02 {
            delta = 0.02;
        }
        if delay > 0.25 {
            delta += 0.02;
        }
        self.prob = f64::max(0.0, self.prob + delta);
        // Linux's number has 8 bits before the point. It is set to 1 when it overflows.
        if self.prob >= 256.0 {
            self.prob = 1.0;
        }
        if delay == 0.0 && self.old == 0.0 {
            self.prob *= s.decay;
            // As a fixed-point number of 32 bits, it is 0 then.
            if self.prob < 1.0 / 4_294_967_296.0 {
                self.prob = 0.0;
            }
        }
        self.burst = (self.burst - s.tupdate.as_nanos() as f64).max(0.0);
        if self.prob == 0.0 && delay < target / 2.0 && self.old < target / 2.0 {
            self.burst = s.max_burst.as_nanos() as f64;
            self.accu = 0.0;
            self.measuring_since = None;
            self.dq_time = 0.0;
        }
        self.old = delay;
        if s.on_from.is_some() && self.prob == 0.0 && self.old == 0.0 && backlog == 0 {
            self.active = false;
        }
    }

    /// Decides whether a packet of `size` bytes that finds `backlog` bytes is signalled.
    pub(crate) fn early(&mut self, s: &Settings, size: u32, backlog: u64, rolls: &mut Stream) -> bool {
        if !self.active || self.burst > 0.0 {
            return false;
        }
        if self.old < s.target.as_secs() / 2.0 && self.prob < 0.2 {
            return false;
        }
        if backlog as f64 <= 2.0 * s.mean {
            return false;
        }
        let mut p = f64::min(self.prob, 1.0);
        if s.bytemode {
            p = (self.prob * (f64::from(size) * (1.0 / s.mean))).min(1.0);
        }
        if self.prob == 0.0 {
            self.accu = 0.0;
        }
        self.accu += p;
        if self.accu < 0.85 {
            return false;
        }
        if self.accu >= 8.5 || rolls.unit() < p {
            self.accu = 0.0;
            return true;
        }
        false
    }

    /// Notes that the queue was full.
    pub(crate) fn overflow(&mut self) {
        self.accu = 0.0;
    }

    /// Notes that `backlog` bytes are queued after an arrival.
    pub(crate) fn arrived(&mut self, s: &Settings, backlog: u64) {
        if let Some(from) = s.on_from
            && !self.active
            && backlog >= from
        {
            *self = Self { active: true, ..Self::new(s) };
        }
    }

    /// Notes that a packet of `size` bytes left after it `waited`; `backlog` bytes stay.
    pub(crate) fn departed(&mut self, now: Time, size: u32, waited: Duration, backlog: u64) {
        self.waited = if backlog == 0 { 0.0 } else { waited.as_secs() };
        if let Some(since) = self.measuring_since {
            self.measured += u64::from(size);
            if self.measured >= 16384 {
                let time = age(now, since).as_secs();
                self.dq_time = if self.dq_time == 0.0 { time } else { 0.25 * time + 0.75 * self.dq_time };
                self.measuring_since = None;
            }
        }
        if self.measuring_since.is_none() && backlog >= 16384 {
            self.measuring_since = Some(now);
            self.measured = 0;
        }
    }
}

/// PIE over one queue.
pub(crate) struct Pie {
    pub(crate) settings: Settings,
    pub(crate) limit: Limit,
    pub(crate) queue: Queue,
    pub(crate) variables: Variables,
    pub(crate) rolls: Stream,
    /// The end of the current period.
    pub(crate) timer: Option<Time>,
    pub(crate) events: Vec<Event>,
}

/// Returns the number of periods of `tupdate` that have ended by `now`, and advances `timer` to the end of the next
/// one.
pub(crate) fn periods(timer: &mut Option<Time>, tupdate: Duration, now: Time) -> usize {
    let mut next = timer.unwrap_or(now + tupdate);
    let mut ended = 0;
    while next <= now {
        ended += 1;
        next += tupdate;
    }
    *timer = Some(next);
    ended
}

impl Pie {
    fn run_timer(&mut self, now: Time) {
        for _ in 0..periods(&mut self.timer, self.settings.tupdate, now) {
            self.variables.update(&self.settings, bytes(&self.queue));
        }
    }
}

impl Slow for Pie {
    fn enqueue(&mut self, now: Time, p: SimplePacket) {
        self.run_timer(now);
        let backlog = bytes(&self.queue);
        if self.limit.is_exceeded(self.queue.len() + 1, backlog + u64::from(p.bytes)) {
            self.variables.overflow();
            self.events.push(Event::Dropped(p.id, Reason::Limit));
            return;
        }
        if self.variables.early(&self.settings, p.bytes, backlog, &mut self.rolls) {
            if self.settings.ecn && p.ecn_capable && self.variables.prob <= self.settings.ecn_prob {
                self.events.push(Event::Marked(p.id, Reason::Early));
            } else {
                self.events.push(Event::Dropped(p.id, Reason::Early));
                return;
            }
        }
        self.queue.push((p, now));
        self.variables.arrived(&self.settings, bytes(&self.queue));
    }

    fn dequeue(&mut self, now: Time) {
        self.run_timer(now);
        if self.queue.is_empty() {
            return;
        }
        let (p, arrived) = self.queue.remove(0);
        self.variables.departed(now, p.bytes, age(now, arrived), bytes(&self.queue));
        self.events.push(Event::Departed(p.id));
    }

    fn events(&self) -> &[Event] {
        &self.events
    }

    fn queued(&self) -> Vec<SimplePacket> {
        self.queue.iter().map(|(p, _)| *p).collect()
    }
}
