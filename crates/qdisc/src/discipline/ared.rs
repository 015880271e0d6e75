//! RED that adapts its `probability` to the traffic: Feng's self-configuring RED and Floyd's Adaptive RED.
//!
//! **Source.** Feng, Kandlur, Saha, Shin, "A Self-Configuring RED Gateway", INFOCOM 1999. Floyd, Gummadi, Shenker,
//! "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue Management", 2001; constants,
//! automatic thresholds and automatic weight as in ns-2.
//!
//! **Deviations.** Feng's probability is kept within 1e-6..1; the paper gives no bounds. Floyd's adaptation runs at
//! arrivals, as in ns-2, not by a timer as in Linux.
//!
//! **Cost.** RED's, and two comparisons.

use crate::discipline::red::{self, Red, RedCore, RedParameters};
use crate::error::{MAX_PACKETS, check};
use crate::{Bytes, Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Rate, Seed, Size, Status, Time};

/// The configuration of [`Ared`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets, the buffer of the CHOKe paper (section
    /// III).
    pub limit: Size,
    /// RED's part; `probability` is where the adaptation starts. Default: gentle, as Floyd, with thresholds of 5 and 15
    /// packets, which hold as long as the automatic ones cannot be known, and the rest as [`RedParameters`].
    pub red: RedParameters,
    /// The mean delay that automatic thresholds aim at, above zero; `None` keeps those of `red`. The lower one is the
    /// number of mean packets that the link sends in half of this time, but at least 5, and the upper one three times
    /// that, as ns-2. They need the rate of the link. Default: 5 ms, as ns-2.
    pub target: Option<Duration>,
    /// Replaces the weight of `red` by 1 - exp(-1/C) for a link of C mean packets a second, once its rate is known.
    /// Default: `true`, as ns-2.
    pub automatic_weight: bool,
    /// The rule by which the probability follows the average. Default: Floyd's adaptation every 500 ms.
    pub law: Adaptation,
}

/// The rule by which the probability follows the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Adaptation {
    /// Divided by 3 when the average falls below `min`, doubled when it rises above `max` (Feng et al., 1999).
    Feng,
    /// Increased by addition and decreased by multiplication, once an interval, towards an average in the middle of the
    /// thresholds (Floyd et al., 2001).
    Floyd {
        /// The time between adaptations, above zero. The text form's default is 500 ms, as Floyd.
        interval: Duration,
    },
}

impl Default for Config {
    fn default() -> Self {
        let (min, max) = (Size::packets(LEAST_MIN), Size::packets(3 * LEAST_MIN));
        Self {
            limit: Size::packets(300),
            red: RedParameters { min, max, gentle: true, ..RedParameters::default() },
            target: Some(Duration::from_millis(5)),
            automatic_weight: true,
            law: Adaptation::Floyd { interval: Duration::from_millis(500) },
        }
    }
}

impl Config {
    /// Checks the values that RED does not have.
    fn validate(&self) -> Result<(), ParameterError> {
        self.target.map_or(Ok(()), |target| check::duration("target", target))?;
        match self.law {
            Adaptation::Feng => Ok(()),
            Adaptation::Floyd { interval } => check::duration("interval", interval),
        }
    }

    /// Returns RED's parameters for a link of `rate`, if that is known.
    fn red(&self, rate: Option<Rate>) -> RedParameters {
        let Self { mut red, target, automatic_weight, .. } = *self;
        let Some(rate) = red.bandwidth.or(rate).filter(|rate| rate.bits_per_second() > 0) else { return red };
        if let Some(target) = target {
            let min = automatic_min(target, red.avpkt, rate);
            (red.min, red.max) = (Size::packets(min), Size::packets(3 * min));
        }
        if automatic_weight {
            red.weight = self::automatic_weight(red.avpkt, rate);
        }
        red
    }

    /// Returns Floyd's lowest probability on a link of `rate`, if that is known.
    fn lowest_probability(&self, rate: Option<Rate>) -> f64 {
        self.red.bandwidth.or(rate).map_or(MOST_LOWEST, lowest_probability)
    }
}

/// Returns the automatic `min` of a link of `rate` in packets: half of `target`, at least 5 packets.
pub(crate) fn automatic_min(target: Duration, avpkt: Bytes, rate: Rate) -> u32 {
    // A cast saturates.
    ((0.5 * target.as_secs() * packets_per_second(avpkt, rate)) as u32).clamp(LEAST_MIN, MAX_PACKETS / 3)
}

/// Returns the automatic weight of a sample on a link of `rate`: 1 - exp(-1/C).
pub(crate) fn automatic_weight(avpkt: Bytes, rate: Rate) -> f64 {
    -libm::expm1(-1.0 / packets_per_second(avpkt, rate))
}

fn packets_per_second(avpkt: Bytes, rate: Rate) -> f64 {
    rate.bits_per_second() as f64 / (8.0 * avpkt.get() as f64)
}

/// Returns the probability below which Floyd's is not lowered, as ns-2: one packet of 1250 bytes in a window of a
/// second.
pub(crate) fn lowest_probability(rate: Rate) -> f64 {
    (80_000.0 / rate.bits_per_second() as f64).min(MOST_LOWEST)
}

/// The region of the average at the last arrival, for Feng's adaptation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Below,
    Between,
    Above,
}

/// RED that adapts its probability.
#[derive(Debug)]
pub struct Ared<P> {
    config: Config,
    red: Red<P>,
    region: Region,
    /// Floyd's lowest probability.
    lowest: f64,
    adapted: Time,
}

impl<P: Packet> Ared<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range, `min` is above `max`, or their units differ.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let red = Red::new(red::Config { limit: config.limit, red: config.red(None), ..red::Config::default() }, seed)?;
        let lowest = config.lowest_probability(None);
        // ns-3 starts above, so the first arrival lowers the probability.
        Ok(Self { config, red, region: Region::Above, lowest, adapted: Time::ZERO })
    }
}

/// Adapts the probability by Feng's rule, once when the average crosses a threshold.
fn feng(core: &mut RedCore, region: &mut Region) {
    let ((min, max), probability) = (core.thresholds(), core.max_probability());
    let average = core.average();
    if average > min && average < max {
        *region = Region::Between;
    } else if average < min && *region != Region::Below {
        *region = Region::Below;
        core.set_probability((probability * (1.0 / 3.0)).max(LEAST));
    } else if average > max && *region != Region::Above {
        *region = Region::Above;
        core.set_probability((probability * 2.0).min(1.0));
    }
}

/// Adapts the probability by Floyd's rule, once an interval.
fn floyd(core: &mut RedCore, lowest: f64) {
    let ((min, max), probability) = (core.thresholds(), core.max_probability());
    let average = core.average();
    let margin = 0.4 * (max - min);
    if average < min + margin && probability > lowest {
        core.set_probability(probability * 0.9);
    } else if average > max - margin && probability < TOP {
        core.set_probability(probability + (0.25 * probability).min(0.01));
    }
}

impl<P: Packet> Qdisc<P> for Ared<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let Self { config, red, region, lowest, adapted } = self;
        red.arrive(now, &packet);
        match config.law {
            Adaptation::Feng => feng(&mut red.core, region),
            Adaptation::Floyd { interval } => {
                if now > *adapted + interval {
                    *adapted = now;
                    floyd(&mut red.core, *lowest);
                }
            }
        }
        red.decide(now, packet, sink)
    }

    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<P>) -> Option<P> {
        self.red.dequeue(now, sink)
    }

    fn status(&self) -> Status {
        self.red.status()
    }

    fn counters(&self) -> &Counters {
        self.red.counters()
    }

    fn link_rate(&mut self, rate: Rate) {
        self.red.link_rate(rate);
        let rate = (rate.bits_per_second() > 0).then_some(rate);
        let RedParameters { min, max, weight, .. } = self.config.red(rate);
        self.red.core.retune(min, max, weight);
        self.lowest = self.config.lowest_probability(rate);
    }
}

/// The lowest automatic `min`, in packets.
const LEAST_MIN: u32 = 5;

/// Feng's probability is not lowered below this.
const LEAST: f64 = 1e-6;

/// The highest value of Floyd's lowest probability.
const MOST_LOWEST: f64 = 0.01;

/// Floyd's probability is not raised from here.
const TOP: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AnyConfig, Kind, QdiscParameters, SimplePacket};

    /// A RED whose average is the queue itself, between 10 and 30 packets, that signals almost nothing.
    fn ared(law: Adaptation) -> Ared<SimplePacket> {
        let config = Config {
            limit: Size::packets(1000),
            red: RedParameters {
                min: Size::packets(10),
                max: Size::packets(30),
                weight: 1.0,
                spare: false,
                bandwidth: Some(Rate::from_bits_per_second(8_000_000)),
                ecn: true,
                ..Config::default().red
            },
            target: None,
            automatic_weight: false,
            law,
        };
        Ared::new(config, Seed::new(2)).unwrap()
    }

    /// Brings the queue to `packets` packets and returns the probability after a last arrival at `now`.
    fn at(ared: &mut Ared<SimplePacket>, packets: usize, now: Time) -> f64 {
        while ared.packets() > packets {
            ared.dequeue(now, &mut ());
        }
        while ared.packets() <= packets {
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        ared.red.core.max_probability()
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-12, "{value} is not {expected}");
    }

    /// Would catch an adaptation that does not happen at a crossing, or that is repeated inside a region.
    #[test]
    fn feng_acts_once_a_crossing() {
        let mut ared = ared(Adaptation::Feng);
        close(at(&mut ared, 0, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 9, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 20, Time::ZERO), 0.1 / 3.0);
        close(at(&mut ared, 31, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 60, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 20, Time::ZERO), 0.2 / 3.0);
        close(at(&mut ared, 35, Time::ZERO), 0.4 / 3.0);
        close(at(&mut ared, 5, Time::ZERO), 0.4 / 9.0);
        for _ in 0..10 {
            at(&mut ared, 40, Time::ZERO);
            at(&mut ared, 20, Time::ZERO);
        }
        close(at(&mut ared, 20, Time::ZERO), 1.0);
        for _ in 0..40 {
            at(&mut ared, 20, Time::ZERO);
            at(&mut ared, 5, Time::ZERO);
        }
        close(at(&mut ared, 5, Time::ZERO), 1e-6);
    }

    /// Would catch an adaptation at another time or by another step: once an interval, down by a tenth below 18 packets
    /// and up above 22, within 0.01 and 0.5.
    #[test]
    fn floyd_acts_once_an_interval() {
        let mut ared = ared(Adaptation::Floyd { interval: Duration::from_millis(500) });
        let mut now = Time::from_nanos(500_000_000);
        close(at(&mut ared, 17, now), 0.1);
        now += Duration::from_nanos(1);
        close(at(&mut ared, 17, now), 0.09);
        close(at(&mut ared, 17, now + Duration::from_millis(500)), 0.09);
        now += Duration::from_millis(501);
        // The queue is brought to its length first, so that the adaptation sees it.
        ared.adapted = now;
        at(&mut ared, 20, now);
        now += Duration::from_millis(501);
        close(at(&mut ared, 20, now), 0.09);
        ared.adapted = now;
        at(&mut ared, 23, now);
        now += Duration::from_millis(501);
        close(at(&mut ared, 22, now + Duration::from_nanos(1)), 0.09);
        ared.adapted = now;
        at(&mut ared, 24, now);
        now += Duration::from_millis(501);
        ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        close(ared.red.core.max_probability(), 0.1);
        for _ in 0..100 {
            now += Duration::from_millis(501);
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        let top = ared.red.core.max_probability();
        assert!((0.5..0.51).contains(&top), "{top}");
        at(&mut ared, 0, now);
        for _ in 0..100 {
            ared.dequeue(now, &mut ());
            now += Duration::from_millis(501);
            ared.enqueue(now, SimplePacket::new(1, 1000).with_ecn(), &mut ());
        }
        let lowest = ared.red.core.max_probability();
        assert!((0.009..=0.01).contains(&lowest), "{lowest}");
    }

    /// Would catch automatic thresholds, weight and lowest probability that do not follow the link's rate, or lose the
    /// average and the adapted probability: 100 and 10 Mbit/s are 12,500 and 1250 packets a second.
    #[test]
    fn the_automatic_parameters_follow_the_link() {
        let mut ared = Ared::<SimplePacket>::new(Config::default(), Seed::new(2)).unwrap();
        assert_eq!(ared.red.core.thresholds(), (5.0, 15.0));
        assert_eq!(ared.lowest, 0.01);
        ared.red.core.set_probability(0.3);
        for (megabits, min, lowest) in [(100, 31.0, 0.0008), (1, 5.0, 0.01), (10, 5.0, 0.008), (0, 5.0, 0.01)] {
            for _ in 0..10 {
                ared.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
            }
            let average = ared.average();
            ared.link_rate(Rate::from_bits_per_second(1_000_000 * megabits));
            assert_eq!(ared.red.core.thresholds(), (min, 3.0 * min));
            assert_eq!((ared.red.core.max_probability(), ared.average(), ared.lowest), (0.3, average, lowest));
        }
        let weight = ared.config.red(Some(Rate::from_bits_per_second(1_000_000))).weight;
        assert!((weight - 0.007_968_09).abs() < 1e-8, "{weight}");
        assert_eq!(ared.config.red(None).weight, 0.002);
    }

    /// Would catch automatic parameters that follow the link although `bandwidth` is given: 100 Mbit/s are 31 packets
    /// in 2.5 ms, and 1 - exp(-1/12,500) a sample.
    #[test]
    fn a_given_bandwidth_decides() {
        let hundred = Rate::from_bits_per_second(100_000_000);
        let default = Config::default();
        let config = Config { red: RedParameters { bandwidth: Some(hundred), ..default.red }, ..default };
        let mut ared = Ared::<SimplePacket>::new(config, Seed::new(2)).unwrap();
        for rate in [0, 1, 1000] {
            assert_eq!((ared.red.core.thresholds(), ared.lowest), ((31.0, 93.0), 0.0008), "{rate} Mbit/s");
            ared.link_rate(Rate::from_bits_per_second(1_000_000 * rate));
            let weight = ared.config.red(Some(Rate::from_bits_per_second(1_000_000 * rate))).weight;
            assert!((weight - 7.999_68e-5).abs() < 1e-10, "{weight}");
        }
    }

    /// Would catch a given threshold that leaves the automatic ones, and a weight that does not stay automatic.
    #[test]
    fn a_given_threshold_ends_the_automatic_ones() {
        let rate = Rate::from_bits_per_second(10_000_000);
        let text = QdiscParameters::new(Kind::Ared).with("max", "90p").unwrap().with("law", "feng").unwrap();
        let (min, max) = (Size::packets(30), Size::packets(90));
        let red = RedParameters { min, max, gentle: false, ..Config::default().red };
        let config = Config { red, target: None, law: Adaptation::Feng, ..Config::default() };
        assert_eq!(text.resolve(rate).unwrap().config(), &AnyConfig::Ared(config));
    }

    /// Would catch a value out of its range that is accepted.
    #[test]
    fn invalid_configs_are_refused() {
        let red = RedParameters { min: Size::packets(31), max: Size::packets(30), ..RedParameters::default() };
        let weight = RedParameters { weight: 1.5, ..RedParameters::default() };
        for (key, config) in [
            ("min", Config { red, ..Config::default() }),
            ("weight", Config { red: weight, ..Config::default() }),
            ("target", Config { target: Some(Duration::ZERO), ..Config::default() }),
            ("interval", Config { law: Adaptation::Floyd { interval: Duration::ZERO }, ..Config::default() }),
        ] {
            let error = Ared::<SimplePacket>::new(config, Seed::new(1)).unwrap_err();
            assert_eq!(error.key(), key);
        }
    }
}
