//! The congestion controls that the program brings, in one run.

use std::sync::Arc;

use fairlane_qdisc::Seed;
use fairlane_scenario::{Congestion, FlowGroup, Scenario, Tcp, Traffic};

use crate::control::Control;
use crate::run::error::Error;
use crate::tcp::congestion::{Calls, FlowAlgorithm};

/// The congestion controls of the program in one run.
pub(crate) struct OwnControls<'c> {
    control: &'c Control,
    pub(crate) calls: Arc<Calls>,
}

impl<'c> OwnControls<'c> {
    pub(crate) fn new(control: &'c Control) -> Self {
        Self { control, calls: Arc::new(Calls::new()) }
    }

    /// Returns the control of the run.
    pub(crate) const fn control(&self) -> &Control {
        self.control
    }

    /// Returns that of a group, for its flow `flow`, whose randomness follows from `seed`; `None` if the group's is
    /// Fairlane's.
    ///
    /// # Errors
    /// The program does not have it.
    pub(crate) fn of(&self, group: &FlowGroup, flow: u32, seed: Seed) -> Result<Option<FlowAlgorithm>, Error> {
        let Traffic::Tcp(Tcp { congestion: Congestion::Own(own), .. }) = group.traffic else { return Ok(None) };
        let Some(make) = self.control.maker(own) else {
            let known = self.control.congestion().map(|own| own.name).collect();
            return Err(Error::UnknownCongestion { group: group.name.clone(), name: own.name, known });
        };
        let seed = seed.named("congestion");
        Ok(Some(FlowAlgorithm::new(Arc::clone(make), flow, seed, Arc::clone(&self.calls))))
    }

    /// Runs `scenario` by `run`.
    ///
    /// # Errors
    /// The errors of `run`, and the first mistake of a congestion control.
    pub(crate) fn watch<T>(&self, scenario: &Scenario, run: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.calls.watch(run).unwrap_or_else(|mistake| Err(Error::Congestion(mistake.of(scenario))))
    }
}
