//! Judges claims by the results of their experiments.

use fairlane_outcome::Estimate;
use fairlane_outcome::stats::Moments;
use serde_json::Value;

use crate::basis::Basis;
use crate::book::{Book, Check, Claim, Experiment, Status};
use crate::expression::{Expression, Input};
use crate::judgement::{Certainty, Judgement};
use crate::plan::{Plan, Results};
use crate::table::{Row, Table, is_at};
use crate::{Error, vectors};

/// The verdict on a claim.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// The paper's book.
    pub book: &'a Book,
    /// The claim.
    pub claim: &'a Claim,
    /// The basis of the verdict; `None` if the claim is not testable.
    pub basis: Option<Basis>,
    /// Its checks, one by one.
    pub findings: Vec<Finding<'a>>,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Finding<'a> {
    /// The quantity.
    pub what: String,
    /// Its unit.
    pub unit: &'a str,
    /// The paper's number.
    pub paper: Option<&'a str>,
    /// The model's number.
    pub model: Option<f64>,
    /// The number that ns-2 gives.
    pub ns2: Option<f64>,
    /// The accepted range.
    pub demand: (f64, f64),
    /// Digits after the point that are shown.
    pub digits: Option<u8>,
    /// Our number; `None` if this form does not measure it, or if there is none.
    pub ours: Option<Estimate>,
    /// Why some runs have no number; `None` if all have one, or if this form does not measure it.
    pub lacking: Option<String>,
    /// The verdict on the number; `None` if this form does not measure it.
    pub judgement: Option<Judgement>,
}

impl<'a> Plan<'a> {
    /// Judges each claim by `results`.
    ///
    /// # Errors
    /// A check's program is invalid.
    pub fn judge(&self, results: &Results) -> Result<Vec<Verdict<'a>>, Error> {
        let may_lack = results.partial || self.options().short;
        let judge = |(book, claim): &(&'a Book, &'a Claim)| {
            let refuse = |why: String| Error::Book {
                name: format!("{}.toml", book.paper.id),
                why: format!("the claim {}: {why}", claim.id),
            };
            let mut findings = Vec::new();
            for kind in &claim.vectors {
                findings.push(decisions(kind).map_err(refuse)?);
            }
            for check in &claim.checks {
                findings.push(self.finding(claim, check, results, may_lack).map_err(refuse)?);
            }
            Ok(Verdict { book, claim, basis: Basis::of(claim, self.experiments()), findings })
        };
        self.claims().iter().map(judge).collect()
    }

    fn finding(
        &self,
        claim: &Claim,
        check: &'a Check,
        results: &Results,
        may_lack: bool,
    ) -> Result<Finding<'a>, String> {
        let Values { numbers, nulls, lacking } = values(check, &self.rows_by_run(claim, results))?;
        if nulls > 0 && numbers.count() == 0 && lacking.is_none() && !may_lack {
            let Check { what, value, .. } = check;
            return Err(format!(
                "{what}: {value} gives no number in any run: the measure, or a key in it, does not exist"
            ));
        }
        // A short or interrupted form leaves out points that the program asks for.
        let lacking = lacking.filter(|_| !may_lack);
        let ours = (numbers.count() > 0).then(|| Estimate::new(numbers.mean(), numbers.ci95()));
        let judgement = match ours {
            // The runs that have a number are not a fair sample of all.
            Some(_) if lacking.is_some() => Some(Judgement::Undecided),
            Some(ours) => Some(Judgement::of(ours, check.demand, self.certainty(claim, check))),
            None if may_lack => None,
            None => Some(Judgement::Missed),
        };
        Ok(Finding {
            what: check.what.clone(),
            unit: &check.unit,
            paper: check.paper.as_deref(),
            model: check.model,
            ns2: check.ns2,
            demand: check.demand,
            digits: check.digits,
            ours,
            lacking,
            judgement,
        })
    }

    /// The rows of each run, of all experiments of the claim. An exact experiment has one run, which is combined with
    /// all others.
    fn rows_by_run<'r>(&self, claim: &Claim, results: &'r Results) -> Vec<Vec<&'r Row>> {
        let is_exact = |id: &str| self.experiments().any(|experiment| experiment.id == id && experiment.is_exact());
        let tables = claim.experiments.iter().filter_map(|id| Some((results.tables.get(id)?, is_exact(id))));
        by_run(&tables.collect::<Vec<_>>())
    }

    /// Returns whether the number of `check` is exact: by its own word, or since no experiment that it looks at has
    /// randomness.
    fn certainty(&self, claim: &Claim, check: &Check) -> Certainty {
        let named = check.at.as_ref().and_then(|at| at.get("experiment")).and_then(Value::as_str);
        let is_seen = |experiment: &&Experiment| {
            claim.experiments.contains(&experiment.id) && named.is_none_or(|named| named == experiment.id)
        };
        let is_random = self.experiments().filter(is_seen).any(|experiment| !experiment.is_exact());
        if check.exact || !is_random { Certainty::Exact } else { Certainty::Random }
    }
}

impl Verdict<'_> {
    /// The status: short if a number is missed, else undecided if one is; `None` if no experiment of the claim was run.
    #[must_use]
    pub fn status(&self) -> Option<Status> {
        if self.claim.status == Some(Status::Out) {
            return Some(Status::Out);
        }
        if self.findings.iter().all(|finding| finding.judgement.is_none()) {
            return None;
        }
        let has = |judgement| self.findings.iter().any(|finding| finding.judgement == Some(judgement));
        Some(match (has(Judgement::Missed), has(Judgement::Undecided)) {
            (true, _) => Status::Short,
            (false, true) => Status::Undecided,
            (false, false) => Status::Met,
        })
    }

    /// Number of checks that are met, and number of checks that were run.
    #[must_use]
    pub fn count(&self) -> (usize, usize) {
        let met = self.findings.iter().filter(|finding| finding.judgement == Some(Judgement::Met)).count();
        (met, self.findings.iter().filter(|finding| finding.judgement.is_some()).count())
    }
}

/// Compares a discipline's decisions with its definition.
fn decisions<'a>(kind: &str) -> Result<Finding<'a>, String> {
    let agreement = vectors::replay(kind)?;
    Ok(Finding {
        what: format!("decisions of {kind} as its definition has them, of {}", agreement.operations),
        unit: "",
        paper: None,
        model: None,
        ns2: None,
        demand: (agreement.operations as f64, agreement.operations as f64),
        digits: Some(0),
        ours: Some(Estimate::single(agreement.agreed as f64)),
        lacking: None,
        judgement: Some(if agreement.agreed == agreement.operations { Judgement::Met } else { Judgement::Missed }),
    })
}

/// The numbers that a check's program gives.
struct Values {
    /// One of each run that has one.
    numbers: Moments,
    /// The runs for which it gives something else, such as `null`.
    nulls: usize,
    /// Why other runs have none.
    lacking: Option<String>,
}

/// Evaluates the program of `check` for each of `runs`. A run without the point that the check names is passed over,
/// and one for which the program gives `null`: of two experiments one may have fewer runs.
fn values(check: &Check, runs: &[Vec<&Row>]) -> Result<Values, String> {
    let program = Expression::new(&check.value)?;
    let mut numbers = Moments::default();
    let (mut nulls, mut failures) = (0, Vec::new());
    for (run, rows) in runs.iter().enumerate() {
        let input = match &check.at {
            None => Some(Value::Array(rows.iter().copied().cloned().map(Value::Object).collect())),
            Some(at) => rows.iter().copied().find(|row| is_at(row, at)).cloned().map(Value::Object),
        };
        let Some(input) = input else { continue };
        match program.apply(&Input::new(&input)?) {
            Ok(given) => match given.as_ref().and_then(number) {
                Some(number) => numbers.push(number),
                None => nulls += 1,
            },
            Err(why) => failures.push((run, why)),
        }
    }
    let lacking = failures
        .first()
        .map(|(run, why)| format!("no number in {} of {} runs; in run {run}: {why}", failures.len(), runs.len()));
    Ok(Values { numbers, nulls, lacking })
}

/// The rows of each run of `tables`; the one run of an exact table, which says `true`, belongs to all.
fn by_run<'r>(tables: &[(&'r Table, bool)]) -> Vec<Vec<&'r Row>> {
    let runs = tables.iter().map(|(table, _)| table.runs()).max().unwrap_or(0);
    let of =
        |(table, is_exact): &(&'r Table, bool), run| table.run(if *is_exact { 0 } else { run }).collect::<Vec<_>>();
    (0..runs).map(|run| tables.iter().flat_map(|table| of(table, run)).collect()).collect()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        value => value.as_f64().filter(|number| number.is_finite()),
    }
}

/// The verdicts of one basis, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The basis.
    pub basis: Basis,
    /// Claims that are met.
    pub met: usize,
    /// Claims that fell short.
    pub short: usize,
    /// Claims that are not decided.
    pub undecided: usize,
}

/// Counts the verdicts by their basis. Claims that were not run are left out, and a basis without claims.
#[must_use]
pub fn tallies(verdicts: &[Verdict<'_>]) -> Vec<Tally> {
    let tally = |basis: Basis| {
        let count = |status| {
            verdicts.iter().filter(|verdict| verdict.basis == Some(basis) && verdict.status() == Some(status)).count()
        };
        Tally { basis, met: count(Status::Met), short: count(Status::Short), undecided: count(Status::Undecided) }
    };
    Basis::ALL.into_iter().map(tally).filter(|tally| tally.met + tally.short + tally.undecided > 0).collect()
}

#[cfg(test)]
mod tests {
    use fairlane_sim::Control;

    use super::*;
    use crate::{Library, Options};

    /// A book whose numbers are known by arithmetic.
    fn verdicts(checks: &str) -> Vec<(Option<Status>, Vec<Option<Judgement>>)> {
        let text = format!(
            r#"
            paper = {{ id = "p", title = "P", authors = "A", where = "W" }}
            experiments = [
              {{ id = "sums", about = ".", arithmetic = true, measures = {{ x = "2 * 3", y = "1 / 8" }} }},
              {{ id = "tails", about = ".", theory = {{ model = "choke" }}, vary.a = {{ key = "load", values = [1.0, 2.0] }},
                 short = {{ vary.a = [2.0] }}, measures = {{ share = ".share" }} }},
            ]
            [[claims]]
            id = "c"
            where = "here"
            says = "."
            experiments = ["sums", "tails"]
            status = "met"
            checks = [{checks}]
            "#
        );
        let library = Library::of(&[("p.toml", &text)]).unwrap_or_else(|error| panic!("{error}"));
        let claims = library.select(&["all".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
        [false, true]
            .map(|short| {
                let options = Options { short, runs: None };
                let plan = Plan::new(&library, claims.clone(), options).unwrap_or_else(|error| panic!("{error}"));
                let results = plan.execute(None, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
                let verdicts = plan.judge(&results).unwrap_or_else(|error| panic!("{error}"));
                (verdicts[0].status(), verdicts[0].findings.iter().map(|finding| finding.judgement).collect())
            })
            .into()
    }

    /// The one run of an exact experiment is combined with each run of the random ones; that of a random experiment, of
    /// which other runs are missing, is not.
    #[test]
    fn exact_rows_belong_to_all_runs() {
        let row = |run: u64| Row::from_iter([("run".to_owned(), Value::from(run))]);
        let table = |runs: u64| Table { rows: (0..runs).map(row).collect() };
        let (one, three) = (table(1), table(3));
        let seen = |is_exact: bool| -> Vec<Vec<u64>> {
            let rows = by_run(&[(&one, is_exact), (&three, false)]);
            rows.iter().map(|rows| rows.iter().filter_map(|row| row["run"].as_u64()).collect()).collect()
        };
        assert_eq!(seen(true), [vec![0, 0], vec![0, 1], vec![0, 2]]);
        assert_eq!(seen(false), [vec![0, 0], vec![1], vec![2]]);
    }

    #[test]
    fn what_is_asked_is_held_against_the_numbers() {
        let met = verdicts(
            r#"{ what = "a", at = { experiment = "sums" }, value = ".x", demand = [6, 6] },
               { what = "b", at = { a = 2.0 }, value = ".share", demand = [0.2506, 0.2508] },
               { what = "c", value = 'row({experiment: "sums"}).y < 0.2', demand = [1, 1] }"#,
        );
        assert_eq!(met[0], (Some(Status::Met), vec![Some(Judgement::Met); 3]));
        assert_eq!(met[1], met[0]);
    }

    #[test]
    fn a_miss_is_a_miss() {
        let short = verdicts(
            r#"{ what = "a", at = { experiment = "sums" }, value = ".x", demand = [-inf, 5.9] },
               { what = "b", at = { a = 2.0 }, value = ".share", demand = [0, inf] }"#,
        );
        assert_eq!(short[0], (Some(Status::Short), vec![Some(Judgement::Missed), Some(Judgement::Met)]));
    }

    /// A point that the short form leaves out is not judged there; in the full form a number that is not there is a
    /// miss.
    #[test]
    fn what_is_not_there() {
        let lacking = verdicts(
            r#"{ what = "a", at = { a = 1.0 }, value = ".share", demand = [0, 1] },
               { what = "b", at = { a = 3.0 }, value = ".share", demand = [0, 1] }"#,
        );
        assert_eq!(lacking[0], (Some(Status::Short), vec![Some(Judgement::Met), Some(Judgement::Missed)]));
        assert_eq!(lacking[1], (None, vec![None, None]));
    }

    /// Would catch a mean over the runs in which a program succeeds, and a plan that is lost by the others.
    #[test]
    fn a_number_that_some_runs_lack_is_not_decided() {
        let row = |run: u64, x: Value| Row::from_iter([("run".to_owned(), run.into()), ("x".to_owned(), x)]);
        let check: Check = toml::from_str("what = 'x'\nat = {}\nvalue = '.x + 1 < 3'\ndemand = [0, 1]")
            .unwrap_or_else(|error| panic!("{error}"));
        let (whole, broken) = (row(0, 1.into()), row(1, "none".into()));
        let values = values(&check, &[vec![&whole], vec![&broken]]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(values.numbers.count(), 1);
        let lacking = values.lacking.unwrap_or_default();
        assert!(lacking.starts_with("no number in 1 of 2 runs; in run 1: "), "{lacking}");
    }
}
