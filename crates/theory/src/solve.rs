//! Roots and maxima of functions of one variable.

/// Returns the point between `low` and `high` where the increasing function `f` reaches `wanted`; the nearer end if it
/// does not.
pub(crate) fn increasing(f: impl Fn(f64) -> f64, wanted: f64, mut low: f64, mut high: f64) -> f64 {
    loop {
        let middle = low + (high - low) / 2.0;
        // No number lies between the two any more.
        if middle <= low || middle >= high {
            return middle;
        }
        if f(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// Returns the maximum between `low` and `high` of `f`, which rises and then falls, to half of the digits.
///
/// Thirds are cut off until the values do not differ any more.
pub(crate) fn largest(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    // (2/3)^100 is below the precision of any number.
    for _ in 0..100 {
        let third = (high - low) / 3.0;
        if f(low + third) < f(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    low + (high - low) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_and_maxima_of_known_functions() {
        assert!((increasing(|x| x * x, 2.0, 0.0, 2.0) - libm::sqrt(2.0)).abs() < 1e-15);
        assert!(increasing(|x| x, -1.0, 0.0, 1.0) < 1e-300, "below the range it ends at its lower end");
        assert!((increasing(|x| x, 2.0, 0.0, 1.0) - 1.0).abs() < 1e-15, "above it at its upper end");
        // x exp(-x) is largest at 1.
        assert!((largest(|x| x * libm::exp(-x), 0.0, 9.0) - 1.0).abs() < 1e-7);
    }
}
