//! Disciplines explained: their summary, their cost, and every parameter as it will be used.

use fairlane_qdisc::{
    Explanation, FlowState, Kind, Origin, Parameter, ParameterError, QdiscParameters, Rate, Resolved,
};

use crate::costs::{self, Cost};
use crate::layout::{columns, paragraph};
use crate::values::Setting;

/// Returns the parameters of `kind` that the command line gives.
///
/// # Errors
/// The discipline has no such parameter, or the value is none of the parameter's.
pub fn config<'a>(
    kind: Kind,
    parameters: impl IntoIterator<Item = &'a Setting>,
) -> Result<QdiscParameters, ParameterError> {
    let with = |config: QdiscParameters, setting: &Setting| config.with(&setting.key, &*setting.value);
    parameters.into_iter().try_fold(QdiscParameters::new(kind), with)
}

/// Returns the discipline with every parameter as it will be used on a link of `rate`, in lines of `width` columns.
#[must_use]
pub fn explanation_text(explanation: &Explanation, rate: Rate, width: usize) -> String {
    let kind = explanation.kind;
    let mut text = heading(kind, &format!("{kind} on a link of {rate}"), width);
    let rows: Vec<[String; 3]> = explanation.parameters.iter().map(row).collect();
    text += "\n";
    text += &columns(&rows, width);
    for (title, lines) in [("Consequences", &explanation.consequences), ("Warnings", &explanation.warnings)] {
        if !lines.is_empty() {
            text += &format!("\n{title}\n");
            text.extend(lines.iter().map(|line| paragraph(line, "  - ", "    ", width)));
        }
    }
    text
}

/// The name, summary, source and cost of a discipline.
fn heading(kind: Kind, title: &str, width: usize) -> String {
    let mut text = format!("{title}\n");
    text += &paragraph(kind.summary(), "  ", "  ", width);
    text += &paragraph(&source(kind), "  Source: ", "    ", width);
    text += &paragraph(kind.needs(), "  Scheduler state: ", "    ", width);
    text += &paragraph(by_flow(kind), "  Per-flow state: ", "    ", width);
    if let Some(cost) = costs::of(kind) {
        let Cost { few, many } = cost;
        let words = format!(
            "{} instructions a packet with 33 flows and 1,000 packets in the queue, {} with 10,001 and 10,000; {} ns and {} ns ({})",
            few.instructions,
            many.instructions,
            few.ns,
            many.ns,
            costs::machine()
        );
        text += &paragraph(&words, "  Costs: ", "    ", width);
    }
    if kind.is_experimental() {
        text += &paragraph(
            "its publication leaves much open, and this is one reading of it",
            "  Experimental: ",
            "    ",
            width,
        );
    }
    text
}

/// The memory that each flow takes.
const fn by_flow(kind: Kind) -> &'static str {
    match kind.flow_state() {
        FlowState::None => "none",
        FlowState::Fixed => "a part of a table of fixed size (a parameter)",
        FlowState::Queued => "an entry while packets of the flow are queued",
        FlowState::Seen => "an entry while the flow was seen recently",
        _ => "see its page",
    }
}

fn source(kind: Kind) -> String {
    match kind.year() {
        Some(year) if !kind.source().contains(&year.to_string()) => format!("{}, {year}", kind.source()),
        _ => kind.source().to_owned(),
    }
}

/// The key, the value, and below each other its origin and its meaning.
fn row(parameter: &Resolved) -> [String; 3] {
    let from = match parameter.origin {
        Origin::Given => "given".to_owned(),
        Origin::Default(why) => format!("default: {why}"),
        Origin::Derived(rule) => format!("derived: {rule}"),
    };
    [parameter.key.to_owned(), parameter.value.clone(), format!("{from}\n{}", parameter.meaning)]
}

/// Returns the discipline with its parameters and their defaults, in lines of `width` columns.
#[must_use]
pub fn kind_text(kind: Kind, width: usize) -> String {
    let rows: Vec<[String; 2]> = kind.parameters().iter().map(parameter_row).collect();
    heading(kind, kind.name(), width) + &columns(&rows, width)
}

fn parameter_row(parameter: &Parameter) -> [String; 2] {
    let takes = parameter.domain.describe();
    [parameter.key.to_owned(), format!("{}; {takes} (default {})", parameter.meaning, parameter.default)]
}
