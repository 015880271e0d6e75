//! UDP from end to end.

use fairlane_qdisc::{Duration, Qdisc, Seed, Stream, Time};
use fairlane_scenario::{PacketSizes, Udp};

use super::Common;
use crate::Observer;
use crate::event::Target;
use crate::packet::{Flags, Packet};
use crate::plane::Plane;
use crate::source::{Source, draw};

/// What IPv4's length of a packet holds.
const LARGEST: u64 = u16::MAX as u64;

/// A source, and the numbers of its packets.
#[derive(Debug)]
pub(crate) struct Datagrams {
    source: Source,
    /// Draws the sizes of the packets where they differ.
    sizes: Option<Stream>,
    ecn: bool,
    next_seq: u32,
}

impl Datagrams {
    pub(crate) fn new(udp: &Udp, index: u32, bytes: u32, seed: Seed) -> Self {
        let sizes = (udp.sizes == PacketSizes::Geometric).then(|| seed.stream("sizes"));
        Self { source: Source::new(udp, index, bytes, seed), sizes, ecn: udp.ecn, next_seq: 0 }
    }

    /// From the flow's start to its first packet.
    pub(crate) fn first(&mut self, start: &mut Stream) -> Duration {
        self.source.first(start)
    }

    /// Sends the next packet.
    pub(crate) fn on_source<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if common.is_stopped(now) {
            return;
        }
        let flags = Flags::DATAGRAM.with(Flags::ECT, self.ecn);
        let mut packet = Packet { seq: self.next_seq, ..common.data(now, flags) };
        packet.bytes = self.bytes(packet.bytes);
        self.next_seq = self.next_seq.wrapping_add(1);
        plane.events.push(now + self.source.next(), Target::Source(common.id));
        common.totals.sent += 1;
        plane.inject(now, &packet);
    }

    /// The size of the packet that is sent now, where `usual` is the mean.
    fn bytes(&mut self, usual: u32) -> u32 {
        match &mut self.sizes {
            // The largest mean makes it next to certain that a packet holds the draw.
            Some(random) => draw::geometric(random, 1.0 / f64::from(usual)).min(LARGEST) as u32,
            None => self.source.bytes().unwrap_or(usual),
        }
    }
}
