//! `fairlane qdiscs`: the list of disciplines, or some in full.

use fairlane_console::explain::kind_text;
use fairlane_console::layout::{columns, paragraph};
use fairlane_console::{Failure, costs, output};
use fairlane_qdisc::{Kind, Parameter};
use serde_json::{Value, json};

use crate::args::qdiscs::QdiscsArgs;
use crate::shared;

/// Prints the requested disciplines in full, or the list of all.
pub(crate) fn execute(args: &QdiscsArgs) -> Result<(), Failure> {
    let (kinds, width) = (shared::kinds(&args.kinds), output::width());
    if args.form.json {
        let kinds = if kinds.is_empty() { Kind::ALL.to_vec() } else { kinds };
        output::print_json(&kinds.into_iter().map(kind_json).collect::<Vec<Value>>())
    } else if kinds.is_empty() {
        let mark = |kind: Kind| if kind.is_experimental() { " (experimental)" } else { "" };
        let rows = Kind::ALL.map(|kind| [kind.name().to_owned(), format!("{}{}", kind.summary(), mark(kind))]);
        let more =
            "fairlane qdiscs KIND shows one with its source and parameters, fairlane explain KIND as it would be used.";
        output::print(&(columns(&rows, width) + &paragraph(more, "\n", "", width)))
    } else {
        output::print(&kinds.into_iter().map(|kind| kind_text(kind, width)).collect::<Vec<_>>().join("\n"))
    }
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
