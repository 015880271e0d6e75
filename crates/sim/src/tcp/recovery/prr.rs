//! Proportional rate reduction (RFC 9937): what may be sent on each acknowledgement during fast recovery, so that the
//! flight reaches the slow start threshold at its end, with neither a burst nor a silence.

/// The state of one recovery, in segments.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS: the flight at the start.
    flight: u32,
    /// prr_delivered: the segments delivered since.
    delivered: u64,
    /// prr_out: the segments sent since.
    out: u64,
}

/// An acknowledgement during recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The segments that it delivers: those acknowledged for the first time, selectively or not.
    pub(super) delivered: u32,
    /// The segments in the network after it.
    pub(super) in_flight: u32,
    /// True if the acknowledgement covers the first outstanding segment and indicates no other loss (SafeACK).
    pub(super) safe: bool,
}

impl Prr {
    /// Begins a recovery with `flight` segments outstanding before the acknowledgement that starts it.
    pub(super) fn begin(flight: u32) -> Self {
        Self { flight: flight.max(1), delivered: 0, out: 0 }
    }

    /// Counts a segment sent during recovery.
    pub(super) fn sent(&mut self) {
        self.out += 1;
    }

    /// Returns the number of segments that may be sent now; `threshold` is the slow start threshold.
    pub(super) fn budget(&mut self, progress: Progress, threshold: f64) -> u32 {
        let threshold = threshold.max(1.0) as u64;
        self.delivered += u64::from(progress.delivered);
        let in_flight = u64::from(progress.in_flight);
        let budget = if in_flight > threshold {
            (self.delivered * threshold).div_ceil(u64::from(self.flight)).saturating_sub(self.out)
        } else {
            let owed = self.delivered.saturating_sub(self.out).max(u64::from(progress.delivered));
            (owed + u64::from(progress.safe)).min(threshold - in_flight)
        };
        // The first retransmission is never held back.
        let least = u64::from(self.out == 0);
        u32::try_from(budget.max(least)).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends all that is allowed on each acknowledgement, of one segment, and returns how many that was.
    fn sends(prr: &mut Prr, threshold: f64, mut in_flight: u32, acks: usize) -> Vec<u32> {
        let each = |_| {
            in_flight -= 1;
            let budget = prr.budget(Progress { delivered: 1, in_flight, safe: false }, threshold);
            (0..budget).for_each(|_| prr.sent());
            in_flight += budget;
            budget
        };
        (0..acks).map(each).collect()
    }

    /// RFC 9937, section 6, without other losses: with a flight of 20 and a threshold of 10, a segment leaves on every
    /// second acknowledgement from the first on. Would catch a rate that is not proportional, and a burst.
    #[test]
    fn sends_one_segment_for_two_that_arrive() {
        let sent = sends(&mut Prr::begin(20), 10.0, 20, 18);
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]);
    }

    /// CUBIC's reduction to 0.7 of 20: seven for ten. Would catch a sum that is rounded down.
    #[test]
    fn sends_seven_segments_for_ten() {
        let sent = sends(&mut Prr::begin(20), 14.0, 20, 10);
        assert_eq!(sent.iter().sum::<u32>(), 7);
        // ceil(0.7 n) - ceil(0.7 (n - 1))
        assert_eq!(sent, [1, 1, 1, 0, 1, 1, 0, 1, 1, 0]);
    }

    /// After a loss of half the flight and more, the flight is below the threshold: as much is sent as arrives, and
    /// with acknowledgements that show progress one segment more, up to the threshold. Would catch a flight that stays
    /// low.
    #[test]
    fn returns_to_the_threshold_after_many_losses() {
        let mut prr = Prr::begin(20);
        assert_eq!(prr.budget(Progress { delivered: 1, in_flight: 4, safe: false }, 10.0), 1);
        prr.sent();
        assert_eq!(prr.budget(Progress { delivered: 1, in_flight: 4, safe: true }, 10.0), 2);
        prr.sent();
        prr.sent();
        // Three delivered before and five now, three sent: five are owed, and the threshold leaves room for two.
        assert_eq!(prr.budget(Progress { delivered: 5, in_flight: 8, safe: true }, 10.0), 2);
    }

    /// Would catch a recovery that a timer began and that waits for an acknowledgement before its first retransmission.
    #[test]
    fn the_first_retransmission_is_never_held_back() {
        let mut prr = Prr::begin(20);
        assert_eq!(prr.budget(Progress { delivered: 0, in_flight: 19, safe: false }, 10.0), 1);
        prr.sent();
        assert_eq!(prr.budget(Progress { delivered: 0, in_flight: 19, safe: false }, 10.0), 0);
    }
}
