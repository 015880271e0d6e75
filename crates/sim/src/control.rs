//! Progress and cancellation of runs, and what the program brings to their flows.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::{self as scenario, FlowGroup, OwnCongestion, Tcp, Traffic};

use crate::application::{Application, ApplicationGroup};
use crate::endpoint::{End, EndpointError, caught};
use crate::packet::packet_bytes;
use crate::run::error::{Error, Fault};
use crate::tcp::congestion::Maker;
use crate::tcp::{CongestionControl, OwnConnection};

/// Makes the applications of a group.
type MakeApplications = dyn Fn(&ApplicationGroup<'_>) -> Vec<Box<dyn Application>> + Send + Sync;

/// Lets another thread follow and stop a set of runs, and knows what the program brings: congestion controls and
/// applications.
#[derive(Default)]
pub struct Control {
    stop: AtomicBool,
    finished: AtomicU64,
    pub(crate) clock: Option<fn() -> f64>,
    congestion: Vec<(OwnCongestion, Arc<Maker>)>,
    applications: Vec<(&'static str, Arc<MakeApplications>)>,
    faults: Mutex<Vec<Fault>>,
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

    /// Adds an application of the program, which groups of flows ask for by its name: `source = "mine"`. A scenario
    /// file may name it if the document [knows](fairlane_scenario::Document::with_applications) [all of
    /// them](Self::applications).
    ///
    /// `make` is called once in each run for each group that asks for it, and returns an application for each flow.
    /// The applications of a group may share state, since the calls of a run come one after the other. Several runs at
    /// the same time share `make`, so it must keep no state. Of two with the same name the first counts.
    #[must_use]
    pub fn with_application(
        mut self,
        name: &'static str,
        make: impl Fn(&ApplicationGroup<'_>) -> Vec<Box<dyn Application>> + Send + Sync + 'static,
    ) -> Self {
        self.applications.push((name, Arc::new(make)));
        self
    }

    /// Returns the names of the applications of the program.
    pub fn applications(&self) -> impl Iterator<Item = &'static str> {
        self.applications.iter().map(|(name, _)| *name)
    }

    /// Returns those of `group`, an application for each flow; none if the group's application is Fairlane's.
    pub(crate) fn applications_of(&self, group: &FlowGroup, seed: Seed) -> Result<Vec<Box<dyn Application>>, Error> {
        let Traffic::Tcp(Tcp { application: scenario::Application::Own(name), .. }) = group.traffic else {
            return Ok(Vec::new());
        };
        let Some((_, make)) = self.applications.iter().find(|(known, _)| *known == name) else {
            let known = self.applications().collect();
            return Err(Error::UnknownApplication { group: group.name.clone(), name, known });
        };
        let asks = ApplicationGroup {
            name: &group.name,
            flows: group.count,
            packet_bytes: packet_bytes(group.packet),
            seed: seed.named("application"),
        };
        let made = caught(|| make(&asks)).map_err(|problem| {
            let group = group.name.clone();
            Error::Endpoint(EndpointError { group, index: 0, end: End::Source, at: Time::ZERO, problem })
        })?;
        if made.len() != group.count as usize {
            return Err(Error::Applications { group: group.name.clone(), flows: group.count, made: made.len() });
        }
        Ok(made)
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

    /// Returns the mistakes of congestion controls and applications of the program in [`run_all`](crate::run_all) and
    /// the like, one for each run that had any, which has no result. The order is that in which the runs ended.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn note_fault(&self, fault: Fault) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).push(fault);
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { stop, finished, clock, congestion: _, applications: _, faults } = self;
        let names: Vec<&str> = self.congestion().map(|own| own.name).collect();
        let mut shown = f.debug_struct("Control");
        shown.field("stop", stop).field("finished", finished).field("clock", clock);
        let applications: Vec<&str> = self.applications().collect();
        shown.field("congestion", &names).field("applications", &applications).field("faults", faults).finish()
    }
}
