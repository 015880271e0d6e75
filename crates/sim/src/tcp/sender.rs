//! The sender.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;

use super::recovery::{Advance, Recovery};
use super::rtt::Rtt;
use super::state::State;
use super::{Ack, Network, Segment};

/// The sending side of one connection.
///
/// It sends whatever the window allows at once, so an acknowledgement that opens the window by ten segments causes a
/// burst of ten, as in ns-2. After a timeout it goes back to the first unacknowledged segment.
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
    /// A sender that has sent nothing. A window of 0 counts as 1. Its clock is `ahead` of the common time, which says where the
    /// ticks fall by which it measures; what is whole ticks makes no difference.
    #[must_use]
    pub fn new(tcp: &Tcp, ahead: Duration) -> Self {
        Self {
            state: State::new(tcp),
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
        let acked = ack.next - self.state.una;
        self.state.una = ack.next;
        let news = self.recovery.note(&self.state, &ack.sack);
        let congested = ack.ece && self.state.ecn;
        if acked > 0 {
            self.advance(now, ack, acked, !congested, network);
        } else if news && self.state.max > self.state.una {
            self.state.dupacks = self.state.dupacks.saturating_add(1);
            if self.recovery.on_duplicate(&mut self.state) {
                self.repair(now, network);
            }
        }
        // RFC 3168 6.1.2: once a window.
        if congested && self.state.una >= self.state.echo_from {
            self.state.cut_by_ecn();
        }
        self.fill(now, network);
    }

    /// To be called at [`deadline`](Self::deadline) or later; does nothing before.
    pub fn on_timer(&mut self, now: Time, network: &mut impl Network) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        self.timeouts += 1;
        self.recovery.on_timeout(&mut self.state);
        self.rtt.back_off();
        self.repair(now, network);
        self.fill(now, network);
    }

    /// When the sender wants to be woken if no acknowledgement comes before.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
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

    fn advance(&mut self, now: Time, ack: &Ack, acked: u32, grow: bool, network: &mut impl Network) {
        self.state.next = self.state.next.max(self.state.una);
        self.state.dupacks = 0;
        self.measure(now, ack);
        let advance = self.recovery.on_advance(&mut self.state, acked, grow);
        if self.state.una == self.state.max {
            self.deadline = None;
        } else if advance != (Advance::Repair { restart: false }) {
            self.restart_timer(now);
        }
        if let Advance::Repair { .. } = advance {
            self.resend_first(now, network);
        }
    }

    fn measure(&mut self, now: Time, ack: &Ack) {
        if self.timestamps {
            self.rtt.sample(ack.echo, now);
        } else if let Some((_, sent)) = self.timed.filter(|(seq, _)| *seq < ack.next) {
            self.rtt.sample(sent, now);
            self.timed = None;
        }
    }

    fn fill(&mut self, now: Time, network: &mut impl Network) {
        for _ in 0..self.recovery.room(&self.state) {
            let Some(seq) = self.recovery.pick(&mut self.state) else { break };
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
