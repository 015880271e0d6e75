//! A parameter's value, as a file or a program gives it.

use alloc::string::{String, ToString};
use core::fmt;

/// A parameter's value as it was given.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text: a quantity with a unit, a choice by name, or a value from a command line.
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
