//! Scenarios in, outcomes out: on all cores, the same whatever their number.

use std::num::NonZeroU32;

use fairlane_outcome::{Outcome, Point};
use fairlane_qdisc::Duration;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, run, run_all};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;
use crate::machine::{Watch, peak_rss_bytes};
use crate::progress;

/// A scenario to be run.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) scenario: Scenario,
    /// The point of a sweep that it is.
    pub(crate) point: Option<Point>,
    /// The options that tell it from the other jobs, such as `--queue red`; empty when it is the only one.
    pub(crate) asked: String,
}

/// Jobs that are ready to run.
#[derive(Debug)]
pub(crate) struct Batch {
    jobs: Vec<Job>,
    runs: NonZeroU32,
    pool: ThreadPool,
}

/// What a batch gave.
#[derive(Debug)]
pub(crate) struct Done {
    /// In the order of the jobs; those of which nothing was measured before the interruption are left out.
    pub(crate) outcomes: Vec<Outcome>,
    /// It was interrupted.
    pub(crate) interrupted: bool,
}

impl Batch {
    /// Checks every job, so that none stops the others hours later.
    pub(crate) fn new(jobs: Vec<Job>, runs: NonZeroU32, threads: Option<usize>) -> Result<Self, Failure> {
        for job in &jobs {
            check(&job.scenario, &job.asked)?;
        }
        Ok(Self { jobs, runs, pool: pool(threads)? })
    }

    /// How many jobs there are.
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Does them all. An outcome is made as soon as its runs have ended, so that their counts need not be kept.
    pub(crate) fn execute(&self, control: &Control) -> Result<Done, Failure> {
        let total = self.jobs.len() as u64 * u64::from(self.runs.get());
        let outcomes = progress::watched(control, total, || {
            self.pool.install(|| {
                let outcomes = self.jobs.par_iter().map(|job| outcome(job, self.runs, control));
                outcomes.collect::<Result<Vec<_>, _>>()
            })
        })?;
        let mut done = Done { outcomes: outcomes.into_iter().flatten().collect(), interrupted: control.stopped() };
        // Whoever presses Ctrl-C as the last run ends has lost nothing.
        done.interrupted &=
            done.outcomes.len() < self.jobs.len() || done.outcomes.iter().any(|outcome| outcome.partial);
        Ok(done)
    }
}

/// So many threads, or one for each core.
pub(crate) fn pool(threads: Option<usize>) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|error| Failure::new(format!("cannot start the threads: {error}"), "ask for fewer with --jobs"))
}

fn outcome(job: &Job, runs: NonZeroU32, control: &Control) -> Result<Option<Outcome>, Failure> {
    let watch = Watch::start();
    let mut all = run_all(std::slice::from_ref(&job.scenario), runs.get(), control).map_err(Failure::plain)?;
    let done = all.pop().unwrap_or_default();
    let Some(mut outcome) = Outcome::from_runs(&done) else { return Ok(None) };
    outcome.partial |= done.len() < runs.get() as usize;
    outcome.point.clone_from(&job.point);
    outcome.cost.wall_s = watch.elapsed_s();
    outcome.cost.peak_rss_bytes = peak_rss_bytes();
    Ok(Some(outcome))
}

/// Asks the simulator whether it can run `scenario`, which `asked` led to: a run of no length builds everything and sends
/// nothing.
pub(crate) fn check(scenario: &Scenario, asked: &str) -> Result<(), Failure> {
    let none = Scenario { duration: Duration::ZERO, warmup: Duration::ZERO, ..scenario.clone() };
    run(&none, 0, &Control::default(), &mut ()).map(drop).map_err(|error| match asked {
        "" => Failure::plain(error),
        _ => Failure::plain(format!("{asked}: {error}")),
    })
}
