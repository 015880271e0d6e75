//! Runs one scenario on several threads.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use fairlane_outcome::Run;
use fairlane_qdisc::Seed;
use fairlane_scenario::Scenario;
use rayon::ThreadPoolBuilder;

use crate::build::topology::build;
use crate::control::Control;
use crate::parallel::partition::{Division, Undivided};
use crate::run::brought::Brought;
use crate::run::engine::Engine;
use crate::run::error::Error;
use crate::run::own_controls::OwnControls;
use crate::shortcuts::Shortcuts;

/// Returns the reason why `scenario` cannot be run on several threads; `None` if it can.
///
/// # Errors
/// Returns an [`Error`] if the scenario cannot be run.
pub fn undivided(scenario: &Scenario) -> Result<Option<Undivided>, Error> {
    let mut few = scenario.clone();
    let single = scenario.flows.iter().map(|group| group.count).sum::<u32>() < 2;
    few.flows.iter_mut().for_each(|group| group.count = group.count.min(2));
    let topology = build(&few, Seed::new(few.seed), None, Shortcuts::default())?;
    let reason = Division::of(&few, &topology, 2).err();
    Ok(if single { Some(Undivided::OneFlow) } else { reason })
}

/// Runs `scenario` as [`run`](crate::run) does, on up to `threads` threads. The result is the same, however many there
/// are. A scenario that cannot be [divided](undivided) is run on one.
///
/// # Errors
/// As [`run`](crate::run); and [`Error::Threads`] if it cannot start threads.
pub fn run_on(scenario: &Scenario, run: u32, threads: NonZeroUsize, control: &Control) -> Result<Run, Error> {
    let before = control.clock.map(|clock| clock());
    let own = OwnControls::new(control);
    let mut run = own.watch(scenario, || {
        let engine = Engine::new(Cow::Borrowed(scenario), run, (), Brought::default(), Shortcuts::default(), &own)?;
        match Division::of(scenario, &engine.part.network.topology, threads.get()) {
            Err(_) => engine.run(control),
            Ok(division) => {
                let pool = ThreadPoolBuilder::new().num_threads(threads.get()).build();
                let pool = pool.map_err(|error| Error::Threads { why: error.to_string() })?;
                pool.install(|| engine.run_divided(division, control))
            }
        }
    })?;
    if let Some((clock, before)) = control.clock.zip(before) {
        run.cost.cpu_s += clock() - before;
    }
    Ok(run)
}
