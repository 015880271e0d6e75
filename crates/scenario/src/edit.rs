//! A document as values: read and changed by a program.

use std::sync::Arc;

use fairlane_qdisc::{Kind, QdiscParameters, Value};

use crate::document::{Document, KeyError, steps, table_name, walk};
use crate::error::{Origin, ScenarioError};
use crate::tree::{Data, Node, Table};

impl Document {
    /// Reads a scenario that a program has put together, which errors call `name`. They point into its text,
    /// [`ScenarioError::source_text`].
    ///
    /// # Errors
    /// The errors of [`parse`](Self::parse).
    pub fn from_table(name: &str, table: &toml::Table) -> Result<Self, ScenarioError> {
        Self::parse(name, &table.to_string())
    }

    /// All values of the document.
    #[must_use]
    pub fn to_table(&self) -> toml::Table {
        self.table_of(&self.root)
    }

    /// The document as a file: the text that was read, comments and all, or a new one if [`put`](Self::put) or
    /// [`set`](Self::set) have changed it.
    #[must_use]
    pub fn to_toml(&self) -> String {
        if self.edited { self.to_table().to_string() } else { self.text().to_owned() }
    }

    /// Returns the value or the table under `key`. `None` if the document does not contain it, so that the default
    /// holds.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<toml::Value> {
        let mut table = &self.root;
        let mut steps = key.split('.').peekable();
        while let Some(step) = steps.next() {
            let mut node = &table.get(step)?.node;
            if let (Data::Array(items), Some(name)) = (&node.data, steps.peek()) {
                node = items.iter().find(|item| table_name(item).as_deref() == Some(name))?;
                steps.next();
            }
            match (&node.data, steps.peek()) {
                (_, None) => return Some(self.value_of(node)),
                (Data::Table(inner), Some(_)) => table = inner,
                _ => return None,
            }
        }
        None
    }

    /// Writes `value` under `key` in place of what stands there, as if the file said so; errors about it are said to be
    /// of `statement`. Keys are those of [`set`](Self::set). A new `queue.kind`, for which a text under `queue` is
    /// short, keeps the parameters that the new discipline knows too.
    ///
    /// # Errors
    /// There is no such group or link, or the path leads through a value. Whether the key exists and takes the value is
    /// checked by [`scenario`](Self::scenario).
    pub fn put(&mut self, key: &str, value: &toml::Value, statement: &str) -> Result<(), ScenarioError> {
        let origin = Origin::Edited(Arc::from(statement));
        put(&mut self.root, key, value, &origin)
            .map_err(|(message, help)| ScenarioError::new(&self.source, &origin, "", message).with_help(help))?;
        self.edited = true;
        Ok(())
    }

    fn table_of(&self, table: &Table) -> toml::Table {
        table.entries().map(|entry| (entry.key.clone(), self.value_of(&entry.node))).collect()
    }

    fn value_of(&self, node: &Node) -> toml::Value {
        match &node.data {
            Data::Text(text) => text.as_str().into(),
            Data::Integer(number) => (*number).into(),
            Data::Float(number) => (*number).into(),
            Data::Boolean(switch) => (*switch).into(),
            // No key takes a date, so the text is enough for a message.
            Data::Date => match &node.origin {
                Origin::File(span) => self.source.slice(span).into(),
                _ => "date".into(),
            },
            Data::Array(items) => items.iter().map(|item| self.value_of(item)).collect::<Vec<_>>().into(),
            Data::Table(table) => self.table_of(table).into(),
        }
    }
}

fn put(root: &mut Table, key: &str, value: &toml::Value, origin: &Origin) -> Result<(), KeyError> {
    let (mut path, mut last) = steps(key)?;
    if last == "queue" && value.is_str() {
        path.push(last);
        last = "kind";
    }
    let table = walk(root, &path, origin)?;
    if (path.last(), last) == (Some(&"queue"), "kind")
        && let Some(kind) = value.as_str().and_then(|name| name.parse::<Kind>().ok())
    {
        table.retain(|entry| entry.key == "kind" || knows(kind, &entry.key, &entry.node.data));
    }
    table.set(last, data(value, origin), origin);
    Ok(())
}

/// Returns true if `kind` has the parameter `key` and accepts this value.
fn knows(kind: Kind, key: &str, data: &Data) -> bool {
    let value = match data {
        Data::Text(text) => Value::Text(text.clone()),
        Data::Integer(number) => Value::Integer(*number),
        Data::Float(number) => Value::Float(*number),
        Data::Boolean(switch) => Value::Boolean(*switch),
        Data::Date | Data::Array(_) | Data::Table(_) => return false,
    };
    QdiscParameters::new(kind).set(key, value).is_ok()
}

fn data(value: &toml::Value, origin: &Origin) -> Data {
    match value {
        toml::Value::String(text) => Data::Text(text.clone()),
        toml::Value::Integer(number) => Data::Integer(*number),
        toml::Value::Float(number) => Data::Float(*number),
        toml::Value::Boolean(switch) => Data::Boolean(*switch),
        toml::Value::Datetime(_) => Data::Date,
        toml::Value::Array(items) => {
            let node = |item| Node { data: data(item, origin), origin: origin.clone() };
            Data::Array(items.iter().map(node).collect())
        }
        toml::Value::Table(inner) => {
            let mut table = Table::default();
            for (key, value) in inner {
                table.set(key, data(value, origin), origin);
            }
            Data::Table(table)
        }
    }
}
