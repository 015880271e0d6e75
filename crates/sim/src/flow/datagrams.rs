//! A UDP flow.

use fairlane_qdisc::{Duration, Seed, Stream, Time};
use fairlane_scenario::{PacketSizes, Udp};

use super::common::Common;
use crate::event::Target;
use crate::network::Network;
use crate::observer::Observer;
use crate::packet::{Flags, Packet};
use crate::source::{Source, draw};

/// The largest packet size that the length field of IPv4 can hold.
const LARGEST: u64 = u16::MAX as u64;

/// A source and the sequence numbers of its packets.
#[derive(Debug)]
pub(crate) struct Datagrams {
    source: Source,
    /// The stream of packet sizes; `None` if they are not random.
    sizes: Option<Stream>,
    ecn: bool,
    next_seq: u32,
}

impl Datagrams {
    pub(crate) fn new(udp: &Udp, index: u32, bytes: u32, seed: Seed) -> Self {
        let sizes = (udp.sizes == PacketSizes::Geometric).then(|| seed.stream("sizes"));
        Self { source: Source::new(udp, index, bytes, seed), sizes, ecn: udp.ecn, next_seq: 0 }
    }

    /// Returns the time from the flow's start to its first packet.
    pub(crate) fn first(&mut self, start: &mut Stream) -> Duration {
        self.source.first(start)
    }

    /// Sends the next packet and schedules the one after it.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<'_, O>) {
        if common.is_stopped(now) {
            return;
        }
        let flags = Flags::DATAGRAM.with(Flags::ECT, self.ecn);
        let mut packet = Packet { seq: self.next_seq, ..common.data(now, flags) };
        packet.bytes = self.bytes(packet.bytes);
        self.next_seq = self.next_seq.wrapping_add(1);
        network.events.push(now + self.source.next(), Target::Source(common.id));
        common.totals.sent += 1;
        network.inject(now, &packet);
    }

    /// Returns the size of the packet that is sent now; `mean` is the flow's mean size.
    fn bytes(&mut self, mean: u32) -> u32 {
        match &mut self.sizes {
            // Scenarios limit the mean, so draws beyond the largest size are very rare.
            Some(random) => draw::geometric(random, 1.0 / f64::from(mean)).min(LARGEST) as u32,
            None => self.source.bytes().unwrap_or(mean),
        }
    }
}
