//! A discipline chosen by name, with its parameters: what a file, a command line or another program asks for.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::{AnyQdisc, Kind, Packet, Rate, Seed};

mod kind;
mod numbers;
mod parameter;
mod red;
mod registry;
mod resolver;
pub(crate) mod shared;

pub use kind::FlowState;
pub use parameter::{Domain, Parameter};

pub(crate) use kind::About;
pub(crate) use numbers::Numbers;
pub(crate) use parameter::parameter;
pub(crate) use red::{Era, at_least, number, ordered, part, same_unit, times};
pub(crate) use registry::kinds;
pub(crate) use resolver::Resolver;

/// A parameter's value as it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text: whatever has a unit, a choice by name, or anything from a command line.
    Text(String),
    /// A whole number: a count.
    Integer(i64),
    /// A number: a ratio.
    Float(f64),
    /// A switch.
    Boolean(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}
impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}
impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}
impl From<bool> for Value {
    fn from(switch: bool) -> Self {
        Self::Boolean(switch)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Integer(number) => number.fmt(f),
            Self::Float(number) => number.fmt(f),
            Self::Boolean(switch) => switch.fmt(f),
        }
    }
}

/// A parameter that cannot be: which, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    key: String,
    message: String,
}

impl ParameterError {
    pub(crate) fn new(key: &str, message: String) -> Self {
        Self { key: key.to_string(), message }
    }

    /// The parameter's key, such as `max`; `kind` for the discipline itself.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// What is wrong with it and what would be right.
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

/// What a discipline is told of the place where it works.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Rate of the managed link.
    pub rate: Rate,
    /// Where its randomness comes from.
    pub seed: Seed,
}

/// Where a resolved value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was given.
    Given,
    /// It is the default, for the reason said.
    Default(&'static str),
    /// It follows from other values, by the rule said.
    Derived(&'static str),
}

/// One parameter as it will be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its key.
    pub key: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
    /// What it means.
    pub meaning: &'static str,
}

/// Every parameter as it will be used, and what looks wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The discipline.
    pub kind: Kind,
    /// Its parameters, in the order of its documentation.
    pub parameters: Vec<Resolved>,
    /// What follows from them and is worth knowing, such as how fast the average reacts.
    pub consequences: Vec<String>,
    /// What looks wrong, such as `max` below twice `min`.
    pub warnings: Vec<String>,
}

/// A discipline and the parameters that were given; the others take their defaults.
#[derive(Clone, Debug, PartialEq)]
pub struct QdiscConfig {
    kind: Kind,
    given: Vec<(&'static str, Value)>,
}

impl QdiscConfig {
    /// `kind` with its defaults.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { kind, given: Vec::new() }
    }

    /// The discipline.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// The parameters that were given, in the order of the discipline's documentation.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.given.iter().map(|(key, value)| (*key, value))
    }

    /// Sets one parameter, replacing what was given for it before.
    ///
    /// Text is read whatever the parameter is, since a command line has nothing else.
    ///
    /// # Errors
    /// The discipline has no such parameter, or the value is not of its unit or out of its range.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), ParameterError> {
        let table = self.kind.parameters();
        let Some(parameter) = table.iter().find(|parameter| parameter.key == key) else {
            return Err(self.unknown(key));
        };
        parameter.read(&value)?;
        self.given.retain(|(known, _)| *known != parameter.key);
        self.given.push((parameter.key, value));
        self.given.sort_by_key(|(known, _)| table.iter().position(|parameter| parameter.key == *known));
        Ok(())
    }

    /// The same with one parameter set.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Result<Self, ParameterError> {
        self.set(key, value.into())?;
        Ok(self)
    }

    /// Another discipline with the parameters that it also knows; the others are left behind.
    #[must_use]
    pub fn with_kind(&self, kind: Kind) -> Self {
        let mut config = Self::new(kind);
        for (key, value) in self.given() {
            // Refused is what `kind` does not know.
            let _ = config.set(key, value.clone());
        }
        config
    }

    /// The queue itself.
    ///
    /// # Errors
    /// The parameters contradict each other, such as `min` above `max`.
    pub fn build<P: Packet>(&self, host: &Host) -> Result<AnyQdisc<P>, ParameterError> {
        AnyQdisc::new(&mut Resolver::new(self, host.rate), host.seed)
    }

    /// Every value as it will be used on a link of `rate`, where it came from, and what looks wrong.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn explain(&self, rate: Rate) -> Result<Explanation, ParameterError> {
        let mut resolver = Resolver::new(self, rate);
        self.kind.resolve(&mut resolver)?;
        Ok(resolver.explanation())
    }

    /// Why `key` is no parameter here, and which would be.
    fn unknown(&self, key: &str) -> ParameterError {
        let table = self.kind.parameters();
        let all = || table.iter().map(|parameter| parameter.key);
        let elsewhere =
            table.iter().find(|parameter| parameter.elsewhere.contains(&key)).map(|parameter| parameter.key);
        let hint = match elsewhere.or_else(|| nearest(key, all())) {
            Some(near) => format!("did you mean \"{near}\"? "),
            None => String::new(),
        };
        let message = format!("{} has no parameter \"{key}\": {hint}it has {}", self.kind, names(all()));
        ParameterError::new(key, message)
    }
}

/// `all` in a row, separated by commas.
fn names<'a>(all: impl Iterator<Item = &'a str>) -> String {
    all.collect::<Vec<_>>().join(", ")
}

/// The one of `all` that differs least from `text`, if it differs by less than half.
fn nearest<'a>(text: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = all.map(|name| (distance(text, name), name)).min_by_key(|(distance, _)| *distance);
    near.filter(|(distance, name)| 2 * distance <= name.chars().count()).map(|(_, name)| name)
}

/// How many characters must be put in, taken out or changed to make `a` of `b` (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.chars().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
