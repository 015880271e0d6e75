//! The cycle of ProbeBW (section 5.3.3): down, cruise, refill, up.

use fairlane_qdisc::{Duration, Time};

use super::{Bbr3, Delivery, HEADROOM, MIN_CWND, State, is_too_high};

/// The most rounds between two probes, so that a concurrent Reno flow can grow (section 5.3.3.8).
const MOST_ROUNDS: f64 = 63.0;

/// The meaning of acknowledgements with respect to probing (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AckPhase {
    /// Acknowledgements belong to no probe.
    #[default]
    Init,
    Refilling,
    /// The flight grows, and acknowledgements are of segments sent before.
    Starting,
    Feedback,
    /// Probing has ended, and acknowledgements are of segments sent before.
    Stopping,
}

/// The progress of the cycle.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The number of cycles (BBR.cycle_count).
    pub(super) count: u32,
    phase: AckPhase,
    /// Samples are of segments that probed for bandwidth (BBR.is_bw_probe_sample).
    pub(super) is_sample: bool,
    /// The start of DOWN, and how long after it the next probe follows at the latest.
    began: Time,
    pub(super) wait: Duration,
    pub(super) rounds_since_up: u32,
    /// The rounds of UP in which the long-term bound has grown.
    up_rounds: u32,
    up_acked: f64,
    /// The segments acknowledged for one segment more of the bound.
    acked_per_segment: f64,
    /// The last probe caused too many losses (BBR.prev_probe_too_high).
    pub(super) too_high: bool,
    /// The last probe stopped at the bound because of that (BBR.prev_probe_precautionary).
    precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            count: 0,
            phase: AckPhase::Init,
            is_sample: false,
            began: Time::ZERO,
            wait: Duration::ZERO,
            rounds_since_up: 0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_segment: f64::INFINITY,
            too_high: false,
            precautionary: false,
        }
    }
}

impl Cycle {
    /// Notes that probing has ended.
    pub(super) fn stop_probing(&mut self) {
        self.phase = AckPhase::Stopping;
    }
}

impl Bbr3 {
    /// Enters DOWN (StartProbeBW_DOWN and PickProbeWait).
    pub(super) fn start_down(&mut self) {
        self.signals.reset();
        self.cycle.acked_per_segment = f64::INFINITY;
        self.cycle.rounds_since_up = self.random.below(2);
        self.cycle.wait = Duration::from_secs(2.0 + self.random.unit());
        self.cycle.began = self.now;
        self.cycle.stop_probing();
        self.rounds.start(self.delivery.delivered());
        self.state = State::Down;
    }

    fn start_refill(&mut self) {
        self.reset_shortterm();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0.0);
        self.cycle.precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.rounds.start(self.delivery.delivered());
        self.state = State::Refill;
    }

    pub(super) fn start_up(&mut self, rate: f64) {
        self.cycle.is_sample = true;
        self.cycle.phase = AckPhase::Starting;
        self.rounds.start(self.delivery.delivered());
        self.full.restart(rate);
        self.state = State::Up;
        self.steepen();
    }

    /// Advances the cycle (UpdateProbeBWCyclePhase).
    pub(super) fn update_cycle(&mut self, delivery: &Delivery) {
        if !self.full.reached || self.adapt_longterm(delivery) {
            return;
        }
        let state = self.state;
        match state {
            State::Down | State::Cruise if self.is_time_to_probe(delivery.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(delivery.in_flight) => self.state = State::Cruise,
            State::Refill if self.rounds.starts => self.start_up(delivery.rate),
            State::Up if self.is_time_to_go_down(delivery) => {
                self.cycle.too_high = false;
                self.start_down();
            }
            State::Startup
            | State::Drain(_)
            | State::Down
            | State::Cruise
            | State::Refill
            | State::Up
            | State::ProbeRtt => {}
        }
    }

    /// Follows the feedback of probing, and raises the long-term bound where losses are few (AdaptLongTermModel).
    /// Returns true if it has decided the next state.
    pub(super) fn adapt_longterm(&mut self, delivery: &Delivery) -> bool {
        if self.cycle.phase == AckPhase::Starting && self.rounds.starts {
            self.cycle.phase = AckPhase::Feedback;
        }
        if self.cycle.phase == AckPhase::Stopping && self.rounds.starts {
            self.cycle.is_sample = false;
            self.cycle.phase = AckPhase::Init;
            if self.state.is_probe_bw() && !delivery.sample.flight.limited {
                self.cycle.count += 1;
            }
            if self.state.is_probe_bw() && self.cycle.precautionary && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        if !is_too_high(&delivery.sample.flight) && self.inflight_longterm < f64::INFINITY {
            self.inflight_longterm = self.inflight_longterm.max(f64::from(delivery.sample.flight.in_flight));
            if self.state == State::Up {
                self.probe_upward(f64::from(delivery.sample.newly));
            }
        }
        false
    }

    /// Raises the long-term bound by 1, 2, 4 and so on segments in successive rounds of UP
    /// (ProbeInflightLongtermUpward).
    fn probe_upward(&mut self, newly: f64) {
        if !self.rounds.is_limited() || self.cwnd < self.inflight_longterm {
            return;
        }
        self.cycle.up_acked += newly;
        if self.cycle.up_acked >= self.cycle.acked_per_segment {
            let segments = (self.cycle.up_acked / self.cycle.acked_per_segment).floor();
            self.cycle.up_acked -= segments * self.cycle.acked_per_segment;
            self.inflight_longterm += segments;
        }
        if self.rounds.starts {
            self.steepen();
        }
    }

    /// Doubles the growth of the long-term bound in a round (RaiseInflightLongtermSlope).
    fn steepen(&mut self) {
        let growth = f64::from(1_u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.acked_per_segment = (self.cwnd / growth).max(1.0);
    }

    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = self.target_inflight().min(MOST_ROUNDS);
        now > self.cycle.began + self.cycle.wait || f64::from(self.cycle.rounds_since_up) >= rounds
    }

    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bandwidth.get(), 1.0)
    }

    fn is_time_to_go_down(&mut self, delivery: &Delivery) -> bool {
        if self.cycle.too_high && delivery.in_flight >= self.inflight_longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.rounds.is_limited() && self.cwnd >= self.inflight_longterm {
            // The bound, not the path, limits the rate.
            self.full.restart(delivery.rate);
            return false;
        }
        self.full.now
    }

    /// Returns the long-term bound without the part left to others (InflightWithHeadroom).
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == f64::INFINITY {
            return f64::INFINITY;
        }
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(MIN_CWND)
    }
}
