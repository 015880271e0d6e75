//! A parsed file, with the place of every key and value.

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use crate::error::{Origin, ScenarioError, SourceText};

/// A value with its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) data: Data,
    pub(crate) origin: Origin,
}

#[derive(Clone, Debug)]
pub(crate) enum Data {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// TOML's dates and times, which no key of a scenario takes.
    Date,
    Array(Vec<Node>),
    Table(Table),
}

impl Data {
    /// Describes the kind of value for a message.
    pub(crate) const fn what(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number with a fraction",
            Self::Boolean(_) => "a switch",
            Self::Date => "a date",
            Self::Array(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// Keys with their values, in the order in which they were written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// The place of the key.
    pub(crate) at: Origin,
    pub(crate) node: Node,
    /// The value of the file that an option of the command line replaced.
    pub(crate) replaced: Option<Node>,
}

impl Table {
    /// The entries as written.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The keys with their values, to change these.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = (&str, &mut Node)> {
        self.entries.iter_mut().map(|entry| (entry.key.as_str(), &mut entry.node))
    }

    /// Keeps the entries for which `wanted` returns true.
    pub(crate) fn retain(&mut self, wanted: impl FnMut(&Entry) -> bool) {
        self.entries.retain(wanted);
    }

    /// The table under `key`, created with `origin` if missing; `None` if the key has another value.
    pub(crate) fn table_mut(&mut self, key: &str, origin: &Origin) -> Option<&mut Self> {
        if self.get(key).is_none() {
            self.set(key, Data::Table(Self::default()), origin);
        }
        match &mut self.get_mut(key)?.data {
            Data::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Sets `key` with `origin`, and remembers the file's value.
    pub(crate) fn set(&mut self, key: &str, data: Data, origin: &Origin) {
        let node = Node { data, origin: origin.clone() };
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => {
                let before = std::mem::replace(&mut entry.node, node);
                if matches!(before.origin, Origin::File(_)) {
                    entry.replaced = Some(before);
                }
            }
            None => self.entries.push(Entry { key: key.to_owned(), at: origin.clone(), node, replaced: None }),
        }
    }
}

/// Reads TOML.
pub(crate) fn parse(source: &SourceText) -> Result<Table, ScenarioError> {
    let parsed = DeTable::parse(source.text()).map_err(|error| syntax_error(source, &error))?;
    table(source, parsed.get_ref(), "")
}

fn table(source: &SourceText, parsed: &DeTable<'_>, path: &str) -> Result<Table, ScenarioError> {
    let mut in_order = parsed.iter().collect::<Vec<_>>();
    in_order.sort_by_key(|(key, _)| key.span().start);
    let mut entries = Vec::with_capacity(in_order.len());
    for (key, value) in in_order {
        let node = node(source, value, &join(path, key.get_ref()))?;
        let at = Origin::File(key.span());
        entries.push(Entry { key: key.get_ref().to_string(), at, node, replaced: None });
    }
    Ok(Table { entries })
}

fn node(source: &SourceText, value: &Spanned<DeValue<'_>>, path: &str) -> Result<Node, ScenarioError> {
    let origin = Origin::File(value.span());
    let data = match value.get_ref() {
        DeValue::String(text) => Data::Text(text.to_string()),
        DeValue::Integer(number) => Data::Integer(integer(number).ok_or_else(|| {
            let written = source.slice(&value.span());
            ScenarioError::new(source, &origin, path, format!("the number {written} is too large"))
        })?),
        DeValue::Float(number) => Data::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(switch) => Data::Boolean(*switch),
        DeValue::Datetime(_) => Data::Date,
        DeValue::Array(items) => {
            Data::Array(items.iter().map(|item| node(source, item, path)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => Data::Table(table(source, inner, path)?),
    };
    Ok(Node { data, origin })
}

fn integer(number: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The path of `key` within `path`.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn syntax_error(source: &SourceText, error: &toml::de::Error) -> ScenarioError {
    let span = error.span().unwrap_or(0..0);
    let message = format!("this is not TOML: {}", error.message());
    let refused = ScenarioError::new(source, &Origin::File(span.clone()), "", message);
    match unquoted_unit(source, span.start) {
        Some(value) => refused.with_help(format!("a value with a unit is text: write \"{value}\"")),
        None => refused,
    }
}

/// A value such as `10mbit` that was written without quotes at `place`: the commonest slip in these files.
fn unquoted_unit(source: &SourceText, place: usize) -> Option<&str> {
    let value = source.text().get(place..)?;
    let end = value.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(value.len());
    let value = &value[..end];
    let starts_with_digit = value.starts_with(|c: char| c.is_ascii_digit());
    (starts_with_digit && value.ends_with(|c: char| c.is_ascii_lowercase())).then_some(value)
}
