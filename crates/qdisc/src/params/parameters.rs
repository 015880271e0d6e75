//! A discipline chosen by name: its parameters as they were given, and their resolved values.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::parameter::Parsed;
use super::resolver::Resolver;
use super::suggest::{names, nearest};
use super::{AnyConfig, Explanation, Kind, Value};
use crate::{BoxQdisc, Packet, ParameterError, Rate, Seed};

/// The link that a discipline is created for, and the seed of its random numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Host {
    /// The rate of the link; 0 where it is not known.
    pub rate: Rate,
    /// The seed.
    pub seed: Seed,
}

/// The parameters of a discipline as they were given; the others take their defaults.
///
/// Each value is read once, when it is set. [`resolve`](Self::resolve) turns them into a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct QdiscParameters {
    kind: Kind,
    given: Vec<Given>,
}

/// A value that was given, as it was written and as it was read.
#[derive(Clone, Debug, PartialEq)]
struct Given {
    key: &'static str,
    value: Value,
    parsed: Parsed,
}

impl QdiscParameters {
    /// Returns `kind` with its defaults.
    #[must_use]
    pub const fn new(kind: Kind) -> Self {
        Self { kind, given: Vec::new() }
    }

    /// Returns the discipline.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the parameters that were given, in the order of the discipline's documentation.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.given.iter().map(|given| (given.key, &given.value))
    }

    /// Sets one parameter, replacing its previous value.
    ///
    /// Text is accepted for every parameter, since a command line has nothing else.
    ///
    /// # Errors
    /// The discipline has no such parameter, or the value is not of its unit or out of its range.
    pub fn set(&mut self, key: &str, value: Value) -> Result<(), ParameterError> {
        let table = self.kind.parameters();
        let Some(parameter) = table.iter().find(|parameter| parameter.key == key) else {
            return Err(self.unknown(key));
        };
        let parsed = parameter.read(&value)?;
        self.given.retain(|given| given.key != parameter.key);
        self.given.push(Given { key: parameter.key, value, parsed });
        self.given.sort_by_key(|given| table.iter().position(|parameter| parameter.key == given.key));
        Ok(())
    }

    /// Returns the same with one parameter set.
    ///
    /// # Errors
    /// As [`set`](Self::set).
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Result<Self, ParameterError> {
        self.set(key, value.into())?;
        Ok(self)
    }

    /// Returns another discipline with those of the parameters that it also has; the others are left out.
    #[must_use]
    pub fn with_kind(&self, kind: Kind) -> Self {
        let mut parameters = Self::new(kind);
        for (key, value) in self.given() {
            // An error says that `kind` has no such parameter, or another one of that name.
            let _ = parameters.set(key, value.clone());
        }
        parameters
    }

    /// Resolves the parameters into a configuration for a link of `rate`; a rate of 0 means that it is not known.
    ///
    /// # Errors
    /// The parameters contradict each other, such as `min` above `max`, or a default needs the link's rate and it is
    /// not known.
    pub fn resolve(&self, rate: Rate) -> Result<QdiscConfig, ParameterError> {
        let mut resolver = Resolver::new(self, rate);
        let config = self.kind.resolve(&mut resolver)?;
        let explanation = resolver.explanation();
        Ok(QdiscConfig { parameters: self.clone(), config, explanation })
    }

    /// Resolves the parameters and creates the discipline, empty.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn build<P: Packet + Send + Sync + 'static>(&self, host: &Host) -> Result<BoxQdisc<P>, ParameterError> {
        self.resolve(host.rate)?.build(host)
    }

    /// Returns all parameters as they will be used on a link of `rate`, with their origins, consequences and warnings.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn explain(&self, rate: Rate) -> Result<Explanation, ParameterError> {
        self.resolve(rate).map(|config| config.explanation)
    }

    /// Returns the value that was read for `key`.
    pub(super) fn parsed(&self, key: &str) -> Option<Parsed> {
        self.given.iter().find(|given| given.key == key).map(|given| given.parsed)
    }

    /// Returns the error for a `key` that the discipline does not have, with the keys that it has.
    fn unknown(&self, key: &str) -> ParameterError {
        let table = self.kind.parameters();
        let all = || table.iter().map(|parameter| parameter.key);
        let elsewhere =
            table.iter().find(|parameter| parameter.elsewhere.contains(&key)).map(|parameter| parameter.key);
        let hint = match elsewhere.or_else(|| nearest(key, all())) {
            Some(near) => format!("did you mean \"{near}\"? "),
            None => String::new(),
        };
        let message = format!("{} has no parameter \"{key}\": {hint}it has {}", self.kind, names(all()));
        ParameterError::new(key, message)
    }
}

impl fmt::Display for QdiscParameters {
    /// Writes what was given, as it can be read again: `choke limit=300p min=100p`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        self.given().try_for_each(|(key, value)| write!(f, " {key}={value}"))
    }
}

impl FromStr for QdiscParameters {
    type Err = ParameterError;

    /// Reads a discipline and its parameters, between spaces or commas: `choke limit=300p min=100p`. A comma may also
    /// be one between the items of a list: `cbq shares=0.25,0.75`.
    fn from_str(text: &str) -> Result<Self, ParameterError> {
        let words = text.split_ascii_whitespace().flat_map(separated);
        let mut words = words.filter(|word| !word.is_empty());
        let Some(kind) = words.next() else {
            let message = "there is no discipline; begin with its name, as in \"choke limit=300p\"";
            return Err(ParameterError::new("kind", message.to_string()));
        };
        let mut parameters = Self::new(kind.parse()?);
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                return Err(ParameterError::new(word, format!("\"{word}\" has no value: write {word}=VALUE")));
            };
            if parameters.given().any(|(given, _)| given == key) {
                return Err(ParameterError::new(key, "is given twice".to_string()));
            }
            parameters.set(key, value.into())?;
        }
        Ok(parameters)
    }
}

/// Returns what is between the commas of `text`, but those in a list.
fn separated(text: &str) -> Vec<&str> {
    let mut words: Vec<&str> = Vec::new();
    let mut begin = 0;
    for word in text.split(',') {
        let end = begin + word.len();
        match words.last_mut() {
            Some(list) if list.contains('=') && !word.contains('=') && !word.is_empty() => {
                *list = &text[begin - list.len() - 1..end];
            }
            _ => words.push(word),
        }
        begin = end + 1;
    }
    words
}

/// A discipline resolved for a link: its parameters, the typed configuration that they give, and the explanation of
/// each value.
#[derive(Clone, Debug, PartialEq)]
pub struct QdiscConfig {
    parameters: QdiscParameters,
    config: AnyConfig,
    explanation: Explanation,
}

impl QdiscConfig {
    /// Returns the discipline.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        self.parameters.kind
    }

    /// Returns the parameters as they were given.
    #[must_use]
    pub const fn parameters(&self) -> &QdiscParameters {
        &self.parameters
    }

    /// Returns the typed configuration.
    #[must_use]
    pub const fn config(&self) -> &AnyConfig {
        &self.config
    }

    /// Returns all parameters as they will be used, with their origins, consequences and warnings.
    #[must_use]
    pub const fn explanation(&self) -> &Explanation {
        &self.explanation
    }

    /// Creates the discipline, empty, for the link of `host`.
    ///
    /// # Errors
    /// A value is out of its range, or values contradict each other.
    pub fn build<P: Packet + Send + Sync + 'static>(&self, host: &Host) -> Result<BoxQdisc<P>, ParameterError> {
        let mut queue = self.config.build(host.seed)?;
        queue.link_rate(host.rate);
        Ok(queue)
    }
}
