//! The place of an outcome in a sweep.

use core::fmt;

use fairlane_qdisc::{Bytes, Duration, Packets, Rate};
use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The keys that a sweep varied, in the requested order, with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point(Vec<(String, PointValue)>);

impl Point {
    /// A point without keys.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The same point with `key`, such as `flows.cbr.rate`, at `value`; a key that is there keeps its place.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<PointValue>) -> Self {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(there, _)| *there == key) {
            Some((_, there)) => *there = value,
            None => self.0.push((key, value)),
        }
        self
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&PointValue> {
        self.iter().find_map(|(there, value)| (there == key).then_some(value))
    }

    /// Every key with its value, in the requested order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &PointValue)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }
}

/// A value that a sweep gave to a key, as the scenario file spells it.
#[derive(Clone, Debug, PartialEq)]
pub enum PointValue {
    /// A switch.
    Switch(bool),
    /// A count.
    Count(i64),
    /// A ratio; always finite.
    Ratio(f64),
    /// Anything with a unit, and names.
    Text(String),
}

impl From<bool> for PointValue {
    fn from(value: bool) -> Self {
        Self::Switch(value)
    }
}

impl From<i64> for PointValue {
    fn from(value: i64) -> Self {
        Self::Count(value)
    }
}

impl From<f64> for PointValue {
    /// A value that is not finite becomes its text: JSON has no number for it.
    fn from(value: f64) -> Self {
        if value.is_finite() { Self::Ratio(value) } else { Self::Text(value.to_string()) }
    }
}

impl From<&str> for PointValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for PointValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

/// The unit of a value that was written with one, without its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bits per second.
    BitsPerSecond,
    /// Seconds.
    Seconds,
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// Products of a link's bandwidth and its round trip.
    BandwidthDelayProducts,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 5] =
        [Self::BitsPerSecond, Self::Seconds, Self::Packets, Self::Bytes, Self::BandwidthDelayProducts];

    /// The end of a column's name: `bps`, `s`, `packets`, `bytes` or `bdp`.
    #[must_use]
    pub const fn suffix(self) -> &'static str {
        match self {
            Self::BitsPerSecond => "bps",
            Self::Seconds => "s",
            Self::Packets => "packets",
            Self::Bytes => "bytes",
            Self::BandwidthDelayProducts => "bdp",
        }
    }
}

impl PointValue {
    /// Returns the number and the unit of a value such as `100kbit`, `20ms`, `300p`, `150kb` or `0.5bdp`; `None` for
    /// other texts and plain numbers.
    #[must_use]
    pub fn quantity(&self) -> Option<(f64, Unit)> {
        let Self::Text(text) = self else { return None };
        if let Ok(rate) = text.parse::<Rate>() {
            return Some((rate.bits_per_second() as f64, Unit::BitsPerSecond));
        }
        if let Ok(time) = text.parse::<Duration>() {
            return Some((time.as_secs(), Unit::Seconds));
        }
        if let Ok(packets) = text.parse::<Packets>() {
            return Some((f64::from(packets.get()), Unit::Packets));
        }
        if let Some(products) = text.strip_suffix("bdp") {
            let number = if products.trim().is_empty() { Some(1.0) } else { products.trim().parse::<f64>().ok() };
            return number.filter(|it| it.is_finite()).map(|number| (number, Unit::BandwidthDelayProducts));
        }
        text.parse::<Bytes>().ok().map(|bytes| (bytes.get() as f64, Unit::Bytes))
    }
}

impl fmt::Display for PointValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch(value) => value.fmt(f),
            Self::Count(value) => value.fmt(f),
            Self::Ratio(value) => value.fmt(f),
            Self::Text(value) => value.fmt(f),
        }
    }
}

impl Serialize for PointValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Switch(value) => value.serialize(serializer),
            Self::Count(value) => value.serialize(serializer),
            Self::Ratio(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for PointValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde_json::Value;
        Ok(match Value::deserialize(deserializer)? {
            Value::Bool(value) => value.into(),
            Value::String(value) => value.into(),
            Value::Number(value) => match (value.as_i64(), value.as_f64()) {
                (Some(value), _) => value.into(),
                (None, Some(value)) => value.into(),
                (None, None) => value.to_string().into(),
            },
            other => return Err(serde::de::Error::custom(format_args!("`{other}` is not a value of a key"))),
        })
    }
}

impl Serialize for Point {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in self.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = serde_json::Map::deserialize(deserializer)?;
        let value = |value| serde_json::from_value(value).map_err(serde::de::Error::custom);
        map.into_iter().map(|(key, found)| Ok((key, value(found)?))).collect::<Result<_, _>>().map(Self)
    }
}
