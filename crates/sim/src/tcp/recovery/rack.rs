//! RACK-TLP (RFC 8985): a segment is lost if one that was sent sufficiently later has arrived, so a lost
//! retransmission is found within a round trip, too; and a probe of the tail shows a loss behind which nothing follows.
//! Proportional rate reduction (RFC 9937) paces the repair.
//!
//! A reduction that turns out to be [needless](spurious) is taken back (RFC 4015).
//!
//! Deviations: the smallest round trip is that of the whole connection. A needless probe of the tail does not widen the
//! reordering window. Any other duplicate counts as reordering, so that the window also widens where there are no
//! timestamps.

mod probe;
mod reordering;
mod spurious;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

use self::probe::Probe;
use self::reordering::ReorderingWindow;
use self::spurious::Spurious;
use super::super::Ack;
use super::super::congestion::AckSample;
use super::super::ranges::Ranges;
use super::super::rtt::Rtt;
use super::super::state::{DUPTHRESH, SenderState};
use super::Advance;
use super::prr::{Progress, Prr};

/// The time that Linux adds to the timer of the reordering window (`TCP_TIMEOUT_MIN_US`).
const LINUX_TIMER: Duration = Duration::from_millis(2);

/// The transmissions of the outstanding segments and the progress of recovery.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Rack {
    /// The outstanding segments.
    segments: VecDeque<Outstanding>,
    /// The number of the first of them.
    first: u32,
    /// The numbers and segments of transmissions, in their order; one that was repeated or has arrived no longer
    /// counts.
    transmissions: VecDeque<(u64, u32)>,
    /// The number of transmissions.
    count: u64,
    /// The outstanding segments that have arrived.
    arrived: Ranges,
    /// Their number.
    count_arrived: u32,
    /// The lost segments that have not been sent again.
    lost: BTreeSet<u32>,
    /// The latest transmission that has arrived (RACK.xmit_ts and RACK.end_seq, whose order is that of the numbers).
    latest: Option<u64>,
    /// Its round trip (RACK.rtt).
    rtt: Duration,
    /// The smallest round trip.
    min_rtt: Option<Duration>,
    /// One past the highest segment that has arrived (RACK.fack).
    highest: u32,
    /// The most segments that are known to have overtaken another; 0 before there is reordering.
    reordering: u32,
    reordering_window: ReorderingWindow,
    /// The transmission up to which those in the network were looked for, and the last one that was: number and
    /// segment.
    overtaken: (u64, Option<(u64, u32)>),
    spurious: Spurious,
    /// The retransmissions that no duplicate has been reported for.
    unreported: u32,
    /// Acknowledgements echo timestamps.
    timestamps: bool,
    /// RACK.rtt is that of the last segment of an acknowledgement, not of the one that was sent last.
    as_linux: bool,
    /// When the next segment counts as lost, if it does not arrive.
    loss_at: Option<Time>,
    /// An acknowledgement of this ends recovery, or the reduction after a mark.
    end: u32,
    /// The window falls to the threshold after a mark, outside recovery (Congestion Window Reduced in Linux).
    slowing: bool,
    /// The oldest unacknowledged segment at the last timeout.
    timed_out_at: Option<u32>,
    prr: Prr,
    /// When a probe of the tail is due.
    probe_at: Option<Time>,
    probe: Option<Probe>,
    /// The segments that the current acknowledgement delivers.
    delivered: u32,
    /// The current acknowledgement delivers a segment that was sent once, before the timeout that F-RTO examines.
    original: bool,
    /// The first unacknowledged segment before the current acknowledgement.
    una_before: u32,
    /// The ranges of segments that it delivers; kept for its memory.
    fresh: Vec<(u32, u32)>,
}

/// A segment that has not been acknowledged cumulatively.
#[derive(Clone, Copy, Debug)]
struct Outstanding {
    /// When it was last sent.
    sent: Time,
    /// The number of that transmission.
    number: u64,
    /// The segment was sent more than once.
    again: bool,
    /// The segment has arrived.
    arrived: bool,
    /// The segment counts as lost, and has not been sent since.
    lost: bool,
}

/// The time, and the sender's timing state.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Clock {
    pub(in super::super) now: Time,
    /// The smoothed round trip.
    pub(in super::super) srtt: Option<Duration>,
    /// The retransmission timer.
    pub(in super::super) deadline: Option<Time>,
}

impl Clock {
    /// Returns the timing state at `now`; a `deadline` of [`Time::MAX`] is no timer.
    pub(in super::super) fn new(now: Time, rtt: &Rtt, deadline: Time) -> Self {
        Self { now, srtt: rtt.mean(), deadline: (deadline < Time::MAX).then_some(deadline) }
    }
}

/// The timer's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Alarm {
    /// Segments are lost, and recovery has begun.
    Recovery,
    /// The segment is to be sent as a probe, regardless of the window.
    Probe(u32),
    /// Nothing else.
    None,
}

impl Rack {
    /// Returns the state before the first segment.
    pub(super) fn new(tcp: &Tcp) -> Self {
        Self { timestamps: tcp.timestamps, as_linux: tcp.as_linux, ..Self::default() }
    }

    /// Notes a transmission of `seq`.
    #[inline(never)]
    pub(super) fn on_send(&mut self, state: &SenderState, seq: u32, clock: Clock) {
        let now = clock.now;
        if self.segments.is_empty() {
            self.first = state.una;
        }
        self.count += 1;
        let number = self.count;
        let place = seq.saturating_sub(self.first) as usize;
        match self.segments.get_mut(place) {
            Some(segment) => {
                if segment.lost {
                    self.lost.remove(&seq);
                }
                *segment = Outstanding { sent: now, number, again: true, lost: false, ..*segment };
                self.spurious.copied(now);
                self.unreported = self.unreported.saturating_add(1);
            }
            None => {
                let segment = Outstanding { sent: now, number, again: false, arrived: false, lost: false };
                self.segments.push_back(segment);
                self.set_probe(state, clock);
            }
        }
        self.transmissions.push_back((number, seq));
        if state.recovering || self.slowing {
            self.prr.sent();
        }
    }

    /// Records what an acknowledgement delivers; `state` already reflects its cumulative part.
    #[inline(never)]
    pub(super) fn note(&mut self, state: &mut SenderState, ack: Ack, now: Time) -> bool {
        let ack = &ack;
        let duplicate = ack.sack.duplicate(ack.next);
        self.delivered = 0;
        self.original = false;
        self.una_before = self.first;
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        let mut fresh_in = |arrived: &mut Ranges, start: u32, end: u32| {
            arrived.insert(start, end, |from, to| fresh.push((from, to))).new
        };
        if state.una > self.first && !self.segments.is_empty() {
            self.count_arrived += fresh_in(&mut self.arrived, self.first, state.una);
        }
        let mut new = 0;
        for &(start, end) in ack.sack.as_slice() {
            // A block that holds the first unacknowledged segment contradicts the acknowledgement itself.
            if state.una < start && start < end && end <= state.max {
                new += fresh_in(&mut self.arrived, start, end);
            }
        }
        // In the order of the data, so that only segments that overtook others look so.
        fresh.sort_unstable();
        for &(from, to) in &fresh {
            if from >= state.una {
                state.window.arrived(from, to);
            }
            let echo = Some(ack.echo).filter(|_| self.timestamps && from < state.una);
            (from..to).for_each(|seq| self.deliver(seq, now, echo));
        }
        self.fresh = fresh;
        self.count_arrived += new;
        self.count_arrived -= self.arrived.remove_below(state.una);
        self.segments.drain(..(state.una.saturating_sub(self.first) as usize).min(self.segments.len()));
        self.first = state.una;
        self.on_duplicate(state, duplicate);
        self.judge_probe(state, ack, (new > 0, duplicate));
        new > 0
    }

    /// Handles the arrival of `seq`: steps 1 to 3 of RFC 8985, section 6.2. `echo` is the timestamp echoed, if `seq` is
    /// acknowledged cumulatively: for a segment that is out of order it is that of an earlier one (RFC 7323, section
    /// 4.3).
    fn deliver(&mut self, seq: u32, now: Time, echo: Option<Time>) {
        let Some(place) = self.segments.get_mut(seq.saturating_sub(self.first) as usize) else { return };
        let segment = *place;
        (place.arrived, place.lost) = (true, false);
        self.delivered += 1;
        self.original |= !segment.again && self.spurious.examines(seq);
        if segment.lost {
            self.lost.remove(&seq);
        }
        let rtt = now.since(segment.sent);
        // It may have been an earlier copy if this one had not been sent, or no round trip is that short.
        let before = echo.map_or(self.min_rtt.is_none(), |echo| echo < segment.sent);
        let unclear = segment.again && (before || self.min_rtt.is_some_and(|least| rtt < least));
        if !unclear {
            if !segment.again {
                self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            }
            if self.as_linux || self.latest < Some(segment.number) {
                self.rtt = rtt;
            }
            self.latest = self.latest.max(Some(segment.number));
        }
        if seq >= self.highest {
            self.highest = seq + 1;
        } else if !segment.again {
            self.reordering = self.reordering.max(self.highest - seq);
        }
    }

    /// Handles an acknowledgement of new segments.
    #[inline(never)]
    pub(super) fn on_advance(&mut self, state: &mut SenderState, sample: AckSample, grow: bool) -> Advance {
        if self.slowing {
            if state.una >= self.end {
                self.slowing = false;
                state.window.resume(f64::INFINITY);
            }
        } else if !state.recovering {
            if grow {
                state.window.grow(&sample);
            }
            if self.timed_out_at.is_some() && state.una >= state.fast_from {
                self.timed_out_at = None;
                self.reordering_window.on_recovered();
            }
        } else if state.una >= self.end {
            state.recovering = false;
            self.reordering_window.on_recovered();
            if !state.window.has_model() {
                state.window.resume(f64::INFINITY);
            }
        }
        Advance::Proceed
    }

    /// Finds losses after an acknowledgement, and sets the window of a recovery. Returns true if recovery begins.
    #[inline(never)]
    pub(super) fn after_ack(&mut self, state: &mut SenderState, clock: Clock) -> bool {
        let flight = self.flight_before(state);
        let lost = self.find_losses(state, clock);
        let begins = lost && self.begin(state, flight);
        if (state.recovering || self.slowing) && self.delivered > 0 {
            self.reduce(state, state.una > self.una_before && !lost);
        }
        if self.delivered > 0 {
            self.set_probe(state, clock);
        }
        begins
    }

    /// Returns RecoverFS of RFC 9937: the segments outstanding before the current acknowledgement, without those that
    /// had arrived.
    fn flight_before(&self, state: &SenderState) -> u32 {
        state.max - state.una - self.arrived(state) + self.delivered
    }

    /// Marks lost segments (RFC 8985, section 6.2, step 5); returns true if there are new ones.
    fn find_losses(&mut self, state: &mut SenderState, clock: Clock) -> bool {
        self.loss_at = None;
        let Some(latest) = self.latest else { return false };
        let patience = self.rtt + self.reordering_window(state, clock.srtt);
        let mut found = false;
        while let Some(&(number, seq)) = self.transmissions.front() {
            if let Some(sent) = self.in_network(number, seq) {
                if number >= latest {
                    break;
                }
                if sent + patience > clock.now {
                    let last = self.last_before(latest).unwrap_or(sent);
                    self.loss_at = Some(last + patience + if self.as_linux { LINUX_TIMER } else { Duration::ZERO });
                    break;
                }
                self.lose(state, clock.now, seq);
                found = true;
            }
            self.transmissions.pop_front();
        }
        found
    }

    /// Returns the time of the last transmission before `latest` that is in the network. The transmissions up to the
    /// one found last time are looked at again only if that one is not there any more.
    fn last_before(&mut self, latest: u64) -> Option<Time> {
        let (looked, found) = self.overtaken;
        let place = |before: u64| self.transmissions.partition_point(|(number, _)| *number < before);
        let there = |&(number, seq): &(u64, u32)| self.in_network(number, seq).is_some();
        let (old, end) = (place(looked), place(latest));
        let last = |from: usize, to: usize| self.transmissions.range(from..to).rev().find(|one| there(one)).copied();
        let found = last(old, end).or_else(|| found.filter(there)).or_else(|| last(0, old));
        debug_assert_eq!(found, last(0, end), "what was looked at before has not come back");
        self.overtaken = (latest, found);
        found.and_then(|(number, seq)| self.in_network(number, seq))
    }

    /// Returns the time of transmission `number`, of `seq`, if it is the last one and has neither arrived nor been
    /// lost.
    fn in_network(&self, number: u64, seq: u32) -> Option<Time> {
        let segment = seq.checked_sub(self.first).and_then(|place| self.segments.get(place as usize))?;
        (segment.number == number && !segment.arrived && !segment.lost).then_some(segment.sent)
    }

    /// Notes that `seq`, which is outstanding, is lost.
    fn lose(&mut self, state: &mut SenderState, now: Time, seq: u32) {
        if let Some(segment) = self.segments.get_mut(seq.saturating_sub(self.first) as usize) {
            segment.lost = true;
        }
        if self.lost.insert(seq) {
            state.window.lost(now, seq);
        }
    }

    /// Begins a recovery, unless one is going on or the losses are of a window that has been reduced already.
    fn begin(&mut self, state: &mut SenderState, flight: u32) -> bool {
        if state.recovering || state.una < state.fast_from {
            return false;
        }
        if std::mem::take(&mut self.slowing) {
            // The mark's reduction is enough, and right.
            self.spurious.forget();
            state.reduced();
        } else {
            self.spurious.reduced(state.window.size(), state.una, self.copies_out());
            state.cut();
        }
        state.window.resume(f64::INFINITY);
        state.recovering = true;
        self.end = state.max;
        self.prr = Prr::begin(flight);
        self.probe_at = None;
        self.probe = None;
        true
    }

    /// Lets the window fall to the threshold, after a mark.
    pub(super) fn slow_down(&mut self, state: &mut SenderState) {
        (self.slowing, self.end) = (true, state.max);
        self.prr = Prr::begin(self.flight_before(state));
        self.reduce(state, false);
    }

    /// Sets the window by proportional rate reduction; BBR has its own way.
    fn reduce(&mut self, state: &mut SenderState, safe: bool) {
        if state.window.has_model() {
            return;
        }
        let in_flight = self.in_flight(state);
        let progress = Progress { delivered: self.delivered, in_flight, safe };
        let budget = self.prr.budget(progress, state.window.ssthresh());
        state.window.set(f64::from(in_flight.saturating_add(budget)));
    }

    /// Handles a retransmission timeout: the first segment is lost, and those sent a round trip ago (RFC 8985, section
    /// 6.3). A timeout that repeats leaves the threshold (RFC 5681, section 3.1).
    pub(super) fn on_timeout(&mut self, state: &mut SenderState, clock: Clock) {
        let patience = self.rtt + self.reordering_window(state, clock.srtt);
        let again = state.una < state.fast_from;
        let repeated = again && self.timed_out_at == Some(state.una);
        let examines = repeated || !(again || state.recovering);
        self.spurious.timed_out(examines.then_some(state.max));
        // Linux leaves it, too, in fast recovery and after a mark.
        let reduced = state.as_linux && !state.window.has_model() && (state.recovering || self.slowing);
        if !state.recovering && !repeated {
            self.spurious.reduced(state.window.size(), state.una, self.copies_out());
        }
        if repeated || reduced {
            state.collapse();
        } else {
            state.time_out();
        }
        self.timed_out_at = Some(state.una);
        self.slowing = false;
        // Only lost segments are sent again.
        state.next = state.max;
        for place in 0..self.segments.len() {
            let (seq, segment) = (self.first + place as u32, self.segments[place]);
            let old = seq == state.una || segment.sent + patience <= clock.now;
            if old && !segment.arrived {
                self.lose(state, clock.now, seq);
            }
        }
        self.loss_at = None;
        self.probe_at = None;
        self.probe = None;
    }

    /// Returns the number of segments that have arrived beyond the first unacknowledged one.
    pub(super) fn arrived(&self, state: &SenderState) -> u32 {
        debug_assert_eq!(self.count_arrived, self.arrived.count(state.una, state.max));
        self.count_arrived
    }

    /// Returns the time of the timer, which is not the retransmission timer.
    pub(super) fn alarm(&self) -> Option<Time> {
        self.loss_at.into_iter().chain(self.probe_at).min()
    }

    /// Handles the timer.
    pub(super) fn on_alarm(&mut self, state: &mut SenderState, clock: Clock) -> Alarm {
        self.delivered = 0;
        if self.loss_at.is_some_and(|at| at <= clock.now) {
            let flight = self.flight_before(state);
            if self.find_losses(state, clock) && self.begin(state, flight) {
                self.reduce(state, false);
                return Alarm::Recovery;
            }
            return Alarm::None;
        }
        if self.probe_at.take().is_some_and(|at| at <= clock.now) { self.send_probe(state) } else { Alarm::None }
    }

    #[inline(never)]
    pub(super) fn room(&self, state: &SenderState) -> u32 {
        state.window.usable(0).saturating_sub(self.in_flight(state))
    }

    pub(super) fn in_flight(&self, state: &SenderState) -> u32 {
        state.max - state.una - self.arrived(state) - self.lost.len() as u32
    }

    /// Returns the number of segments that the current acknowledgement of `acked` delivers; `acked` where more
    /// than three segments overtake another: Linux then grows the window on SACK blocks, too.
    pub(super) fn newly(&self, acked: u32) -> u32 {
        if self.reordering > DUPTHRESH { acked } else { self.delivered }
    }

    /// Returns the first lost segment or, if there is none, a new one.
    #[inline(never)]
    pub(super) fn pick(&mut self, state: &mut SenderState) -> Option<u32> {
        if self.spurious.probes() {
            return state.step().or_else(|| self.lost.first().copied());
        }
        self.lost.first().copied().or_else(|| state.step())
    }
}
