//! The properties of a scenario that a page needs before it draws the scenario.

use fairlane_qdisc::{Kind, Reason};
use fairlane_scenario::{BUNDLED, Scenario};
use serde_json::{Value, json};

use crate::request::Request;

/// Returns the description of a scenario that is about to run: its groups of flows, its first queue, and its values.
pub(crate) fn scenario(request: &Request, scenario: &Scenario, duration_s: f64) -> Value {
    let fair = scenario.fair_rates();
    let groups: Vec<Value> = scenario
        .flows
        .iter()
        .zip(fair)
        .map(|(group, fair_bps)| {
            json!({
                "name": group.name,
                "kind": group.traffic.kind(),
                "transport": group.traffic.to_string(),
                "flows": group.count,
                "fair_bps": fair_bps,
            })
        })
        .collect();
    let link = scenario.links.first();
    let explained = link.map(|link| link.forward.queue.explanation());
    let parameters: serde_json::Map<String, Value> = explained
        .into_iter()
        .flat_map(|explained| &explained.parameters)
        .map(|resolved| (resolved.key.to_owned(), resolved.value.as_str().into()))
        .collect();
    json!({
        "name": scenario.name,
        "duration_s": duration_s,
        "warmup_s": scenario.warmup.as_secs(),
        "link": link.map(|link| link.name.as_str()),
        "rate_bps": link.map(|link| link.forward.rate.bits_per_second()),
        "kind": link.map(|link| link.forward.queue.kind().name()),
        "warnings": explained.map(|explained| &explained.warnings),
        "parameters": parameters,
        "groups": groups,
        "document": request.document().to_table(),
    })
}

/// Returns the description of what does not depend on a scenario: disciplines, reasons, and the scenarios that are
/// compiled in.
pub(crate) fn constants() -> Value {
    let kinds: Vec<Value> =
        Kind::ALL.iter().map(|kind| json!({ "name": kind.name(), "summary": kind.summary() })).collect();
    let reasons: Vec<&str> = Reason::ALL.iter().map(|reason| reason.name()).collect();
    let scenarios: Vec<Value> =
        BUNDLED.iter().map(|bundled| json!({ "name": bundled.name, "text": bundled.text })).collect();
    json!({ "kinds": kinds, "reasons": reasons, "scenarios": scenarios })
}
