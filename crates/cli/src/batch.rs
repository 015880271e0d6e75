//! Scenarios in, outcomes out: on all cores, the same whatever their number.

use std::num::NonZeroU32;

use fairlane_outcome::{Outcome, Point};
use fairlane_qdisc::Duration;
use fairlane_report::html::Course;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, run, run_all_observed};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;
use crate::machine::{Watch, peak_rss_bytes};
use crate::progress;
use crate::record::Recorder;

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
    recorded: bool,
}

/// What a batch gave.
#[derive(Debug)]
pub(crate) struct Done {
    /// In the order of the jobs; those of which nothing was measured before the interruption are left out.
    pub(crate) outcomes: Vec<Outcome>,
    /// What the first run of each outcome did over time, if that was asked for.
    pub(crate) courses: Vec<Option<Course>>,
    /// It was interrupted.
    pub(crate) interrupted: bool,
}

impl Batch {
    /// Checks every job, so that none stops the others hours later.
    pub(crate) fn new(jobs: Vec<Job>, runs: NonZeroU32, threads: Option<usize>) -> Result<Self, Failure> {
        for job in &jobs {
            check(&job.scenario, &job.asked)?;
        }
        Ok(Self { jobs, runs, pool: pool(threads)?, recorded: false })
    }

    /// Also records what the first run of each job does over time.
    pub(crate) fn recorded(self) -> Self {
        Self { recorded: true, ..self }
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
                let outcomes = self.jobs.par_iter().map(|job| self.outcome(job, control));
                outcomes.collect::<Result<Vec<_>, _>>()
            })
        })?;
        let (outcomes, courses) = outcomes.into_iter().flatten().unzip();
        let mut done = Done { outcomes, courses, interrupted: control.stopped() };
        // Whoever presses Ctrl-C as the last run ends has lost nothing.
        done.interrupted &=
            done.outcomes.len() < self.jobs.len() || done.outcomes.iter().any(|outcome| outcome.partial);
        Ok(done)
    }

    /// All runs of a job.
    fn outcome(&self, job: &Job, control: &Control) -> Result<Option<(Outcome, Option<Course>)>, Failure> {
        let watch = Watch::start();
        let mut recorder = self.recorded.then(|| Recorder::new(&job.scenario));
        let runs = run_all_observed(&job.scenario, self.runs.get(), control, &mut recorder).map_err(Failure::plain)?;
        let Some(mut outcome) = Outcome::from_runs(&runs) else { return Ok(None) };
        outcome.partial |= runs.len() < self.runs.get() as usize;
        outcome.point.clone_from(&job.point);
        outcome.cost.wall_s = watch.elapsed_s();
        outcome.cost.peak_rss_bytes = peak_rss_bytes();
        Ok(Some((outcome, recorder.map(Recorder::finish))))
    }
}

/// So many threads, or one for each core.
pub(crate) fn pool(threads: Option<usize>) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|error| Failure::new(format!("cannot start the threads: {error}"), "ask for fewer with --jobs"))
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
