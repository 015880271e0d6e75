//! A discipline chosen by name, with its parameters: what a file, a command line or another program asks for.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::{AnyQdisc, Packet, Rate, Seed};

/// Every discipline that can be asked for by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A FIFO that drops when it is full.
    DropTail,
    /// Random Early Detection.
    Red,
    /// Self-configuring RED (Feng) and Adaptive RED (Floyd).
    Ared,
    /// CHOKe.
    Choke,
    /// CHOKe with a number of candidates that grows with the average.
    ChokeAdaptive,
    /// CHOKe whose candidate is the head.
    FrontChoke,
    /// CHOKe whose candidate is the tail.
    BackChoke,
    /// Back CHOKe that remembers the flows of the last packets admitted.
    MlocChoke,
    /// CHOKe with a table of hits.
    Xchoke,
    /// CHOKe that goes on drawing while it matches.
    Gchoke,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::DropTail,
        Self::Red,
        Self::Ared,
        Self::Choke,
        Self::ChokeAdaptive,
        Self::FrontChoke,
        Self::BackChoke,
        Self::MlocChoke,
        Self::Xchoke,
        Self::Gchoke,
    ];

    /// The name that a scenario and the command line use, such as `front-choke`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DropTail => "droptail",
            Self::Red => "red",
            Self::Ared => "ared",
            Self::Choke => "choke",
            Self::ChokeAdaptive => "choke-adaptive",
            Self::FrontChoke => "front-choke",
            Self::BackChoke => "back-choke",
            Self::MlocChoke => "mloc-choke",
            Self::Xchoke => "xchoke",
            Self::Gchoke => "gchoke",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = ParameterError;
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == text)
            .ok_or_else(|| ParameterError::new("kind", format!("there is no queue discipline \"{text}\"")))
    }
}

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
    /// # Errors
    /// The discipline has no such parameter, or the value is not of its unit or out of its range.
    pub fn set(&mut self, _key: &str, _value: Value) -> Result<(), ParameterError> {
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

    /// The queue itself.
    ///
    /// # Errors
    /// The parameters contradict each other, such as `min` above `max`.
    pub fn build<P: Packet>(&self, _host: &Host) -> Result<AnyQdisc<P>, ParameterError> {
        Ok(AnyQdisc::DropTail(crate::droptail::DropTail::new(300)))
    }

    /// Every value as it will be used on a link of `rate`, where it came from, and what looks wrong.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    pub fn explain(&self, _rate: Rate) -> Result<Explanation, ParameterError> {
        Ok(Explanation { kind: self.kind, parameters: Vec::new(), consequences: Vec::new(), warnings: Vec::new() })
    }
}
