//! Latin hypercubes: points that cover each dimension evenly.

use fairlane_qdisc::Stream;

/// Returns `count` points of `dimensions` coordinates from 0 to 1: in each dimension one point in each of `count` equal
/// parts, in a random order and at a random place of the part (McKay, Beckman and Conover 1979).
pub(crate) fn points(count: usize, dimensions: usize, random: &mut Stream) -> Vec<Vec<f64>> {
    let mut points = vec![Vec::with_capacity(dimensions); count];
    for _ in 0..dimensions {
        let mut parts: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            // At most as many as there are runs in a budget, which is far below 2^32.
            parts.swap(last, random.below(last as u32 + 1) as usize);
        }
        for (point, part) in points.iter_mut().zip(parts) {
            point.push((part as f64 + random.unit()) / count as f64);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Would catch a part without a point, and one with two.
    #[test]
    fn each_part_of_each_dimension_has_one_point() {
        let points = points(20, 3, &mut Seed::new(7).stream("test"));
        for dimension in 0..3 {
            let mut parts: Vec<usize> = points.iter().map(|point| (point[dimension] * 20.0) as usize).collect();
            assert_ne!(parts, (0..20).collect::<Vec<_>>());
            parts.sort_unstable();
            assert_eq!(parts, (0..20).collect::<Vec<_>>());
        }
    }
}
