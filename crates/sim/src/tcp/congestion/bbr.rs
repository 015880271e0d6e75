//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00). A model of the path, the bandwidth of its
//! bottleneck and its round-trip time without queues, determines the sending rate and the number of segments in flight,
//! instead of losses.
//!
//! | state | pacing rate / bandwidth | window / bandwidth-delay product |
//! |---|---|---|
//! | Startup, until the bandwidth grows by less than 25 % in three rounds | 2 / ln 2 | 2 / ln 2 |
//! | Drain, until the flight is at most the bandwidth-delay product | ln 2 / 2 | 2 / ln 2 |
//! | ProbeBW, eight phases of a round trip each | 1.25, 0.75, then 1 | 2 |
//! | ProbeRTT, for 200 ms if the minimum of the round-trip time is ten seconds old | 1 | 4 segments |
//!
//! The bandwidth is the maximum of the delivery rate over ten round trips, the round-trip time the minimum over ten
//! seconds. In addition to the product, the window has room for three send quanta.
//!
//! As in Linux and not in the draft: the pacing rate is 1 % lower. The window has room for aggregated acknowledgements.
//! The flight is rounded up to an even number of segments, and two more in a phase with gain 1.25. A
//! [policer](super::policer) determines the bandwidth if there is one.
//!
//! Deviations: segments leave in send quanta (section 4.2.2) only with `burst`, otherwise one by one. Only with RACK
//! are lost segments counted. During loss recovery a phase with gain 1.25 lasts one round trip. Such a phase also ends
//! when the receiver's window allows no more. The first phase of ProbeBW is derived from the sender's clock and its
//! number of rounds instead of a random number. ECN is ignored, as in the draft.

use fairlane_qdisc::{Duration, Time};

use super::aggregation::Aggregation;
use super::delivery::{DeliveryRate, RateSample};
use super::policer::Policer;
use super::recent_max::RecentMax;
use super::{AckSample, CongestionControl, CongestionEvent, CongestionSignal, LossState, WindowSize};

/// BBRHighGain: 2 / ln 2 doubles the delivery rate in each round.
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
/// The gains of ProbeBW's phases.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// BBRMinPipeCwnd, in segments.
const MIN_CWND: f64 = 4.0;
/// The pacing rate as a part of the rate that the model asks for, so that a queue shrinks.
const PACING_MARGIN: f64 = 0.99;
/// The time in seconds of a send quantum (section 4.2.2).
const QUANTUM: f64 = 0.001;
/// The largest send quantum in segments: 64 kB in segments of 1500 bytes.
const MOST_QUANTUM: f64 = 43.0;
/// The pacing rate in segments per second, 1.2 Mbit/s with 1500 bytes, from which on a quantum has two segments.
const QUANTUM_RATE: f64 = 100.0;
/// The time in seconds in which the segments of aggregated acknowledgements are sent at most.
const MOST_AGGREGATION: f64 = 0.1;
/// BtlBwFilterLen, in rounds.
const BANDWIDTH_ROUNDS: u32 = 10;
/// RTpropFilterLen.
const RTPROP_AGE: Duration = Duration::from_millis(10_000);
/// ProbeRTTDuration.
const PROBE_RTT: Duration = Duration::from_millis(200);
/// The round-trip time in seconds that the first pacing rate assumes (section 4.2.1).
const FIRST_ROUND_TRIP: f64 = 0.001;

#[derive(Clone, Copy, Debug, PartialEq)]
enum BbrState {
    Startup,
    Drain,
    /// The phase and its start.
    ProbeBw(usize, Time),
    ProbeRtt(ProbeRttState),
}

/// The progress of ProbeRTT.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ProbeRttState {
    /// The flight is still too large.
    Draining,
    /// Lasts until this time and until a round has passed; true once it has.
    Until(Time, bool),
}

/// The progress of loss recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RepairState {
    None,
    /// The current acknowledgement begins fast recovery.
    Begins,
    /// The first round of fast recovery: packet conservation until this many segments have been delivered.
    Conserves(u32),
    /// The rest of fast recovery.
    Continues,
    /// The time from a timeout to the next acknowledgement.
    TimedOut,
    /// The time after a timeout until this segment is acknowledged.
    Restarts(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    delivery: DeliveryRate,
    state: BbrState,
    repair: RepairState,
    bandwidth: RecentMax,
    /// The minimum round-trip time and the time of its measurement.
    rtprop: Option<(Duration, Time)>,
    round: u32,
    /// The number of delivered segments that ends the round.
    round_end: u32,
    /// The bandwidth when it last grew by a quarter, and the number of rounds since then.
    full_bandwidth: f64,
    full_rounds: u8,
    filled_pipe: bool,
    /// The pacing rate in segments per second.
    pacing_rate: f64,
    /// The window before loss recovery or ProbeRTT.
    prior_cwnd: f64,
    initial: f64,
    phase: u64,
    /// The sender has resumed after a pause.
    restarted: bool,
    aggregation: Aggregation,
    policer: Box<Policer>,
}

impl Bbr {
    /// Returns the state for an `initial` window. `phase` differs between senders.
    pub(super) fn new(initial: u32, phase: u64) -> Self {
        let initial = f64::from(initial.max(1));
        Self {
            delivery: DeliveryRate::default(),
            state: BbrState::Startup,
            repair: RepairState::None,
            bandwidth: RecentMax::default(),
            rtprop: None,
            round: 0,
            round_end: 0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            filled_pipe: false,
            pacing_rate: HIGH_GAIN * initial / FIRST_ROUND_TRIP,
            prior_cwnd: 0.0,
            initial,
            phase: phase % 7,
            restarted: false,
            aggregation: Aggregation::default(),
            policer: Box::default(),
        }
    }
}

impl CongestionControl for Bbr {
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
        if idle && self.delivery.is_limited() {
            // After a pause the sender neither probes nor sends a burst (section 4.4.3).
            self.restarted = true;
            self.aggregation.restart(now);
            if let BbrState::ProbeBw(..) = self.state {
                self.set_pacing_rate(1.0);
            }
        }
        self.delivery.on_send(now, seq, idle, in_flight);
    }

    fn on_arrived(&mut self, start: u32, end: u32) {
        self.delivery.arrived(start, end);
    }

    fn on_lost(&mut self, _now: Time, seq: u32) {
        self.delivery.lost(seq);
    }

    fn on_application_limited(&mut self, in_flight: u32) {
        self.delivery.limit(in_flight);
    }

    /// Saves the window. `on_ack` then sets the window for the acknowledgement that signalled the loss.
    fn on_congestion(&mut self, size: &WindowSize, event: &CongestionEvent) -> f64 {
        match event.signal {
            // BBR does not react to marks.
            CongestionSignal::Mark => return size.cwnd,
            CongestionSignal::Loss => {
                self.save_cwnd(size.cwnd);
                self.repair = RepairState::Begins;
            }
            CongestionSignal::Timeout => {
                self.save_cwnd(size.cwnd);
                self.repair = RepairState::TimedOut;
            }
        }
        event.segments
    }

    /// Takes back a reduction that was needless: repair is over, so that the window returns with the current
    /// acknowledgement, and the searches for the full pipe and for a policer begin again, as in Linux.
    fn on_undo(&mut self) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        *self.policer = Policer::default();
        if let RepairState::TimedOut | RepairState::Restarts(_) = self.repair {
            self.repair = RepairState::Restarts(0);
        }
    }

    fn on_ack(&mut self, size: &mut WindowSize, ack: &AckSample, loss_state: LossState) {
        self.follow_repair(size, ack, loss_state);
        let Some(sample) = self.delivery.acknowledged(ack.now, ack.una) else { return };
        let round_start = self.update_bandwidth(&sample);
        if let RepairState::Conserves(end) = self.repair
            && sample.prior_delivered >= end
        {
            self.repair = RepairState::Continues;
        }
        if matches!(self.state, BbrState::ProbeBw(..)) && round_start && self.policer.expires() {
            self.enter_probe_bw(ack.now);
        }
        self.policer.update(ack.now, &sample, round_start);
        let (bandwidth, newly) = (self.bandwidth(), f64::from(sample.newly));
        self.aggregation.update(ack.now, newly, bandwidth, size.cwnd, self.round, self.filled_pipe);
        self.check_cycle_phase(ack.now, size.cwnd, &sample, loss_state);
        if round_start && !sample.flight.limited {
            self.check_full_pipe();
        }
        self.check_drain(ack.now, loss_state);
        let expired = self.update_rtprop(ack.now, &sample);
        self.check_probe_rtt(size, ack.now, expired, round_start, loss_state);
        self.restarted = false;
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(size, &sample, loss_state);
    }
}

impl Bbr {
    /// Enters and leaves loss recovery (section 4.4.4).
    fn follow_repair(&mut self, size: &mut WindowSize, ack: &AckSample, loss_state: LossState) {
        match self.repair {
            RepairState::Begins => {
                size.cwnd = f64::from(loss_state.in_flight) + f64::from(ack.acked.max(1));
                self.repair = RepairState::Conserves(self.delivery.delivered());
            }
            RepairState::Conserves(_) | RepairState::Continues if !loss_state.recovering => self.end_repair(size),
            RepairState::TimedOut => self.repair = RepairState::Restarts(ack.max),
            RepairState::Restarts(end) if ack.una >= end => self.end_repair(size),
            RepairState::None | RepairState::Conserves(_) | RepairState::Continues | RepairState::Restarts(_) => {}
        }
    }

    fn end_repair(&mut self, size: &mut WindowSize) {
        self.repair = RepairState::None;
        size.cwnd = size.cwnd.max(self.prior_cwnd);
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let untouched = self.repair == RepairState::None && !matches!(self.state, BbrState::ProbeRtt(_));
        self.prior_cwnd = if untouched { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Updates the bandwidth; returns true at the start of a round.
    fn update_bandwidth(&mut self, sample: &RateSample) -> bool {
        let round_start = sample.prior_delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivery.delivered();
            self.round += 1;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.bandwidth.get() || !sample.flight.limited)
            // A shorter interval than any round trip means that another copy than the last one was acknowledged.
            && self.rtprop.is_none_or(|(rtprop, _)| sample.interval >= sample.rtt.map_or(rtprop, |rtt| rtt.min(rtprop)))
        {
            self.bandwidth.update(self.round, BANDWIDTH_ROUNDS, rate);
        }
        round_start
    }

    fn check_full_pipe(&mut self) {
        if self.filled_pipe {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= self.full_bandwidth * 1.25 {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.filled_pipe = self.full_rounds >= 3;
    }

    fn check_drain(&mut self, now: Time, loss_state: LossState) {
        if self.state == BbrState::Startup && self.filled_pipe {
            self.state = BbrState::Drain;
        }
        if self.state == BbrState::Drain && f64::from(loss_state.in_flight) <= self.inflight(1.0, 0.0) {
            self.enter_probe_bw(now);
        }
    }

    /// Enters ProbeBW in any phase but the one with gain 0.75, and mostly in another one than the last time.
    fn enter_probe_bw(&mut self, now: Time) {
        let phase = [0, 2, 3, 4, 5, 6, 7][((self.phase + u64::from(self.round)) % 7) as usize];
        self.state = BbrState::ProbeBw(phase, now);
    }

    fn check_cycle_phase(&mut self, now: Time, cwnd: f64, sample: &RateSample, loss_state: LossState) {
        let BbrState::ProbeBw(phase, since) = self.state else { return };
        let full_length = self.rtprop.is_some_and(|(rtprop, _)| now.since(since) > rtprop);
        let gain = self.pacing_gain();
        let prior_inflight = f64::from(loss_state.in_flight.saturating_add(sample.newly + sample.newly_lost));
        let next = if gain > 1.0 {
            full_length && (loss_state.recovering || prior_inflight >= self.inflight(gain, 0.0).min(cwnd.floor()))
        } else if gain < 1.0 {
            full_length || prior_inflight <= self.inflight(1.0, 0.0)
        } else {
            full_length
        };
        if next {
            self.state = BbrState::ProbeBw((phase + 1) % CYCLE.len(), now);
        }
    }

    /// Updates the minimum round-trip time; returns true if it had expired.
    fn update_rtprop(&mut self, now: Time, sample: &RateSample) -> bool {
        let expired = self.rtprop.is_some_and(|(_, at)| now > at + RTPROP_AGE);
        let Some(rtt) = sample.rtt else { return expired };
        if self.rtprop.is_none() {
            // The first pacing rate after a round-trip time is known (section 4.2.1).
            self.pacing_rate = HIGH_GAIN * self.initial / rtt.as_secs().max(FIRST_ROUND_TRIP);
        }
        if expired || self.rtprop.is_none_or(|(rtprop, _)| rtt <= rtprop) {
            self.rtprop = Some((rtt, now));
        }
        expired
    }

    fn check_probe_rtt(
        &mut self,
        size: &mut WindowSize,
        now: Time,
        expired: bool,
        round_start: bool,
        loss_state: LossState,
    ) {
        let mut probe = match self.state {
            BbrState::ProbeRtt(probe) => probe,
            _ if expired && !self.restarted => {
                self.save_cwnd(size.cwnd);
                ProbeRttState::Draining
            }
            _ => return,
        };
        // With the small window, samples do not show the rate of the network.
        self.delivery.limit(loss_state.in_flight);
        probe = match probe {
            ProbeRttState::Draining if f64::from(loss_state.in_flight) <= MIN_CWND => {
                self.round_end = self.delivery.delivered();
                ProbeRttState::Until(now + PROBE_RTT, false)
            }
            ProbeRttState::Draining => probe,
            ProbeRttState::Until(end, passed) => ProbeRttState::Until(end, passed || round_start),
        };
        self.state = BbrState::ProbeRtt(probe);
        if let ProbeRttState::Until(end, true) = probe
            && now > end
        {
            self.rtprop = self.rtprop.map(|(rtprop, _)| (rtprop, now));
            size.cwnd = size.cwnd.max(self.prior_cwnd);
            if self.filled_pipe {
                self.enter_probe_bw(now);
            } else {
                self.state = BbrState::Startup;
            }
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            BbrState::Startup => HIGH_GAIN,
            BbrState::Drain => 1.0 / HIGH_GAIN,
            BbrState::ProbeBw(..) if self.policer.rate().is_some() => 1.0,
            BbrState::ProbeBw(phase, _) => CYCLE[phase],
            BbrState::ProbeRtt(_) => 1.0,
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth() * PACING_MARGIN;
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Returns the bandwidth in segments per second.
    fn bandwidth(&self) -> f64 {
        self.policer.rate().unwrap_or_else(|| self.bandwidth.get())
    }

    /// Returns the flight in segments for `gain` times the bandwidth-delay product, three send quanta and `extra`.
    fn inflight(&self, gain: f64, extra: f64) -> f64 {
        let Some((rtprop, _)) = self.rtprop else { return self.initial };
        let least = if self.pacing_rate < QUANTUM_RATE { 1.0 } else { 2.0 };
        let quantum = (self.pacing_rate * QUANTUM).floor().clamp(least, MOST_QUANTUM);
        let flight = gain * self.bandwidth() * rtprop.as_secs() + 3.0 * quantum + extra;
        let up = if matches!(self.state, BbrState::ProbeBw(0, _)) { 2.0 } else { 0.0 };
        2.0 * (flight / 2.0).ceil() + up
    }

    /// Returns the segments of aggregated acknowledgements for which the window has room.
    fn extra(&self) -> f64 {
        if self.filled_pipe { self.aggregation.extra().min(MOST_AGGREGATION * self.bandwidth()) } else { 0.0 }
    }

    fn set_cwnd(&self, size: &mut WindowSize, sample: &RateSample, loss_state: LossState) {
        let newly = f64::from(sample.newly);
        let gain = match self.state {
            BbrState::Startup | BbrState::Drain => HIGH_GAIN,
            BbrState::ProbeBw(..) => 2.0,
            BbrState::ProbeRtt(_) => 1.0,
        };
        size.cwnd = (size.cwnd - f64::from(sample.newly_lost)).max(1.0);
        if let RepairState::Conserves(_) = self.repair {
            size.cwnd = size.cwnd.max(f64::from(loss_state.in_flight) + newly);
        } else {
            let target = self.inflight(gain, self.extra());
            if self.filled_pipe {
                size.cwnd = (size.cwnd + newly).min(target);
            } else if size.cwnd < target || f64::from(self.delivery.delivered()) < self.initial {
                size.cwnd += newly;
            }
            size.cwnd = size.cwnd.max(MIN_CWND);
        }
        if let BbrState::ProbeRtt(_) = self.state {
            size.cwnd = size.cwnd.min(MIN_CWND);
        }
    }
}

#[cfg(test)]
mod tests;
