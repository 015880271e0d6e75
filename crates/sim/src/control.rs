//! Progress and cancellation of runs, and the congestion controls of the program.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_scenario::OwnCongestion;

use crate::tcp::congestion::Maker;
use crate::tcp::{CongestionControl, CongestionFault, OwnConnection};

/// Lets another thread follow and stop a set of runs, and knows the congestion controls of the program.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    finished: AtomicU64,
    pub(crate) clock: Option<fn() -> f64>,
    congestion: Vec<(OwnCongestion, Arc<Maker>)>,
    faults: Mutex<Vec<CongestionFault>>,
}

impl Control {
    /// Returns a control whose runs report their CPU time, as read from `clock` (in seconds) on the thread of each run.
    ///
    /// The simulator itself reads no clock.
    #[must_use]
    pub fn with_clock(clock: fn() -> f64) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// Adds a congestion control of the program, which groups of flows ask for by its name: `cc = "mine"`. A scenario
    /// file may name it if the document [knows](fairlane_scenario::Document::with_congestion)
    /// [all of them](Self::congestion). One that is given by its name alone paces only where the scenario asks for it.
    ///
    /// `make` is called for each connection: for the first one of a flow before the run begins, and at the start of the
    /// others. Runs at the same time share it, so it must keep no state. Of two with the same name the first counts.
    #[must_use]
    pub fn with_congestion(
        mut self,
        own: impl Into<OwnCongestion>,
        make: impl Fn(&OwnConnection<'_>) -> Box<dyn CongestionControl> + Send + Sync + 'static,
    ) -> Self {
        self.congestion.push((own.into(), Arc::new(make)));
        self
    }

    /// Returns the congestion controls of the program.
    pub fn congestion(&self) -> impl Iterator<Item = OwnCongestion> {
        self.congestion.iter().map(|(own, _)| *own)
    }

    /// Returns the constructor of one.
    pub(crate) fn maker(&self, own: OwnCongestion) -> Option<&Arc<Maker>> {
        self.congestion.iter().find(|(known, _)| known.name == own.name).map(|(_, make)| make)
    }

    /// Asks all runs to stop: those in progress end as partial runs, and no other run begins.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns true after [`stop`](Self::stop).
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts a finished run. [`run_all`](crate::run_all) and [`run_all_observed`](crate::run_all_observed) do so
    /// themselves.
    pub fn finish_one(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of finished runs.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }

    /// Returns the faults of congestion controls of the program in [`run_all`](crate::run_all) and the like, one for
    /// each run that had any, which has no result. The order is that in which the runs ended.
    #[must_use]
    pub fn faults(&self) -> Vec<CongestionFault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note_fault(&self, fault: CongestionFault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stop, finished, clock, congestion: _, faults } = self;
        let names: Vec<&str> = self.congestion().map(|own| own.name).collect();
        let mut shown = f.debug_struct("Control");
        shown.field("stop", stop).field("finished", finished).field("clock", clock);
        shown.field("congestion", &names).field("faults", faults).finish()
    }
}
