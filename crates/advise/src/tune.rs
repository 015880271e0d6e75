//! The search for the parameters of a discipline.

use std::num::NonZeroU32;

use fairlane_qdisc::{Kind, QdiscParameters, Rate, Seed};
use fairlane_runner::{check, compare};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::Control;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files;
use crate::goal::Goal;
use crate::hypercube;
use crate::race::{Arena, Candidate, cost, rungs};
use crate::score::{Reading, Verdict, differences, judge, readings};
use crate::space::Space;

/// Rounds of a search; each is closer to the best of the round before.
const ROUNDS: u32 = 3;

/// The part of each range that a round searches, of the part of the round before.
const CLOSER: f64 = 0.25;

/// The hypercubes that are drawn in a round at most, each for the points that the discipline refused of those before.
const HYPERCUBES: u32 = 4;

/// The fewest candidates of a round.
const FEWEST: u32 = 4;

/// The settings of a search for parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct TuneSettings {
    /// The discipline.
    pub kind: Kind,
    /// The goal.
    pub goal: Goal,
    /// Runs of the best candidates, and of the comparison on held-out seeds; default 8.
    pub runs: NonZeroU32,
    /// Runs of all candidates together; default 400.
    pub budget: u32,
}

impl TuneSettings {
    /// Returns the settings with the defaults of the others.
    #[must_use]
    pub const fn new(kind: Kind, goal: Goal) -> Self {
        let runs = NonZeroU32::MIN.saturating_add(7);
        Self { kind, goal, runs, budget: 400 }
    }
}

/// A search that is ready to run.
///
/// Round by round a Latin hypercube covers the numeric parameters, and successive halving with common random numbers
/// finds its best; the next round is around that. The defaults are among the candidates of each round. The best and the
/// defaults then meet on seeds that the search has not seen.
#[derive(Debug)]
pub struct TunePlan {
    settings: TuneSettings,
    document: Document,
    scenario: Scenario,
    space: Space,
    /// The defaults, and the parameters of the file if they differ.
    candidates: Vec<Candidate>,
    /// New candidates of each round.
    fresh: u32,
}

/// The result of a search for parameters.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Tuning {
    /// The name of the scenario.
    pub scenario: String,
    /// The discipline.
    pub kind: String,
    /// The goal.
    pub goal: String,
    /// The parameters to use; none if those that the search found are not better than the defaults on held-out seeds.
    pub parameters: Vec<(String, String)>,
    /// The best of the search against the defaults on held-out seeds.
    pub verdict: Verdict,
    /// The defaults.
    pub defaults: Contender,
    /// The best of the search; it may be the defaults.
    pub best: Contender,
    /// The best of the search less the defaults, run by run on held-out seeds.
    pub difference: Vec<Reading>,
    /// Runs of each on held-out seeds.
    pub runs: u32,
    /// The seed of the search.
    pub seed: u64,
    /// The seed that was held out.
    pub held_out_seed: u64,
    /// Number of candidates.
    pub candidates: usize,
    /// The points of the search that the discipline refused.
    pub refused: Vec<Refused>,
    /// Warnings about the parameters to use, as of [`Scenario::queue_warnings`].
    pub warnings: Vec<String>,
    /// Number of all runs.
    pub runs_done: u64,
    /// The scenario with the parameters to use, as a file.
    pub toml: String,
}

/// Points of a search that the discipline refused for the same parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Refused {
    /// The parameter; empty if the scenario refused the point.
    pub parameter: String,
    /// Number of points.
    pub points: usize,
    /// The reason, of the first point.
    pub reason: String,
}

/// Parameters with their measurements.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Contender {
    /// The parameters that differ from the defaults.
    pub parameters: Vec<(String, String)>,
    /// The goal's metrics in the search.
    pub search: Vec<Reading>,
    /// The same on held-out seeds.
    pub held_out: Vec<Reading>,
}

impl TunePlan {
    /// Plans a search for the scenario of `document`.
    ///
    /// # Errors
    /// The scenario is wrong or has no queue to tune, the goal has a metric that it lacks, the discipline has no
    /// numeric parameters or refuses the scenario, or the budget is too small.
    pub fn new(document: &Document, settings: TuneSettings, threads: Option<usize>) -> Result<Self, Error> {
        let scenario = document.scenario()?;
        settings.goal.check(&scenario)?;
        let defaults = QdiscParameters::new(settings.kind);
        let with_defaults = compare::with_parameters(&scenario, &defaults)?;
        check(&with_defaults, &format!("--queue {}", settings.kind))?;
        Arena::check_memory(&with_defaults, threads)?;
        let (rate, own) = queue(&scenario, &with_defaults, settings.kind);
        let refused = |error: fairlane_qdisc::ParameterError| Error::new(error.to_string(), "give the link a rate");
        let space = Space::new(settings.kind, rate).map_err(refused)?;
        if space.dimensions() == 0 {
            let message = format!("{} has no numeric parameter with a default", settings.kind);
            return Err(Error::new(message, "compare other disciplines: fairlane compare"));
        }
        let mut candidates = vec![Candidate::new(defaults, with_defaults)];
        if let Some(own) = own.filter(|own| own.given().next().is_some())
            && let Ok(scenario) = compare::with_parameters(&scenario, &own)
        {
            candidates.push(Candidate::new(own, scenario));
        }
        let fresh = fresh(&settings)?;
        Ok(Self { settings, document: document.clone(), scenario, space, candidates, fresh })
    }

    /// Returns the number of runs, which [`Control::finished`] reaches at the end or before.
    #[must_use]
    pub fn runs(&self) -> u64 {
        u64::from(self.settings.budget)
    }

    /// Searches on `threads` threads or one for each core. The result does not depend on their number.
    ///
    /// # Errors
    /// The work was interrupted, or a run is impossible.
    pub fn execute(self, threads: Option<usize>, control: &Control) -> Result<Tuning, Error> {
        let goal = self.settings.goal.clone();
        let arena = Arena::new(&goal, &[], threads, control)?;
        let mut candidates = self.candidates.clone();
        let mut random = Seed::new(self.scenario.seed).stream("tune");
        let stages = rungs(1, self.settings.runs.get());
        let mut incumbents: Vec<usize> = (0..candidates.len()).collect();
        let mut refused = Vec::new();
        let (mut centre, mut width) = (vec![0.5; self.space.dimensions()], 1.0);
        for _ in 0..ROUNDS {
            let first = candidates.len();
            for _ in 0..HYPERCUBES {
                let missing = (self.fresh as usize).saturating_sub(candidates.len() - first);
                for point in hypercube::points(missing, self.space.dimensions(), &mut random) {
                    let place = point.iter().zip(&centre).map(|(part, centre)| within(*centre, width, *part));
                    self.add(&mut candidates, &place.collect::<Vec<f64>>(), &mut refused);
                }
            }
            let chosen = incumbents.iter().copied().chain(first..candidates.len()).collect();
            let ranked = arena.halve(&mut candidates, chosen, &stages, &incumbents)?;
            let best = ranked[0];
            centre = self.space.place(&candidates[best].parameters).unwrap_or(centre);
            width *= CLOSER;
            if !incumbents.contains(&best) {
                incumbents.push(best);
            }
        }
        arena.sort(&candidates, &mut incumbents);
        Ok(Tuning { refused, ..self.judged(&arena, &candidates, incumbents[0], control)? })
    }

    /// Adds the candidate at `place`, unless there is one of the same parameters; counts it in `refused` if it is none.
    fn add(&self, candidates: &mut Vec<Candidate>, place: &[f64], refused: &mut Vec<Refused>) {
        let mut refuse =
            |parameter: &str, reason: String| match refused.iter_mut().find(|refused| refused.parameter == parameter) {
                Some(refused) => refused.points += 1,
                None => refused.push(Refused { parameter: parameter.to_owned(), points: 1, reason }),
            };
        let parameters = match self.space.at(place) {
            Ok(parameters) => parameters,
            Err(error) => return refuse(error.key(), error.to_string()),
        };
        if candidates.iter().any(|candidate| candidate.parameters == parameters) {
            return;
        }
        let scenario = compare::with_parameters(&self.scenario, &parameters).map_err(Error::from);
        match scenario.and_then(|scenario| Ok(check(&scenario, "").map(|()| scenario)?)) {
            Ok(scenario) => candidates.push(Candidate::new(parameters, scenario)),
            // It contradicts the scenario, for example the rate of another link.
            Err(error) => refuse("", error.to_string()),
        }
    }

    /// Compares the best candidate with the defaults on the held-out seed.
    fn judged(
        &self,
        arena: &Arena<'_>,
        candidates: &[Candidate],
        best: usize,
        control: &Control,
    ) -> Result<Tuning, Error> {
        let seed = held_out(self.scenario.seed);
        let mut pair: Vec<Candidate> = [best, 0].iter().map(|index| unseen(&candidates[*index], seed)).collect();
        arena.run(&mut pair, if best == 0 { &[1] } else { &[0, 1] }, self.settings.runs.get())?;
        if best == 0 {
            pair[0] = pair[1].clone();
        }
        let goal = &self.settings.goal;
        let verdict = judge(goal, &pair[0].runs, &pair[1].runs);
        let chosen = if verdict == Verdict::Better { &pair[0] } else { &pair[1] };
        let contender = |index: usize, held_out: &Candidate| Contender {
            parameters: files::given(&candidates[index].parameters),
            search: readings(goal, &arena.metrics, &candidates[index].runs),
            held_out: readings(goal, &arena.metrics, &held_out.runs),
        };
        Ok(Tuning {
            scenario: self.scenario.name.clone(),
            kind: self.settings.kind.name().to_owned(),
            goal: goal.to_string(),
            parameters: files::given(&chosen.parameters),
            verdict,
            defaults: contender(0, &pair[1]),
            best: contender(best, &pair[0]),
            difference: differences(&arena.metrics, &pair[0].runs, &pair[1].runs),
            runs: self.settings.runs.get(),
            seed: self.scenario.seed,
            held_out_seed: seed,
            candidates: candidates.len(),
            refused: Vec::new(),
            warnings: chosen.scenario.queue_warnings(),
            runs_done: control.finished(),
            toml: files::with_queue(&self.document, &chosen.parameters)?,
        })
    }
}

/// Returns the number of new candidates of a round that the budget allows.
fn fresh(settings: &TuneSettings) -> Result<u32, Error> {
    let runs = settings.runs.get();
    let stages = rungs(1, runs);
    // The defaults and what the file says have all runs once, and two have as many on the held-out seed.
    let whole = |fresh: u32| 4 * u64::from(runs) + u64::from(ROUNDS) * cost(fresh, &stages);
    let budget = u64::from(settings.budget);
    (FEWEST..).take_while(|fresh| whole(*fresh) <= budget).last().ok_or_else(|| {
        let message = format!("a budget of {budget} runs is too small for candidates of {runs} runs");
        Error::new(message, format!("give {} or more, or fewer runs", whole(FEWEST)))
    })
}

/// Returns the rate of the first queue that is tuned, and what the file says of it as parameters of `kind`.
fn queue(scenario: &Scenario, changed: &Scenario, kind: Kind) -> (Rate, Option<QdiscParameters>) {
    let sides = |scenario: &'_ Scenario| {
        let both = scenario.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        both.map(|side| (side.queue_rate(), side.queue.parameters().clone())).collect::<Vec<_>>()
    };
    let pairs = sides(scenario).into_iter().zip(sides(changed));
    let found = pairs.into_iter().find(|(_, (_, after))| *after == QdiscParameters::new(kind));
    found.map_or((Rate::default(), None), |((rate, before), _)| (rate, Some(before.with_kind(kind))))
}

/// Returns a place in the part of `width` around `centre` that lies between 0 and 1.
fn within(centre: f64, width: f64, part: f64) -> f64 {
    let low = (centre - width / 2.0).clamp(0.0, 1.0 - width);
    low + part * width
}

/// Returns the seed that is held out of a search with `seed`.
pub(crate) const fn held_out(seed: u64) -> u64 {
    if seed == i64::MAX as u64 { 0 } else { seed + 1 }
}

/// Returns the candidate with another seed and without runs.
pub(crate) fn unseen(candidate: &Candidate, seed: u64) -> Candidate {
    Candidate::new(candidate.parameters.clone(), Scenario { seed, ..candidate.scenario.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with 8 runs after 1, 2 and 4: 48 candidates need 48 + 24 + 2 · 12 + 4 · 6 = 120 runs in each of three
    /// rounds, and 32 are fixed; 49 need 128. Four need 12.
    #[test]
    fn the_budget_is_divided() {
        let settings =
            |budget| TuneSettings { budget, ..TuneSettings::new(Kind::Red, "minimise delay.p95".parse().unwrap()) };
        assert_eq!(fresh(&settings(392)).unwrap(), 48);
        assert_eq!(fresh(&settings(415)).unwrap(), 48);
        assert_eq!(fresh(&settings(416)).unwrap(), 49);
        let error = fresh(&settings(67)).unwrap_err().to_string();
        assert!(error.contains("give 68 or more"), "{error}");
        assert_eq!(fresh(&settings(68)).unwrap(), 4);
    }

    #[test]
    fn a_round_stays_within_the_range() {
        assert_eq!(within(0.5, 1.0, 0.25), 0.25);
        assert_eq!(within(0.0, 0.25, 1.0), 0.25);
        assert_eq!(within(1.0, 0.25, 0.0), 0.75);
    }
}
