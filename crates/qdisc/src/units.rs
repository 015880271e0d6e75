//! Time, size and rate, each as a separate type, written and read as tc(8) does.
//!
//! | type | written | means |
//! |---|---|---|
//! | [`Duration`] | `1s` `20ms` `5us` `80ns` | nanoseconds |
//! | [`Rate`] | `64kbit` `1mbit` `10gbit` | bits per second, powers of 1000 (`kibit` `mibit` `gibit`: of 1024); capitals too, as tc prints them: `18Mbit` |
//! | [`Bytes`] | `1000b` `150kb` `2mb` `64kib` | bytes; `kb` is 1000 (tc reads it as 1024; write `kib` for that) |
//! | [`Packets`] | `100p` | packets |
//! | [`Size`] | `100p` or `150kb` | either |
//!
//! A bare number is an error with a remedy: a unit is never guessed.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::{Add, AddAssign, Sub};
use core::str::FromStr;

/// A text that is not a value of the unit that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(String);

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for UnitError {}

/// A moment: nanoseconds since the host's own start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The host's start.
    pub const ZERO: Self = Self(0);
    /// Later than everything.
    pub const MAX: Self = Self(u64::MAX);

    /// Returns the moment `nanos` nanoseconds after the start.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the start.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds since the start.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS
    }

    /// Returns the time from `earlier` to this; zero when this is not later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    #[inline]
    fn add(self, duration: Duration) -> Self {
        match self.0.checked_add(duration.0) {
            Some(nanos) => Self(nanos),
            None => Self::end(),
        }
    }
}

impl Time {
    /// Returns [`MAX`](Self::MAX). A branch that is never taken costs each sum less than a choice between two values.
    #[cold]
    #[inline(never)]
    const fn end() -> Self {
        Self::MAX
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.since(earlier)
    }
}

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// Returns `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Returns `secs` seconds, to the nearest nanosecond; negative and NaN give zero, too long gives the longest.
    #[must_use]
    pub fn from_secs(secs: f64) -> Self {
        // A cast saturates and turns NaN to 0.
        Self(libm::round(secs * NANOS) as u64)
    }

    /// Returns the nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the seconds.
    #[must_use]
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / NANOS
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Returns `bits` bits per second.
    #[must_use]
    pub const fn from_bits_per_second(bits: u64) -> Self {
        Self(bits)
    }

    /// Returns the bits per second.
    #[must_use]
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Returns the time that `bytes` bytes take, to the nearest nanosecond; the longest duration at rate 0.
    #[must_use]
    pub const fn transmission(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration(u64::MAX);
        }
        let bit_nanos = bytes as u128 * 8_000_000_000;
        let nanos = (bit_nanos + self.0 as u128 / 2) / self.0 as u128;
        if nanos > u64::MAX as u128 { Duration(u64::MAX) } else { Duration(nanos as u64) }
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Returns `bytes` bytes.
    #[must_use]
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A number of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Packets(u32);

impl Packets {
    /// Returns `packets` packets.
    #[must_use]
    pub const fn new(packets: u32) -> Self {
        Self(packets)
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// A size of a queue, in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Size {
    /// In packets, `100p`.
    Packets(Packets),
    /// In bytes, `150kb`.
    Bytes(Bytes),
}

impl Size {
    /// Returns the size of `packets` packets.
    #[must_use]
    pub const fn packets(packets: u32) -> Self {
        Self::Packets(Packets::new(packets))
    }

    /// Returns the size of `bytes` bytes.
    #[must_use]
    pub const fn bytes(bytes: u64) -> Self {
        Self::Bytes(Bytes::new(bytes))
    }

    /// Returns the number of packets or bytes.
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Packets(packets) => packets.get() as u64,
            Self::Bytes(bytes) => bytes.get(),
        }
    }

    /// Returns the size of `number` packets or bytes, in the unit of this one; more packets than fit become `u32::MAX`.
    #[must_use]
    pub(crate) fn with_number(self, number: u64) -> Self {
        match self {
            Self::Packets(_) => Self::packets(u32::try_from(number).unwrap_or(u32::MAX)),
            Self::Bytes(_) => Self::bytes(number),
        }
    }

    /// Tells whether both are in packets, or both in bytes.
    #[must_use]
    pub const fn has_unit_of(self, other: Self) -> bool {
        matches!((self, other), (Self::Packets(_), Self::Packets(_)) | (Self::Bytes(_), Self::Bytes(_)))
    }
}

const NANOS: f64 = 1e9;

const DURATION: &[(&str, u64)] = &[("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
const RATE: &[(&str, u64)] = &[
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("tbit", 1_000_000_000_000),
    ("kibit", 1 << 10),
    ("mibit", 1 << 20),
    ("gibit", 1 << 30),
    ("tibit", 1 << 40),
];
const BYTES: &[(&str, u64)] = &[
    ("b", 1),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
];
const PACKETS: &[(&str, u64)] = &[("p", 1)];

/// The units in which tc(8) prints powers of 1024 bytes, with those of 1000 here.
const TC_BYTES: [(&str, &str); 3] = [("Kb", "kb"), ("Mb", "mb"), ("Gb", "gb")];

/// Reads `text` as a number and one of `units`; decimal fractions are exact.
fn parse(text: &str, what: &str, example: &str, units: &[(&str, u64)]) -> Result<u64, UnitError> {
    let error = |why: &str| UnitError(format!("{what} cannot be \"{text}\": {why}; write for example \"{example}\""));
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
        return Err(error("it must start with a number that is not negative"));
    }
    let unit = unit.trim();
    // Capitals make no other rate. tc prints 1024 bytes as `1Kb`, which is no `kb` here.
    let is_rate = units[0].0 == "bit";
    let named = |name: &str| name == unit || is_rate && name.eq_ignore_ascii_case(unit);
    let Some(&(_, scale)) = units.iter().find(|(name, _)| named(name)) else {
        let names = units.iter().map(|(name, _)| name.to_string()).collect::<alloc::vec::Vec<_>>().join(", ");
        return Err(if unit.is_empty() {
            error(&format!("a bare number has no unit, which is one of {names}"))
        } else if let Some((_, plain)) = TC_BYTES.iter().find(|(tc, _)| *tc == unit && !is_rate) {
            error(&format!("tc(8) prints it for {number}{}, and {number}{plain} is less", plain.replace('b', "ib")))
        } else if unit.to_ascii_lowercase().ends_with("bps") {
            error(
                "tc(8) reads bps as bytes per second and others as bits; say what you mean in bit, kbit, mbit or gbit",
            )
        } else {
            error(&format!("the unit \"{unit}\" is none of {names}"))
        });
    };
    let digits = [whole, fraction.trim_end_matches('0')].concat();
    let scaled = digits.parse::<u64>().ok().map(|n| u128::from(n) * u128::from(scale));
    let scaled = scaled.ok_or_else(|| error("it has too many digits"))?;
    // Zeros in front of the first digit are no problem for the number, but may be for the power.
    let divisor = 10_u128.checked_pow((digits.len() - whole.len()) as u32);
    let divisor = divisor.ok_or_else(|| error("it has too many digits"))?;
    if scaled % divisor != 0 {
        return Err(error(&format!("it is not a whole number of {}", units[0].0)));
    }
    u64::try_from(scaled / divisor).map_err(|_| error("that is too large"))
}

/// Writes `value` in the largest of `units` that divides it.
fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |&&(name, scale): &&(&str, u64)| value >= scale && value.is_multiple_of(scale) && !name.contains("ib");
    let (name, scale) = units.iter().filter(fits).max_by_key(|(_, scale)| *scale).unwrap_or(&units[0]);
    f.pad(&format!("{}{name}", value / scale))
}

macro_rules! unit {
    ($type:ident, $inner:ty, $table:ident, $what:literal, $example:literal) => {
        impl $type {
            /// The units in which it is written, each with its size in the first one.
            pub const UNITS: &[(&str, u64)] = $table;
        }

        impl FromStr for $type {
            type Err = UnitError;
            fn from_str(text: &str) -> Result<Self, UnitError> {
                let value = parse(text.trim(), $what, $example, $table)?;
                <$inner>::try_from(value).map(Self).map_err(|_| {
                    UnitError(format!(
                        "{} cannot be \"{text}\": that is too large; write for example \"{}\"",
                        $what, $example
                    ))
                })
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, u64::from(self.0), $table)
            }
        }
    };
}

unit!(Duration, u64, DURATION, "a time", "20ms");
unit!(Rate, u64, RATE, "a rate", "10mbit");
unit!(Bytes, u64, BYTES, "a size in bytes", "1000b");
unit!(Packets, u32, PACKETS, "a number of packets", "100p");

impl FromStr for Size {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let text = text.trim();
        if text.ends_with('p') {
            return text.parse().map(Self::Packets);
        }
        if text.ends_with('b') {
            return text.parse().map(Self::Bytes);
        }
        Err(UnitError(format!(
            "a size cannot be \"{text}\": its unit says whether it counts packets or bytes; write for example \"100p\" or \"150kb\""
        )))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(packets) => packets.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_tc_reads_and_refuses_a_bare_number() {
        assert_eq!("20ms".parse(), Ok(Duration::from_millis(20)));
        assert_eq!("1.5s".parse(), Ok(Duration::from_millis(1500)));
        assert_eq!("0.25mbit".parse(), Ok(Rate::from_bits_per_second(250_000)));
        assert_eq!("64kib".parse(), Ok(Bytes::new(65_536)));
        // tc-htb(8) prints rates so, and with -iec so; RFC 2544's 10 Gbit/s.
        for (text, bits) in [
            ("18Mbit", 18_000_000),
            ("1500Kbit", 1_500_000),
            ("10Gbit", 10_000_000_000),
            ("64bit", 64),
            ("1Tbit", 1_000_000_000_000),
            ("2Mibit", 2 << 20),
            ("2mibit", 2 << 20),
        ] {
            assert_eq!(text.parse(), Ok(Rate::from_bits_per_second(bits)), "{text}");
        }
        let refused = |text: &str| text.parse::<Size>().map_err(|error| error.to_string()).err().unwrap_or_default();
        assert!(refused("32Mb").contains("tc(8) prints it for 32mib, and 32mb is less"), "{}", refused("32Mb"));
        assert!("2Mbps".parse::<Rate>().is_err_and(|error| error.to_string().contains("bytes per second")));
        assert_eq!("0.5kib".parse(), Ok(Bytes::new(512)));
        assert_eq!("100p".parse(), Ok(Size::Packets(Packets::new(100))));
        assert_eq!("150kb".parse(), Ok(Size::Bytes(Bytes::new(150_000))));
        for wrong in [
            "100",
            "",
            "p",
            "-3p",
            "1.5p",
            "1..5s",
            ".5s",
            "5.s",
            "10mbps",
            "99999999999999999999s",
            "4294967296p",
            "0.00000000000000000000000000000000000000001s",
            "nan",
        ] {
            assert!(wrong.parse::<Size>().is_err() || wrong.ends_with("bps"), "{wrong}");
            assert!(wrong.parse::<Duration>().is_err(), "{wrong}");
            assert!(wrong.parse::<Rate>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn prints_what_it_reads() {
        for text in ["20ms", "1500ms", "0ns", "1mbit", "1500kbit", "0bit", "1gbit"] {
            let printed = text
                .parse::<Duration>()
                .map(|v| v.to_string())
                .or_else(|_| text.parse::<Rate>().map(|v| v.to_string()));
            assert_eq!(printed.as_deref(), Ok(text));
        }
    }

    #[test]
    fn transmission_is_exact() {
        assert_eq!(Rate::from_bits_per_second(1_000_000).transmission(1000), Duration::from_millis(8));
        assert_eq!(Rate::from_bits_per_second(0).transmission(1), Duration::from_nanos(u64::MAX));
        assert_eq!(Rate::from_bits_per_second(3).transmission(1), Duration::from_nanos(2_666_666_667));
    }
}
