//! Sources of UDP: the times and sizes of their packets.

use std::sync::Arc;

use fairlane_qdisc::{Bytes, Duration, Rate};

/// UDP: a source that does not react to loss or marks.
#[derive(Clone, Debug, PartialEq)]
pub struct Udp {
    /// Rate on the wire: of [`Source::OnOff`] during the on periods, of all others in the mean.
    pub rate: Rate,
    /// The process that decides when packets are sent.
    pub source: Source,
    /// Distribution of packet sizes. The times of sending do not depend on it.
    pub sizes: PacketSizes,
    /// True if its packets are ECN-capable.
    pub ecn: bool,
}

impl Udp {
    /// Returns true if the packets of a flow do not all have the same size.
    #[must_use]
    pub const fn sizes_differ(&self) -> bool {
        matches!(self.sizes, PacketSizes::Geometric) || matches!(self.source, Source::Trace(_))
    }
}

/// Distribution of packet sizes around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketSizes {
    /// All are the same, or those of the trace.
    Fixed,
    /// P(k bytes) = p (1 − p)^(k − 1) with p = 1/mean: on a link with slots of a byte, service that ends in each slot
    /// with probability p; with a mean of many bytes, exponential service.
    Geometric,
}

/// The process that decides when a UDP source sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A constant rate (CBR); the phase of the first packet is drawn uniformly from one interval.
    Cbr {
        /// Each interval between packets is drawn uniformly from (1 − jitter) to (1 + jitter) times the mean; 0 to 1.
        jitter: f64,
    },
    /// A Poisson process: exponential gaps.
    Poisson,
    /// A constant rate during the on periods, and nothing during the off periods.
    OnOff(OnOff),
    /// A packet in each slot with the same probability, independently of earlier slots: geometric gaps.
    Geometric {
        /// Length of a slot.
        slot: Duration,
        /// Probability of a packet in a slot; above 0, at most 1.
        probability: f64,
    },
    /// Self-similar traffic from a Markov chain that moves once a slot.
    Ssmp {
        /// Length of a slot.
        slot: Duration,
        /// Packets a slot in the mean; above 0, at most [`Ssmp::activity`].
        probability: f64,
        /// The chain.
        chain: Ssmp,
    },
    /// Packets at the times and with the sizes of a trace.
    Trace(Trace),
}

/// Recorded packets, flow by flow. They are shared, so that cloning is cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace(Arc<[Box<[Recorded]>]>);

/// A recorded packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// When, from the start of the flow.
    pub at: Duration,
    /// Size on the wire.
    pub bytes: Bytes,
}

impl Trace {
    /// Creates a trace of `flows`, each with its packets in order.
    pub(crate) fn new(flows: Vec<Vec<Recorded>>) -> Self {
        Self(flows.into_iter().map(Vec::into_boxed_slice).collect())
    }

    /// The packets of flow `index` of a group; if the group has more flows than the trace, the trace's flows are reused
    /// in order.
    #[must_use]
    pub fn flow(&self, index: u32) -> &[Recorded] {
        self.0.get(index as usize % self.0.len().max(1)).map_or(&[], |packets| packets)
    }

    /// Number of recorded flows.
    #[must_use]
    pub fn flows(&self) -> usize {
        self.0.len()
    }
}

/// On and off periods that take turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnOff {
    /// Mean length of an on period.
    pub on: Duration,
    /// Mean length of an off period.
    pub off: Duration,
    /// Distribution of the lengths.
    pub periods: Periods,
}

/// Distribution of the lengths of on and off periods.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Periods {
    /// Exponentially.
    Exponential,
    /// Pareto: P(X > x) = (m/x)^shape for x ≥ m, with m = mean · (shape − 1)/shape.
    Pareto {
        /// The tail's index; above 1. Up to 2 the variance is infinite.
        shape: f64,
    },
}

/// A Markov chain whose activity is self-similar over many scales (Robert and Le Boudec, "New models for pseudo
/// self-similar traffic", 1997).
///
/// State 0 is active, the others are silent. From 0 the chain moves to state i with probability a^−i, and from i back
/// with (q/a)^i, where q = a^(1 − 1/(3 − 2H)): the silences then have a tail of index 3 − 2H, up to (a/q)^(states − 1)
/// slots.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ssmp {
    /// Number of states, from 2; each further one reaches over a/q times longer scales.
    pub states: u32,
    /// The base a, from 2.
    pub a: f64,
    /// The Hurst parameter H, from 0.5 (no long-range dependence) to below 1.
    pub hurst: f64,
}

impl Ssmp {
    /// The base q of the returns.
    #[must_use]
    pub fn q(&self) -> f64 {
        libm::pow(self.a, 1.0 - 1.0 / (3.0 - 2.0 * self.hurst))
    }

    /// The part of the time that the chain is in state 0: (1 − 1/q)/(1 − q^−states).
    #[must_use]
    pub fn activity(&self) -> f64 {
        let q = self.q();
        (1.0 - 1.0 / q) / (1.0 - libm::pow(q, -f64::from(self.states)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// q = a^(1 − 1/(3 − 2H)) by hand: with H = 0.8 it is a^(2/7), and 5^(2/7) = 1.58382. Would catch a wrong exponent.
    #[test]
    fn q_for_a_hurst_parameter_of_four_fifths() {
        for (a, q) in [(5.0, 1.583_82), (10.0, 1.930_70)] {
            let chain = Ssmp { states: 8, a, hurst: 0.8 };
            assert!((chain.q() - q).abs() < 5e-6, "{}", chain.q());
        }
    }

    /// The complete stationary distribution, from the balance of each state with 0: π_i · (q/a)^i = π_0 · a^−i.
    #[test]
    fn activity_is_what_balance_leaves() {
        for (states, a, hurst) in [(2, 2.0, 0.5), (8, 10.0, 0.8), (32, 1000.0, 0.99)] {
            let chain = Ssmp { states, a, hurst };
            let mut weight = 1.0;
            let mut total = 1.0;
            for _ in 1..states {
                weight /= chain.q();
                total += weight;
            }
            assert!((chain.activity() * total - 1.0).abs() < 1e-9);
        }
    }
}
