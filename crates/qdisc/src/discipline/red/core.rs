//! RED's average, curve and spacing of signals, without a queue.

use super::{RedParameters, Uniformize};
use crate::queue::buffer::Buffer;
use crate::{Fate, Packet, ParameterError, Rate, Reason, Seed, Size, Status, Stream, Time};

/// A low-pass filter of the probability.
#[derive(Clone, Copy, Debug)]
struct Filter {
    /// The weight of a sample.
    weight: f64,
    /// The filtered probability.
    probability: f64,
}

/// How signals are spaced: by base / (room - part * base * count), but not before base * count has reached `wait`.
#[derive(Clone, Copy, Debug)]
struct Spacing {
    wait: f64,
    room: f64,
    part: f64,
}

impl Spacing {
    const fn of(uniformize: Uniformize) -> Self {
        match uniformize {
            Uniformize::None => Self { wait: f64::NEG_INFINITY, room: 1.0, part: 0.0 },
            Uniformize::Count => Self { wait: f64::NEG_INFINITY, room: 1.0, part: 1.0 },
            Uniformize::Wait => Self { wait: 1.0, room: 2.0, part: 1.0 },
        }
    }
}

/// RED's average, curve and spacing, without a queue: shared by all who build on RED.
#[derive(Debug)]
pub(crate) struct RedCore {
    parameters: RedParameters,
    /// The thresholds, in packets or bytes.
    min: f64,
    max: f64,
    /// The average from which the curve is 1: `max`, or twice that if it is gentle.
    top: f64,
    in_bytes: bool,
    /// max_p, which some disciplines adapt.
    probability: f64,
    average: f64,
    idle_since: Option<Time>,
    /// Packets since the last signal, -1 below `min`; with `byte_drop` mean packets' worth of bytes, 0 below `min`.
    count: f64,
    /// The first packet that found the average above `min` has passed, or none is spared.
    settled: bool,
    /// There is no filter, and packets count alike.
    is_simple: bool,
    /// The value of [`is_straight`](Self::is_straight): one flag for all its conditions.
    straight: bool,
    /// The bits of the least average above `min`, and the number of averages from there to the last one below `max`.
    between: (u64, u64),
    /// 1 less the weight of the average.
    keep: f64,
    slope: f64,
    gentle_slope: f64,
    /// The low-pass filter of the probability, if there is one.
    filter: Option<Filter>,
    per_avpkt: f64,
    /// The time that the link takes for a mean packet, in nanoseconds; `None` while its rate is not known.
    slot: Option<u64>,
    spacing: Spacing,
    rolls: Stream,
}

impl RedCore {
    /// Creates RED's state, as of an empty queue.
    ///
    /// # Errors
    /// A value is out of its range, or the thresholds contradict each other.
    pub(crate) fn new(parameters: RedParameters, seed: Seed) -> Result<Self, ParameterError> {
        parameters.validate()?;
        // Sizes stay below 2^53.
        let (min, max) = (parameters.min.number() as f64, parameters.max.number() as f64);
        let mut core = Self {
            min,
            max,
            top: max,
            probability: parameters.probability,
            in_bytes: matches!(parameters.max, Size::Bytes(_)),
            average: 0.0,
            idle_since: None,
            count: if parameters.byte_drop { 0.0 } else { -1.0 },
            settled: !parameters.spare,
            is_simple: !parameters.byte_drop,
            straight: false,
            between: (0, 0),
            keep: 1.0 - parameters.weight,
            spacing: Spacing::of(parameters.uniformize),
            slope: 0.0,
            gentle_slope: 0.0,
            filter: None,
            per_avpkt: 1.0 / parameters.avpkt.get() as f64,
            slot: None,
            rolls: seed.stream("red"),
            parameters,
        };
        core.set_probability(core.probability);
        core.straighten();
        if let Some(rate) = core.parameters.bandwidth {
            core.tick_at(rate);
        }
        Ok(core)
    }

    /// Tells the link's rate, which the idle clock follows unless `bandwidth` was given.
    pub(crate) fn link_rate(&mut self, rate: Rate) {
        if self.parameters.bandwidth.is_none() {
            self.tick_at(rate);
        }
    }

    /// Lets the idle clock tick at `rate`; a rate of 0 stops it.
    fn tick_at(&mut self, rate: Rate) {
        let slot = || rate.transmission(self.parameters.avpkt.get()).as_nanos().max(1);
        self.slot = (rate.bits_per_second() > 0).then(slot);
    }

    /// Filters the probability from now on, with `weight` for a sample; 1 filters nothing.
    pub(crate) fn filter(&mut self, weight: f64) {
        self.filter = (weight < 1.0).then_some(Filter { weight, probability: 0.0 });
        self.is_simple = self.filter.is_none() && !self.parameters.byte_drop;
        self.straighten();
    }

    /// Sets `max_p`, and the values that follow from it and from the thresholds.
    pub(crate) fn set_probability(&mut self, probability: f64) {
        let Self { min, max, .. } = *self;
        self.probability = probability;
        // Numbers that are not negative are ordered as their bits.
        self.between = (min.to_bits() + 1, max.to_bits().saturating_sub(min.to_bits() + 1));
        self.top = if self.parameters.gentle { 2.0 * max } else { max };
        // Where the thresholds are one the curve is a step and no average lies on the slope.
        self.slope = if max > min { probability / (max - min) } else { 0.0 };
        self.gentle_slope = if max > 0.0 { (1.0 - probability) / max } else { 0.0 };
    }

    /// Replaces the weight and the thresholds, which keep their unit, at the next arrival; the average and `max_p`
    /// stay.
    pub(crate) fn retune(&mut self, min: Size, max: Size, weight: f64) {
        (self.min, self.max) = (min.number() as f64, max.number() as f64);
        (self.parameters.min, self.parameters.max, self.parameters.weight) = (min, max, weight);
        self.keep = 1.0 - weight;
        self.set_probability(self.probability);
    }

    /// Returns the thresholds `min` and `max`, in packets or bytes.
    pub(crate) const fn thresholds(&self) -> (f64, f64) {
        (self.min, self.max)
    }

    /// Returns `max_p`, as last set.
    pub(crate) const fn max_probability(&self) -> f64 {
        self.probability
    }

    /// Returns the status of a queue in `buffer` that RED guards.
    pub(crate) fn status<P: Packet>(&self, buffer: &Buffer<P>) -> Status {
        Status { average: Some(self.average), probability: Some(self.base_probability()), ..buffer.status() }
    }

    /// Returns the average.
    pub(crate) const fn average(&self) -> f64 {
        self.average
    }

    /// Tells whether there is congestion: the average is not below `min`.
    pub(crate) fn is_congested(&self) -> bool {
        self.average >= self.min
    }

    /// Returns the occupancy in the average's unit.
    pub(crate) fn occupancy<P: Packet>(&self, buffer: &Buffer<P>) -> f64 {
        // Both are far below 2^63, and a signed number is converted by one instruction.
        let occupancy = if self.in_bytes { buffer.fifo.bytes() as i64 } else { buffer.fifo.packets() as i64 };
        occupancy as f64
    }

    /// Updates the average with the occupancy that an arrival sees.
    pub(crate) fn arrive<P: Packet>(&mut self, now: Time, buffer: &Buffer<P>) {
        self.sample(now, self.occupancy(buffer));
    }

    /// Updates the average where the queue is not a [`Buffer`]; `occupancy` is in the average's unit.
    pub(crate) fn sample(&mut self, now: Time, occupancy: f64) {
        if let Some(since) = self.idle_since {
            self.decay(now, since);
        }
        self.average_in(occupancy);
        if self.filter.is_some() {
            self.sample_probability();
        }
    }

    /// Takes `occupancy` into the average.
    #[inline(always)]
    pub(crate) fn average_in(&mut self, occupancy: f64) {
        self.average = self.keep * self.average + self.parameters.weight * occupancy;
    }

    /// Tells whether the next arrival takes the short way: the queue was not idle, packets count alike and none is
    /// filtered or the first.
    #[inline(always)]
    pub(crate) fn is_straight(&self) -> bool {
        debug_assert!(!self.straight || (self.is_simple && self.settled && self.idle_since.is_none()));
        self.straight
    }

    /// Updates the flag of [`is_straight`](Self::is_straight), after a change of one of its conditions.
    fn straighten(&mut self) {
        self.straight = self.is_simple && self.settled && self.idle_since.is_none();
    }

    /// Tells whether the average is between the thresholds, by one comparison.
    #[inline(always)]
    pub(crate) fn is_between(&self) -> bool {
        let (least, averages) = self.between;
        let is_between = self.average.to_bits().wrapping_sub(least) < averages;
        debug_assert_eq!(is_between, self.average > self.min && self.average < self.max);
        is_between
    }

    /// Does what [`test`](Self::test) does while it is [straight](Self::is_straight) and the average between the
    /// thresholds, for an arrival that is not spared; tells whether the arrival is signalled.
    #[inline(always)]
    pub(crate) fn signals_between(&mut self) -> bool {
        self.count_and_roll(1.0, self.probability_between())
    }

    /// Returns the [base probability](Self::base_probability) in the same state.
    #[inline(always)]
    pub(crate) fn probability_between(&self) -> f64 {
        self.slope * (self.average - self.min)
    }

    /// Lets the average decay by the packets that the link could have sent since it became idle.
    #[cold]
    fn decay(&mut self, now: Time, since: Time) {
        self.idle_since = None;
        self.straighten();
        if let Some(slot) = self.slot {
            self.average *= power(1.0 - self.parameters.weight, now.since(since).as_nanos() / slot);
        }
    }

    /// Updates the filter with the curve at the average. Few have one, so it stands outside of the packet path.
    #[cold]
    fn sample_probability(&mut self) {
        let curve = self.curve();
        if let Some(Filter { weight, probability }) = &mut self.filter {
            *probability = (1.0 - *weight) * *probability + *weight * curve;
        }
    }

    /// Notes that the link asked and found nothing: an idle time begins.
    #[cold]
    pub(crate) fn idle(&mut self, now: Time) {
        self.idle_since.get_or_insert(now);
        self.straight = false;
    }

    /// Tells whether the average is so high that the curve is 1.
    fn is_above(&self) -> bool {
        self.average >= self.top
    }

    /// Returns the base probability `p_b`, filtered if there is a filter.
    pub(crate) fn base_probability(&self) -> f64 {
        self.filter.map_or_else(|| self.curve(), |filter| filter.probability)
    }

    /// Returns the curve at the average: 0 below `min`, `max_p` at `max`.
    fn curve(&self) -> f64 {
        let Self { min, max, probability, .. } = *self;
        if self.average < min {
            0.0
        } else if self.is_above() {
            1.0
        } else if self.average < max {
            self.slope * (self.average - min)
        } else {
            probability + self.gentle_slope * (self.average - max)
        }
    }

    /// Decides whether a packet of `bytes` bytes that finds `backlog` packets is signalled, and why.
    ///
    /// With `spare` a packet that finds at most one packet queued passes, and so does the first that finds the
    /// average at or above `min`, unless it is forced.
    #[inline(always)]
    pub(crate) fn test(&mut self, backlog: usize, bytes: u32) -> Option<Reason> {
        if self.filter.is_some() {
            return self.test_filtered(backlog, bytes);
        }
        if self.average < self.min || self.is_spared(backlog) {
            return self.pass();
        }
        if self.is_above() {
            self.count = 0.0;
            return Some(Reason::Forced);
        }
        self.space(bytes, self.curve())
    }

    /// Does the same with the filtered probability: none is forced, and below `min` the filter may remember another
    /// time.
    #[cold]
    fn test_filtered(&mut self, backlog: usize, bytes: u32) -> Option<Reason> {
        let base = self.base_probability();
        if (self.average < self.min && base == 0.0) || self.is_spared(backlog) {
            return self.pass();
        }
        self.space(bytes, base)
    }

    fn is_spared(&self, backlog: usize) -> bool {
        self.parameters.spare && backlog <= 1
    }

    /// Begins anew: the next packet that is not spared is the first.
    fn pass(&mut self) -> Option<Reason> {
        if self.settled == self.parameters.spare {
            self.settled = !self.parameters.spare;
            self.straighten();
        }
        self.count = if self.parameters.byte_drop { 0.0 } else { -1.0 };
        None
    }

    /// Signals a packet of `bytes` bytes with the probability `base`, spaced by the packets since the last signal.
    #[inline(always)]
    fn space(&mut self, bytes: u32, base: f64) -> Option<Reason> {
        let step = self.step(bytes);
        if !self.settled {
            self.settled = true;
            self.straighten();
            self.count = step;
            return None;
        }
        self.count_and_roll(step, base).then_some(Reason::Early)
    }

    /// Counts an arrival as `step` packets and tells whether it is signalled, with which the count begins anew.
    #[inline(always)]
    fn count_and_roll(&mut self, step: f64, base: f64) -> bool {
        self.count += step;
        let is_signalled = self.roll(step, base);
        if is_signalled {
            self.count = 0.0;
        }
        is_signalled
    }

    /// Counts a packet of `bytes` bytes among those since the last signal.
    pub(crate) fn count_since_signal(&mut self, bytes: u32) {
        self.count += self.step(bytes);
    }

    /// Returns the count of a packet of `bytes` bytes: 1, or with `byte_drop` its size in mean packets.
    fn step(&self, bytes: u32) -> f64 {
        if self.parameters.byte_drop { f64::from(bytes) * self.per_avpkt } else { 1.0 }
    }

    /// Rolls for a packet that counts `step`; tells whether it is signalled.
    #[inline(always)]
    fn roll(&mut self, step: f64, base: f64) -> bool {
        let roll = self.rolls.unit();
        let spaced = base * self.count;
        let Spacing { wait, room, part } = self.spacing;
        if spaced < wait {
            return false;
        }
        // p_a = base / room. It is compared multiplied by the room, which saves the division.
        let room = room - part * spaced;
        if base >= room {
            return true;
        }
        roll * room < base * step
    }

    /// Returns the fate, apart from the limit, of a packet that is `ecn_capable` or not, and is signalled for `reason`.
    pub(crate) fn fate(&self, reason: Option<Reason>, ecn_capable: bool) -> Fate {
        let Some(reason) = reason else { return Fate::Queued };
        let hard = self.parameters.harddrop && reason == Reason::Forced;
        if self.parameters.ecn && ecn_capable && !hard { Fate::Marked(reason) } else { Fate::Dropped(reason) }
    }
}

/// Raises `base` to the `exponent` by repeated squaring: any idle time costs at most 64 steps and cannot overflow.
pub(crate) fn power(mut base: f64, mut exponent: u64) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests;
