//! The TCP sender.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

use super::accurate_ecn::MarkFeedback;
use super::congestion::{AckSample, CongestionControl, LossState};
use super::recovery::{Advance, Alarm, Clock, Recovery};
use super::rtt::{Rtt, Timing};
use super::state::SenderState;
use super::{Ack, Segment, SegmentSink};
use crate::endpoint::Ecn;

/// The sending side of one connection.
///
/// Without pacing the sender fills the window at once, so an acknowledgement that opens the window by ten
/// segments causes a burst of ten, as in ns-2. After a timeout it goes back to the first unacknowledged segment.
///
/// A connection can carry 2^32 − 1 segments; after them it sends no new data, as after [`stop`](Self::stop).
#[derive(Debug)]
pub struct TcpSender {
    state: SenderState,
    recovery: Recovery,
    rtt: Rtt,
    timing: Timing,
    /// The parts that only some connections have.
    extra: Option<Box<Extra>>,
    /// When the retransmission timer fires; [`Time::MAX`] while it is off.
    deadline: Time,
    timeouts: u32,
    retransmissions: u32,
}

/// A packet without data by which a sender opens a connection (RFC 9293, section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The first packet, or a copy of it.
    Syn,
    /// The acknowledgement of the SYN-ACK.
    Ack,
}

/// The parts that only some connections have.
#[derive(Clone, Debug)]
struct Extra {
    /// `None`: the connection is open.
    handshake: Option<Handshake>,
    /// The feedback of accurate ECN; `None`: acknowledgements echo marks.
    marks: Option<MarkFeedback>,
}

impl Extra {
    /// Returns what a connection of `tcp` has; `None` if that is nothing.
    fn new(tcp: &Tcp) -> Option<Box<Self>> {
        let handshake = tcp.handshake.then_some(Handshake::Closed);
        let marks = (tcp.ecn && tcp.accurate_ecn).then(MarkFeedback::new);
        (handshake.is_some() || marks.is_some()).then(|| Box::new(Self { handshake, marks }))
    }
}

/// The state of a connection that is not open.
#[derive(Clone, Copy, Debug)]
enum Handshake {
    /// No SYN has been sent.
    Closed,
    /// The first SYN was sent at this time, and this many copies after it.
    SynSent { at: Time, copies: u32 },
}

impl TcpSender {
    /// [Asks for](crate::network::prefetch) the scoreboard.
    pub(crate) fn prefetch_scoreboard(&self) {
        self.recovery.prefetch_scoreboard();
    }

    /// Returns a sender that has sent nothing. A window of 0 counts as 1. `clock_offset` is the offset of the sender's
    /// clock from simulated time: it determines the times of the clock's ticks and the phase in which BBR begins to
    /// probe. A congestion control of the caller's, [`Congestion::Own`](fairlane_scenario::Congestion::Own), is Reno
    /// here; see [`with_congestion`](Self::with_congestion).
    #[must_use]
    pub fn new(tcp: &Tcp, clock_offset: Duration) -> Self {
        Self::with_congestion(tcp, clock_offset, None)
    }

    /// Returns a sender as [`new`](Self::new) does, with a congestion control of the caller; for `None` it has that of
    /// `tcp`.
    #[must_use]
    pub fn with_congestion(tcp: &Tcp, clock_offset: Duration, own: Option<Box<dyn CongestionControl>>) -> Self {
        Self {
            state: SenderState::new(tcp, clock_offset.as_nanos(), own),
            recovery: Recovery::new(tcp),
            rtt: Rtt::new(tcp, clock_offset),
            timing: if tcp.timestamps { Timing::Timestamps } else { Timing::Idle },
            extra: Extra::new(tcp),
            deadline: Time::MAX,
            timeouts: 0,
            retransmissions: 0,
        }
    }

    /// Starts sending unlimited data, or continues after [`stop`](Self::stop).
    pub fn start(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.supply(now, u32::MAX, output);
    }

    /// Sets the number of segments that the application has provided since the start. A number below an earlier one is
    /// ignored.
    pub fn supply(&mut self, now: Time, segments: u32, output: &mut impl SegmentSink) {
        self.state.supplied = self.state.supplied.max(segments);
        self.fill_apart(now, output);
    }

    /// Stops sending new data. Losses of outstanding segments are still repaired.
    pub fn stop(&mut self) {
        self.state.supplied = self.state.max;
    }

    /// Handles the answer to a SYN; a second one is ignored.
    ///
    /// The answer to a SYN that was sent once is the first measurement of the round trip. After a copy of it there is
    /// none (Karn's algorithm), and the timeout is 3 s or more (RFC 6298, section 5.7). After a second copy the window
    /// is one segment (RFC 6928, section 2).
    pub fn on_syn_ack(&mut self, now: Time, output: &mut impl SegmentSink) {
        let Some(Handshake::SynSent { at, copies }) = self.handshake().copied() else { return };
        if let Some(extra) = &mut self.extra {
            extra.handshake = None;
        }
        self.deadline = Time::MAX;
        if copies == 0 {
            self.rtt.sample(at, now, false);
        } else {
            self.rtt.restart();
        }
        if copies > 1 {
            self.state.window.set(1.0);
        }
        output.open(Opening::Ack);
        self.fill_apart(now, output);
    }

    /// Handles an acknowledgement. It is ignored if it acknowledges segments that were never sent. Of one that is older
    /// than another only SACK blocks count (RFC 6675, section 5).
    pub fn on_ack(&mut self, now: Time, ack: &Ack, output: &mut impl SegmentSink) {
        if ack.next > self.state.max || (ack.next < self.state.una && !self.is_useful(ack)) {
            return;
        }
        let acked = ack.next.saturating_sub(self.state.una);
        let (limit, used) = (self.state.slow_start_limit(), self.state.uses_window());
        self.state.una += acked;
        let counts = self.recovery.note(&mut self.state, ack, acked, now);
        let old = ack.next < self.state.una;
        let marks = self.extra.as_mut().and_then(|extra| extra.marks.as_mut());
        let counted =
            marks.map(|marks| if old { 0 } else { marks.marked(ack.ace, self.recovery.delivered(&self.state)) });
        let echoed = ack.ece && self.state.ecn;
        let congested = counted.map_or(echoed && !old, |marked| marked > 0);
        self.recovery.judge_reduction(&mut self.state, ack, counts, congested || echoed);
        let sample = AckSample {
            now,
            una: self.state.una,
            max: self.state.max,
            acked,
            newly: self.state.as_linux.then(|| self.recovery.newly(&self.state, acked)),
            byte_counting: self.state.byte_counting,
            limit,
            as_linux: self.state.as_linux,
            used,
            marked: congested,
            counted,
            rtt: now.since(ack.echo),
            delay: ack.delay,
        };
        if sample.acked > 0 {
            self.advance(ack, &sample, output);
        } else if counts && self.state.max > self.state.una {
            self.state.dupacks = self.state.dupacks.saturating_add(1);
            self.state.window.set_now(now);
            if self.recovery.on_duplicate(&mut self.state) {
                self.repair(now, output);
            }
        }
        let Self { recovery, state, rtt, deadline, .. } = self;
        if recovery.after_ack(state, || Clock::new(now, rtt, *deadline)) {
            self.begin_repair(now);
        }
        if self.state.window.has_control() {
            let loss_state =
                LossState { in_flight: self.recovery.in_flight(&self.state), recovering: self.state.recovering };
            self.state.window.on_ack(sample, loss_state);
        }
        // Once per window (RFC 3168, section 6.1.2).
        if congested && self.state.una >= self.state.echo_from && self.state.window.reacts_to_mark() {
            self.react_to_mark(now);
        }
        self.fill(now, output);
    }

    /// Returns true if an acknowledgement that is older than another one has SACK blocks that count.
    #[cold]
    fn is_useful(&self, ack: &Ack) -> bool {
        self.recovery.uses_sack() && !ack.sack.is_empty()
    }

    /// Handles the timers. To be called at or after [`deadline`](Self::deadline) and [`release`](Self::release); it
    /// does nothing before these times.
    pub fn on_timer(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.state.window.set_now(now);
        let due = |time: Option<Time>| time.is_some_and(|time| time <= now);
        if due(self.recovery.alarm()) {
            self.on_alarm(now, output);
        } else if due((self.deadline < Time::MAX).then_some(self.deadline)) {
            self.on_deadline(now, output);
        } else if !due(self.release()) {
            return;
        }
        self.fill_apart(now, output);
    }

    /// Handles the timer of loss recovery.
    fn on_alarm(&mut self, now: Time, output: &mut impl SegmentSink) {
        let clock = Clock::new(now, &self.rtt, self.deadline);
        match self.recovery.on_alarm(&mut self.state, clock) {
            Alarm::Recovery => self.begin_repair(now),
            Alarm::Probe(seq) => {
                self.restart_timer(now);
                self.transmit_apart(now, seq, output);
            }
            Alarm::None => {}
        }
    }

    /// Handles the retransmission timer.
    fn on_deadline(&mut self, now: Time, output: &mut impl SegmentSink) {
        if let Some(Handshake::SynSent { copies, .. }) = self.handshake() {
            *copies += 1;
            self.timeouts = self.timeouts.saturating_add(1);
            self.rtt.back_off();
            self.restart_timer(now);
            return output.open(Opening::Syn);
        }
        let waited = std::mem::take(&mut self.state.waits);
        if waited && self.state.una == self.state.max {
            // Nothing is lost: this was the wait after a mark at a window of one segment.
            self.deadline = Time::MAX;
            self.rtt.back_off();
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        let clock = Clock::new(now, &self.rtt, self.deadline);
        self.recovery.on_timeout(&mut self.state, clock);
        self.rtt.back_off();
        self.repair(now, output);
    }

    /// Returns the time at which the retransmission timer fires or, if that is earlier, the timer of loss recovery
    /// (RFC 8985); `None` if both are off.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let first = self.deadline.min(self.recovery.alarm().unwrap_or(Time::MAX));
        (first < Time::MAX).then_some(first)
    }

    /// Returns the time at which pacing allows the next segment; `None` if pacing holds none back.
    #[must_use]
    pub fn release(&self) -> Option<Time> {
        self.state.window.release()
    }

    /// Returns the number of retransmission timeouts so far, those of SYNs included.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        u64::from(self.timeouts)
    }

    /// Returns the number of retransmitted segments so far, including unnecessary ones.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        u64::from(self.retransmissions)
    }

    /// Returns the congestion window in segments, including its inflation by fast recovery (RFC 5681, section 3.2); at
    /// least 1.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        (self.state.window.cwnd() + f64::from(self.state.inflation)).max(1.0)
    }

    /// Returns the slow start threshold in segments; before the first congestion, the receiver's window.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.state.window.ssthresh()
    }

    /// Returns the smoothed round-trip time; `None` before the first sample, and after four timeouts in a row until the
    /// next sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.mean()
    }

    /// Returns the retransmission timeout, including backoff, to which the timer will be set next.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rtt.timeout()
    }

    /// Returns the number of segments sent and not acknowledged cumulatively (FlightSize of RFC 5681); after a timeout,
    /// of those sent since.
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.state.flight()
    }

    /// Returns the number of segments sent at least once.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.state.max
    }

    /// Returns the number of segments acknowledged cumulatively.
    #[must_use]
    pub fn acknowledged(&self) -> u32 {
        self.state.una
    }

    /// Returns the ECN field of its data. The L4S service has ECT(1) (RFC 9331, section 4.1).
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match (self.state.ecn, self.is_l4s()) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        }
    }

    /// Returns true if congestion control is that of the L4S service.
    pub(crate) fn is_l4s(&self) -> bool {
        self.state.window.is_scalable()
    }

    // A page loads the program, so there it may not be large.
    /// Handles an acknowledgement of new segments.
    #[inline(always)]
    fn advance(&mut self, ack: &Ack, sample: &AckSample, output: &mut impl SegmentSink) {
        let now = sample.now;
        self.state.next = self.state.next.max(self.state.una);
        self.state.dupacks = 0;
        self.measure(now, ack, sample.marked);
        let grows = self.state.window.grows(sample);
        let advance = self.recovery.on_advance(&mut self.state, sample, grows);
        if self.state.waits {
            // The wait continues.
        } else if self.state.una == self.state.max {
            self.deadline = Time::MAX;
        } else if advance != (Advance::Repair { restart: false }) {
            self.restart_timer(now);
        }
        if let Advance::Repair { .. } = advance {
            self.resend_first(now, output);
        }
    }

    #[inline]
    fn measure(&mut self, now: Time, ack: &Ack, marked: bool) {
        // With waits at a window of one segment, a mark means that congestion continues, so the backoff stays.
        let keeps_backoff = marked && self.state.ecn_timeout;
        match self.timing {
            Timing::Timestamps => self.rtt.sample(ack.echo, now, keeps_backoff),
            Timing::Segment { seq, sent } if seq < ack.next => {
                self.rtt.sample(sent, now, keeps_backoff);
                self.timing = Timing::Idle;
            }
            Timing::Segment { .. } | Timing::Idle => {}
        }
    }

    /// Reduces the window or, if it is one segment already and has no fractions, waits for the retransmission timer
    /// (RFC 3168, section 6.1.2).
    fn react_to_mark(&mut self, now: Time) {
        self.state.window.set_now(now);
        let whole = !self.state.window.is_scalable();
        let waits = self.state.ecn_timeout && whole && self.state.window.cwnd() <= 1.0;
        let gradual = self.state.as_linux && self.recovery.can_slow_down(&self.state);
        self.state.cut_by_ecn(!gradual);
        if gradual {
            self.recovery.slow_down(&mut self.state);
        }
        if waits {
            self.state.waits = true;
            self.restart_timer(now);
        }
    }

    /// Does what [`fill`](Self::fill) does, where that is not to be compiled once more.
    #[inline(never)]
    fn fill_apart(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.fill(now, output);
    }

    /// Sends the segments that the window, the data and pacing allow.
    #[inline(always)]
    fn fill(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.state.window.forget_release();
        if !self.is_open(now, output) || self.state.waits {
            return;
        }
        if self.state.una == self.state.max && self.state.supplied > self.state.max {
            self.state.window.on_restart(now, self.rtt.timeout());
        }
        for _ in 0..self.recovery.room(&self.state) {
            if self.state.window.holds_back(now) {
                return self.state.note_use(self.state.half_out());
            }
            let Some(seq) = self.recovery.pick(&mut self.state) else {
                self.state.window.on_application_limited(self.recovery.in_flight(&self.state));
                self.state.window.on_unfilled(now, self.state.flight(), self.rtt.timeout());
                return self.state.note_use(false);
            };
            self.transmit(now, seq, output);
        }
        self.state.window.on_full(now);
        self.state.note_use(self.state.window.is_limit());
    }

    /// Returns the state of a connection that is not open.
    #[inline]
    fn handshake(&mut self) -> Option<&mut Handshake> {
        self.extra.as_mut().and_then(|extra| extra.handshake.as_mut())
    }

    /// Returns true if data may be sent; begins the handshake if there are data and it has not begun.
    fn is_open(&mut self, now: Time, output: &mut impl SegmentSink) -> bool {
        let supplied = self.state.supplied;
        let Some(handshake) = self.handshake() else { return true };
        if matches!(handshake, Handshake::Closed) && supplied > 0 {
            *handshake = Handshake::SynSent { at: now, copies: 0 };
            self.restart_timer(now);
            output.open(Opening::Syn);
        }
        false
    }

    /// Retransmits the first unacknowledged segment with a new timer.
    fn repair(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.begin_repair(now);
        self.resend_first(now, output);
    }

    fn begin_repair(&mut self, now: Time) {
        // The delay of the repair is no part of a round trip: BSD and ns-2 discard the measurement, too.
        self.timing.discard();
        self.restart_timer(now);
    }

    #[inline(never)]
    fn resend_first(&mut self, now: Time, output: &mut impl SegmentSink) {
        self.state.next = self.state.next.max(self.state.una + 1);
        self.transmit_apart(now, self.state.una, output);
    }

    #[inline(always)]
    fn transmit(&mut self, now: Time, seq: u32, output: &mut impl SegmentSink) {
        let in_flight = if self.state.window.has_model() { self.recovery.in_flight(&self.state) + 1 } else { 0 };
        self.state.window.on_send(now, seq, self.state.una == self.state.max, in_flight);
        let retransmission = seq < self.state.max;
        let cwr = self.state.cwr && !retransmission;
        if retransmission {
            self.retransmissions = self.retransmissions.saturating_add(1);
            // Karn's algorithm: an acknowledgement could be for either copy.
            if matches!(self.timing, Timing::Segment { seq: timed, .. } if timed == seq) {
                self.timing.discard();
            }
        } else {
            self.state.max = seq + 1;
            self.state.cwr &= !cwr;
            if matches!(self.timing, Timing::Idle) {
                self.timing = Timing::Segment { seq, sent: now };
            }
        }
        if self.deadline == Time::MAX {
            self.restart_timer(now);
        }
        self.recovery.on_send(&self.state, seq, || Clock::new(now, &self.rtt, self.deadline));
        output.send(Segment { seq, retransmission, cwr });
    }

    /// Does what [`transmit`](Self::transmit) does, where that is not to be compiled once more.
    #[inline(never)]
    fn transmit_apart(&mut self, now: Time, seq: u32, output: &mut impl SegmentSink) {
        self.transmit(now, seq, output);
    }

    fn restart_timer(&mut self, now: Time) {
        self.deadline = now + self.rtt.timeout();
    }
}
