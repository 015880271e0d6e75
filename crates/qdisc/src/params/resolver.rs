//! Resolves the parameters that were given: values are taken one by one, and each is noted with its origin.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

use super::numbers::Numbers;
use super::parameter::Parsed;
use super::{Explanation, Kind, Origin, ParameterError, QdiscParameters, Resolved};
use crate::{Bytes, Duration, Packets, Rate, Size};

/// The largest packet of most links in bytes.
const ETHERNET: u64 = 1514;

/// A type of a parameter's value.
pub(crate) trait Setting: Sized + Display {
    /// Returns the value, if it is of this type.
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

/// Gives a discipline its parameters, and notes each with its origin for the [`Explanation`].
pub(crate) struct Resolver<'a> {
    parameters: &'a QdiscParameters,
    rate: Rate,
    limit: Option<Size>,
    rows: Vec<Resolved>,
    consequences: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Resolver<'a> {
    pub(super) const fn new(parameters: &'a QdiscParameters, rate: Rate) -> Self {
        Self { parameters, rate, limit: None, rows: Vec::new(), consequences: Vec::new(), warnings: Vec::new() }
    }

    /// Returns the discipline.
    pub(crate) const fn kind(&self) -> Kind {
        self.parameters.kind()
    }

    /// Returns the rate of the link; 0 where it is not known.
    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// Returns the value that was given for `key`, and notes nothing.
    pub(crate) fn given<T: Setting>(&self, key: &str) -> Result<Option<T>, ParameterError> {
        Ok(self.parameters.parsed(key).and_then(T::of))
    }

    /// Notes the `value` of `key` with its origin.
    pub(crate) fn note(&mut self, key: &str, value: String, origin: Origin) {
        if let Some(parameter) = self.kind().parameters().iter().find(|parameter| parameter.key == key) {
            self.rows.push(Resolved { key: parameter.key, value, origin, meaning: parameter.meaning });
        }
    }

    /// Returns the value that was given for `key`, or else `otherwise`, whose origin is `origin`; notes it.
    pub(crate) fn take<T: Setting>(&mut self, key: &str, origin: Origin, otherwise: T) -> Result<T, ParameterError> {
        let (value, origin) = match self.given(key)? {
            Some(value) => (value, Origin::Given),
            None => (otherwise, origin),
        };
        self.note(key, value.to_string(), origin);
        Ok(value)
    }

    /// Returns the hard limit: 300 packets when it was not given.
    pub(crate) fn limit(&mut self) -> Result<Size, ParameterError> {
        self.limit_or(Origin::Default("the buffer of the CHOKe paper"), Size::packets(300))
    }

    /// Returns the hard limit: `otherwise` when it was not given.
    pub(crate) fn limit_or(&mut self, origin: Origin, otherwise: Size) -> Result<Size, ParameterError> {
        let limit = self.take("limit", origin, otherwise)?;
        self.limit = Some(limit);
        Ok(limit)
    }

    /// Returns the rate that `user` needs: the link's when it was not given, and never 0.
    pub(crate) fn bandwidth(&mut self, user: &str) -> Result<Rate, ParameterError> {
        let bandwidth = self.take("bandwidth", Origin::Derived("the link's rate"), self.rate)?;
        if bandwidth.bits_per_second() == 0 {
            let message = format!("the link has no rate, which {user} needs: write for example 10mbit");
            return Err(ParameterError::new("bandwidth", message));
        }
        Ok(bandwidth)
    }

    /// Adds a consequence of the values.
    pub(crate) fn say(&mut self, consequence: String) {
        self.consequences.push(consequence);
    }

    /// Adds a warning.
    pub(crate) fn warn(&mut self, warning: String) {
        self.warnings.push(warning);
    }

    /// Returns all that was noted, in the order of the discipline's documentation.
    pub(super) fn explanation(mut self) -> Explanation {
        if let Some(limit) = self.limit {
            self.say_limit(limit);
            self.judge_limit(limit);
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

    /// Warns of a queue that overflows before its delay can be steered: it holds less than twice the target.
    fn judge_limit(&mut self, limit: Size) {
        let target = self.rows.iter().find(|row| row.key == "target").and_then(|row| row.value.parse().ok());
        let Some(target) = target.filter(|_| self.rate.bits_per_second() > 0) else { return };
        let packet = ETHERNET;
        let bytes = match limit {
            Size::Bytes(bytes) => bytes.get(),
            Size::Packets(packets) => u64::from(packets.get()) * packet,
        };
        let (full, target): (_, Duration) = (self.rate.transmission(bytes), target);
        if full.as_nanos() < target.as_nanos().saturating_mul(2) {
            let enough = 2.0 * target.as_secs() * self.rate.bits_per_second() as f64 / 8.0;
            let enough = match limit {
                Size::Bytes(_) => format!("{}b", libm::ceil(enough)),
                Size::Packets(_) => format!("{}p", libm::ceil(enough / packet as f64)),
            };
            self.warn(format!(
                "limit {limit} is full at {:.3} ms, less than twice target {target}: packets are lost at the limit before \
                 the delay is steered; a limit of {enough} is enough",
                1e3 * full.as_secs()
            ));
        }
    }
}
