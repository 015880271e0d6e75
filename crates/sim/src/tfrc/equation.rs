//! The throughput equation (RFC 5348, section 3.1), by Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998), with b = 1
//! and t_RTO = 4R.

/// Returns the rate in bytes per second that TCP would have with packets of `bytes` bytes, a round-trip time of `rtt`
/// seconds and a loss event rate of `loss`; infinite without losses.
#[must_use]
pub fn throughput(bytes: f64, rtt: f64, loss: f64) -> f64 {
    bytes / (rtt * cost(loss))
}

/// Returns the loss event rate, at most 1, at which [`throughput`] is `rate` bytes per second.
#[must_use]
pub fn loss_event_rate(bytes: f64, rtt: f64, rate: f64) -> f64 {
    if rate <= throughput(bytes, rtt, 1.0) {
        return 1.0;
    }
    let wanted = bytes / (rtt * rate);
    // The cost increases with the loss event rate, so bisection finds it.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if cost(middle) < wanted {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the number of round trips per packet.
fn cost(p: f64) -> f64 {
    libm::sqrt(2.0 * p / 3.0) + 4.0 * 3.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p)
}
