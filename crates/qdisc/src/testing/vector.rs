//! Conformance vectors: a discipline, operations at their times, and the result of each. `conformance/README.md`
//! describes the file: JSON Lines, a header and a line for each operation.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use std::collections::HashMap;

use serde_json::Value as Json;

use super::{Event, Recorder};
use crate::{Host, Kind, Qdisc, QdiscParameters, Rate, Reason, Seed, SimplePacket, Time, Value};

/// The version of the format.
const VERSION: u64 = 1;

/// An operation at its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// A packet arrives.
    Enqueue(Time, SimplePacket),
    /// The link asks for a packet.
    Dequeue(Time),
}

impl Operation {
    /// Returns the time of the operation.
    #[must_use]
    pub const fn at(&self) -> Time {
        match self {
            Self::Enqueue(at, _) | Self::Dequeue(at) => *at,
        }
    }
}

/// The result of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The events of packets, in order.
    pub events: Vec<Event>,
    /// The packets in the queue afterwards.
    pub packets: u64,
    /// The bytes in the queue afterwards.
    pub bytes: u64,
    /// The discipline's average afterwards, where it keeps one.
    pub average: Option<f64>,
    /// The time to ask again, after a dequeue that gave nothing although packets wait.
    pub ready_at: Option<Time>,
    /// The label of the packet that left, if it is not the one that it arrived with.
    pub label: Option<u64>,
}

impl Step {
    /// Tells whether both are the same, the averages to nine digits: the definition leaves open how a power is
    /// calculated.
    #[must_use]
    pub fn agrees(&self, other: &Self) -> bool {
        let average = match (self.average, other.average) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            (None, None) => true,
            _ => false,
        };
        average && Self { average: None, ..self.clone() } == Self { average: None, ..other.clone() }
    }
}

/// A vector as stored in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Vector {
    /// The discipline with its parameters.
    pub parameters: QdiscParameters,
    /// The link and the seed.
    pub host: Host,
    /// `reference` where a slow implementation of the definition wrote the steps, or `library`.
    pub expected_from: String,
    /// The operations.
    pub operations: Vec<Operation>,
    /// The result of each operation.
    pub expected: Vec<Step>,
}

/// A file that is not a vector: the mistake and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorError(String);

impl fmt::Display for VectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for VectorError {}

impl Vector {
    /// Parses a file.
    ///
    /// # Errors
    /// The text is not a vector of this version.
    pub fn parse(text: &str) -> Result<Self, VectorError> {
        let mut lines = (1..).zip(text.lines()).map(|(number, line)| {
            let json = serde_json::from_str::<Json>(line);
            (number, json.map_err(|error| VectorError(format!("line {number}: {error}"))))
        });
        let header = lines.next().ok_or_else(|| VectorError("the file is empty".to_string()))?.1?;
        let mut vector = read_header(&header).map_err(|error| VectorError(format!("line 1: {error}")))?;
        for (number, line) in lines {
            let line = line?;
            let at = |error: String| VectorError(format!("line {number}: {error}"));
            vector.operations.push(read_operation(&line).map_err(at)?);
            vector.expected.push(read_step(&line).map_err(at)?);
        }
        Ok(vector)
    }

    /// Replays the operations with the library's discipline, and returns the result of each.
    ///
    /// # Errors
    /// The parameters contradict each other.
    pub fn replay(&self) -> Result<Vec<Step>, crate::ParameterError> {
        Ok(replay(&mut *self.parameters.build(&self.host)?, &self.operations))
    }
}

/// Gives `operations` to `queue`, and returns the result of each.
pub fn replay(queue: &mut dyn Qdisc<SimplePacket>, operations: &[Operation]) -> Vec<Step> {
    let mut labels = HashMap::new();
    let mut step = |operation: &Operation| {
        let mut recorder = Recorder::default();
        let (mut held, mut label) = (false, None);
        match *operation {
            Operation::Enqueue(at, packet) => {
                labels.insert(packet.id, packet.label);
                recorder.enqueue(queue, at, packet);
            }
            Operation::Dequeue(at) => {
                let packet = recorder.dequeue(queue, at);
                held = packet.is_none() && queue.packets() > 0;
                let relabelled = packet.filter(|packet| labels.get(&packet.id) != Some(&packet.label));
                label = relabelled.map(|packet| packet.label);
            }
        }
        Step {
            events: recorder.events,
            packets: queue.packets() as u64,
            bytes: queue.bytes(),
            average: queue.average(),
            ready_at: queue.ready_at().filter(|_| held),
            label,
        }
    };
    operations.iter().map(&mut step).collect()
}

fn read_header(header: &Json) -> Result<Vector, String> {
    if header["version"] != VERSION {
        return Err(format!("the version is {} and not {VERSION}", header["version"]));
    }
    let kind: Kind = text(header, "kind")?.parse().map_err(|error| format!("{error}"))?;
    let mut parameters = QdiscParameters::new(kind);
    for (key, value) in header["parameters"].as_object().ok_or("there are no parameters")? {
        let value = value.as_str().ok_or_else(|| format!("the parameter {key} is not text"))?;
        parameters.set(key, Value::from(value)).map_err(|error| error.to_string())?;
    }
    let host = Host {
        rate: Rate::from_bits_per_second(number(header, "rate_bps")?),
        seed: Seed::new(number(header, "seed")?),
    };
    let expected_from = text(header, "expected_from")?.to_string();
    Ok(Vector { parameters, host, expected_from, operations: Vec::new(), expected: Vec::new() })
}

fn read_operation(line: &Json) -> Result<Operation, String> {
    let at = Time::from_nanos(number(line, "t")?);
    match text(line, "op")? {
        "dequeue" => return Ok(Operation::Dequeue(at)),
        "enqueue" => {}
        other => return Err(format!("\"{other}\" is not an operation")),
    }
    let mut packet = SimplePacket::new(number(line, "flow")?, narrow(line, "bytes")?).with_id(number(line, "id")?);
    packet.ecn_capable = line["ecn"] == true;
    packet.l4s = line["l4s"] == true;
    packet.responsive = line["responsive"] != false;
    packet.class = if line["class"].is_null() { 0 } else { narrow(line, "class")? };
    packet.label = line["label"].as_u64().unwrap_or(0);
    if let Some([source, destination]) = line["hosts"].as_array().map(Vec::as_slice) {
        let host = |host: &Json| host.as_u64().and_then(|host| u32::try_from(host).ok());
        packet.hosts = host(source).zip(host(destination));
    }
    Ok(Operation::Enqueue(at, packet))
}

fn read_step(line: &Json) -> Result<Step, String> {
    let fates = line["fates"].as_array().ok_or("there are no fates")?;
    Ok(Step {
        events: fates.iter().map(read_event).collect::<Result<_, _>>()?,
        packets: number(line, "packets")?,
        bytes: number(line, "queued")?,
        average: line["average"].as_f64(),
        ready_at: line["ready_at"].as_u64().map(Time::from_nanos),
        label: line["label"].as_u64().filter(|_| line["op"] == "dequeue"),
    })
}

fn read_event(fate: &Json) -> Result<Event, String> {
    let id = fate[1].as_u64().ok_or_else(|| format!("{fate} has no id"))?;
    let reason = || {
        let found = Reason::ALL.into_iter().find(|reason| fate[2] == reason.name());
        found.ok_or_else(|| format!("{} is not a reason", fate[2]))
    };
    Ok(match fate[0].as_str() {
        Some("dropped") => Event::Dropped(id, reason()?),
        Some("marked") => Event::Marked(id, reason()?),
        Some("departed") => Event::Departed(id),
        _ => return Err(format!("{fate} is not a fate")),
    })
}

fn text<'a>(json: &'a Json, key: &str) -> Result<&'a str, String> {
    json[key].as_str().ok_or_else(|| format!("\"{key}\" is not text"))
}

fn number(json: &Json, key: &str) -> Result<u64, String> {
    json[key].as_u64().ok_or_else(|| format!("\"{key}\" is not a whole number"))
}

fn narrow<T: TryFrom<u64>>(json: &Json, key: &str) -> Result<T, String> {
    T::try_from(number(json, key)?).map_err(|_| format!("\"{key}\" is too large"))
}
