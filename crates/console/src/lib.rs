//! The terminal side of Fairlane's programs: errors with a remedy, output, values of options, disciplines explained.
//!
//! `fairlane`, its router and `aqmrun` share it, so that all of them refuse, print and wrap alike.
#![forbid(unsafe_code)]

pub mod costs;
pub mod explain;
mod failure;
pub mod floods;
pub mod layout;
pub mod output;
mod stopwatch;
pub mod values;

pub use failure::{Failure, Refusal, colour, dumb};
pub use stopwatch::Stopwatch;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
