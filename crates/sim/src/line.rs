//! Packets on their way over links with a constant delay.

use std::cmp::Ordering;
use std::collections::VecDeque;

use fairlane_qdisc::Time;

use crate::packet::Packet;
use crate::target::turn;

/// The packets on all links of one [medium](crate::link::Medium) that arrive a constant time after they were sent: they come out in the
/// order in which they went in, so none has to be sorted among the events. Packets that arrive at the same time come out in the
/// [order](crate::target::arrival_key) of their flows.
#[derive(Debug, Default)]
pub(crate) struct DelayLine {
    packets: VecDeque<Packet>,
    /// The number of packets at the front whose flows have been read; see [`Prefetcher`](crate::prefetch::Prefetcher).
    read: usize,
}

/// How far from its end a line looks for the place of a packet. Sizes that differ, or fractions of a nanosecond, let a packet
/// arrive a little before others.
const REACH: usize = 16;

/// Compares packets by what orders arrivals.
pub(crate) fn order(a: &Packet, b: &Packet) -> Ordering {
    a.at.cmp(&b.at).then_with(|| (a.flow ^ turn(a.at)).cmp(&(b.flow ^ turn(b.at))))
}

impl DelayLine {
    /// Adds a packet that arrives at [`Packet::at`], and returns true if it is the first one. It is returned if its place is too far from
    /// the end.
    #[inline]
    pub(crate) fn push(&mut self, packet: Packet) -> Result<bool, Packet> {
        if self.packets.back().is_some_and(|last| order(&packet, last).is_lt()) {
            return self.insert(packet);
        }
        self.packets.push_back(packet);
        Ok(self.packets.len() == 1)
    }

    fn insert(&mut self, packet: Packet) -> Result<bool, Packet> {
        let later = self.packets.iter().rev().take(REACH + 1).take_while(|other| order(&packet, other).is_lt()).count();
        if later > REACH {
            return Err(packet);
        }
        let place = self.packets.len() - later;
        self.packets.insert(place, packet);
        self.read = self.read.min(place);
        Ok(place == 0)
    }

    /// Removes and returns the first packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Packet> {
        self.read = self.read.saturating_sub(1);
        self.packets.pop_front()
    }

    /// Returns the time of arrival of the first packet, and its flow.
    #[inline]
    pub(crate) fn first(&self) -> Option<(Time, u32)> {
        self.packets.front().map(|packet| (packet.at, packet.flow))
    }

    /// Returns the number of packets.
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }

    /// Returns the next `count` packets, of which no flow has been read, and notes that they are being read; none if there are such
    /// packets.
    pub(crate) fn read_next(&mut self, count: usize) -> impl Iterator<Item = &Packet> {
        let next = if self.read == 0 { count.min(self.packets.len()) } else { 0 };
        self.read += next;
        self.packets.iter().take(next)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Seed;

    use super::*;
    use crate::packet::{Flags, NO_SACK};

    fn packet(at: u64, flow: u32, seq: u32) -> Packet {
        Packet {
            sent: Time::ZERO,
            at: Time::from_nanos(at),
            flow,
            seq,
            bytes: 1,
            route: 0,
            sack: NO_SACK,
            flags: Flags::default(),
            class: 0,
        }
    }

    /// Compares with a sorted list. Would catch packets that are lost or out of order, a first packet that is not announced, and
    /// packets of a flow that overtake each other.
    #[test]
    fn packets_come_out_in_order() {
        let mut random = Seed::new(1).stream("line");
        let (mut line, mut list) = (DelayLine::default(), Vec::<Packet>::new());
        let (mut now, mut refused) = (0, 0);
        for seq in 0..50_000 {
            now += u64::from(random.below(3));
            if random.chance(0.5) {
                let ahead = if random.chance(0.02) { 0 } else { 30 + random.below(4) };
                let packet = packet(now + u64::from(ahead), random.below(3), seq);
                let place = list.partition_point(|other| order(other, &packet).is_le());
                match line.push(packet) {
                    Ok(first) => {
                        assert_eq!(first, place == 0);
                        assert!(list.len() - place <= REACH);
                        list.insert(place, packet);
                    }
                    Err(_) => {
                        assert!(list.len() - place > REACH);
                        refused += 1;
                    }
                }
            } else if !list.is_empty() {
                assert_eq!(line.pop(), Some(list.remove(0)));
            } else {
                assert_eq!(line.pop(), None);
            }
            assert_eq!(line.len(), list.len());
            assert_eq!(line.first(), list.first().map(|packet| (packet.at, packet.flow)));
        }
        assert!(refused > 0, "no packet came too early");
    }
}
