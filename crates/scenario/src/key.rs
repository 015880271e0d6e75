//! The keys of the scenario file, a row each: the reader checks values against them, and the schema is made of them.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Rate, Size};

use crate::error::ScenarioError;
use crate::field::{Field, name};

/// A key of a table.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    /// Its default as a file would have it, a rule in words, [`REQUIRED`], or nothing.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

/// The default of a key that every table must have.
pub(crate) const REQUIRED: &str = "required";

/// A key with its values, its default and its meaning.
pub(crate) const fn key(name: &'static str, takes: Takes, default: &'static str, meaning: &'static str) -> Key {
    Key { name, takes, default, meaning }
}

/// A table that has a name in the schema.
#[derive(Debug)]
pub(crate) struct TableKeys {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) keys: &'static [Key],
}

/// A source of a kind of flows, and the keys of groups with it.
pub(crate) type SourceKeys = (&'static str, Vec<Key>);

/// The values of a key.
#[derive(Clone, Debug)]
pub(crate) enum Takes {
    Text,
    /// The name of a group, link or node.
    Name,
    Time(RangeInclusive<Duration>),
    /// A time, or a range of times: `"0s..1s"`.
    Times,
    Rate(RangeInclusive<Rate>),
    Bytes(RangeInclusive<Bytes>),
    /// Packets or bytes.
    Size,
    Count(RangeInclusive<u64>),
    Ratio(RangeInclusive<f64>),
    Switch,
    /// `false`, for what can be switched off.
    Off,
    /// One of these names.
    Choice(fn() -> Vec<&'static str>),
    List(&'static Self),
    Pair(&'static [Self; 2]),
    Table(&'static TableKeys),
    /// A discipline and its parameters.
    Queue,
    /// A group of flows.
    Flow,
    Either(&'static Self, &'static Self),
}

/// Any time, for what other keys limit.
pub(crate) const ANY_TIME: Takes = Takes::Time(Duration::ZERO..=Duration::from_nanos(u64::MAX));

impl Takes {
    /// A count of 32 bits.
    pub(crate) const fn count(range: &RangeInclusive<u32>) -> Self {
        Self::Count(*range.start() as u64..=*range.end() as u64)
    }

    /// Refuses a value of another type, or one out of the range. Choices, lists and tables are left to those who read
    /// them.
    pub(crate) fn check(&self, field: &Field<'_>) -> Result<(), ScenarioError> {
        match self {
            Self::Text | Self::Times => field.text().map(drop),
            Self::Name => name(field).map(drop),
            Self::Time(range) => field.unit_in(range).map(drop),
            Self::Rate(range) => field.unit_in(range).map(drop),
            Self::Bytes(range) => field.unit_in(range).map(drop),
            Self::Size => field.unit::<Size>().map(drop),
            Self::Count(range) => field.count(range).map(drop),
            Self::Ratio(range) => field.ratio(range).map(drop),
            Self::Switch | Self::Off => field.switch().map(drop),
            Self::Either(_, other) if other.has_form_of(field) => Ok(()),
            Self::Either(one, _) => one.check(field),
            Self::Choice(_) | Self::List(_) | Self::Pair(_) | Self::Table(_) | Self::Queue | Self::Flow => Ok(()),
        }
    }

    fn has_form_of(&self, field: &Field<'_>) -> bool {
        match self {
            Self::Off => field.is_off(),
            _ => field.is_table(),
        }
    }
}

/// The names of `choices`.
pub(crate) fn names<T>(choices: &[(&'static str, T)]) -> Vec<&'static str> {
    choices.iter().map(|(name, _)| *name).collect()
}
