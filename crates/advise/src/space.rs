//! The numeric parameters of a discipline as a space to search.

use fairlane_qdisc::{Bytes, Domain, Duration, Kind, ParameterError, QdiscParameters, Rate, Size};

/// Parameters that belong to the link, its packets or the machine, and are no matter of taste.
const GIVEN: [&str; 4] = ["avpkt", "bandwidth", "memory_limit", "mtu"];

/// The range of a parameter that declares no narrower one: so many times below and above its default.
const WIDE: f64 = 30.0;

/// Digits of a value.
const DIGITS: usize = 3;

/// Places at which a parameter is tried by itself.
const PROBES: [f64; 4] = [0.13, 0.37, 0.61, 0.89];

/// The numeric parameters of a discipline, each with a range around its default.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    base: QdiscParameters,
    rate: Rate,
    dimensions: Vec<Dimension>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
struct Dimension {
    key: &'static str,
    form: Form,
    low: f64,
    high: f64,
}

/// How a number is written as the parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Packets,
    Bytes,
    Rate,
    Time,
    Count,
    Plain,
}

impl Space {
    /// Returns the space of `kind` on a link of `rate`: of each numeric parameter with a default, the part of its range
    /// that is at most [`WIDE`] times below and above the default. Parameters that are off by default stay so.
    ///
    /// # Errors
    /// The defaults need more than the rate.
    pub(crate) fn new(kind: Kind, rate: Rate) -> Result<Self, ParameterError> {
        let base = QdiscParameters::new(kind);
        let resolved = base.explain(rate)?.parameters;
        let dimension = |parameter: &fairlane_qdisc::Parameter| {
            if GIVEN.contains(&parameter.key) {
                return None;
            }
            let default = resolved.iter().find(|resolved| resolved.key == parameter.key)?;
            Dimension::new(parameter.key, parameter.domain, &default.value)
        };
        let mut space = Self { dimensions: kind.parameters().iter().filter_map(dimension).collect(), base, rate };
        // A parameter that takes few of the values in its range, such as powers of two, stays as it is.
        let probed = space.clone();
        space.dimensions.retain(|dimension| PROBES.iter().any(|place| probed.takes(dimension, *place)));
        space.keep_one_of_alternatives();
        Ok(space)
    }

    /// Leaves out a parameter that an earlier one decides, such as RED's `burst` next to its `weight`: no point that
    /// gives both would be taken.
    fn keep_one_of_alternatives(&mut self) {
        let mut kept: Vec<Dimension> = Vec::new();
        for dimension in std::mem::take(&mut self.dimensions) {
            let with = |other: &Dimension, at: f64, there: f64| {
                let set = self.base.clone().with(other.key, &*other.value(at));
                set.and_then(|set| set.with(dimension.key, &*dimension.value(there)))
                    .and_then(|set| set.resolve(self.rate))
            };
            let both =
                |other: &Dimension| PROBES.iter().any(|at| PROBES.iter().any(|there| with(other, *at, *there).is_ok()));
            if kept.iter().all(both) {
                kept.push(dimension);
            }
        }
        self.dimensions = kept;
    }

    /// Returns true if the discipline takes the value at a place with the defaults of all others.
    fn takes(&self, dimension: &Dimension, place: f64) -> bool {
        let set = self.base.clone().with(dimension.key, &*dimension.value(place));
        set.is_ok_and(|set| set.resolve(self.rate).is_ok())
    }

    /// Returns the number of parameters.
    pub(crate) const fn dimensions(&self) -> usize {
        self.dimensions.len()
    }

    /// Returns the parameters at a point with coordinates from 0 to 1.
    ///
    /// # Errors
    /// The parameters at the point contradict each other.
    pub(crate) fn at(&self, point: &[f64]) -> Result<QdiscParameters, ParameterError> {
        let mut parameters = self.base.clone();
        for (dimension, place) in self.dimensions.iter().zip(point) {
            parameters = parameters.with(dimension.key, &*dimension.value(*place))?;
        }
        parameters.resolve(self.rate)?;
        Ok(parameters)
    }

    /// Returns the point of `parameters`; other parameters have the values that follow.
    pub(crate) fn place(&self, parameters: &QdiscParameters) -> Option<Vec<f64>> {
        let resolved = parameters.explain(self.rate).ok()?.parameters;
        let place = |dimension: &Dimension| {
            let value = resolved.iter().find(|resolved| resolved.key == dimension.key)?;
            Some(dimension.place(dimension.form.read(&value.value)?))
        };
        // A value that is off, as one that another makes useless, is searched from the middle of its range.
        Some(self.dimensions.iter().map(|dimension| place(dimension).unwrap_or(0.5)).collect())
    }
}

impl Dimension {
    /// Returns the dimension of a parameter with this default; `None` if the default is no number, or leaves no range.
    fn new(key: &'static str, domain: Domain, default: &str) -> Option<Self> {
        let form = Form::of(domain, default)?;
        let value = form.read(default)?;
        let (least, most) = match domain {
            Domain::Count { min, max, .. } => (f64::from(min), f64::from(max)),
            Domain::Ratio => (0.0, 1.0),
            Domain::Number { min, max } => (min, max),
            Domain::Size | Domain::Packets => (1.0, 16_777_216.0),
            Domain::Bytes => (1.0, 16e6),
            _ => (0.0, f64::INFINITY),
        };
        let (low, high) = if value > 0.0 {
            ((value / WIDE).max(least), (value * WIDE).min(most))
        } else {
            (least, most.min(least + 1.0))
        };
        (low < high && high.is_finite()).then_some(Self { key, form, low, high })
    }

    /// Returns true if the range spans a decade, and its parts are ratios.
    fn is_log(&self) -> bool {
        self.low > 0.0 && self.high / self.low >= 10.0
    }

    /// Returns the value at a place from 0 to 1.
    fn value(&self, place: f64) -> String {
        let value = if self.is_log() {
            self.low * libm::pow(self.high / self.low, place)
        } else {
            self.low + (self.high - self.low) * place
        };
        // A rounded value beyond an end would not be in the parameter's range.
        self.form.write(tidy(value).clamp(self.low, self.high))
    }

    fn place(&self, value: f64) -> f64 {
        let place = if self.is_log() {
            libm::log(value.max(f64::MIN_POSITIVE) / self.low) / libm::log(self.high / self.low)
        } else {
            (value - self.low) / (self.high - self.low)
        };
        place.clamp(0.0, 1.0)
    }
}

impl Form {
    fn of(domain: Domain, default: &str) -> Option<Self> {
        Some(match domain {
            Domain::Size => match default.parse().ok()? {
                Size::Packets(_) => Self::Packets,
                Size::Bytes(_) => Self::Bytes,
            },
            Domain::Packets => Self::Packets,
            Domain::Bytes => Self::Bytes,
            Domain::Rate => Self::Rate,
            Domain::Duration => Self::Time,
            Domain::Count { .. } => Self::Count,
            Domain::Ratio | Domain::Number { .. } => Self::Plain,
            _ => return None,
        })
    }

    /// Reads a value; `None` for words such as `none`.
    fn read(self, text: &str) -> Option<f64> {
        match self {
            Self::Packets => match text.parse().ok()? {
                Size::Packets(packets) => Some(f64::from(packets.get())),
                Size::Bytes(_) => None,
            },
            Self::Bytes => text.parse().ok().map(|bytes: Bytes| bytes.get() as f64),
            Self::Rate => text.parse().ok().map(|rate: Rate| rate.bits_per_second() as f64),
            Self::Time => text.parse().ok().map(Duration::as_secs),
            Self::Count => text.parse().ok().map(|count: u32| f64::from(count)),
            Self::Plain => text.parse().ok().filter(|value: &f64| value.is_finite()),
        }
    }

    fn write(self, value: f64) -> String {
        match self {
            Self::Packets => format!("{}p", value.round().max(1.0)),
            Self::Bytes => format!("{}b", value.round().max(1.0)),
            Self::Rate => format!("{}bit", value.round().max(1.0)),
            Self::Time => Duration::from_secs(value).to_string(),
            Self::Count => format!("{}", value.round()),
            Self::Plain => format!("{value}"),
        }
    }
}

/// Rounds to [`DIGITS`] significant digits, so that a person can read the value.
fn tidy(value: f64) -> f64 {
    // The text has no error of multiplication.
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate::from_bits_per_second(10_000_000);

    fn dimension(kind: Kind, key: &str) -> Option<Dimension> {
        Space::new(kind, RATE).unwrap().dimensions.into_iter().find(|dimension| dimension.key == key)
    }

    /// By hand: thirty times below and above 300 packets, in ratios, so that the middle is the default.
    #[test]
    fn a_range_is_around_the_default() {
        let limit = dimension(Kind::DropTail, "limit").unwrap();
        assert_eq!((limit.low, limit.high), (10.0, 9000.0));
        assert_eq!([0.0, 0.5, 1.0].map(|place| limit.value(place)), ["10p", "300p", "9000p"]);
        assert!((limit.place(300.0) - 0.5).abs() < 1e-12);
    }

    /// Would catch a range beyond the parameter's own: a ratio above 1, and a count outside its bounds.
    #[test]
    fn a_range_ends_where_the_parameters_does() {
        assert_eq!(dimension(Kind::Red, "probability_weight").unwrap().high, 1.0);
        let levels = dimension(Kind::Sfb, "levels").unwrap();
        assert_eq!(levels.low, 1.0);
        assert!(QdiscParameters::new(Kind::Sfb).with("levels", &*levels.value(1.0)).is_ok());
    }

    /// Would catch a parameter of the link that is tuned, one that is no number, and one that takes powers of two only.
    #[test]
    fn what_is_no_matter_of_taste_is_not_tuned() {
        assert_eq!(dimension(Kind::Echo, "tags"), None);
        assert!(dimension(Kind::Echo, "target").is_some());
        for key in ["bandwidth", "avpkt", "gentle"] {
            assert_eq!(dimension(Kind::Red, key), None, "{key}");
        }
    }

    /// Would catch a value that its own discipline refuses, at the ends and in the middle of every range of every
    /// discipline.
    #[test]
    fn every_value_is_read_by_its_discipline() {
        for kind in Kind::ALL {
            let Ok(space) = Space::new(kind, RATE) else { continue };
            assert!(space.dimensions() > 0 || kind.parameters().len() < 3, "{kind} has nothing to tune");
            for dimension in &space.dimensions {
                for place in [0.0, 0.123_456, 0.5, 1.0] {
                    let value = dimension.value(place);
                    let set = QdiscParameters::new(kind).with(dimension.key, &*value);
                    assert!(set.is_ok(), "{kind} {}: {set:?}", dimension.key);
                }
            }
        }
    }

    /// Of 200 points at least a fifth is taken, for each of the 42 kinds. Would catch two parameters that decide each
    /// other and are both drawn, as RED's `weight` and `burst`: then no point is taken.
    #[test]
    fn every_discipline_takes_points() {
        const POINTS: usize = 200;
        assert_eq!(Kind::ALL.len(), 42);
        for kind in Kind::ALL {
            let space = Space::new(kind, RATE).unwrap();
            let mut random = fairlane_qdisc::Seed::new(1).stream(kind.name());
            let points = crate::hypercube::points(POINTS, space.dimensions(), &mut random);
            let refused: Vec<ParameterError> = points.iter().filter_map(|point| space.at(point).err()).collect();
            let share = refused.len() as f64 / POINTS as f64;
            assert!(share <= 0.8, "{kind}: {:.0} % of the points are refused: {}", 100.0 * share, refused[0]);
        }
    }

    #[test]
    fn values_have_three_digits() {
        for (value, expected) in [(0.123_456, 0.123), (123_456.0, 123_000.0), (0.0, 0.0), (99.96, 100.0)] {
            assert_eq!(tidy(value), expected);
        }
        assert_eq!(Form::Time.write(tidy(0.012_345)), "12300us");
    }
}
