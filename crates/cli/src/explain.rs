//! `fairlane explain` and `fairlane qdiscs`: one discipline with its parameters, and the list of all disciplines.

use fairlane_console::explain::{config, explanation_text, kind_text};
use fairlane_console::{Failure, costs, output};
use fairlane_qdisc::{Explanation, Kind, Origin, Parameter, Rate, Resolved};
use serde_json::{Value, json};

use crate::args::{ExplainArgs, QdiscsArgs};

/// Prints one discipline with every parameter as it will be used.
pub(crate) fn explain(args: &ExplainArgs) -> Result<(), Failure> {
    let explanation = config(args.kind, &args.parameters)
        .and_then(|config| config.explain(args.rate))
        .map_err(|error| Failure::plain(format!("{} {error}", args.kind)))?;
    if args.form.json {
        output::print_json(&explanation_json(&explanation, args.rate))
    } else {
        output::print(&explanation_text(&explanation, args.rate, output::width()))
    }
}

/// Prints every discipline.
pub(crate) fn list(args: &QdiscsArgs) -> Result<(), Failure> {
    if args.form.json {
        let kinds: Vec<Value> = Kind::ALL.into_iter().map(kind_json).collect();
        output::print_json(&kinds)
    } else {
        let width = output::width();
        output::print(&Kind::ALL.map(|kind| kind_text(kind, width)).join("\n"))
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
