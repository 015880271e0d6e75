//! Sources of data for TCP.

use fairlane_qdisc::{Bytes, Duration, Rate, Size};

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
    /// Adaptive video: segments of a bit rate that the player chooses.
    Video(Video),
    /// Requests and responses, one after the other over one connection.
    Rpc(Rpc),
    /// Data at a constant rate, without end.
    Cbr(Cbr),
    /// Unlimited data during the on periods, and no new data during the off periods.
    OnOff(OnOff),
    /// One of the program that reads the scenario, by its name; see
    /// [`Document::with_applications`](crate::Document::with_applications).
    Own(&'static str),
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
/// Consecutive flows of a group are the connections of one browser. Each takes the next object of the page when it has
/// all of the one before.
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

/// Adaptive video over one connection, whose player chooses the bit rate of each segment by the playback time in its
/// buffer (Huang et al., "A buffer-based approach to rate adaptation", SIGCOMM 2014).
#[derive(Clone, Debug, PartialEq)]
pub struct Video {
    /// Playback time of a segment.
    pub segment: Duration,
    /// The bit rates on the wire, rising; one at least.
    pub ladder: Vec<Rate>,
    /// The most playback time that the buffer holds, two segments at least.
    pub buffer: Duration,
    /// Up to this playback time in the buffer the lowest bit rate is chosen.
    pub reservoir: Duration,
    /// The playback time over which the choice rises from the lowest bit rate to the highest, from the reservoir on.
    /// Above both there is room for a segment.
    pub cushion: Duration,
}

impl Video {
    /// Returns the highest bit rate.
    #[must_use]
    pub fn highest(&self) -> Rate {
        self.ladder.last().copied().unwrap_or_default()
    }
}

/// Calls of a remote procedure: a request, and when it has arrived the response, and when that has arrived the next
/// request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rpc {
    /// Size of a request; it fits a packet, with the acknowledgement of the response before.
    pub request: Bytes,
    /// Mean size of a response; each is rounded up to whole packets.
    pub response: Size,
    /// Distribution of the sizes of responses.
    pub sizes: Sizes,
}

/// An application that writes at a constant rate, as the encoder of a video does. What TCP cannot send at once waits at
/// the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cbr {
    /// The rate on the wire, without retransmissions.
    pub rate: Rate,
    /// The time between two writes, each of the whole packets of that time; `None`: each packet by itself.
    pub every: Option<Duration>,
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
