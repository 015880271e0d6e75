//! Several runs of one scenario, for intervals.

use fairlane_outcome::{Outcome, Run};
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, Simulation};

use crate::error::PageError;

/// Runs of a scenario, one after the other: the runs of `fairlane run --runs N`.
#[derive(Debug)]
pub struct Batch {
    scenario: Scenario,
    runs: Vec<Run>,
}

impl Batch {
    /// Prepares runs of `scenario`.
    #[must_use]
    pub const fn new(scenario: Scenario) -> Self {
        Self { scenario, runs: Vec::new() }
    }

    /// Does the next run, and returns the number of those that are done.
    ///
    /// # Errors
    /// The scenario cannot be run.
    pub fn advance(&mut self) -> Result<usize, PageError> {
        let simulation =
            Simulation::new(&self.scenario, self.runs.len() as u32).map_err(|error| PageError::new(&error))?;
        self.runs.push(simulation.finish(&Control::default()).map_err(|error| PageError::new(&error))?);
        Ok(self.runs.len())
    }

    /// Returns the outcome of the runs that are done; `None` before the first.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        Outcome::from_runs(self.runs.clone())
    }
}
