//! Differences between outcomes of the same traffic, run by run.

use crate::estimate::{Averager, Estimate};
use crate::schema::{GroupOutcome, GroupValues, Outcome, QueueOutcome, QueueValues, RunValues};

impl RunValues {
    /// The values of run number `run`, from its groups and queues.
    pub(crate) fn of(run: u32, groups: &[GroupOutcome], queues: &[QueueOutcome]) -> Self {
        let of_group =
            |group: &GroupOutcome| GroupValues { throughput_bps: group.throughput_bps.mean, share: group.share.mean };
        let of_queue = |queue: &QueueOutcome| QueueValues {
            delay_mean_s: queue.delay_s.mean.mean,
            utilisation: queue.utilisation.mean,
        };
        Self {
            run,
            groups: groups.iter().map(|group| (group.name.clone(), of_group(group))).collect(),
            queues: queues.iter().map(|queue| (queue.name.clone(), of_queue(queue))).collect(),
        }
    }
}

impl Outcome {
    /// Returns the mean difference of a value from that of another outcome, run by run, with its 95 % interval.
    ///
    /// Runs of the same number see the same arrivals, so what they have in common cancels out: the interval is narrower
    /// than that of a difference of means. `None` if engine or seed differ, or if fewer than two runs have the value in
    /// both.
    #[must_use]
    pub fn paired_difference(&self, from: &Self, value: impl Fn(&RunValues) -> Option<f64>) -> Option<Estimate> {
        if (&self.engine, self.seed) != (&from.engine, from.seed) {
            return None;
        }
        let difference = |mine: &RunValues| {
            let other = from.each_run.iter().find(|other| other.run == mine.run)?;
            Some(value(mine)? - value(other)?)
        };
        mean_difference(self.each_run.iter().filter_map(difference))
    }
}

/// Returns the mean of differences between runs of the same number, with its 95 % interval; `None` for fewer than two.
#[must_use]
pub fn mean_difference(differences: impl Iterator<Item = f64>) -> Option<Estimate> {
    let differences: Vec<f64> = differences.collect();
    (differences.len() > 1).then(|| Averager::over(differences.len()).estimate(differences.into_iter()))
}
