//! BARE's flows: what is known of each address pair that had a packet admitted lately.

use alloc::vec::Vec;

use crate::flow_table::FlowTable;
use crate::hash::FlowHash;
use crate::{Duration, FlowKey, Packet, Seed, Stream, Time};

/// No flow.
const NIL: u32 = u32::MAX;

/// What is known of a flow.
#[derive(Debug)]
pub(super) struct State {
    /// Its address pair.
    pair: FlowKey,
    weight: u32,
    /// Packets queued, and bytes in them.
    packets: u32,
    pub(super) bytes: u64,
    /// The rate at which it has packets admitted, in bytes per second.
    pub(super) rate: f64,
    /// The exponent of its drop probability.
    pub(super) beta: f64,
    /// Bytes since the exponent's last change.
    pub(super) counted: u64,
    /// When it had a packet admitted last.
    admitted: Time,
    /// While nothing is queued: its place among such flows, and its neighbours by the time of their last packet.
    idle: u32,
    older: u32,
    newer: u32,
}

impl State {
    /// One over its weight.
    pub(super) const fn per_weight(&self) -> f64 {
        [1.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0][(self.weight - 1) as usize & 3]
    }

    /// Takes a packet of `bytes` bytes that is admitted at `now` into the rate; `per_k` is one over the averaging time
    /// in seconds.
    pub(super) fn measure(&mut self, now: Time, bytes: u32, per_k: f64) {
        let bytes = f64::from(bytes);
        let time = now.since(self.admitted).as_secs();
        if time > 0.0 {
            // e^-x - 1, exact also where packets come much closer than K.
            let gone = libm::expm1(-time * per_k);
            self.rate = -gone * bytes / time + (1.0 + gone) * self.rate;
        } else {
            self.rate += bytes * per_k;
        }
    }
}

/// All flows that are known.
#[derive(Debug)]
pub(super) struct Flows {
    table: FlowTable,
    hash: FlowHash,
    /// By their numbers in the table.
    states: Vec<State>,
    most: usize,
    timeout: Duration,
    /// The sum of their weights.
    weights: u64,
    /// Those without a packet queued, in no order: one of them is drawn when a state is wanted.
    idle: Vec<u32>,
    /// The ends of the same as a list by time. The queue is a FIFO, so they join it in the order of their last packets.
    oldest: u32,
    newest: u32,
    draws: Stream,
}

impl Flows {
    /// No flows yet, and no more than `most`; one without packets is forgotten `timeout` after its last.
    pub(super) fn new(most: u32, timeout: Duration, seed: Seed) -> Self {
        Self {
            table: FlowTable::new(seed),
            hash: FlowHash::new(seed.named("pair")),
            states: Vec::new(),
            most: most as usize,
            timeout,
            weights: 0,
            idle: Vec::new(),
            oldest: NIL,
            newest: NIL,
            draws: seed.stream("reuse"),
        }
    }

    /// The sum of the weights.
    pub(super) const fn weights(&self) -> u64 {
        self.weights
    }

    /// How many are known.
    #[cfg(test)]
    pub(super) const fn known(&self) -> usize {
        self.table.flows()
    }

    /// What is known of the flow of that number.
    pub(super) fn get_mut(&mut self, flow: usize) -> &mut State {
        &mut self.states[flow]
    }

    /// The key of the packet's address pair.
    fn pair(&self, packet: &impl Packet) -> FlowKey {
        let source = self.hash.bits(packet.source_host());
        FlowKey::new(self.hash.bits(source.wrapping_add(packet.destination_host())))
    }

    /// The number of the packet's flow, if it is known.
    pub(super) fn find(&self, packet: &impl Packet) -> Option<usize> {
        self.table.get(self.pair(packet))
    }

    /// Makes the packet's flow known, which it was not; nothing if every state is that of a flow with packets queued.
    pub(super) fn register(&mut self, packet: &impl Packet, weight: u32, beta: f64) -> Option<usize> {
        if self.table.flows() == self.most {
            let place = self.draws.below(self.idle.len() as u32) as usize;
            let flow = *self.idle.get(place)?;
            self.forget(flow);
        }
        let pair = self.pair(packet);
        let (flow, _) = self.table.insert(pair);
        let state = State {
            pair,
            weight,
            packets: 0,
            bytes: 0,
            rate: 0.0,
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

    /// A packet of `flow` was queued.
    pub(super) fn queued(&mut self, now: Time, flow: usize, bytes: u32) {
        if self.states[flow].idle != NIL {
            self.unlist(flow as u32);
        }
        let state = &mut self.states[flow];
        state.packets += 1;
        state.bytes += u64::from(bytes);
        state.admitted = now;
    }

    /// A packet of `flow` left the queue.
    pub(super) fn left(&mut self, flow: usize, bytes: u32) {
        let state = &mut self.states[flow];
        state.packets -= 1;
        state.bytes -= u64::from(bytes);
        if state.packets == 0 {
            self.list(flow as u32);
        }
    }

    /// Forgets the flows whose time is over at `now`; whether there were any.
    pub(super) fn expire(&mut self, now: Time) -> bool {
        let mut any = false;
        while self.oldest != NIL && now.since(self.states[self.oldest as usize].admitted) >= self.timeout {
            self.forget(self.oldest);
            any = true;
        }
        any
    }

    /// Forgets `flow`, which has no packet queued.
    fn forget(&mut self, flow: u32) {
        self.unlist(flow);
        let state = &self.states[flow as usize];
        self.weights -= u64::from(state.weight);
        self.table.remove(state.pair);
    }

    /// Puts `flow` to those without a packet queued.
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

    /// Takes `flow` from those without a packet queued.
    fn unlist(&mut self, flow: u32) {
        let State { idle, older, newer, .. } = self.states[flow as usize];
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
