//! The format of the claims, `claims/PAPER.toml`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toml::de::DeTable;

use crate::Error;

/// The file of one paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// The paper.
    pub paper: Paper,
    /// The experiments: each produces a table.
    #[serde(default)]
    pub experiments: Vec<Experiment>,
    /// Pictures of those tables.
    #[serde(default)]
    pub figures: Vec<FigureText>,
    /// Tables of those experiments, with a line and a column for each value of two axes.
    #[serde(default)]
    pub tables: Vec<CrossText>,
    /// The claims of the paper, with the checks of our numbers.
    pub claims: Vec<Claim>,
}

/// A paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its identifier, which is the name of its file: `choke`.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The authors.
    pub authors: String,
    /// Place and year of publication.
    #[serde(rename = "where")]
    pub published: String,
    /// The choices that the paper leaves open, though its results depend on them.
    #[serde(default)]
    pub open: Vec<Open>,
}

/// Something that a paper leaves open.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// The choice that the paper leaves open.
    pub what: String,
    /// Our choice, and the effect of another one.
    pub chosen: String,
}

/// An experiment: a table with a row for each point and run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its unique name.
    pub id: String,
    /// A description in one sentence.
    pub about: String,
    /// A scenario to simulate: the name of a file in `scenarios/`, without its extension; in a claims file of one's own
    /// also the name of a scenario file, from the folder of the claims file.
    pub scenario: Option<String>,
    /// A question to the models, as `fairlane_theory::Question` reads it.
    pub theory: Option<BTreeMap<String, Value>>,
    /// A queue under Poisson arrivals with an exponential server, as the models assume.
    pub station: Option<BTreeMap<String, Value>>,
    /// Arithmetic on the paper's own numbers, without an experiment.
    #[serde(default)]
    pub arithmetic: bool,
    /// Changes of the scenario.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// The varied quantities, by the names of the columns; all combinations are run.
    #[serde(default)]
    pub vary: BTreeMap<String, Axis>,
    /// The full form.
    #[serde(default)]
    pub full: Form,
    /// The short form, which takes seconds.
    #[serde(default)]
    pub short: Form,
    /// Interval at which flows and queues are sampled, such as `100ms`; `.series` of a measure.
    pub series: Option<String>,
    /// The flows whose losses are recorded; `.losses` of a measure.
    #[serde(default)]
    pub losses: Vec<String>,
    /// The numbers of a row: jq programs over the results of one run.
    #[serde(default)]
    pub measures: BTreeMap<String, String>,
    /// The claims file and its line, if it is not one of this crate.
    #[serde(skip)]
    pub(crate) place: Option<Place>,
}

/// A place in a claims file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) file: PathBuf,
    pub(crate) line: usize,
}

/// One varied quantity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Axis {
    /// The key of the scenario or of the question; without one each value has its own settings.
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

/// The extent of an experiment.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    /// Number of runs with independent traffic; 5 by default, 1 for experiments without randomness.
    pub runs: Option<u32>,
    /// Further changes, after those of the experiment.
    #[serde(default)]
    pub set: BTreeMap<String, String>,
    /// Restricts an axis to these values, by their names.
    #[serde(default)]
    pub vary: BTreeMap<String, Vec<Value>>,
}

/// A figure of the report.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureText {
    /// Its unique name.
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
    /// The lines of the figure.
    #[serde(default)]
    pub lines: Vec<LineText>,
    /// The paper's numbers, drawn as points.
    #[serde(default)]
    pub paper: Vec<PaperLine>,
}

/// A table of an experiment by two of its axes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrossText {
    /// Its unique name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The experiment whose rows it shows.
    pub experiment: String,
    /// The axis with a line for each of its values.
    pub lines: String,
    /// The axis with a column for each of its values.
    pub columns: String,
    /// A cell: jq over the list of the runs' rows there; a text, or a number, which is shown with two digits after the
    /// point.
    pub cell: String,
}

/// An axis of a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AxisText {
    /// The label.
    pub label: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The position of a row on the horizontal axis: jq over the row.
    pub value: Option<String>,
    /// True for a logarithmic axis.
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
    /// Selects rows: jq over the row, true or false; all rows without it.
    #[serde(rename = "where")]
    pub condition: Option<String>,
    /// The height of a row, jq over the row: a number; or pairs of numbers `[[x, y], …]`, a whole line from one row.
    pub y: String,
}

/// Points of the paper's figure, as far as its text or its tables contain them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaperLine {
    /// Its name in the legend.
    pub name: String,
    /// The points.
    pub points: Vec<(f64, f64)>,
}

/// A claim of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its unique name.
    pub id: String,
    /// The place in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The claim, in our words with the paper's numbers.
    pub says: String,
    /// The experiments whose rows the checks see.
    #[serde(default)]
    pub experiments: Vec<String>,
    /// The figure that belongs to it.
    pub figure: Option<String>,
    /// Disciplines whose conformance vectors must agree decision by decision.
    #[serde(default)]
    pub vectors: Vec<String>,
    /// The status at the last full run; `None` if there was none.
    pub status: Option<Status>,
    /// Differences explained: the open choices, the variations and their effects.
    #[serde(default)]
    pub remark: String,
    /// The checks of our numbers.
    #[serde(default)]
    pub checks: Vec<Check>,
}

/// The status of a claim.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, Hash)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Every check is met.
    Met,
    /// A check is missed.
    Short,
    /// No check is missed, but the interval of one is too wide to judge it.
    Undecided,
    /// The claim is not testable.
    Out,
}

/// A number, and the demand on it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// The quantity.
    pub what: String,
    /// The point whose row is looked at; without it all rows of a run are.
    pub at: Option<BTreeMap<String, Value>>,
    /// The number: jq over the row, or over the array of all rows.
    pub value: String,
    /// Its unit.
    #[serde(default)]
    pub unit: String,
    /// The paper's number, as it is printed there.
    pub paper: Option<String>,
    /// The model's number.
    pub model: Option<f64>,
    /// The number that ns-2 gives.
    pub ns2: Option<f64>,
    /// The accepted range, in which the mean must lie; [`crate::Judgement`] tells how wide its interval may be.
    pub demand: (f64, f64),
    /// The mean alone is judged, without its interval.
    #[serde(default)]
    pub exact: bool,
    /// Digits after the point that are shown; as many as are worth it without.
    pub digits: Option<u8>,
}

impl Book {
    /// Reads a book; `name` is that of its file, for errors.
    ///
    /// # Errors
    /// The text is not TOML, or a key is unknown, missing or of the wrong type.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let place = format!("{name}:{}:{column}", before.matches('\n').count() + 1);
            Error::Book { name: place, why: error.message().trim_end().replace('\n', ", ") }
        })
    }
}

/// Returns the line of the table of the list `list` whose `id` this is, counted from 1.
pub(crate) fn line_of(text: &str, list: &str, id: &str) -> Option<usize> {
    let parsed = DeTable::parse(text).ok()?;
    let items = parsed.get_ref().get(list)?.get_ref().as_array()?;
    let place = items.iter().find_map(|item| {
        let value = item.get_ref().as_table()?.get("id")?;
        (value.get_ref().as_str() == Some(id)).then(|| value.span().start)
    })?;
    Some(text.get(..place)?.matches('\n').count() + 1)
}

impl Choice {
    /// The name of the value: the one given, or the value itself.
    #[must_use]
    pub fn name(&self) -> Value {
        match self {
            Self::Named(named) => Value::String(named.name.clone()),
            Self::Value(value) => value.clone(),
        }
    }
}
