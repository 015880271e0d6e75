//! The result of an advice.

use serde::{Deserialize, Serialize};

use crate::score::Reading;

/// The disciplines for a link, ranked.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Advice {
    /// The answer in three sentences: what to use, why not the runner-up, and what will go wrong when.
    pub answer: Vec<String>,
    /// The goal.
    pub goal: String,
    /// The rate of the link.
    pub rate: String,
    /// The round trip without queues.
    pub rtt: String,
    /// The traffic.
    pub mix: String,
    /// The place where the discipline is to run: [`Target::name`](crate::Target::name).
    pub on: String,
    /// The limit of all candidates whose limit is not their parameter that matters, in packets.
    pub room: u32,
    /// The seed of the search.
    pub seed: u64,
    /// The disciplines, each with the best of its parameters, the best first.
    pub ranking: Vec<Ranked>,
    /// The candidates that their discipline or the simulator refused.
    pub left_out: Vec<LeftOut>,
    /// The scenario with the best one, as a file.
    pub scenario: String,
    /// The file of a router with the best one, for `fairlane router --config`.
    pub router: String,
    /// The commands of tc(8) with the best one; `None` if the kernel has no such discipline.
    pub tc: Option<String>,
    /// Number of candidates that were judged.
    pub judged: usize,
    /// Number of candidates that were planned.
    pub candidates: usize,
    /// Numbers of disciplines that were judged on the cases, and that were to be.
    pub finals: [usize; 2],
    /// Number of all runs.
    pub runs_done: u64,
    /// True if the work was stopped before its end.
    pub partial: bool,
}

/// A discipline with the best of its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Ranked {
    /// Its name.
    pub kind: String,
    /// The parameters that differ from the discipline's own defaults.
    pub parameters: Vec<(String, String)>,
    /// True if the Linux kernel has it.
    pub kernel: bool,
    /// The state of flows that it keeps, [`FlowState::name`](fairlane_qdisc::FlowState::name).
    pub flow_state: String,
    /// Number of its runs on the link itself.
    pub runs: usize,
    /// True if its means meet all bounds of the goal.
    pub met: bool,
    /// The goal's metrics, and `delay.p95`, `utilisation`, `goodput`, `jain` and `drop_ratio`.
    pub readings: Vec<Reading>,
    /// The cases that were not searched; empty if it was not judged there.
    pub cases: Vec<Case>,
}

/// A discipline on a link or with a mix that was not searched.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Case {
    /// The name of the case, such as `twice the rate`.
    pub name: String,
    /// The rate of the link.
    pub rate: String,
    /// The round trip.
    pub rtt: String,
    /// Number of flows, with the connections of browsers.
    pub flows: u32,
    /// True if the goal is met there, or missed by a tenth at most; with a flood, if the flood has less than half of
    /// the link.
    pub held: bool,
    /// The metrics as of [`Ranked::readings`], and of a flood `group.flood.share`.
    pub readings: Vec<Reading>,
}

/// A candidate that its discipline or the simulator refused.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct LeftOut {
    /// The discipline with its parameters.
    pub candidate: String,
    /// The reason.
    pub reason: String,
}

/// Jain's index below which an answer says that rates are unequal.
const UNFAIR: f64 = 0.5;

/// Returns the answer of a ranking.
pub(crate) fn answer(ranking: &[Ranked]) -> Vec<String> {
    let Some(winner) = ranking.first() else { return Vec::new() };
    let label = winner.label();
    let verdict = if winner.met {
        format!("Use {label}: it meets the goal ({})", winner.goals())
    } else {
        format!("No candidate meets the goal; the closest is {label} ({})", winner.goals())
    };
    let cases = match (winner.met, winner.cases.len()) {
        (false, _) => String::new(),
        (true, 0) => ", and there was no time for other links and mixes".to_owned(),
        (true, cases) => format!(", and it holds in {} of {cases} cases that were not searched", winner.held()),
    };
    let mut sentences = vec![format!("{verdict}{cases}.")];
    sentences.extend(ranking.get(1).map(|second| winner.before(second)));
    sentences.extend(winner.warning());
    sentences
}

impl Advice {
    /// Returns the extent of the work: candidates, disciplines on the cases, runs, the seed, and whether it is partial.
    #[must_use]
    pub fn judged(&self) -> String {
        let Self { judged, candidates, finals: [finals, of], runs_done, seed, .. } = self;
        let partial = if self.partial { "partial, stopped before the end: " } else { "" };
        format!(
            "{partial}{judged} of {candidates} candidates were judged on the link, {finals} of {of} disciplines on other \
             links and mixes; {runs_done} runs, seed {seed}"
        )
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

    /// Returns the number of cases that hold.
    #[must_use]
    pub fn held(&self) -> usize {
        self.cases.iter().filter(|case| case.held).count()
    }

    /// Returns the metrics of the goal with their means.
    fn goals(&self) -> String {
        let bounds = self.readings.iter().filter(|reading| reading.met.is_some());
        let met: Vec<String> = bounds.map(named).collect();
        if met.is_empty() { self.readings.first().map_or_else(String::new, named) } else { met.join(", ") }
    }

    /// Returns the reason why it is ahead of `second`.
    fn before(&self, second: &Self) -> String {
        let other = second.label();
        let not = |names: Vec<&str>| {
            if names.is_empty() { String::new() } else { format!(": not with {}", names.join(", ")) }
        };
        if self.met && !second.met {
            return format!("Not {other}: it misses the goal ({}).", second.goals());
        }
        if !second.met {
            return format!("Not {other}, which is further from the goal ({}).", second.goals());
        }
        if second.cases.is_empty() {
            return format!("Not {other}: there was no time to judge it on other links and mixes.");
        }
        if second.held() < self.held() {
            let failed = second.cases.iter().filter(|case| !case.held).map(|case| case.name.as_str()).collect();
            return format!("Not {other}, which holds in {} of these cases only{}.", second.held(), not(failed));
        }
        format!("The runner-up, {other}, does as well, but is less simple or less widely deployed.")
    }

    /// Returns how unequal rates are, the cases in which the goal is missed, the share of a flood, and the number of
    /// flows that share queues.
    fn warning(&self) -> Option<String> {
        let (floods, links): (Vec<&Case>, Vec<&Case>) = self.cases.iter().partition(|case| case.flood().is_some());
        let missed: Vec<String> = links
            .iter()
            .filter(|case| !case.held)
            .map(|case| {
                let failed = case.readings.iter().find(|reading| reading.met == Some(false));
                format!("{} ({})", case.name, failed.map_or_else(|| "behind others".to_owned(), named))
            })
            .collect();
        let mut parts = Vec::new();
        let jain = self.reading("jain").filter(|jain| jain.met.is_none()).and_then(|jain| jain.mean);
        if let Some(jain) = jain.filter(|jain| *jain < UNFAIR) {
            parts.push(format!("the flows' rates are far from equal (Jain's index {jain:.2}), which the goal allows"));
        }
        if !missed.is_empty() {
            parts.push(format!("it misses the goal with {}", missed.join(", ")));
        } else if !links.is_empty() {
            parts.push("half or twice the rate, the round trip and the flows do no harm".to_owned());
        }
        for share in floods.iter().filter_map(|case| case.flood()) {
            let taken = if share < crate::cases::TAKEN { "gets" } else { "takes" };
            parts.push(format!("a flood of the link's rate {taken} {:.0} % of the link", 100.0 * share));
        }
        if ["fq-codel", "fq-pie", "cake", "sfq"].contains(&self.kind.as_str()) {
            let flows = self.parameters.iter().find(|(key, _)| key == "flows").map_or("1024", |(_, flows)| flows);
            parts.push(format!("with more than about {flows} flows at a time, some share a queue"));
        }
        (!parts.is_empty()).then(|| format!("Expect this: {}.", parts.join("; ")))
    }
}

impl Case {
    /// Returns the share of a flood, if there is one.
    fn flood(&self) -> Option<f64> {
        let name = crate::cases::flood_share().to_string();
        self.readings.iter().find(|reading| reading.metric == name)?.mean
    }
}

fn named(reading: &Reading) -> String {
    let (factor, unit) = reading.unit.shown();
    let digits = |mean: f64| if mean.abs() < 1.0 && mean != 0.0 { 3 } else { 1 };
    let shown = |mean: f64| format!("{mean:.*} {unit}", digits(mean));
    let mean = reading.mean.map_or_else(|| "unknown".to_owned(), |mean| shown(mean * factor));
    format!("{} {}", reading.metric, mean.trim_end())
}
