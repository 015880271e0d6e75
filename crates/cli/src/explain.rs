//! `fairlane explain` and `fairlane qdiscs`: the disciplines themselves.

use fairlane_qdisc::{Explanation, FlowState, Kind, Origin, Parameter, ParameterError, QdiscConfig, Rate, Resolved};
use serde_json::{Value, json};

use crate::args::{Explain, Qdiscs, Setting};
use crate::costs::{self, Cost};
use crate::error::Failure;
use crate::layout::{columns, paragraph};
use crate::output;

/// Prints one discipline with every parameter as it will be used.
pub(crate) fn explain(args: &Explain) -> Result<(), Failure> {
    let explanation = config(args.kind, &args.parameters)
        .and_then(|config| config.explain(args.rate))
        .map_err(|error| Failure::plain(format!("{} {error}", args.kind)))?;
    if args.form.json {
        output::print_json(&explanation_json(&explanation, args.rate))
    } else {
        output::print(&explanation_text(&explanation, args.rate, output::terminal().width))
    }
}

/// Prints every discipline.
pub(crate) fn list(args: &Qdiscs) -> Result<(), Failure> {
    if args.form.json {
        let kinds: Vec<Value> = Kind::ALL.into_iter().map(kind_json).collect();
        output::print_json(&kinds)
    } else {
        let width = output::terminal().width;
        output::print(&Kind::ALL.map(|kind| kind_text(kind, width)).join("\n"))
    }
}

/// The discipline with the parameters of the command line.
pub(crate) fn config<'a>(
    kind: Kind,
    parameters: impl IntoIterator<Item = &'a Setting>,
) -> Result<QdiscConfig, ParameterError> {
    let with = |config: QdiscConfig, setting: &Setting| config.with(&setting.key, &*setting.value);
    parameters.into_iter().try_fold(QdiscConfig::new(kind), with)
}

/// A discipline with every parameter as it will be used, to be read.
pub(crate) fn explanation_text(explanation: &Explanation, rate: Rate, width: usize) -> String {
    let kind = explanation.kind;
    let mut text = heading(kind, &format!("{kind} on a link of {rate}"), width);
    let rows: Vec<[String; 3]> = explanation.parameters.iter().map(row).collect();
    text += "\n";
    text += &columns(&rows, width);
    for (title, lines) in [("What follows", &explanation.consequences), ("What looks wrong", &explanation.warnings)] {
        if !lines.is_empty() {
            text += &format!("\n{title}\n");
            text.extend(lines.iter().map(|line| paragraph(line, "  - ", "    ", width)));
        }
    }
    text
}

/// A discipline in a few words.
fn heading(kind: Kind, title: &str, width: usize) -> String {
    let mut text = format!("{title}\n");
    text += &paragraph(kind.summary(), "  ", "  ", width);
    text += &paragraph(&source(kind), "  Source: ", "    ", width);
    text += &paragraph(kind.needs(), "  Keeps: ", "    ", width);
    text += &paragraph(by_flow(kind), "  Of each flow: ", "    ", width);
    if let Some(cost) = costs::of(kind) {
        let Cost { few_ns, many_ns } = cost;
        let words = format!("{few_ns} ns a packet with 33 flows, {many_ns} ns with 10,001 ({})", costs::machine());
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

/// How what a discipline keeps grows with the number of flows.
const fn by_flow(kind: Kind) -> &'static str {
    match kind.flow_state() {
        FlowState::None => "nothing",
        FlowState::Fixed => "a share of a table whose size the parameters set",
        FlowState::Queued => "something while packets of it are queued",
        FlowState::Seen => "something while it was seen lately",
        _ => "see its page",
    }
}

fn source(kind: Kind) -> String {
    match kind.year() {
        Some(year) if !kind.source().contains(&year.to_string()) => format!("{}, {year}", kind.source()),
        _ => kind.source().to_owned(),
    }
}

/// Key, value, and under each other where the value comes from and what it means.
fn row(parameter: &Resolved) -> [String; 3] {
    let from = match parameter.origin {
        Origin::Given => "given".to_owned(),
        Origin::Default(why) => format!("default: {why}"),
        Origin::Derived(rule) => format!("derived: {rule}"),
    };
    [parameter.key.to_owned(), parameter.value.clone(), format!("{from}\n{}", parameter.meaning)]
}

fn kind_text(kind: Kind, width: usize) -> String {
    let rows: Vec<[String; 2]> = kind.parameters().iter().map(parameter_row).collect();
    heading(kind, kind.name(), width) + &columns(&rows, width)
}

fn parameter_row(parameter: &Parameter) -> [String; 2] {
    let takes = parameter.domain.describe();
    [parameter.key.to_owned(), format!("{}; {takes} (default {})", parameter.meaning, parameter.default)]
}

fn explanation_json(explanation: &Explanation, rate: Rate) -> Value {
    let parameters: Vec<Value> = explanation.parameters.iter().map(resolved_json).collect();
    json!({
        "kind": explanation.kind.name(),
        "rate": rate.to_string(),
        "parameters": parameters,
        "consequences": explanation.consequences,
        "warnings": explanation.warnings,
    })
}

fn resolved_json(parameter: &Resolved) -> Value {
    let (origin, why) = match parameter.origin {
        Origin::Given => ("given", None),
        Origin::Default(why) => ("default", Some(why)),
        Origin::Derived(rule) => ("derived", Some(rule)),
    };
    json!({
        "key": parameter.key,
        "value": parameter.value,
        "origin": origin,
        "why": why,
        "meaning": parameter.meaning,
    })
}

fn kind_json(kind: Kind) -> Value {
    let parameters: Vec<Value> = kind.parameters().iter().map(parameter_json).collect();
    json!({
        "kind": kind.name(),
        "summary": kind.summary(),
        "source": kind.source(),
        "year": kind.year(),
        "state": kind.needs(),
        "flow_state": kind.flow_state().name(),
        "experimental": kind.is_experimental(),
        "cost_ns": costs::of(kind).map(|cost| json!({ "33_flows": cost.few_ns, "10001_flows": cost.many_ns })),
        "parameters": parameters,
    })
}

fn parameter_json(parameter: &Parameter) -> Value {
    json!({
        "key": parameter.key,
        "takes": parameter.domain.describe(),
        "default": parameter.default,
        "meaning": parameter.meaning,
    })
}
