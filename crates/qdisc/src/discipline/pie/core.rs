//! PIE's controller, its choice of packets and its timer, for any queue.

use super::PieParameters;
use crate::{Duration, Stream, Time};

/// PIE's parameters in the units of its controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PieSettings {
    /// The target delay, in seconds.
    target: f64,
    /// The time between updates of the probability.
    tupdate: Duration,
    /// The gain of the deviation from the target, in 1/s.
    alpha: f64,
    /// The gain of the change of the delay, in 1/s.
    beta: f64,
    /// The length of a burst that passes after a quiet time.
    max_burst: Duration,
    /// No packet is signalled while at most this many bytes are queued.
    spared: u64,
    /// The reciprocal of the mean packet, where the probability is proportional to the packet's size.
    per_avpkt: Option<f64>,
    /// Takes the backlog over the measured departure rate as the delay, not the last packet's wait.
    dq_rate_estimator: bool,
    /// Marks packets that can be marked.
    ecn: bool,
    /// The highest probability at which packets are marked, not dropped.
    mark_up_to: f64,
    /// The factor of the probability at an update without delay.
    decay: f64,
    /// The backlog in bytes that switches PIE on; `None` keeps it on.
    on_from: Option<u64>,
}

impl PieSettings {
    /// Converts `parameters`. An update without delay multiplies the probability by `decay`; a backlog of `on_from`
    /// bytes switches PIE on, which is always on without.
    pub(crate) fn new(parameters: &PieParameters, decay: f64, on_from: Option<u64>) -> Self {
        let avpkt = parameters.avpkt.get();
        Self {
            target: parameters.target.as_secs(),
            tupdate: parameters.tupdate,
            alpha: f64::from(parameters.alpha) / 16.0,
            beta: f64::from(parameters.beta) / 16.0,
            max_burst: parameters.max_burst,
            spared: 2 * avpkt,
            per_avpkt: parameters.bytemode.then_some(1.0 / avpkt as f64),
            dq_rate_estimator: parameters.dq_rate_estimator,
            ecn: parameters.ecn,
            mark_up_to: f64::from(parameters.ecn_prob) / 100.0,
            decay,
            on_from,
        }
    }

    /// Returns the time between updates.
    pub(crate) const fn tupdate(&self) -> Duration {
        self.tupdate
    }

    /// Tells whether a signal of a controller at `control` marks a packet, which is `ecn_capable` or not, instead of
    /// dropping it.
    pub(crate) fn marks(&self, ecn_capable: bool, control: f64) -> bool {
        self.ecn && ecn_capable && control <= self.mark_up_to
    }
}

/// PIE's state for one queue (RFC 8033, section 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PieCore {
    /// The controller's value. Above 1 it is the excess of an overload, which has to fall before the probability does.
    control: f64,
    /// The sum of the probabilities since the last signal.
    accumulated: f64,
    /// The wait of the last packet; zero if it left the queue empty.
    waited: Duration,
    /// The delay at the last update, in seconds.
    delay: f64,
    /// The rest of the burst allowance.
    burst: Duration,
    active: bool,
    rate: RateMeter,
}

/// Measures the time that the link takes for [`DQ_THRESHOLD`] bytes (RFC 8033, section 5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct RateMeter {
    since: Option<Time>,
    bytes: u64,
    /// In seconds; 0 before the first measurement.
    time: f64,
}

impl RateMeter {
    fn departed(&mut self, now: Time, bytes: u32, backlog: u64) {
        if let Some(since) = self.since {
            self.bytes += u64::from(bytes);
            if self.bytes >= DQ_THRESHOLD {
                let time = now.since(since).as_secs();
                self.time = if self.time == 0.0 { time } else { DQ_WEIGHT * time + (1.0 - DQ_WEIGHT) * self.time };
                self.since = None;
            }
        }
        if self.since.is_none() && backlog >= DQ_THRESHOLD {
            self.since = Some(now);
            self.bytes = 0;
        }
    }
}

impl PieCore {
    /// Creates the state of an empty queue.
    pub(crate) fn new(settings: &PieSettings) -> Self {
        Self {
            control: 0.0,
            accumulated: 0.0,
            waited: Duration::ZERO,
            delay: 0.0,
            burst: settings.max_burst,
            active: settings.on_from.is_none(),
            rate: RateMeter::default(),
        }
    }

    /// Returns the controller's value, the probability and the excess over 1.
    pub(crate) const fn control(&self) -> f64 {
        self.control
    }

    /// Returns the probability.
    pub(crate) const fn probability(&self) -> f64 {
        self.control.min(1.0)
    }

    /// Does the updates at the ends of `periods` periods, each with `backlog` bytes queued.
    ///
    /// After an update that changes nothing the others are skipped. At most [`MOST_PERIODS`] updates are done, a minute
    /// at 15 ms each, so that days of silence cost no more than that.
    pub(crate) fn catch_up(&mut self, settings: &PieSettings, periods: u64, backlog: u64) {
        for _ in 0..periods.min(MOST_PERIODS) {
            if !self.update(settings, backlog) {
                break;
            }
        }
    }

    /// Does the update at the end of a period with `backlog` bytes queued; tells whether it changed anything.
    fn update(&mut self, settings: &PieSettings, backlog: u64) -> bool {
        if !self.active {
            return false;
        }
        let before = (self.control, self.delay, self.burst, self.rate.time);
        let delay = if settings.dq_rate_estimator {
            backlog as f64 * self.rate.time * (1.0 / DQ_THRESHOLD as f64)
        } else {
            self.waited.as_secs()
        };
        let near = 0.5 * settings.target;
        self.control = (self.control + self.step(settings, delay)).max(0.0);
        if self.control >= OVERFLOW {
            self.control = 1.0;
        }
        if delay == 0.0 && self.delay == 0.0 {
            self.control *= settings.decay;
            if self.control < LEAST {
                self.control = 0.0;
            }
        }
        self.burst = Duration::from_nanos(self.burst.as_nanos().saturating_sub(settings.tupdate.as_nanos()));
        if self.control == 0.0 && delay < near && self.delay < near {
            self.burst = settings.max_burst;
            self.accumulated = 0.0;
            self.rate = RateMeter::default();
        }
        self.delay = delay;
        if settings.on_from.is_some() && self.control == 0.0 && delay == 0.0 && backlog == 0 {
            self.active = false;
        }
        before != (self.control, self.delay, self.burst, self.rate.time)
    }

    /// Returns the change of the probability for a delay of `delay` seconds.
    fn step(&self, settings: &PieSettings, delay: f64) -> f64 {
        let step = settings.alpha * (delay - settings.target) + settings.beta * (delay - self.delay);
        let mut step = step * scale(self.control);
        if self.control >= 0.1 && step > STEP {
            step = STEP;
        }
        if delay > FAR {
            step += STEP;
        }
        step
    }

    /// Decides whether a packet of `bytes` bytes that finds `backlog` bytes is signalled.
    pub(crate) fn test(&mut self, settings: &PieSettings, bytes: u32, backlog: u64, rolls: &mut Stream) -> bool {
        if !self.active
            || self.burst > Duration::ZERO
            || (self.control < 0.2 && self.delay < 0.5 * settings.target)
            || backlog <= settings.spared
        {
            return false;
        }
        let probability = match settings.per_avpkt {
            Some(part) => (self.control * (f64::from(bytes) * part)).min(1.0),
            None => self.probability(),
        };
        if self.control == 0.0 {
            self.accumulated = 0.0;
        }
        // Signals are neither too close to each other nor too far apart (RFC 8033, section 5.4).
        self.accumulated += probability;
        if self.accumulated < 0.85 || (self.accumulated < 8.5 && !rolls.chance(probability)) {
            return false;
        }
        self.accumulated = 0.0;
        true
    }

    /// Notes that a packet found the queue full.
    pub(crate) const fn overflow(&mut self) {
        self.accumulated = 0.0;
    }

    /// Notes that a packet was queued, which makes `backlog` bytes.
    pub(crate) fn arrived(&mut self, settings: &PieSettings, backlog: u64) {
        if !self.active && settings.on_from.is_some_and(|from| backlog >= from) {
            *self = Self { active: true, ..Self::new(settings) };
        }
    }

    /// Notes that a packet of `bytes` bytes left after it had `waited`, which leaves `backlog` bytes.
    pub(crate) fn departed(&mut self, settings: &PieSettings, now: Time, bytes: u32, waited: Duration, backlog: u64) {
        self.waited = if backlog == 0 { Duration::ZERO } else { waited };
        if settings.dq_rate_estimator {
            self.rate.departed(now, bytes, backlog);
        }
    }
}

#[cfg(test)]
impl PieCore {
    /// Returns the state with a probability, the wait of the last packet, and the delay at the last update in seconds.
    pub(super) const fn with(mut self, probability: f64, waited: Duration, delay: f64) -> Self {
        self.control = probability;
        self.waited = waited;
        self.delay = delay;
        self
    }

    /// Returns the state with its burst allowance used up.
    pub(super) const fn without_burst(mut self) -> Self {
        self.burst = Duration::ZERO;
        self
    }
}

/// Returns the factor of a step at `probability`, which keeps the control stable while few packets are signalled (RFC
/// 8033, section 4.2).
fn scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] = [
        (0.000_001, 1.0 / 2048.0),
        (0.000_01, 1.0 / 512.0),
        (0.000_1, 1.0 / 128.0),
        (0.001, 1.0 / 32.0),
        (0.01, 1.0 / 8.0),
        (0.1, 1.0 / 2.0),
    ];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, scale)| *scale)
}

/// A timer without events: it is asked at each call how many periods have ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Periods {
    length: Duration,
    next: Option<Time>,
}

impl Periods {
    /// Creates a timer of periods of `length`, which is not 0; the first begins with the first call.
    pub(crate) const fn new(length: Duration) -> Self {
        Self { length, next: None }
    }

    /// Returns the number of periods that have ended since the last call, and the end of the first of them.
    pub(crate) fn ended(&mut self, now: Time) -> (u64, Time) {
        let first = *self.next.get_or_insert(now + self.length);
        if now < first {
            return (0, first);
        }
        let length = self.length.as_nanos();
        let late = now.since(first).as_nanos();
        // Frequent calls save the division.
        let more = if late < length { 0 } else { late / length };
        self.next = Some(first + Duration::from_nanos(length.saturating_mul(more)) + self.length);
        (more + 1, first)
    }
}

/// The most updates that one call makes up for.
pub(crate) const MOST_PERIODS: u64 = 4096;

/// The bytes over which the departure rate is measured.
const DQ_THRESHOLD: u64 = 1 << 14;

/// The weight of a new measurement: `DQ_THRESHOLD` / 2^16.
const DQ_WEIGHT: f64 = 0.25;

/// The largest step up while the probability is 0.1 or more, and the increment for a delay beyond [`FAR`].
const STEP: f64 = 0.02;

/// The delay beyond which the probability rises faster, in seconds.
const FAR: f64 = 0.25;

/// Where Linux's fixed-point number of 64 bits, of which 56 are the fraction, overflows; it becomes 1 then.
const OVERFLOW: f64 = 256.0;

/// A decaying probability below this, 2^-32, becomes 0.
const LEAST: f64 = 1.0 / 4_294_967_296.0;
