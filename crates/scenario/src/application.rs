//! What gives TCP its data.

use fairlane_qdisc::{Duration, Size};

use crate::source::OnOff;

/// The application above TCP.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Unlimited data (FTP).
    Ftp,
    /// One transfer after the other, each over a connection of its own.
    Transfers(Transfers),
    /// Unlimited data during the on periods, and nothing new during the off periods.
    OnOff(OnOff),
}

/// Transfers of limited size.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Mean size; each transfer is rounded up to whole packets.
    pub size: Size,
    /// How the sizes are distributed.
    pub sizes: Sizes,
    /// Mean of the exponential pause after which the next transfer begins; `None`: there is one transfer alone.
    pub think: Option<Duration>,
}

/// How the sizes of transfers are distributed around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// All are the same.
    Fixed,
    /// Exponentially.
    Exponential,
    /// As Pareto.
    Pareto {
        /// The tail's index; above 1. Up to 2 the variance is infinite.
        shape: f64,
    },
    /// Log-normally.
    Lognormal {
        /// Standard deviation of the size's natural logarithm.
        sigma: f64,
    },
}
