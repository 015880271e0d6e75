//! Checks of the models' arguments.

use core::fmt;

/// An error about a parameter outside of a model's range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    parameter: &'static str,
    message: String,
}

impl Error {
    pub(crate) fn new(parameter: &'static str, message: impl Into<String>) -> Self {
        Self { parameter, message: message.into() }
    }

    /// The parameter that is out of range, such as `load`.
    #[must_use]
    pub fn parameter(&self) -> &'static str {
        self.parameter
    }

    /// The problem and the remedy.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.parameter, self.message)
    }
}

impl std::error::Error for Error {}

/// Bound beyond which no model is meaningful and floating point loses precision.
const LARGEST: f64 = 1e12;

/// A rate, a load or a time: above zero.
pub(crate) fn positive(parameter: &'static str, value: f64) -> Result<f64, Error> {
    if (1.0 / LARGEST..=LARGEST).contains(&value) {
        Ok(value)
    } else {
        Err(Error::new(
            parameter,
            format!("{value} is out of range; give a number from {:e} to {LARGEST:e}", 1.0 / LARGEST),
        ))
    }
}

/// A probability below 1.
pub(crate) fn below_one(parameter: &'static str, value: f64) -> Result<f64, Error> {
    if (0.0..1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::new(parameter, format!("{value} is out of range; give a probability from 0 to less than 1")))
    }
}

/// A probability.
pub(crate) fn probability(parameter: &'static str, value: f64) -> Result<f64, Error> {
    if (0.0..=1.0).contains(&value) {
        Ok(value)
    } else {
        Err(Error::new(parameter, format!("{value} is out of range; give a probability from 0 to 1")))
    }
}

/// A number of things, at least one.
pub(crate) fn count(parameter: &'static str, value: u32) -> Result<f64, Error> {
    if value == 0 { Err(Error::new(parameter, "0 is out of range; give 1 or more")) } else { Ok(f64::from(value)) }
}

/// Rates of flows: some, each above zero.
pub(crate) fn rates(parameter: &'static str, values: &[f64]) -> Result<(), Error> {
    const MOST: usize = 1000;
    if values.is_empty() || values.len() > MOST {
        return Err(Error::new(parameter, format!("{} flows is out of range; give 1 to {MOST} rates", values.len())));
    }
    values.iter().try_for_each(|&rate| positive(parameter, rate).map(drop))
}
