//! The parameters of the controller.

use std::fmt;
use std::ops::RangeInclusive;

use fairlane_qdisc::{Duration, Rate};

/// The parameters of [`Autorate`](crate::Autorate) in one direction of a link.
///
/// The defaults are those of [cake-autorate](https://github.com/lynxthecat/cake-autorate) 3, except those of
/// [`Law::Follow`], which is Fairlane's own. As there, the delay of a probe is half of its round trip.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The least rate, above 0, that the link has even at bad times. The rate never falls below it.
    pub min: Rate,
    /// The rate at the start, to which the rate returns without load; from `min` to `max`.
    pub base: Rate,
    /// The highest rate; at least `base`, at most 1 Tbit/s.
    pub max: Rate,
    /// A sample is late if its delay is above the baseline by more than this; 1 ms to 10 s. Default: 30 ms.
    ///
    /// The time that a full packet takes at the present rate is added to this and to the next two parameters.
    pub late: Duration,
    /// The mean delay above the baseline up to which the rate is raised by all of `raise`; the raise falls to nothing
    /// at `late`. At most `late`. Default: 10 ms.
    pub raise_delay: Duration,
    /// The mean delay above the baseline from which the rate is cut by all of `cut`; above `late`, at most 60 s.
    /// Default: 60 ms.
    pub cut_delay: Duration,
    /// The number of last samples that are judged; 1 to 100. Default: 6.
    pub window: u32,
    /// The number of late samples among them that are bufferbloat; 1 to `window`. Default: 3.
    pub late_samples: u32,
    /// The load, as a part of the rate, above which the rate is raised; 0 to 1. Default: 0.75.
    pub high_load: f64,
    /// The time over which the load is measured; 1 ms to 10 s. Default: 200 ms.
    pub load_interval: Duration,
    /// The least part by which bufferbloat cuts the rate, at a mean delay of `late`; 0 to `cut`. Default: 0.01.
    pub least_cut: f64,
    /// The largest part by which one cut lowers the rate, from a mean delay of `cut_delay` on; above 0, at most 0.99.
    /// Default: 0.25.
    pub cut: f64,
    /// The time after a cut without another cut or a raise; 0 to 60 s. Default: 300 ms.
    pub refractory: Duration,
    /// The part by which high load without delay raises the rate, once a measurement of the load; above 0, at most 10.
    /// Default: 0.04.
    pub raise: f64,
    /// The part by which the rate moves towards `base` each `decay_interval` without load; 0 to 0.99. Default: 0.01.
    pub decay: f64,
    /// The time between two of these steps; 1 ms to 3600 s. Default: 1 s.
    pub decay_interval: Duration,
    /// The time without an answer after which the link has stalled if nearly nothing passes; 1 ms to 60 s. The rate is
    /// held then. Default: 250 ms, five probes.
    pub stall: Duration,
    /// The traffic below which nearly nothing passes. Default: 10 kbit/s.
    pub stall_rate: Rate,
    /// The time without an answer after which the rate falls to `min`; above `stall`, at most 3600 s. Default: 10 s.
    pub no_answer: Duration,
    /// The bytes of a full packet, above 0. Default: 1514.
    pub packet: u32,
    /// The law. Default: [`Law::Follow`].
    pub law: Law,
    /// The side of the link on which the shaper stands. Default: [`Direction::Upload`].
    pub direction: Direction,
    /// The largest part by which [`Law::Follow`] raises the rate: each raise directly after another is twice as large,
    /// up to this; at least `raise`, at most 10. Default: 0.5.
    pub most_raise: f64,
    /// The time in which [`Law::Follow`] drains a queue: while the link has a queue of q seconds, the rate is 1 −
    /// q/`drain` of the link's; 1 ms to 60 s. Default: 300 ms, as `refractory`.
    pub drain: Duration,
    /// The least part of the link's rate that is used while it drains; above 0, at most 1. Default: 0.3.
    pub least_part: f64,
}

/// The reaction to bufferbloat, and the speed at which the rate is raised.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Law {
    /// Fairlane's law: as [`Steps`](Self::Steps), but the rate of the busy link is measured from the spacing of answers
    /// and followed, and raises grow.
    #[default]
    Follow,
    /// The law of cake-autorate 3: bufferbloat cuts the rate by a part, and each raise is by the same part.
    Steps,
}

impl Law {
    /// Every law.
    pub const ALL: [Self; 2] = [Self::Follow, Self::Steps];

    /// Returns its name in configuration files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Follow => "follow",
            Self::Steps => "steps",
        }
    }
}

/// The side of the link on which the shaper stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Before the link: bytes are counted when they leave for it.
    #[default]
    Upload,
    /// Behind the link: bytes are counted when they come from it.
    Download,
}

/// A parameter with a value that it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    key: &'static str,
    message: String,
}

impl ConfigError {
    /// Returns the field of [`Config`].
    #[must_use]
    pub const fn key(&self) -> &'static str {
        self.key
    }

    /// Returns the mistake in the value, and the remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The highest rate.
const HIGHEST: Rate = Rate::from_bits_per_second(1_000_000_000_000);

impl Config {
    /// Returns the default parameters with these rates.
    #[must_use]
    pub const fn new(min: Rate, base: Rate, max: Rate) -> Self {
        Self {
            min,
            base,
            max,
            late: Duration::from_millis(30),
            raise_delay: Duration::from_millis(10),
            cut_delay: Duration::from_millis(60),
            window: 6,
            late_samples: 3,
            high_load: 0.75,
            load_interval: Duration::from_millis(200),
            least_cut: 0.01,
            cut: 0.25,
            refractory: Duration::from_millis(300),
            raise: 0.04,
            decay: 0.01,
            decay_interval: Duration::from_millis(1000),
            stall: Duration::from_millis(250),
            stall_rate: Rate::from_bits_per_second(10_000),
            no_answer: Duration::from_millis(10_000),
            packet: 1514,
            law: Law::Follow,
            direction: Direction::Upload,
            most_raise: 0.5,
            drain: Duration::from_millis(300),
            least_part: 0.3,
        }
    }

    /// Checks all parameters.
    ///
    /// # Errors
    /// The first parameter with a value that it cannot have.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_rates()?;
        self.check_times()?;
        range("window", self.window, 1..=100)?;
        range("late_samples", self.late_samples, 1..=self.window)?;
        range("high_load", self.high_load, 0.0..=1.0)?;
        range("cut", self.cut, f64::MIN_POSITIVE..=0.99)?;
        range("least_cut", self.least_cut, 0.0..=self.cut)?;
        range("raise", self.raise, f64::MIN_POSITIVE..=10.0)?;
        range("most_raise", self.most_raise, self.raise..=10.0)?;
        range("decay", self.decay, 0.0..=0.99)?;
        range("least_part", self.least_part, f64::MIN_POSITIVE..=1.0)?;
        range("packet", self.packet, 1..=1 << 24)
    }

    fn check_rates(&self) -> Result<(), ConfigError> {
        let Self { min, base, max, .. } = *self;
        if min.bits_per_second() == 0 {
            return wrong("min", "it must be greater than zero");
        }
        if base < min || base > max {
            return wrong("base", format!("{base} is not from min, {min}, to max, {max}"));
        }
        if max > HIGHEST {
            return wrong("max", format!("{max} is more than {HIGHEST}, the highest rate"));
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ConfigError> {
        let millis = |from, to| Duration::from_millis(from)..=Duration::from_millis(to);
        range("late", self.late, millis(1, 10_000))?;
        range("raise_delay", self.raise_delay, Duration::ZERO..=self.late)?;
        range("cut_delay", self.cut_delay, millis(1, 60_000))?;
        if self.cut_delay <= self.late {
            return wrong("cut_delay", format!("{} must be more than late, {}", self.cut_delay, self.late));
        }
        range("load_interval", self.load_interval, millis(1, 10_000))?;
        range("refractory", self.refractory, millis(0, 60_000))?;
        range("drain", self.drain, millis(1, 60_000))?;
        range("decay_interval", self.decay_interval, millis(1, 3_600_000))?;
        range("stall", self.stall, millis(1, 60_000))?;
        range("no_answer", self.no_answer, millis(1, 3_600_000))?;
        if self.no_answer <= self.stall {
            return wrong("no_answer", format!("{} must be more than stall, {}", self.no_answer, self.stall));
        }
        Ok(())
    }
}

/// Checks a value against its range; NaN is in none.
fn range<T: PartialOrd + fmt::Display + Copy>(
    key: &'static str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    wrong(key, format!("it cannot be {value}: expected {} to {}", range.start(), range.end()))
}

fn wrong<T>(key: &'static str, message: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { key, message: message.into() })
}
