//! The ellipse of delay and goodput (RFC 7928, section 2.7).

use serde::{Deserialize, Serialize};

/// The contour of the maximum-likelihood Gaussian of points in the plane, one standard deviation from the mean.
///
/// The semi-axes are the roots of the eigenvalues of the covariance, whose divisor is the number of points.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Ellipse {
    /// The mean.
    pub mean: (f64, f64),
    /// The median of each coordinate.
    pub median: (f64, f64),
    /// The semi-axes, the longer one first.
    pub semi_axes: (f64, f64),
    /// The angle of the longer axis in radians, from the first coordinate's axis.
    pub angle: f64,
}

impl Ellipse {
    /// Returns the ellipse of `points`; `None` of fewer than three.
    #[must_use]
    pub fn of(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let count = points.len() as f64;
        let mean_of = |value: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(value).sum::<f64>() / count;
        let mean = (mean_of(&|point| point.0), mean_of(&|point| point.1));
        let xx = mean_of(&|point| (point.0 - mean.0) * (point.0 - mean.0));
        let yy = mean_of(&|point| (point.1 - mean.1) * (point.1 - mean.1));
        let xy = mean_of(&|point| (point.0 - mean.0) * (point.1 - mean.1));
        let (half, spread) = ((xx + yy) / 2.0, libm::hypot((xx - yy) / 2.0, xy));
        Some(Self {
            mean,
            median: (median(points.iter().map(|point| point.0)), median(points.iter().map(|point| point.1))),
            semi_axes: (libm::sqrt(half + spread), libm::sqrt((half - spread).max(0.0))),
            angle: libm::atan2(2.0 * xy, xx - yy) / 2.0,
        })
    }

    /// Returns `count` points of the contour, from the end of the longer axis.
    #[must_use]
    pub fn contour(&self, count: u32) -> Vec<(f64, f64)> {
        let (cos, sin) = (libm::cos(self.angle), libm::sin(self.angle));
        let point = |number: u32| {
            let at = 2.0 * core::f64::consts::PI * f64::from(number) / f64::from(count);
            let (along, across) = (self.semi_axes.0 * libm::cos(at), self.semi_axes.1 * libm::sin(at));
            (self.mean.0 + along * cos - across * sin, self.mean.1 + along * sin + across * cos)
        };
        (0..count).map(point).collect()
    }
}

/// Returns the median; of an even number of values the mean of the two in the middle.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => values[middle],
        _ => f64::midpoint(values[middle - 1], values[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the points (±3, 0) and (0, ±1) have the variances 18/4 and 2/4 and no covariance; turned by 45 degrees
    /// the semi-axes stay.
    #[test]
    fn the_semi_axes_are_the_standard_deviations_along_the_axes() {
        let flat = [(13.0, 5.0), (7.0, 5.0), (10.0, 6.0), (10.0, 4.0)];
        let ellipse = Ellipse::of(&flat).expect("four points");
        assert_eq!((ellipse.mean, ellipse.median), ((10.0, 5.0), (10.0, 5.0)));
        assert!((ellipse.semi_axes.0 - 4.5_f64.sqrt()).abs() < 1e-12);
        assert!((ellipse.semi_axes.1 - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(ellipse.angle, 0.0);
        let (cos, sin) = (0.5_f64.sqrt(), 0.5_f64.sqrt());
        let turned = flat.map(|(x, y)| ((x - 10.0) * cos - (y - 5.0) * sin, (x - 10.0) * sin + (y - 5.0) * cos));
        let ellipse = Ellipse::of(&turned).expect("four points");
        assert!((ellipse.angle - core::f64::consts::FRAC_PI_4).abs() < 1e-12);
        assert!((ellipse.semi_axes.0 - 4.5_f64.sqrt()).abs() < 1e-12);
        // The end of the longer axis is the first point of the contour.
        let end = ellipse.contour(8)[0];
        assert!((end.0 - 1.5).abs() < 1e-12 && (end.1 - 1.5).abs() < 1e-12, "{end:?}");
    }

    /// Would catch an ellipse of two points, and one of equal points that is not a point.
    #[test]
    fn few_or_equal_points() {
        assert_eq!(Ellipse::of(&[(1.0, 2.0), (3.0, 4.0)]), None);
        let same = Ellipse::of(&[(1.0, 2.0); 3]).expect("three points");
        assert_eq!((same.semi_axes, same.median), ((0.0, 0.0), (1.0, 2.0)));
    }
}
