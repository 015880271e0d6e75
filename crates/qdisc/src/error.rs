//! The error of a parameter, and the checks that configurations share.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::ops::RangeInclusive;

use crate::{Bytes, Duration, Packets, Rate, Size};

/// A parameter with a value that it cannot have. Disciplines of your own report theirs with it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    key: String,
    message: String,
}

impl ParameterError {
    /// Returns the error of the parameter `key`; `message` tells the mistake in the value, and the remedy.
    #[must_use]
    pub fn new(key: &str, message: String) -> Self {
        Self { key: key.to_string(), message }
    }

    /// Returns the parameter's key, such as `max`; `kind` for the discipline itself.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns the mistake in the value, and the remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ParameterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.message)
    }
}

impl core::error::Error for ParameterError {}

/// The most packets that any queue holds, even with a larger limit in bytes.
pub(crate) const MAX_PACKETS: u32 = 1 << 24;

/// The largest size of a queue in bytes.
pub(crate) const MAX_BYTES: u64 = 1 << 40;

/// The largest packet in bytes.
pub(crate) const MAX_PACKET: u64 = 1 << 24;

/// The checks of values that have the same range in every configuration. Each names the parameter by its key.
pub(crate) mod check {
    use super::*;

    /// Checks a size of a queue, such as its limit or a threshold.
    pub(crate) fn size(key: &str, size: Size) -> Result<(), ParameterError> {
        match size {
            Size::Packets(count) => packets(key, count),
            Size::Bytes(bytes) if bytes.get() > MAX_BYTES => {
                Err(ParameterError::new(key, format!("{bytes} is more than any queue holds; the most is {MAX_BYTES}b")))
            }
            Size::Bytes(_) => Ok(()),
        }
    }

    /// Checks a number of packets.
    pub(crate) fn packets(key: &str, packets: Packets) -> Result<(), ParameterError> {
        if packets.get() > MAX_PACKETS {
            let message = format!("{packets} is more than any queue holds; the most is {MAX_PACKETS}p");
            return Err(ParameterError::new(key, message));
        }
        Ok(())
    }

    /// Checks a size of a packet or of a few: at least one byte.
    pub(crate) fn bytes(key: &str, bytes: Bytes) -> Result<(), ParameterError> {
        if bytes.get() == 0 || bytes.get() > MAX_PACKET {
            let message = format!("{bytes} is not the size of a packet, which is 1b to {MAX_PACKET}b");
            return Err(ParameterError::new(key, message));
        }
        Ok(())
    }

    /// Checks a rate: above zero.
    pub(crate) fn rate(key: &str, rate: Rate) -> Result<(), ParameterError> {
        if rate.bits_per_second() == 0 {
            return Err(ParameterError::new(key, "it must be greater than zero".to_string()));
        }
        Ok(())
    }

    /// Checks a time: above zero.
    pub(crate) fn duration(key: &str, duration: Duration) -> Result<(), ParameterError> {
        if duration == Duration::ZERO {
            return Err(ParameterError::new(key, "it must be greater than zero".to_string()));
        }
        Ok(())
    }

    /// Checks a ratio: above 0, at most 1.
    pub(crate) fn ratio(key: &str, ratio: f64) -> Result<(), ParameterError> {
        if ratio > 0.0 && ratio <= 1.0 {
            return Ok(());
        }
        Err(ParameterError::new(key, format!("it cannot be {ratio}: expected a number above 0 and at most 1")))
    }

    /// Checks a number against its range.
    pub(crate) fn number(key: &str, number: f64, range: RangeInclusive<f64>) -> Result<(), ParameterError> {
        if range.contains(&number) {
            return Ok(());
        }
        let (min, max) = range.into_inner();
        Err(ParameterError::new(key, format!("it cannot be {number}: expected a number from {min} to {max}")))
    }

    /// Checks a count against its range.
    pub(crate) fn count(key: &str, count: u32, range: RangeInclusive<u32>) -> Result<(), ParameterError> {
        if range.contains(&count) {
            return Ok(());
        }
        let (min, max) = range.into_inner();
        Err(ParameterError::new(key, format!("it cannot be {count}: expected a whole number from {min} to {max}")))
    }
}
