//! PIE without a queue: the probability, who is signalled by it, and the timer; for any queue.

use crate::{Duration, Stream, Time};

/// What PIE is told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieSettings {
    /// The delay that is aimed at, in seconds.
    pub(crate) target: f64,
    /// How often the probability is updated.
    pub(crate) tupdate: Duration,
    /// The part of the deviation from the target, for each second of it.
    pub(crate) alpha: f64,
    /// The part of the change of the delay, for each second of it.
    pub(crate) beta: f64,
    /// For how long a burst after a quiet time passes.
    pub(crate) max_burst: Duration,
    /// No signal while no more bytes are queued.
    pub(crate) spared: u64,
    /// With a probability proportional to the packet's size: the part of the mean packet that a byte is.
    pub(crate) per_avpkt: Option<f64>,
    /// Whether the delay is the backlog over the measured departure rate, not what the last packet waited.
    pub(crate) dq_rate_estimator: bool,
    /// What an update leaves of the probability when there was no delay.
    pub(crate) decay: f64,
    /// The bytes from which PIE is switched on; it is on from the start without.
    pub(crate) on_from: Option<u64>,
}

/// The state of RFC 8033, for one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieCore {
    probability: f64,
    /// The probabilities since the last signal, added up.
    accumulated: f64,
    /// What the last packet waited; nothing once it left the queue empty.
    waited: Duration,
    /// The delay at the last update, in seconds.
    delay: f64,
    /// What is left of the burst allowance.
    burst: Duration,
    active: bool,
    rate: RateMeter,
}

/// How long the link takes for [`DQ_THRESHOLD`] bytes: RFC 8033, section 5.3.
#[derive(Clone, Copy, Debug, Default)]
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
    pub(crate) fn new(settings: &PieSettings) -> Self {
        Self {
            probability: 0.0,
            accumulated: 0.0,
            waited: Duration::ZERO,
            delay: 0.0,
            burst: settings.max_burst,
            active: settings.on_from.is_none(),
            rate: RateMeter::default(),
        }
    }

    /// The probability.
    pub(crate) const fn probability(&self) -> f64 {
        self.probability
    }

    /// `periods` periods have ended that found `backlog` bytes.
    ///
    /// Once one changes nothing, the next one will not either. No more than [`MOST_PERIODS`] are made up for, which at
    /// 15 ms each is a minute: so days cost no more than that.
    pub(crate) fn catch_up(&mut self, settings: &PieSettings, periods: u64, backlog: u64) {
        for _ in 0..periods.min(MOST_PERIODS) {
            if !self.update(settings, backlog) {
                break;
            }
        }
    }

    /// A period has ended that found `backlog` bytes. Whether that changed anything.
    fn update(&mut self, settings: &PieSettings, backlog: u64) -> bool {
        if !self.active {
            return false;
        }
        let before = (self.probability, self.delay, self.burst, self.rate.time);
        let delay = if settings.dq_rate_estimator {
            backlog as f64 * self.rate.time * (1.0 / DQ_THRESHOLD as f64)
        } else {
            self.waited.as_secs()
        };
        let near = 0.5 * settings.target;
        self.probability = (self.probability + self.step(settings, delay)).clamp(0.0, 1.0);
        if delay == 0.0 && self.delay == 0.0 {
            self.probability *= settings.decay;
            if self.probability < LEAST {
                self.probability = 0.0;
            }
        }
        self.burst = Duration::from_nanos(self.burst.as_nanos().saturating_sub(settings.tupdate.as_nanos()));
        if self.probability == 0.0 && delay < near && self.delay < near {
            self.burst = settings.max_burst;
            self.accumulated = 0.0;
            self.rate = RateMeter::default();
        }
        self.delay = delay;
        if settings.on_from.is_some() && self.probability == 0.0 && delay == 0.0 && backlog == 0 {
            self.active = false;
        }
        before != (self.probability, self.delay, self.burst, self.rate.time)
    }

    /// By how much the probability moves for a delay of `delay` seconds.
    fn step(&self, settings: &PieSettings, delay: f64) -> f64 {
        let step = settings.alpha * (delay - settings.target) + settings.beta * (delay - self.delay);
        let mut step = step * scale(self.probability);
        if self.probability >= 0.1 && step > STEP {
            step = STEP;
        }
        if delay > FAR {
            step += STEP;
        }
        step
    }

    /// Whether a packet of `bytes` bytes that finds `backlog` bytes is signalled.
    pub(crate) fn test(&mut self, settings: &PieSettings, bytes: u32, backlog: u64, rolls: &mut Stream) -> bool {
        if !self.active
            || self.burst > Duration::ZERO
            || (self.probability < 0.2 && self.delay < 0.5 * settings.target)
            || backlog <= settings.spared
        {
            return false;
        }
        let probability = match settings.per_avpkt {
            Some(part) => (self.probability * (f64::from(bytes) * part)).min(1.0),
            None => self.probability,
        };
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        // Signals neither too close to each other nor too far apart: section 5.4.
        self.accumulated += probability;
        if self.accumulated < 0.85 || (self.accumulated < 8.5 && !rolls.chance(probability)) {
            return false;
        }
        self.accumulated = 0.0;
        true
    }

    /// A packet found the queue full.
    pub(crate) const fn overflow(&mut self) {
        self.accumulated = 0.0;
    }

    /// A packet was queued, which makes `backlog` bytes.
    pub(crate) fn arrived(&mut self, settings: &PieSettings, backlog: u64) {
        if !self.active && settings.on_from.is_some_and(|from| backlog >= from) {
            *self = Self { active: true, ..Self::new(settings) };
        }
    }

    /// A packet of `bytes` bytes left after it had `waited`, which leaves `backlog` bytes.
    pub(crate) fn departed(&mut self, settings: &PieSettings, now: Time, bytes: u32, waited: Duration, backlog: u64) {
        self.waited = if backlog == 0 { Duration::ZERO } else { waited };
        if settings.dq_rate_estimator {
            self.rate.departed(now, bytes, backlog);
        }
    }
}

#[cfg(test)]
impl PieCore {
    /// The same with a probability, what the last packet waited, and the delay at the last update in seconds.
    pub(super) const fn with(mut self, probability: f64, waited: Duration, delay: f64) -> Self {
        self.probability = probability;
        self.waited = waited;
        self.delay = delay;
        self
    }

    /// The same when the burst allowance is used up.
    pub(super) const fn without_burst(mut self) -> Self {
        self.burst = Duration::ZERO;
        self
    }
}

/// How far a step reaches at `probability`, so that the control stays stable when few packets are signalled.
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

/// A timer that nobody wakes: whoever comes finds out how many periods have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Periods {
    length: Duration,
    next: Option<Time>,
}

impl Periods {
    /// Periods of `length`, which is not 0; the first begins with the first call.
    pub(crate) const fn new(length: Duration) -> Self {
        Self { length, next: None }
    }

    /// How many periods have ended since the last call, and when the first of them did.
    pub(crate) fn ended(&mut self, now: Time) -> (u64, Time) {
        let first = *self.next.get_or_insert(now + self.length);
        if now < first {
            return (0, first);
        }
        let length = self.length.as_nanos();
        let late = now.since(first).as_nanos();
        // Whoever is called often enough need not divide.
        let more = if late < length { 0 } else { late / length };
        self.next = Some(first + Duration::from_nanos(length.saturating_mul(more)) + self.length);
        (more + 1, first)
    }
}

/// Periods that are made up for at once.
pub(crate) const MOST_PERIODS: u64 = 4096;

/// Bytes over which the departure rate is measured.
const DQ_THRESHOLD: u64 = 1 << 14;

/// The weight of a new measurement: `DQ_THRESHOLD` / 2^16.
const DQ_WEIGHT: f64 = 0.25;

/// The largest step up while the probability is 0.1 or more; and what a delay beyond [`FAR`] adds.
const STEP: f64 = 0.02;

/// A delay that is far too long, in seconds.
const FAR: f64 = 0.25;

/// What decays below 2^-32 is nothing.
const LEAST: f64 = 1.0 / 4_294_967_296.0;
