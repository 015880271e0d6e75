//! BARE's active flows: the state of each address pair that had a packet admitted lately.

use alloc::vec::Vec;

use crate::flow::hash::FlowHash;
use crate::flow::table::FlowTable;
use crate::{Duration, FlowKey, Packet, Seed, Stream, Time};

/// No flow.
const NIL: u32 = u32::MAX;

/// The state of an active flow.
#[derive(Debug)]
pub(super) struct ActiveFlow {
    /// The key of its address pair.
    pair: FlowKey,
    weight: u32,
    /// One over the weight.
    pub(super) per_weight: f64,
    /// Its packets in the queue, and the bytes in them.
    packets: u32,
    pub(super) bytes: u64,
    /// The estimate of the flow's service: the rate of its admitted packets, in bytes per second, or its average queue,
    /// in bytes.
    pub(super) estimate: f64,
    /// The exponent of its drop probability.
    pub(super) beta: f64,
    /// Bytes since the exponent's last change.
    pub(super) counted: u64,
    /// The time of its last admitted packet.
    admitted: Time,
    /// While nothing is queued: its index among the idle flows, and its neighbours in the order of their last packets.
    idle: u32,
    older: u32,
    newer: u32,
}

impl ActiveFlow {
    /// Updates the rate with a packet of `bytes` bytes that is admitted at `now`; `per_k` is one over the averaging
    /// time in seconds.
    pub(super) fn measure(&mut self, now: Time, bytes: u32, per_k: f64) {
        let bytes = f64::from(bytes);
        let time = now.since(self.admitted).as_secs();
        if time > 0.0 {
            // e^-x - 1, accurate also for times much shorter than K.
            let gone = libm::expm1(-time * per_k);
            self.estimate = -gone * bytes / time + (1.0 + gone) * self.estimate;
        } else {
            self.estimate += bytes * per_k;
        }
    }

    /// Updates the average queue with what the flow has queued once a packet of `bytes` bytes is; `weight` is that of a
    /// sample.
    pub(super) fn sample(&mut self, bytes: u32, weight: f64) {
        self.estimate = (1.0 - weight) * self.estimate + weight * (self.bytes + u64::from(bytes)) as f64;
    }
}

/// All active flows.
#[derive(Debug)]
pub(super) struct ActiveFlows {
    table: FlowTable,
    hash: FlowHash,
    /// Indexed by the flows' numbers in the table.
    states: Vec<ActiveFlow>,
    max_flows: usize,
    timeout: Duration,
    /// The sum of the flows' weights.
    weights: u64,
    /// The flows without a queued packet, in no order: one of them is drawn when a state is reused.
    idle: Vec<u32>,
    /// The ends of a list of the same flows by time. The queue is a FIFO, so flows join it in the order of their last
    /// packets.
    oldest: u32,
    newest: u32,
    draws: Stream,
}

impl ActiveFlows {
    /// Creates an empty set of at most `max_flows` flows. A flow without queued packets is forgotten `timeout` after
    /// its last admitted packet.
    pub(super) fn new(max_flows: u32, timeout: Duration, seed: Seed) -> Self {
        Self {
            table: FlowTable::new(seed),
            hash: FlowHash::new(seed.named("pair")),
            states: Vec::new(),
            max_flows: max_flows as usize,
            timeout,
            weights: 0,
            idle: Vec::new(),
            oldest: NIL,
            newest: NIL,
            draws: seed.stream("reuse"),
        }
    }

    /// Sets the time after which a flow without queued packets is forgotten.
    pub(super) const fn set_timeout(&mut self, timeout: Duration) {
        self.timeout = timeout;
    }

    /// Returns the sum of the weights.
    pub(super) const fn weights(&self) -> u64 {
        self.weights
    }

    /// Returns the number of active flows.
    pub(super) const fn len(&self) -> usize {
        self.table.flows()
    }

    /// Returns the state of the flow of that number.
    pub(super) fn get_mut(&mut self, flow: usize) -> &mut ActiveFlow {
        &mut self.states[flow]
    }

    /// Returns the key of the packet's address pair.
    fn pair(&self, packet: &impl Packet) -> FlowKey {
        // A sum with a secret function of the source; the table hashes it.
        FlowKey::new(self.hash.bits(packet.source_host()).wrapping_add(packet.destination_host()))
    }

    /// Returns the number of the packet's flow, or `None` if it has no state.
    pub(super) fn find(&self, packet: &impl Packet) -> Option<usize> {
        self.table.get(self.pair(packet))
    }

    /// Creates state for the packet's flow, which has none, and returns its number. Returns `None` if every state
    /// belongs to a flow with queued packets.
    pub(super) fn register(&mut self, packet: &impl Packet, weight: u32, beta: f64) -> Option<usize> {
        if self.table.flows() == self.max_flows {
            let index = self.draws.below(self.idle.len() as u32) as usize;
            let flow = *self.idle.get(index)?;
            self.forget(flow);
        }
        let pair = self.pair(packet);
        let (flow, _) = self.table.insert(pair);
        let state = ActiveFlow {
            pair,
            weight,
            per_weight: 1.0 / f64::from(weight),
            packets: 0,
            bytes: 0,
            estimate: 0.0,
            beta,
            counted: u64::from(packet.bytes()),
            admitted: Time::ZERO,
            idle: NIL,
            older: NIL,
            newer: NIL,
        };
        if flow == self.states.len() {
            self.states.push(state);
            self.idle.reserve(self.states.len() - self.idle.len());
        } else {
            self.states[flow] = state;
        }
        self.weights += u64::from(weight);
        Some(flow)
    }

    /// Notes that a packet of `flow` was queued at `now`.
    pub(super) fn queued(&mut self, now: Time, flow: usize, bytes: u32) {
        if self.states[flow].idle != NIL {
            self.unlist(flow as u32);
        }
        let state = &mut self.states[flow];
        state.packets += 1;
        state.bytes += u64::from(bytes);
        state.admitted = now;
    }

    /// Notes that a packet of `flow` left the queue.
    pub(super) fn dequeued(&mut self, flow: usize, bytes: u32) {
        let state = &mut self.states[flow];
        state.packets -= 1;
        state.bytes -= u64::from(bytes);
        if state.packets == 0 {
            self.list(flow as u32);
        }
    }

    /// Forgets the flows whose timeout is over at `now`; tells whether there were any.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        let mut any = false;
        while self.oldest != NIL && now.since(self.states[self.oldest as usize].admitted) >= self.timeout {
            self.forget(self.oldest);
            any = true;
        }
        any
    }

    /// Forgets `flow`, which has no queued packet.
    fn forget(&mut self, flow: u32) {
        self.unlist(flow);
        let state = &self.states[flow as usize];
        self.weights -= u64::from(state.weight);
        self.table.remove(state.pair);
    }

    /// Adds `flow` to the idle flows.
    fn list(&mut self, flow: u32) {
        let state = &mut self.states[flow as usize];
        state.idle = self.idle.len() as u32;
        state.older = self.newest;
        state.newer = NIL;
        self.idle.push(flow);
        match self.newest {
            NIL => self.oldest = flow,
            newest => self.states[newest as usize].newer = flow,
        }
        self.newest = flow;
    }

    /// Removes `flow` from the idle flows.
    fn unlist(&mut self, flow: u32) {
        let ActiveFlow { idle, older, newer, .. } = self.states[flow as usize];
        self.states[flow as usize].idle = NIL;
        self.idle.swap_remove(idle as usize);
        if let Some(&moved) = self.idle.get(idle as usize) {
            self.states[moved as usize].idle = idle;
        }
        match older {
            NIL => self.oldest = newer,
            older => self.states[older as usize].newer = newer,
        }
        match newer {
            NIL => self.newest = older,
            newer => self.states[newer as usize].older = older,
        }
    }
}
