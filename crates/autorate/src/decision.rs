//! Decisions of the controller.

use std::fmt;

use fairlane_qdisc::{Rate, Time};

/// A decision, after an observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The time of the observation.
    pub time: Time,
    /// The rate that the shaper should have from now on.
    pub rate: Rate,
    /// The rate before.
    pub previous: Rate,
    /// The reason for the rate.
    pub reason: Reason,
    /// The obstacle to a change; `None` if the law changed the rate, or asks for no change.
    pub blocker: Option<Blocker>,
}

impl Decision {
    /// Returns true if the rate changes.
    #[must_use]
    pub fn changes(&self) -> bool {
        self.rate != self.previous
    }
}

/// The reason for a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Probes were late: the rate was cut by a part.
    Cut,
    /// The link is busy and its rate was measured: the rate follows it.
    Followed,
    /// Load was high and delay low: the rate was raised.
    Raised,
    /// Load was low: the rate moved down towards the base rate.
    DecayedDown,
    /// Load was low: the rate moved up towards the base rate.
    DecayedUp,
    /// No probe was answered for long: the rate is the least one.
    NoAnswers,
    /// The rate stays as it is.
    Held,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 7] =
        [Self::Cut, Self::Followed, Self::Raised, Self::DecayedDown, Self::DecayedUp, Self::NoAnswers, Self::Held];

    /// Returns it in plain words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Cut => "cut by delay",
            Self::Followed => "follows the link's measured rate",
            Self::Raised => "raised under load",
            Self::DecayedDown => "decays to base",
            Self::DecayedUp => "grows to base",
            Self::NoAnswers => "minimum: no answers",
            Self::Held => "held",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

/// An obstacle to a change of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blocker {
    /// The last cut was too recent for another cut or a raise.
    RecentCut,
    /// Nothing is answered and nearly nothing passes: the link itself has stalled.
    Stalled,
    /// Load is high, but so is the delay: the rate is not raised.
    Delay,
    /// The rate is the least one already.
    AtMinimum,
    /// The rate is the highest one already.
    AtMaximum,
}

impl Blocker {
    /// Every blocker.
    pub const ALL: [Self; 5] = [Self::RecentCut, Self::Stalled, Self::Delay, Self::AtMinimum, Self::AtMaximum];

    /// Returns it in plain words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RecentCut => "recent cut",
            Self::Stalled => "stalled",
            Self::Delay => "delay too high to raise",
            Self::AtMinimum => "at the minimum",
            Self::AtMaximum => "at the maximum",
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
