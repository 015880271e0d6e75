//! The controller: moves the fair share so that the queue's delay settles at the target. It divides, but runs only once
//! in a while.

use super::fixed::{ONE, power_of_two};
use super::sample::MOST_TAGS;
use crate::{Duration, Rate, Time};

/// The controller's inputs from the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueReading {
    /// How long the head has waited.
    pub(super) age: Duration,
    pub(super) bytes: u64,
    /// The queue and its limit, in the unit of the limit.
    pub(super) fill: u64,
    pub(super) limit: u64,
    /// The packets that have arrived so far, from 0 again after 2^32 - 1.
    pub(super) arrived: u32,
}

/// The departures from a queue that does not run empty, which show the link's rate.
#[derive(Clone, Copy, Debug)]
struct Departures {
    since: Time,
    bytes: u64,
}

/// The controller, and the rate of the link that it measures.
#[derive(Debug)]
pub(super) struct Controller {
    /// The target that was configured.
    least_target: Duration,
    /// The binary logarithm of the fair share T in tags, with 32 binary digits behind the point.
    level: i64,
    /// The rate of the link in bytes a second; 0 while it is not known.
    pub(super) rate: u64,
    /// The largest packet that has arrived, in bytes.
    pub(super) largest: u32,
    departures: Option<Departures>,
    /// The link found the queue empty since the last update.
    stood_still: bool,
    /// The arrivals since the last update that were dropped by the law, and all those before it.
    dropped: u32,
    arrived: u32,
    /// How long a flood has kept the delay above its target, in nanoseconds: [`MOST_TIME`] at most.
    late: u32,
    updated: Time,
    /// The delay at the last update, in nanoseconds.
    before: i64,
    /// The queue above which updates are more frequent, in bytes.
    flood: u64,
    /// The number of tags that an arrival overwrites.
    pub(super) copies: u32,
}

impl Controller {
    pub(super) fn new(target: Duration, tags: u32) -> Self {
        Self {
            least_target: target,
            level: i64::from(tags.ilog2()) << 32,
            rate: 0,
            largest: 0,
            departures: None,
            stood_still: false,
            dropped: 0,
            arrived: 0,
            late: 0,
            updated: Time::ZERO,
            before: 0,
            flood: u64::MAX,
            copies: ONE as u32,
        }
    }

    /// Returns the fair share T in tags, with 16 binary digits behind the point.
    pub(super) fn share(&self) -> u64 {
        power_of_two(self.level)
    }

    /// Takes over the rate of the link where a host tells it; 0 if it is not known.
    pub(super) fn set_rate(&mut self, rate: Rate) {
        self.rate = (rate.bits_per_second() / 8).min(MOST_RATE);
        self.departures = None;
    }

    /// Follows a change of the number of tags: the share remains the same part of them.
    pub(super) fn resize(&mut self, old: u32, new: u32) {
        self.level += (i64::from(new.ilog2()) - i64::from(old.ilog2())) << 32;
    }

    /// Notes a departure at `now`, or that the link found nothing to send; `more` packets wait behind it.
    pub(super) fn depart(&mut self, now: Time, bytes: Option<u32>, more: bool) {
        let Some(bytes) = bytes else {
            self.stood_still = true;
            self.departures = None;
            return;
        };
        if let Some(Departures { since, bytes }) = self.departures
            && now.since(since) >= PERIOD
        {
            self.measure(bytes, now.since(since));
            self.departures = None;
        }
        let departures = self.departures.get_or_insert(Departures { since: now, bytes: 0 });
        departures.bytes += u64::from(bytes);
        if !more {
            self.departures = None;
        }
    }

    /// Notes that an arrival was dropped since its flow exceeds the fair share.
    pub(super) fn note_drop(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }

    /// Sets the fair share, in tags.
    #[cfg(test)]
    pub(super) fn set_share(&mut self, share: f64) {
        self.level = (libm::log2(share) * 4_294_967_296.0) as i64;
    }

    #[cold]
    #[inline(never)]
    fn measure(&mut self, bytes: u64, time: Duration) {
        let rate = (u128::from(bytes) * 1_000_000_000 / u128::from(time.as_nanos())).min(MOST_RATE.into()) as i64;
        let step = if self.rate == 0 { rate } else { (rate - self.rate as i64) / RATE_PART };
        self.rate = self.rate.saturating_add_signed(step);
    }

    /// Tells whether it is time for an update.
    #[inline]
    pub(super) fn is_due(&self, now: Time, bytes: u64, fill: u64, limit: u64) -> bool {
        let passed = now.since(self.updated);
        passed >= PERIOD || passed >= FLOOD_PERIOD && (bytes > self.flood || 2 * fill > limit)
    }

    /// Moves the fair share according to the events since the last update.
    pub(super) fn update(&mut self, now: Time, tags: u32, reading: QueueReading) {
        let passed = signed(now.since(self.updated).as_nanos());
        let target = self.target();
        let delay = self.delay(target, reading);
        let (error, growth) = (i128::from(delay - target), i128::from(delay - self.before));
        self.late = self.late(passed, delay, target, reading.arrived);
        let hurry = if 10 * growth < -i128::from(passed) { UNIT } else { self.hurry(delay, target) };
        let whole = i128::from(target);
        let mut step = -(INTEGRAL * hurry * error * i128::from(passed) / (UNIT * BILLION * whole));
        step -= PROPORTIONAL * growth / whole;
        if self.stood_still && 2 * delay < target {
            let idle = if self.dropped > 0 { STARVED } else { IDLE };
            step += idle * i128::from(passed) / BILLION;
            step += LONG_IDLE * i128::from((passed - LONG).max(0)) / BILLION;
        }
        let most = i128::from(tags.ilog2()) << 32;
        self.level = (i128::from(self.level) + step).clamp(LEAST, most) as i64;
        self.copies = (((delay << 16) / (2 * target)) as u64).clamp(ONE, 4 * ONE) as u32;
        self.flood = if self.rate == 0 { u64::MAX } else { bytes_in(self.rate, 2 * target as u64) };
        self.before = delay;
        self.stood_still = false;
        self.dropped = 0;
        self.arrived = reading.arrived;
        self.updated = now;
    }

    /// Returns for how long a flood has kept the delay above its target, `passed` after the last update.
    fn late(&self, passed: i64, delay: i64, target: i64, arrived: u32) -> u32 {
        if delay <= target {
            return 0;
        }
        let flooded = self.dropped.saturating_mul(LEAST_LOSS) >= arrived.wrapping_sub(self.arrived);
        (u64::from(self.late) + if flooded { passed as u64 } else { 0 }).min(MOST_TIME) as u32
    }

    /// Returns by how much the integral part hurries, with 16 binary digits behind the point: by the square of a
    /// quarter of the delay in targets, and by twice that of the seconds for which a flood has lasted. A flood follows
    /// T at once, so that this costs no margin; TCP at long round trips would swing.
    fn hurry(&self, delay: i64, target: i64) -> i128 {
        let far = square((delay << 16) / (4 * target)).max(UNIT);
        let long = (2 * square((i64::from(self.late) << 16) / 1_000_000_000)).max(UNIT);
        ((far * long) >> 16).min(MOST_HURRY)
    }

    /// Returns the bytes that leave in the target, as of the last update; 0 while the rate of the link is not known.
    pub(super) fn target_bytes(&self) -> u64 {
        if self.flood == u64::MAX { 0 } else { self.flood / 2 }
    }

    /// Returns the target in nanoseconds: at least the time of a window of TCP.
    fn target(&self) -> i64 {
        signed(self.least_target.as_nanos().max(self.time_of(WINDOW * u64::from(self.largest)))).max(1)
    }

    /// Returns the delay in nanoseconds, the largest of three: of the head, of an arrival, and by the fill of the
    /// limit.
    fn delay(&self, target: i64, reading: QueueReading) -> i64 {
        let crowded = 4 * u128::from(reading.fill) * target as u128 / u128::from(reading.limit.max(1));
        let crowded = u64::try_from(crowded).unwrap_or(u64::MAX);
        signed(reading.age.as_nanos().max(self.time_of(reading.bytes)).max(crowded))
    }

    /// Returns the time that the link takes for `bytes` bytes in nanoseconds; 0 while its rate is not known.
    fn time_of(&self, bytes: u64) -> u64 {
        let time = u128::from(bytes) * 1_000_000_000 / u128::from(self.rate.max(1));
        if self.rate == 0 { 0 } else { u64::try_from(time).unwrap_or(u64::MAX) }
    }

    /// Returns the mean distance of the arrivals that are sampled, in bytes, for all of them to span [`MEMORY`].
    pub(super) fn apart(&self, tags: u32) -> u64 {
        (bytes_in(self.rate, MEMORY.as_nanos()) / u64::from(tags.clamp(1, MOST_TAGS))).max(u64::from(self.largest))
    }
}

/// Returns the bytes that leave in `nanos` nanoseconds at `rate` bytes a second.
fn bytes_in(rate: u64, nanos: u64) -> u64 {
    u64::try_from(u128::from(rate) * u128::from(nanos) / 1_000_000_000).unwrap_or(u64::MAX)
}

/// Returns the square of a number with 16 binary digits behind the point.
fn square(x: i64) -> i128 {
    (i128::from(x) * i128::from(x)) >> 16
}

/// Returns a time in nanoseconds as a signed number, [`MOST_TIME`] at most.
fn signed(nanos: u64) -> i64 {
    nanos.min(MOST_TIME) as i64
}

/// The time between updates, and for which the link's rate is measured at least: as RFC 9332, appendix A.1.
const PERIOD: Duration = Duration::from_millis(16);

/// The time between updates in a flood.
const FLOOD_PERIOD: Duration = Duration::from_millis(1);

/// The traffic of which the sample is one: several round trips.
const MEMORY: Duration = Duration::from_millis(200);

/// The largest packets that the target leaves room for: a small window of TCP.
const WINDOW: u64 = 4;

/// A measurement of the rate moves it by one part of this many.
const RATE_PART: i64 = 10;

/// The longest delay and the longest time between updates that count: 4 seconds.
const MOST_TIME: u64 = 4_000_000_000;

/// The highest rate of a link, in bytes a second.
const MOST_RATE: u64 = 1 << 40;

/// Nanoseconds in a second.
const BILLION: i128 = 1_000_000_000;
const UNIT: i128 = ONE as i128;

/// The part of the arrivals that are dropped in a flood at least, as its reciprocal: TCP does not keep a window of
/// three packets at that loss.
const LEAST_LOSS: u32 = 5;

/// The most by which the controller hurries.
const MOST_HURRY: i128 = 64 * UNIT;

/// The binary logarithm of e, with 32 binary digits behind the point: the unit of the level for logarithms to base e.
const LOG2_E: i128 = 6_196_328_019;

/// The change of ln T in each second in which the delay is twice its target, and that when the delay has grown by its
/// target. The two parts of the control are equal at one radian a second, which is below the loop's crossover up to
/// round trips of 300 ms.
const INTEGRAL: i128 = 3 * LOG2_E / 10;
const PROPORTIONAL: i128 = 3 * LOG2_E / 10;

/// The change of ln T in each second in which the link stands still. Without drops meanwhile, the flows are silent for
/// a part of a round trip. With drops, the law keeps the link from work. After [`LONG`] the flows have probably ended:
/// on most paths so long a silence is no pause within a round trip.
const IDLE: i128 = 4 * LOG2_E / 10;
const STARVED: i128 = 4 * LOG2_E;
const LONG_IDLE: i128 = 40 * LOG2_E;
const LONG: i64 = 100_000_000;

/// The least ln T, -4.
const LEAST: i128 = -4 * LOG2_E;
