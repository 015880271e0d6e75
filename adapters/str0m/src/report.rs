//! The report of a call, during and after the run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_qdisc::{Duration, Rate, Time};

/// A frame of video that has been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The time at which the encoder gave it to str0m.
    pub captured: Time,
    /// The time at which str0m gave it to the receiving application, complete and in order.
    pub delivered: Time,
    /// Its size in bytes, without headers.
    pub bytes: u64,
}

impl Frame {
    /// Returns the time from the capture to the delivery.
    #[must_use]
    pub fn delay(&self) -> Duration {
        self.delivered.since(self.captured)
    }
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The virtual time.
    pub at: Time,
    /// The reason.
    pub reason: String,
}

/// The report of a call, to be asked at any time.
#[derive(Clone, Debug, Default)]
pub struct Report(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) connected: Option<Time>,
    pub(crate) ended: Option<Ended>,
    pub(crate) encoded: u64,
    pub(crate) frames: Vec<Frame>,
    pub(crate) estimates: Vec<(Time, Rate)>,
}

impl Report {
    /// Returns the time at which the source had connected to the sink by ICE and DTLS; `None` before.
    #[must_use]
    pub fn connected(&self) -> Option<Time> {
        self.lock().connected
    }

    /// Returns the end of the call as the first host saw it: ICE has lost the other one, or str0m has an error. `None`
    /// while the call lasts.
    #[must_use]
    pub fn ended(&self) -> Option<Ended> {
        self.lock().ended.clone()
    }

    /// Returns the number of frames that the encoder has given.
    #[must_use]
    pub fn encoded(&self) -> u64 {
        self.lock().encoded
    }

    /// Returns the frames that have been delivered, in their order.
    #[must_use]
    pub fn frames(&self) -> Vec<Frame> {
        self.lock().frames.clone()
    }

    /// Returns the estimates of the path's rate with their times, in order.
    #[must_use]
    pub fn estimates(&self) -> Vec<(Time, Rate)> {
        self.lock().estimates.clone()
    }

    /// Locks the contents. A host that has panicked has ended the run, and its report can still be read.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
