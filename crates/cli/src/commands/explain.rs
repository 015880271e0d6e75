//! `fairlane explain`: one discipline with its parameters.

use fairlane_console::explain::{config, explanation_text};
use fairlane_console::floods::{self, Finding, Mix};
use fairlane_console::{Failure, output};
use fairlane_qdisc::{Explanation, Origin, Rate, Resolved};
use fairlane_scenario::shared_queues;
use serde_json::{Value, json};

use crate::args::explain::ExplainArgs;

/// Prints one discipline with every parameter as it will be used.
pub(crate) fn execute(args: &ExplainArgs) -> Result<(), Failure> {
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

/// Adds the part of the link that a flood keeps in competition with the flows of `args`, and how evenly a table of
/// queues serves them.
fn add_flood(explanation: &mut Explanation, args: &ExplainArgs) {
    let shared = args.flows.and_then(|flows| shared_queues(explanation, u64::from(flows)));
    explanation.warnings.extend(shared);
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
