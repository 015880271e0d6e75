//! A custom packet type: a handle into a pool of buffers, whose flow is the IPv4 five-tuple.
//!
//! `cargo run -p fairlane-qdisc --example own_packet`

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use fairlane_qdisc::discipline::fq_codel::{Config, FqCodel};
use fairlane_qdisc::{DropSink, FlowKey, Packet, ParameterError, Qdisc, Reason, Seed, Time};

/// A buffer of the pool, with the properties that the queue needs.
struct Buffer {
    slot: usize,
    bytes: u32,
    flow: FlowKey,
    tos: u8,
}

impl Buffer {
    /// Reads the headers of an IPv4 packet in slot `slot`; `None` for anything else.
    fn new(slot: usize, packet: &[u8]) -> Option<Self> {
        let header = usize::from(packet.first()? & 0xf) * 4;
        let (addresses, ports) = (packet.get(12..20)?, packet.get(header..header + 4)?);
        // A router on a public network uses a hash with a random key, so that senders cannot choose flows that collide
        // with others.
        let mut hasher = DefaultHasher::new();
        (packet[9], addresses, ports).hash(&mut hasher);
        let (bytes, flow) = (packet.len() as u32, FlowKey::new(hasher.finish()));
        (packet[0] >> 4 == 4).then_some(Self { slot, bytes, flow, tos: packet[1] })
    }
}

impl Packet for Buffer {
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.tos & 0b11 != 0
    }
    fn mark_ce(&mut self) {
        self.tos |= 0b11;
    }
}

/// Returns the slots of dropped packets to the pool.
struct Pool {
    free: Vec<usize>,
}

impl DropSink<Buffer> for Pool {
    fn dropped(&mut self, _now: Time, packet: Buffer, reason: Reason) {
        println!("slot {} is free again: {reason}", packet.slot);
        self.free.push(packet.slot);
    }
    fn marked(&mut self, _now: Time, packet: &Buffer, _reason: Reason) {
        println!("slot {} leaves with a mark", packet.slot);
    }
}

fn main() -> Result<(), ParameterError> {
    // Version 4, 5 words of header, ECT(0), UDP from 10.0.0.1:1000 to 10.0.0.2:2000.
    let mut udp = [0_u8; 28];
    udp[..2].copy_from_slice(&[0x45, 0x02]);
    udp[9] = 17;
    udp[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    udp[20..24].copy_from_slice(&[0x03, 0xe8, 0x07, 0xd0]);

    let mut queue = FqCodel::new(Config::default(), Seed::new(1))?;
    let mut pool = Pool { free: vec![2, 1, 0] };
    while let Some(slot) = pool.free.pop() {
        let Some(buffer) = Buffer::new(slot, &udp) else { continue };
        queue.enqueue(Time::ZERO, buffer, &mut pool);
    }
    while let Some(buffer) = queue.dequeue(Time::from_nanos(1_000_000), &mut pool) {
        println!("slot {} leaves, {} bytes", buffer.slot, buffer.bytes);
    }
    Ok(())
}
