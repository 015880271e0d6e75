//! The parameters of a bottleneck, and their checks.

use alloc::format;
use alloc::string::ToString;

use fairlane_qdisc::{Duration, ParameterError, Rate};

/// The parameters of a [`Bottleneck`](crate::Bottleneck) behind its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// The rate at which the link transmits, above zero.
    pub rate: Rate,
    /// The propagation delay: the time from the end of a transmission to the arrival. Default: 0.
    pub delay: Duration,
    /// Each packet's delay is drawn uniformly from `delay` ± this; at most `delay`. Default: 0.
    pub jitter: Duration,
    /// With jitter, packets may overtake each other; otherwise one that would waits for the one before it. Default:
    /// false.
    pub reorder: bool,
    /// Packet loss during transmission. Default: `None`, no losses.
    pub loss: Option<Loss>,
}

impl Config {
    /// Returns the default parameters at `rate`.
    #[must_use]
    pub const fn new(rate: Rate) -> Self {
        Self { rate, delay: Duration::ZERO, jitter: Duration::ZERO, reorder: false, loss: None }
    }

    /// Checks the parameters.
    pub(crate) fn check(&self) -> Result<(), ParameterError> {
        if self.rate.bits_per_second() == 0 {
            return Err(ParameterError::new("rate", "it must be greater than zero".to_string()));
        }
        if self.jitter > self.delay {
            let Self { jitter, delay, .. } = self;
            let message = format!("{jitter} is more than the delay of {delay}: packets would arrive before they went");
            return Err(ParameterError::new("jitter", message));
        }
        self.loss.map_or(Ok(()), |loss| loss.check())
    }
}

/// Random loss with two states, good and bad (Gilbert 1960, Elliott 1963), as `gemodel` of tc-netem(8). Each packet is
/// lost with the probability of the present state; then the state may change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// The probability to go from good to bad: tc's `p`.
    pub to_bad: f64,
    /// The probability to go from bad to good: tc's `r`.
    pub to_good: f64,
    /// The probability of a loss in the bad state: tc's `1-h`.
    pub in_bad: f64,
    /// The probability of a loss in the good state: tc's `1-k`.
    pub in_good: f64,
}

impl Loss {
    /// Loses each packet with `probability`, independently of the others.
    #[must_use]
    pub const fn independent(probability: f64) -> Self {
        Self { to_bad: 0.0, to_good: 1.0, in_bad: probability, in_good: probability }
    }

    fn check(&self) -> Result<(), ParameterError> {
        for probability in [self.to_bad, self.to_good, self.in_bad, self.in_good] {
            if !(0.0..=1.0).contains(&probability) {
                let message = format!("{probability} is not a probability, which is a number from 0 to 1");
                return Err(ParameterError::new("loss", message));
            }
        }
        Ok(())
    }
}
