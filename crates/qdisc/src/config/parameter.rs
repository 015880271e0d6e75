//! What a parameter is and how a value is read: reading, errors, `explain` and the documentation come from here.

use alloc::format;
use alloc::string::{String, ToString};

use super::numbers::Numbers;
use super::{ParameterError, Value, nearest};
use crate::buffer::MAX_PACKETS;
use crate::{Bytes, Duration, Packets, Rate, Size};

/// What a parameter's value can be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Domain {
    /// Packets or bytes, such as `100p` or `150kb`: at most 16777216p or 2^40 bytes.
    Size,
    /// Bytes, such as `1000b`: 1b to 16mb.
    Bytes,
    /// Packets, such as `138p`: at most 16777216p.
    Packets,
    /// A rate above 0, such as `10mbit`.
    Rate,
    /// A time above 0, such as `5ms`.
    Duration,
    /// A plain whole number.
    Count {
        /// The least.
        min: u32,
        /// The most.
        max: u32,
        /// Whether `infinite` may be said.
        infinite: bool,
    },
    /// A plain number above 0 and at most 1.
    Ratio,
    /// A plain number.
    Number {
        /// The least.
        min: f64,
        /// The most.
        max: f64,
    },
    /// Plain numbers in a row, separated by commas, such as `0.5,0.3`: at most 8 of them.
    Numbers {
        /// The least that each may be.
        min: f64,
        /// The most.
        max: f64,
    },
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// One parameter of a discipline.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Parameter {
    /// Its key, tc(8)'s word where tc has one.
    pub key: &'static str,
    /// What its value can be.
    pub domain: Domain,
    /// Its default, or the rule that gives it.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// What others call it: ns-2, ns-3, the papers. They are understood in error messages only.
    pub elsewhere: &'static [&'static str],
}

/// A value that was read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Parsed {
    Size(Size),
    Bytes(Bytes),
    Packets(Packets),
    Rate(Rate),
    Duration(Duration),
    /// `u32::MAX` is infinite.
    Count(u32),
    /// A ratio, or another number.
    Ratio(f64),
    Numbers(Numbers),
    Switch(bool),
    Choice(&'static str),
}

/// The largest size in bytes.
const MAX_BYTES: u64 = 1 << 40;

/// The largest mean packet.
const MAX_PACKET: u64 = 1 << 24;

impl Domain {
    /// What can be written, in a few words with the range, such as `whole number, 1..64`.
    #[must_use]
    pub fn describe(self) -> String {
        match self {
            Self::Size => "packets or bytes".to_string(),
            Self::Bytes => "bytes, from 1b".to_string(),
            Self::Packets => "packets".to_string(),
            Self::Rate => "rate, above 0".to_string(),
            Self::Duration => "time, above 0".to_string(),
            Self::Count { min, max, infinite: false } => format!("whole number, {min}..{max}"),
            Self::Count { min, max, infinite: true } => format!("whole number, {min}..{max}, or `infinite`"),
            Self::Ratio => "number, above 0, at most 1".to_string(),
            Self::Number { min, max } => format!("number, {min}..{max}"),
            Self::Numbers { min, max } => {
                format!("up to {} numbers, {min}..{max}, separated by commas", Numbers::MOST)
            }
            Self::Switch => "`true` or `false`".to_string(),
            Self::Choice(names) => {
                names.iter().map(|name| format!("`{name}`")).collect::<alloc::vec::Vec<_>>().join(", ")
            }
        }
    }

    /// What to write where the bare number `number` was given.
    fn with_unit(self, number: &str) -> Option<String> {
        match self {
            Self::Size => Some(format!("\"{number}p\" for packets or \"{number}kb\" for kilobytes")),
            Self::Bytes => Some(format!("\"{number}b\"")),
            Self::Packets => Some(format!("\"{number}p\"")),
            Self::Rate => Some(format!("\"{number}mbit\" or \"{number}kbit\"")),
            Self::Duration => Some(format!("\"{number}ms\" or \"{number}s\"")),
            _ => None,
        }
    }
}

impl Parameter {
    /// Reads `value`, whatever form it has.
    pub(super) fn read(&self, value: &Value) -> Result<Parsed, ParameterError> {
        let text = value.to_string();
        let text = text.trim();
        let wrong = |message: String| ParameterError::new(self.key, message);
        if text.starts_with(|c: char| c.is_ascii_digit())
            && text.parse::<f64>().is_ok()
            && let Some(write) = self.domain.with_unit(text)
        {
            return Err(wrong(format!("a bare number has no unit: write {write} instead of {text}")));
        }
        let parsed = match self.domain {
            Domain::Size => Parsed::Size(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Bytes => Parsed::Bytes(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Packets => Parsed::Packets(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Rate => Parsed::Rate(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Duration => Parsed::Duration(text.parse().map_err(|e| wrong(format!("{e}")))?),
            Domain::Count { min, max, infinite } => Parsed::Count(self.read_count(text, min, max, infinite)?),
            Domain::Ratio => match text.parse::<f64>() {
                Ok(ratio) if ratio > 0.0 && ratio <= 1.0 => Parsed::Ratio(ratio),
                _ => return Err(self.unlike(text, "0.02")),
            },
            Domain::Number { min, max } => match text.parse::<f64>() {
                Ok(number) if (min..=max).contains(&number) => Parsed::Ratio(number),
                _ => return Err(self.unlike(text, &max.min(min.max(1.0)).to_string())),
            },
            Domain::Numbers { min, max } => match Numbers::read(text, min, max) {
                Some(numbers) => Parsed::Numbers(numbers),
                None => return Err(self.unlike(text, &format!("{max},{max}"))),
            },
            Domain::Switch => Parsed::Switch(text.parse().map_err(|_| self.unlike(text, "true"))?),
            Domain::Choice(names) => match names.iter().find(|name| **name == text) {
                Some(name) => Parsed::Choice(name),
                None => return Err(self.unlike(text, nearest(text, names.iter().copied()).unwrap_or(names[0]))),
            },
        };
        self.check_range(parsed)?;
        Ok(parsed)
    }

    fn read_count(&self, text: &str, min: u32, max: u32, infinite: bool) -> Result<u32, ParameterError> {
        if infinite && text == "infinite" {
            return Ok(u32::MAX);
        }
        match text.parse::<u32>() {
            Ok(count) if (min..=max).contains(&count) => Ok(count),
            _ => Err(self.unlike(text, &min.max(1).to_string())),
        }
    }

    fn unlike(&self, text: &str, example: &str) -> ParameterError {
        let message = format!("it cannot be \"{text}\": it is {}; write for example {example}", self.domain.describe());
        ParameterError::new(self.key, message)
    }

    /// Whether a value with a unit is within its range.
    fn check_range(&self, parsed: Parsed) -> Result<(), ParameterError> {
        let problem = match parsed {
            Parsed::Size(Size::Packets(packets)) | Parsed::Packets(packets) if packets.get() > MAX_PACKETS => {
                format!("{packets} is more than any queue holds; the most is {MAX_PACKETS}p")
            }
            Parsed::Size(Size::Bytes(bytes)) if bytes.get() > MAX_BYTES => {
                format!("{bytes} is more than any queue holds; the most is {MAX_BYTES}b")
            }
            Parsed::Bytes(bytes) if bytes.get() == 0 || bytes.get() > MAX_PACKET => {
                format!("{bytes} is no packet; it is 1b to {MAX_PACKET}b")
            }
            Parsed::Rate(rate) if rate.bits_per_second() == 0 => "a link of no rate carries nothing".to_string(),
            Parsed::Duration(time) if time == Duration::ZERO => "no time is too short".to_string(),
            _ => return Ok(()),
        };
        Err(ParameterError::new(self.key, problem))
    }
}

/// The parameter `key` of `domain`: its default or the rule that gives it, and what it means.
pub(crate) const fn parameter(
    key: &'static str,
    domain: Domain,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { key, domain, default, meaning, elsewhere: &[] }
}

impl Parameter {
    /// The same with the names that others have for it.
    pub(crate) const fn elsewhere(mut self, names: &'static [&'static str]) -> Self {
        self.elsewhere = names;
        self
    }

    /// The same with another default, for a shared parameter whose default is a discipline's own.
    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = default;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a bound that is left out, and NaN or infinity let in.
    #[test]
    fn a_number_is_within_its_bounds() {
        let beta = parameter("beta", Domain::Number { min: 0.0, max: 2.5 }, "1.25", "weight of the change");
        let read = |text: &str| beta.read(&Value::from(text)).map_err(|error| error.to_string());
        for (text, number) in [("0", 0.0), ("2.5", 2.5), ("1", 1.0), ("1e-3", 0.001)] {
            assert_eq!(read(text), Ok(Parsed::Ratio(number)));
        }
        for text in ["-0.1", "2.6", "nan", "inf", "", "1p"] {
            let expected = format!("beta: it cannot be \"{text}\": it is number, 0..2.5; write for example 1");
            assert_eq!(read(text), Err(expected));
        }
    }
}
