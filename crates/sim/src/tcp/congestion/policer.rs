//! The rate of a policer, which drops the packets beyond it (long-term bandwidth sampling of BBR in Linux).
//!
//! A policer lets a burst pass, so the largest delivery rate is above its rate for long, and the sender would lose a
//! large part of its segments. Two intervals in a row of 4 to 16 rounds, each with losses of a fifth and from a loss to
//! a loss, that have the same rate show a policer. Its rate then replaces the bandwidth for 48 rounds.

use fairlane_qdisc::Time;

use super::delivery::RateSample;

/// The fewest rounds of an interval.
const LEAST_ROUNDS: u8 = 4;
/// The most rounds of an interval.
const MOST_ROUNDS: u8 = 16;
/// Losses as a part of the delivered segments, from which on an interval counts.
const LOSSES: f64 = 50.0 / 256.0;
/// Rates that differ by this part are the same.
const TOLERANCE: f64 = 1.0 / 8.0;
/// Rates in segments per second that differ by this are the same: 4 kbit/s in segments of 1500 bytes.
const ABSOLUTE_TOLERANCE: f64 = 1.0 / 3.0;
/// The rounds in which the rate is used.
const ROUNDS_OF_USE: u8 = 48;

/// The search for a policer.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    /// The interval that is measured; `None` before a loss.
    interval: Option<Interval>,
    /// The rate of the interval before, in segments per second; 0 without one.
    last: f64,
    /// The number of rounds in which the rate has been used; `None` if it is not used.
    used: Option<u8>,
}

/// The segments delivered and lost, and the rounds, since a loss.
#[derive(Clone, Debug)]
struct Interval {
    began: Time,
    delivered: u32,
    lost: u32,
    rounds: u8,
}

impl Policer {
    /// Returns the rate of the policer in segments per second; `None` without one.
    pub(super) fn rate(&self) -> Option<f64> {
        self.used.map(|_| self.last)
    }

    /// Counts a round in which the rate is used. Returns true after the last one: the search begins again.
    pub(super) fn expires(&mut self) -> bool {
        let Some(rounds) = &mut self.used else { return false };
        *rounds += 1;
        let expired = *rounds >= ROUNDS_OF_USE;
        if expired {
            *self = Self::default();
        }
        expired
    }

    /// Continues the search with the sample of an acknowledgement.
    pub(super) fn update(&mut self, now: Time, sample: &RateSample, round_start: bool) {
        if self.used.is_some() {
            return;
        }
        let losing = sample.newly_lost > 0;
        match &mut self.interval {
            Some(interval) => {
                interval.delivered += sample.newly;
                interval.lost += sample.newly_lost;
                interval.rounds += u8::from(round_start);
            }
            None if losing => self.interval = Some(Interval { rounds: u8::from(round_start), ..Interval::begin(now) }),
            None => return,
        }
        let Some(interval) = &self.interval else { return };
        if sample.flight.limited || interval.rounds > MOST_ROUNDS {
            *self = Self::default();
        } else if losing
            && interval.rounds >= LEAST_ROUNDS
            && let Some(rate) = interval.rate(now)
        {
            self.compare(now, rate);
        }
    }

    /// Ends an interval with `rate`.
    fn compare(&mut self, now: Time, rate: f64) {
        let difference = (rate - self.last).abs();
        if self.last > 0.0 && difference <= (TOLERANCE * self.last).max(ABSOLUTE_TOLERANCE) {
            *self = Self { interval: None, last: (rate + self.last) / 2.0, used: Some(0) };
        } else {
            (self.interval, self.last) = (Some(Interval::begin(now)), rate);
        }
    }
}

impl Interval {
    fn begin(now: Time) -> Self {
        Self { began: now, delivered: 0, lost: 0, rounds: 0 }
    }

    /// Returns the delivery rate in segments per second; `None` if the losses are few.
    fn rate(&self, now: Time) -> Option<f64> {
        let (delivered, seconds) = (f64::from(self.delivered), now.since(self.began).as_secs());
        let lossy = f64::from(self.lost) >= LOSSES * delivered;
        (lossy && delivered > 0.0 && seconds > 0.0).then(|| delivered / seconds)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Duration;

    use super::super::delivery::FlightSample;
    use super::*;

    fn at(round: u32) -> Time {
        Time::ZERO + Duration::from_millis(100 * u64::from(round))
    }

    /// Returns the sample of a round of 100 ms that delivers 10 segments and loses `newly_lost`.
    fn losing(newly_lost: u32) -> RateSample {
        RateSample {
            newly: 10,
            newly_lost,
            prior_delivered: 0,
            delivered: 10,
            flight: FlightSample::default(),
            rate: Some(100.0),
            interval: Duration::from_millis(100),
            rtt: None,
        }
    }

    /// Returns the first round at whose start a policer is known, and its rate.
    fn first(newly_lost: u32) -> Option<(u32, f64)> {
        let mut policer = Policer::default();
        (0..40).find_map(|round| {
            policer.update(at(round), &losing(newly_lost), true);
            policer.rate().map(|rate| (round, rate.round()))
        })
    }

    /// The first interval begins with the loss in round 0, whose start counts, and ends in round 3; the second one ends
    /// in round 7. Both have 10 segments in each 100 ms. With 2 losses for 10 segments the part is 0.2, more than
    /// 50/256 = 0.195, and with 1 it is less.
    #[test]
    fn two_lossy_intervals_show_a_policer() {
        assert_eq!(first(2), Some((7, 100.0)));
        assert_eq!(first(1), None);
    }

    /// 100 and 112 segments per second differ by less than an eighth, and the mean is 106; 100 and 113 differ by more.
    /// Would catch a comparison with the wrong rate.
    #[test]
    fn rates_within_an_eighth_are_the_same() {
        let compare = |rate| {
            let mut policer = Policer { last: 100.0, ..Policer::default() };
            policer.compare(at(1), rate);
            policer.rate()
        };
        assert_eq!(compare(112.0), Some(106.0));
        assert_eq!(compare(113.0), None);
    }

    /// Would catch a rate that is used for too long or too short, and a search that continues with old rates.
    #[test]
    fn is_used_for_48_rounds() {
        let mut policer = Policer { last: 100.0, used: Some(0), ..Policer::default() };
        assert!((1..48).all(|_| !policer.expires()));
        assert_eq!(policer.rate(), Some(100.0));
        assert!(policer.expires());
        assert_eq!((policer.rate(), policer.last), (None, 0.0));
    }

    /// Would catch a search over samples that the application limits, and an interval of more than 16 rounds.
    #[test]
    fn begins_again_after_a_pause_or_long_without_losses() {
        let mut policer = Policer::default();
        policer.update(at(0), &losing(2), true);
        let mut paused = policer.clone();
        let limited = FlightSample { limited: true, ..FlightSample::default() };
        paused.update(at(1), &RateSample { flight: limited, ..losing(2) }, true);
        assert!(paused.interval.is_none());
        for round in 1..16 {
            policer.update(at(round), &losing(0), true);
            assert!(policer.interval.is_some(), "{round}");
        }
        policer.update(at(16), &losing(0), true);
        assert!(policer.interval.is_none());
    }
}
