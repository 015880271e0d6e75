//! Jobs on all cores, the same whatever their number.

use std::num::NonZeroU32;

use fairlane_outcome::{Outcome, Point};
use fairlane_qdisc::Duration;
use fairlane_report::html::Course;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, run, run_all_observed};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::machine::{Watch, peak_rss_bytes};
use crate::memory::Needs;
use crate::{Error, Recorder};

/// A scenario to be run.
#[derive(Debug)]
pub struct Job {
    /// The scenario.
    pub scenario: Scenario,
    /// The point of a sweep that it is.
    pub point: Option<Point>,
    /// The options that tell it from the other jobs, such as `--queue red`; empty when it is the only one.
    pub asked: String,
}

impl Job {
    /// The only job of a batch.
    #[must_use]
    pub const fn of(scenario: Scenario) -> Self {
        Self { scenario, point: None, asked: String::new() }
    }
}

/// Jobs that are ready to run.
#[derive(Debug)]
pub struct Batch {
    jobs: Vec<Job>,
    runs: NonZeroU32,
    pool: ThreadPool,
    recorded: bool,
}

/// What a batch gave.
#[derive(Debug)]
pub struct Done {
    /// In the order of the jobs; those of which nothing was measured before the interruption are left out.
    pub outcomes: Vec<Outcome>,
    /// What the first run of each outcome did over time, if that was asked for.
    pub courses: Vec<Option<Course>>,
    /// It was interrupted.
    pub interrupted: bool,
}

impl Batch {
    /// `jobs`, each to be run `runs` times, on so many threads or one for each core. Every job is checked, so that none stops
    /// the others hours later.
    ///
    /// # Errors
    /// More memory is needed than there is, a job cannot be run by the simulator, or threads cannot be started.
    pub fn new(jobs: Vec<Job>, runs: NonZeroU32, threads: Option<usize>) -> Result<Self, Error> {
        Self::stoppable(jobs, runs, threads, &Control::default())
    }

    /// As [`new`](Self::new), where checking so many jobs may take so long that someone wants it to stop: once `control` has
    /// said so no more are checked, and [`execute`](Self::execute) with the same `control` begins nothing.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn stoppable(
        jobs: Vec<Job>,
        runs: NonZeroU32,
        threads: Option<usize>,
        control: &Control,
    ) -> Result<Self, Error> {
        Needs::of(jobs.iter().map(|job| &job.scenario), runs.get(), threads).check()?;
        for job in jobs.iter().take_while(|_| !control.stopped()) {
            check(&job.scenario, &job.asked)?;
        }
        Ok(Self { jobs, runs, pool: pool(threads)?, recorded: false })
    }

    /// Also records what the first run of each job does over time.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { recorded: true, ..self }
    }

    /// How many jobs there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "nobody asks for a batch of nothing")]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// How many runs there are in all: what [`Control::finished`] comes to.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.jobs.len() as u64 * u64::from(self.runs.get())
    }

    /// Does them all. An outcome is made as soon as its runs have ended, so that their counts need not be kept.
    ///
    /// # Errors
    /// A scenario that the simulator cannot run; [`new`](Self::new) has found these.
    pub fn execute(&self, control: &Control) -> Result<Done, Error> {
        let outcomes = self.pool.install(|| {
            let outcomes = self.jobs.par_iter().map(|job| self.outcome(job, control));
            outcomes.collect::<Result<Vec<_>, _>>()
        })?;
        let (outcomes, courses) = outcomes.into_iter().flatten().unzip();
        let mut done = Done { outcomes, courses, interrupted: control.stopped() };
        // Whoever presses Ctrl-C as the last run ends has lost nothing.
        done.interrupted &=
            done.outcomes.len() < self.jobs.len() || done.outcomes.iter().any(|outcome| outcome.partial);
        Ok(done)
    }

    /// All runs of a job.
    fn outcome(&self, job: &Job, control: &Control) -> Result<Option<(Outcome, Option<Course>)>, Error> {
        let watch = Watch::start();
        let mut recorder = self.recorded.then(|| Recorder::new(&job.scenario));
        let runs = run_all_observed(&job.scenario, self.runs.get(), control, &mut recorder).map_err(Error::plain)?;
        let Some(mut outcome) = Outcome::from_runs(&runs) else { return Ok(None) };
        outcome.partial |= runs.len() < self.runs.get() as usize;
        outcome.point.clone_from(&job.point);
        outcome.cost.wall_s = watch.elapsed_s();
        outcome.cost.peak_rss_bytes = peak_rss_bytes();
        Ok(Some((outcome, recorder.map(Recorder::finish))))
    }
}

/// The most threads that are started: a mistyped number is not to bring the machine to a stop.
pub const MOST_THREADS: usize = 1024;

/// So many threads, or one for each core.
///
/// # Errors
/// There are more than [`MOST_THREADS`], or the system does not give them.
pub fn pool(threads: Option<usize>) -> Result<ThreadPool, Error> {
    if let Some(threads) = threads.filter(|threads| *threads > MOST_THREADS) {
        let message = format!("{threads} threads are too many: at most {MOST_THREADS} are started");
        return Err(Error::new(message, "leave --jobs out for one thread a core"));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|error| Error::new(format!("cannot start the threads: {error}"), "ask for fewer with --jobs"))
}

/// Asks the simulator whether it can run `scenario`, which `asked` led to: a run of no length builds everything and sends
/// nothing.
///
/// # Errors
/// It cannot.
pub fn check(scenario: &Scenario, asked: &str) -> Result<(), Error> {
    let none = Scenario { duration: Duration::ZERO, warmup: Duration::ZERO, ..scenario.clone() };
    run(&none, 0, &Control::default(), &mut ()).map(drop).map_err(|error| match asked {
        "" => Error::plain(error),
        _ => Error::plain(format!("{asked}: {error}")),
    })
}

/// What there is of `asked` things, such as `points`, after an interruption.
#[must_use]
pub fn so_far(outcomes: &[Outcome], asked: usize, what: &str) -> String {
    let done = outcomes.iter().filter(|outcome| !outcome.partial).count();
    let partial = outcomes.len() - done;
    let also = if partial == 0 { String::new() } else { format!(", and {partial} in part") };
    format!("{done} of {asked} {what} are done{also}; the others are missing")
}
