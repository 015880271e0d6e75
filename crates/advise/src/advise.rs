//! Advice: a discipline for a link, its traffic and a goal.

use std::cmp::Reverse;

use fairlane_qdisc::{Duration, Kind, QdiscParameters, Rate};
use fairlane_runner::check;
use fairlane_scenario::{KernelDiscipline, Scenario};
use fairlane_sim::Control;

use crate::advice::{Advice, Case, LeftOut, Ranked, answer};
use crate::candidates::{Target, defaults, room, tiers, variants};
use crate::cases::{CASES, Change, TAKEN, flood_share};
use crate::error::Error;
use crate::files;
use crate::goal::Bound;
use crate::metric::{GroupMetric, Metric, shown};
use crate::race::Arena;
use crate::score::{Readings, Standing, readings};
use crate::settings::AdviseSettings;
use crate::tune::held_out;

/// Runs of the best candidates on the link itself.
const RUNS: u32 = 3;

/// The most candidates that are judged on cases that were not searched.
const FINALISTS: usize = 5;

/// Runs of a case.
const CASE_RUNS: u32 = 2;

/// The part of a bound by which a case may miss it, and of the best objective by which a candidate may miss that: the
/// last per cent do not decide.
const TOLERANCE: f64 = 0.1;

/// An advice that is ready to be made.
#[derive(Debug)]
pub struct AdvisePlan {
    settings: AdviseSettings,
    tiers: Vec<Vec<Kind>>,
    /// All of them, the simplest first.
    kinds: Vec<Kind>,
    judged: Vec<Judged>,
    planned: usize,
    left_out: Vec<LeftOut>,
}

/// A candidate with what is known of it.
#[derive(Clone, Debug)]
struct Judged {
    parameters: QdiscParameters,
    scenario: Scenario,
    /// True if it has the defaults and the room of all.
    plain: bool,
    runs: Vec<Readings>,
    /// The means of each of [`CASES`]; empty if they were not run.
    cases: Vec<Readings>,
}

impl AdvisePlan {
    /// Plans an advice.
    ///
    /// # Errors
    /// The goal has a metric that the link lacks, the link cannot be simulated, or no discipline is left.
    pub fn new(settings: AdviseSettings, threads: Option<usize>) -> Result<Self, Error> {
        let tiers = tiers(&settings);
        if tiers.is_empty() {
            return Err(Error::new("no discipline is left", "name some with --queue, or allow state of flows"));
        }
        let droptail = settings.link.document(&defaults(Kind::DropTail, &settings.link), settings.seed)?.scenario()?;
        settings.goal.check(&droptail)?;
        possible(&settings)?;
        check(&droptail, "")?;
        Arena::check_memory(&droptail, threads)?;
        Ok(Self { settings, kinds: tiers.concat(), tiers, judged: Vec::new(), planned: 0, left_out: Vec::new() })
    }

    /// Returns about the number of runs, which [`Control::finished`] approaches.
    #[must_use]
    pub fn runs(&self) -> u64 {
        let first = self.tiers.first().map_or(0, Vec::len) as u64;
        2 * first + FINALISTS as u64 * (u64::from(RUNS) - 1 + u64::from(CASE_RUNS) * CASES.len() as u64)
    }

    /// Judges the candidates on `threads` threads or one for each core. The advice does not depend on their number.
    ///
    /// After [`Control::stop`] the advice is that of the candidates that were judged until then: it depends on their
    /// number, and on nothing else.
    ///
    /// # Errors
    /// No candidate was judged before the stop, or a run is impossible.
    pub fn execute(mut self, threads: Option<usize>, control: &Control) -> Result<Advice, Error> {
        let goal = self.settings.goal.clone();
        let more: Vec<Metric> = shown().into_iter().chain([flood_share()]).collect();
        let arena = Arena::new(&goal, &more, threads, control)?;
        for tier in std::mem::take(&mut self.tiers) {
            self.judge(&arena, tier.iter().map(|kind| defaults(*kind, &self.settings.link)).collect())?;
            let failed = self.judged.iter().filter(|judged| !self.suffices(&arena, judged));
            let failed: Vec<Kind> =
                failed.map(|judged| judged.parameters.kind()).filter(|kind| tier.contains(kind)).collect();
            let others = failed.iter().flat_map(|kind| variants(*kind, &self.settings.link, &goal)).collect();
            self.judge(&arena, others)?;
            if control.stopped() || self.judged.iter().any(|judged| self.suffices(&arena, judged)) {
                break;
            }
        }
        let mut best = self.best_of_each(&arena);
        let links = self.links(&arena, &mut best);
        let finals = self.finals(&arena, &mut best, &links)?;
        let finalists = links.len();
        self.sort(&arena, &mut best, finals);
        if best.is_empty() {
            let message = "no candidate was judged before the time was over";
            return Err(Error::new(message, "give more time, as --time 10m, or a smaller mix"));
        }
        Ok(self.advice(&arena, &best, [finals, finalists], control))
    }

    /// Runs candidates once each on the link.
    fn judge(&mut self, arena: &Arena<'_>, candidates: Vec<QdiscParameters>) -> Result<(), Error> {
        let AdviseSettings { link, seed, .. } = &self.settings;
        let mut new = Vec::new();
        for parameters in candidates {
            let made = link.document(&parameters, *seed).and_then(|document| Ok(document.scenario()?));
            match made.and_then(|scenario| Ok(check(&scenario, "").map(|()| scenario)?)) {
                Ok(scenario) => {
                    let plain = parameters == defaults(parameters.kind(), link);
                    new.push(Judged { parameters, scenario, plain, runs: Vec::new(), cases: Vec::new() });
                }
                Err(error) => {
                    let candidate = label(&parameters);
                    self.left_out.push(LeftOut { candidate, reason: error.to_string() });
                }
            }
        }
        self.planned += new.len();
        let jobs: Vec<(&Scenario, u32)> = new.iter().map(|judged| (&judged.scenario, 0)).collect();
        let done = arena.measured(&jobs)?;
        for (judged, readings) in new.iter_mut().zip(done) {
            judged.runs.push(readings);
        }
        self.judged.extend(new.into_iter().filter(|judged| !judged.runs.is_empty()));
        Ok(())
    }

    /// Returns true if a candidate meets all bounds, and has about the best objective of those that do.
    fn suffices(&self, arena: &Arena<'_>, judged: &Judged) -> bool {
        let standing = Standing::of(arena.goal, &judged.runs);
        let met =
            self.judged.iter().map(|other| Standing::of(arena.goal, &other.runs)).filter(|other| other.missed >= 0.0);
        standing.missed >= 0.0 && is_near(arena, standing.value, met.map(|standing| standing.value))
    }

    /// Returns the best candidate of each discipline: the defaults if they suffice, else the closest. Those that
    /// suffice are first, the simplest first; then the others, the closest first.
    fn best_of_each(&self, arena: &Arena<'_>) -> Vec<Judged> {
        let rank = |judged: &&Judged| (self.suffices(arena, judged), judged.plain && self.suffices(arena, judged));
        let closer =
            |a: &&Judged, b: &&Judged| Standing::of(arena.goal, &b.runs).compare(&Standing::of(arena.goal, &a.runs));
        let mut all: Vec<&Judged> = self.judged.iter().collect();
        all.sort_by(|a, b| rank(b).cmp(&rank(a)).then_with(|| closer(a, b)));
        let mut best: Vec<Judged> = Vec::new();
        for judged in all {
            if best.iter().all(|other| other.parameters.kind() != judged.parameters.kind()) {
                best.push(judged.clone());
            }
        }
        let enough = best.iter().filter(|judged| self.suffices(arena, judged)).count();
        best[..enough].sort_by_key(|judged| self.place(judged));
        best
    }

    /// Returns the place of a discipline: the simplest first.
    fn place(&self, judged: &Judged) -> usize {
        self.kinds.iter().position(|kind| *kind == judged.parameters.kind()).unwrap_or(usize::MAX)
    }

    /// Returns the cases of the first candidates, which go on: those that suffice, and at least two. One that refuses a
    /// case leaves `best`.
    fn links(&mut self, arena: &Arena<'_>, best: &mut Vec<Judged>) -> Vec<Vec<Scenario>> {
        let enough = best.iter().filter(|judged| self.suffices(arena, judged)).count().clamp(2, FINALISTS);
        let AdviseSettings { link, seed, .. } = &self.settings;
        let mut links = Vec::new();
        while links.len() < enough.min(best.len()) {
            let parameters = &best[links.len()].parameters;
            let scenario = |change: &Change| -> Result<Scenario, Error> {
                let scenario = change.of(link).document(parameters, held_out(*seed))?.scenario()?;
                check(&scenario, "")?;
                Ok(scenario)
            };
            match CASES.iter().map(|change| scenario(change).map_err(|error| (change.name, error))).collect() {
                Ok(scenarios) => links.push(scenarios),
                Err((case, error)) => {
                    let candidate = format!("{} with {case}", label(parameters));
                    self.left_out.push(LeftOut { candidate, reason: error.to_string() });
                    best.remove(links.len());
                }
            }
        }
        links
    }

    /// Runs the first candidates more often, and on the cases; returns the number of those that were.
    fn finals(&self, arena: &Arena<'_>, best: &mut [Judged], links: &[Vec<Scenario>]) -> Result<usize, Error> {
        let mut jobs: Vec<(&Scenario, u32)> = Vec::new();
        let first: Vec<Scenario> = best.iter().map(|judged| judged.scenario.clone()).collect();
        for (scenario, cases) in first.iter().zip(links) {
            jobs.extend((1..RUNS).map(|number| (scenario, number)));
            jobs.extend(cases.iter().flat_map(|scenario| (0..CASE_RUNS).map(move |number| (scenario, number))));
        }
        let done = arena.measured(&jobs)?;
        let whole = jobs.len() / links.len().max(1);
        let parts = done.chunks_exact(whole.max(1));
        let judged = parts.len();
        for (finalist, part) in best.iter_mut().zip(parts) {
            let (runs, cases) = part.split_at(RUNS as usize - 1);
            finalist.runs.extend(runs.iter().cloned());
            finalist.cases = cases.chunks(CASE_RUNS as usize).map(means).collect();
        }
        Ok(judged)
    }

    /// Sorts the first `finals`: those that meet the goal on the link by the number of cases that hold and by
    /// simplicity, then the others, the closest to the goal first.
    fn sort(&self, arena: &Arena<'_>, best: &mut [Judged], finals: usize) {
        let finalists = best[..finals].to_vec();
        let standing = |judged: &Judged| Standing::of(arena.goal, &[means(&judged.runs)]);
        best[..finals].sort_by(|a, b| standing(b).compare(&standing(a)));
        best[..finals].sort_by_cached_key(|judged| {
            let met = met(arena, judged);
            let held =
                || held(arena, self.settings.link.rtt, judged, &finalists).into_iter().filter(|held| *held).count();
            (Reverse(met), met.then(|| (Reverse(held()), self.place(judged))))
        });
    }

    fn advice(self, arena: &Arena<'_>, best: &[Judged], finals: [usize; 2], control: &Control) -> Advice {
        let AdviseSettings { link, goal, on, seed, .. } = &self.settings;
        let comment = format!(
            "# Advice for {} and a round trip of {}, with {}.\n# Goal: {goal}.\n",
            link.rate, link.rtt, link.mix
        );
        let winner = &best[0].parameters;
        let ranking: Vec<Ranked> = best.iter().map(|judged| self.row(arena, judged, &best[..finals[0]])).collect();
        Advice {
            answer: answer(&ranking),
            goal: goal.to_string(),
            rate: link.rate.to_string(),
            rtt: link.rtt.to_string(),
            mix: link.mix.to_string(),
            on: on.to_string(),
            room: room(link),
            seed: *seed,
            ranking,
            scenario: link.text(winner, *seed, &comment),
            router: files::router(link.rate, winner, &comment),
            tc: files::tc(link.rate, winner).filter(|_| *on != Target::Silicon),
            judged: self.judged.len(),
            candidates: self.planned,
            finals,
            runs_done: control.finished(),
            partial: control.stopped(),
            left_out: self.left_out.clone(),
        }
    }

    fn row(&self, arena: &Arena<'_>, judged: &Judged, finalists: &[Judged]) -> Ranked {
        let Judged { parameters, runs, cases, .. } = judged;
        let kind = parameters.kind();
        let mut own = readings(arena.goal, &arena.metrics, runs);
        // That of a flood, which there is in one case only.
        own.pop();
        let rtt = self.settings.link.rtt;
        let held = held(arena, rtt, judged, finalists);
        let case = |((change, run), held): ((&Change, &Readings), bool)| {
            let changed = change.of(&self.settings.link);
            Case {
                name: change.name.to_owned(),
                rate: changed.rate.to_string(),
                rtt: changed.rtt.to_string(),
                flows: changed.mix.flows(),
                held,
                readings: readings(&change.goal(arena.goal, rtt), &arena.metrics, std::slice::from_ref(run))
                    .into_iter()
                    .filter(|reading| reading.mean.is_some())
                    .collect(),
            }
        };
        Ranked {
            kind: kind.name().to_owned(),
            parameters: files::given(parameters),
            kernel: kernel(parameters, self.settings.link.rate).is_some(),
            flow_state: kind.flow_state().name().to_owned(),
            runs: runs.len(),
            met: met(arena, judged),
            readings: own,
            cases: CASES.iter().zip(cases).zip(held).map(case).collect(),
        }
    }
}

/// Refuses a bound on a time of a group that the path alone takes.
fn possible(settings: &AdviseSettings) -> Result<(), Error> {
    for Bound { metric, comparison, limit } in settings.goal.bounds() {
        let (path, least) = match metric {
            Metric::Group(_, GroupMetric::Delay) => ("path", 0.5 * settings.link.rtt.as_secs()),
            Metric::Group(_, GroupMetric::RoundTrip) => ("round trip", settings.link.rtt.as_secs()),
            _ => continue,
        };
        if comparison.is_upper() && *limit <= least {
            let message =
                format!("no discipline has {metric} {comparison} {}: the {path} takes {}", time(*limit), time(least));
            return Err(Error::new(message, format!("give a bound above {}", time(least))));
        }
    }
    Ok(())
}

fn time(seconds: f64) -> Duration {
    Duration::from_secs(seconds)
}

/// Returns the kernel's own discipline with these parameters.
pub(crate) fn kernel(parameters: &QdiscParameters, rate: Rate) -> Option<KernelDiscipline> {
    KernelDiscipline::new(parameters.resolve(rate).ok()?.config(), rate, 1500)
}

/// Returns true if the means of a candidate meet all bounds.
fn met(arena: &Arena<'_>, judged: &Judged) -> bool {
    readings(arena.goal, &arena.metrics, &judged.runs).iter().all(|reading| reading.met != Some(false))
}

/// Tells of each case of a candidate whether the goal holds there. In that of a flood the flows of the mix must keep
/// half of the link instead, since the packets of the flood itself count in the queue's delay.
fn held(arena: &Arena<'_>, rtt: Duration, judged: &Judged, finalists: &[Judged]) -> Vec<bool> {
    let case = |(index, run): (usize, &Readings)| {
        let goal = CASES[index].goal(arena.goal, rtt);
        let standing = |run: &Readings| Standing::of(&goal, std::slice::from_ref(run));
        if CASES[index].flood {
            return run.last().copied().flatten().is_some_and(|share| share < TAKEN);
        }
        let others = finalists.iter().filter_map(|other| other.cases.get(index)).map(standing);
        let met = others.filter(|other| other.missed >= -TOLERANCE).map(|standing| standing.value);
        let own = standing(run);
        own.missed >= -TOLERANCE && is_near(arena, own.value, met)
    };
    judged.cases.iter().enumerate().map(case).collect()
}

/// Returns the mean of each metric; `None` if a run lacks it.
fn means(runs: &[Readings]) -> Readings {
    let values = |metric: usize| runs.iter().map(|run| run[metric]).sum::<Option<f64>>();
    (0..runs[0].len()).map(|metric| Some(values(metric)? / runs.len() as f64)).collect()
}

/// Returns true if `value` of the goal's objective is about the best of `others`; always without an objective.
fn is_near(arena: &Arena<'_>, value: f64, others: impl Iterator<Item = f64>) -> bool {
    let best = others.fold(value, f64::max);
    arena.goal.objective().is_none() || value >= best - TOLERANCE * best.abs()
}

fn label(parameters: &QdiscParameters) -> String {
    let given = files::given(parameters).into_iter().map(|(key, value)| format!(" {key}={value}"));
    std::iter::once(parameters.kind().name().to_owned()).chain(given).collect()
}

#[cfg(test)]
mod tests;
