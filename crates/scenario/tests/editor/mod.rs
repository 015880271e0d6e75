//! Checks a file against the schema, as editors do.

use std::sync::LazyLock;

use boon::{Compiler, SchemaIndex, Schemas};
use fairlane_scenario::{Scenario, ScenarioError};

static SCHEMA: LazyLock<(Schemas, SchemaIndex)> = LazyLock::new(|| {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("scenario.json", fairlane_scenario::schema()).expect("a resource");
    let index = compiler.compile("scenario.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
    (schemas, index)
});

/// Parts of the reader's errors that are beyond a schema, and why.
const BEYOND: &[(&str, &str)] = &[
    ("\" is out of range", "range"),
    ("is not a size of a buffer", "range"),
    ("the most is", "range"),
    ("is the most", "range"),
    ("is the least", "range"),
    ("is the largest mean", "range"),
    ("at most 255 are allowed", "range"),
    ("less than a nanosecond apart", "range"),
    ("which is longer than an on period", "range"),
    ("is not above the bit rate before", "order"),
    ("is not after", "order"),
    ("the first step is at", "order"),
    ("ends before it begins", "order"),
    ("is after the end", "order"),
    ("is above max", "order"),
    ("which is more than max_rto", "order"),
    ("leaves nothing to measure", "order"),
    ("is more than the delay", "order"),
    ("does not hold two segments", "order"),
    ("leave no room for a segment", "order"),
    ("and this one has both", "alternatives"),
    ("`from` and `to` go together", "alternatives"),
    ("`steps` is missing", "alternatives"),
    ("`rate` or `probability` is missing", "alternatives"),
    ("`sigma` is missing", "condition"),
    ("does not apply to these sizes", "condition"),
    ("without jitter nothing is reordered", "condition"),
    ("opportunities are lines of a mahimahi trace", "condition"),
    ("begins again at its last line", "condition"),
    ("there is no score that it belongs to", "condition"),
    ("has no jitter buffer", "condition"),
    ("a call is UDP at a constant rate", "condition"),
    ("this traffic cannot have phases", "condition"),
    ("goes by ECN marks", "condition"),
    ("always paces", "condition"),
    ("the loss recovery of", "condition"),
    ("has its own slow start", "condition"),
    ("has no slow start", "condition"),
    ("has no `ledbat_", "condition"),
    ("the link stops for good", "sum"),
    ("flows in all", "sum"),
    ("are not whole browsers", "sum"),
    ("there is already a", "names"),
    ("there is no node", "names"),
    ("begins and ends at", "names"),
    ("begin and end at the same node", "names"),
    ("the path visits", "names"),
    ("a path names two nodes at least", "names"),
    ("no link joins", "names"),
    ("no links lead from", "names"),
    ("cannot be opened", "file"),
    ("the times must not fall", "file"),
];

/// Fails unless the schema accepts what the reader has accepted, and refuses what it has refused unless that is beyond
/// it.
pub(crate) fn agrees(text: &str, read: &Result<Scenario, ScenarioError>) {
    // Text that is not TOML has no values to check.
    let Ok(file) = text.parse::<toml::Table>() else { return };
    let file = serde_json::to_value(file).expect("a table is an object");
    let (schemas, index) = &*SCHEMA;
    match (schemas.validate(&file, *index), read) {
        (Err(refused), Ok(_)) => panic!("{text}\n{refused:#}"),
        (Ok(()), Err(error)) if !is_beyond(error) => panic!("the schema accepts what is refused: {error}"),
        _ => {}
    }
}

fn is_beyond(error: &ScenarioError) -> bool {
    let shown = error.to_string();
    BEYOND.iter().any(|(part, _)| shown.contains(part))
}
