//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path, the bandwidth of its bottleneck
//! and its round trip without queues, says how fast to send and how much to have in flight. Losses do not.
//!
//! | state | pacing, times the bandwidth | window, times the bandwidth-delay product |
//! |---|---|---|
//! | Startup, until three rounds bring less than 25 % more | 2 / ln 2 | 2 / ln 2 |
//! | Drain, until what is in flight fits the path | ln 2 / 2 | 2 / ln 2 |
//! | ProbeBW, eight phases of a round trip | 1.25, 0.75, then 1 | 2 |
//! | ProbeRTT, 200 ms when ten seconds brought no shorter round trip | 1 | 4 segments |
//!
//! Bandwidth is the maximum of the delivery rate over ten round trips, and the round trip is the minimum of ten seconds.
//!
//! Deviations: each segment is sent by itself, so the send quantum of the draft's 4.2.2 is one segment; the draft's
//! `rs.losses` is not counted: while a loss is being repaired a phase of 1.25 lasts one round trip, and the window in the
//! first round of a repair is what is in flight and what has just been delivered; a phase of 1.25 ends, too, where the
//! receiver's window allows no more. The phase in which ProbeBW begins comes
//! from the sender's own clock and its count of rounds instead of a random number. ECN is ignored, as in the draft.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Time};

use super::delivery::{Delivery, Sample};
use super::{Cause, News, Size, Standing};

/// BBRHighGain: 2 / ln 2 doubles what is delivered each round.
const HIGH_GAIN: f64 = 2.885_390_081_777_927;
/// The gains of ProbeBW's phases.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// BBRMinPipeCwnd.
const LEAST: f64 = 4.0;
/// Segments beyond the product for delayed and aggregated acknowledgements: three quanta.
const QUANTA: f64 = 3.0;
/// BtlBwFilterLen, in rounds.
const BANDWIDTH_ROUNDS: u32 = 10;
/// RTpropFilterLen.
const RTPROP_AGE: Duration = Duration::from_millis(10_000);
/// ProbeRTTDuration.
const PROBE_RTT: Duration = Duration::from_millis(200);
/// The round trip that the first pacing rate supposes (4.2.1).
const FIRST_ROUND_TRIP: f64 = 0.001;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    Drain,
    /// With the phase, and since when.
    ProbeBw(usize, Time),
    ProbeRtt(Probe),
}

/// Where ProbeRTT stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Probe {
    /// There is still too much in flight.
    Draining,
    /// It lasts until then and until a round has passed.
    Until(Time, bool),
}

/// Whether a loss is being repaired, and how far that is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repair {
    None,
    /// The acknowledgement at hand begins fast recovery.
    Begins,
    /// Its first round: what leaves is no more than what arrives, until this many had been delivered (packet conservation).
    Conserves(u32),
    /// The rest of it.
    Goes,
    /// The timer has fired, and no acknowledgement has come yet.
    TimedOut,
    /// After a timeout, until this is acknowledged.
    Restarts(u32),
}

#[derive(Clone, Debug)]
pub(super) struct Bbr {
    delivery: Delivery,
    state: State,
    repair: Repair,
    bandwidth: MaxOverRounds,
    /// The shortest round trip, and when it was measured.
    rtprop: Option<(Duration, Time)>,
    round: u32,
    /// How many must be delivered for the round to end.
    round_end: u32,
    /// The bandwidth when it last rose by a quarter, and rounds since then.
    full_bandwidth: f64,
    full_rounds: u8,
    filled_pipe: bool,
    /// Segments a second.
    pacing_rate: f64,
    /// The window before a repair or ProbeRTT.
    prior_cwnd: f64,
    initial: f64,
    phase: u64,
    /// Sending has begun again after a pause.
    restarted: bool,
}

impl Bbr {
    /// With an `initial` window, and a number that differs from sender to sender.
    pub(super) fn new(initial: u32, phase: u64) -> Self {
        let initial = f64::from(initial.max(1));
        Self {
            delivery: Delivery::default(),
            state: State::Startup,
            repair: Repair::None,
            bandwidth: MaxOverRounds::default(),
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
        }
    }

    /// Segments a second; above 0.
    pub(super) fn pacing_rate(&self) -> f64 {
        self.pacing_rate
    }

    pub(super) fn on_send(&mut self, now: Time, seq: u32, idle: bool) {
        if idle && self.delivery.is_limited() {
            // 4.4.3: after a pause neither probe nor burst.
            self.restarted = true;
            if let State::ProbeBw(..) = self.state {
                self.set_pacing_rate(1.0);
            }
        }
        self.delivery.on_send(now, seq, idle);
    }

    pub(super) fn arrived(&mut self, start: u32, end: u32) {
        self.delivery.arrived(start, end);
    }

    pub(super) fn ran_dry(&mut self, in_flight: u32) {
        self.delivery.limit(in_flight);
    }

    /// Saves the window. What is left of it is set by the acknowledgement that told of the loss.
    pub(super) fn decrease(&mut self, cwnd: f64, segments: f64, cause: Cause) -> f64 {
        match cause {
            // Not a reaction, but the window as it is.
            Cause::Mark => return cwnd,
            Cause::Loss => {
                self.save_cwnd(cwnd);
                self.repair = Repair::Begins;
            }
            Cause::Timeout => {
                self.save_cwnd(cwnd);
                self.repair = Repair::TimedOut;
            }
        }
        segments
    }

    pub(super) fn on_ack(&mut self, size: &mut Size, news: &News, standing: Standing) {
        self.follow_repair(size, news, standing);
        let Some(sample) = self.delivery.acknowledged(news.now, news.una) else { return };
        let round_start = self.update_bandwidth(&sample);
        if let Repair::Conserves(end) = self.repair
            && sample.prior_delivered >= end
        {
            self.repair = Repair::Goes;
        }
        self.check_cycle_phase(news.now, size.cwnd, &sample, standing);
        if round_start && !sample.limited {
            self.check_full_pipe();
        }
        self.check_drain(news.now, standing);
        let expired = self.update_rtprop(news.now, &sample);
        self.check_probe_rtt(size, news.now, expired, round_start, standing);
        self.restarted = false;
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(size, f64::from(sample.newly), standing);
    }

    /// 4.4.4 of the draft: enters and leaves the repair of losses.
    fn follow_repair(&mut self, size: &mut Size, news: &News, standing: Standing) {
        match self.repair {
            Repair::Begins => {
                size.cwnd = f64::from(standing.in_flight) + f64::from(news.acked.max(1));
                self.repair = Repair::Conserves(self.delivery.delivered());
            }
            Repair::Conserves(_) | Repair::Goes if !standing.recovering => self.end_repair(size),
            Repair::TimedOut => self.repair = Repair::Restarts(news.max),
            Repair::Restarts(end) if news.una >= end => self.end_repair(size),
            Repair::None | Repair::Conserves(_) | Repair::Goes | Repair::Restarts(_) => {}
        }
    }

    fn end_repair(&mut self, size: &mut Size) {
        self.repair = Repair::None;
        size.cwnd = size.cwnd.max(self.prior_cwnd);
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let untouched = self.repair == Repair::None && !matches!(self.state, State::ProbeRtt(_));
        self.prior_cwnd = if untouched { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Whether a round begins.
    fn update_bandwidth(&mut self, sample: &Sample) -> bool {
        let round_start = sample.prior_delivered >= self.round_end;
        if round_start {
            self.round_end = self.delivery.delivered();
            self.round += 1;
        }
        if let Some(rate) = sample.rate
            && (rate >= self.bandwidth.get() || !sample.limited)
            // Shorter than any round trip: an acknowledgement of another copy than the one sent last.
            && self.rtprop.is_none_or(|(rtprop, _)| sample.interval >= sample.rtt.map_or(rtprop, |rtt| rtt.min(rtprop)))
        {
            self.bandwidth.update(self.round, rate);
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

    fn check_drain(&mut self, now: Time, standing: Standing) {
        if self.state == State::Startup && self.filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && f64::from(standing.in_flight) <= self.inflight(1.0) {
            self.enter_probe_bw(now);
        }
    }

    /// Any phase but that of 0.75 may be the first, and mostly another than the last time.
    fn enter_probe_bw(&mut self, now: Time) {
        let phase = [0, 2, 3, 4, 5, 6, 7][((self.phase + u64::from(self.round)) % 7) as usize];
        self.state = State::ProbeBw(phase, now);
    }

    fn check_cycle_phase(&mut self, now: Time, cwnd: f64, sample: &Sample, standing: Standing) {
        let State::ProbeBw(phase, since) = self.state else { return };
        let full_length = self.rtprop.is_some_and(|(rtprop, _)| now.since(since) > rtprop);
        let gain = CYCLE[phase];
        let prior_inflight = f64::from(standing.in_flight.saturating_add(sample.newly));
        let next = if gain > 1.0 {
            full_length && (standing.recovering || prior_inflight >= self.inflight(gain).min(cwnd.floor()))
        } else if gain < 1.0 {
            full_length || prior_inflight <= self.inflight(1.0)
        } else {
            full_length
        };
        if next {
            self.state = State::ProbeBw((phase + 1) % CYCLE.len(), now);
        }
    }

    /// Whether the shortest round trip had become too old.
    fn update_rtprop(&mut self, now: Time, sample: &Sample) -> bool {
        let expired = self.rtprop.is_some_and(|(_, at)| now > at + RTPROP_AGE);
        let Some(rtt) = sample.rtt else { return expired };
        if self.rtprop.is_none() {
            // 4.2.1: the first pacing rate, now that there is a round trip.
            self.pacing_rate = HIGH_GAIN * self.initial / rtt.as_secs().max(FIRST_ROUND_TRIP);
        }
        if expired || self.rtprop.is_none_or(|(rtprop, _)| rtt <= rtprop) {
            self.rtprop = Some((rtt, now));
        }
        expired
    }

    fn check_probe_rtt(&mut self, size: &mut Size, now: Time, expired: bool, round_start: bool, standing: Standing) {
        let mut probe = match self.state {
            State::ProbeRtt(probe) => probe,
            _ if expired && !self.restarted => {
                self.save_cwnd(size.cwnd);
                Probe::Draining
            }
            _ => return,
        };
        // The small window is no sign of the network's rate.
        self.delivery.limit(standing.in_flight);
        probe = match probe {
            Probe::Draining if f64::from(standing.in_flight) <= LEAST => {
                self.round_end = self.delivery.delivered();
                Probe::Until(now + PROBE_RTT, false)
            }
            Probe::Draining => probe,
            Probe::Until(end, passed) => Probe::Until(end, passed || round_start),
        };
        self.state = State::ProbeRtt(probe);
        if let Probe::Until(end, true) = probe
            && now > end
        {
            self.rtprop = self.rtprop.map(|(rtprop, _)| (rtprop, now));
            size.cwnd = size.cwnd.max(self.prior_cwnd);
            if self.filled_pipe {
                self.enter_probe_bw(now);
            } else {
                self.state = State::Startup;
            }
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => 1.0 / HIGH_GAIN,
            State::ProbeBw(phase, _) => CYCLE[phase],
            State::ProbeRtt(_) => 1.0,
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * self.bandwidth.get();
        if rate > 0.0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// What may be in flight at `gain` times the bandwidth-delay product.
    fn inflight(&self, gain: f64) -> f64 {
        match self.rtprop {
            Some((rtprop, _)) => gain * self.bandwidth.get() * rtprop.as_secs() + QUANTA,
            None => self.initial,
        }
    }

    fn set_cwnd(&mut self, size: &mut Size, newly: f64, standing: Standing) {
        let gain = match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw(..) => 2.0,
            State::ProbeRtt(_) => 1.0,
        };
        let target = self.inflight(gain);
        if let Repair::Conserves(_) = self.repair {
            size.cwnd = size.cwnd.max(f64::from(standing.in_flight) + newly);
        } else {
            if self.filled_pipe {
                size.cwnd = (size.cwnd + newly).min(target);
            } else if size.cwnd < target || f64::from(self.delivery.delivered()) < self.initial {
                size.cwnd += newly;
            }
            size.cwnd = size.cwnd.max(LEAST);
        }
        if let State::ProbeRtt(_) = self.state {
            size.cwnd = size.cwnd.min(LEAST);
        }
    }
}

/// The largest of the values of the last [`BANDWIDTH_ROUNDS`] rounds.
#[derive(Clone, Debug, Default)]
struct MaxOverRounds(VecDeque<(u32, f64)>);

impl MaxOverRounds {
    fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |(_, value)| *value)
    }

    fn update(&mut self, round: u32, value: f64) {
        // What is smaller and older will never be the largest again.
        while self.0.back().is_some_and(|(_, other)| *other <= value) {
            self.0.pop_back();
        }
        self.0.push_back((round, value));
        while self.0.front().is_some_and(|(of, _)| round - of >= BANDWIDTH_ROUNDS) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;

    /// Catches a maximum that goes a round too early or too late, or hides one that comes after it.
    #[test]
    fn is_the_largest_of_ten_rounds() {
        let mut random = Seed::new(1).stream("rates");
        let (mut max, mut all) = (MaxOverRounds::default(), Vec::new());
        let mut round = 0;
        for _ in 0..2_000 {
            round += random.below(3);
            let value = f64::from(random.below(50));
            max.update(round, value);
            all.push((round, value));
            let recent = all.iter().filter(|(of, _)| round - of < 10).map(|(_, value)| *value);
            assert_eq!(max.get(), recent.fold(0.0, f64::max));
        }
    }

    /// Every phase of ProbeBW may be the first, but for the one that sends slowly.
    #[test]
    fn begins_to_probe_in_any_phase_but_one() {
        let first = |phase| {
            let mut bbr = Bbr::new(10, phase);
            bbr.enter_probe_bw(Time::ZERO);
            bbr.pacing_gain()
        };
        let gains: Vec<f64> = (0..7).map(first).collect();
        assert_eq!(gains, [1.25, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
    }
}
