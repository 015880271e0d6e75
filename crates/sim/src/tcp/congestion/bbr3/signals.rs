//! The signals of congestion: losses and marks in each round trip, and the short-term bounds that follow them (section
//! 5.5.10).

use fairlane_qdisc::Time;

use super::super::delivery::FlightSample;
use super::{BANDWIDTH_CYCLES, BETA, Bbr3, Delivery, LOSS_THRESHOLD, Repair, State, is_too_high};

/// The state before the first congestion of a round (BBRSaveStateUponLoss).
#[derive(Clone, Copy, Debug)]
pub(super) struct BeforeLoss {
    pub(super) state: State,
    pub(super) bandwidth_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}

impl Default for BeforeLoss {
    fn default() -> Self {
        let unbounded = f64::INFINITY;
        Self {
            state: State::Startup,
            bandwidth_shortterm: unbounded,
            inflight_shortterm: unbounded,
            inflight_longterm: unbounded,
        }
    }
}

/// The delivery and the losses of the current round trip.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// The number of delivered segments that ends the round (BBR.loss_round_delivered).
    end: u32,
    /// The current acknowledgement begins a round (BBR.loss_round_start).
    pub(super) round_starts: bool,
    /// The largest rate and delivered volume in it (BBR.bw_latest, BBR.inflight_latest).
    pub(super) rate: f64,
    pub(super) inflight: f64,
    /// There was congestion in it (BBR.is_loss_in_round).
    pub(super) congested: bool,
    /// The ranges of segments lost in it, and the last segment of the last of them.
    pub(super) lost_ranges: u32,
    last_lost: Option<u32>,
}

impl Signals {
    /// Begins the next round near the end of an acknowledgement.
    pub(super) fn advance(&mut self, delivery: &Delivery) {
        if self.round_starts {
            (self.rate, self.inflight) = (delivery.rate, f64::from(delivery.sample.delivered));
            self.lost_ranges = 0;
        }
    }

    /// Forgets the delivery and the losses.
    pub(super) fn reset(&mut self) {
        (self.congested, self.rate, self.inflight) = (false, 0.0, 0.0);
    }

    fn count_range(&mut self, seq: u32) {
        let continues = self.last_lost.is_some_and(|last| last.wrapping_add(1) == seq);
        self.lost_ranges += u32::from(!continues || self.lost_ranges == 0);
        self.last_lost = Some(seq);
    }
}

impl Bbr3 {
    /// Updates the delivered data and, at the end of a round with losses, the short-term bounds.
    pub(super) fn update_signals(&mut self, delivery: &Delivery) {
        let (sample, delivered) = (&delivery.sample, self.delivery.delivered());
        let signals = &mut self.signals;
        signals.rate = signals.rate.max(delivery.rate);
        signals.inflight = signals.inflight.max(f64::from(sample.delivered));
        signals.round_starts = sample.prior_delivered >= signals.end;
        if signals.round_starts {
            signals.end = delivered;
        }
        if self.rounds.update(sample, delivered) {
            self.cycle.rounds_since_up += 1;
        }
        if delivery.rate > 0.0 && (delivery.rate >= self.max_bandwidth.get() || !sample.flight.limited) {
            self.max_bandwidth.update(self.cycle.count, BANDWIDTH_CYCLES, delivery.rate);
        }
        if self.signals.round_starts {
            if self.signals.congested && !self.state.is_probing() {
                self.lower_bounds();
            }
            self.signals.congested = false;
        }
    }

    /// Lowers the short-term bounds to the data delivered in the round, at most by a factor of β.
    fn lower_bounds(&mut self) {
        if self.bandwidth_shortterm == f64::INFINITY {
            self.bandwidth_shortterm = self.max_bandwidth.get();
        }
        if self.inflight_shortterm == f64::INFINITY {
            self.inflight_shortterm = self.cwnd;
        }
        self.bandwidth_shortterm = self.signals.rate.max(BETA * self.bandwidth_shortterm);
        self.inflight_shortterm = self.signals.inflight.max(BETA * self.inflight_shortterm);
    }

    /// Removes the short-term bounds.
    pub(super) fn reset_shortterm(&mut self) {
        (self.bandwidth_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// Notes congestion, whose first in a round begins a round.
    pub(super) fn note_loss(&mut self) {
        if !self.signals.congested {
            self.signals.end = self.delivery.delivered();
            self.before_loss = BeforeLoss {
                state: self.state,
                bandwidth_shortterm: self.bandwidth_shortterm,
                inflight_shortterm: self.inflight_shortterm,
                inflight_longterm: self.inflight_longterm,
            };
        }
        self.signals.congested = true;
    }

    /// Takes back a reduction that was needless (BBRHandleSpuriousLossDetection): repair is over, so that the window
    /// returns with the current acknowledgement.
    pub(super) fn undo(&mut self) {
        let before = self.before_loss;
        self.signals.congested = false;
        self.full.restart(0.0);
        self.bandwidth_shortterm = self.bandwidth_shortterm.max(before.bandwidth_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(before.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(before.inflight_longterm);
        match before.state {
            _ if self.state == State::ProbeRtt || self.state == before.state => {}
            State::Startup => self.state = State::Startup,
            State::Up => self.start_up(self.signals.rate),
            State::Drain(_) | State::Down | State::Cruise | State::Refill | State::ProbeRtt => {}
        }
        if let Repair::TimedOut | Repair::Timeout(_) = self.repair {
            self.repair = Repair::Timeout(0);
        }
    }

    /// Handles a lost segment (HandleLostPacket).
    pub(super) fn lost(&mut self, now: Time, seq: u32) {
        self.now = now;
        self.note_loss();
        self.signals.count_range(seq);
        let Some(flight) = self.delivery.lost(seq) else { return };
        if self.cycle.is_sample && is_too_high(&flight) {
            self.reduce_longterm(inflight_at_loss(&flight), flight.limited);
        }
    }

    /// Handles the first mark of a round trip, as a loss of a connection without selective acknowledgements.
    pub(super) fn on_mark(&mut self) {
        if self.state == State::Startup {
            self.end_startup_by_congestion();
        } else if self.cycle.is_sample {
            self.reduce_longterm(f64::from(self.flight.in_flight), self.flight.limited);
        }
    }

    /// Sets the long-term bound after probing for bandwidth has caused congestion with `inflight` segments
    /// (HandleInflightTooHigh).
    fn reduce_longterm(&mut self, inflight: f64, limited: bool) {
        self.cycle.too_high = true;
        self.cycle.is_sample = false;
        if !limited {
            self.inflight_longterm = inflight.max(self.target_inflight() * BETA);
        }
        if self.state == State::Up {
            self.start_down();
        }
    }

    /// Returns the product, unless congestion has cut the window below it (TargetInflight).
    pub(super) fn target_inflight(&self) -> f64 {
        self.product(self.bandwidth, 1.0).min(self.cwnd)
    }
}

/// Returns the flight at which the losses have become 2 % (InflightAtLoss).
fn inflight_at_loss(flight: &FlightSample) -> f64 {
    let before = f64::from(flight.in_flight) - 1.0;
    let lost_before = f64::from(flight.lost) - 1.0;
    before + (LOSS_THRESHOLD * before - lost_before) / (1.0 - LOSS_THRESHOLD)
}
