//! Pacing: segments are sent one by one, evenly spaced over the round trip, instead of in bursts.
//!
//! The rate is that of the algorithm (BBR, Prague), or the window divided by the smoothed round-trip time, times 2 in
//! slow start, where the window doubles per round trip, and times 1.25 otherwise (RFC 9002, section 7.7), so that a
//! varying round-trip time leaves no gap. Nothing is held back before the first round-trip time is
//! known. Retransmissions by loss recovery or the timer are not delayed, but the segments after them are.
//!
//! With bursts the sender releases several segments at once and then waits as long as they take at this rate, as Linux
//! does with segmentation offload: a burst has the segments of 2^-10 s, at least two, and at most as many as is set.
//! Segments that the window or the application holds back at that moment are not added to a later burst.

use fairlane_qdisc::{Duration, Time};

use super::{AckSample, WindowSize};

#[derive(Clone, Debug, Default)]
pub(super) struct Pacer {
    /// The time at which the next segment may be sent.
    next: Time,
    /// The time from one segment to the next.
    gap: Duration,
    /// The time until which a segment is held back; `None` if none is.
    release: Option<Time>,
    /// The smoothed round-trip time in seconds, with the weights of RFC 6298; 0 before the first sample.
    srtt: f64,
    /// `None`: segments leave one by one.
    bursts: Option<Box<Bursts>>,
}

/// Bursts of segmentation offload.
#[derive(Clone, Debug)]
struct Bursts {
    /// The largest burst in segments.
    most: u32,
    /// The segments left of the burst that began at `began`.
    left: u32,
    began: Time,
}

impl Bursts {
    /// Returns true if a segment belongs to the burst of this moment.
    fn goes_on(&self, now: Time) -> bool {
        self.left > 0 && self.began == now
    }

    /// Counts a segment, the first of a new burst if the last one is over. Segments leave `gap` apart in the mean.
    fn on_send(&mut self, now: Time, gap: Duration) {
        if self.goes_on(now) {
            self.left -= 1;
            return;
        }
        let segments = BURST_NANOS.checked_div(gap.as_nanos()).unwrap_or(u64::from(self.most));
        let burst = u32::try_from(segments).unwrap_or(u32::MAX).clamp(2, self.most);
        (self.left, self.began) = (burst - 1, now);
    }
}

/// The time whose segments make a burst: 2^-10 s (`sk_pacing_shift` of Linux).
const BURST_NANOS: u64 = 1_000_000_000 >> 10;

impl Pacer {
    /// Returns a pacer that releases at most `burst` segments at once.
    pub(super) fn new(burst: u32) -> Self {
        let bursts = (burst > 1).then(|| Box::new(Bursts { most: burst, left: 0, began: Time::ZERO }));
        Self { bursts, ..Self::default() }
    }

    /// Sets the rate in segments per second.
    pub(super) fn set_rate(&mut self, rate: f64) {
        self.gap = Duration::from_secs(1.0 / rate);
    }

    /// Sets the rate from the window and the round-trip time.
    pub(super) fn follow(&mut self, size: WindowSize, sample: &AckSample) {
        if sample.acked > 0 {
            let rtt = sample.rtt.as_secs();
            self.srtt = if self.srtt == 0.0 { rtt } else { self.srtt + (rtt - self.srtt) / 8.0 };
        }
        if self.srtt > 0.0 {
            let gain = if size.in_slow_start() { 2.0 } else { 1.25 };
            self.set_rate(gain * size.cwnd / self.srtt);
        }
    }

    pub(super) fn on_send(&mut self, now: Time) {
        self.next = self.next.max(now) + self.gap;
        if let Some(bursts) = &mut self.bursts {
            bursts.on_send(now, self.gap);
        }
    }

    pub(super) fn holds_back(&mut self, now: Time) -> bool {
        let holds = now < self.next && !self.bursts.as_ref().is_some_and(|bursts| bursts.goes_on(now));
        if holds {
            self.release = Some(self.next);
        }
        holds
    }

    pub(super) fn release(&self) -> Option<Time> {
        self.release
    }

    pub(super) fn forget_release(&mut self) {
        self.release = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the times in µs at which `count` segments leave at `rate` segments a second.
    fn times(burst: u32, rate: f64, count: usize) -> Vec<u64> {
        let (mut pacer, mut now, mut times) = (Pacer::new(burst), Time::ZERO, Vec::new());
        pacer.set_rate(rate);
        while times.len() < count {
            if pacer.holds_back(now) {
                now = pacer.release().expect("a held segment has a time");
                pacer.forget_release();
                continue;
            }
            pacer.on_send(now);
            times.push(now.as_nanos() / 1000);
        }
        times
    }

    /// By hand: at 10,000 segments a second 2^-10 s has 9.77 segments, so a burst has 9, or what is set if that is
    /// less, and the next one comes 100 µs later for each. At 1000 a second it has two, each 2 ms. Would catch bursts
    /// that change the mean rate.
    #[test]
    fn a_burst_has_the_segments_of_a_millisecond() {
        assert_eq!(times(1, 10_000.0, 4), [0, 100, 200, 300]);
        assert_eq!(times(43, 10_000.0, 19), [vec![0; 9], vec![900; 9], vec![1800]].concat());
        assert_eq!(times(4, 10_000.0, 9), [vec![0; 4], vec![400; 4], vec![800]].concat());
        assert_eq!(times(43, 1_000.0, 5), [0, 0, 2_000, 2_000, 4_000]);
    }

    /// Would catch a burst that goes on later: two of nine segments leave at 0, and 150 µs later the sender is behind
    /// its rate by nothing.
    #[test]
    fn the_rest_of_a_burst_is_not_made_up_for() {
        let mut pacer = Pacer::new(43);
        pacer.set_rate(10_000.0);
        for _ in 0..2 {
            assert!(!pacer.holds_back(Time::ZERO));
            pacer.on_send(Time::ZERO);
        }
        assert!(pacer.holds_back(Time::from_nanos(150_000)));
        assert_eq!(pacer.release(), Some(Time::from_nanos(200_000)));
        assert!(!pacer.holds_back(Time::from_nanos(200_000)));
    }
}
