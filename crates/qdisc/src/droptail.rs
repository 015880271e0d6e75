//! DropTail.
use alloc::collections::VecDeque;

use crate::{Counters, Fate, Packet, Qdisc, Reason, Time};

/// DropTail.
#[derive(Debug)]
pub struct DropTail<P> {
    fifo: VecDeque<P>,
    limit: usize,
    bytes: u64,
    counters: Counters,
}

impl<P> DropTail<P> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { fifo: VecDeque::new(), limit, bytes: 0, counters: Counters::default() }
    }
}

impl<P: Packet> Qdisc<P> for DropTail<P> {
    fn enqueue(&mut self, now: Time, packet: P, fate: &mut impl Fate<P>) {
        self.counters.arrived.add(packet.bytes());
        if self.fifo.len() >= self.limit {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            fate.dropped(now, packet, Reason::Limit);
        } else {
            self.bytes += u64::from(packet.bytes());
            self.fifo.push_back(packet);
        }
    }
    fn dequeue(&mut self, _now: Time, _fate: &mut impl Fate<P>) -> Option<P> {
        let packet = self.fifo.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }
    fn packets(&self) -> usize {
        self.fifo.len()
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn counters(&self) -> &Counters {
        &self.counters
    }
}
