//! The claims as they are written: `claims/PAPER.toml`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;

/// Everything that is written about one paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The paper.
    pub paper: Paper,
    /// Where its numbers come from: each a table.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Pictures of those tables.
    #[serde(default)]
    pub figures: Vec<FigureText>,
    /// What the paper says, and what is asked of ours.
    pub claims: Vec<Claim>,
}

/// A paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name here, which is that of its file: `choke`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// Who wrote it.
    pub authors: String,
    /// Where it was published, and when.
    #[serde(rename = "where")]
    pub published: String,
}

/// An experiment: a table with a row for each point and run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name, which no other experiment has.
    pub id: String,
    /// What it is, in a sentence.
    pub about: String,
    /// A scenario that is simulated: the name of a file in `scenarios/`, without its ending.
    pub scenario: Option<String>,
    /// A question to the models, as `fairlane_theory::Question` reads it.
    pub theory: Option<BTreeMap<String, Value>>,
    /// A queue under Poisson arrivals with an exponential server, the models' own world.
    pub station: Option<BTreeMap<String, Value>>,
    /// Sums that need nothing but the paper's own numbers.
    #[serde(default)]
    pub arithmetic: bool,
    /// Settings put over the scenario.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// What is varied, by the names of the columns; all combinations are run.
    #[serde(default)]
    pub vary: BTreeMap<String, Axis>,
    /// The full form.
    #[serde(default)]
    pub full: Form,
    /// The short form, which takes seconds.
    #[serde(default)]
    pub short: Form,
    /// How often flows and queues are sampled, such as `100ms`; `.series` of a measure.
    pub series: Option<String>,
    /// The flows whose losses are noted; `.losses` of a measure.
    #[serde(default)]
    pub losses: Vec<String>,
    /// The numbers of a row: jq programs over what one run gave.
    #[serde(default)]
    pub measures: BTreeMap<String, String>,
}

/// What is varied under one name.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key of the scenario or of the question; without one each value says what it sets.
    pub key: Option<String>,
    /// The values, in order.
    pub values: Vec<Choice>,
}

/// A value of an axis.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Choice {
    /// Several settings under one name.
    Named(Named),
    /// The value of the axis' key.
    Value(Value),
}

/// Several settings under one name.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The settings.
    pub set: BTreeMap<String, Value>,
}

/// How much of an experiment is run.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Runs, each with traffic of its own; 5 unless said otherwise, 1 where nothing is random.
    pub runs: Option<u32>,
    /// Settings put over the experiment's.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Of an axis only these values, by their names.
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<Value>>,
}

/// A figure of the report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureText {
    /// Its name, which no other figure has.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: AxisText,
    /// The vertical axis.
    pub y: AxisText,
    /// Bars side by side instead of lines.
    #[serde(default)]
    pub bars: bool,
    /// What is drawn.
    #[serde(default)]
    pub lines: Vec<LineText>,
    /// What the paper says, drawn as points.
    #[serde(default)]
    pub paper: Vec<PaperLine>,
}

/// An axis of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisText {
    /// What it is.
    pub label: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The place of a row on it: jq over the row. Of the horizontal axis only.
    pub value: Option<String>,
    /// Equal factors are equally far apart.
    #[serde(default)]
    pub log: bool,
}

/// A line of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineText {
    /// The experiment whose table it is drawn from.
    pub experiment: String,
    /// Its name in the legend.
    pub name: String,
    /// Which rows: jq over the row, true or false; all without it.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The height of a row, jq over the row: a number; or pairs of numbers `[[x, y], …]`, a whole line from one row.
    pub y: String,
}

/// What the paper's figure shows, as far as its text or its tables say it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperLine {
    /// Its name in the legend.
    pub name: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// Something that a paper says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name, which no other claim has.
    pub id: String,
    /// Where in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// What the paper says, in our words with its numbers.
    pub says: String,
    /// The experiments whose rows the checks see.
    #[serde(default)]
    pub experiments: Vec<String>,
    /// The figure that belongs to it.
    pub figure: Option<String>,
    /// Disciplines whose conformance vectors must agree decision by decision.
    #[serde(default)]
    pub vectors: Vec<String>,
    /// How it stood at the last full run.
    pub status: Status,
    /// Differences explained: what was left open, what was varied and what that changed.
    #[serde(default)]
    pub remark: String,
    /// What is asked of our numbers.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// How a claim stands.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every check is met.
    Met,
    /// A check is missed.
    Short,
    /// There is nothing to run.
    Out,
}

/// A number and what is asked of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// What the number is.
    pub what: String,
    /// The point whose row is looked at; without it all rows of a run are.
    pub at: Option<BTreeMap<String, Value>>,
    /// The number: jq over the row, or over the array of all rows.
    pub value: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// What the paper has, as it has it.
    pub paper: Option<String>,
    /// What the model says.
    pub model: Option<f64>,
    /// What ns-2 gives for it.
    pub ns2: Option<f64>,
    /// Where the number must lie; its 95 % interval must reach into it.
    pub demand: (f64, f64),
    /// The number itself must lie there, whatever its interval.
    #[serde(default)]
    pub exact: bool,
    /// Digits after the point that are shown; as many as are worth it without.
    pub digits: Option<u8>,
}

impl Book {
    /// Reads a book; `name` is that of its file, for errors.
    ///
    /// # Errors
    /// It is not TOML, a key is unknown, missing or of the wrong type.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error| Error::Book { name: name.to_owned(), why: error.to_string() })
    }
}

impl Choice {
    /// How the value is called: its name, or the value itself.
    #[must_use]
    pub fn name(&self) -> Value {
        match self {
            Self::Named(named) => Value::String(named.name.clone()),
            Self::Value(value) => value.clone(),
        }
    }
}
