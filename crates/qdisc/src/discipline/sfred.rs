//! SFRED: the bins of SFB, each of which learns as a self-configuring RED does.
//!
//! A bin keeps the average of its queue and a `max_p` that follows it: a third when the average falls below its range,
//! twice when it rises above. A flow is signalled with the lowest probability of its bins, and limited in rate when
//! `max_p` is 1 in all of them. The paper built it for comparison with SFB and shows that it does not work well:
//! moderate congestion drives `max_p` to 1 too, so that it cannot tell non-responsive flows from others.
//!
//! **Source.** Feng, Shin, Kandlur, Saha, "The BLUE Active Queue Management Algorithms", IEEE/ACM ToN 10(4), 2002,
//! section IV-A, which says no more than that each bin keeps a `max_p`; the rule is that of Feng, Kandlur, Saha, Shin,
//! "A Self-Configuring RED Gateway", INFOCOM 1999.
//!
//! **Deviations.** These choices are assumptions, since the paper leaves them open: the range of the average is 20 % to
//! 80 % of `bin_size`; signals are not spaced; a bin's average is updated at its arrivals only, after idle time or not;
//! an arrival of an identified flow doubles the `max_p` of its bins in the next set. A bin starts below its range, so
//! that the `max_p` to which it was warmed up lasts. Full bins drop as in SFB.
//!
//! **Cost.** SFB's, and two multiplications a level.

use crate::discipline::sfb::BinConfig;
use crate::discipline::sfb::binned::{BinRule, Binned};
use crate::error::check;
use crate::{Counters, DropSink, Fate, Packet, Packets, ParameterError, Qdisc, Seed, Size, Status, Time};

/// The configuration of [`Sfred`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// The bins, the moving hash and the rate limit.
    pub bins: BinConfig,
    /// The `max_p` with which a bin starts, above 0 and at most 1: its probability of a signal as its average reaches
    /// 80 % of `bin_size`. Default: 0.1, as ns-2.
    pub probability: f64,
    /// The weight of a sample in a bin's average (w_q), above 0 and at most 1. Default: 0.002, as ns-2.
    pub weight: f64,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), bins: BinConfig::default(), probability: 0.1, weight: 0.002 }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        self.bins.validate()?;
        check::ratio("probability", self.probability)?;
        check::ratio("weight", self.weight)
    }
}

/// Returns the range in which the average of a bin of `bin_size` should stay, in packets.
pub(crate) fn average_range(bin_size: Packets) -> (f64, f64) {
    (0.2 * f64::from(bin_size.get()), 0.8 * f64::from(bin_size.get()))
}

/// RED's curve over a bin's average, and Feng's rule for its height.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RedRule {
    min: f64,
    max: f64,
    /// One over the width of the range.
    per_packet: f64,
    /// The `max_p` with which a bin starts.
    probability: f64,
    weight: f64,
}

impl RedRule {
    fn new(config: &Config) -> Self {
        let (min, max) = average_range(config.bins.bin_size);
        // Where the thresholds are equal the curve is a step and no average lies on the slope.
        let per_packet = if max > min { 1.0 / (max - min) } else { 0.0 };
        Self { min, max, per_packet, probability: config.probability, weight: config.weight }
    }
}

/// The position of a bin's average at its last update, relative to the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangePosition {
    Below,
    Within,
    Above,
}

/// The state of a bin under RED's rule.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RedBinState {
    average: f64,
    max_p: f64,
    position: RangePosition,
}

impl BinRule for RedRule {
    type BinState = RedBinState;

    fn initial(&self) -> RedBinState {
        // An empty bin is below its range; `max_p` changes when the average first rises above.
        RedBinState { average: 0.0, max_p: self.probability, position: RangePosition::Below }
    }

    fn arrive(&self, state: &mut RedBinState, _now: Time, queued: u32) {
        state.average = (1.0 - self.weight) * state.average + self.weight * f64::from(queued);
        if state.average > self.max {
            if state.position != RangePosition::Above {
                state.max_p = (2.0 * state.max_p).min(1.0);
            }
            state.position = RangePosition::Above;
        } else if state.average < self.min {
            if state.position != RangePosition::Below {
                state.max_p = (state.max_p * (1.0 / 3.0)).max(LEAST_MAX_P);
            }
            state.position = RangePosition::Below;
        } else {
            state.position = RangePosition::Within;
        }
    }

    fn empty(&self, _state: &mut RedBinState, _now: Time) {}

    fn warm_up(&self, state: &mut RedBinState) {
        state.max_p = (2.0 * state.max_p).min(1.0);
    }

    fn probability(&self, state: &RedBinState) -> f64 {
        if state.average < self.min {
            0.0
        } else if state.average < self.max {
            state.max_p * (state.average - self.min) * self.per_packet
        } else {
            1.0
        }
    }

    fn pollution(&self, state: &RedBinState) -> f64 {
        state.max_p
    }
}

/// The least `max_p`; it must stay above 0 to be doubled.
const LEAST_MAX_P: f64 = 1e-6;

/// Self-configuring RED in bins.
#[derive(Debug)]
pub struct Sfred<P> {
    queue: Binned<P, RedRule>,
}

impl<P: Packet> Sfred<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        Ok(Self { queue: Binned::new(config.limit, config.bins, RedRule::new(&config), false, seed) })
    }
}

impl<P: Packet> Qdisc<P> for Sfred<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.queue.enqueue(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.queue.dequeue(now)
    }

    fn status(&self) -> Status {
        self.queue.status()
    }

    fn counters(&self) -> &Counters {
        self.queue.counters()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimplePacket;

    /// Would catch a range that the constructor does not check.
    #[test]
    fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
        let default = Config::default();
        for (config, key) in [
            (Config { bins: BinConfig { bins: 4097, ..default.bins }, ..default }, "bins"),
            (Config { probability: 0.0, ..default }, "probability"),
            (Config { weight: 1.1, ..default }, "weight"),
        ] {
            let refused = Sfred::<SimplePacket>::new(config, Seed::new(1));
            assert!(refused.is_err_and(|error| error.key() == key), "{key}");
        }
        Ok(())
    }

    /// Feng's rule for a bin of 10 packets, whose average should stay from 2 to 8. Would catch a `max_p` that changes
    /// more than once for each crossing, at a bound itself, or in the wrong direction.
    #[test]
    fn max_p_changes_once_for_each_crossing() {
        let bins = BinConfig { bin_size: Packets::new(10), ..BinConfig::default() };
        let rule = RedRule::new(&Config { bins, probability: 0.3, weight: 1.0, ..Config::default() });
        let mut state = rule.initial();
        for (queued, max_p) in [(1, 0.3), (8, 0.3), (9, 0.6), (20, 0.6), (5, 0.6), (9, 1.0), (2, 1.0), (1, 1.0 / 3.0)] {
            rule.arrive(&mut state, Time::ZERO, queued);
            assert!((state.max_p - max_p).abs() < 1e-12, "{queued}: {}", state.max_p);
        }
        rule.arrive(&mut state, Time::ZERO, 5);
        assert!((rule.probability(&state) - 0.5 / 3.0).abs() < 1e-12, "half of the range is half of max_p");
    }
}
