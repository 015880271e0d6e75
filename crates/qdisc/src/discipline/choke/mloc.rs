//! Back CHOKe with memory: drops an arrival whose flow is among the last flows admitted.
//!
//! **Source.** Pan, Prabhakar, Psounis, "CHOKe", INFOCOM 2000, section IV-B: the model of back CHOKe, in which no
//! queued packet is dropped, with a memory of the last M flows.
//!
//! **Deviations.** None. It is the paper's model rather than a discipline for a network: with M flows or fewer nothing
//! passes after the first packet of each.
//!
//! **Cost.** A look-up in a hash table, and an insertion for each packet admitted.

use alloc::vec::Vec;

use crate::error::check;
use crate::flow::table::FlowTable;
use crate::queue::buffer::Buffer;
use crate::{Counters, DropSink, Fate, FlowKey, Packet, ParameterError, Qdisc, Reason, Seed, Size, Status, Time};

/// The most flows that are remembered.
pub(crate) const MAX_MEMORY: u32 = 65_536;

/// The configuration of [`MlocChoke`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct Config {
    /// The most that the queue holds, in packets or bytes. Default: 300 packets.
    pub limit: Size,
    /// The number of flows remembered, 0 to 65,536: an arrival of one of the last flows admitted is dropped. Default:
    /// 1, back CHOKe's one packet.
    pub memory: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { limit: Size::packets(300), memory: 1 }
    }
}

impl Config {
    fn validate(&self) -> Result<(), ParameterError> {
        check::size("limit", self.limit)?;
        check::count("memory", self.memory, 0..=MAX_MEMORY)
    }
}

/// Back CHOKe with memory.
#[derive(Debug)]
pub struct MlocChoke<P> {
    buffer: Buffer<P>,
    /// The last flows admitted, and a ring of them, of which `oldest` makes room for the next.
    admitted: FlowTable,
    ring: Vec<FlowKey>,
    oldest: usize,
    memory: usize,
}

impl<P: Packet> MlocChoke<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// A value of `config` is out of its range.
    pub fn new(config: Config, seed: Seed) -> Result<Self, ParameterError> {
        config.validate()?;
        let Config { limit, memory } = config;
        let (buffer, admitted) = (Buffer::new(limit), FlowTable::new(seed));
        Ok(Self { buffer, admitted, ring: Vec::new(), oldest: 0, memory: memory as usize })
    }

    /// Notes that a packet of `flow`, which is not remembered, was admitted.
    fn remember(&mut self, flow: FlowKey) {
        if self.ring.len() < self.memory {
            self.ring.push(flow);
        } else if let Some(oldest) = self.ring.get_mut(self.oldest) {
            self.admitted.remove(core::mem::replace(oldest, flow));
            self.oldest = (self.oldest + 1) % self.memory;
        } else {
            return;
        }
        self.admitted.insert(flow);
    }
}

impl<P: Packet> Qdisc<P> for MlocChoke<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.buffer.arrive(&packet);
        let flow = packet.flow();
        if self.admitted.get(flow).is_some() {
            return self.buffer.discard(now, packet, Reason::MatchArrival, sink);
        }
        let fate = self.buffer.admit(now, packet, None, sink);
        if !fate.is_dropped() {
            self.remember(flow);
        }
        fate
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        self.buffer.depart_last()
    }

    fn status(&self) -> Status {
        Status { flows: (self.memory > 0).then(|| self.admitted.flows()), ..self.buffer.status() }
    }

    fn counters(&self) -> &Counters {
        &self.buffer.counters
    }
}
