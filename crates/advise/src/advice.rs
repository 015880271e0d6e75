//! The result of an advice.

use serde::{Deserialize, Serialize};

use crate::score::{Reading, Verdict};

/// The disciplines for a link, ranked, with the proof of the best one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Advice {
    /// The goal.
    pub goal: String,
    /// The rate of the link.
    pub rate: String,
    /// The round trip without queues.
    pub rtt: String,
    /// The traffic.
    pub mix: String,
    /// The seed of the search.
    pub seed: u64,
    /// True if there were few candidates and short runs.
    pub quick: bool,
    /// The disciplines, the best first. Those further down may have fewer runs.
    pub ranking: Vec<Ranked>,
    /// The disciplines that refuse the link.
    pub left_out: Vec<LeftOut>,
    /// The disciplines that no other one exceeds in two measures.
    pub fronts: Vec<Front>,
    /// The best discipline against the second one in the runs of the ranking; `None` if there is one discipline only.
    pub ahead: Option<Verdict>,
    /// The best and the second one on seeds and links that the search has not seen.
    pub proof: Vec<ProofCase>,
    /// The scenario with the best one, as a file.
    pub scenario: String,
    /// The file of a router with the best one, for `fairlane router --config`.
    pub router: String,
    /// Number of candidates.
    pub candidates: usize,
    /// Number of all runs.
    pub runs_done: u64,
}

/// A discipline with the best of its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Ranked {
    /// Its name.
    pub kind: String,
    /// The parameters that differ from the defaults.
    pub parameters: Vec<(String, String)>,
    /// The state of flows that it keeps, [`FlowState::name`](fairlane_qdisc::FlowState::name).
    pub flow_state: String,
    /// Number of its runs.
    pub runs: usize,
    /// True if its means meet all bounds of the goal.
    pub met: bool,
    /// The goal's metrics, and `delay.p95`, `utilisation`, `goodput`, `jain` and `drop_ratio`.
    pub readings: Vec<Reading>,
}

/// A discipline that refuses the link.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeftOut {
    /// Its name.
    pub kind: String,
    /// The reason.
    pub reason: String,
}

/// A Pareto front.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Front {
    /// The metric that is to be large, together with a small `delay.p95`.
    pub metric: String,
    /// The disciplines, by rising delay.
    pub kinds: Vec<String>,
}

/// The best two disciplines in a case that the search has not seen.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct ProofCase {
    /// The name of the case, such as `twice the rate`.
    pub name: String,
    /// The rate of the link.
    pub rate: String,
    /// The round trip.
    pub rtt: String,
    /// The seed.
    pub seed: u64,
    /// Number of runs of each.
    pub runs: usize,
    /// The best one.
    pub winner: Vec<Reading>,
    /// True if its means meet all bounds of the goal.
    pub met: bool,
    /// The second one; empty if there is none.
    pub runner_up: Vec<Reading>,
    /// The best one less the second one, run by run.
    pub difference: Vec<Reading>,
    /// The best one against the second one; `None` if there is none.
    pub verdict: Option<Verdict>,
}

impl Advice {
    /// Returns the answer in a sentence or two: the best discipline, its distance from the second one, and the result
    /// of its proof.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Some(winner) = self.ranking.first() else { return String::new() };
        let (mut text, and) = if winner.met {
            (format!("{} meets the goal", winner.label()), "and")
        } else {
            (format!("No candidate meets the goal; the closest is {}", winner.label()), "which")
        };
        if let (Some(second), Some(ahead)) = (self.ranking.get(1), self.ahead) {
            text += &format!(", {and} {} {}", ahead.words(), second.label());
        }
        let held_out: Vec<&ProofCase> = self.proof.iter().filter(|case| !case.met).collect();
        let missed = held_out.iter().map(|case| case.name.as_str()).collect::<Vec<_>>().join(", ");
        text += &match (winner.met, missed.as_str()) {
            (false, _) => ".".to_owned(),
            (true, "") => ". It meets the goal in all cases that were held out.".to_owned(),
            (true, missed) => format!(". Of the cases that were held out it misses the goal with {missed}."),
        };
        text
    }
}

impl Ranked {
    /// Returns the discipline with its parameters, as on a command line.
    #[must_use]
    pub fn label(&self) -> String {
        let parameters = self.parameters.iter().map(|(key, value)| format!(" {key}={value}"));
        std::iter::once(self.kind.clone()).chain(parameters).collect()
    }

    /// Returns the reading of the metric with this name.
    #[must_use]
    pub fn reading(&self, metric: &str) -> Option<&Reading> {
        self.readings.iter().find(|reading| reading.metric == metric)
    }
}
