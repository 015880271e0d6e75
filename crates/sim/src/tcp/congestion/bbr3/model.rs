//! BBR's model of its path, without losses: rounds, a full pipe, the round-trip time.

use fairlane_qdisc::{Duration, Time};

use super::super::delivery::RateSample;
use super::Delivery;

/// BBR.MinRTTFilterLen.
const ROUND_TRIP_AGE: Duration = Duration::from_millis(10_000);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Duration = Duration::from_millis(5_000);
/// BBR.ProbeRTTDuration.
const PROBE_RTT: Duration = Duration::from_millis(200);

/// The count of round trips (section 5.5.1), and whether the window limits them.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// BBR.round_count.
    pub(super) count: u32,
    /// The current acknowledgement begins a round.
    pub(super) starts: bool,
    /// The number of delivered segments that ends the round.
    end: u32,
    /// The flight has filled the window in this round, and in the one before.
    limited: [bool; 2],
}

impl Rounds {
    /// Begins a round, with `delivered` segments delivered so far.
    pub(super) fn start(&mut self, delivered: u32) {
        self.end = delivered;
    }

    /// Returns true if an acknowledgement ends the round.
    pub(super) fn update(&mut self, sample: &RateSample, delivered: u32) -> bool {
        self.starts = sample.prior_delivered >= self.end;
        if self.starts {
            self.start(delivered);
            self.count += 1;
            self.limited = [false, self.limited[0]];
        }
        self.starts
    }

    pub(super) fn note_flight(&mut self, in_flight: u32, cwnd: f64) {
        self.limited[0] |= f64::from(in_flight) >= cwnd.floor();
    }

    /// Returns true if the flight has filled the window within a round trip (C.is_cwnd_limited).
    pub(super) fn is_limited(&self) -> bool {
        self.limited[0] || self.limited[1]
    }
}

/// The search for a rate that stops growing (section 5.3.1.2).
#[derive(Clone, Debug, Default)]
pub(super) struct FullPipe {
    /// The pipe has been full (BBR.full_bw_reached).
    pub(super) reached: bool,
    /// The pipe is full by the current search (BBR.full_bw_now).
    pub(super) now: bool,
    rate: f64,
    rounds: u8,
}

impl FullPipe {
    /// Begins a search from `rate`.
    pub(super) fn restart(&mut self, rate: f64) {
        (self.rate, self.rounds, self.now) = (rate, 0, false);
    }

    /// Ends the search.
    pub(super) fn fill(&mut self) {
        (self.reached, self.now) = (true, true);
    }

    pub(super) fn check(&mut self, round_starts: bool, delivery: &Delivery) {
        if self.now || !round_starts || delivery.sample.flight.limited {
            return;
        }
        if delivery.rate >= self.rate * 1.25 {
            self.restart(delivery.rate);
            return;
        }
        self.rounds += 1;
        if self.rounds >= 3 {
            self.fill();
        }
    }
}

/// The least round-trip time, and the schedule of ProbeRTT (section 5.3.4.3).
#[derive(Clone, Debug, Default)]
pub(super) struct RoundTrip {
    /// BBR.min_rtt.
    pub(super) least: Option<Duration>,
    /// The time of its measurement.
    measured: Time,
    /// The least of the last five seconds, and the time of its measurement.
    recent: Option<Duration>,
    refreshed: Time,
    /// The recent minimum is older than five seconds (BBR.probe_rtt_expired).
    pub(super) expired: bool,
    /// The least of all (C.min_rtt).
    ever: Option<Duration>,
    /// ProbeRTT lasts until this time; `None` before the flight is small enough.
    pub(super) probe_until: Option<Time>,
    /// A round has passed since then.
    pub(super) round_passed: bool,
}

impl RoundTrip {
    /// Updates the estimates; returns true for the first sample.
    pub(super) fn update(&mut self, now: Time, sample: Option<Duration>) -> bool {
        let first = self.ever.is_none() && sample.is_some();
        self.expired = self.recent.is_some() && now > self.refreshed + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample {
            self.ever = Some(self.ever.map_or(rtt, |ever| ever.min(rtt)));
            if self.expired || self.recent.is_none_or(|recent| rtt < recent) {
                (self.recent, self.refreshed) = (Some(rtt), now);
            }
        }
        if self.recent < self.least || self.least.is_none() || now > self.measured + ROUND_TRIP_AGE {
            (self.least, self.measured) = (self.recent, self.refreshed);
        }
        first
    }

    /// Returns the rate of a sample; 0 if its interval is shorter than any round trip, since then another copy than the
    /// last one was acknowledged (section 4.1.2.3).
    pub(super) fn reliable_rate(&self, sample: &RateSample) -> f64 {
        let least = self.ever.into_iter().chain(sample.rtt).min();
        sample.rate.filter(|_| least.is_none_or(|least| sample.interval >= least)).unwrap_or(0.0)
    }

    pub(super) fn begin_probe(&mut self, now: Time) {
        (self.probe_until, self.round_passed) = (Some(now + PROBE_RTT), false);
    }

    /// Ends ProbeRTT and schedules the next one.
    pub(super) fn end_probe(&mut self, now: Time) {
        (self.probe_until, self.refreshed) = (None, now);
    }
}
