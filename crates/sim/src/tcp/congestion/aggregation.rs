//! The aggregation of acknowledgements, which arrive in bunches (draft-ietf-ccwg-bbr, section 5.5.9).

use fairlane_qdisc::Time;

use super::recent_max::RecentMax;

/// BBR.ExtraAckedFilterLen, in rounds.
const AGGREGATION_ROUNDS: u32 = 10;

/// The segments acknowledged beyond what the bandwidth explains (section 5.5.9).
#[derive(Clone, Debug, Default)]
pub(super) struct Aggregation {
    since: Time,
    acked: f64,
    extra: RecentMax,
}

impl Aggregation {
    /// Begins an interval at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.since = now;
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
