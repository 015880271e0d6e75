//! Pareto fronts: the candidates that no other exceeds in both of two measures.

use crate::advice::{Front, Ranked};
use crate::metric::{Metric, shown};

/// Returns the fronts of small delays against large goodputs, and against fairness.
pub(crate) fn fronts(ranking: &[Ranked]) -> Vec<Front> {
    let delay = shown()[0].to_string();
    let front = |metric: Metric| {
        let metric = metric.to_string();
        let place = |row: &Ranked| Some((row.reading(&delay)?.mean?, row.reading(&metric)?.mean?));
        let places: Vec<(&Ranked, (f64, f64))> = ranking.iter().filter_map(|row| Some((row, place(row)?))).collect();
        let points: Vec<(f64, f64)> = places.iter().map(|(_, point)| *point).collect();
        let mut best: Vec<usize> = (0..points.len()).filter(|index| !is_exceeded(points[*index], &points)).collect();
        best.sort_by(|a, b| points[*a].0.total_cmp(&points[*b].0));
        Front { metric, kinds: best.into_iter().map(|index| places[index].0.kind.clone()).collect() }
    };
    let fronts = [Metric::GOODPUT, Metric::JAIN].map(front);
    fronts.into_iter().filter(|front| !front.kinds.is_empty()).collect()
}

/// Returns true if another point is as good in both coordinates, the first small and the second large, and better in
/// one.
fn is_exceeded(point: (f64, f64), points: &[(f64, f64)]) -> bool {
    points.iter().any(|other| other.0 <= point.0 && other.1 >= point.1 && *other != point)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a point inside of the front, and an edge that is left out.
    #[test]
    fn a_point_is_exceeded_in_both() {
        let points = [(1.0, 1.0), (2.0, 3.0), (2.0, 2.0), (3.0, 3.0), (4.0, 5.0)];
        let exceeded: Vec<bool> = points.iter().map(|point| is_exceeded(*point, &points)).collect();
        assert_eq!(exceeded, [false, false, true, true, false]);
        assert!(!is_exceeded((1.0, 1.0), &[(1.0, 1.0), (1.0, 1.0)]));
    }
}
