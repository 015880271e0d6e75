//! Sources of data for TCP.

use fairlane_qdisc::{Duration, Size};

use crate::source::OnOff;

/// The application above TCP.
#[derive(Clone, Debug, PartialEq)]
pub enum Application {
    /// Unlimited data (FTP).
    Ftp,
    /// Consecutive transfers, each over a new connection.
    Transfers(Transfers),
    /// Pages of objects over parallel connections, one page after the other.
    Web(Web),
    /// Unlimited data during the on periods, and no new data during the off periods.
    OnOff(OnOff),
}

/// Transfers of limited size.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfers {
    /// Mean size; each transfer is rounded up to whole packets.
    pub size: Size,
    /// Distribution of the sizes.
    pub sizes: Sizes,
    /// Mean of the exponential pause before the next transfer; `None`: a single transfer.
    pub think: Option<Duration>,
}

/// Pages of objects, which a browser loads over parallel connections.
///
/// Consecutive flows of a group are the connections of one browser. Each takes the next object of the page when it has all of the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Web {
    /// Number of objects of a page.
    pub objects: u32,
    /// Number of connections of a browser.
    pub connections: u32,
    /// Mean size of an object; each is rounded up to whole packets.
    pub size: Size,
    /// Distribution of the sizes.
    pub sizes: Sizes,
    /// The smallest size of an object; smaller ones that are drawn have this size.
    pub least: Size,
    /// Mean of the exponential pause after a page; zero: the next one begins when a page is complete.
    pub think: Duration,
}

/// Distribution of the sizes of transfers around their mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sizes {
    /// All are the same.
    Fixed,
    /// Exponentially.
    Exponential,
    /// Pareto distribution.
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
