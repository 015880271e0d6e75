//! Throughput of TCP at a given loss rate.

use crate::check::{Error, below_one, positive, probability};

/// The square root law: `sqrt(3 / (2p)) / R` packets per second for a round trip of `rtt` seconds and a loss of `loss`,
/// above 0 and at most 1.
///
/// Mathis, Semke, Mahdavi and Ott 1997, equation 3, for Reno with an acknowledgement a packet and losses at even
/// intervals. It leaves timeouts out, so it holds up to a loss of some 1 %.
///
/// # Errors
/// When the round trip or the loss is out of its range.
pub fn square_root_law(rtt: f64, loss: f64) -> Result<f64, Error> {
    positive("rtt", rtt)?;
    Ok(libm::sqrt(3.0 / (2.0 * some_loss(loss)?)) / rtt)
}

/// A path as TCP sees it, for the equations with timeouts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpPath {
    rtt: f64,
    timeout: f64,
    delayed: f64,
}

impl TcpPath {
    /// A round trip and a retransmission timeout in seconds, each from 1e-12 to 1e12, and the packets that an
    /// acknowledgement covers, `b`: 1, or 2 with delayed acknowledgements.
    ///
    /// # Errors
    /// When one of them is out of its range.
    pub fn new(rtt: f64, timeout: f64, packets_an_ack: f64) -> Result<Self, Error> {
        Ok(Self {
            rtt: positive("rtt", rtt)?,
            timeout: positive("timeout", timeout)?,
            delayed: positive("acked", packets_an_ack)?,
        })
    }

    /// A path as TFRC takes it by default: `b = 1` and a timeout of four round trips (RFC 5348, section 3.1).
    ///
    /// # Errors
    /// When the round trip is out of its range.
    pub fn tfrc(rtt: f64) -> Result<Self, Error> {
        Self::new(rtt, 4.0 * positive("rtt", rtt)?, 1.0)
    }

    /// The square root law in packets per second at a loss above 0 and at most 1: `sqrt(3 / (2bp)) / R`, see
    /// [`square_root_law`].
    ///
    /// # Errors
    /// When the loss is out of its range.
    pub fn square_root(&self, loss: f64) -> Result<f64, Error> {
        Ok(square_root_law(self.rtt, loss)? / libm::sqrt(self.delayed))
    }

    /// Reno's rate in packets per second at a loss above 0 and below 1, limited by a window of `window` packets: the
    /// full model of Padhye, Firoiu, Towsley and Kurose 1998, section 2.3, of which [`reno`](Self::reno) is the
    /// approximation.
    ///
    /// The loss is the probability that a packet is lost if none before it in its round is; the packets after a loss
    /// are lost to the end of the round. A loss is a timeout with the probability `Q(w)` at the mean window `w`, the
    /// largest of a period without losses, or `window` if that is less. A period has `(1 - p) / p + w` packets and
    /// takes `bw/2 + 1` round trips, or `bW/8 + (1 - p) / (pW) + 2` at the largest window W. A sequence of timeouts
    /// sends `1 / (1 - p)` packets and takes `T0 (1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6) / (1 - p)`.
    ///
    /// # Errors
    /// When the loss or the window is out of its range.
    pub fn reno_in_full(&self, loss: f64, window: f64) -> Result<f64, Error> {
        below_one("loss", loss)?;
        let (p, largest, b) = (some_loss(loss)?, positive("window", window)?, self.delayed);
        let kept = 1.0 - p;
        let constant = (2.0 + b) / (3.0 * b);
        let unlimited = constant + libm::sqrt(8.0 * kept / (3.0 * b * p) + constant * constant);
        // Both sums times the loss, since a quotient by the smallest losses is infinite.
        let (mean, rounds) = if unlimited < largest {
            (unlimited, p * (b / 2.0 * unlimited + 1.0))
        } else {
            (largest, p * (b / 8.0 * largest + 2.0) + kept / largest)
        };
        let timeout = p * timeout_probability(p, mean);
        // Horner's form of 1 + p + 2p^2 + 4p^3 + 8p^4 + 16p^5 + 32p^6: the timeout doubles six times.
        let doublings = 1.0 + (0..5).fold(p, |sum, _| p * (1.0 + 2.0 * sum));
        let packets = kept + p * mean + timeout / kept;
        let seconds = self.rtt * rounds + timeout * self.timeout * doublings / kept;
        Ok(packets / seconds)
    }

    /// Reno's rate in packets per second at a loss above 0 and below 1, limited by a window of `window` packets.
    ///
    /// Padhye, Firoiu, Towsley and Kurose 1998, equation 30, the approximate model:
    /// `min(W / R, 1 / (R sqrt(2bp/3) + T0 min(1, 3 sqrt(3bp/8)) p (1 + 32 p^2)))`.
    ///
    /// # Errors
    /// When the loss or the window is out of its range.
    pub fn reno(&self, loss: f64, window: f64) -> Result<f64, Error> {
        below_one("loss", loss)?;
        let cost = self.cost(some_loss(loss)?, 1.0);
        Ok((positive("window", window)? / self.rtt).min(1.0 / cost))
    }

    /// TFRC's equation in packets per second at a loss event rate above 0 and at most 1.
    ///
    /// RFC 5348, section 3.1: as for Reno, but the probability that a loss is a timeout, `3 sqrt(3bp/8)`, is not cut at
    /// 1 and no window limits it. Times the size of a packet it is the RFC's rate in bytes per second.
    ///
    /// # Errors
    /// When the loss event rate is out of its range.
    pub fn equation(&self, loss: f64) -> Result<f64, Error> {
        Ok(1.0 / self.cost(some_loss(loss)?, f64::INFINITY))
    }

    /// Seconds a packet; a loss is a timeout with at most the probability `most`.
    fn cost(&self, loss: f64, most: f64) -> f64 {
        let halvings = self.rtt * libm::sqrt(2.0 * self.delayed * loss / 3.0);
        let timeouts = (3.0 * libm::sqrt(3.0 * self.delayed * loss / 8.0)).min(most);
        halvings + self.timeout * timeouts * loss * (1.0 + 32.0 * loss * loss)
    }
}

/// Returns the probability that a loss at a window of `window` packets is a timeout, since fewer than three duplicate
/// acknowledgements follow (Padhye and others 1998, section 2.2).
fn timeout_probability(loss: f64, window: f64) -> f64 {
    if window <= 3.0 {
        return 1.0;
    }
    // The probability that one of `packets` is lost, to the last digit for the smallest losses too.
    let some_lost = |packets: f64| -libm::expm1(packets * libm::log1p(-loss));
    let both = some_lost(3.0) * (1.0 + (1.0 - some_lost(3.0)) * some_lost(window - 3.0));
    (both / some_lost(window)).min(1.0)
}

/// A loss above 0.
fn some_loss(loss: f64) -> Result<f64, Error> {
    if loss == 0.0 {
        return Err(Error::new("loss", "without losses no law limits the rate; give a probability above 0"));
    }
    probability("loss", loss)
}
