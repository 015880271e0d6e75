//! Typed reading of tables and values, with errors that name the expected type.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use fairlane_qdisc::{Bytes, Duration, Rate, Size, UnitError, Value};

use crate::error::{Origin, Quantity, ScenarioError, SourceText};
use crate::key::Key;
use crate::suggest;
use crate::tree::{Data, Entry, Node, Table, join};

/// A table with its place in the file.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    source: &'a SourceText,
    table: &'a Table,
    origin: &'a Origin,
    path: String,
}

/// A value with its place in the file.
#[derive(Clone)]
pub(crate) struct Field<'a> {
    source: &'a SourceText,
    node: &'a Node,
    replaced: Option<&'a Node>,
    path: String,
}

/// A type that is written with a unit.
pub(crate) trait WithUnit: FromStr<Err = UnitError> {
    /// The quantity that its values are.
    const QUANTITY: Quantity;

    /// The unit to suggest for `number`, which has no unit.
    fn unit_of(number: f64) -> &'static str;
}

impl WithUnit for Duration {
    const QUANTITY: Quantity = Quantity::Duration;

    fn unit_of(_number: f64) -> &'static str {
        "s"
    }
}

impl WithUnit for Rate {
    const QUANTITY: Quantity = Quantity::Rate;

    /// Numbers in the thousands were not meant as megabits.
    fn unit_of(number: f64) -> &'static str {
        if number < 1000.0 { "mbit" } else { "bit" }
    }
}

impl WithUnit for Bytes {
    const QUANTITY: Quantity = Quantity::Bytes;

    fn unit_of(_number: f64) -> &'static str {
        "b"
    }
}

impl WithUnit for Size {
    const QUANTITY: Quantity = Quantity::Size;

    fn unit_of(_number: f64) -> &'static str {
        "p"
    }
}

/// Keys that exist elsewhere or under another name, each with the remedy.
pub(crate) type Elsewhere = &'static [(&'static str, &'static str)];

impl<'a> Reader<'a> {
    pub(crate) fn root(source: &'a SourceText, table: &'a Table) -> Self {
        Self { source, table, origin: &Origin::File(0..0), path: String::new() }
    }

    /// Refuses keys that are not among `keys`, and values that these do not take.
    pub(crate) fn only(self, keys: &[Key], elsewhere: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        self.known(keys, elsewhere)?.checked(keys)
    }

    /// Refuses keys that are not among `keys`.
    pub(crate) fn known(self, keys: &[Key], elsewhere: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        match self.table.entries().find(|entry| keys.iter().all(|key| key.name != entry.key)) {
            Some(entry) => Err(self.unknown(entry, keys, elsewhere)),
            None => Ok(self),
        }
    }

    /// Refuses values that `keys` do not take.
    pub(crate) fn checked(self, keys: &[Key]) -> Result<Self, ScenarioError> {
        for (written, field) in self.fields() {
            keys.iter().find(|key| key.name == written).map_or(Ok(()), |key| key.takes.check(&field))?;
        }
        Ok(self)
    }

    fn unknown(&self, entry: &Entry, keys: &[Key], elsewhere: &[(&str, &str)]) -> ScenarioError {
        let path = join(&self.path, &entry.key);
        let message = format!("there is no key \"{}\" here", entry.key);
        let error = ScenarioError::new(self.source, &entry.at, &path, message).of_unknown_key();
        match elsewhere.iter().find(|(key, _)| *key == entry.key) {
            Some((_, help)) => error.with_help(*help),
            None => error.with_help(suggest::help(&entry.key, keys.iter().map(|key| key.name))),
        }
    }

    /// The same table under another path, for tables that a list holds and a name identifies.
    pub(crate) fn called(mut self, path: String) -> Self {
        self.path = path;
        self
    }

    pub(crate) fn get(&self, key: &str) -> Option<Field<'a>> {
        self.table.get(key).map(|entry| self.field(entry))
    }

    /// `key`, or an error with an example.
    pub(crate) fn need(&self, key: &str, example: &str) -> Result<Field<'a>, ScenarioError> {
        self.get(key).ok_or_else(|| {
            let message = format!("`{key}` is missing");
            ScenarioError::new(self.source, self.origin, &join(&self.path, key), message)
                .with_help(format!("write for example {key} = {example}"))
                .with_example(example)
        })
    }

    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'a str, Field<'a>)> {
        self.table.entries().map(|entry| (entry.key.as_str(), self.field(entry)))
    }

    fn field(&self, entry: &'a Entry) -> Field<'a> {
        let path = join(&self.path, &entry.key);
        Field { source: self.source, node: &entry.node, replaced: entry.replaced.as_ref(), path }
    }

    /// An error about the table as a whole.
    pub(crate) fn error(&self, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.source, self.origin, &self.path, message)
    }

    /// An error about a key, not about its value.
    pub(crate) fn key_error(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let at = self.table.get(key).map_or(self.origin, |entry| &entry.at);
        ScenarioError::new(self.source, at, &join(&self.path, key), message)
    }

    /// Returns true if an option of the command line created the table.
    pub(crate) const fn is_given(&self) -> bool {
        matches!(self.origin, Origin::Given(_))
    }
}

impl<'a> Field<'a> {
    /// The value as it was written, cut when it is long.
    pub(crate) fn written(&self) -> String {
        const LONGEST: usize = 60;
        let text = match (&self.node.data, &self.node.origin) {
            (Data::Text(text), _) => format!("\"{text}\""),
            (_, Origin::File(span)) => self.source.slice(span).to_owned(),
            (Data::Integer(number), _) => number.to_string(),
            (Data::Float(number), _) => number.to_string(),
            (Data::Boolean(switch), _) => switch.to_string(),
            (data, _) => data.what().to_owned(),
        };
        match text.char_indices().nth(LONGEST) {
            Some((cut, _)) => format!("{}…", &text[..cut]),
            None => text,
        }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> ScenarioError {
        ScenarioError::new(self.source, &self.node.origin, &self.path, message)
    }

    /// The error of a value of the wrong type.
    fn mismatch(&self, wanted: &str) -> ScenarioError {
        self.error(format!("{wanted} is expected here, and {} is {}", self.written(), self.node.data.what()))
    }

    /// Returns true if an option of the command line gave the value.
    pub(crate) const fn is_given(&self) -> bool {
        matches!(self.node.origin, Origin::Given(_))
    }

    /// Returns the value of the file that an option of the command line replaced.
    pub(crate) fn replaced(&self) -> Option<Self> {
        self.replaced.map(|node| Self { node, replaced: None, ..self.clone() })
    }

    pub(crate) fn text(&self) -> Result<&'a str, ScenarioError> {
        match &self.node.data {
            Data::Text(text) => Ok(text),
            _ => Err(self.mismatch("text in quotes")),
        }
    }

    /// A value with a unit.
    pub(crate) fn unit<T: WithUnit>(&self) -> Result<T, ScenarioError> {
        match &self.node.data {
            Data::Text(text) => text.parse().map_err(|error: UnitError| self.error(error.to_string())),
            Data::Integer(number) => Err(self.without_unit::<T>(*number as f64)),
            Data::Float(number) => Err(self.without_unit::<T>(*number)),
            _ => Err(self.mismatch("text with a unit")),
        }
    }

    fn without_unit<T: WithUnit>(&self, number: f64) -> ScenarioError {
        let (written, unit) = (self.written(), T::unit_of(number));
        let error = self.error(format!("{written} has no unit: write for example \"{written}{unit}\""));
        error.of_missing_unit(T::QUANTITY)
    }

    /// A value with a unit, in `range`.
    pub(crate) fn unit_in<T: WithUnit + PartialOrd + Display>(
        &self,
        range: &RangeInclusive<T>,
    ) -> Result<T, ScenarioError> {
        let value = self.unit()?;
        if range.contains(&value) { Ok(value) } else { Err(self.out_of(range)) }
    }

    fn out_of<T: Display>(&self, range: &RangeInclusive<T>) -> ScenarioError {
        let (least, most) = (range.start(), range.end());
        self.error(format!("{} is out of range: it must be from {least} to {most}", self.written()))
    }

    /// A count: a plain whole number in `range`.
    pub(crate) fn count(&self, range: &RangeInclusive<u64>) -> Result<u64, ScenarioError> {
        let number = match &self.node.data {
            Data::Integer(number) => Some(*number),
            Data::Text(text) if self.is_given() => text.trim().parse::<i64>().ok(),
            _ => None,
        };
        let Some(number) = number else {
            return Err(self.error(format!(
                "{} is not a count: write a plain whole number from {} to {}, without quotes, unit or fraction",
                self.written(),
                range.start(),
                range.end()
            )));
        };
        u64::try_from(number).ok().filter(|number| range.contains(number)).ok_or_else(|| self.out_of(range))
    }

    /// The same for counts that fit 32 bits.
    pub(crate) fn count32(&self, range: &RangeInclusive<u32>) -> Result<u32, ScenarioError> {
        let wide = u64::from(*range.start())..=u64::from(*range.end());
        let number = self.count(&wide)?;
        u32::try_from(number).map_err(|_| self.out_of(&wide))
    }

    /// A pure number in `range`.
    pub(crate) fn ratio(&self, range: &RangeInclusive<f64>) -> Result<f64, ScenarioError> {
        let number = match &self.node.data {
            Data::Integer(number) => Some(*number as f64),
            Data::Float(number) => Some(*number),
            Data::Text(text) if self.is_given() => text.trim().parse().ok(),
            _ => None,
        };
        let Some(number) = number else { return Err(self.mismatch("a plain number")) };
        if range.contains(&number) { Ok(number) } else { Err(self.out_of(range)) }
    }

    pub(crate) fn switch(&self) -> Result<bool, ScenarioError> {
        match &self.node.data {
            Data::Boolean(switch) => Ok(*switch),
            Data::Text(text) if self.is_given() && text == "true" => Ok(true),
            Data::Text(text) if self.is_given() && text == "false" => Ok(false),
            _ => Err(self.mismatch("true or false, without quotes,")),
        }
    }

    /// Returns true if the value is `false`, for keys that can be switched off.
    pub(crate) fn is_off(&self) -> bool {
        matches!(self.switch(), Ok(false))
    }

    /// A choice by name. A name of `planned` is known but not there yet.
    pub(crate) fn choice<T: Copy>(
        &self,
        what: &str,
        choices: &[(&str, T)],
        planned: &[&str],
    ) -> Result<T, ScenarioError> {
        let names = choices.iter().map(|(name, _)| *name);
        let text = self.text().map_err(|error| error.with_help(suggest::help("", names.clone())))?;
        if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == text) {
            return Ok(*choice);
        }
        if planned.contains(&text) {
            let here = names.collect::<Vec<_>>().join(", ");
            return Err(self.not_yet(what).with_help(format!("there are {here}")));
        }
        Err(self.error(format!("there is no {what} {}", self.written())).with_help(suggest::help(text, names)))
    }

    /// A choice by name of those of Fairlane and of the program, which may not have the same names.
    pub(crate) fn own_choice<T: Copy>(&self, what: &str, choices: &[(&str, T)]) -> Result<T, ScenarioError> {
        let chosen = self.choice(what, choices, &[])?;
        let text = self.text()?;
        if choices.iter().filter(|(name, _)| *name == text).count() > 1 {
            let error = self.error(format!("there is more than one {what} {}", self.written()));
            return Err(error.with_help("give the one of your program another name"));
        }
        Ok(chosen)
    }

    /// The value is planned, and not there in this version.
    pub(crate) fn not_yet(&self, what: &str) -> ScenarioError {
        self.error(format!("the {what} {} is not implemented in this version", self.written()))
    }

    /// The file called `name`, in the scenario's folder.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.source.beside(name)
    }

    pub(crate) fn bundled_file(&self, name: &str) -> Option<&'static str> {
        self.source.bundled_file(name)
    }

    /// Returns true if the value is a table.
    pub(crate) const fn is_table(&self) -> bool {
        matches!(self.node.data, Data::Table(_))
    }

    pub(crate) fn table(&self) -> Result<Reader<'a>, ScenarioError> {
        match &self.node.data {
            Data::Table(table) => {
                Ok(Reader { source: self.source, table, origin: &self.node.origin, path: self.path.clone() })
            }
            _ => Err(self.mismatch("a table, { key = value, … },")),
        }
    }

    /// The tables of a list of tables.
    pub(crate) fn tables(&self) -> Result<Vec<Reader<'a>>, ScenarioError> {
        let wanted = format!("a list of tables, each begun by [[{}]],", self.path);
        self.items(&wanted)?.iter().map(|item| item.table().map_err(|_| item.mismatch(&wanted))).collect()
    }

    /// The texts of a list; from the command line, separated by commas.
    pub(crate) fn texts(&self) -> Result<Vec<Self>, ScenarioError> {
        let wanted = "a list of names, [\"a\", \"b\"],";
        let items = self.items(wanted)?;
        match items.iter().find(|item| item.text().is_err()) {
            Some(item) => Err(item.mismatch("a name in quotes")),
            None => Ok(items),
        }
    }

    /// The values of a list.
    pub(crate) fn items(&self, wanted: &str) -> Result<Vec<Self>, ScenarioError> {
        match &self.node.data {
            Data::Array(nodes) => Ok(nodes.iter().map(|node| Self { node, replaced: None, ..self.clone() }).collect()),
            _ => Err(self.mismatch(wanted)),
        }
    }

    /// The value for a queue's parameter.
    pub(crate) fn value(&self) -> Result<Value, ScenarioError> {
        match &self.node.data {
            Data::Text(text) => Ok(Value::Text(text.clone())),
            Data::Integer(number) => Ok(Value::Integer(*number)),
            Data::Float(number) => Ok(Value::Float(*number)),
            Data::Boolean(switch) => Ok(Value::Boolean(*switch)),
            Data::Date | Data::Array(_) | Data::Table(_) => Err(self.mismatch("a parameter's value")),
        }
    }
}

/// A name of a flow group, link or node: it becomes part of key paths and of flows' names (`ftp/0`).
pub(crate) fn name<'a>(field: &Field<'a>) -> Result<&'a str, ScenarioError> {
    const LONGEST: usize = 64;
    let text = field.text()?;
    let fits = (1..=LONGEST).contains(&text.chars().count());
    if fits && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_') {
        return Ok(text);
    }
    let message = format!("{} is not a name: use 1 to {LONGEST} letters, digits, - and _", field.written());
    Err(field.error(message))
}
