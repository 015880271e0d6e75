//! All mistakes of a scenario: after each one its place is left out, and the rest is read again.

use std::ops::Range;

use crate::document::Document;
use crate::error::{Origin, ScenarioError, SourceText};
use crate::read::{self, Needs};
use crate::tree::{self, Data, Node, Table};

/// The most mistakes that are listed.
const MOST: usize = 100;

/// Keys whose value decides which other keys there are.
const CHOICES: [&str; 2] = ["kind", "source"];

impl Document {
    /// Returns what is wrong, in the order of the file; nothing if [`scenario`](Self::scenario) reads it. At most 100
    /// mistakes are listed.
    ///
    /// Nothing that depends on a mistake is judged: neither the keys of a group of an unknown kind, nor a path over a
    /// link that has no ends.
    #[must_use]
    pub fn mistakes(&self) -> Vec<ScenarioError> {
        let mut root = self.root.clone();
        let mut mistakes: Vec<ScenarioError> = Vec::new();
        while mistakes.len() < MOST {
            let Err(error) = read::scenario(&self.source, &root, &self.own, Needs::All) else { break };
            let left_out = leave_out(&mut root, &error);
            let (key, whole) = (error.key(), !error.key().contains('.'));
            // A list that has lost its last table counts as known too.
            let inside = |known: &str| whole && known.strip_prefix(key).is_some_and(|rest| rest.starts_with('.'));
            let known = mistakes.iter().any(|mistake| mistake.key() == key || inside(mistake.key()));
            // The file may have no network because its network was left out.
            let network = |known: &str| ["bottleneck", "links"].iter().any(|table| known.starts_with(table));
            let follows = key.is_empty() && mistakes.iter().any(|mistake| network(mistake.key()));
            if !known && !follows {
                mistakes.push(error);
            }
            if !left_out {
                break;
            }
        }
        mistakes.sort_by_key(|mistake| mistake.span().map_or(0, |span| span.start));
        mistakes
    }
}

/// Returns the place of an error in the file, unless it is about the file as a whole.
fn place(error: &ScenarioError) -> Option<Range<usize>> {
    error.span().filter(|span| !span.is_empty())
}

/// Adds the example of a missing key, or removes the value or the table that is wrong. Returns false if there is none.
fn leave_out(root: &mut Table, error: &ScenarioError) -> bool {
    let (_, key) = error.key().rsplit_once('.').unwrap_or(("", error.key()));
    match (error.example(), place(error)) {
        (Some(example), place) => {
            let one = example.split(" or ").next().unwrap_or(example);
            let text = format!("{key} = {one}");
            let Ok(parsed) = tree::parse(&SourceText::new("", &text)) else { return false };
            let Some(entry) = parsed.entries().next() else { return false };
            let table = match place {
                Some(place) => find(root, &place),
                None => Some(root),
            };
            table.is_some_and(|table| {
                table.set(key, entry.node.data.clone(), &Origin::Whole);
                true
            })
        }
        (None, Some(place)) => remove(root, &place) != Removal::None,
        (None, None) => false,
    }
}

/// Returns the table at `place`.
fn find<'t>(table: &'t mut Table, place: &Range<usize>) -> Option<&'t mut Table> {
    table.entries_mut().find_map(|(_, node)| find_in(node, place))
}

fn find_in<'t>(node: &'t mut Node, place: &Range<usize>) -> Option<&'t mut Table> {
    let here = is_at(&node.origin, place);
    match &mut node.data {
        Data::Table(table) => {
            if here {
                Some(table)
            } else {
                find(table, place)
            }
        }
        Data::Array(items) => items.iter_mut().find_map(|item| find_in(item, place)),
        _ => None,
    }
}

fn is_at(origin: &Origin, place: &Range<usize>) -> bool {
    matches!(origin, Origin::File(span) if span == place)
}

/// The result of a removal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Removal {
    /// There is nothing at the place.
    None,
    Done,
    /// The table with the removed key is to be removed too.
    Table,
}

/// Removes the key, the value or the table at `place`.
fn remove(table: &mut Table, place: &Range<usize>) -> Removal {
    let here = |at: &Origin, node: &Node| is_at(at, place) || is_at(&node.origin, place);
    let found = table.entries().find(|entry| here(&entry.at, &entry.node));
    if let Some((key, is_value)) = found.map(|entry| (entry.key.clone(), is_at(&entry.node.origin, place))) {
        let decides = is_value && CHOICES.contains(&key.as_str());
        table.retain(|entry| entry.key != key);
        return if decides { Removal::Table } else { Removal::Done };
    }
    let inner = table.entries_mut().find_map(|(key, node)| match remove_in(node, place) {
        Removal::None => None,
        removal => Some((key.to_owned(), removal)),
    });
    match inner {
        Some((key, Removal::Table)) => {
            table.retain(|entry| entry.key != key);
            Removal::Done
        }
        Some((_, removal)) => removal,
        None => Removal::None,
    }
}

fn remove_in(node: &mut Node, place: &Range<usize>) -> Removal {
    match &mut node.data {
        Data::Table(table) => remove(table, place),
        Data::Array(items) => {
            let found = items.iter_mut().enumerate().find_map(|(index, item)| {
                let removal = if is_at(&item.origin, place) { Removal::Table } else { remove_in(item, place) };
                (removal != Removal::None).then_some((index, removal))
            });
            match found {
                Some((index, Removal::Table)) => {
                    items.remove(index);
                    Removal::Done
                }
                Some((_, removal)) => removal,
                None => Removal::None,
            }
        }
        _ => Removal::None,
    }
}
