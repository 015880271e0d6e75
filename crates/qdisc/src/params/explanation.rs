//! The explanation of a discipline's parameters: each value with its origin, consequences and warnings.

use alloc::string::String;
use alloc::vec::Vec;

use super::Kind;

/// The origin of a resolved value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user gave the value.
    Given,
    /// The value is the default, for this reason.
    Default(&'static str),
    /// The value follows from other values by this rule.
    Derived(&'static str),
}

/// A parameter as it will be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Its key.
    pub key: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// The origin of the value.
    pub origin: Origin,
    /// The meaning of the parameter.
    pub meaning: &'static str,
}

/// All parameters of a discipline as they will be used, with consequences and warnings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The discipline.
    pub kind: Kind,
    /// Its parameters, in the order of its documentation.
    pub parameters: Vec<Resolved>,
    /// Consequences worth knowing, such as how fast the average reacts.
    pub consequences: Vec<String>,
    /// Values that look wrong, such as `max` below twice `min`.
    pub warnings: Vec<String>,
}
