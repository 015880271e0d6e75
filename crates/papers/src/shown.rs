//! Formatting of numbers.

use fairlane_outcome::Estimate;

use crate::book::Status;
use crate::judgement::Judgement;
use crate::verdict::Finding;

/// Significant digits of a number without an interval.
const DIGITS: i32 = 4;

/// `value` with the digits that its interval justifies, and the interval.
#[must_use]
pub fn estimate(value: Estimate, digits: Option<u8>) -> String {
    // A smaller interval is that of a sum's rounding.
    let half = value.ci95().filter(|half| half.is_finite() && *half > 1e-9 * value.mean.abs());
    let digits = digits.map_or_else(|| after_point(value.mean, half), usize::from);
    let mean = plain(value.mean, digits);
    half.map_or_else(|| mean.clone(), |half| format!("{mean} ± {}", plain(half, digits)))
}

/// A number without an interval, with all its digits.
#[must_use]
pub fn number(value: f64) -> String {
    if value.is_infinite() { if value > 0.0 { "∞" } else { "-∞" }.to_owned() } else { format!("{value}") }
}

/// Prints an accepted range: `15 to 30`, `at least 700`.
#[must_use]
pub fn demand((least, most): (f64, f64)) -> String {
    match (least.is_finite(), most.is_finite()) {
        (true, true) if least == most => number(least),
        (true, true) => format!("{} to {}", number(least), number(most)),
        (true, false) => format!("at least {}", number(least)),
        (false, true) => format!("at most {}", number(most)),
        (false, false) => "any".to_owned(),
    }
}

impl Finding<'_> {
    /// Our number with its unit, as it is shown, and why runs lack one; empty without a number.
    #[must_use]
    pub fn shown(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let number = self.ours.map(|ours| estimate(ours, self.digits) + &unit);
        [number, self.lacking.clone()].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Names of the sources that a number is compared with: the paper, the model, ns-2.
    #[must_use]
    pub fn others(&self) -> String {
        others(self.paper, self.model, self.ns2)
    }
}

/// Numbers that a number is compared with: the paper's, the model's, ns-2's.
#[must_use]
pub fn others(paper: Option<&str>, model: Option<f64>, ns2: Option<f64>) -> String {
    let paper = paper.map(|paper| format!("paper {paper}"));
    let model = model.map(|model| format!("model {}", number(model)));
    let ns2 = ns2.map(|ns2| format!("ns-2 {}", number(ns2)));
    [paper, model, ns2].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The status in a word; `None` for a claim that was not run.
#[must_use]
pub fn standing(status: Option<Status>) -> &'static str {
    match status {
        Some(Status::Met) => "met",
        Some(Status::Short) => "fell short",
        Some(Status::Undecided) => "not decided",
        Some(Status::Out) => "not testable",
        None => "not run",
    }
}

/// The verdict on a number as a sign; `None` for a number that was not measured.
#[must_use]
pub fn sign(judgement: Option<Judgement>) -> &'static str {
    match judgement {
        Some(Judgement::Met) => "✓",
        Some(Judgement::Missed) => "✗",
        Some(Judgement::Undecided) => "?",
        None => "–",
    }
}

/// The verdict on a number in a word; `None` for a number that was not measured.
#[must_use]
pub fn word(judgement: Option<Judgement>) -> &'static str {
    match judgement {
        Some(Judgement::Met) => "met",
        Some(Judgement::Missed) => "missed",
        Some(Judgement::Undecided) => "not decided",
        None => "not run",
    }
}

fn plain(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    // A negative zero is printed as zero.
    if text.trim_start_matches(['-', '0', '.']).is_empty() { text.trim_start_matches('-').to_owned() } else { text }
}

/// Digits after the point: down to the interval's second digit where its first is 1, else to its first.
fn after_point(mean: f64, half: Option<f64>) -> usize {
    let places = match half.map(scientific) {
        Some((mantissa, exponent)) => i32::from(mantissa < 1.95) - exponent,
        None if mean == 0.0 => 0,
        None => DIGITS - 1 - scientific(mean.abs()).1,
    };
    usize::try_from(places.clamp(0, 9)).unwrap_or(0)
}

/// `value` as m · 10^e with m from 1 to 10.
fn scientific(value: f64) -> (f64, i32) {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    (mantissa.parse().unwrap_or(1.0), exponent.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_worth_their_interval() {
        let shown = |mean, half| estimate(Estimate::new(mean, half), None);
        assert_eq!(shown(240.234, Some(3.96)), "240 ± 4");
        assert_eq!(shown(240.234, Some(1.13)), "240.2 ± 1.1");
        assert_eq!(shown(0.043_21, Some(0.000_36)), "0.0432 ± 0.0004");
        assert_eq!(shown(12_345.6, Some(250.0)), "12346 ± 250");
        assert_eq!(shown(0.4172, None), "0.4172");
        assert_eq!(shown(-0.000_1, Some(0.03)), "0.00 ± 0.03");
        assert_eq!(shown(10.375, Some(1e-15)), "10.38");
        assert_eq!(shown(1000.0, Some(0.0)), "1000");
        assert_eq!(estimate(Estimate::single(0.25), Some(1)), "0.2");
    }

    #[test]
    fn demands_are_words() {
        assert_eq!(demand((15.0, 30.0)), "15 to 30");
        assert_eq!(demand((0.5, f64::INFINITY)), "at least 0.5");
        assert_eq!(demand((f64::NEG_INFINITY, 10.0)), "at most 10");
        assert_eq!(demand((6.0, 6.0)), "6");
    }
}
