//! Parameters: their names, ranges and defaults, and how a value is parsed. Errors, `explain` and the documentation use
//! the same table.

use alloc::format;
use alloc::string::{String, ToString};

use super::numbers::Numbers;
use super::suggest::nearest;
use super::{ParameterError, Value};
use crate::error::check;
use crate::{Bytes, Duration, Packets, Rate, Size};

/// The values that a parameter can have.
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
        /// `infinite` is allowed, too.
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
    /// The values that it can have.
    pub domain: Domain,
    /// Its default, or the rule that gives it.
    pub default: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Its names in ns-2, ns-3 and the papers. Error messages suggest this parameter for them.
    pub elsewhere: &'static [&'static str],
}

/// A value that was parsed.
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

impl Domain {
    /// Describes the values in a few words with the range, for tables, such as `whole number, 1..64`.
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

    /// Describes the values in an error message, such as `a whole number from 1 to 64`.
    fn expected(self) -> String {
        match self {
            Self::Count { min, max, infinite: false } => format!("a whole number from {min} to {max}"),
            Self::Count { min, max, infinite: true } => format!("a whole number from {min} to {max}, or infinite"),
            Self::Ratio => "a number above 0 and at most 1".to_string(),
            Self::Number { min, max } => format!("a number from {min} to {max}"),
            Self::Numbers { min, max } => {
                format!("up to {} numbers from {min} to {max}, separated by commas", Numbers::MOST)
            }
            Self::Choice(_) => format!("one of {}", self.describe()),
            Self::Size | Self::Bytes | Self::Packets | Self::Rate | Self::Duration | Self::Switch => self.describe(),
        }
    }

    /// Returns a replacement with a unit for the bare number `number`.
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
    /// Parses `value` in any of its forms.
    pub(super) fn read(&self, value: &Value) -> Result<Parsed, ParameterError> {
        let text = value.to_string();
        let text = text.trim();
        let wrong = |message: String| ParameterError::new(self.key, message);
        let is_bare = text.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok();
        if let Some(write) = self.domain.with_unit(text).filter(|_| is_bare) {
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
        let message =
            format!("it cannot be \"{text}\": expected {}; write for example {example}", self.domain.expected());
        ParameterError::new(self.key, message)
    }

    /// Checks the range of a value that has a unit.
    fn check_range(&self, parsed: Parsed) -> Result<(), ParameterError> {
        match parsed {
            Parsed::Size(size) => check::size(self.key, size),
            Parsed::Packets(packets) => check::packets(self.key, packets),
            Parsed::Bytes(bytes) => check::bytes(self.key, bytes),
            Parsed::Rate(rate) => check::rate(self.key, rate),
            Parsed::Duration(duration) => check::duration(self.key, duration),
            Parsed::Count(_) | Parsed::Ratio(_) | Parsed::Numbers(_) | Parsed::Switch(_) | Parsed::Choice(_) => Ok(()),
        }
    }
}

/// Returns the parameter `key` with its values, its default or the rule that gives it, and its meaning.
pub(crate) const fn parameter(
    key: &'static str,
    domain: Domain,
    default: &'static str,
    meaning: &'static str,
) -> Parameter {
    Parameter { key, domain, default, meaning, elsewhere: &[] }
}

impl Parameter {
    /// Adds the names that others have for it.
    pub(crate) const fn elsewhere(mut self, names: &'static [&'static str]) -> Self {
        self.elsewhere = names;
        self
    }

    /// Replaces the default, for a shared parameter whose default is a discipline's own.
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
            let expected =
                format!("beta: it cannot be \"{text}\": expected a number from 0 to 2.5; write for example 1");
            assert_eq!(read(text), Err(expected));
        }
    }
}
