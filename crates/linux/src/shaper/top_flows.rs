//! The flows with the most dropped and marked packets, in a table of fixed size.
//!
//! **Source.** Space-Saving: Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
//! Data Streams", ICDT 2005. A flow that loses a packet and is not in the table replaces the flow with the lowest
//! count, and inherits that count. With [`CAPACITY`] entries and N losses no count is too high by more than N /
//! [`CAPACITY`], and every flow with more losses than that is in the table.
//!
//! **Cost.** A packet that is neither dropped nor marked costs two lookups, on arrival and on departure, of about 4 ns
//! each. A loss costs 6 ns, or 55 ns if the flow replaces another. Nothing is allocated.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use fairlane_qdisc::headers::{FlowName, FlowsBy};
use fairlane_qdisc::{Counters, FlowKey, Packet, Reason, Time};

use crate::shaper::PacketObserver;
use crate::shaper::queued_packet::QueuedPacket;

/// The number of flows in the table.
pub(crate) const CAPACITY: usize = 128;

/// A flow that lost packets, with its counts since it entered the table.
#[derive(Clone, Debug, PartialEq)]
pub struct TopFlow {
    /// The flow's name.
    pub name: FlowName,
    /// The counts of its packets. Packets that were queued when the flow entered the table are missing from `arrived`,
    /// so departures and drops may exceed arrivals.
    pub counters: Counters,
    /// The maximum number of its packets that may have been dropped or marked before it entered the table.
    pub missed: u64,
}

impl TopFlow {
    /// Returns the number of packets dropped or marked since the flow entered the table.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.counters.dropped_total().packets + self.counters.marked_total().packets
    }

    /// Returns the number of packets dropped or marked because a comparison found two packets of this flow (CHOKe).
    #[must_use]
    pub fn matched(&self) -> u64 {
        let matched = |reason| self.counters.dropped(reason).packets + self.counters.marked(reason).packets;
        matched(Reason::MatchArrival) + matched(Reason::MatchVictim)
    }
}

/// The table of flows.
#[derive(Debug)]
pub(crate) struct TopFlows {
    by: FlowsBy,
    places: HashMap<FlowKey, usize, BuildHasherDefault<IdentityHasher>>,
    /// The losses of each entry's flow, including inherited ones. Kept apart from `flows`, since the minimum is
    /// searched for.
    counts: Vec<u64>,
    /// The lowest count, and an index before which every count is higher. Counts only grow, so the index never
    /// decreases while the lowest count stays the same.
    least: (u64, usize),
    keys: Vec<FlowKey>,
    flows: Vec<TopFlow>,
}

impl TopFlows {
    /// Creates an empty table of flows as defined by `by`.
    pub(crate) fn new(by: FlowsBy) -> Self {
        Self {
            by,
            // A map that is at most half full makes room for new keys without allocating.
            places: HashMap::with_capacity_and_hasher(2 * CAPACITY, BuildHasherDefault::default()),
            counts: Vec::with_capacity(CAPACITY),
            least: (0, 0),
            keys: Vec::with_capacity(CAPACITY),
            flows: Vec::with_capacity(CAPACITY),
        }
    }

    /// Returns the flows, those with the most losses first.
    pub(crate) fn heaviest(&self) -> Vec<TopFlow> {
        let mut flows = self.flows.clone();
        flows.sort_by_key(|flow| std::cmp::Reverse(flow.lost()));
        flows
    }

    /// Returns the counts of the packet's flow; `None` if it is not in the table.
    fn counters(&mut self, packet: &QueuedPacket) -> Option<&mut Counters> {
        let place = *self.places.get(&packet.flow())?;
        self.flows.get_mut(place).map(|flow| &mut flow.counters)
    }

    /// Counts a loss of the packet's flow, and returns the flow's counts.
    fn lost(&mut self, packet: &QueuedPacket) -> &mut Counters {
        let place = match self.places.get(&packet.flow()) {
            Some(place) => *place,
            None => self.admit(packet),
        };
        self.counts[place] += 1;
        &mut self.flows[place].counters
    }

    /// Enters a flow into the table and returns its index.
    fn admit(&mut self, packet: &QueuedPacket) -> usize {
        let (key, name) = (packet.flow(), self.by.flow(packet.flow_id()));
        let place = self.counts.len();
        if place < CAPACITY {
            self.counts.push(0);
            self.keys.push(key);
            self.flows.push(TopFlow { name, counters: Counters::default(), missed: 0 });
            self.places.insert(key, place);
            return place;
        }
        let (place, least) = self.find_least();
        self.places.remove(&self.keys[place]);
        self.places.insert(key, place);
        self.keys[place] = key;
        self.flows[place] = TopFlow { name, counters: Counters::default(), missed: least };
        place
    }

    /// Returns the index of an entry with the lowest count, and that count. A search of all entries raises the minimum,
    /// so most calls need none.
    fn find_least(&mut self) -> (usize, u64) {
        let (least, from) = self.least;
        let found = self.counts.iter().skip(from).position(|count| *count == least).map(|after| (least, from + after));
        self.least = found.unwrap_or_else(|| {
            let least = self.counts.iter().copied().min().unwrap_or(0);
            (least, self.counts.iter().position(|count| *count == least).unwrap_or(0))
        });
        (self.least.1, self.least.0)
    }
}

impl PacketObserver for TopFlows {
    fn arrived(&mut self, _now: Time, packet: &QueuedPacket) {
        if let Some(counters) = self.counters(packet) {
            counters.arrived.add(packet.bytes());
        }
    }

    fn departed(&mut self, _now: Time, packet: &QueuedPacket, _since: Time) {
        if let Some(counters) = self.counters(packet) {
            counters.departed.add(packet.bytes());
        }
    }

    fn dropped(&mut self, _now: Time, packet: &QueuedPacket, reason: Reason) {
        self.lost(packet).count_drop(reason, packet.bytes());
    }

    fn marked(&mut self, packet: &QueuedPacket, reason: Reason) {
        self.lost(packet).count_mark(reason, packet.bytes());
    }
}

/// Uses a flow's key as its own hash: the key already is a hash with a random key.
#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests;
