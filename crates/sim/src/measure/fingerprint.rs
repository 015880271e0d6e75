//! Fingerprints of a run, for regression tests.

use fairlane_qdisc::Time;

use crate::measure::observer::{Observer, PacketEvent, QueueEvent};
use crate::packet::PacketKind;

/// Reduces the events of a run to two hashes.
///
/// An unchanged fingerprint means that the run is the same as before, not that it is correct. After an intended change
/// the new fingerprint is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    strict: u64,
    counts: Vec<[u32; 2]>,
    loose: u64,
    second: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { strict: FNV_OFFSET, counts: Vec::new(), loose: FNV_OFFSET, second: 0 }
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

fn absorb(hash: &mut u64, words: &[u64]) {
    for word in words {
        *hash = (*hash ^ word).wrapping_mul(FNV_PRIME);
        *hash ^= *hash >> 29;
    }
}

impl Fingerprint {
    /// Returns the hash of every event at every queue and of every delivery, with its time in nanoseconds.
    #[must_use]
    pub const fn strict(&self) -> u64 {
        self.strict
    }

    /// Returns the hash of the packets that each flow had delivered and dropped in each second.
    #[must_use]
    pub fn loose(&self) -> u64 {
        let mut last = self.clone();
        last.close_second();
        last.loose
    }

    fn count(&mut self, at: Time, flow: u32, which: usize) {
        let second = at.as_nanos() / 1_000_000_000;
        if second != self.second {
            self.close_second();
            self.second = second;
        }
        let flow = flow as usize;
        if self.counts.len() <= flow {
            self.counts.resize(flow + 1, [0; 2]);
        }
        self.counts[flow][which] += 1;
    }

    fn close_second(&mut self) {
        for (flow, counts) in self.counts.iter_mut().enumerate().filter(|(_, counts)| **counts != [0; 2]) {
            absorb(&mut self.loose, &[self.second, flow as u64, u64::from(counts[0]), u64::from(counts[1])]);
            *counts = [0; 2];
        }
    }
}

impl Observer for Fingerprint {
    fn packet(&mut self, event: &PacketEvent) {
        let code = match event.queue_event {
            QueueEvent::Arrived => 0,
            QueueEvent::Departed { .. } => 1,
            QueueEvent::Lost => 2,
            QueueEvent::Dropped(reason) => 0x100 + reason.index() as u64,
            QueueEvent::Marked(reason) => 0x200 + reason.index() as u64,
        };
        let packet = u64::from(event.flow) << 32 | u64::from(event.seq);
        absorb(&mut self.strict, &[event.at.as_nanos(), u64::from(event.link) << 32 | code, packet]);
        if matches!(event.queue_event, QueueEvent::Dropped(_)) && event.kind == PacketKind::Data {
            self.count(event.at, event.flow, 1);
        }
    }

    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        absorb(&mut self.strict, &[at.as_nanos(), u64::MAX, u64::from(flow) << 32 | u64::from(seq)]);
        self.count(at, flow, 0);
    }
}
