//! Parameters as text: disciplines chosen by name, as a file, a command line or another program gives them.
//!
//! [`QdiscParameters`] holds the given values; each value is parsed once, by its [`Parameter`].
//! [`QdiscParameters::resolve`] fills in the defaults, checks that the values agree with each other, and returns a
//! [`QdiscConfig`]: the discipline's typed configuration with an [`Explanation`] of each value.

#[cfg(feature = "delay")]
pub(crate) mod delay;
mod disciplines;
mod explanation;
mod kind;
mod kinds;
mod numbers;
mod parameter;
mod parameters;
#[cfg(feature = "red")]
mod red;
mod registry;
mod resolver;
pub(crate) mod shared;
mod size;
mod suggest;
mod value;

pub use explanation::{Explanation, Origin, Resolved};
pub use kind::FlowState;
pub use kinds::{AnyConfig, Kind};
pub use parameter::{Domain, Parameter};
pub use parameters::{Host, QdiscConfig, QdiscParameters};
pub use value::Value;

pub(crate) use crate::ParameterError;
pub(crate) use kind::Info;
pub(crate) use numbers::Numbers;
pub(crate) use parameter::parameter;
#[cfg(feature = "red")]
pub(crate) use red::{Era, ordered};
pub(crate) use registry::kinds;
pub(crate) use resolver::Resolver;
pub(crate) use size::{at_least, number, part, times};

#[cfg(test)]
mod tests;
