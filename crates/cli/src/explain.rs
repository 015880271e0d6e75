//! `fairlane explain` and `fairlane qdiscs`: one discipline with its parameters, and the list of all disciplines.

use fairlane_console::explain::{config, explanation_text, kind_text};
use fairlane_console::floods::{self, Finding, Mix};
use fairlane_console::layout::{columns, paragraph};
use fairlane_console::{Failure, costs, output};
use fairlane_qdisc::{Explanation, Kind, Origin, Parameter, Rate, Resolved};
use serde_json::{Value, json};

use crate::args::{ExplainArgs, QdiscsArgs};
use crate::shared;

/// Prints one discipline with every parameter as it will be used.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let mut explanation = config(args.kind, &args.parameters)
        .and_then(|config| config.explain(args.rate))
        .map_err(|error| Failure::plain(format!("{} {error}", args.kind)))?;
    if args.rtt.is_some() || args.flows.is_some() {
        add_flood(&mut explanation, args);
    }
    if args.form.json {
        output::print_json(&explanation_json(&explanation, args.rate))
    } else {
        output::print(&explanation_text(&explanation, args.rate, output::width()))
    }
}

/// Adds what a flood keeps beside the flows that `args` tell.
fn add_flood(explanation: &mut Explanation, args: &ExplainArgs) {
    let mix = Mix { rate: args.rate, rtt: args.rtt, flows: args.flows };
    match floods::find(args.kind, &mix) {
        Some(Finding::Fair(text)) => explanation.consequences.push(text),
        Some(Finding::Unfair(text)) => explanation.warnings.push(text),
        None => explanation.consequences.push(format!(
            "what a flood keeps under {0} is not known: fairlane compare scenarios/flood.toml --queue {0} finds it",
            args.kind
        )),
    }
}

/// Prints the requested disciplines in full, or the list of all.
pub(crate) fn list(args: &QdiscsArgs) -> Result<(), Failure> {
    let (kinds, width) = (shared::kinds(&args.kinds), output::width());
    if args.form.json {
        let kinds = if kinds.is_empty() { Kind::ALL.to_vec() } else { kinds };
        output::print_json(&kinds.into_iter().map(kind_json).collect::<Vec<Value>>())
    } else if kinds.is_empty() {
        let rows = Kind::ALL.map(|kind| [kind.name().to_owned(), kind.summary().to_owned()]);
        let more =
            "fairlane qdiscs KIND shows one with its source and parameters, fairlane explain KIND as it would be used.";
        output::print(&(columns(&rows, width) + &paragraph(more, "\n", "", width)))
    } else {
        output::print(&kinds.into_iter().map(|kind| kind_text(kind, width)).collect::<Vec<_>>().join("\n"))
    }
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
        "cost_ns": costs::of(kind).map(|cost| json!({ "33_flows": cost.few.ns, "10001_flows": cost.many.ns })),
        "cost_instructions": costs::of(kind)
            .map(|cost| json!({ "33_flows": cost.few.instructions, "10001_flows": cost.many.instructions })),
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
