//! Helpers for tests of disciplines, one each for all crates: a recorder of events, conformance vectors, and a station
//! with Poisson arrivals. Behind the feature `testing`; not covered by the promise of stable releases.

mod recorder;
mod station;
mod vector;

pub use recorder::{Event, Recorder};
pub use station::{FlowObservation, Observation, Station};
pub use vector::{Operation, Step, Vector, VectorError, replay};
