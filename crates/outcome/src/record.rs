//! Derives the JSON form and the averages over runs of a record from one list of fields.
//!
//! `record!` declares a struct; each field's type is followed by its [`FieldKind`].

use core::fmt::Display;
use std::collections::{BTreeMap, BTreeSet};

use serde::de::{self, DeserializeOwned};
use serde::ser::{Serialize, SerializeMap};
use serde_json::{Map, Value};

use crate::estimate::{Averager, Estimate};

/// Writing, reading and averaging of fields of the type `T`.
pub(crate) trait FieldKind<T> {
    /// Writes the field `key`, and the half width of its interval under `ci95` when there is one.
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &T) -> Result<(), M::Error>;

    /// Takes the field from those that were read.
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<T, E>;

    /// Averages the field over the runs; see [`Combine::combine`].
    fn combine(first: &T, parts: &[Option<&T>], over: &Averager) -> T;
}

/// Measurements that can be averaged over runs.
pub(crate) trait Combine: Sized {
    /// Averages `parts`, one for each run; a missing part counts as 0. `first` is the first existing part.
    fn combine(first: &Self, parts: &[Option<&Self>], over: &Averager) -> Self;
}

/// The same in every run: names and the like.
pub(crate) struct Plain;

/// A number that was counted; printed without a fraction when it comes from one run.
pub(crate) struct Count;

/// A number that was counted and mostly is 0: left out then.
pub(crate) struct Rare;

/// A number that was measured.
pub(crate) struct Real;

/// A number that was measured in some runs only; averaged over those, `null` when there are none.
pub(crate) struct Maybe;

/// A number that was measured where it is known; averaged over the runs that have it, and its key is absent from the
/// others.
pub(crate) struct Known;

/// A value that only some have; its key is absent from the others.
pub(crate) struct Given;

/// A record, or a list of records.
pub(crate) struct Nested;

/// A record that was measured in some runs only; averaged over those, `null` when there are none.
pub(crate) struct Sometimes;

/// A record that only some have; its key is absent from the others.
pub(crate) struct Optional;

/// A record that is not part of the JSON form.
pub(crate) struct Hidden;

impl<T: Clone + Serialize + DeserializeOwned> FieldKind<T> for Plain {
    fn write<M: SerializeMap>(map: &mut M, key: &str, _ci95: &str, value: &T) -> Result<(), M::Error> {
        map.serialize_entry(key, value)
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, _ci95: &str) -> Result<T, E> {
        fields.take(key)
    }
    fn combine(first: &T, _parts: &[Option<&T>], _over: &Averager) -> T {
        first.clone()
    }
}

impl FieldKind<Option<Estimate>> for Known {
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &Option<Estimate>) -> Result<(), M::Error> {
        value.as_ref().map_or(Ok(()), |value| Real::write(map, key, ci95, value))
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<Option<Estimate>, E> {
        let mean: Option<f64> = fields.take_if_there(key)?;
        let ci95 = fields.take_if_there(ci95)?;
        Ok(mean.map(|mean| Estimate::new(mean, ci95)))
    }
    fn combine(first: &Option<Estimate>, parts: &[Option<&Option<Estimate>>], over: &Averager) -> Option<Estimate> {
        Maybe::combine(first, parts, over)
    }
}

impl<T: Clone + Serialize + DeserializeOwned> FieldKind<Option<T>> for Given {
    fn write<M: SerializeMap>(map: &mut M, key: &str, _ci95: &str, value: &Option<T>) -> Result<(), M::Error> {
        value.as_ref().map_or(Ok(()), |value| map.serialize_entry(key, value))
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, _ci95: &str) -> Result<Option<T>, E> {
        fields.take_if_there(key)
    }
    fn combine(first: &Option<T>, _parts: &[Option<&Option<T>>], _over: &Averager) -> Option<T> {
        first.clone()
    }
}

impl FieldKind<Estimate> for Count {
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &Estimate) -> Result<(), M::Error> {
        let whole = value.mean as u64;
        // Beyond 2^53 a count is no longer exact; it then prints as the float that it is.
        if value.ci95().is_none() && whole as f64 == value.mean {
            map.serialize_entry(key, &whole)
        } else {
            Real::write(map, key, ci95, value)
        }
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<Estimate, E> {
        Real::read(fields, key, ci95)
    }
    fn combine(first: &Estimate, parts: &[Option<&Estimate>], over: &Averager) -> Estimate {
        Real::combine(first, parts, over)
    }
}

impl FieldKind<Estimate> for Rare {
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &Estimate) -> Result<(), M::Error> {
        if value.mean == 0.0 { Ok(()) } else { Count::write(map, key, ci95, value) }
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<Estimate, E> {
        Ok(Estimate::new(fields.take_if_there(key)?.unwrap_or(0.0), fields.take_if_there(ci95)?))
    }
    fn combine(first: &Estimate, parts: &[Option<&Estimate>], over: &Averager) -> Estimate {
        let sum = Real::combine(first, parts, over);
        // A number that is left out has no interval either.
        if sum.mean == 0.0 { Estimate::single(0.0) } else { sum }
    }
}

impl FieldKind<Estimate> for Real {
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &Estimate) -> Result<(), M::Error> {
        map.serialize_entry(key, &value.mean)?;
        value.ci95().map_or(Ok(()), |half| map.serialize_entry(ci95, &half))
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<Estimate, E> {
        Ok(Estimate::new(fields.take(key)?, fields.take_if_there(ci95)?))
    }
    fn combine(_first: &Estimate, parts: &[Option<&Estimate>], over: &Averager) -> Estimate {
        over.estimate(parts.iter().map(|part| part.map_or(0.0, |value| value.mean)))
    }
}

impl FieldKind<Option<Estimate>> for Maybe {
    fn write<M: SerializeMap>(map: &mut M, key: &str, ci95: &str, value: &Option<Estimate>) -> Result<(), M::Error> {
        match value {
            None => map.serialize_entry(key, &()),
            Some(value) => Real::write(map, key, ci95, value),
        }
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, ci95: &str) -> Result<Option<Estimate>, E> {
        let mean: Option<f64> = fields.take(key)?;
        let ci95 = fields.take_if_there(ci95)?;
        Ok(mean.map(|mean| Estimate::new(mean, ci95)))
    }
    fn combine(_first: &Option<Estimate>, parts: &[Option<&Option<Estimate>>], over: &Averager) -> Option<Estimate> {
        let values: Vec<f64> = parts.iter().flatten().copied().flatten().map(|value| value.mean).collect();
        (!values.is_empty()).then(|| over.estimate(values.into_iter()))
    }
}

impl<T: Combine + Serialize + DeserializeOwned> FieldKind<T> for Nested {
    fn write<M: SerializeMap>(map: &mut M, key: &str, _ci95: &str, value: &T) -> Result<(), M::Error> {
        map.serialize_entry(key, value)
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, _ci95: &str) -> Result<T, E> {
        fields.take(key)
    }
    fn combine(first: &T, parts: &[Option<&T>], over: &Averager) -> T {
        T::combine(first, parts, over)
    }
}

impl<T: Combine + Serialize + DeserializeOwned> FieldKind<Option<T>> for Sometimes {
    fn write<M: SerializeMap>(map: &mut M, key: &str, _ci95: &str, value: &Option<T>) -> Result<(), M::Error> {
        map.serialize_entry(key, value)
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, _ci95: &str) -> Result<Option<T>, E> {
        fields.take(key)
    }
    fn combine(_first: &Option<T>, parts: &[Option<&Option<T>>], over: &Averager) -> Option<T> {
        let measured: Vec<Option<&T>> = parts.iter().flatten().filter_map(|part| part.as_ref().map(Some)).collect();
        let first = measured.first().copied().flatten()?;
        Some(T::combine(first, &measured, over))
    }
}

// In a box, since few have it.
impl<T: Combine + Serialize + DeserializeOwned> FieldKind<Option<Box<T>>> for Optional {
    fn write<M: SerializeMap>(map: &mut M, key: &str, _ci95: &str, value: &Option<Box<T>>) -> Result<(), M::Error> {
        value.as_ref().map_or(Ok(()), |value| map.serialize_entry(key, value))
    }
    fn read<E: de::Error>(fields: &mut Fields, key: &str, _ci95: &str) -> Result<Option<Box<T>>, E> {
        fields.take_if_there(key)
    }
    fn combine(_first: &Option<Box<T>>, parts: &[Option<&Option<Box<T>>>], over: &Averager) -> Option<Box<T>> {
        let parts: Vec<Option<&T>> = parts.iter().map(|part| part.and_then(|part| part.as_deref())).collect();
        let first = parts.iter().copied().flatten().next()?;
        Some(Box::new(T::combine(first, &parts, over)))
    }
}

impl<T: Combine + Default> FieldKind<T> for Hidden {
    fn write<M: SerializeMap>(_map: &mut M, _key: &str, _ci95: &str, _value: &T) -> Result<(), M::Error> {
        Ok(())
    }
    fn read<E: de::Error>(_fields: &mut Fields, _key: &str, _ci95: &str) -> Result<T, E> {
        Ok(T::default())
    }
    fn combine(first: &T, parts: &[Option<&T>], over: &Averager) -> T {
        T::combine(first, parts, over)
    }
}

/// The fields of a record that is being read.
pub(crate) struct Fields(Map<String, Value>);

impl<'de> de::Deserialize<'de> for Fields {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Map::deserialize(deserializer).map(Self)
    }
}

impl Fields {
    /// Takes the field `key`.
    pub(crate) fn take<T: DeserializeOwned, E: de::Error>(&mut self, key: &str) -> Result<T, E> {
        self.take_if_there(key)?.ok_or_else(|| E::custom(format_args!("`{key}` is missing")))
    }

    /// Takes the field `key`, which need not be there.
    pub(crate) fn take_if_there<T: DeserializeOwned, E: de::Error>(&mut self, key: &str) -> Result<Option<T>, E> {
        let named = |error: &dyn Display| E::custom(format_args!("`{key}`: {error}"));
        self.0.remove(key).map(serde_json::from_value).transpose().map_err(|error| named(&error))
    }
}

/// The identity of a list's member, the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key<'a> {
    /// A name.
    Name(&'a str),
    /// A number.
    Number(u32),
}

/// A member of a list.
pub(crate) trait Keyed {
    /// Its key, unique in its list.
    fn key(&self) -> Key<'_>;
}

impl<T: Combine + Keyed> Combine for Vec<T> {
    /// Every member that any run has, in the order of the first run that has it.
    fn combine(_first: &Self, parts: &[Option<&Self>], over: &Averager) -> Self {
        let runs: Vec<BTreeMap<Key<'_>, &T>> = parts.iter().map(|part| index(part.map_or(&[], |list| list))).collect();
        let mut seen = BTreeSet::new();
        let mut combined = Self::new();
        for member in parts.iter().flatten().copied().flatten() {
            if seen.insert(member.key()) {
                let members: Vec<Option<&T>> = runs.iter().map(|run| run.get(&member.key()).copied()).collect();
                combined.push(T::combine(member, &members, over));
            }
        }
        combined
    }
}

fn index<T: Keyed>(list: &[T]) -> BTreeMap<Key<'_>, &T> {
    list.iter().map(|member| (member.key(), member)).collect()
}

/// Declares a record: a struct whose fields each name their [`FieldKind`].
macro_rules! record {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$field_meta:meta])* pub $field:ident: $ty:ty => $kind:ident,)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $ty,)*
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                $(<$crate::record::$kind as $crate::record::FieldKind<$ty>>::write(
                    &mut map, stringify!($field), concat!(stringify!($field), "_ci95"), &self.$field,
                )?;)*
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let mut fields = <$crate::record::Fields as serde::Deserialize>::deserialize(deserializer)?;
                Ok(Self {
                    $($field: <$crate::record::$kind as $crate::record::FieldKind<$ty>>::read(
                        &mut fields, stringify!($field), concat!(stringify!($field), "_ci95"),
                    )?,)*
                })
            }
        }

        impl $crate::record::Combine for $name {
            fn combine(first: &Self, parts: &[Option<&Self>], over: &$crate::estimate::Averager) -> Self {
                Self {
                    $($field: {
                        let parts: Vec<Option<&$ty>> = parts.iter().map(|part| part.map(|part| &part.$field)).collect();
                        <$crate::record::$kind as $crate::record::FieldKind<$ty>>::combine(&first.$field, &parts, over)
                    },)*
                }
            }
        }
    };
}
pub(crate) use record;
