//! Many runs at once, and a hand on all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairlane_outcome::Run;
use fairlane_scenario::Scenario;
use rayon::prelude::*;

use crate::{Error, run};

/// Lets another thread watch a batch of runs and stop it.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    finished: AtomicU64,
    clock: Option<fn() -> f64>,
}

impl Control {
    /// A control whose runs report the CPU seconds that `clock`, read on the thread of each run, says they took.
    ///
    /// The simulator itself never looks at a clock.
    #[must_use]
    pub fn with_clock(clock: fn() -> f64) -> Self {
        Self { clock: Some(clock), ..Self::default() }
    }

    /// Asks all runs to stop: those under way end as partial runs, the others do not begin.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the runs have been asked to stop.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// A run has come to its end. [`run_all`] says so itself.
    pub fn finish_one(&self) {
        self.finished.fetch_add(1, Ordering::Relaxed);
    }

    /// How many runs have come to their end.
    #[must_use]
    pub fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }
}

/// Runs each of `scenarios` `runs` times, on all cores; the runs of each scenario come back in order.
///
/// After [`Control::stop`] a scenario comes back with the runs that were done, and as partial runs with those that were past
/// their warm-up; a scenario of which nothing had been measured comes back with none.
///
/// # Errors
/// The first scenario that cannot be run.
pub fn run_all(scenarios: &[Scenario], runs: u32, control: &Control) -> Result<Vec<Vec<Run>>, Error> {
    let jobs: Vec<(usize, u32)> =
        (0..scenarios.len()).flat_map(|scenario| (0..runs).map(move |run| (scenario, run))).collect();
    let done: Vec<(usize, Run)> = jobs
        .into_par_iter()
        .filter_map(|(scenario, number)| {
            if control.stopped() {
                return None;
            }
            let run = timed(&scenarios[scenario], number, control);
            if run.as_ref().is_ok_and(|run| run.partial && run.to_s <= run.from_s) {
                return None;
            }
            Some(run.map(|run| (scenario, run)))
        })
        .collect::<Result<_, _>>()?;
    let mut all = vec![Vec::new(); scenarios.len()];
    for (scenario, run) in done {
        all[scenario].push(run);
    }
    Ok(all)
}

fn timed(scenario: &Scenario, number: u32, control: &Control) -> Result<Run, Error> {
    let before = control.clock.map(|clock| clock());
    let mut result = run(scenario, number, control, &mut ())?;
    if let (Some(clock), Some(before)) = (control.clock, before) {
        result.cost.cpu_s = clock() - before;
    }
    control.finish_one();
    Ok(result)
}
