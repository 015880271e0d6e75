//! Formatting of numbers: with a unit, an interval, and only significant digits.

use fairlane_outcome::Estimate;

/// The unit and the digits that all numbers of a column share, so that they can be compared at a glance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    divisor: f64,
    unit: &'static str,
    decimals: usize,
    /// The least and the largest value that can be; intervals end there.
    range: (f64, f64),
}

/// The most digits after the point.
const MOST_DECIMALS: usize = 3;
/// The unit of the last digit with none, one … digits after the point.
const UNITS: [f64; MOST_DECIMALS + 1] = [1.0, 0.1, 0.01, 0.001];

impl Scale {
    /// For rates in bit/s.
    pub(crate) fn rate(values: &[Estimate]) -> Self {
        Self::among(values, &[(1.0, "b/s"), (1e3, "kb/s"), (1e6, "Mb/s"), (1e9, "Gb/s")])
    }

    /// For times in seconds.
    pub(crate) fn time(values: &[Estimate]) -> Self {
        Self::among(values, &[(1e-6, "µs"), (1e-3, "ms"), (1.0, "s")])
    }

    /// For numbers without a unit.
    pub(crate) fn plain(values: &[Estimate]) -> Self {
        Self::among(values, &[(1.0, "")])
    }

    /// For packets, as tc(8) writes them.
    pub(crate) fn packets(values: &[Estimate]) -> Self {
        Self::among(values, &[(1.0, "p")])
    }

    /// For ratios of 0 to 1, as percent.
    pub(crate) fn percent(values: &[Estimate]) -> Self {
        Self { decimals: 1, range: (0.0, 1.0), ..Self::among(values, &[(1e-2, "%")]) }
    }

    /// For indices of 0 to 1.
    pub(crate) fn index() -> Self {
        Self { divisor: 1.0, unit: "", decimals: 2, range: (0.0, 1.0) }
    }

    /// The same for numbers from `least` to `most`.
    pub(crate) fn within(self, least: f64, most: f64) -> Self {
        Self { range: (least, most), ..self }
    }

    /// The same for differences, which can be negative; those of percentages are in percentage points.
    pub(crate) fn of_differences(self) -> Self {
        let unit = if self.unit == "%" { "pp" } else { self.unit };
        Self { range: (f64::NEG_INFINITY, f64::INFINITY), unit, ..self }
    }

    /// For counts, or means of counts: whole numbers if all are whole.
    pub(crate) fn counts(values: &[Estimate]) -> Self {
        let plain = Self::plain(values);
        if values.iter().all(|value| value.mean.fract() == 0.0) { Self { decimals: 0, ..plain } } else { plain }
    }

    /// The same with the digits after the point that show two digits of `least`, the smallest value above 0.
    pub(crate) fn down_to(self, least: f64) -> Self {
        let shows = |unit: &f64| least / self.divisor >= 10.0 * unit;
        let needed = UNITS.iter().position(shows).unwrap_or(MOST_DECIMALS);
        Self { decimals: self.decimals.max(needed), ..self }
    }

    /// The first unit in which the largest value has at most four digits before the point.
    fn among(values: &[Estimate], units: &[(f64, &'static str)]) -> Self {
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.mean.abs()));
        let last = units.last().copied().unwrap_or((1.0, ""));
        let (divisor, unit) = units.iter().copied().find(|(divisor, _)| largest / divisor < 9999.5).unwrap_or(last);
        // Three digits of the largest value.
        let decimals = digits_after_point(largest / divisor);
        Self { divisor, unit, decimals, range: (0.0, f64::INFINITY) }
    }

    /// The value, its interval or nothing, and the unit. There are as many digits as the column has, and more if the
    /// first digit of the interval needs them. An interval that would leave the possible range is written with its
    /// ends, which are cut there.
    pub(crate) fn parts(&self, value: &Estimate) -> Vec<String> {
        let Some(half) = value.ci95() else {
            return vec![self.digits(value.mean), String::new(), self.unit.to_owned()];
        };
        let needed = decimals_of(half / self.divisor);
        let decimals = if needed > MOST_DECIMALS { self.decimals } else { self.decimals.max(needed) };
        let scale = Self { decimals, ..*self };
        let ends = (value.mean - half, value.mean + half);
        let rounded = 1e-9 * half.max(value.mean.abs());
        let inside = |value: f64| value >= self.range.0 - rounded && value <= self.range.1 + rounded;
        let interval = if inside(value.mean) && !(inside(ends.0) && inside(ends.1)) {
            format!("[{}, {}]", scale.digits(ends.0.max(self.range.0)), scale.digits(ends.1.min(self.range.1)))
        } else if needed > MOST_DECIMALS {
            format!("± <{}", UNITS[MOST_DECIMALS])
        } else {
            format!("± {}", scale.digits(half))
        };
        vec![scale.digits(value.mean), interval, self.unit.to_owned()]
    }

    /// The value with its unit, without the interval.
    pub(crate) fn mean(&self, value: f64) -> String {
        let digits = self.digits(value);
        if self.unit.is_empty() { digits } else { format!("{digits} {}", self.unit) }
    }

    fn digits(&self, value: f64) -> String {
        format!("{:.*}", self.decimals, value / self.divisor)
    }
}

/// The digits after the point for three digits in all, two at most.
fn digits_after_point(value: f64) -> usize {
    if value >= 99.5 {
        0
    } else if value >= 9.95 {
        1
    } else {
        2
    }
}

/// The digits after the point that show the first digit of an interval; none if it is 0.
fn decimals_of(half: f64) -> usize {
    if half <= 0.0 {
        return 0;
    }
    UNITS.iter().position(|unit| half >= 0.95 * unit).unwrap_or(UNITS.len())
}

/// A count, or the mean of counts, in groups of three digits.
pub(crate) fn count(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with this many significant digits, without trailing zeros.
pub(crate) fn significant(value: f64, digits: usize) -> String {
    let rounded: f64 = format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value);
    if rounded == 0.0 || (1e-4..1e15).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}

/// The value with its interval in another unit.
#[cfg(feature = "figures")]
pub(crate) fn scaled(value: Estimate, factor: f64) -> Estimate {
    Estimate::new(factor * value.mean, value.ci95().map(|half| factor * half))
}

/// The unit in which the largest of some rates in bit/s is readable, and its size in bit/s.
#[cfg(feature = "figures")]
pub(crate) fn rate_unit(largest: f64) -> (&'static str, f64) {
    let scale = Scale::rate(&[Estimate::single(largest)]);
    (scale.unit, scale.divisor)
}

/// A size of memory.
#[cfg(feature = "html")]
pub(crate) fn megabytes(bytes: u64) -> String {
    format!("{} MB", significant(bytes as f64 / 1e6, 3))
}

/// A ratio of 0 to 1 as percent, with one digit after the point; positive values below that are `<0.1 %`.
pub(crate) fn percent(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.000_5 { "<0.1 %".to_owned() } else { format!("{:.1} %", ratio * 100.0) }
}

/// A ratio of 0 to 1 as whole percent; positive values below half a percent are `<1 %`.
pub(crate) fn whole_percent(ratio: f64) -> String {
    if ratio > 0.0 && ratio < 0.005 { "<1 %".to_owned() } else { format!("{:.0} %", ratio * 100.0) }
}

/// Aligns the parts of several rows to the right, numbers by their points, with one space between parts that any row
/// has.
pub(crate) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    // A number without a point takes the room of the point too.
    let after = |part: &str| part.rfind('.').map_or(0, |point| part.len() - point);
    let most = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|part| after(part)).max().unwrap_or(0);
    let mosts: Vec<usize> = (0..columns).map(most).collect();
    let number = |part: &str| part.ends_with(|c: char| c.is_ascii_digit());
    let padded = |(part, most): (&String, &usize)| {
        if number(part) { format!("{part}{}", " ".repeat(most.saturating_sub(after(part)))) } else { part.clone() }
    };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().zip(&mosts).map(padded).collect()).collect();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|part| part.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let used = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        used.map(|(part, &width)| format!("{part:>width$}")).collect::<Vec<_>>().join(" ")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(mean: f64, half: f64) -> Estimate {
        Estimate::new(mean, Some(half))
    }

    /// The unit follows the largest value, the digits also the interval.
    #[test]
    fn columns_share_unit_and_digits() {
        let cases: [(&[Estimate], &[&str]); 6] = [
            (&[with(251_234.0, 4_321.0), with(8_000.0, 1_000.0)], &["251 ± 4 kb/s", "  8 ± 1 kb/s"]),
            // Would catch "8 ± 0".
            (&[with(251_234.0, 4_321.0), with(8_000.0, 300.0)], &["251   ± 4   kb/s", "  8.0 ± 0.3 kb/s"]),
            (&[with(251_234.0, 0.1), with(8_000.0, 0.0)], &["251 ± <0.001 kb/s", "  8  ± 0     kb/s"]),
            (&[with(251_234.0, 321.0)], &["251.2 ± 0.3 kb/s"]),
            (&[Estimate::single(9_999_400.0)], &["9999 kb/s"]),
            (&[Estimate::single(9_999_600.0), Estimate::single(0.0)], &["10.0 Mb/s", " 0.0 Mb/s"]),
        ];
        for (values, expected) in cases {
            let scale = Scale::rate(values);
            let parts: Vec<Vec<String>> = values.iter().map(|value| scale.parts(value)).collect();
            assert_eq!(aligned(&parts), expected);
        }
    }

    /// Jain's index of 0.86 ± 1.07 is between 0 and 1, and a delay of 1 ± 2 ms not below 0; a difference can be.
    #[test]
    fn intervals_end_where_values_do() {
        let text = |scale: Scale, value: Estimate| aligned(&[scale.parts(&value)]).concat();
        assert_eq!(text(Scale::index(), with(0.86, 1.07)), "0.86 [0.00, 1.00]");
        assert_eq!(text(Scale::index(), with(0.86, 0.10)), "0.86 ± 0.10");
        assert_eq!(text(Scale::percent(&[]), with(0.99, 0.02)), "99.0 [97.0, 100.0] %");
        let delay = with(0.001, 0.002);
        assert_eq!(text(Scale::time(&[delay]), delay), "1000 [0, 3000] µs");
        assert_eq!(text(Scale::time(&[delay]).of_differences(), delay), "1000 ± 2000 µs");
    }

    /// By hand: 12 kb/s next to 9 Mb/s has two digits as 0.012. Means of whole counts are whole if all are.
    #[test]
    fn small_values_and_counts_keep_their_digits() {
        let fast = Scale::rate(&[Estimate::single(9_000_000_000.0)]);
        assert_eq!((fast.mean(9e9), fast.down_to(12e6).mean(12e6)), ("9000 Mb/s".to_owned(), "12 Mb/s".to_owned()));
        let slow = Scale::rate(&[Estimate::single(12_000_000.0)]);
        assert_eq!(slow.mean(12_000.0), "0.0 Mb/s");
        assert_eq!(slow.down_to(120_000.0).mean(120_000.0), "0.12 Mb/s");
        assert_eq!(slow.down_to(12_000.0).mean(12_000.0), "0.012 Mb/s");
        let counts = |values: &[f64]| {
            let values: Vec<Estimate> = values.iter().copied().map(Estimate::single).collect();
            Scale::counts(&values).mean(values[0].mean)
        };
        assert_eq!((counts(&[5.0, 32.0]), counts(&[5.0, 32.5])), ("5".to_owned(), "5.0".to_owned()));
        assert_eq!([percent(0.0), percent(0.000_4), percent(0.000_6)], ["0.0 %", "<0.1 %", "0.1 %"]);
    }

    #[test]
    fn times_and_counts() {
        let time = |value| Scale::time(&[Estimate::single(value)]).mean(value);
        assert_eq!([time(2.4), time(12.0), time(0.000_5), time(0.0)], ["2400 ms", "12.0 s", "500 µs", "0.00 µs"]);
        assert_eq!([count(0.0), count(999.0), count(1000.0), count(1_234_567.4)], ["0", "999", "1 000", "1 234 567"]);
        assert_eq!([whole_percent(0.0), whole_percent(0.004), whole_percent(0.25)], ["0 %", "<1 %", "25 %"]);
    }
}
