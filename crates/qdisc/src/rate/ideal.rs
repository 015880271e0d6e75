//! The ideal fair share: the max-min fair division of a link among flows.

use alloc::vec;
use alloc::vec::Vec;

/// Returns the max-min fair share of `capacity` for each of `demands`, in their order, by progressive filling: all
/// shares grow together, and a flow stops growing at its demand. So each share is the smaller of the demand and a
/// common level, and the shares sum to `capacity` unless the demands sum to less.
///
/// `capacity` and `demands` are rates in the same unit, such as bit/s. A flow that takes all it can get, such as a TCP
/// with unlimited data, demands `f64::INFINITY`. Negative values and NaN count as 0. An infinite capacity gives each
/// flow its demand.
///
/// Source: the definition of max-min fairness (Bertsekas, Gallager: Data Networks, 1992, section 6.5.2); the "ideal
/// fair share" of the CHOKe paper's figures.
///
/// ```
/// use fairlane_qdisc::ideal_shares;
///
/// assert_eq!(ideal_shares(11.0, &[2.0, f64::INFINITY, 3.0, f64::INFINITY]), [2.0, 3.0, 3.0, 3.0]);
/// ```
#[must_use]
pub fn ideal_shares(capacity: f64, demands: &[f64]) -> Vec<f64> {
    let mut shares = vec![0.0; demands.len()];
    let mut order: Vec<usize> = (0..demands.len()).filter(|&flow| demands[flow] > 0.0).collect();
    order.sort_by(|&a, &b| demands[a].total_cmp(&demands[b]));
    let mut left = if capacity > 0.0 { capacity } else { 0.0 };
    for (done, &flow) in order.iter().enumerate() {
        // An equal division of the rest among this flow and those with larger demands.
        let level = left / (order.len() - done) as f64;
        shares[flow] = demands[flow].min(level);
        if left.is_finite() {
            left -= shares[flow];
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    const GREEDY: f64 = f64::INFINITY;

    fn close(a: f64, b: f64) -> bool {
        a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
    }

    /// Closed forms. Would catch a share above a demand, and capacity that is given to no flow.
    #[test]
    fn a_flow_gets_its_demand_or_the_level() {
        assert!(ideal_shares(1.0, &[]).is_empty());
        assert_eq!(ideal_shares(0.0, &[1.0, 2.0]), [0.0, 0.0]);
        assert_eq!(ideal_shares(9.0, &[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        assert_eq!(ideal_shares(6.0, &[GREEDY, GREEDY, GREEDY]), [2.0, 2.0, 2.0]);
        assert_eq!(ideal_shares(8.0, &[1.0, GREEDY, 2.0, 4.0]), [1.0, 2.5, 2.0, 2.5]);
        assert_eq!(ideal_shares(GREEDY, &[1.0, GREEDY]), [1.0, GREEDY]);
        assert_eq!(ideal_shares(-1.0, &[1.0]), [0.0]);
        assert_eq!(ideal_shares(f64::NAN, &[1.0]), [0.0]);
        assert_eq!(ideal_shares(3.0, &[f64::NAN, -1.0, 0.0, GREEDY]), [0.0, 0.0, 0.0, 3.0]);
        // The CHOKe paper's figure 4: 32 TCPs and a constant rate of 2 Mbit/s on 1 Mbit/s are 33 equal flows.
        let mut demands = vec![GREEDY; 32];
        demands.push(2e6);
        assert!(ideal_shares(1e6, &demands).iter().all(|&share| close(share, 1e6 / 33.0)));
    }

    /// The three properties that define max-min fairness: no share exceeds its demand, no capacity is left while a flow
    /// demands more, and no flow whose demand is not met has less than another.
    #[test]
    fn the_division_is_max_min_fair() {
        let mut chance = crate::Seed::new(1).stream("demands");
        for _ in 0..2000 {
            let demands: Vec<f64> = (0..chance.below(12))
                .map(|_| if chance.below(5) == 0 { GREEDY } else { f64::from(chance.below(1000)) })
                .collect();
            let capacity = f64::from(chance.below(5000));
            let shares = ideal_shares(capacity, &demands);
            let most = shares.iter().copied().fold(0.0, f64::max);
            assert!(
                close(shares.iter().sum(), capacity.min(demands.iter().sum())),
                "{capacity} {demands:?} {shares:?}"
            );
            for (&share, &demand) in shares.iter().zip(&demands) {
                assert!(share <= demand && (close(share, demand) || close(share, most)), "{capacity} {demands:?}");
            }
        }
    }
}
