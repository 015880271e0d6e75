//! Runs experiments: all points and runs of them, on all cores, each once.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_qdisc::Duration;
use fairlane_scenario::Scenario;
use fairlane_sim::Control;
use fairlane_theory::Question;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::book::{Book, Claim, Experiment, FigureText};
use crate::experiment::ExperimentPoint;
use crate::expression::{Expression, Input};
use crate::simulate::{scenario, simulate};
use crate::station::Station;
use crate::store::Store;
use crate::table::{Row, Table};
use crate::{Error, Library};

/// The extent of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The short forms, which take seconds, instead of the full ones.
    pub short: bool,
    /// Number of runs of each random point, instead of the number that the experiments state.
    pub runs: Option<u32>,
}

/// Claims whose experiments are ready to run.
#[derive(Debug)]
pub struct Plan<'a> {
    claims: Vec<(&'a Book, &'a Claim)>,
    options: Options,
    units: Vec<Unit<'a>>,
}

/// One run of one point.
#[derive(Debug)]
struct Unit<'a> {
    experiment: &'a Experiment,
    /// The key under which the run is stored.
    key: String,
    columns: Row,
    work: Work,
    run: u32,
}

/// The source of a row's numbers.
#[derive(Debug)]
enum Work {
    Scenario(Box<Scenario>, Option<Duration>),
    Theory(Question),
    Station(Station),
    Arithmetic,
}

/// Results of the experiments.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The tables, by the names of the experiments.
    pub tables: BTreeMap<String, Table>,
    /// Some runs are missing, since they were stopped.
    pub partial: bool,
}

impl<'a> Plan<'a> {
    /// Prepares the experiments of `claims` and of their figures, and checks every point of them.
    ///
    /// # Errors
    /// A point cannot be run: a scenario that contradicts itself, a question that a model does not take.
    pub fn new(library: &'a Library, claims: Vec<(&'a Book, &'a Claim)>, options: Options) -> Result<Self, Error> {
        let figures = claims.iter().filter_map(|(book, claim)| figure(book, claim));
        let drawn = figures.flat_map(|figure| figure.lines.iter().map(|line| line.experiment.as_str()));
        let asked = claims.iter().flat_map(|(_, claim)| claim.experiments.iter().map(String::as_str));
        let wanted: BTreeSet<&str> = asked.chain(drawn).collect();
        let experiments = library.books().iter().flat_map(|book| &book.experiments);
        let mut units = Vec::new();
        for experiment in experiments.filter(|experiment| wanted.contains(experiment.id.as_str())) {
            units.extend(prepare(experiment, options).map_err(|why| Error::experiment(experiment, why))?);
        }
        Ok(Self { claims, options, units })
    }

    /// The claims, each with its book.
    #[must_use]
    pub fn claims(&self) -> &[(&'a Book, &'a Claim)] {
        &self.claims
    }

    /// The extent of the execution.
    #[must_use]
    pub fn options(&self) -> Options {
        self.options
    }

    /// Total number of runs.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.units.len() as u64
    }

    /// The experiments, each at least once.
    pub(crate) fn experiments(&self) -> impl Iterator<Item = &'a Experiment> {
        self.units.iter().map(|unit| unit.experiment)
    }

    /// Runs everything that `store` does not have yet, and keeps it there. After [`Control::stop`] unfinished work is
    /// left out, and the results say that they are partial.
    ///
    /// # Errors
    /// A measure cannot be taken, or a row cannot be kept; everything else has been run and kept by then.
    pub fn execute(&self, store: Option<&Store>, control: &Control) -> Result<Results, Error> {
        let rows: Vec<Result<Option<Row>, Error>> =
            self.units.par_iter().with_max_len(1).map(|unit| unit.row(store, control)).collect();
        let mut results = Results::default();
        for (unit, row) in self.units.iter().zip(rows) {
            match row? {
                Some(row) => results.tables.entry(unit.experiment.id.clone()).or_default().rows.push(row),
                None => results.partial = true,
            }
        }
        Ok(results)
    }
}

/// The figure of `claim`.
pub(crate) fn figure<'a>(book: &'a Book, claim: &Claim) -> Option<&'a FigureText> {
    claim.figure.as_ref().and_then(|id| book.figures.iter().find(|figure| figure.id == *id))
}

fn prepare(experiment: &Experiment, options: Options) -> Result<Vec<Unit<'_>>, String> {
    let form = if options.short { &experiment.short } else { &experiment.full };
    let runs = match options.runs {
        Some(asked) if experiment.runs(form) > 1 => asked,
        _ => experiment.runs(form),
    };
    let mut units = Vec::new();
    for point in experiment.points(form) {
        for run in 0..runs {
            let mut columns = Row::new();
            columns.insert("experiment".to_owned(), experiment.id.clone().into());
            columns.extend(point.columns.clone());
            columns.insert("run".to_owned(), run.into());
            let key = json!([columns, point.settings]).to_string();
            units.push(Unit { experiment, key, columns, work: work(experiment, &point)?, run });
        }
    }
    Ok(units)
}

fn work(experiment: &Experiment, point: &ExperimentPoint) -> Result<Work, String> {
    if experiment.scenario.is_some() {
        let every =
            experiment.series.as_ref().map(|every| every.parse::<Duration>().map_err(|error| error.to_string()));
        return Ok(Work::Scenario(Box::new(scenario(experiment.document()?, point)?), every.transpose()?));
    }
    if let Some(question) = &experiment.theory {
        return serde_json::from_value(point.question(question)).map(Work::Theory).map_err(|error| error.to_string());
    }
    if let Some(station) = &experiment.station {
        return serde_json::from_value(point.question(station)).map(Work::Station).map_err(|error| error.to_string());
    }
    Ok(Work::Arithmetic)
}

impl Unit<'_> {
    /// The row of this run; `None` when it was stopped.
    fn row(&self, store: Option<&Store>, control: &Control) -> Result<Option<Row>, Error> {
        if let Some(row) = store.and_then(|store| store.get(&self.key)) {
            control.finish_one();
            return Ok(Some(row));
        }
        if control.stopped() {
            return Ok(None);
        }
        let row = self.measure(control).map_err(|why| Error::experiment(self.experiment, why))?;
        if let (Some(store), Some(row)) = (store, &row) {
            store.put(&self.key, row)?;
        }
        control.finish_one();
        Ok(row)
    }

    fn measure(&self, control: &Control) -> Result<Option<Row>, String> {
        let seen = match &self.work {
            Work::Scenario(scenario, every) => simulate(scenario, self.run, *every, &self.experiment.losses, control)?,
            Work::Theory(question) => Some(question.answer().map_err(|error| error.to_string())?),
            Work::Station(station) => Some(station.observe(self.run)?),
            Work::Arithmetic => Some(Value::Null),
        };
        let Some(seen) = seen else { return Ok(None) };
        let input = Input::new(&seen)?;
        let mut row = self.columns.clone();
        for (name, code) in &self.experiment.measures {
            let value = Expression::new(code)?.apply(&input).map_err(|why| format!("the measure {name}: {why}"))?;
            row.insert(name.clone(), value.unwrap_or(Value::Null));
        }
        Ok(Some(row))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Random experiments have the requested number of runs, and exact ones have one.
    #[test]
    fn runs_are_those_asked_for() {
        let random: Experiment = toml::from_str(
            "id = 'r'\nabout = '.'\nstation = { queue = { kind = 'droptail' }, mu = 1.0, rates = [0.5], events = 10 }\nfull = { runs = 3 }",
        )
        .expect("it is one");
        let exact: Experiment = toml::from_str("id = 'e'\nabout = '.'\narithmetic = true").expect("it is one");
        let units = |experiment: &Experiment, runs| {
            prepare(experiment, Options { short: false, runs }).map(|units| units.len())
        };
        assert_eq!((units(&random, None), units(&random, Some(7))), (Ok(3), Ok(7)));
        assert_eq!((units(&exact, None), units(&exact, Some(7))), (Ok(1), Ok(1)));
        // Each run is kept under its own name.
        let prepared = prepare(&random, Options::default()).unwrap_or_default();
        let keys: BTreeSet<&str> = prepared.iter().map(|unit| unit.key.as_str()).collect();
        assert_eq!(keys.len(), 3);
    }
}
