//! A shaper in front of a link.

use fairlane_autorate::Config;
use fairlane_qdisc::{Rate, Size};

/// A shaper in front of a link that has its own buffer, such as a router before a modem: the discipline of the link's
/// queue is emptied at the shaper's rate, and what the link cannot send at once waits in the buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaper {
    /// The rate's origin.
    pub kind: ShaperKind,
    /// The rate of a fixed shaper, and the base rate of the controller.
    pub rate: Rate,
    /// The parameters of the controller.
    pub autorate: Config,
    /// The controller's probes.
    pub probe: ProbeKind,
    /// The size of the link's buffer, a FIFO that drops from the tail.
    pub buffer: Size,
}

/// A kind of probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProbeKind {
    /// An echo, which tells the round trip.
    Echo,
    /// One with time stamps, which tells the delay in the shaper's direction.
    OneWay,
}

impl ProbeKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Echo, Self::OneWay];

    /// Returns its name in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::OneWay => "one-way",
        }
    }
}

/// The origin of a shaper's rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShaperKind {
    /// The rate is fixed.
    Fixed,
    /// A controller adjusts the rate.
    Autorate,
}

impl ShaperKind {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Fixed, Self::Autorate];

    /// Returns its name in a scenario file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Autorate => "autorate",
        }
    }
}
