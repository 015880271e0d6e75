//! A vector as a file: JSON Lines, one header and one line for each operation. `conformance/README.md` describes it.

use std::collections::HashMap;
use std::fmt::Write as _;

use fairlane_qdisc::{AnyQdisc, Host, Kind, Qdisc, QdiscConfig, Rate, Reason, Seed, SimplePacket, Time, Value};
use serde_json::Value as Json;

use crate::cases::{Case, Operation, RATE};
use crate::diary::{Diary, Event};
use crate::slow::reference;

/// The version of the format.
const VERSION: u64 = 1;

/// What an operation led to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct After {
    pub(crate) events: Vec<Event>,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    pub(crate) average: Option<f64>,
    /// Only after a dequeue that gave nothing although packets wait.
    pub(crate) ready_at: Option<Time>,
    /// What the packet that left was labelled with meanwhile.
    pub(crate) label: Option<u64>,
}

impl After {
    /// Whether both are the same, the averages to nine digits: how a power is taken is left open.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let average = match (self.average, other.average) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            (None, None) => true,
            _ => false,
        };
        average && Self { average: None, ..self.clone() } == Self { average: None, ..other.clone() }
    }
}

/// What the library makes of `operations`.
pub(crate) fn replay(mut queue: AnyQdisc<SimplePacket>, operations: &[Operation]) -> Vec<After> {
    let mut labels = HashMap::new();
    let mut step = |operation: &Operation| {
        let mut diary = Diary::default();
        let (mut held, mut label) = (false, None);
        match *operation {
            Operation::Enqueue(at, packet) => {
                labels.insert(packet.id, packet.label);
                queue.enqueue(at, packet, &mut diary);
            }
            Operation::Dequeue(at) => {
                let packet = diary.dequeue(&mut queue, at);
                held = packet.is_none() && queue.packets() > 0;
                label =
                    packet.filter(|packet| labels.get(&packet.id) != Some(&packet.label)).map(|packet| packet.label);
            }
        }
        After {
            events: diary.0,
            packets: queue.packets() as u64,
            bytes: queue.bytes(),
            average: queue.average(),
            ready_at: queue.ready_at().filter(|_| held),
            label,
        }
    };
    operations.iter().map(&mut step).collect()
}

/// What is expected of `case`: by the slow reference where there is one, else by the library; and which it was.
pub(crate) fn expected(case: &Case, library: &[After], operations: &[Operation]) -> (Vec<After>, &'static str) {
    let Some(mut slow) = reference(&case.name, &case.host()) else { return (library.to_vec(), "library") };
    let mut seen = 0;
    let mut step = |(operation, fast): (&Operation, &After)| {
        match *operation {
            Operation::Enqueue(at, packet) => slow.enqueue(at, packet),
            Operation::Dequeue(at) => slow.dequeue(at),
        }
        let events = slow.events().get(seen..).unwrap_or_default().to_vec();
        seen += events.len();
        // What follows from the events is not asked of the reference again.
        let label = fast.label.map(|label| slow.label().unwrap_or(label));
        After { events, average: slow.average(), label, ..fast.clone() }
    };
    (operations.iter().zip(library).map(&mut step).collect(), "reference")
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// The file of `case`.
pub(crate) fn write(case: &Case, from: &str, operations: &[Operation], expected: &[After]) -> String {
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

fn write_after(after: &After) -> String {
    let fate = |event: &Event| match event {
        Event::Dropped(id, reason) => format!("[\"dropped\", {id}, \"{reason}\"]"),
        Event::Marked(id, reason) => format!("[\"marked\", {id}, \"{reason}\"]"),
        Event::Departed(id) => format!("[\"departed\", {id}]"),
    };
    let fates: Vec<_> = after.events.iter().map(fate).collect();
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

/// A vector as it stands in a file.
pub(crate) struct Vector {
    pub(crate) queue: AnyQdisc<SimplePacket>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) expected: Vec<After>,
}

type Error = Box<dyn std::error::Error>;

/// Reads what [`write`] has written, with nothing but the file to go by.
pub(crate) fn read(text: &str) -> Result<Vector, Error> {
    let mut lines = text.lines();
    let header: Json = serde_json::from_str(lines.next().ok_or("the file is empty")?)?;
    if header["version"] != VERSION {
        return Err(format!("it is of version {}, not {VERSION}", header["version"]).into());
    }
    let kind: Kind = header["kind"].as_str().ok_or("there is no kind")?.parse()?;
    let mut config = QdiscConfig::new(kind);
    for (key, value) in header["parameters"].as_object().ok_or("there are no parameters")? {
        config.set(key, Value::from(value.as_str().ok_or("a parameter is no text")?))?;
    }
    let rate = Rate::from_bits_per_second(number(&header["rate_bps"])?);
    let queue = config.build(&Host { rate, seed: Seed::new(number(&header["seed"])?) })?;
    let (mut operations, mut expected) = (Vec::new(), Vec::new());
    for line in lines {
        let line: Json = serde_json::from_str(line)?;
        operations.push(read_operation(&line)?);
        expected.push(read_after(&line)?);
    }
    Ok(Vector { queue, operations, expected })
}

fn number(json: &Json) -> Result<u64, Error> {
    json.as_u64().ok_or_else(|| format!("{json} is no whole number").into())
}

fn read_operation(line: &Json) -> Result<Operation, Error> {
    let at = Time::from_nanos(number(&line["t"])?);
    match line["op"].as_str() {
        Some("dequeue") => return Ok(Operation::Dequeue(at)),
        Some("enqueue") => {}
        _ => return Err(format!("{} is no operation", line["op"]).into()),
    }
    let mut packet = SimplePacket::new(number(&line["flow"])?, u32::try_from(number(&line["bytes"])?)?);
    packet.id = number(&line["id"])?;
    packet.ecn_capable = line["ecn"] == true;
    packet.l4s = line["l4s"] == true;
    packet.responsive = line["responsive"] != false;
    packet.class = u8::try_from(line["class"].as_u64().unwrap_or(0))?;
    packet.label = line["label"].as_u64().unwrap_or(0);
    if let Some(hosts) = line["hosts"].as_array() {
        let host =
            |n: usize| -> Result<u32, Error> { Ok(u32::try_from(number(hosts.get(n).unwrap_or(&Json::Null))?)?) };
        packet.hosts = Some((host(0)?, host(1)?));
    }
    Ok(Operation::Enqueue(at, packet))
}

fn read_after(line: &Json) -> Result<After, Error> {
    let fates = line["fates"].as_array().ok_or("there are no fates")?;
    Ok(After {
        events: fates.iter().map(read_fate).collect::<Result<_, _>>()?,
        packets: number(&line["packets"])?,
        bytes: number(&line["queued"])?,
        average: line["average"].as_f64(),
        ready_at: line["ready_at"].as_u64().map(Time::from_nanos),
        label: line["label"].as_u64().filter(|_| line["op"] == "dequeue"),
    })
}

fn read_fate(fate: &Json) -> Result<Event, Error> {
    let id = number(&fate[1])?;
    let reason = || {
        let found = Reason::ALL.into_iter().find(|reason| fate[2] == reason.name());
        found.ok_or_else(|| format!("{} is no reason", fate[2]))
    };
    Ok(match fate[0].as_str() {
        Some("dropped") => Event::Dropped(id, reason()?),
        Some("marked") => Event::Marked(id, reason()?),
        Some("departed") => Event::Departed(id),
        _ => return Err(format!("{fate} is no fate").into()),
    })
}
