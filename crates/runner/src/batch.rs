//! Jobs on all cores; results do not depend on the number of cores.

use std::num::{NonZeroU32, NonZeroUsize};

use fairlane_outcome::{Outcome, Point, Timeline};
use fairlane_qdisc::Duration;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, Observer, queue_names, run, run_all_observed, run_all_on};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::machine::CostMeter;
use crate::memory::Needs;
use crate::{Error, Recorder};

/// A scenario to be run.
#[derive(Debug)]
pub struct Job {
    /// The scenario.
    pub scenario: Scenario,
    /// Its point, in a sweep.
    pub point: Option<Point>,
    /// The options that distinguish it from the other jobs, such as `--queue red`; empty when it is the only one.
    pub asked: String,
}

impl Job {
    /// Makes the only job of a batch.
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
    at: Option<String>,
    /// The threads that share each run.
    threads: NonZeroUsize,
}

/// The outcomes of a batch.
#[derive(Debug)]
pub struct BatchResult {
    /// The number of each outcome's job, in the order of the jobs from 0.
    pub jobs: Vec<usize>,
    /// In the order of the jobs; a job without any measurement before an interruption is left out.
    pub outcomes: Vec<Outcome>,
    /// The timeline of the first run of each outcome, if it was requested.
    pub timelines: Vec<Option<Timeline>>,
    /// The batch was interrupted.
    pub interrupted: bool,
}

impl Batch {
    /// Makes a batch of `jobs`, each to be run `runs` times, on `threads` threads or one for each core. Every job is
    /// checked, so that none fails hours later.
    ///
    /// # Errors
    /// More memory is needed than there is, a job cannot be run by the simulator, or threads cannot be started.
    pub fn new(jobs: Vec<Job>, runs: NonZeroU32, threads: Option<usize>) -> Result<Self, Error> {
        Self::stoppable(jobs, runs, threads, &Control::default())
    }

    /// As [`new`](Self::new), with checks that `control` can stop, as those of many jobs take long; then
    /// [`execute`](Self::execute) with the same `control` begins nothing. The jobs may have the congestion controls of
    /// the program that `control` has.
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
            check_with(&job.scenario, &job.asked, control)?;
        }
        // A single run needs one thread, and starting those of all cores takes longer than a small run.
        let is_single = jobs.len() == 1 && runs == NonZeroU32::MIN;
        let pool = pool(threads.or(is_single.then_some(1)))?;
        Ok(Self { jobs, runs, pool, recorded: false, at: None, threads: NonZeroUsize::MIN })
    }

    /// Also records the timeline of each job's first run.
    #[must_use]
    pub fn recorded(self) -> Self {
        Self { recorded: true, ..self }
    }

    /// Divides each run among this many threads. The runs of a job come one after the other then, and none has an
    /// observer.
    #[must_use]
    pub fn divided(self, threads: NonZeroUsize) -> Self {
        Self { threads, ..self }
    }

    /// Makes the summaries of all outcomes speak of the queue called `name`, if there is one: see
    /// [`Outcome::shown_queues`].
    ///
    /// # Errors
    /// A job has no such queue.
    pub fn at(self, name: Option<String>) -> Result<Self, Error> {
        if let Some(name) = &name {
            for job in &self.jobs {
                let queues = queue_names(&job.scenario);
                if !queues.contains(name) {
                    let message = format!("outcomes have no queue called \"{name}\"");
                    return Err(Error::new(message, format!("name one of them: {}", queues.join(", "))));
                }
            }
        }
        Ok(Self { at: name, ..self })
    }

    /// Returns the number of jobs.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a batch is never empty")]
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Returns the number of runs of all jobs, which [`Control::finished`] reaches at the end.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.jobs.len() as u64 * u64::from(self.runs.get())
    }

    /// Runs all jobs. An outcome is made as soon as its runs have ended, so that their counts need not be kept. Runs in
    /// which a congestion control of the program has made a mistake are missing; see [`Control::faults`].
    ///
    /// # Errors
    /// A scenario that the simulator cannot run; [`new`](Self::new) has found these.
    pub fn execute(&self, control: &Control) -> Result<BatchResult, Error> {
        self.execute_each(control, |_, _| {})
    }

    /// As [`execute`](Self::execute), and calls `done` with the number of each job and its outcome when it ends, in any
    /// order and from any thread.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub fn execute_each(&self, control: &Control, done: impl Fn(usize, &Outcome) + Sync) -> Result<BatchResult, Error> {
        self.execute_with(control, |_, _| Ok(()), |_, (), _| Ok(()), done)
    }

    /// As [`execute`](Self::execute), with an observer of the first run of each job: `begin` makes it, and `end` takes
    /// it with the number of the job, and true if the run was interrupted.
    ///
    /// # Errors
    /// As [`execute`](Self::execute), and those of `begin` and `end`.
    pub fn execute_observed<O: Observer + Send>(
        &self,
        control: &Control,
        begin: impl Fn(usize, &Job) -> Result<O, Error> + Sync,
        end: impl Fn(usize, O, bool) -> Result<(), Error> + Sync,
    ) -> Result<BatchResult, Error> {
        self.execute_with(control, begin, end, |_, _| {})
    }

    fn execute_with<O: Observer + Send>(
        &self,
        control: &Control,
        begin: impl Fn(usize, &Job) -> Result<O, Error> + Sync,
        end: impl Fn(usize, O, bool) -> Result<(), Error> + Sync,
        done: impl Fn(usize, &Outcome) + Sync,
    ) -> Result<BatchResult, Error> {
        let outcomes = self.pool.install(|| {
            let outcomes = self.jobs.par_iter().enumerate().map(|(number, job)| {
                let end = |observer, partial| end(number, observer, partial);
                let followed = self.outcome(job, control, begin(number, job)?, end)?;
                if let Some((outcome, _)) = &followed {
                    done(number, outcome);
                }
                Ok(followed.map(|followed| (number, followed)))
            });
            outcomes.collect::<Result<Vec<_>, Error>>()
        })?;
        let (jobs, followed): (_, Vec<_>) = outcomes.into_iter().flatten().unzip();
        let (outcomes, timelines) = followed.into_iter().unzip();
        let mut done = BatchResult { jobs, outcomes, timelines, interrupted: control.stopped() };
        // An interruption as the last run ends loses nothing.
        done.interrupted &=
            done.outcomes.len() < self.jobs.len() || done.outcomes.iter().any(|outcome| outcome.partial);
        Ok(done)
    }

    /// Executes all runs of a job.
    fn outcome<O: Observer + Send>(
        &self,
        job: &Job,
        control: &Control,
        observer: O,
        end: impl FnOnce(O, bool) -> Result<(), Error>,
    ) -> Result<Option<(Outcome, Option<Timeline>)>, Error> {
        let meter = CostMeter::start();
        let mut observers = (observer, self.recorded.then(|| Recorder::new(&job.scenario)));
        let runs = if self.threads.get() > 1 {
            run_all_on(&job.scenario, self.runs.get(), self.threads, control)
        } else {
            run_all_observed(&job.scenario, self.runs.get(), control, &mut observers)
        };
        let runs = runs.map_err(Error::plain)?;
        let (observer, recorder) = observers;
        end(observer, runs.first().is_none_or(|run| run.run > 0 || run.partial))?;
        let missing = runs.len() < self.runs.get() as usize;
        let Some(mut outcome) = Outcome::from_runs(runs) else { return Ok(None) };
        outcome.partial |= missing;
        outcome.point.clone_from(&job.point);
        outcome.at.clone_from(&self.at);
        meter.measure_outside(&mut outcome.cost);
        Ok(Some((outcome, recorder.map(Recorder::finish))))
    }
}

/// The most threads that are started, so that a mistyped number does not stall the machine.
pub const MOST_THREADS: usize = 1024;

/// Starts `threads` threads, or one for each core.
///
/// # Errors
/// `threads` is above [`MOST_THREADS`], or the system refuses them.
pub fn pool(threads: Option<usize>) -> Result<ThreadPool, Error> {
    if let Some(threads) = threads.filter(|threads| *threads > MOST_THREADS) {
        let message = format!("{threads} threads are too many: at most {MOST_THREADS} are started");
        return Err(Error::new(message, "leave --jobs out for one thread a core"));
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    pool.map_err(|error| Error::new(format!("cannot start the threads: {error}"), "ask for fewer with --jobs"))
}

/// Checks that the simulator can run `scenario`, by a run of no length, which builds everything and sends nothing. An
/// error begins with `asked`, the options that led to the scenario.
///
/// # Errors
/// The simulator cannot run the scenario.
pub fn check(scenario: &Scenario, asked: &str) -> Result<(), Error> {
    check_with(scenario, asked, &Control::default())
}

fn check_with(scenario: &Scenario, asked: &str, control: &Control) -> Result<(), Error> {
    let none = Scenario { duration: Duration::ZERO, warmup: Duration::ZERO, ..scenario.clone() };
    run(&none, 0, control, &mut ()).map(drop).map_err(|error| match asked {
        "" => Error::plain(error),
        _ => Error::plain(format!("{asked}: {error}")),
    })
}

/// Returns the message after an interruption: how many of `asked` things, such as `points`, are done.
#[must_use]
pub fn so_far(outcomes: &[Outcome], asked: usize, what: &str) -> String {
    let done = outcomes.iter().filter(|outcome| !outcome.partial).count();
    let partial = outcomes.len() - done;
    let also = if partial == 0 { String::new() } else { format!(", and {partial} in part") };
    format!("{done} of {asked} {what} are done{also}; the others are missing")
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Document;

    use super::*;

    /// Would catch a single run that starts a thread for each core, and several runs, or a wish of the caller, that get
    /// only one.
    #[test]
    fn a_single_run_has_one_thread() {
        let text = "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"f\"\nkind = \"udp\"\nrate = \"1mbit\"\n";
        let job = || {
            Job::of(Document::parse("one.toml", text).and_then(|document| document.scenario()).expect("it is valid"))
        };
        let threads = |jobs: usize, runs: u32, asked: Option<usize>| {
            let jobs = std::iter::repeat_with(job).take(jobs).collect();
            let batch = Batch::new(jobs, NonZeroU32::new(runs).expect("it is not 0"), asked);
            batch.expect("it can be run").pool.current_num_threads()
        };
        let cores = pool(None).expect("threads").current_num_threads();
        assert_eq!([threads(1, 1, None), threads(1, 1, Some(3)), threads(1, 1, Some(1))], [1, 3, 1]);
        assert_eq!([threads(2, 1, None), threads(1, 2, None)], [cores; 2]);
    }
}
