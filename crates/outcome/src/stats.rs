//! The measures by which queues are compared, and how sure a mean is.
//!
//! No function here returns NaN for finite input; each documents its result where its formula is 0/0.

use core::iter;

/// Mean and variance of a sample, one value at a time, without cancellation (Welford 1962).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Moments of no values.
    #[must_use]
    pub const fn new() -> Self {
        Self { count: 0, mean: 0.0, squares: 0.0 }
    }

    /// Adds a value.
    pub fn push(&mut self, value: f64) {
        self.count += 1;
        let from_old_mean = value - self.mean;
        self.mean += from_old_mean / self.count as f64;
        self.squares += from_old_mean * (value - self.mean);
    }

    /// Number of values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The mean; 0 without values.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The unbiased variance, with divisor n − 1; `None` for fewer than two values.
    #[must_use]
    pub fn variance(&self) -> Option<f64> {
        (self.count > 1).then(|| self.squares / (self.count - 1) as f64)
    }

    /// Standard error of the mean; `None` for fewer than two values.
    #[must_use]
    pub fn standard_error(&self) -> Option<f64> {
        self.variance().map(|variance| libm::sqrt(variance / self.count as f64))
    }

    /// Half width of the 95 % confidence interval of the mean, by Student's t; `None` for fewer than two values.
    ///
    /// The values must be independent, as runs with different random streams are.
    #[must_use]
    pub fn ci95(&self) -> Option<f64> {
        self.standard_error().map(|error| error * student_t_975(self.count - 1))
    }
}

impl Extend<f64> for Moments {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, values: I) {
        for value in values {
            self.push(value);
        }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::new();
        moments.extend(values);
        moments
    }
}

/// The 0.975 quantile of Student's t distribution: the factor of a mean's standard error for its
/// 95 % interval. With 0 degrees of freedom it is infinite.
///
/// The distribution with a whole number of degrees of freedom is a finite sum (Abramowitz and Stegun, 26.7.3 and
/// 26.7.4), so the quantile is found by bisection to the last bit.
#[must_use]
pub fn student_t_975(degrees: u64) -> f64 {
    /// The 0.975 quantile of the normal distribution, the limit for many degrees of freedom.
    const NORMAL: f64 = 1.959_963_984_540_054;
    /// Number of degrees from which the limit is off by less than 3e-6, and the sum is long.
    const MANY: u64 = 1_000_000;
    if degrees == 0 {
        return f64::INFINITY;
    }
    if degrees >= MANY {
        return NORMAL;
    }
    let (mut low, mut high) = (NORMAL, 12.75);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if within(middle, degrees) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The probability that Student's t lies between −t and t.
fn within(t: f64, degrees: u64) -> f64 {
    let n = degrees as f64;
    let cos2 = n / (n + t * t);
    let sin = t / libm::sqrt(n + t * t);
    let odd = degrees % 2 == 1;
    // Odd: cos + 2/3 cos³ + 2·4/(3·5) cos⁵ …, even: 1 + 1/2 cos² + 1·3/(2·4) cos⁴ …, each up to cos^(n−2).
    let terms = degrees / 2;
    let start = if odd { (libm::sqrt(cos2), 2.0) } else { (1.0, 1.0) };
    let sum: f64 = iter::successors(Some(start), |&(term, k)| Some((term * cos2 * k / (k + 1.0), k + 2.0)))
        .take(terms as usize)
        .map(|(term, _)| term)
        .sum();
    if odd {
        let angle = libm::atan(t / libm::sqrt(n));
        (angle + sin * sum) * core::f64::consts::FRAC_2_PI
    } else {
        sin * sum
    }
}

/// Jain's fairness index, (Σx)² / (n·Σx²): 1 when all are equal, 1/n when one has everything.
///
/// The index is 1 if all parts are 0, since these are equal, too.
#[must_use]
pub fn jain(parts: &[f64]) -> f64 {
    // The index does not depend on the unit; dividing by the largest keeps the squares from overflowing.
    let largest = parts.iter().fold(0.0_f64, |largest, &part| largest.max(part));
    if largest <= 0.0 {
        return 1.0;
    }
    let scaled = || parts.iter().map(|part| part / largest);
    let sum: f64 = scaled().sum();
    let squares: f64 = scaled().map(|part| part * part).sum();
    sum * sum / (parts.len() as f64 * squares)
}

/// Normalised deviation of goodputs from equal parts of `bandwidth`, in the same unit (BARE, equation 9): 0 when every
/// flow gets its fair share. It is 0 for fewer than two flows and for no bandwidth.
#[must_use]
pub fn normalised_deviation(goodputs: &[f64], bandwidth: f64) -> f64 {
    if bandwidth <= 0.0 {
        return 0.0;
    }
    let fair = bandwidth / goodputs.len() as f64;
    deviation_from_one(goodputs.iter().map(|goodput| goodput / fair))
}

/// Coefficient of variation of one flow's goodput over windows of equal length (BARE, equation 12): how unsteady it is.
/// The value is 0 for fewer than two windows and for a flow that never got anything.
#[must_use]
pub fn coefficient_of_variation(windows: &[f64]) -> f64 {
    let mean = windows.iter().copied().collect::<Moments>().mean();
    if mean <= 0.0 {
        return 0.0;
    }
    deviation_from_one(windows.iter().map(|goodput| goodput / mean))
}

/// √(Σ(x − 1)² / (n − 1)); 0 for fewer than two values.
fn deviation_from_one(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len();
    if count < 2 {
        return 0.0;
    }
    let squares: f64 = values.map(|value| (value - 1.0) * (value - 1.0)).sum();
    libm::sqrt(squares / (count - 1) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Would catch a wrong sum, parity or stopping rule: the printed t table (NIST/SEMATECH e-Handbook, 1.3.6.7.2,
    /// column 0.975), which has three decimals.
    #[test]
    fn student_t_is_the_published_table() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (3, 3.182),
            (4, 2.776),
            (5, 2.571),
            (6, 2.447),
            (7, 2.365),
            (8, 2.306),
            (9, 2.262),
            (10, 2.228),
            (11, 2.201),
            (12, 2.179),
            (13, 2.160),
            (14, 2.145),
            (15, 2.131),
            (19, 2.093),
            (20, 2.086),
            (29, 2.045),
            (30, 2.042),
            (50, 2.009),
            (60, 2.000),
            (99, 1.984),
            (100, 1.984),
        ];
        for (degrees, quantile) in table {
            let got = student_t_975(degrees);
            assert!((got - quantile).abs() <= 0.000_501, "{degrees} degrees: {got}, the table says {quantile}");
        }
    }

    /// The two cases with a closed form: tan(0.475π) and 2(2p − 1)/√(4p(1 − p)·2) with p = 0.975.
    #[test]
    fn student_t_is_the_closed_form_for_one_and_two_degrees() {
        assert!((student_t_975(1) - libm::tan(0.475 * core::f64::consts::PI)).abs() < 1e-12);
        assert!((student_t_975(2) - 1.9 / libm::sqrt(2.0 * 4.0 * 0.975 * 0.025)).abs() < 1e-12);
    }

    /// Would catch a jump where the limit takes over.
    #[test]
    fn student_t_falls_towards_the_normal_quantile() {
        assert_eq!(student_t_975(0), f64::INFINITY);
        assert!(student_t_975(999) > student_t_975(10_000));
        assert!(student_t_975(999_999) - student_t_975(1_000_000) < 3e-6);
        assert!(student_t_975(u64::MAX) > 1.959_963_98);
    }

    /// 2, 4, 4, 4, 5, 5, 7, 9: mean 5, sum of squares 32, so variance 32/7 and t(7) = 2.365.
    #[test]
    fn moments_by_hand() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!(moments.count(), 8);
        assert!((moments.mean() - 5.0).abs() < 1e-15);
        assert!((moments.variance().unwrap() - 32.0 / 7.0).abs() < 1e-14);
        let half = 2.364_624 * libm::sqrt(32.0 / 7.0 / 8.0);
        assert!((moments.ci95().unwrap() - half).abs() < 1e-6);
    }

    /// NIST's NumAcc3 (StRD): 1000000.2, then 500 times 1000000.1 and 1000000.3; standard deviation exactly 0.1.
    /// The naive Σx² − n·mean² loses it.
    #[test]
    fn moments_do_not_cancel() {
        let moments: Moments =
            iter::once(1_000_000.2).chain((0..500).flat_map(|_| [1_000_000.1, 1_000_000.3])).collect();
        assert!((moments.mean() - 1_000_000.2).abs() < 1e-8);
        assert!((libm::sqrt(moments.variance().unwrap()) - 0.1).abs() < 1e-9);
    }

    #[test]
    fn one_value_has_no_interval() {
        assert_eq!(Moments::new().mean(), 0.0);
        let one: Moments = [3.0].into_iter().collect();
        assert_eq!((one.mean(), one.variance(), one.ci95()), (3.0, None, None));
        let same: Moments = [3.0; 4].into_iter().collect();
        assert_eq!(same.ci95(), Some(0.0));
    }

    /// Jain, Chiu and Hawe (1984): if k of n have equal parts and the others nothing, the index is k/n.
    #[test]
    fn jain_of_some_served_alike() {
        assert_eq!(jain(&[5.0; 7]), 1.0);
        assert!((jain(&[3.0, 3.0, 0.0, 0.0, 0.0]) - 0.4).abs() < 1e-15);
        assert_eq!(jain(&[0.0, 0.0, 8.0, 0.0]), 0.25);
        assert!((jain(&[1.0, 2.0, 3.0]) - 36.0 / 42.0).abs() < 1e-15);
        assert_eq!((jain(&[]), jain(&[0.0, 0.0])), (1.0, 1.0));
        assert_eq!(jain(&[1e300, 1e300]), 1.0);
    }

    /// 10 to share by two: 7 and 3 are 0.4 off on both sides, so √(0.32/1).
    #[test]
    fn normalised_deviation_by_hand() {
        assert!((normalised_deviation(&[7.0, 3.0], 10.0) - libm::sqrt(0.32)).abs() < 1e-15);
        assert_eq!(normalised_deviation(&[2.5; 4], 10.0), 0.0);
        // An idle link is a deviation too: each flow has half its share, √(4·0.25/3).
        assert!((normalised_deviation(&[1.25; 4], 10.0) - libm::sqrt(1.0 / 3.0)).abs() < 1e-15);
        assert_eq!(normalised_deviation(&[], 10.0), 0.0);
        assert_eq!(normalised_deviation(&[1.0, 2.0], 0.0), 0.0);
    }

    /// 1, 2, 3 over their mean: 0.5, 1, 1.5, so √(0.5/2).
    #[test]
    fn coefficient_of_variation_by_hand() {
        assert!((coefficient_of_variation(&[1.0, 2.0, 3.0]) - 0.5).abs() < 1e-15);
        assert_eq!(coefficient_of_variation(&[4.0; 9]), 0.0);
        assert_eq!((coefficient_of_variation(&[]), coefficient_of_variation(&[0.0; 3])), (0.0, 0.0));
    }

    proptest! {
        /// The index lies in [1/n, 1] and does not depend on the unit.
        #[test]
        fn jain_is_bounded_and_has_no_unit(parts in prop::collection::vec(0.0..1e9_f64, 1..40), unit in 1e-3..1e6_f64) {
            let index = jain(&parts);
            prop_assert!(index >= 1.0 / parts.len() as f64 - 1e-12 && index <= 1.0 + 1e-12);
            let scaled: Vec<f64> = parts.iter().map(|part| part * unit).collect();
            prop_assert!((jain(&scaled) - index).abs() < 1e-9);
        }
    }
}
