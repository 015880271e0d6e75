//! A JSON Schema of scenario files, made of the rows that the reader checks files against.
//!
//! The schema is of draft-07, the last one that taplo reads, the language server of most editors. Taplo finds keys by
//! `properties`, `oneOf`, `anyOf` and `allOf`, not by `if` and `then`: so a table whose keys depend on a choice has
//! first all keys, and then the rules of each choice.

use std::fmt::Display;
use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Domain, Duration, Kind, Packets, Parameter, Rate};
use serde_json::{Map, Number, Value, json};

use crate::key::{Key, REQUIRED, SourceKeys, TableKeys, Takes};
use crate::read::{KEYS, flows};

/// Returns a JSON Schema (draft-07) of scenario files, for editors. It refuses no file that
/// [`Document::scenario`](crate::Document::scenario) accepts. The reverse is not so: it knows no ranges of values with
/// a unit, no other files, and no contradictions.
///
/// ```
/// let schema = fairlane_scenario::schema();
/// assert_eq!(schema["properties"]["duration"]["description"], "simulated time; from 1ns to 1000000000s");
/// ```
#[must_use]
pub fn schema() -> Value {
    let mut definitions = Map::new();
    define(&mut definitions, KEYS);
    for (_, keys) in flows::sources().iter().flat_map(|(_, sources)| sources) {
        define(&mut definitions, keys);
    }
    definitions.insert("flow".to_owned(), flow());
    definitions.insert("queue".to_owned(), queue());
    let mut schema = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "title": "Fairlane scenario" });
    for (rule, value) in of_table("a network, its traffic, and the time to simulate", KEYS) {
        schema[rule] = value;
    }
    schema["oneOf"] = json!([{ "required": ["bottleneck"] }, { "required": ["links"] }]);
    schema["definitions"] = definitions.into();
    schema
}

/// Adds the tables that `keys` take, and those that these take.
fn define(definitions: &mut Map<String, Value>, keys: &[Key]) {
    for table in keys.iter().flat_map(|key| tables(&key.takes)) {
        if !definitions.contains_key(table.name) {
            definitions.insert(table.name.to_owned(), of_table(table.meaning, table.keys).into());
            define(definitions, table.keys);
        }
    }
}

/// The tables among the values of a key.
fn tables(takes: &Takes) -> Vec<&'static TableKeys> {
    match takes {
        Takes::Table(keys) => vec![keys],
        Takes::List(takes) => tables(takes),
        Takes::Either(one, other) => [tables(one), tables(other)].concat(),
        _ => Vec::new(),
    }
}

/// A group of flows: its keys depend on its kind and its source.
fn flow() -> Value {
    let rows = |(source, keys): SourceKeys| (source, keys.iter().map(Row::of_key).collect());
    let kinds = flows::sources().map(|(kind, sources)| (kind, sources.into_iter().map(rows).collect()));
    let of_kind = |(kind, sources): &(&'static str, Vec<(_, Vec<Row>)>)| {
        let rows = sources.iter().flat_map(|(_, rows)| rows.clone()).collect::<Vec<Row>>();
        (*kind, rows)
    };
    let all = merged(&kinds.each_ref().map(of_kind));
    let rules = kinds.iter().map(|(kind, sources)| when("kind", &json!([kind]), false, &of_sources(sources, &all)));
    choice("a group of flows with the same parameters", &all, &["name", "kind"], rules)
}

/// The rules of the sources of a kind; the first is the default. A kind with one source has no key for it.
fn of_sources(sources: &[(&str, Vec<Row>)], all: &[Merged]) -> Value {
    if let [(_, rows)] = sources {
        return only(rows, all);
    }
    let rules = sources.iter().enumerate();
    let rules = rules.map(|(index, (name, rows))| when("source", &json!([name]), index == 0, &only(rows, all)));
    let rules = rules.collect::<Vec<_>>();
    let names = sources.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    json!({ "properties": { "source": { "enum": names } }, "allOf": rules })
}

/// A queue: its keys are the parameters of its discipline.
fn queue() -> Value {
    let others = Kind::ALL.into_iter().flat_map(|kind| kind.names().skip(1));
    let values = json!({ "anyOf": [
        {
            "enum": Kind::ALL.map(Kind::name).to_vec(),
            "x-taplo": { "docs": { "enumValues": Kind::ALL.map(Kind::summary).to_vec() } },
        },
        { "enum": others.collect::<Vec<_>>() },
    ] });
    let kind = Row { name: "kind", values, about: "the queue discipline".to_owned(), default: None, required: true };
    let kinds = Kind::ALL.map(|of| {
        let parameters = of.parameters().iter().map(Row::of_parameter);
        (of.name(), [kind.clone()].into_iter().chain(parameters).collect::<Vec<_>>())
    });
    let all = merged(&kinds);
    let names = Kind::ALL.map(|kind| json!(kind.names().collect::<Vec<_>>()));
    let rules = kinds.iter().zip(&names).map(|((_, rows), names)| when("kind", names, false, &only(rows, &all)));
    choice("the discipline of a queue, and its parameters", &all, &["kind"], rules)
}

/// A key in the schema.
#[derive(Clone)]
struct Row {
    name: &'static str,
    /// The rules of its values.
    values: Value,
    about: String,
    default: Option<Value>,
    required: bool,
}

impl Row {
    fn of_key(key: &Key) -> Self {
        let default = default(&key.takes, key.default);
        let rule = Some(key.default).filter(|rule| default.is_none() && !["", REQUIRED].contains(rule));
        let parts = [Some(key.meaning.to_owned()), range(&key.takes), rule.map(|rule| format!("default: {rule}"))];
        let about = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
        Self { name: key.name, values: takes(&key.takes), about, default, required: key.default == REQUIRED }
    }

    fn of_parameter(parameter: &Parameter) -> Self {
        let about = format!("{}; default: {}", parameter.meaning, parameter.default);
        Self { name: parameter.key, values: domain(parameter.domain), about, default: None, required: false }
    }

    fn schema(&self) -> Value {
        described(self.values.clone(), &self.about, self.default.as_ref())
    }
}

fn described(mut schema: Value, about: &str, default: Option<&Value>) -> Value {
    if !about.is_empty() {
        schema["description"] = about.into();
    }
    if let Some(default) = default {
        schema["default"] = default.clone();
    }
    schema
}

/// A key of several choices.
struct Merged {
    name: &'static str,
    /// Its values in each of them, without repetition.
    values: Vec<Value>,
    /// The subject, with the choices for which the rule holds.
    about: Vec<(String, Vec<&'static str>)>,
    default: Option<Value>,
}

/// Returns the keys of all choices.
fn merged(choices: &[(&'static str, Vec<Row>)]) -> Vec<Merged> {
    let mut all: Vec<Merged> = Vec::new();
    for (choice, row) in choices.iter().flat_map(|(choice, rows)| rows.iter().map(move |row| (*choice, row))) {
        match all.iter_mut().find(|merged| merged.name == row.name) {
            Some(merged) => merged.add(choice, row),
            None => all.push(Merged::new(choice, row)),
        }
    }
    all
}

impl Merged {
    fn new(choice: &'static str, row: &Row) -> Self {
        let about = vec![(row.about.clone(), vec![choice])];
        Self { name: row.name, values: vec![row.values.clone()], about, default: row.default.clone() }
    }

    fn add(&mut self, choice: &'static str, row: &Row) {
        if !self.values.contains(&row.values) {
            self.values.push(row.values.clone());
        }
        if self.default != row.default {
            self.default = None;
        }
        match self.about.iter_mut().find(|(about, _)| *about == row.about) {
            Some((_, choices)) if choices.contains(&choice) => {}
            Some((_, choices)) => choices.push(choice),
            None => self.about.push((row.about.clone(), vec![choice])),
        }
    }

    /// Says of which choices it is, unless it is of all, which are `count`.
    fn schema(&self, count: usize) -> Value {
        let values = match &*self.values {
            [one] => one.clone(),
            several => json!({ "anyOf": several }),
        };
        let line = |(about, choices): &(String, Vec<&str>)| match about {
            about if about.is_empty() || choices.len() == count => about.clone(),
            about => format!("{}: {about}", choices.join(", ")),
        };
        let about = self.about.iter().map(line).collect::<Vec<_>>().join("\n\n");
        described(values, &about, self.default.as_ref())
    }
}

fn of_table(meaning: &str, keys: &[Key]) -> Map<String, Value> {
    let rows = keys.iter().map(Row::of_key).collect::<Vec<_>>();
    let properties = rows.iter().map(|row| (row.name.to_owned(), row.schema())).collect();
    object(meaning, properties, &required(&rows))
}

/// A table with these keys and no others.
fn object(meaning: &str, properties: Map<String, Value>, required: &[&str]) -> Map<String, Value> {
    let rules = [
        ("description", meaning.into()),
        ("type", "object".into()),
        ("properties", properties.into()),
        ("required", required.into()),
        ("additionalProperties", false.into()),
    ];
    rules.map(|(rule, value): (&str, Value)| (rule.to_owned(), value)).into_iter().collect()
}

/// A table with the keys of all choices, and the `rules` of each.
fn choice(meaning: &str, all: &[Merged], required: &[&str], rules: impl ExactSizeIterator<Item = Value>) -> Value {
    let count = rules.len();
    let properties = all.iter().map(|merged| (merged.name.to_owned(), merged.schema(count))).collect();
    let parts = [object(meaning, properties, required).into()].into_iter().chain(rules).collect::<Vec<_>>();
    json!({ "allOf": parts })
}

/// The rule that `then` holds if `key` is one of `names`, or is missing if that is the default.
fn when(key: &str, names: &Value, is_default: bool, then: &Value) -> Value {
    let required: &[&str] = if is_default { &[] } else { &[key] };
    json!({ "if": { "properties": { key: { "enum": names } }, "required": required }, "then": then })
}

/// No other keys than `rows`, with the values of this choice where others have other values.
fn only(rows: &[Row], all: &[Merged]) -> Value {
    let differs = |row: &&Row| all.iter().any(|merged| merged.name == row.name && merged.values.len() > 1);
    let own = rows.iter().filter(differs).map(|row| (row.name.to_owned(), row.values.clone()));
    let own = own.collect::<Map<_, _>>();
    let names = rows.iter().map(|row| row.name).collect::<Vec<_>>();
    json!({ "properties": own, "required": required(rows), "propertyNames": { "enum": names } })
}

fn required(rows: &[Row]) -> Vec<&'static str> {
    rows.iter().filter(|row| row.required).map(|row| row.name).collect()
}

fn takes(takes: &Takes) -> Value {
    match takes {
        Takes::Text => json!({ "type": "string" }),
        // Letters and digits of any language, - and _.
        Takes::Name => text(r"[^\s!-,./:-@\[-^`{-~]{1,64}"),
        Takes::Time(_) => text(&time()),
        Takes::Times => text(&format!(r"{0}(\.\.{0})?", time())),
        Takes::Rate(_) => text(&rate()),
        Takes::Bytes(_) => text(&written(Bytes::UNITS)),
        Takes::Size => text(&size()),
        Takes::Count(range) => json!({ "type": "integer", "minimum": range.start(), "maximum": range.end() }),
        Takes::Ratio(range) => json!({ "type": "number", "minimum": range.start(), "maximum": range.end() }),
        Takes::Switch => json!({ "type": "boolean" }),
        Takes::Off => json!({ "const": false }),
        Takes::Choice(names) => json!({ "enum": names() }),
        Takes::List(item) => json!({ "type": "array", "items": self::takes(item), "minItems": 1 }),
        Takes::Pair(items) => {
            json!({ "type": "array", "items": items.each_ref().map(self::takes), "minItems": 2, "maxItems": 2 })
        }
        Takes::Table(table) => reference(table.name),
        Takes::Queue => reference("queue"),
        Takes::Flow => reference("flow"),
        Takes::Either(one, other) => json!({ "anyOf": [self::takes(one), self::takes(other)] }),
    }
}

/// The values of a parameter of a discipline, which may all be text.
fn domain(domain: Domain) -> Value {
    const NUMBER: &str = r"[-+]?[0-9.]+([eE][-+]?[0-9]+)?";
    let number = |min: f64, max: f64| json!({ "type": ["number", "string"], "minimum": min, "maximum": max, "pattern": whole(NUMBER) });
    match domain {
        Domain::Size => text(&size()),
        Domain::Bytes => text(&written(Bytes::UNITS)),
        Domain::Packets => text(&written(Packets::UNITS)),
        Domain::Rate => text(&rate()),
        Domain::Duration => text(&time()),
        Domain::Count { min, max, infinite } => {
            let pattern = whole(if infinite { r"(\+?[0-9]+|infinite)" } else { r"\+?[0-9]+" });
            json!({ "type": ["integer", "string"], "minimum": min, "maximum": max, "pattern": pattern })
        }
        Domain::Ratio => {
            json!({ "type": ["number", "string"], "exclusiveMinimum": 0, "maximum": 1, "pattern": whole(NUMBER) })
        }
        Domain::Number { min, max } => number(min, max),
        Domain::Numbers { min, max } => {
            let pattern = whole(&format!(r"{NUMBER}(\s*,\s*{NUMBER})*"));
            json!({ "type": ["number", "string"], "minimum": min, "maximum": max, "pattern": pattern })
        }
        Domain::Switch => json!({ "enum": [true, false, "true", "false"] }),
        Domain::Choice(names) => json!({ "enum": names }),
        _ => json!({}),
    }
}

/// The range of a value with a unit, in words.
fn range(takes: &Takes) -> Option<String> {
    fn words<T: Display>(range: &RangeInclusive<T>) -> Option<String> {
        Some(format!("from {} to {}", range.start(), range.end()))
    }
    match takes {
        Takes::Time(range) if range.end().as_nanos() < u64::MAX => words(range),
        Takes::Rate(range) => words(range),
        Takes::Bytes(range) => words(range),
        Takes::Either(one, _) => range(one),
        _ => None,
    }
}

/// A default that is a value, not a rule.
fn default(takes: &Takes, written: &str) -> Option<Value> {
    let is_value = match takes {
        Takes::Count(_) | Takes::Ratio(_) => return written.parse().ok().map(|number: Number| number.into()),
        Takes::Switch => return written.parse().ok().map(|switch: bool| switch.into()),
        Takes::Either(one, _) => return default(one, written),
        Takes::Choice(names) => names().contains(&written),
        Takes::Time(_) => written.parse::<Duration>().is_ok(),
        Takes::Times => written.split("..").all(|time| time.parse::<Duration>().is_ok()),
        Takes::Rate(_) => written.parse::<Rate>().is_ok(),
        Takes::Bytes(_) => written.parse::<Bytes>().is_ok(),
        Takes::Size => written.parse::<fairlane_qdisc::Size>().is_ok(),
        _ => false,
    };
    is_value.then(|| written.into())
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": whole(pattern) })
}

fn whole(pattern: &str) -> String {
    format!(r"^\s*{pattern}\s*$")
}

fn time() -> String {
    written(Duration::UNITS)
}

/// A rate, whose unit may have capitals.
fn rate() -> String {
    let capitals = |c: char| if c.is_ascii_lowercase() { format!("[{c}{}]", c.to_ascii_uppercase()) } else { c.into() };
    let units = Rate::UNITS.iter().map(|(unit, _)| unit.chars().map(capitals).collect::<String>());
    format!(r"[0-9]+(\.[0-9]+)?\s*({})", units.collect::<Vec<_>>().join("|"))
}

fn size() -> String {
    written(&[Packets::UNITS, Bytes::UNITS].concat())
}

/// A number with one of `units`.
fn written(units: &[(&str, u64)]) -> String {
    let units = units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>().join("|");
    format!(r"[0-9]+(\.[0-9]+)?\s*({units})")
}
