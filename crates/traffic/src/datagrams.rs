//! The packets of a UDP flow.

use fairlane_qdisc::{Duration, Rate, Seed, Stream};
use fairlane_scenario::{PacketSizes, Udp};

use crate::draw;
use crate::source::Source;

/// The largest packet size that the length field of IPv4 can hold.
const LARGEST: u64 = u16::MAX as u64;

/// The times and sizes of a UDP flow's packets.
#[derive(Debug)]
pub struct Datagrams {
    source: Source,
    /// The stream of packet sizes; `None` if they are not random.
    sizes: Option<Stream>,
    /// The size of all packets, or their mean.
    bytes: u32,
}

impl Datagrams {
    /// Returns the packets of flow `index` of its group, of `bytes` bytes each. `bytes` is the mean if the sizes are
    /// random, and is not used with a trace, which has its own sizes.
    #[must_use]
    pub fn new(udp: &Udp, index: u32, bytes: u32, seed: Seed) -> Self {
        let sizes = (udp.sizes == PacketSizes::Geometric).then(|| seed.stream("sizes"));
        Self { source: Source::new(udp, index, bytes, seed), sizes, bytes }
    }

    /// Returns the time from the flow's start to its first packet. `start` is the stream from which the start was
    /// drawn.
    pub fn first(&mut self, start: &mut Stream) -> Duration {
        self.source.first(start)
    }

    /// Sets the rate from the next gap on. Sources without a rate of their own, such as a trace, ignore it.
    pub fn set_rate(&mut self, rate: Rate) {
        self.source.set_rate(rate, self.bytes);
    }

    /// Returns the time from one packet to the next; `u64::MAX` ns if there is none.
    pub fn next_gap(&mut self) -> Duration {
        self.source.next()
    }

    /// Returns the size of the packet whose time was returned last. Called once a packet.
    pub fn bytes(&mut self) -> u32 {
        match &mut self.sizes {
            // Scenarios limit the mean, so draws beyond the largest size are very rare.
            Some(random) => draw::geometric(random, 1.0 / f64::from(self.bytes)).min(LARGEST) as u32,
            None => self.source.bytes().unwrap_or(self.bytes),
        }
    }
}
