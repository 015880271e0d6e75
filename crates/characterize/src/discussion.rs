//! The sections that are discussions: scheduling, cost, and control by the operator.

use fairlane_qdisc::{FlowState, Kind, Origin, Rate};

use crate::settings::Subject;

/// Returns sentences about `subject` on a link of `rate`; `topic` is that of the checklist.
pub(crate) fn sentences(topic: &str, subject: &Subject, rate: Rate) -> Vec<String> {
    let kind = subject.parameters.kind();
    match topic {
        "scheduling" => scheduling(kind),
        "cost" => cost(subject),
        _ => operator(subject, rate),
    }
}

fn scheduling(kind: Kind) -> Vec<String> {
    let combined = match kind.flow_state() {
        FlowState::None => {
            "it keeps no state of flows, so that it can be the queue of each class or flow of a scheduler"
        }
        _ => "it keeps state of flows, so that a scheduler of classes can have one for each class",
    };
    vec![
        format!("What it does: {}.", kind.summary()),
        format!("Combination: {combined}."),
        "The table of drops by their reasons, below the measurements, tells whether packets are dropped as they arrive or as they leave."
            .to_owned(),
    ]
}

fn cost(subject: &Subject) -> Vec<String> {
    let kind = subject.parameters.kind();
    let by_flow = match kind.flow_state() {
        FlowState::None => "nothing",
        FlowState::Fixed => "a share of a table whose size the parameters set",
        FlowState::Queued => "something while packets of it are queued",
        _ => "something while it was seen lately",
    };
    let mut sentences = vec![format!("It keeps {}.", kind.needs()), format!("Of each flow it keeps {by_flow}.")];
    sentences.extend(subject.cost.clone());
    sentences.push(format!("Algorithm: {}.", kind.source().trim_end_matches('.')));
    sentences
}

fn operator(subject: &Subject, rate: Rate) -> Vec<String> {
    let explanation = match subject.parameters.explain(rate) {
        Ok(explanation) => explanation,
        Err(error) => return vec![format!("Its parameters contradict each other: {error}.")],
    };
    let of = |wanted: fn(&Origin) -> bool| {
        let chosen = explanation.parameters.iter().filter(|parameter| wanted(&parameter.origin));
        let shown: Vec<String> = chosen.map(|parameter| format!("{} = {}", parameter.key, parameter.value)).collect();
        if shown.is_empty() { "none".to_owned() } else { shown.join(", ") }
    };
    let mut sentences = vec![
        format!(
            "Parameters of this report in addition to the limit, which is the buffer: {}.",
            of(|origin| *origin == Origin::Given)
        ),
        format!("Fixed defaults: {}.", of(|origin| matches!(origin, Origin::Default(_)))),
        format!(
            "Values that follow from others or from the link's rate: {}.",
            of(|origin| matches!(origin, Origin::Derived(_)))
        ),
    ];
    sentences.extend(explanation.warnings.iter().map(|warning| format!("To be checked: {warning}.")));
    sentences
}
