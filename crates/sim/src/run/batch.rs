//! Runs many scenarios in parallel.

use std::num::NonZeroUsize;

use fairlane_outcome::Run;
use fairlane_scenario::Scenario;
use rayon::prelude::*;

use crate::control::Control;
use crate::measure::observer::Observer;
use crate::run::engine::run;
use crate::run::error::Error;
use crate::run::threads::run_on;

/// Runs each of `scenarios` `runs` times on all cores, and returns the runs of each scenario in order.
///
/// After [`Control::stop`] the result holds the finished runs, and as partial runs those that were past their warm-up.
/// A scenario without any measurement has no runs. A run in which a congestion control or an application of the program
/// has made a mistake is missing, and [`Control::faults`] has the mistake.
///
/// # Errors
/// Returns the error of the first scenario that cannot be run.
pub fn run_all(scenarios: &[Scenario], runs: u32, control: &Control) -> Result<Vec<Vec<Run>>, Error> {
    let jobs: Vec<(usize, u32)> =
        (0..scenarios.len()).flat_map(|scenario| (0..runs).map(move |run| (scenario, run))).collect();
    let done: Vec<(usize, Run)> = jobs
        .into_par_iter()
        .filter_map(|(scenario, number)| {
            let run = run_measured(&scenarios[scenario], number, control, &mut ())?;
            Some(run.map(|run| (scenario, run)))
        })
        .collect::<Result<_, _>>()?;
    let mut all = vec![Vec::new(); scenarios.len()];
    for (scenario, run) in done {
        all[scenario].push(run);
    }
    Ok(all)
}

/// Runs `scenario` `runs` times as [`run_all`] does, with `observer` on the first run.
///
/// # Errors
/// As [`run`].
pub fn run_all_observed<O: Observer + Send>(
    scenario: &Scenario,
    runs: u32,
    control: &Control,
    observer: &mut O,
) -> Result<Vec<Run>, Error> {
    let first = || if runs > 0 { run_measured(scenario, 0, control, observer) } else { None };
    let others = || {
        let numbers = (1..runs).into_par_iter();
        let runs = numbers.filter_map(|number| run_measured(scenario, number, control, &mut ()));
        runs.collect::<Result<Vec<Run>, Error>>()
    };
    let (first, others) = rayon::join(first, others);
    let mut all: Vec<Run> = first.transpose()?.into_iter().collect();
    all.extend(others?);
    Ok(all)
}

/// Runs `scenario` `runs` times as [`run_all`] does, one run after the other, each divided among `threads` threads.
///
/// # Errors
/// As [`run_on`].
pub fn run_all_on(scenario: &Scenario, runs: u32, threads: NonZeroUsize, control: &Control) -> Result<Vec<Run>, Error> {
    let mut all = Vec::new();
    for number in (0..runs).take_while(|_| !control.stopped()) {
        let run = match run_on(scenario, number, threads, control) {
            Err(error) => {
                control.note_fault(error.fault()?);
                continue;
            }
            Ok(run) => run,
        };
        control.finish_one();
        if !run.partial || run.to_s > run.from_s {
            all.push(run);
        }
    }
    Ok(all)
}

/// Runs `scenario` once; `None` if it was stopped before anything was measured, or after a mistake of the program,
/// which `control` takes.
fn run_measured(
    scenario: &Scenario,
    number: u32,
    control: &Control,
    observer: &mut impl Observer,
) -> Option<Result<Run, Error>> {
    if control.stopped() {
        return None;
    }
    match run_timed(scenario, number, control, observer) {
        Ok(run) => (!run.partial || run.to_s > run.from_s).then_some(Ok(run)),
        Err(error) => match error.fault() {
            Ok(fault) => {
                control.note_fault(fault);
                control.finish_one();
                None
            }
            Err(error) => Some(Err(error)),
        },
    }
}

fn run_timed(scenario: &Scenario, number: u32, control: &Control, observer: &mut impl Observer) -> Result<Run, Error> {
    let before = control.clock.map(|clock| clock());
    let mut result = run(scenario, number, control, observer)?;
    if let (Some(clock), Some(before)) = (control.clock, before) {
        result.cost.cpu_s = clock() - before;
    }
    control.finish_one();
    Ok(result)
}
