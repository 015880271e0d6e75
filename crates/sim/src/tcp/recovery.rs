//! Loss recovery: detection and retransmission of lost segments. Its effect on the window is a matter of
//! [congestion control](super::congestion).

mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod tahoe;

use fairlane_qdisc::Time;
use fairlane_scenario::{LossRecovery, Tcp};

use self::newreno::NewReno;
use self::rack::Rack;
pub(super) use self::rack::{Alarm, Clock};
use self::sack::Sack;
use super::Ack;
use super::congestion::AckSample;
use super::state::SenderState;

/// The loss recovery of one sender. The compiler would hide the variant in one of their fields, where it takes longer
/// to read.
#[derive(Clone, Debug)]
#[repr(u8)]
pub(super) enum Recovery {
    /// Fast retransmit only.
    Tahoe,
    /// Fast recovery until the first acknowledgement of new segments.
    Reno,
    /// Fast recovery until all outstanding segments are acknowledged.
    NewReno(NewReno),
    /// Recovery with the SACK scoreboard.
    Sack(Sack),
    /// Recovery by the times of transmissions, with probes of the tail.
    Rack(Box<Rack>),
}

/// The sender's action after an acknowledgement of new segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    /// Send new segments.
    Proceed,
    /// Retransmit the first unacknowledged segment.
    Repair {
        /// Restart the retransmission timer.
        restart: bool,
    },
}

impl Recovery {
    /// Asks for the scoreboard of SACK; that of RACK is one pointer further away.
    pub(super) fn prefetch_scoreboard(&self) {
        if let Self::Sack(sack) = self {
            sack.prefetch_scoreboard();
        }
    }

    /// Returns the state before the first segment.
    pub(super) fn new(tcp: &Tcp) -> Self {
        match tcp.recovery {
            LossRecovery::Tahoe => Self::Tahoe,
            LossRecovery::Reno => Self::Reno,
            LossRecovery::NewReno => Self::NewReno(NewReno::default()),
            LossRecovery::Sack => Self::Sack(Sack::default()),
            LossRecovery::Rack => Self::Rack(Box::new(Rack::new(tcp))),
        }
    }

    /// Records the SACK blocks of an acknowledgement; `acked` is the number of segments that it acknowledges
    /// cumulatively, which `state` already reflects. Returns true if the
    /// acknowledgement, should it acknowledge nothing new, counts as a duplicate: with SACK it must bring new
    /// information (RFC 6675, section 2).
    #[inline]
    pub(super) fn note(&mut self, state: &mut SenderState, ack: &Ack, acked: u32, now: Time) -> bool {
        match self {
            Self::Sack(sack) => sack.note(state, ack.sack, acked),
            Self::Rack(rack) => {
                state.window.set_now(now);
                rack.note(state, *ack, now)
            }
            Self::Tahoe | Self::Reno | Self::NewReno(_) => true,
        }
    }

    /// Handles an acknowledgement of new segments. `grow` is false if it signals congestion.
    #[inline]
    pub(super) fn on_advance(&mut self, state: &mut SenderState, sample: &AckSample, grow: bool) -> Advance {
        match self {
            Self::Tahoe => tahoe::on_advance(state, *sample, grow),
            Self::Reno => reno::on_advance(state, sample, grow),
            Self::NewReno(newreno) => newreno.on_advance(state, *sample, grow),
            Self::Sack(sack) => sack.on_advance(state, *sample, grow),
            Self::Rack(rack) => rack.on_advance(state, *sample, grow),
        }
    }

    /// Handles a duplicate acknowledgement. Returns true if the first unacknowledged segment is to be retransmitted
    /// with a new timer.
    #[inline]
    pub(super) fn on_duplicate(&mut self, state: &mut SenderState) -> bool {
        match self {
            Self::Tahoe => tahoe::on_duplicate(state),
            Self::Reno => reno::on_duplicate(state),
            Self::NewReno(newreno) => newreno.on_duplicate(state),
            Self::Sack(sack) => sack.on_duplicate(state),
            // Not the number of acknowledgements shows a loss, but their times.
            Self::Rack(_) => false,
        }
    }

    /// Finds losses by the times of the segments that have arrived, after an acknowledgement. Returns true if recovery
    /// begins.
    #[inline]
    pub(super) fn after_ack(&mut self, state: &mut SenderState, clock: impl FnOnce() -> Clock) -> bool {
        match self {
            Self::Rack(rack) => rack.after_ack(state, clock()),
            Self::Tahoe | Self::Reno | Self::NewReno(_) | Self::Sack(_) => false,
        }
    }

    /// Notes a transmission of `seq`.
    #[inline]
    pub(super) fn on_send(&mut self, state: &SenderState, seq: u32, clock: impl FnOnce() -> Clock) {
        if let Self::Rack(rack) = self {
            rack.on_send(state, seq, clock());
        }
    }

    /// Returns the time of recovery's own timer.
    #[inline]
    pub(super) fn alarm(&self) -> Option<Time> {
        match self {
            Self::Rack(rack) => rack.alarm(),
            Self::Tahoe | Self::Reno | Self::NewReno(_) | Self::Sack(_) => None,
        }
    }

    /// Handles recovery's own timer.
    pub(super) fn on_alarm(&mut self, state: &mut SenderState, clock: Clock) -> Alarm {
        match self {
            Self::Rack(rack) => rack.on_alarm(state, clock),
            Self::Tahoe | Self::Reno | Self::NewReno(_) | Self::Sack(_) => Alarm::None,
        }
    }

    /// Handles a retransmission timeout.
    pub(super) fn on_timeout(&mut self, state: &mut SenderState, clock: Clock) {
        match self {
            Self::Rack(rack) => rack.on_timeout(state, clock),
            Self::Tahoe | Self::Reno | Self::NewReno(_) | Self::Sack(_) => state.time_out(),
        }
        if let Self::Sack(_) | Self::Rack(_) = self {
            // RFC 6675, section 5.1, asks for an acknowledgement of all segments sent; RFC 6582, section 3.2, for one
            // more.
            state.fast_from = state.max;
        }
    }

    /// Returns true if the window can fall to the threshold segment by segment, outside loss recovery.
    pub(super) fn can_slow_down(&self, state: &SenderState) -> bool {
        matches!(self, Self::Rack(_))
            && !state.recovering
            && !state.window.has_model()
            && !state.window.is_scalable()
            && state.una >= state.fast_from
    }

    /// Lets the window fall to the threshold by proportional rate reduction.
    pub(super) fn slow_down(&mut self, state: &mut SenderState) {
        if let Self::Rack(rack) = self {
            rack.slow_down(state);
        }
    }

    /// Takes the last reduction back if an acknowledgement shows that it was needless. `new`: SACK blocks bring
    /// segments; `marked`: it tells of marks.
    #[inline]
    pub(super) fn judge_reduction(&mut self, state: &mut SenderState, ack: &Ack, new: bool, marked: bool) {
        if let Self::Rack(rack) = self {
            rack.judge_reduction(state, ack, new, marked);
        }
    }

    /// Returns true if selective acknowledgements count.
    pub(super) fn uses_sack(&self) -> bool {
        matches!(self, Self::Sack(_) | Self::Rack(_))
    }

    /// Returns the number of segments by which Linux grows the window on an acknowledgement of `acked`: without those
    /// that SACK blocks or duplicate acknowledgements have told of, but one at least if it acknowledges any.
    pub(super) fn newly(&self, state: &SenderState, acked: u32) -> u32 {
        let new = match self {
            Self::Rack(rack) => rack.newly(acked),
            Self::Sack(_) => acked,
            Self::Tahoe | Self::Reno | Self::NewReno(_) => acked.saturating_sub(state.dupacks),
        };
        new.clamp(acked.min(1), acked)
    }

    /// Returns the number of segments that are known to have arrived.
    pub(super) fn delivered(&self, state: &SenderState) -> u32 {
        state.una
            + match self {
                Self::Sack(sack) => sack.arrived(state),
                Self::Rack(rack) => rack.arrived(state),
                Self::Tahoe | Self::Reno | Self::NewReno(_) => 0,
            }
    }

    /// Returns the number of segments in the network.
    pub(super) fn in_flight(&self, state: &SenderState) -> u32 {
        match self {
            Self::Sack(sack) => sack.in_flight(state),
            Self::Rack(rack) => rack.in_flight(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.flight().saturating_sub(state.dupacks),
        }
    }

    /// Returns the number of segments that may be sent now.
    #[inline]
    pub(super) fn room(&self, state: &SenderState) -> u32 {
        match self {
            Self::Sack(sack) => sack.room(state),
            Self::Rack(rack) => rack.room(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.room(),
        }
    }

    /// Returns the next segment to send; `None` if there is none.
    #[inline]
    pub(super) fn pick(&mut self, state: &mut SenderState) -> Option<u32> {
        match self {
            Self::Sack(sack) => sack.pick(state),
            Self::Rack(rack) => rack.pick(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.step(),
        }
    }
}
