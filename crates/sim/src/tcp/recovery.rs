//! Loss recovery: how a sender finds a loss and repairs it. What the loss does to the window is a matter of the
//! [law](super::law).

mod newreno;
mod reno;
mod sack;
mod tahoe;

use fairlane_scenario::Congestion;

use self::newreno::NewReno;
use self::sack::Sack;
use super::SackBlocks;
use super::law::News;
use super::state::State;

/// The recovery of one sender.
#[derive(Clone, Debug)]
pub(super) enum Recovery {
    /// Fast retransmit only.
    Tahoe,
    /// Fast recovery up to the first new acknowledgement.
    Reno,
    /// Fast recovery up to the end of the window.
    NewReno(NewReno),
    /// Recovery by the scoreboard.
    Sack(Sack),
}

/// What an acknowledgement of new data asks of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advance {
    /// Nothing but to go on.
    Proceed,
    /// To send the first unacknowledged segment again, with a fresh timer or with the one that runs.
    Repair {
        /// Whether the retransmission timer starts anew.
        restart: bool,
    },
}

impl Recovery {
    /// Recovery for `congestion`, with nothing lost.
    pub(super) fn new(congestion: Congestion) -> Self {
        match congestion {
            Congestion::Tahoe => Self::Tahoe,
            Congestion::Reno => Self::Reno,
            Congestion::NewReno => Self::NewReno(NewReno::default()),
            Congestion::Sack | Congestion::Vegas | Congestion::Cubic | Congestion::Dctcp | Congestion::Bbr => {
                Self::Sack(Sack::default())
            }
        }
    }

    /// Takes note of `blocks`, which came with an acknowledgement that `state` has heard of. Whether the
    /// acknowledgement counts as a duplicate if it acknowledged nothing: with SACK it must bring news (RFC 6675 2).
    pub(super) fn note(&mut self, state: &mut State, blocks: &SackBlocks) -> bool {
        match self {
            Self::Sack(sack) => sack.note(state, blocks),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => true,
        }
    }

    /// `news` acknowledges new segments; `grow`: it tells of no congestion.
    pub(super) fn on_advance(&mut self, state: &mut State, news: &News, grow: bool) -> Advance {
        match self {
            Self::Tahoe => tahoe::on_advance(state, news, grow),
            Self::Reno => reno::on_advance(state, news, grow),
            Self::NewReno(newreno) => newreno.on_advance(state, news, grow),
            Self::Sack(sack) => sack.on_advance(state, news, grow),
        }
    }

    /// A duplicate acknowledgement. Whether to retransmit the first unacknowledged segment and restart the timer.
    pub(super) fn on_duplicate(&mut self, state: &mut State) -> bool {
        match self {
            Self::Tahoe => tahoe::on_duplicate(state),
            Self::Reno => reno::on_duplicate(state),
            Self::NewReno(newreno) => newreno.on_duplicate(state),
            Self::Sack(sack) => sack.on_duplicate(state),
        }
    }

    /// The retransmission timer has fired.
    pub(super) fn on_timeout(&mut self, state: &mut State) {
        state.time_out();
        if let Self::Sack(_) = self {
            // RFC 6675 5.1 is satisfied by an acknowledgement of all that was sent; RFC 6582 3.2 asks for one more.
            state.fast_from = state.max;
        }
    }

    /// How many segments are in the network.
    pub(super) fn in_flight(&self, state: &State) -> u32 {
        match self {
            Self::Sack(sack) => sack.in_flight(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.flight().saturating_sub(state.dupacks),
        }
    }

    /// How many segments may be sent now.
    pub(super) fn room(&self, state: &State) -> u32 {
        match self {
            Self::Sack(sack) => sack.room(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.room(),
        }
    }

    /// The segment to send now that there is room for one.
    pub(super) fn pick(&mut self, state: &mut State) -> Option<u32> {
        match self {
            Self::Sack(sack) => sack.pick(state),
            Self::Tahoe | Self::Reno | Self::NewReno(_) => state.step(),
        }
    }
}
