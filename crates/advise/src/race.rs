//! Candidates and their runs: successive halving with common random numbers.

use std::sync::atomic::{AtomicUsize, Ordering};

use fairlane_outcome::Outcome;
use fairlane_qdisc::QdiscParameters;
use fairlane_runner::memory::Needs;
use fairlane_runner::pool;
use fairlane_scenario::Scenario;
use fairlane_sim::{Control, run};
use rayon::ThreadPool;

use crate::error::Error;
use crate::goal::Goal;
use crate::metric::Metric;
use crate::score::{Readings, Standing};

/// A discipline with its parameters in a scenario, and its runs so far.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) parameters: QdiscParameters,
    pub(crate) scenario: Scenario,
    /// By the numbers of the runs, from 0. Runs of one number have the same traffic under all candidates.
    pub(crate) runs: Vec<Readings>,
}

impl Candidate {
    pub(crate) const fn new(parameters: QdiscParameters, scenario: Scenario) -> Self {
        Self { parameters, scenario, runs: Vec::new() }
    }
}

/// The data that all runs share.
#[derive(Debug)]
pub(crate) struct Arena<'a> {
    pub(crate) goal: &'a Goal,
    /// The metrics of the goal, then further ones.
    pub(crate) metrics: Vec<Metric>,
    pool: ThreadPool,
    control: &'a Control,
}

impl<'a> Arena<'a> {
    /// Makes the threads for runs that measure the goal's metrics and `more`.
    pub(crate) fn new(
        goal: &'a Goal,
        more: &[Metric],
        threads: Option<usize>,
        control: &'a Control,
    ) -> Result<Self, Error> {
        let metrics = goal.metrics().chain(more).cloned().collect();
        Ok(Self { goal, metrics, pool: pool(threads)?, control })
    }

    /// Checks that memory suffices for runs of `scenario`, one on each thread.
    pub(crate) fn check_memory(scenario: &Scenario, threads: Option<usize>) -> Result<(), Error> {
        let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
        Ok(Needs::of([scenario], threads.try_into().unwrap_or(u32::MAX), Some(threads)).check()?)
    }

    /// Runs the `chosen` candidates until each has `runs` runs.
    ///
    /// # Errors
    /// A run is impossible, or the work was interrupted.
    pub(crate) fn run(&self, candidates: &mut [Candidate], chosen: &[usize], runs: u32) -> Result<(), Error> {
        let missing = |index: &usize| {
            let index = *index;
            (candidates[index].runs.len() as u32..runs).map(move |number| (index, number))
        };
        let jobs: Vec<(usize, u32)> = chosen.iter().flat_map(missing).collect();
        let runs: Vec<(&Scenario, u32)> =
            jobs.iter().map(|(index, number)| (&candidates[*index].scenario, *number)).collect();
        let done = self.measured(&runs)?;
        if done.len() < jobs.len() {
            let message = format!("interrupted after {} runs", self.control.finished());
            return Err(Error::new(message, "run it again: a search has no part of an answer"));
        }
        for ((index, _), readings) in jobs.iter().zip(done) {
            candidates[*index].runs.push(readings);
        }
        Ok(())
    }

    /// Runs scenarios, each with the number of the run. Stopped, it returns the readings of the first ones, so that
    /// they depend on their number alone.
    ///
    /// # Errors
    /// A run is impossible.
    pub(crate) fn measured(&self, jobs: &[(&Scenario, u32)]) -> Result<Vec<Readings>, Error> {
        let next = AtomicUsize::new(0);
        // One after the other, so that those that ended are the first ones.
        let some = |_: rayon::BroadcastContext<'_>| {
            let mut done = Vec::new();
            while let Some((index, (scenario, number))) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                jobs.get(index).map(|job| (index, *job))
            } {
                let measured = self.measure(scenario, number);
                if self.control.stopped() {
                    break;
                }
                done.push((index, measured));
            }
            done
        };
        let mut done: Vec<_> = self.pool.broadcast(some).into_iter().flatten().collect();
        done.sort_by_key(|(index, _)| *index);
        let first = done.into_iter().enumerate().take_while(|(place, (index, _))| place == index);
        first.map(|(_, (_, readings))| readings).collect()
    }

    fn measure(&self, scenario: &Scenario, number: u32) -> Result<Readings, Error> {
        let refused = |error: fairlane_sim::Error| Error::new(error.to_string(), "change the scenario");
        let run = run(scenario, number, self.control, &mut ()).map_err(refused)?;
        self.control.finish_one();
        let outcome = Outcome::from_runs([run]);
        Ok(self.metrics.iter().map(|metric| metric.of(outcome.as_ref()?)).collect())
    }

    /// Returns the standing of a candidate with runs.
    pub(crate) fn standing(&self, candidate: &Candidate) -> Standing {
        Standing::of(self.goal, &candidate.runs)
    }

    /// Sorts `chosen` by their standings, the best first; equal ones keep their order.
    pub(crate) fn sort(&self, candidates: &[Candidate], chosen: &mut [usize]) {
        chosen.sort_by(|a, b| self.standing(&candidates[*b]).compare(&self.standing(&candidates[*a])));
    }

    /// Halves `chosen` by successive halving (Karnin, Koren and Somekh 2013): all have the runs of the first of
    /// `rungs`, the better half those of the next, and so on. Those in `kept` stay to the end and do not count. Returns
    /// the rest, the best first.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn halve(
        &self,
        candidates: &mut [Candidate],
        mut chosen: Vec<usize>,
        rungs: &[u32],
        kept: &[usize],
    ) -> Result<Vec<usize>, Error> {
        for (at, runs) in rungs.iter().enumerate() {
            self.run(candidates, &chosen, *runs)?;
            self.sort(candidates, &mut chosen);
            if at + 1 < rungs.len() {
                let mut half = chosen.iter().filter(|index| !kept.contains(index)).count().div_ceil(2);
                chosen.retain(|index| {
                    let stays = kept.contains(index) || half > 0;
                    half -= usize::from(stays && !kept.contains(index));
                    stays
                });
            }
        }
        Ok(chosen)
    }
}

/// Returns the numbers of runs after which candidates are halved: from `first`, doubled up to `last`.
pub(crate) fn rungs(first: u32, last: u32) -> Vec<u32> {
    let doubled = std::iter::successors(Some(first.max(1)), |runs| runs.checked_mul(2));
    doubled.take_while(|runs| *runs < last).chain([last]).collect()
}

/// Returns the number of runs in which `count` candidates are halved, without those that are kept.
pub(crate) fn cost(count: u32, rungs: &[u32]) -> u64 {
    let (mut before, mut racing, mut cost) = (0, count, 0);
    for runs in rungs {
        cost += u64::from(runs - before) * u64::from(racing);
        before = *runs;
        racing = racing.div_ceil(2);
    }
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: one run for all nine, one more for five, two more for three, two more for two.
    #[test]
    fn rungs_double() {
        assert_eq!(rungs(1, 6), [1, 2, 4, 6]);
        assert_eq!(rungs(1, 1), [1]);
        assert_eq!(rungs(4, 16), [4, 8, 16]);
        assert_eq!(cost(9, &[1, 2, 4, 6]), 9 + 5 + 2 * 3 + 2 * 2);
    }
}
