//! The sender.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

use super::law::{News, Standing};
use super::recovery::{Advance, Recovery};
use super::rtt::Rtt;
use super::state::State;
use super::{Ack, Network, Segment};

/// The sending side of one connection.
///
/// Unless it is paced it sends whatever the window allows at once, so an acknowledgement that opens the window by ten
/// segments causes a burst of ten, as in ns-2. After a timeout it goes back to the first unacknowledged segment.
///
/// A connection can carry 2^32 − 1 segments. Then it sends no new data, as after [`stop`](Self::stop).
#[derive(Clone, Debug)]
pub struct Sender {
    state: State,
    recovery: Recovery,
    rtt: Rtt,
    /// The segment whose round trip is being timed, and when it was sent; unused with timestamps.
    timed: Option<(u32, Time)>,
    deadline: Option<Time>,
    timestamps: bool,
    timeouts: u64,
    retransmissions: u64,
}

impl Sender {
    /// A sender that has sent nothing. A window of 0 counts as 1. Its clock is `ahead` of the common time: this says where the
    /// ticks fall by which it measures, where whole ticks make no difference, and in which phase BBR begins to probe.
    #[must_use]
    pub fn new(tcp: &Tcp, ahead: Duration) -> Self {
        Self {
            state: State::new(tcp, ahead.as_nanos()),
            recovery: Recovery::new(tcp.congestion),
            rtt: Rtt::new(tcp, ahead),
            timed: None,
            deadline: None,
            timestamps: tcp.timestamps,
            timeouts: 0,
            retransmissions: 0,
        }
    }

    /// Begins to send, with unlimited data; after [`stop`](Self::stop), goes on.
    pub fn start(&mut self, now: Time, network: &mut impl Network) {
        self.supply(now, u32::MAX, network);
    }

    /// The application has given `segments` in all, from the first one on; fewer than before change nothing.
    pub fn supply(&mut self, now: Time, segments: u32, network: &mut impl Network) {
        self.state.supplied = self.state.supplied.max(segments);
        self.fill(now, network);
    }

    /// Sends no new data from now on; what is outstanding is still repaired.
    pub fn stop(&mut self) {
        self.state.supplied = self.state.max;
    }

    /// Takes an acknowledgement. One for segments that were never sent, or older than another one, is ignored.
    pub fn on_ack(&mut self, now: Time, ack: &Ack, network: &mut impl Network) {
        if ack.next < self.state.una || ack.next > self.state.max {
            return;
        }
        let congested = ack.ece && self.state.ecn;
        let acked = ack.next - self.state.una;
        let news = News {
            now,
            una: ack.next,
            max: self.state.max,
            acked,
            counted: self.state.counted(acked),
            marked: congested,
            rtt: now.since(ack.echo),
        };
        self.state.una = ack.next;
        let tells = self.recovery.note(&mut self.state, &ack.sack);
        if news.acked > 0 {
            self.advance(ack, &news, network);
        } else if tells && self.state.max > self.state.una {
            self.state.dupacks = self.state.dupacks.saturating_add(1);
            if self.recovery.on_duplicate(&mut self.state) {
                self.repair(now, network);
            }
        }
        if self.state.window.watches() {
            let standing =
                Standing { in_flight: self.recovery.in_flight(&self.state), recovering: self.state.recovering };
            self.state.window.on_ack(&news, standing);
        }
        // RFC 3168 6.1.2: once a window.
        if congested && self.state.una >= self.state.echo_from {
            self.react_to_mark(now);
        }
        self.fill(now, network);
    }

    /// To be called at [`deadline`](Self::deadline) and at [`release`](Self::release) or later; does nothing before.
    pub fn on_timer(&mut self, now: Time, network: &mut impl Network) {
        let due = |time: Option<Time>| time.is_some_and(|time| time <= now);
        if due(self.deadline) {
            self.on_deadline(now, network);
        } else if !due(self.release()) {
            return;
        }
        self.fill(now, network);
    }

    /// The retransmission timer has fired.
    fn on_deadline(&mut self, now: Time, network: &mut impl Network) {
        let waited = std::mem::take(&mut self.state.waits);
        if waited && self.state.una == self.state.max {
            // Nothing is lost: this was the wait that a mark at a window of 1 asks for.
            self.deadline = None;
            self.rtt.back_off();
            return;
        }
        self.timeouts += 1;
        self.recovery.on_timeout(&mut self.state);
        self.rtt.back_off();
        self.repair(now, network);
    }

    /// When the sender wants to be woken if no acknowledgement comes before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// When pacing lets the next segment go, and the sender wants to be woken; `None` if it holds none back.
    #[must_use]
    pub fn release(&self) -> Option<Time> {
        self.state.window.release()
    }

    /// Retransmission timeouts so far.
    #[must_use]
    pub fn timeouts(&self) -> u64 {
        self.timeouts
    }

    /// Segments sent again so far, needed or not.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// The congestion window in segments, with what fast recovery has added to it (RFC 5681 3.2); at least 1.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        (self.state.window.cwnd() + f64::from(self.state.inflation)).max(1.0)
    }

    /// The slow start threshold in segments; the receiver's window before the first congestion.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        self.state.window.ssthresh()
    }

    /// The smoothed round trip; `None` before the first sample, and again after four timeouts in a row until the next.
    #[must_use]
    pub fn srtt(&self) -> Option<Duration> {
        self.rtt.mean()
    }

    /// The retransmission timeout that the next timer is set to, with backoff.
    #[must_use]
    pub fn rto(&self) -> Duration {
        self.rtt.timeout()
    }

    /// Segments sent and not yet acknowledged cumulatively (RFC 5681's FlightSize); after a timeout, those sent since.
    #[must_use]
    pub fn flight(&self) -> u32 {
        self.state.flight()
    }

    /// The oldest segment that has not been acknowledged; as many have been.
    #[must_use]
    pub fn acknowledged(&self) -> u32 {
        self.state.una
    }

    fn advance(&mut self, ack: &Ack, news: &News, network: &mut impl Network) {
        let now = news.now;
        self.state.next = self.state.next.max(self.state.una);
        self.state.dupacks = 0;
        self.measure(now, ack);
        let advance = self.recovery.on_advance(&mut self.state, news, !news.marked);
        if self.state.waits {
            // The wait goes on, whatever comes.
        } else if self.state.una == self.state.max {
            self.deadline = None;
        } else if advance != (Advance::Repair { restart: false }) {
            self.restart_timer(now);
        }
        if let Advance::Repair { .. } = advance {
            self.resend_first(now, network);
        }
    }

    fn measure(&mut self, now: Time, ack: &Ack) {
        // With waits at a window of 1, a mark is congestion that goes on, and no end of the backoff.
        let keeps_backoff = ack.ece && self.state.ecn_timeout;
        if self.timestamps {
            self.rtt.sample(ack.echo, now, keeps_backoff);
        } else if let Some((_, sent)) = self.timed.filter(|(seq, _)| *seq < ack.next) {
            self.rtt.sample(sent, now, keeps_backoff);
            self.timed = None;
        }
    }

    /// RFC 3168 6.1.2: cuts the window or, where there is nothing to cut, waits for the retransmission timer.
    fn react_to_mark(&mut self, now: Time) {
        let waits = self.state.ecn_timeout && self.state.window.cwnd() <= 1.0;
        self.state.cut_by_ecn();
        if waits {
            self.state.waits = true;
            self.restart_timer(now);
        }
    }

    fn fill(&mut self, now: Time, network: &mut impl Network) {
        self.state.window.forget_release();
        if self.state.waits {
            return;
        }
        for _ in 0..self.recovery.room(&self.state) {
            if self.state.window.holds_back(now) {
                break;
            }
            let Some(seq) = self.recovery.pick(&mut self.state) else {
                self.state.window.ran_dry(self.recovery.in_flight(&self.state));
                break;
            };
            self.transmit(now, seq, network);
        }
    }

    /// Begins to repair a loss.
    fn repair(&mut self, now: Time, network: &mut impl Network) {
        // The wait for the repair is no part of a round trip: BSD and ns-2 give up whatever they were timing.
        self.timed = None;
        self.restart_timer(now);
        self.resend_first(now, network);
    }

    fn resend_first(&mut self, now: Time, network: &mut impl Network) {
        self.state.next = self.state.next.max(self.state.una + 1);
        self.transmit(now, self.state.una, network);
    }

    fn transmit(&mut self, now: Time, seq: u32, network: &mut impl Network) {
        self.state.window.on_send(now, seq, self.state.una == self.state.max);
        let retransmission = seq < self.state.max;
        let cwr = self.state.cwr && !retransmission;
        if retransmission {
            self.retransmissions += 1;
            // Karn: an acknowledgement could be for either copy.
            self.timed = self.timed.filter(|(timed, _)| *timed != seq);
        } else {
            self.state.max = seq + 1;
            self.state.cwr &= !cwr;
            if !self.timestamps && self.timed.is_none() {
                self.timed = Some((seq, now));
            }
        }
        if self.deadline.is_none() {
            self.restart_timer(now);
        }
        network.send(Segment { seq, retransmission, cwr });
    }

    fn restart_timer(&mut self, now: Time) {
        self.deadline = Some(now + self.rtt.timeout());
    }
}
