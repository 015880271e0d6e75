//! BBR, version 3 (draft-ietf-ccwg-bbr, text of August 2026). As in version 1, a model of the path determines rate and
//! window; here losses and marks are part of it.
//!
//! | state | pacing rate / bandwidth | window / bandwidth-delay product | bounds |
//! |---|---|---|---|
//! | Startup, until the rate grows by less than 25 % in three rounds, or 2 % in six places are lost | 2.77 | 2 | none |
//! | Drain, until the flight is at most the product, or for three rounds | 0.5 | 2 | long and short term |
//! | ProbeBW_DOWN, until the flight is at most the product and 85 % of the long-term bound | 0.9 | 2 | long and short term |
//! | ProbeBW_CRUISE, until 2 to 3 s or 63 rounds after DOWN | 1 | 2 | 85 % of the long, short term |
//! | ProbeBW_REFILL, for a round | 1 | 2 | long term |
//! | ProbeBW_UP, until the rate stops growing, or 2 % are lost | 1.25 | 2.25 | long term |
//! | ProbeRTT, for 200 ms if the round-trip time has been above its least for five seconds | 1 | 0.5 | 85 % of the long, short term |
//!
//! The bandwidth is the maximum of the delivery rate over two cycles of ProbeBW; the rate stays 1 % below. The
//! long-term bound of the flight (`inflight_longterm`) is where probing lost more than 2 %. The short-term bounds of
//! rate and flight follow the delivered data in rounds with losses, by a factor of 0.7 at most.
//!
//! Marks are treated as congestion, as the draft asks (section 3.7): that of a round trip counts as a loss of a
//! connection without selective acknowledgements does, so it ends Startup and UP, and otherwise lowers the short-term
//! bounds.
//!
//! Deviations: segments are counted instead of bytes and sent one by one, so the send quantum (section 5.6.3) is one
//! segment. Nothing is undone when a recovery was not needed (section 5.5.11), since receivers do not report
//! duplicates. After a timeout the window is one segment instead of the flight and one (section 5.6.4.4). A window that
//! an idle connection in ProbeRTT gets back (section 5.4.1) is there with the next acknowledgement. Waits are drawn at
//! random by the phase of the sender's clock.

mod cycle;
mod model;
mod signals;
#[cfg(test)]
mod tests;

use fairlane_qdisc::{Duration, Seed, Stream, Time};

use self::cycle::Cycle;
use self::model::{FullPipe, RoundTrip, Rounds};
use self::signals::{BeforeLoss, Signals};
use super::aggregation::Aggregation;
use super::delivery::{DeliveryRate, FlightSample, RateSample};
use super::recent_max::RecentMax;
use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize};

/// BBR.StartupPacingGain: 4 ln 2.
const STARTUP_GAIN: f64 = 2.772_588_722_239_781;
/// BBR.DefaultCwndGain.
const CWND_GAIN: f64 = 2.0;
/// BBR.ProbeRTTCwndGain.
const PROBE_RTT_GAIN: f64 = 0.5;
/// 1 - BBR.PacingMarginPercent.
const PACING_MARGIN: f64 = 0.99;
/// BBR.LossThresh.
const LOSS_THRESHOLD: f64 = 0.02;
/// BBR.Beta.
const BETA: f64 = 0.7;
/// BBR.Headroom.
const HEADROOM: f64 = 0.15;
/// BBR.MinPipeCwnd, in segments.
const MIN_CWND: f64 = 4.0;
/// BBR.MaxBwFilterLen, in cycles.
const BANDWIDTH_CYCLES: u32 = 2;
/// BBRStartupFullLossCnt: ranges lost in a round that end Startup.
const STARTUP_LOSSES: u32 = 6;
/// The round-trip time in seconds that the first pacing rate assumes (section 5.6.2).
const FIRST_ROUND_TRIP: f64 = 0.001;

/// The state of the state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    /// Drain since this round.
    Drain(u32),
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    /// Returns true in the states of ProbeBW.
    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Returns true where the flow looks for more bandwidth, so that losses do not lower the short-term bounds.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    const fn pacing_gain(self) -> f64 {
        match self {
            Self::Startup => STARTUP_GAIN,
            Self::Drain(_) => 0.5,
            Self::Down => 0.9,
            Self::Cruise | Self::Refill | Self::ProbeRtt => 1.0,
            Self::Up => 1.25,
        }
    }

    const fn cwnd_gain(self) -> f64 {
        match self {
            Self::Up => 2.25,
            Self::ProbeRtt => PROBE_RTT_GAIN,
            Self::Startup | Self::Drain(_) | Self::Down | Self::Cruise | Self::Refill => CWND_GAIN,
        }
    }
}

/// The progress of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    None,
    /// Fast recovery.
    Fast,
    /// The time from a timeout to the next acknowledgement.
    TimedOut,
    /// The time after a timeout until this segment is acknowledged.
    Timeout(u32),
}

/// An acknowledgement that delivers segments.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    now: Time,
    /// The segments in flight after it (C.inflight).
    in_flight: f64,
    sample: RateSample,
    /// The delivery rate in segments per second; 0 if it is not reliable.
    rate: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Bbr3 {
    delivery: DeliveryRate,
    state: State,
    repair: Repair,
    rounds: Rounds,
    full: FullPipe,
    round_trip: RoundTrip,
    aggregation: Aggregation,
    signals: Signals,
    before_loss: BeforeLoss,
    cycle: Cycle,
    max_bandwidth: RecentMax,
    /// BBR.bw: the bandwidth within its short-term bound, in segments per second.
    bandwidth: f64,
    bandwidth_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    /// The pacing rate in segments per second.
    pacing_rate: f64,
    /// The window after the last acknowledgement.
    cwnd: f64,
    /// The window before loss recovery or ProbeRTT.
    prior_cwnd: f64,
    /// The window is to become at least `prior_cwnd`.
    restores: bool,
    initial: f64,
    /// The sender has resumed after a pause.
    restarted: bool,
    /// The round trip of the last sample.
    flight: FlightSample,
    now: Time,
    random: Stream,
}

impl Bbr3 {
    /// Returns the state for an `initial` window. `phase` differs between senders.
    pub(super) fn new(initial: u32, phase: u64) -> Self {
        let initial = f64::from(initial.max(1));
        Self {
            delivery: DeliveryRate::default(),
            state: State::Startup,
            repair: Repair::None,
            rounds: Rounds::default(),
            full: FullPipe::default(),
            round_trip: RoundTrip::default(),
            aggregation: Aggregation::default(),
            signals: Signals::default(),
            before_loss: BeforeLoss::default(),
            cycle: Cycle::default(),
            max_bandwidth: RecentMax::default(),
            bandwidth: 0.0,
            bandwidth_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            pacing_rate: STARTUP_GAIN * initial / FIRST_ROUND_TRIP,
            cwnd: initial,
            prior_cwnd: 0.0,
            restores: false,
            initial,
            restarted: false,
            flight: FlightSample::default(),
            now: Time::ZERO,
            random: Seed::new(phase).stream("bbr3"),
        }
    }
}

impl CongestionControl for Bbr3 {
    /// Nothing: the model sets the window.
    fn grow(&mut self, _size: &mut WindowSize, _ack: &AckSample) {}

    fn pacing_rate(&self, _size: &WindowSize) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn has_model(&self) -> bool {
        true
    }

    fn has_own_slow_start(&self) -> bool {
        true
    }

    fn on_send(&mut self, now: Time, seq: u32, idle: bool, in_flight: u32) {
        self.now = now;
        if idle && self.delivery.is_limited() {
            self.restart(now);
        }
        self.rounds.note_flight(in_flight, self.cwnd);
        self.delivery.on_send(now, seq, idle, in_flight);
    }

    fn on_arrived(&mut self, start: u32, end: u32) {
        self.delivery.arrived(start, end);
    }

    fn on_application_limited(&mut self, in_flight: u32) {
        self.delivery.limit(in_flight);
    }

    /// The window as it is: its bounds follow with the next acknowledgement.
    fn on_congestion(&mut self, size: &WindowSize, event: &CongestionEvent) -> f64 {
        self.note_loss();
        match event.signal {
            CongestionSignal::Loss => {}
            CongestionSignal::Mark => self.on_mark(),
            CongestionSignal::Timeout => {
                self.save_cwnd(size.cwnd);
                self.repair = Repair::TimedOut;
            }
        }
        size.cwnd
    }

    fn on_ack(&mut self, size: &mut WindowSize, ack: &AckSample, loss_state: LossState) {
        self.now = ack.now;
        self.follow_repair(size, ack, loss_state);
        if let Some(sample) = self.delivery.acknowledged(ack.now, ack.una) {
            let rate = self.round_trip.reliable_rate(&sample);
            let delivery = Delivery { now: ack.now, in_flight: f64::from(loss_state.in_flight), sample, rate };
            self.flight = sample.flight;
            self.update_model(size, &delivery);
            self.set_pacing_rate(self.state.pacing_gain());
            if std::mem::take(&mut self.restores) {
                size.cwnd = size.cwnd.max(self.prior_cwnd);
            }
            self.set_cwnd(size, f64::from(sample.newly));
        }
        self.cwnd = size.cwnd;
    }

    fn on_lost(&mut self, now: Time, seq: u32) {
        self.lost(now, seq);
    }

    fn on_undo(&mut self) {
        self.undo();
    }
}

impl Bbr3 {
    /// Handles the end of a pause (section 5.4.1).
    fn restart(&mut self, now: Time) {
        self.restarted = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    /// Updates the model and the state machine: UpdateModelAndState() of section 5.2.3.
    fn update_model(&mut self, size: &WindowSize, delivery: &Delivery) {
        self.update_signals(delivery);
        let (bandwidth, newly) = (self.bandwidth, f64::from(delivery.sample.newly));
        let filled = self.full.reached;
        self.aggregation.update(delivery.now, newly, bandwidth, size.cwnd, self.rounds.count, filled);
        self.full.check(self.rounds.starts, delivery);
        self.check_startup_done(delivery);
        self.check_drain_done(delivery);
        self.update_cycle(delivery);
        if self.round_trip.update(delivery.now, delivery.sample.rtt) {
            // The first pacing rate after a round-trip time is known (section 5.6.2).
            let seconds = delivery.sample.rtt.map_or(0.0, Duration::as_secs).max(FIRST_ROUND_TRIP);
            self.pacing_rate = STARTUP_GAIN * self.initial / seconds;
        }
        self.check_probe_rtt(size, delivery);
        self.restarted = false;
        self.signals.advance(delivery);
        self.bandwidth = self.max_bandwidth.get().min(self.bandwidth_shortterm);
    }

    /// Enters and leaves loss recovery (section 5.6.4.4).
    fn follow_repair(&mut self, size: &WindowSize, ack: &AckSample, loss_state: LossState) {
        match self.repair {
            Repair::None if loss_state.recovering => {
                self.save_cwnd(size.cwnd);
                self.repair = Repair::Fast;
            }
            Repair::TimedOut => self.repair = Repair::Timeout(ack.max),
            Repair::Fast if !loss_state.recovering => self.end_repair(),
            Repair::Timeout(end) if ack.una >= end => self.end_repair(),
            Repair::None | Repair::Fast | Repair::Timeout(_) => {}
        }
    }

    fn end_repair(&mut self) {
        self.repair = Repair::None;
        self.restores = true;
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let untouched = self.repair == Repair::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if untouched { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Ends Startup (section 5.3.1).
    fn check_startup_done(&mut self, delivery: &Delivery) {
        let lossy = self.signals.round_starts
            && self.repair == Repair::Fast
            && self.signals.lost_ranges >= STARTUP_LOSSES
            && is_too_high(&delivery.sample.flight);
        if self.state == State::Startup && lossy {
            self.end_startup_by_congestion();
        } else if self.state == State::Startup && self.full.reached {
            self.state = State::Drain(self.rounds.count);
        }
    }

    /// Ends Startup because of losses or a mark (section 5.3.1.3).
    fn end_startup_by_congestion(&mut self) {
        self.full.fill();
        self.inflight_longterm = self.product(self.bandwidth, 1.0).max(self.signals.inflight);
        self.state = State::Drain(self.rounds.count);
    }

    fn check_drain_done(&mut self, delivery: &Delivery) {
        if let State::Drain(since) = self.state
            && (delivery.in_flight <= self.inflight(self.bandwidth, 1.0) || self.rounds.count > since + 3)
        {
            self.start_down();
        }
    }

    /// Enters, continues and leaves ProbeRTT (section 5.3.4.3).
    fn check_probe_rtt(&mut self, size: &WindowSize, delivery: &Delivery) {
        if self.state != State::ProbeRtt && self.round_trip.expired && !self.restarted {
            self.save_cwnd(size.cwnd);
            self.state = State::ProbeRtt;
            self.round_trip.probe_until = None;
            self.cycle.stop_probing();
            self.rounds.start(self.delivery.delivered());
        }
        if self.state != State::ProbeRtt {
            return;
        }
        // With the small window, samples do not show the rate of the network.
        self.delivery.limit(delivery.in_flight as u32);
        if self.round_trip.probe_until.is_none() {
            if delivery.in_flight <= self.probe_rtt_cwnd() {
                self.round_trip.begin_probe(delivery.now);
                self.rounds.start(self.delivery.delivered());
            }
        } else {
            self.round_trip.round_passed |= self.rounds.starts;
            if self.round_trip.round_passed {
                self.check_probe_rtt_done(delivery.now);
            }
        }
    }

    fn check_probe_rtt_done(&mut self, now: Time) {
        if self.round_trip.probe_until.is_none_or(|until| now <= until) {
            return;
        }
        self.round_trip.end_probe(now);
        self.restores = true;
        self.reset_shortterm();
        if self.full.reached {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth * PACING_MARGIN;
        if rate > 0.0 && (self.full.reached || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Returns `gain` times the bandwidth-delay product (BDPMultiple).
    fn product(&self, bandwidth: f64, gain: f64) -> f64 {
        self.round_trip.least.map_or(self.initial, |least| gain * bandwidth * least.as_secs())
    }

    /// Returns the flight for `gain` times the product (Inflight and QuantizationBudget).
    fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        self.quantised(self.product(bandwidth, gain))
    }

    fn quantised(&self, flight: f64) -> f64 {
        flight.max(MIN_CWND) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        self.product(self.bandwidth, PROBE_RTT_GAIN).max(MIN_CWND)
    }

    /// Sets the window after an acknowledgement of `newly` segments: SetCwnd() of section 5.6.4.6.
    fn set_cwnd(&self, size: &mut WindowSize, newly: f64) {
        let flight = self.product(self.bandwidth, self.state.cwnd_gain()) + self.aggregation.extra();
        let most = self.quantised(flight);
        if self.full.reached {
            size.cwnd = (size.cwnd + newly).min(most);
        } else if size.cwnd < most || f64::from(self.delivery.delivered()) < self.initial {
            size.cwnd += newly;
        }
        size.cwnd = size.cwnd.max(MIN_CWND);
        if self.state == State::ProbeRtt {
            size.cwnd = size.cwnd.min(self.probe_rtt_cwnd());
        }
        let bound = match self.state {
            State::Startup | State::Drain(_) => f64::INFINITY,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        size.cwnd = size.cwnd.min(bound.min(self.inflight_shortterm).max(MIN_CWND));
    }
}

/// Returns true if more than 2 % were lost of the flight when the sample's segment was sent (IsInflightTooHigh).
fn is_too_high(flight: &FlightSample) -> bool {
    f64::from(flight.lost) > f64::from(flight.in_flight) * LOSS_THRESHOLD
}
