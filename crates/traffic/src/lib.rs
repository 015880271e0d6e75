//! The random parts of a scenario, as sequences that follow from its seed.
//!
//! Each sequence has its own random streams, named below the seed that it is given, so that none depends on how often
//! another is asked. The simulator and the lab draw from the same sequences.
#![forbid(unsafe_code)]

mod datagrams;
mod draw;
mod frames;
mod impairments;
mod line;
mod opportunities;
mod periods;
mod source;
mod start;
#[cfg(test)]
mod tests;
mod transfers;
mod transmitter;
mod varying_rate;
mod video;

pub use datagrams::Datagrams;
pub use draw::part;
pub use fairlane_link::Propagation;
pub use impairments::Impairments;
pub use line::ScenarioLine;
pub use periods::OnOffPeriods;
pub use start::start;
pub use transfers::TransferSequence;
pub use transmitter::{TransmissionTime, Transmitter};
pub use varying_rate::VaryingRate;
pub use video::{VideoCounts, VideoPlayer};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
