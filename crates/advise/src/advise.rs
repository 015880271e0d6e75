//! Advice: the disciplines for a link, ranked by a goal.

use fairlane_qdisc::{FlowState, Kind, QdiscParameters, Seed};
use fairlane_runner::check;
use fairlane_sim::Control;

use crate::advice::{Advice, LeftOut, Ranked};
use crate::error::Error;
use crate::files;
use crate::hypercube;
use crate::metric::shown;
use crate::pareto;
use crate::proof;
use crate::race::{Arena, Candidate, rungs};
use crate::score::{judge, readings};
use crate::settings::AdviseSettings;
use crate::space::Space;

/// The disciplines that have no fewer runs than the winner.
const LAST: usize = 3;

/// An advice that is ready to be made.
#[derive(Debug)]
pub struct AdvisePlan {
    settings: AdviseSettings,
    candidates: Vec<Candidate>,
    /// The candidates of each discipline; the first one has its defaults.
    groups: Vec<Vec<usize>>,
    left_out: Vec<LeftOut>,
}

impl AdvisePlan {
    /// Plans the candidates: each discipline with its defaults, and with a Latin hypercube of its numeric parameters.
    ///
    /// # Errors
    /// The goal has a metric that the link lacks, the link cannot be simulated, or no discipline is left.
    pub fn new(settings: AdviseSettings, threads: Option<usize>) -> Result<Self, Error> {
        let mut plan = Self { settings, candidates: Vec::new(), groups: Vec::new(), left_out: Vec::new() };
        let droptail = plan.candidate(&QdiscParameters::new(Kind::DropTail))?;
        plan.settings.goal.check(&droptail.scenario)?;
        Arena::check_memory(&droptail.scenario, threads)?;
        for kind in plan.kinds() {
            let defaults = QdiscParameters::new(kind);
            match plan.candidate(&defaults) {
                Ok(candidate) => plan.add(kind, candidate)?,
                Err(error) => plan.left_out.push(LeftOut { kind: kind.name().to_owned(), reason: error.to_string() }),
            }
        }
        if plan.groups.is_empty() {
            return Err(Error::new("no discipline is left", "name some with --kinds, or allow state of flows"));
        }
        Ok(plan)
    }

    /// Returns an upper bound of the number of runs, which [`Control::finished`] approaches.
    #[must_use]
    pub fn runs(&self) -> u64 {
        let (runs, kinds) = (u64::from(self.settings.runs()), self.groups.len() as u64);
        let first = self.candidates.len() as u64 * 2;
        first + kinds * runs + 2 * runs * proof::CASES as u64
    }

    fn kinds(&self) -> Vec<Kind> {
        let AdviseSettings { kinds, no_flow_state, .. } = &self.settings;
        let asked = |kind: &Kind| if kinds.is_empty() { !kind.is_experimental() } else { kinds.contains(kind) };
        let without = |kind: &Kind| !no_flow_state || kind.flow_state() == FlowState::None;
        Kind::ALL.into_iter().filter(asked).filter(without).collect()
    }

    /// Returns the candidate with these parameters, checked.
    fn candidate(&self, parameters: &QdiscParameters) -> Result<Candidate, Error> {
        let AdviseSettings { link, quick, seed, .. } = &self.settings;
        let scenario = link.document(parameters, link.times(*quick), *seed)?.scenario()?;
        check(&scenario, "")?;
        Ok(Candidate::new(parameters.clone(), scenario))
    }

    /// Adds a discipline with its variants.
    fn add(&mut self, kind: Kind, defaults: Candidate) -> Result<(), Error> {
        let rate = self.settings.link.rate;
        let space = Space::new(kind, rate).map_err(|error| Error::new(error.to_string(), "leave it out"))?;
        let mut random = Seed::new(self.settings.seed).named("advise").stream(kind.name());
        let first = self.candidates.len();
        self.candidates.push(defaults);
        for point in hypercube::points(self.settings.variants(), space.dimensions(), &mut random) {
            let Some(parameters) = space.at(&point) else { continue };
            let known = self.candidates[first..].iter().any(|candidate| candidate.parameters == parameters);
            // Parameters that the link refuses are no candidate, as the bounds of some parameters depend on each other.
            if let (false, Ok(candidate)) = (known, self.candidate(&parameters)) {
                self.candidates.push(candidate);
            }
        }
        self.groups.push((first..self.candidates.len()).collect());
        Ok(())
    }

    /// Ranks the disciplines on `threads` threads or one for each core, and proves the result. It does not depend on
    /// their number.
    ///
    /// # Errors
    /// The work was interrupted, or a run is impossible.
    pub fn execute(mut self, threads: Option<usize>, control: &Control) -> Result<Advice, Error> {
        let goal = self.settings.goal.clone();
        let arena = Arena::new(&goal, &shown(), threads, control)?;
        let finalists = self.best_of_each(&arena)?;
        let order = self.ranked(&arena, finalists)?;
        let ranking: Vec<Ranked> = order.iter().map(|index| self.row(&arena, *index)).collect();
        let best: Vec<&Candidate> = order.iter().take(2).map(|index| &self.candidates[*index]).collect();
        let cases = proof::cases(&arena, &self.settings, &best)?;
        let ahead = best.get(1).map(|second| judge(&goal, &best[0].runs, &second.runs));
        let link = &self.settings.link;
        let comment = format!(
            "# Advice for {} and a round trip of {}, with {}.\n# Goal: {goal}.\n",
            link.rate, link.rtt, link.mix
        );
        Ok(Advice {
            goal: goal.to_string(),
            rate: link.rate.to_string(),
            rtt: link.rtt.to_string(),
            mix: link.mix.to_string(),
            seed: self.settings.seed,
            quick: self.settings.quick,
            fronts: pareto::fronts(&ranking),
            ahead,
            proof: cases,
            scenario: link.text(&best[0].parameters, link.times(self.settings.quick), self.settings.seed, &comment),
            router: files::router(link.rate, &best[0].parameters, &comment),
            candidates: self.candidates.len(),
            runs_done: control.finished(),
            left_out: self.left_out,
            ranking,
        })
    }

    /// Returns the best parameters of each discipline, by successive halving among its own.
    fn best_of_each(&mut self, arena: &Arena<'_>) -> Result<Vec<usize>, Error> {
        let mut groups = self.groups.clone();
        for runs in rungs(1, if self.settings.quick { 2 } else { 4 }.min(self.settings.runs())) {
            let all: Vec<usize> = groups.iter().flatten().copied().collect();
            arena.run(&mut self.candidates, &all, runs)?;
            for group in &mut groups {
                arena.sort(&self.candidates, group);
                group.truncate(group.len().div_ceil(2));
            }
        }
        Ok(groups.iter().filter_map(|group| group.first().copied()).collect())
    }

    /// Returns the disciplines in their order, the best first, by successive halving; those that leave the race earlier
    /// are behind.
    fn ranked(&mut self, arena: &Arena<'_>, mut racing: Vec<usize>) -> Result<Vec<usize>, Error> {
        let first = racing.iter().map(|index| self.candidates[*index].runs.len()).min().unwrap_or(1);
        let mut behind: Vec<usize> = Vec::new();
        for runs in rungs(first as u32, self.settings.runs()) {
            arena.run(&mut self.candidates, &racing, runs)?;
            arena.sort(&self.candidates, &mut racing);
            if runs < self.settings.runs() {
                let half = racing.len().div_ceil(2).max(LAST.min(racing.len()));
                behind.splice(0..0, racing.split_off(half));
            }
        }
        Ok(racing.into_iter().chain(behind).collect())
    }

    fn row(&self, arena: &Arena<'_>, index: usize) -> Ranked {
        let Candidate { parameters, runs, .. } = &self.candidates[index];
        let readings = readings(arena.goal, &arena.metrics, runs);
        Ranked {
            kind: parameters.kind().name().to_owned(),
            parameters: files::given(parameters),
            flow_state: parameters.kind().flow_state().name().to_owned(),
            runs: runs.len(),
            met: readings.iter().all(|reading| reading.met != Some(false)),
            readings,
        }
    }
}

#[cfg(test)]
mod tests;
