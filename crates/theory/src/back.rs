//! Back CHOKe with memory: an arrival of one of the last `k` flows admitted is dropped.
//!
//! Pan, Prabhakar and Psounis 2000, section IV.B, equations 4 and 5 for k = 1, Table III. Flows are independent Poisson
//! processes of rates `lambda_i` with sum `Lambda`. The memory, from the newest flow to the oldest, is a Markov chain:
//! at each admission the next flow is `l`, none of those in it, with probability
//! `lambda_l / (Lambda - sum of those in it)`. Its law,
//!
//! `pi(i_1 … i_k) = C lambda_i1 … lambda_ik (Lambda - lambda_i1 - … - lambda_ik)`,
//!
//! solves the balance of the chain and of its reverse, which forgets the newest flow instead. It does not depend on the
//! order of the flows in memory. So sums over states are elementary symmetric polynomials: let `e_j` be that of degree
//! j of all rates and `e_j(-i)` that of all rates but `lambda_i`. Then
//!
//! * the share of flow i in the admitted packets is `lambda_i e_k(-i) / ((k + 1) e_(k+1))`;
//! * a state lasts `1 / (Lambda - sum)` on average, so in time its probability is the product of the rates alone, and
//!   flow i is admitted at the rate `lambda_i e_k(-i) / e_k`;
//! * all flows together are admitted at the rate `(k + 1) e_(k+1) / e_k`, and **the queue is stable when that is below
//!   `mu`**.
//!
//! The paper prints another condition, `sum of lambda_i pi_i < mu`, where `pi_i` is the share of flow i. That is not
//! the admitted rate: for rates 1, 1, 1, 7 and k = 1 it gives 3.625 where 4.8 is admitted, and for k = 3 it gives 2.5
//! where 14/11 is.
//!
//! A rule that compares with the true tail of a queue that is served from its head has no such closed form.

use crate::check::{Error, rates};
use crate::solve::increasing;

/// Back CHOKe with a memory of flows, in equilibrium.
#[derive(Clone, Debug, PartialEq)]
pub struct BackChoke {
    memory: usize,
    admitted: f64,
    flows: Vec<BackFlow>,
}

/// The result for one flow under back CHOKe with memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BackFlow {
    /// Its arrivals, `lambda_i`.
    pub rate: f64,
    /// Its share of the admitted packets, 0 to 1.
    pub share: f64,
    /// Admitted rate of the flow, in the unit of the rates.
    pub admitted: f64,
    /// The part of its packets that is dropped: the part of time during which it is in memory.
    pub loss: f64,
}

impl BackChoke {
    /// Flows of `rates`, in one unit, each from 1e-12 to 1e12, and a memory of `k` flows.
    ///
    /// The calculation takes time and memory in proportion to the number of flows times `k`.
    ///
    /// # Errors
    /// When a rate is out of its range, when there are none or more than 1000, and when the memory holds all flows:
    /// then nothing would pass any more once each has been admitted.
    pub fn new(lambda: &[f64], k: usize) -> Result<Self, Error> {
        rates("rates", lambda)?;
        if k >= lambda.len() {
            let message = format!(
                "a memory of {k} with {} flows is too long: nothing passes once all flows are in it; give at most {}",
                lambda.len(),
                lambda.len() - 1
            );
            return Err(Error::new("memory", message));
        }
        let passing = passing(lambda, k);
        let admitted: Vec<f64> = lambda.iter().zip(&passing).map(|(rate, passes)| rate * passes).collect();
        let all: f64 = admitted.iter().sum();
        let flow = |index: usize| BackFlow {
            rate: lambda[index],
            share: admitted[index] / all,
            admitted: admitted[index],
            loss: 1.0 - passing[index],
        };
        Ok(Self { memory: k, admitted: all, flows: (0..lambda.len()).map(flow).collect() })
    }

    /// The number of flows in memory.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Admitted rate of all flows together. The queue is stable if and only if the server's rate is higher.
    #[must_use]
    pub fn admitted(&self) -> f64 {
        self.admitted
    }

    /// The flows, in the order in which their rates were given.
    #[must_use]
    pub fn flows(&self) -> &[BackFlow] {
        &self.flows
    }
}

/// For each flow the part of time during which it is not in memory, `e_k(-i) / e_k`.
///
/// The polynomials leave the range of floating point with many flows. So the memory is seen as independent trials
/// instead, of which flow i succeeds with `p_i = w lambda_i / (1 + w lambda_i)`, given that k succeed in all: that is
/// the same law for every w. With the w that makes k the mean number, the probabilities are those of likely events. All
/// terms are positive, so none of the digits are lost.
fn passing(lambda: &[f64], k: usize) -> Vec<f64> {
    if k == 0 {
        return vec![1.0; lambda.len()];
    }
    let odds = odds(lambda, k);
    let mut before = vec![vec![1.0]];
    for odd in &odds {
        let next = one_more(&before[before.len() - 1], *odd, k);
        before.push(next);
    }
    let mut passing = vec![0.0; lambda.len()];
    let mut after = vec![1.0];
    for index in (0..lambda.len()).rev() {
        let out = 1.0 / (1.0 + odds[index]);
        let of_others = |successes: usize| convolved(&before[index], &after, successes);
        let (outside, inside) = (out * of_others(k), (1.0 - out) * of_others(k - 1));
        passing[index] = outside / (outside + inside);
        after = one_more(&after, odds[index], k);
    }
    passing
}

/// `w lambda_i` for the w at which k trials succeed on average.
fn odds(lambda: &[f64], k: usize) -> Vec<f64> {
    let with = |log: f64| lambda.iter().map(|rate| rate * libm::exp(log)).collect::<Vec<f64>>();
    let mean = |log: f64| with(log).iter().map(|odd| odd / (1.0 + odd)).sum::<f64>();
    // Rates lie within 1e-12 and 1e12, and of at most 1000 flows: w is within e^100 of 1.
    with(increasing(mean, k as f64, -100.0, 100.0))
}

/// The probabilities of 0, 1, … k successes after one more trial.
fn one_more(law: &[f64], odd: f64, k: usize) -> Vec<f64> {
    let (fails, succeeds) = (1.0 / (1.0 + odd), odd / (1.0 + odd));
    let at = |successes: usize| law.get(successes).copied().unwrap_or(0.0);
    let term = |n: usize| fails * at(n) + if n > 0 { succeeds * at(n - 1) } else { 0.0 };
    (0..=k.min(law.len())).map(term).collect()
}

/// The probability of `successes` in two independent groups of trials together.
fn convolved(one: &[f64], other: &[f64], successes: usize) -> f64 {
    one.iter().enumerate().filter_map(|(n, part)| Some(part * other.get(successes.checked_sub(n)?)?)).sum()
}
