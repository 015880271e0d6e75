//! A router's file: the options of the command line in TOML.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use clap::ValueEnum;
use fairlane_console::{Failure, values};
use fairlane_linux::UnknownNetwork;
use fairlane_qdisc::{Kind, QdiscParameters, Value};
use nix::fcntl::OFlag;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::autorate_settings::AutorateTable;
use super::file_value::{Scalar, Source, switch};
use crate::args::router::{self as args, FileOptions};

/// The keys that a file may have.
const KEYS: [&str; 20] = [
    "path",
    "queue-num",
    "bridge",
    "rate",
    "up",
    "down",
    "interface",
    "exempt",
    "overhead",
    "mpu",
    "framing",
    "flows",
    "marks",
    "fail-open",
    "gso",
    "drain",
    "metrics",
    "log",
    "queue",
    "autorate",
];

/// The maximum length of a file in bytes, far more than these keys need.
const MOST_BYTES: u64 = 1 << 20;

/// The contents of a file.
#[derive(Debug, Default)]
pub(super) struct FileSettings {
    pub(super) options: FileOptions,
    pub(super) queue: Option<QdiscParameters>,
    pub(super) autorate: Option<AutorateTable>,
    /// Warnings about the file.
    pub(super) doubts: Vec<String>,
    /// The mistakes of single keys, in order; what they say is not in the rest.
    pub(super) mistakes: Vec<Failure>,
}

/// Reads the file at `path`.
pub(super) fn read(path: &Path) -> Result<FileSettings, Failure> {
    let name = path.display().to_string();
    let (text, open_to_all) = text(path)
        .map_err(|error| Failure::new(format!("cannot read {name}: {error}"), "name a file that can be read"))?;
    let mut contents = parse(&name, &text)?;
    if open_to_all {
        contents
            .doubts
            .push(format!("{name}: everybody can write to this file, and so decide about the link: chmod o-w"));
    }
    Ok(contents)
}

/// Reads a file of limited length, and whether everybody can write to it: a running router must neither wait for a
/// pipe, nor take all memory for an endless device.
fn text(path: &Path) -> io::Result<(String, bool)> {
    let mut text = String::new();
    // Opening a pipe would wait for its writer.
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(io::Error::other("the file is longer than 1 MB"));
    }
    Ok((text, found.mode() & 0o002 != 0))
}

fn parse(name: &str, text: &str) -> Result<FileSettings, Failure> {
    let source = Source { name, text };
    let table = DeTable::parse(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let digit = text.get(span.start..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let hint = if digit { "; a value with a unit is text, as in \"10mbit\"" } else { "" };
        source.error(span, format!("this is not TOML: {}{hint}", error.message()))
    })?;
    let mut contents = FileSettings::default();
    let mut in_order: Vec<_> = table.get_ref().iter().collect();
    in_order.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in in_order {
        let scalar = Scalar { source: &source, key: key.get_ref(), value };
        let read = contents.read(key, &scalar);
        contents.mistakes.extend(read.err());
    }
    Ok(contents)
}

impl FileSettings {
    /// Reads the value of `key`. Mistakes in a table are added, too.
    fn read(&mut self, key: &Spanned<impl AsRef<str>>, scalar: &Scalar<'_>) -> Result<(), Failure> {
        let (Scalar { source, value, .. }, options) = (scalar, &mut self.options);
        match key.get_ref().as_ref() {
            "path" => options.path = Some(scalar.read(choice)?),
            "queue-num" => options.queue_num = Some(scalar.read(args::queue_num)?),
            "bridge" => options.bridge = Some(scalar.read(args::bridge)?),
            "rate" => options.rate = Some(scalar.read(values::rate)?),
            "up" => options.up = Some(scalar.read(values::rate)?),
            "down" => options.down = Some(scalar.read(values::rate)?),
            "interface" => options.interface = list(scalar, |text| Ok(text.to_owned()))?,
            "exempt" => {
                options.exempt = list(scalar, |text| text.parse().map_err(|error: UnknownNetwork| error.to_string()))?;
            }
            "overhead" => options.overhead = Some(scalar.read(args::overhead)?),
            "mpu" => options.mpu = Some(scalar.read(args::mpu)?),
            "framing" => options.framing = Some(scalar.read(choice)?),
            "flows" => options.flows = Some(scalar.read(choice)?),
            "marks" => options.marks = Some(scalar.read(args::marks)?),
            "fail-open" => options.fail_open = Some(scalar.read(switch)?),
            "gso" => options.gso = Some(scalar.read(switch)?),
            "drain" => options.drain = Some(scalar.read(values::time)?),
            "metrics" => options.metrics = Some(scalar.read(args::metrics)?),
            "log" => options.log = Some(scalar.read(choice)?),
            "queue" => self.queue = Some(queue(source, value, &mut self.mistakes)?),
            "autorate" => self.autorate = Some(AutorateTable::read(source, value, &mut self.mistakes)?),
            other => {
                let message = format!("there is no key \"{other}\"; the keys are {}", KEYS.join(", "));
                return Err(source.error(key.span(), message));
            }
        }
        Ok(())
    }
}

/// Reads one of the names that an option has.
fn choice<T: ValueEnum>(text: &str) -> Result<T, String> {
    T::from_str(text, false).map_err(|_| {
        let names = T::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let names: Vec<String> = names.map(|name| name.get_name().to_owned()).collect();
        format!("\"{text}\" is none of {}", names.join(", "))
    })
}

/// Reads one value, or a list of them.
fn list<T>(scalar: &Scalar<'_>, read: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Failure> {
    match scalar.value.get_ref() {
        DeValue::Array(items) => items.iter().map(|value| Scalar { value, ..*scalar }.read(&read)).collect(),
        _ => Ok(vec![scalar.read(read)?]),
    }
}

/// Reads `queue = { kind = "choke", limit = "300p" }`, as in a scenario. Wrong parameters are left out, and added to
/// `mistakes`.
fn queue(
    source: &Source<'_>,
    value: &Spanned<DeValue<'_>>,
    mistakes: &mut Vec<Failure>,
) -> Result<QdiscParameters, Failure> {
    let DeValue::Table(table) = value.get_ref() else {
        return Err(
            source.error(value.span(), "queue: expected a table, such as { kind = \"choke\", limit = \"300p\" }")
        );
    };
    let Some(kind) = table.get("kind") else {
        return Err(source.error(value.span(), "queue: it needs a kind, such as \"choke\""));
    };
    let kind: Kind = Scalar { source, key: "queue.kind", value: kind }.read(values::kind)?;
    let mut config = QdiscParameters::new(kind);
    for (key, value) in table.iter().filter(|(key, _)| **key.get_ref() != *"kind") {
        let set = match parameter(source, value) {
            Some(given) => config.set(key.get_ref(), given).map_err(|error| error.message().to_owned()),
            None => Err("expected one value".to_owned()),
        };
        let wrong = |message| source.error(value.span(), format!("queue.{}: {message}", key.get_ref()));
        mistakes.extend(set.err().map(wrong));
    }
    Ok(config)
}

/// Returns a discipline's parameter as it is written; `None` for a list, a table or a date.
fn parameter(source: &Source<'_>, value: &Spanned<DeValue<'_>>) -> Option<Value> {
    Some(match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        // A discipline accepts text for every parameter, but a number has no unit.
        DeValue::Integer(_) | DeValue::Float(_) => {
            let text = source.text.get(value.span())?;
            text.parse().map(Value::Integer).or_else(|_| text.parse().map(Value::Float)).ok()?
        }
        DeValue::Boolean(switch) => Value::Boolean(*switch),
        _ => return None,
    })
}
