//! The egress queue of a VPN: peers share the tunnel's uplink fairly, packets that have waited too long are dropped or
//! marked, and the rate changes while packets are queued.
//!
//! `cargo run -p fairlane-qdisc --example vpn_egress`

use fairlane_qdisc::discipline::fq_codel::{Config, FqCodel};
use fairlane_qdisc::{DropSink, Duration, FlowKey, Packet, ParameterError, Rate, Reason, Seed, Shaper, Time};

/// A packet of a peer, before encryption.
#[derive(Debug)]
struct Datagram {
    peer: u64,
    payload: Vec<u8>,
    ecn: u8,
}

/// The bytes that the tunnel adds to each packet on the wire: an outer IPv4 header, UDP, and the tunnel's own 32 bytes.
const OVERHEAD: u32 = 20 + 8 + 32;

impl Packet for Datagram {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.peer)
    }
    fn bytes(&self) -> u32 {
        self.payload.len() as u32 + OVERHEAD
    }
    fn ecn_capable(&self) -> bool {
        self.ecn != 0
    }
    fn mark_ce(&mut self) {
        self.ecn = 0b11;
    }
}

/// Counts drops and marks for each peer.
#[derive(Default)]
struct Report {
    dropped: [u32; 2],
    marked: [u32; 2],
}

impl DropSink<Datagram> for Report {
    fn dropped(&mut self, _now: Time, packet: Datagram, _reason: Reason) {
        self.dropped[packet.peer as usize] += 1;
    }
    fn marked(&mut self, _now: Time, packet: &Datagram, _reason: Reason) {
        self.marked[packet.peer as usize] += 1;
    }
}

fn main() -> Result<(), ParameterError> {
    let queue = FqCodel::new(Config::default(), Seed::new(1))?;
    let (mut uplink, mut report) = (Shaper::new(queue, Rate::from_bits_per_second(20_000_000)), Report::default());
    let mut sent = [0_u64; 2];
    for millisecond in 0..5000_u64 {
        let now = Time::ZERO + Duration::from_millis(millisecond);
        if millisecond == 2500 {
            // The uplink gets slower. Queued packets stay queued.
            uplink.set_rate(Rate::from_bits_per_second(10_000_000));
        }
        // Peer 0 floods; peer 1 sends a small packet every 20 ms, as a call does.
        let flood = (0..4).map(|_| Datagram { peer: 0, payload: vec![0; 1300], ecn: 0b10 });
        let call = (millisecond % 20 == 0).then(|| Datagram { peer: 1, payload: vec![0; 160], ecn: 0 });
        for datagram in flood.chain(call) {
            uplink.enqueue(now, datagram, &mut report);
        }
        while let Some(datagram) = uplink.dequeue(now, &mut report) {
            sent[datagram.peer as usize] += 1;
        }
    }
    for (peer, sent) in sent.iter().enumerate() {
        println!("peer {peer}: {sent} sent, {} dropped, {} marked", report.dropped[peer], report.marked[peer]);
    }
    Ok(())
}
