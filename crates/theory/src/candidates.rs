//! CHOKe that draws `k` candidates, with `M` equal unresponsive flows among many TCP flows.
//!
//! The model of [`Choke`](crate::Choke), without early drops, for the multiple candidates of Pan, Prabhakar and Psounis
//! 2000, section II. Each unresponsive flow arrives at `a` times the link's rate and has a part `h` of the queue. It is
//! admitted at `a (1 - h)^k`, when no candidate matches; every arrival hits each of its packets with `k` times the
//! probability of one candidate, and what leaks is what matches, `k h = (1 - h)^k (1 - z)`. With `z = exp(-L)`:
//!
//! * its share of the link is `s = a z (1 - h)^k`;
//! * TCP's `1 - M h` of the queue passes at `1 - M s`, so that `L = a k (1 - M h) / (1 - M s)`;
//! * `a = L / (k (1 - M h) + M L z (1 - h)^k)`.
//!
//! `h` rises with the load. When `M h` reaches 1 at a finite load, the flows fill the queue and TCP starves: it does if
//! and only if `(1 - 1/M)^k > k/M`, at a load of each flow of `1 / (M ((1 - 1/M)^k - k/M))`. Above it nothing is left
//! for TCP, and the queue grows until RED or its limit drops what the comparisons do not. Otherwise TCP keeps something
//! at any load. With equality (two flows and one candidate) that goes to zero, as `1 / (2 ln a)`; else to the whole
//! link.

use crate::check::{Error, count, positive};
use crate::solve::{increasing, largest};

/// CHOKe with several candidates and several unresponsive flows, in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidates {
    flows: f64,
    candidates: f64,
    load: f64,
    /// `L`, or `None` if TCP starves.
    leak: Option<f64>,
}

impl Candidates {
    /// `flows` unresponsive flows of `load` times the link's rate each, 1e-12 to 1e12, against `candidates` drawn an
    /// arrival.
    ///
    /// # Errors
    /// When there are no flows or no candidates, or the load is out of its range.
    pub fn at_load(flows: u32, candidates: u32, load: f64) -> Result<Self, Error> {
        positive("load", load)?;
        let rule = Self::rule(flows, candidates)?;
        if starvation(rule.flows, rule.candidates).is_some_and(|starves| load >= starves) {
            return Ok(Self { load, leak: None, ..rule });
        }
        // A flow that leaks has less of the head than of the whole queue, so s <= h and L <= a k.
        let leak = increasing(|leak| rule.load_of_leak(leak), load, 0.0, load * rule.candidates);
        Ok(Self { load, leak: Some(leak), ..rule })
    }

    /// The load at which a single unresponsive flow gets the largest share of the link.
    ///
    /// # Errors
    /// When there are no candidates.
    pub fn peak(candidates: u32) -> Result<Self, Error> {
        let rule = Self::rule(1, candidates)?;
        // Beyond L = 100 the departures are below any precision.
        let leak = largest(|leak| rule.share_of_leak(leak), 0.0, 100.0);
        Ok(Self { load: rule.load_of_leak(leak), leak: Some(leak), ..rule })
    }

    fn rule(flows: u32, candidates: u32) -> Result<Self, Error> {
        let (flows, candidates) = (count("flows", flows)?, count("candidates", candidates)?);
        Ok(Self { flows, candidates, load: 0.0, leak: None })
    }

    /// Sending rate of each unresponsive flow as a part of the link's rate, `a`.
    #[must_use]
    pub fn load(&self) -> f64 {
        self.load
    }

    /// The part of the queue of each unresponsive flow, `h`, at most `1/M`.
    #[must_use]
    pub fn buffer_share(&self) -> f64 {
        self.leak.map_or(1.0 / self.flows, |leak| self.buffer_of_leak(leak))
    }

    /// The share of the link of each unresponsive flow, `s`.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.leak.map_or(1.0 / self.flows, |leak| self.share_of_leak(leak))
    }

    /// The share of all unresponsive flows together.
    #[must_use]
    pub fn total_share(&self) -> f64 {
        self.flows * self.share()
    }

    /// Share of TCP.
    #[must_use]
    pub fn tcp_share(&self) -> f64 {
        if self.starves() { 0.0 } else { 1.0 - self.total_share() }
    }

    /// The part of an unresponsive flow's packets that is dropped.
    #[must_use]
    pub fn loss(&self) -> f64 {
        (1.0 - self.share() / self.load).max(0.0)
    }

    /// Returns true if TCP gets nothing.
    #[must_use]
    pub fn starves(&self) -> bool {
        self.leak.is_none()
    }

    /// The load of each flow from which TCP starves; `None` if the candidates protect TCP at any load.
    #[must_use]
    pub fn starvation_load(&self) -> Option<f64> {
        starvation(self.flows, self.candidates)
    }

    /// `h` for which `k h = (1 - h)^k (1 - z)`.
    fn buffer_of_leak(&self, leak: f64) -> f64 {
        let leaks = -libm::expm1(-leak);
        let excess = |h: f64| self.candidates * h - leaks * self.unmatched(h);
        // Without repeated draws h is at most (1 - z) / k.
        increasing(excess, 0.0, 0.0, leaks / self.candidates)
    }

    /// The probability that no candidate matches, `(1 - h)^k`.
    fn unmatched(&self, h: f64) -> f64 {
        unmatched(h, self.candidates)
    }

    /// `L s / a` and `L / a`.
    fn flow_and_load(&self, leak: f64) -> (f64, f64) {
        let h = self.buffer_of_leak(leak);
        let leaves = leak * libm::exp(-leak) * self.unmatched(h);
        let tcp = (1.0 - self.flows * h).max(0.0);
        (leaves, self.candidates * tcp + self.flows * leaves)
    }

    fn load_of_leak(&self, leak: f64) -> f64 {
        leak / self.flow_and_load(leak).1
    }

    fn share_of_leak(&self, leak: f64) -> f64 {
        let (leaves, all) = self.flow_and_load(leak);
        if all > 0.0 { leaves / all } else { 0.0 }
    }
}

/// The fewest candidates that leave something for TCP under any load of `flows` unresponsive flows: the least `k` with
/// `(1 - 1/M)^k <= k/M`. It is about 0.57 M with many flows.
///
/// # Errors
/// When there are no flows.
pub fn candidates_that_protect(flows: u32) -> Result<u32, Error> {
    let m = count("flows", flows)?;
    let (mut low, mut high) = (0, flows);
    // With k = M the left side is below 1, and it falls with k while the right side rises.
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if starvation(m, f64::from(middle)).is_none() {
            high = middle;
        } else {
            low = middle;
        }
    }
    Ok(high)
}

/// The probability that none of `k` candidates matches a flow with a part `h` of the queue.
fn unmatched(h: f64, k: f64) -> f64 {
    libm::exp(k * libm::log1p(-h))
}

/// The load of each of `m` flows at which TCP starves under `k` candidates.
fn starvation(m: f64, k: f64) -> Option<f64> {
    // m times what leaves of each flow when the flows fill the queue. Rounding must not make a threshold of equality.
    let leaves = m * unmatched(1.0 / m, k) - k;
    (leaves > 1e-12 * k).then(|| 1.0 / leaves)
}
