//! The aggregation of acknowledgements, which arrive in bunches (draft-ietf-ccwg-bbr, section 5.5.9).
//!
//! Deviation: a pause resets the count of segments and the time, as in Linux; in the draft only the time.

use fairlane_qdisc::Time;

use super::recent_max::RecentMax;

/// BBR.ExtraAckedFilterLen, in rounds.
const AGGREGATION_ROUNDS: u32 = 10;

/// The segments acknowledged in excess of the bandwidth.
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: f64,
    extra: RecentMax,
}

impl Aggregation {
    /// Begins an interval at `now`, without the segments acknowledged before.
    pub(super) fn restart(&mut self, now: Time) {
        (self.since, self.acked) = (now, 0.0);
    }

    pub(super) fn update(&mut self, now: Time, newly: f64, bandwidth: f64, cwnd: f64, round: u32, filled: bool) {
        let mut expected = bandwidth * now.since(self.since).as_secs();
        if self.acked <= expected {
            (self.acked, self.since, expected) = (0.0, now, 0.0);
        }
        self.acked += newly;
        let length = if filled { AGGREGATION_ROUNDS } else { 1 };
        self.extra.update(round, length, (self.acked - expected).min(cwnd));
    }

    /// Returns BBR.extra_acked.
    pub(super) fn extra(&self) -> f64 {
        self.extra.get()
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::*;

    /// At 100 segments per second, 11 at once and 10 in each of the next two 100 ms are 31, 11 more than the 20
    /// expected. After a pause, ten rounds later, 2 are 2 more. Would catch segments from before the pause that count
    /// without their time: 33.
    #[test]
    fn a_pause_begins_an_interval() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let mut aggregation = Aggregation::default();
        for (millis, newly) in [(0, 11.0), (100, 10.0), (200, 10.0)] {
            aggregation.update(at(millis), newly, 100.0, 50.0, 0, true);
        }
        assert_eq!(aggregation.extra(), 11.0);
        aggregation.restart(at(900));
        aggregation.update(at(900), 2.0, 100.0, 50.0, 10, true);
        assert_eq!(aggregation.extra(), 2.0);
    }
}
