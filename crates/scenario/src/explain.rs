//! Built-in scenarios with a comment on each key.

use std::collections::BTreeSet;

use fairlane_qdisc::Kind;

use crate::bundled::Bundled;
use crate::error::Origin;
use crate::key::{Key, Takes, key};
use crate::read::{KEYS, flows};
use crate::tree::{Data, Entry, Node, Table};

/// A word on a key that stands at a place of the text.
struct Note<'a> {
    at: usize,
    key: &'a str,
    meaning: &'static str,
}

impl Bundled {
    /// Returns its text with a comment above the first use of each key, which says what the key means.
    #[must_use]
    pub fn explained(&self) -> String {
        let mut notes = Vec::new();
        let document = self.document();
        if let Ok(document) = &document {
            of_table(&document.root, KEYS, &mut notes);
        }
        notes.sort_by_key(|note| note.at);
        let mut said = BTreeSet::new();
        notes.retain(|note| said.insert(note.meaning));
        let mut begin = 0;
        let line = |line: &str| {
            let end = begin + line.len();
            let here = notes.iter().filter(|note| (begin..end).contains(&note.at));
            let comments = here.map(|note| comment(note, &line[..note.at - begin])).collect::<String>();
            begin = end;
            comments + line
        };
        self.text.split_inclusive('\n').map(line).collect()
    }
}

/// The comment of a key that has `before` it in its line; a key in the middle of a line is named.
fn comment(note: &Note<'_>, before: &str) -> String {
    match before.trim_matches([' ', '[']) {
        "" => format!("# {}\n", note.meaning),
        _ => format!("# {}: {}\n", note.key, note.meaning),
    }
}

fn of_table<'a>(table: &'a Table, keys: &[Key], notes: &mut Vec<Note<'a>>) {
    for entry in table.entries() {
        if let Some(key) = keys.iter().find(|key| key.name == entry.key) {
            notes.extend(note(entry, key));
            of_value(&entry.node, &key.takes, notes);
        }
    }
}

fn note<'a>(entry: &'a Entry, key: &Key) -> Option<Note<'a>> {
    let meaning = match key.takes {
        Takes::Table(table) if key.meaning.is_empty() => table.meaning,
        _ => key.meaning,
    };
    let Origin::File(span) = &entry.at else { return None };
    (!meaning.is_empty()).then(|| Note { at: span.start, key: &entry.key, meaning })
}

/// The keys within a value.
fn of_value<'a>(node: &'a Node, takes: &Takes, notes: &mut Vec<Note<'a>>) {
    match (takes, &node.data) {
        (Takes::Either(one, other), _) => [one, other].into_iter().for_each(|takes| of_value(node, takes, notes)),
        (Takes::List(item), Data::Array(items)) => items.iter().for_each(|node| of_value(node, item, notes)),
        (Takes::Table(keys), Data::Table(table)) => of_table(table, keys.keys, notes),
        (Takes::Flow, Data::Table(table)) => of_table(table, &of_flow(table), notes),
        (Takes::Queue, Data::Table(table)) => of_table(table, &of_queue(table), notes),
        _ => {}
    }
}

/// The keys of a group of flows of this kind and source.
fn of_flow(table: &Table) -> Vec<Key> {
    let kinds = flows::sources().into_iter();
    let sources = kinds.filter(|(kind, _)| text(table, "kind") == Some(kind)).flat_map(|(_, sources)| sources);
    let source = text(table, "source");
    let mut sources = sources.filter(|(name, _)| source.is_none_or(|source| source == *name));
    sources.next().map(|(_, keys)| keys).unwrap_or_default()
}

/// The keys of a queue of this discipline.
fn of_queue(table: &Table) -> Vec<Key> {
    let Some(Ok(kind)) = text(table, "kind").map(str::parse::<Kind>) else { return Vec::new() };
    let parameters = kind.parameters().iter().map(|parameter| (parameter.key, parameter.meaning));
    let rows = [("kind", kind.summary())].into_iter().chain(parameters);
    rows.map(|(name, meaning)| key(name, Takes::Text, "", meaning)).collect()
}

fn text<'t>(table: &'t Table, key: &str) -> Option<&'t str> {
    match &table.get(key)?.node.data {
        Data::Text(text) => Some(text),
        _ => None,
    }
}
