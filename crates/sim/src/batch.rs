//! Many runs at once, and a hand on all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fairlane_outcome::Run;
use fairlane_scenario::Scenario;
use rayon::prelude::*;

use crate::{Error, Observer, run};

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
            let run = once(&scenarios[scenario], number, control, &mut ())?;
            Some(run.map(|run| (scenario, run)))
        })
        .collect::<Result<_, _>>()?;
    let mut all = vec![Vec::new(); scenarios.len()];
    for (scenario, run) in done {
        all[scenario].push(run);
    }
    Ok(all)
}

/// Runs `scenario` `runs` times as [`run_all`] does, and shows the first run to `observer`.
///
/// # Errors
/// It cannot be run.
pub fn run_all_observed<O: Observer + Send>(
    scenario: &Scenario,
    runs: u32,
    control: &Control,
    observer: &mut O,
) -> Result<Vec<Run>, Error> {
    let first = || if runs > 0 { once(scenario, 0, control, observer) } else { None };
    let others = || {
        let numbers = (1..runs).into_par_iter();
        numbers.filter_map(|number| once(scenario, number, control, &mut ())).collect::<Result<Vec<Run>, Error>>()
    };
    let (first, others) = rayon::join(first, others);
    let mut all: Vec<Run> = first.transpose()?.into_iter().collect();
    all.extend(others?);
    Ok(all)
}

/// One run; `None` when nothing was measured of it before it was stopped.
fn once(
    scenario: &Scenario,
    number: u32,
    control: &Control,
    observer: &mut impl Observer,
) -> Option<Result<Run, Error>> {
    if control.stopped() {
        return None;
    }
    let run = timed(scenario, number, control, observer);
    let nothing = run.as_ref().is_ok_and(|run| run.partial && run.to_s <= run.from_s);
    (!nothing).then_some(run)
}

fn timed(scenario: &Scenario, number: u32, control: &Control, observer: &mut impl Observer) -> Result<Run, Error> {
    let before = control.clock.map(|clock| clock());
    let mut result = run(scenario, number, control, observer)?;
    if let (Some(clock), Some(before)) = (control.clock, before) {
        result.cost.cpu_s = clock() - before;
    }
    control.finish_one();
    Ok(result)
}
