//! Sweeps: `flows.cbr.rate=100kbit..10mbit/9log`.

use std::sync::Arc;

use fairlane_qdisc::{Bytes, Duration, Packets, Rate};

use crate::error::{Origin, ScenarioError, SourceText};

/// The most points of a sweep.
pub const MOST_POINTS: usize = 100_000;

/// A key and the values that it takes in a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vary {
    key: String,
    values: Vec<String>,
}

/// One point of a sweep: a value for each key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    settings: Vec<(String, String)>,
}

impl Point {
    /// The point with these keys and values, each value as [`Document::set`](crate::Document::set) takes it.
    #[must_use]
    pub const fn of(settings: Vec<(String, String)>) -> Self {
        Self { settings }
    }

    /// All combinations of the values, the last key varying fastest; one point without settings when nothing is varied.
    /// [`Document::at`](crate::Document::at) checks the values against a scenario.
    ///
    /// # Errors
    /// A key is varied twice, or there are more than 100,000 points.
    pub fn all(varies: &[Vary]) -> Result<Vec<Self>, ScenarioError> {
        for (at, vary) in varies.iter().enumerate() {
            if varies[..at].iter().any(|before| before.key == vary.key) {
                let error = refuse(&format!("{}=…", vary.key), format!("`{}` is varied twice", vary.key));
                return Err(error.with_help("give all its values in one --vary"));
            }
        }
        let total = varies.iter().try_fold(1_usize, |total, vary| total.checked_mul(vary.values.len()));
        if total.is_none_or(|total| total > MOST_POINTS) {
            let sizes = varies.iter().map(|vary| vary.values.len().to_string()).collect::<Vec<_>>().join(" × ");
            let message = format!("the sweep has {sizes} points, and at most {MOST_POINTS} are allowed");
            return Err(refuse("…", message).with_help("use fewer values, or several sweeps"));
        }
        let mut points = vec![Self { settings: Vec::new() }];
        for vary in varies {
            points =
                points.iter().flat_map(|point| vary.values.iter().map(|value| with(point, &vary.key, value))).collect();
        }
        Ok(points)
    }

    /// The keys and their values, in the order in which the keys were varied.
    #[must_use]
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }
}

impl Vary {
    /// Reads `key=values`.
    ///
    /// | values | mean |
    /// |---|---|
    /// | `a,b,c` | these |
    /// | `a..b/N` | N values from `a` to `b`, equally far apart |
    /// | `a..b/Nlog` | N values from `a` to `b`, each the same factor from the one before |
    ///
    /// The ends of a range have the same unit, or are both plain numbers. Values between them are rounded to whole bits
    /// per second, nanoseconds, bytes, packets or counts; ends with a fraction (`0.0..1.0/5`) give fractions.
    ///
    /// # Errors
    /// The text has another form, a range has fewer than 2 or more than 100,000 values or gives one twice, a
    /// logarithmic one begins or ends at 0.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let Some((key, values)) = text.split_once('=') else {
            let help = "write key=a,b,c or key=a..b/N, for example flows.cbr.rate=100kbit..10mbit/9log";
            return Err(refuse(text, "there is no \"=\"").with_help(help));
        };
        let (key, values) = (key.trim(), values.trim());
        if key.is_empty() {
            return Err(refuse(text, "there is no key before the \"=\"").with_help("write for example seed=1,2,3"));
        }
        let values = match range(values) {
            Some((from, to, steps)) => spread(from, to, steps).map_err(|message| refuse(text, message))?,
            None => values.split(',').map(|value| value.trim().to_owned()).collect(),
        };
        if values.iter().any(String::is_empty) {
            return Err(refuse(text, "a value is empty").with_help("write for example seed=1,2,3"));
        }
        Ok(Self { key: key.to_owned(), values })
    }

    /// `key` with these values, each as [`Document::set`](crate::Document::set) takes it.
    ///
    /// # Errors
    /// There are no values.
    pub fn of(key: &str, values: Vec<String>) -> Result<Self, ScenarioError> {
        if values.is_empty() {
            let error = refuse(&format!("{key}="), "there are no values");
            return Err(error.with_help("give one at least, or leave the key out"));
        }
        Ok(Self { key: key.to_owned(), values })
    }

    /// The key.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its values, as a scenario file would write them.
    #[must_use]
    pub fn values(&self) -> &[String] {
        &self.values
    }
}

fn with(point: &Point, key: &str, value: &str) -> Point {
    let mut settings = point.settings.clone();
    settings.push((key.to_owned(), value.to_owned()));
    Point { settings }
}

fn refuse(text: &str, message: impl Into<String>) -> ScenarioError {
    let option: Arc<str> = format!("--vary {text}").into();
    ScenarioError::new(&SourceText::new("", ""), &Origin::Given(option), "", message)
}

/// The parts of `a..b/N`; `None` for a list.
fn range(values: &str) -> Option<(&str, &str, &str)> {
    let (ends, steps) = values.rsplit_once('/')?;
    let (from, to) = ends.split_once("..")?;
    Some((from.trim(), to.trim(), steps.trim()))
}

/// The values of a range.
fn spread(from: &str, to: &str, steps: &str) -> Result<Vec<String>, String> {
    let (count, spacing) = match steps.strip_suffix("log") {
        Some(count) => (count, Spacing::Logarithmic),
        None => (steps, Spacing::Linear),
    };
    let count = count.parse::<usize>().ok().filter(|count| (2..=MOST_POINTS).contains(count)).ok_or_else(|| {
        format!("\"{steps}\" is not a number of values: write 2 to {MOST_POINTS}, and log after it for equal factors")
    })?;
    let (unit, first, last) = EndUnit::common(from, to)?;
    if spacing == Spacing::Logarithmic && (first == 0 || last == 0) {
        return Err("a logarithmic range can neither begin nor end at 0".to_owned());
    }
    let values = (0..count).map(|step| unit.write(spacing.at(first, last, step, count - 1))).collect::<Vec<_>>();
    match values.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("the range gives {} twice: ask for fewer values", pair[0])),
        None => Ok(values),
    }
}

/// Spacing of the values of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Linear,
    Logarithmic,
}

impl Spacing {
    /// The value `step` of `steps` steps from `first` to `last`, rounded; the ends are exact.
    fn at(self, first: u64, last: u64, step: usize, steps: usize) -> u64 {
        if step == 0 || step == steps {
            return if step == 0 { first } else { last };
        }
        match self {
            Self::Linear => {
                let (first, last, step, steps) = (i128::from(first), i128::from(last), step as i128, steps as i128);
                let twice = 2 * ((last - first) * step) + steps;
                // Between two ends that fit.
                u64::try_from(first + twice.div_euclid(2 * steps)).unwrap_or(u64::MAX)
            }
            Self::Logarithmic => {
                let factor = libm::pow(last as f64 / first as f64, step as f64 / steps as f64);
                libm::round(first as f64 * factor) as u64
            }
        }
    }
}

/// The quantity that the ends of a range have in common, as a whole number of its smallest unit.
#[derive(Clone, Copy)]
enum EndUnit {
    Rate,
    Time,
    Bytes,
    Packets,
    Count,
    Fraction,
}

/// Digits of a fraction after the point.
const DIGITS: usize = 12;

impl EndUnit {
    const ALL: [Self; 6] = [Self::Rate, Self::Time, Self::Bytes, Self::Packets, Self::Count, Self::Fraction];

    /// The unit that both ends have.
    fn common(from: &str, to: &str) -> Result<(Self, u64, u64), String> {
        let both = |unit: Self| Some((unit, unit.read(from)?, unit.read(to)?));
        Self::ALL.into_iter().find_map(both).ok_or_else(|| {
            match [from, to].into_iter().find(|end| Self::ALL.iter().all(|unit| unit.read(end).is_none())) {
                Some(end) => format!("\"{end}\" is neither a plain number nor one with a unit, such as \"10mbit\""),
                None => format!("\"{from}\" and \"{to}\" differ in unit"),
            }
        })
    }

    fn read(self, text: &str) -> Option<u64> {
        match self {
            Self::Rate => text.parse::<Rate>().ok().map(Rate::bits_per_second),
            Self::Time => text.parse::<Duration>().ok().map(Duration::as_nanos),
            Self::Bytes => text.parse::<Bytes>().ok().map(Bytes::get),
            Self::Packets => text.parse::<Packets>().ok().map(|packets| u64::from(packets.get())),
            Self::Count => text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?,
            Self::Fraction => read_fraction(text),
        }
    }

    fn write(self, value: u64) -> String {
        match self {
            Self::Rate => Rate::from_bits_per_second(value).to_string(),
            Self::Time => Duration::from_nanos(value).to_string(),
            Self::Bytes => Bytes::new(value).to_string(),
            Self::Packets => format!("{value}p"),
            Self::Count => value.to_string(),
            Self::Fraction => write_fraction(value),
        }
    }
}

/// A decimal fraction, exactly.
fn read_fraction(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > DIGITS {
        return None;
    }
    format!("{whole}{fraction:0<DIGITS$}").parse().ok()
}

fn write_fraction(value: u64) -> String {
    let digits = format!("{value:0>width$}", width = DIGITS + 1);
    let (whole, fraction) = digits.split_at(digits.len() - DIGITS);
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{whole}.0") } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Vec<String> {
        Vary::parse(text).unwrap_or_else(|error| panic!("{error}")).values
    }

    #[test]
    fn lists_are_taken_as_they_are() {
        assert_eq!(values("bottleneck.queue.kind=red, choke"), ["red", "choke"]);
        assert_eq!(values("flows.ftp.start=0s..1s"), ["0s..1s"]);
    }

    #[test]
    fn linear_ranges_are_exact() {
        assert_eq!(values("a=1mbit..3mbit/3"), ["1mbit", "2mbit", "3mbit"]);
        assert_eq!(values("a=10ms..0ms/3"), ["10ms", "5ms", "0ns"]);
        assert_eq!(values("a=10p..40p/4"), ["10p", "20p", "30p", "40p"]);
        assert_eq!(values("a=8..32/4"), ["8", "16", "24", "32"]);
        // A third of a bit is rounded.
        assert_eq!(values("a=0bit..1bit/2"), ["0bit", "1bit"]);
        assert_eq!(values("a=0bit..10bit/4"), ["0bit", "3bit", "7bit", "10bit"]);
        // Not 0.30000000000000004.
        assert_eq!(values("a=0.1..0.5/5"), ["0.1", "0.2", "0.3", "0.4", "0.5"]);
        assert_eq!(values("a=0..1.0/3"), ["0.0", "0.5", "1.0"]);
    }

    #[test]
    fn logarithmic_ranges_have_equal_factors() {
        assert_eq!(values("a=100kbit..10mbit/3log"), ["100kbit", "1mbit", "10mbit"]);
        assert_eq!(values("a=1..1000/4log"), ["1", "10", "100", "1000"]);
        assert_eq!(values("a=16..1/5log"), ["16", "8", "4", "2", "1"]);
        assert_eq!(values("a=0.001..0.1/3log"), ["0.001", "0.01", "0.1"]);
        // 100000 · 100^(i/8), rounded to whole bits: 10^5.25 = 177827.94, 10^5.5 = 316227.77, 10^5.75 = 562341.33 …
        let nine = [
            "100kbit",
            "177828bit",
            "316228bit",
            "562341bit",
            "1mbit",
            "1778279bit",
            "3162278bit",
            "5623413bit",
            "10mbit",
        ];
        assert_eq!(values("flows.cbr.rate=100kbit..10mbit/9log"), nine);
    }

    #[test]
    fn wrong_ranges_say_what_is_wrong() {
        for (text, part) in [
            ("seed", "there is no \"=\""),
            ("=1", "no key"),
            ("a=1,,2", "a value is empty"),
            ("a=", "a value is empty"),
            ("a=1..2/1", "\"1\" is not a number of values"),
            ("a=1..2/x", "\"x\" is not a number of values"),
            ("a=1..2/100001", "2 to 100000"),
            ("a=1mbit..2s/3", "differ in unit"),
            ("a=1mbit..2/3", "differ in unit"),
            ("a=-1..2/3", "\"-1\" is neither"),
            ("a=0..2/3log", "neither begin nor end at 0"),
            ("a=1..3/5", "gives 2 twice"),
            ("a=1..2..3/5", "\"2..3\" is neither"),
        ] {
            let error = Vary::parse(text).expect_err(text).to_string();
            assert!(error.starts_with(&format!("--vary {text}: ")) && error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_last_key_varies_fastest() {
        let varies = [Vary::parse("a=1,2").unwrap(), Vary::parse("b=x,y,z").unwrap()];
        let points = Point::all(&varies).unwrap();
        let shown = points.iter().map(|p| format!("{}{}", p.settings[0].1, p.settings[1].1)).collect::<Vec<_>>();
        assert_eq!(shown, ["1x", "1y", "1z", "2x", "2y", "2z"]);
        assert_eq!(Point::all(&[]).unwrap().len(), 1);
    }

    #[test]
    fn sweeps_that_are_too_large_or_repeat_a_key_are_refused() {
        let thousand = Vary::parse("a=1..1000/1000").unwrap();
        let hundred = Vary { key: "b".to_owned(), ..Vary::parse("b=1..100/100").unwrap() };
        let two = Vary::parse("c=1,2").unwrap();
        assert_eq!(Point::all(&[thousand.clone(), hundred.clone()]).unwrap().len(), 100_000);
        let error = Point::all(&[thousand.clone(), hundred, two]).unwrap_err().to_string();
        assert!(error.contains("1000 × 100 × 2 points"), "{error}");
        let error = Point::all(&[thousand.clone(), thousand]).unwrap_err().to_string();
        assert!(error.contains("`a` is varied twice"), "{error}");
    }
}
