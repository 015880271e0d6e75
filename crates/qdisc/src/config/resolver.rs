//! From what was given to what will be used: values are taken one by one, each with where it came from.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use super::numbers::Numbers;
use super::parameter::Parsed;
use super::red::packets;
use super::{Explanation, Kind, Origin, ParameterError, QdiscConfig, Resolved};
use crate::{Bytes, Duration, Packets, Rate, Size};

/// A value that can be taken out of what was read.
pub(crate) trait Setting: Sized + Display {
    /// The value, if it is of this type.
    fn of(parsed: Parsed) -> Option<Self>;
}

macro_rules! setting {
    ($($type:ty = $variant:ident),*) => {
        $(impl Setting for $type {
            fn of(parsed: Parsed) -> Option<Self> {
                if let Parsed::$variant(value) = parsed { Some(value) } else { None }
            }
        })*
    };
}

setting!(
    Size = Size,
    Bytes = Bytes,
    Packets = Packets,
    Rate = Rate,
    Duration = Duration,
    u32 = Count,
    f64 = Ratio,
    Numbers = Numbers,
    bool = Switch,
    &'static str = Choice
);

/// What a discipline asks for its parameters. It notes what it gives out, for [`Explanation`].
pub(crate) struct Resolver<'a> {
    config: &'a QdiscConfig,
    rate: Rate,
    limit: Option<Size>,
    rows: Vec<Resolved>,
    consequences: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub(super) const fn new(config: &'a QdiscConfig, rate: Rate) -> Self {
        Self { config, rate, limit: None, rows: Vec::new(), consequences: Vec::new(), warnings: Vec::new() }
    }

    /// The discipline.
    pub(crate) const fn kind(&self) -> Kind {
        self.config.kind()
    }

    /// The rate of the managed link; 0 where it is not known.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// What was given for `key`; nothing is noted.
    pub(crate) fn given<T: Setting>(&self, key: &str) -> Result<Option<T>, ParameterError> {
        let value = self.config.given().find(|(known, _)| *known == key);
        let parameter = self.kind().parameters().iter().find(|parameter| parameter.key == key);
        match (value, parameter) {
            (Some((_, value)), Some(parameter)) => Ok(T::of(parameter.read(value)?)),
            _ => Ok(None),
        }
    }

    /// Notes that `key` is `value`.
    pub(crate) fn note(&mut self, key: &str, value: String, origin: Origin) {
        if let Some(parameter) = self.kind().parameters().iter().find(|parameter| parameter.key == key) {
            self.rows.push(Resolved { key: parameter.key, value, origin, meaning: parameter.meaning });
        }
    }

    /// What was given for `key`, else `otherwise` with its `origin`; noted.
    pub(crate) fn take<T: Setting>(&mut self, key: &str, origin: Origin, otherwise: T) -> Result<T, ParameterError> {
        let (value, origin) = match self.given(key)? {
            Some(value) => (value, Origin::Given),
            None => (otherwise, origin),
        };
        self.note(key, value.to_string(), origin);
        Ok(value)
    }

    /// The hard limit: 300 packets when it was not given.
    pub(crate) fn limit(&mut self) -> Result<Size, ParameterError> {
        self.limit_or(Origin::Default("the buffer of the CHOKe paper"), packets(300))
    }

    /// The hard limit: `otherwise` when it was not given.
    pub(crate) fn limit_or(&mut self, origin: Origin, otherwise: Size) -> Result<Size, ParameterError> {
        let limit = self.take("limit", origin, otherwise)?;
        self.limit = Some(limit);
        Ok(limit)
    }

    /// The rate that `user` works with: the link's when it was not given, and never 0.
    pub(crate) fn bandwidth(&mut self, user: &str) -> Result<Rate, ParameterError> {
        let bandwidth = self.take("bandwidth", Origin::Derived("the link's rate"), self.rate)?;
        if bandwidth.bits_per_second() == 0 {
            let message = format!("the link has no rate, which {user} needs: write for example 10mbit");
            return Err(ParameterError::new("bandwidth", message));
        }
        Ok(bandwidth)
    }

    /// What follows from the values and is worth knowing.
    pub(crate) fn say(&mut self, consequence: String) {
        self.consequences.push(consequence);
    }

    /// What looks wrong.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// All that was noted and said, in the order of the discipline's documentation.
    pub(super) fn explanation(mut self) -> Explanation {
        if let Some(limit) = self.limit {
            self.say_limit(limit);
        }
        let order = self.kind().parameters();
        self.rows.sort_by_key(|row| order.iter().position(|parameter| parameter.key == row.key));
        let kind = self.kind();
        let Self { rows, consequences, warnings, .. } = self;
        Explanation { kind, parameters: rows, consequences, warnings }
    }

    fn say_limit(&mut self, limit: Size) {
        if let Size::Bytes(bytes) = limit
            && self.rate.bits_per_second() > 0
        {
            let time = 1e3 * self.rate.transmission(bytes.get()).as_secs();
            self.say(format!("a full queue of {limit} takes {time:.3} ms to leave"));
        }
    }
}
