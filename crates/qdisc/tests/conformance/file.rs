//! A vector as a file: JSON Lines, one header and one line for each operation. `conformance/README.md` describes it.

use std::fmt::Write as _;

use fairlane_qdisc::SimplePacket;
use fairlane_qdisc::testing::{Event, Operation, Step};
use serde_json::Value as Json;

use crate::cases::{Case, RATE};
use crate::slow::reference;

/// The version of the format.
const VERSION: u64 = 1;

/// Returns the expected results of `case`, from the slow reference if there is one, else from the library, and which of
/// the two it was.
pub(crate) fn expected(case: &Case, library: &[Step], operations: &[Operation]) -> (Vec<Step>, &'static str) {
    let Some(mut slow) = reference(&case.name, &case.host()) else { return (library.to_vec(), "library") };
    let mut seen = 0;
    let mut step = |(operation, fast): (&Operation, &Step)| {
        match *operation {
            Operation::Enqueue(at, packet) => slow.enqueue(at, packet),
            Operation::Dequeue(at) => slow.dequeue(at),
        }
        let events = slow.events().get(seen..).unwrap_or_default().to_vec();
        seen += events.len();
        // Values that follow from the events are not computed by the reference again.
        let label = fast.label.map(|label| slow.label().unwrap_or(label));
        Step { events, average: slow.average(), label, ..fast.clone() }
    };
    (operations.iter().zip(library).map(&mut step).collect(), "reference")
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// Returns the text of the file of `case`.
pub(crate) fn write(case: &Case, from: &str, operations: &[Operation], expected: &[Step]) -> String {
    let parameters: Vec<_> =
        case.config.given().map(|(key, value)| format!("{}: {}", quoted(key), quoted(&value.to_string()))).collect();
    let mut text = format!(
        "{{\"version\": {VERSION}, \"kind\": {}, \"parameters\": {{{}}}, \"rate_bps\": {}, \"seed\": {}, \
         \"expected_from\": \"{from}\"}}\n",
        quoted(case.config.kind().name()),
        parameters.join(", "),
        RATE.bits_per_second(),
        case.seed,
    );
    for (operation, after) in operations.iter().zip(expected) {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{{{}, {}}}", write_operation(operation), write_after(after));
    }
    text
}

fn write_operation(operation: &Operation) -> String {
    let at = operation.at().as_nanos();
    let Operation::Enqueue(_, packet) = operation else { return format!("\"op\": \"dequeue\", \"t\": {at}") };
    let SimplePacket { id, flow, bytes, .. } = packet;
    let mut text = format!("\"op\": \"enqueue\", \"t\": {at}, \"id\": {id}, \"flow\": {flow}, \"bytes\": {bytes}");
    let mut more = |on: bool, rest: String| {
        if on {
            text += &rest;
        }
    };
    more(packet.ecn_capable, ", \"ecn\": true".into());
    more(packet.l4s, ", \"l4s\": true".into());
    more(packet.class != 0, format!(", \"class\": {}", packet.class));
    if let Some((source, destination)) = packet.hosts {
        more(true, format!(", \"hosts\": [{source}, {destination}]"));
    }
    more(packet.label != 0, format!(", \"label\": {}", packet.label));
    more(!packet.responsive, ", \"responsive\": false".into());
    text
}

fn write_after(after: &Step) -> String {
    let sink = |event: &Event| match event {
        Event::Dropped(id, reason) => format!("[\"dropped\", {id}, \"{reason}\"]"),
        Event::Marked(id, reason) => format!("[\"marked\", {id}, \"{reason}\"]"),
        Event::Departed(id) => format!("[\"departed\", {id}]"),
    };
    let fates: Vec<_> = after.events.iter().map(sink).collect();
    let mut text =
        format!("\"fates\": [{}], \"packets\": {}, \"queued\": {}", fates.join(", "), after.packets, after.bytes);
    if let Some(average) = after.average {
        text += &format!(", \"average\": {average:?}");
    }
    if let Some(label) = after.label {
        text += &format!(", \"label\": {label}");
    }
    if let Some(ready) = after.ready_at {
        text += &format!(", \"ready_at\": {}", ready.as_nanos());
    }
    text
}
