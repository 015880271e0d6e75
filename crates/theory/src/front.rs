//! Front CHOKe under Poisson arrivals: an arrival is compared with the packet at the head.
//!
//! Pan, Prabhakar and Psounis 2000, section IV.A, equations 1 to 3, Table II. Flows are independent Poisson processes
//! of rates `lambda_i`, services are exponential of rate `mu`, the packet in service stays at the head and may be
//! dropped, there are no thresholds and there is no limit. As Poisson arrivals see time averages, an arrival of flow i
//! finds its own flow at the head with the same probability `pi_i` as the end of a service does. A packet is dropped on
//! arrival, dropped at the head or served: `lambda_i (1 - pi_i) = lambda_i pi_i + mu pi_i`, whence
//!
//! `pi_i = lambda_i / (mu + 2 lambda_i)`,
//!
//! independently of the other flows. The same holds for any rule that picks the packet to compare with and the packet
//! to serve in the same way, such as both at random. It does not hold for CHOKe, which compares at random and serves in
//! order.

use crate::check::{Error, positive, rates};

/// Front CHOKe in equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontChoke {
    empty: f64,
    flows: Vec<FrontFlow>,
}

/// The result for one flow under front CHOKe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrontFlow {
    /// Its arrivals, `lambda_i`, in the unit of `mu`.
    pub rate: f64,
    /// The probability that a packet of it is at the head, `pi_i`; always below 1/2 (equation 1).
    pub head: f64,
    /// Served rate of the flow, `mu pi_i`, in the unit of `mu`.
    pub goodput: f64,
    /// The part of its packets that is dropped, on arrival or at the head, `2 pi_i`.
    pub loss: f64,
}

impl FrontChoke {
    /// Flows of `rates` at a server of rate `mu`, all in one unit, each from 1e-12 to 1e12.
    ///
    /// # Errors
    /// When a rate is out of its range, when there are none or more than 1000, and when the queue would grow without
    /// end: it is stable as long as all `pi_i` together are below 1 (equation 2), so always with two flows.
    pub fn new(mu: f64, lambda: &[f64]) -> Result<Self, Error> {
        positive("mu", mu)?;
        rates("rates", lambda)?;
        let flows: Vec<FrontFlow> = lambda.iter().map(|&rate| FrontFlow::new(mu, rate)).collect();
        let busy: f64 = flows.iter().map(|flow| flow.head).sum();
        if busy >= 1.0 {
            let message = format!(
                "the queue would grow without end: the sum of rate / (mu + 2 rate) is {busy:.4} and must be below 1; \
                 lower the rates or raise mu"
            );
            return Err(Error::new("rates", message));
        }
        Ok(Self { empty: 1.0 - busy, flows })
    }

    /// The probability that the queue is empty.
    #[must_use]
    pub fn empty(&self) -> f64 {
        self.empty
    }

    /// The flows, in the order in which their rates were given.
    #[must_use]
    pub fn flows(&self) -> &[FrontFlow] {
        &self.flows
    }
}

impl FrontFlow {
    fn new(mu: f64, rate: f64) -> Self {
        let head = rate / (mu + 2.0 * rate);
        Self { rate, head, goodput: mu * head, loss: 2.0 * head }
    }
}
