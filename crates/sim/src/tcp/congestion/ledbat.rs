//! LEDBAT (RFC 6817): a background transport that keeps the queueing delay at a target and yields to flows that queue
//! more.
//!
//! | parameter | value | RFC 6817, section 2.5 |
//! |---|---|---|
//! | TARGET | 100 ms, or the scenario's | at most 100 ms |
//! | GAIN | 1, or the scenario's | at most 1 |
//! | ALLOWED_INCREASE | 1 segment | should be 1 |
//! | MIN_CWND | 2 segments | should be 2 |
//! | BASE_HISTORY | 10 minutes | should be 10 |
//! | FILTER | the least of the last 4 delays | left to the sender |
//!
//! The one-way delay is that of the segment which caused the acknowledgement, by the receiver's clock: it sends it
//! back, as timestamps do. There is no slow start, which the RFC leaves to the sender. A scenario may have a larger
//! gain: RFC 7928, section 5.4, asks for 10.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Ledbat as Config;

use super::{AckSample, CongestionControl, CongestionEvent, LossState, WindowSize, reno};

const ALLOWED_INCREASE: f64 = 1.0;
const MIN_CWND: f64 = 2.0;
const BASE_HISTORY: usize = 10;
const FILTER: usize = 4;
const MINUTE_NS: u64 = 60_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct Ledbat {
    /// TARGET in nanoseconds.
    target: f64,
    gain: f64,
    /// The least delay of each of the last minutes in nanoseconds, the present one last.
    base: [u64; BASE_HISTORY],
    /// The minute of the last delay.
    minute: u64,
    /// The last delays in nanoseconds, the present one last.
    current: [u64; FILTER],
}

impl Ledbat {
    pub(super) fn new(config: Config) -> Self {
        Self {
            target: config.target.as_nanos().max(1) as f64,
            gain: config.gain,
            base: [u64::MAX; BASE_HISTORY],
            minute: 0,
            current: [u64::MAX; FILTER],
        }
    }

    /// Records a one-way delay.
    fn note(&mut self, now: Time, delay: Duration) {
        let minute = now.as_nanos() / MINUTE_NS;
        if minute != self.minute {
            self.minute = minute;
            self.base.rotate_left(1);
            self.base[BASE_HISTORY - 1] = u64::MAX;
        }
        let least = &mut self.base[BASE_HISTORY - 1];
        *least = (*least).min(delay.as_nanos());
        self.current.rotate_left(1);
        self.current[FILTER - 1] = delay.as_nanos();
    }

    /// Returns the queueing delay in nanoseconds: the filtered delay above the least one.
    fn queueing_delay(&self) -> f64 {
        let least = |delays: &[u64]| delays.iter().copied().min().unwrap_or(0);
        least(&self.current).saturating_sub(least(&self.base)) as f64
    }
}

impl CongestionControl for Ledbat {
    /// Nothing: each acknowledgement moves the window, up or down.
    fn grow(&mut self, _size: &mut WindowSize, _sample: &AckSample) {}

    /// Moves the window (section 2.4.2).
    fn on_ack(&mut self, size: &mut WindowSize, sample: &AckSample, loss_state: LossState) {
        let Some(delay) = sample.delay else { return };
        self.note(sample.now, delay);
        if loss_state.recovering || sample.marked || sample.acked == 0 {
            return;
        }
        let acked = f64::from(sample.acked);
        let flight = f64::from(sample.max.saturating_sub(sample.una)) + acked;
        let off_target = (self.target - self.queueing_delay()) / self.target;
        let grown = size.cwnd + self.gain * off_target * acked / size.cwnd;
        size.cwnd = grown.min(flight + ALLOWED_INCREASE).max(MIN_CWND);
    }

    fn on_congestion(&mut self, _size: &WindowSize, event: &CongestionEvent) -> f64 {
        reno::decrease(event.segments)
    }

    fn has_own_slow_start(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALM: LossState = LossState { in_flight: 0, recovering: false };

    fn ledbat() -> Ledbat {
        Ledbat::new(Config { target: Duration::from_millis(100), gain: 1.0 })
    }

    /// An acknowledgement of `acked` segments with 20 outstanding before it.
    fn ack(second: u64, acked: u32, delay_ms: u64) -> AckSample {
        AckSample {
            now: Time::from_nanos(second * 1_000_000_000),
            una: 100,
            max: 120 - acked,
            acked,
            byte_counting: true,
            rtt: Duration::from_millis(200),
            delay: Some(Duration::from_millis(delay_ms)),
            ..AckSample::default()
        }
    }

    /// By hand, at a window of 10 segments, a target of 100 ms and a base of 50 ms. The filter takes the least of four,
    /// so a delay of 150 ms counts from the fourth on: 100 ms queued leave the window as it is, 200 ms shrink it by as
    /// much as none grows it.
    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        let mut ledbat = ledbat();
        let mut size = WindowSize { cwnd: 10.0, ssthresh: 1e6 };
        ledbat.on_ack(&mut size, &ack(1, 1, 50), CALM);
        assert!((size.cwnd - 10.1).abs() < 1e-12, "{size:?}");
        ledbat.on_ack(&mut size, &ack(1, 2, 150), CALM);
        assert!((size.cwnd - (10.1 + 2.0 / 10.1)).abs() < 1e-12, "{size:?}");
        for _ in 0..2 {
            ledbat.on_ack(&mut size, &ack(1, 1, 150), CALM);
        }
        size.cwnd = 10.0;
        ledbat.on_ack(&mut size, &ack(1, 1, 150), CALM);
        assert!((size.cwnd - 10.0).abs() < 1e-12, "{size:?}");
        for _ in 0..3 {
            ledbat.on_ack(&mut size, &ack(1, 1, 250), CALM);
        }
        assert!((size.cwnd - 10.0).abs() < 1e-12, "the filter still has 150 ms: {size:?}");
        ledbat.on_ack(&mut size, &ack(1, 1, 250), CALM);
        assert!((size.cwnd - 9.9).abs() < 1e-12, "{size:?}");
    }

    /// Would catch a window beyond the outstanding segments and one more, one below two, and one that moves in recovery
    /// or by a duplicate.
    #[test]
    fn the_window_is_bounded() {
        let mut steep = Ledbat::new(Config { target: Duration::from_millis(5), gain: 10.0 });
        let mut size = WindowSize { cwnd: 20.9, ssthresh: 1e6 };
        steep.on_ack(&mut size, &ack(1, 10, 50), CALM);
        assert_eq!(size.cwnd, 21.0);
        let recovering = LossState { recovering: true, ..CALM };
        for _ in 0..4 {
            steep.on_ack(&mut size, &ack(1, 1, 90), recovering);
            steep.on_ack(&mut size, &ack(1, 0, 90), CALM);
        }
        assert_eq!(size.cwnd, 21.0);
        // 40 ms queued are seven targets too many: 10 × 7 × 3 / 21 segments less, and then more than there are.
        steep.on_ack(&mut size, &ack(1, 3, 90), CALM);
        assert_eq!(size.cwnd, 11.0);
        steep.on_ack(&mut size, &ack(1, 3, 90), CALM);
        assert_eq!(size.cwnd, 2.0);
    }

    /// Would catch a base that never forgets: a route that is 30 ms longer is taken for a queue until the last of ten
    /// minutes with the shorter one is gone.
    #[test]
    fn the_base_forgets_after_ten_minutes() {
        let mut ledbat = ledbat();
        let mut size = WindowSize { cwnd: 10.0, ssthresh: 1e6 };
        ledbat.on_ack(&mut size, &ack(30, 1, 50), CALM);
        for minute in 1..=9 {
            for _ in 0..FILTER {
                ledbat.on_ack(&mut size, &ack(30 + 60 * minute, 1, 80), CALM);
            }
        }
        assert_eq!(ledbat.queueing_delay(), 30e6);
        ledbat.on_ack(&mut size, &ack(630, 1, 80), CALM);
        assert_eq!(ledbat.queueing_delay(), 0.0);
    }
}
