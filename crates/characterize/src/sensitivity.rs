//! How much the results follow a parameter (RFC 7928, section 8.3).

use serde::{Deserialize, Serialize};

/// A parameter over half to twice its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Sensitivity {
    /// The discipline.
    pub label: String,
    /// The parameter.
    pub key: String,
    /// The values, rising, the one of the discipline among them.
    pub values: Vec<SweptValue>,
    /// The elasticity of the mean queueing delay: the percent by which it grows with one percent of the parameter, as
    /// the slope of the logarithms; `None` where a delay is zero.
    pub delay_elasticity: Option<f64>,
    /// The elasticity of the goodput.
    pub goodput_elasticity: Option<f64>,
    /// The least and the largest value whose delay is within 10 % of the least one.
    pub delay_range: (String, String),
    /// The least and the largest value whose goodput is within 10 % of the highest one.
    pub goodput_range: (String, String),
}

/// A value of a parameter with its results.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct SweptValue {
    /// The value as text; of the discipline as it is, `default`.
    pub value: String,
    /// The value over that of the discipline.
    pub factor: f64,
    /// The goodput of all flows in bit/s.
    pub goodput_bps: f64,
    /// The mean queueing delay of all groups in seconds, each weighted with its goodput.
    pub queueing_s: f64,
}

impl Sensitivity {
    /// Returns how much the results follow `key`; `None` of fewer than two values.
    pub(crate) fn new(label: &str, key: &str, mut values: Vec<SweptValue>) -> Option<Self> {
        if values.len() < 2 {
            return None;
        }
        values.sort_by(|a, b| a.factor.total_cmp(&b.factor));
        let least = values.iter().map(|value| value.queueing_s).fold(f64::INFINITY, f64::min);
        let most = values.iter().map(|value| value.goodput_bps).fold(0.0, f64::max);
        let slope = |of: &dyn Fn(&SweptValue) -> f64| {
            elasticity(&values.iter().map(|value| (value.factor, of(value))).collect::<Vec<_>>())
        };
        Some(Self {
            label: label.to_owned(),
            key: key.to_owned(),
            delay_elasticity: slope(&|value| value.queueing_s),
            goodput_elasticity: slope(&|value| value.goodput_bps),
            delay_range: range(&values, |value| value.queueing_s <= 1.1 * least),
            goodput_range: range(&values, |value| value.goodput_bps >= 0.9 * most),
            values,
        })
    }
}

/// Returns the slope of the least squares of ln y over ln x; `None` where one of them is not positive.
fn elasticity(points: &[(f64, f64)]) -> Option<f64> {
    if points.iter().any(|(x, y)| *x <= 0.0 || *y <= 0.0) {
        return None;
    }
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (libm::log(*x), libm::log(*y))).collect();
    let count = logs.len() as f64;
    let (x, y) = logs.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let over: f64 = logs.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let under: f64 = logs.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    (under > 0.0).then(|| over / under)
}

/// Returns the first and the last of the values that fit; the best one always does.
fn range(values: &[SweptValue], fits: impl Fn(&SweptValue) -> bool) -> (String, String) {
    let mut fitting = values.iter().filter(|value| fits(value)).map(|value| value.value.clone());
    let first = fitting.next().unwrap_or_default();
    let last = fitting.last().unwrap_or_else(|| first.clone());
    (first, last)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a delay that grows with the root of the parameter has an elasticity of 0.5, a goodput that does not
    /// follow it 0. From 10 ms at half, 14.1 at the value and 20 at twice, only the least is within 10 %; all goodputs
    /// are.
    #[test]
    fn elasticities_and_ranges_by_hand() {
        let value = |value: &str, factor: f64| SweptValue {
            value: value.to_owned(),
            factor,
            goodput_bps: 9e6,
            queueing_s: 0.02 * (factor / 2.0).sqrt(),
        };
        let values = vec![value("10ms", 2.0), value("default", 1.0), value("2.5ms", 0.5)];
        let found = Sensitivity::new("codel", "target", values).expect("three values");
        assert!((found.delay_elasticity.expect("positive") - 0.5).abs() < 1e-9);
        assert!(found.goodput_elasticity.expect("positive").abs() < 1e-9);
        assert_eq!(found.delay_range, ("2.5ms".to_owned(), "2.5ms".to_owned()));
        assert_eq!(found.goodput_range, ("2.5ms".to_owned(), "10ms".to_owned()));
        let zero = vec![SweptValue { queueing_s: 0.0, ..value("1", 0.5) }, value("2", 1.0)];
        assert_eq!(Sensitivity::new("x", "y", zero).and_then(|found| found.delay_elasticity), None);
        assert_eq!(Sensitivity::new("x", "y", Vec::new()), None);
    }
}
