//! `direct KIND BURST PACKETS` does in Rust what `bench/c/cost.c` does through the library's interface for C.

use std::env;
use std::error::Error;

use fairlane_qdisc::{BoxQdisc, FlowKey, Host, Packet, QdiscParameters, Rate, Seed, Time};

/// The fields of `fl_packet`.
#[derive(Clone, Copy, Debug)]
struct Plain {
    handle: u64,
    flow: u64,
    source: u64,
    destination: u64,
    label: u64,
    bytes: u32,
    tos: u8,
}

impl Packet for Plain {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.flow)
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.tos & 3 != 0
    }
    fn mark_ce(&mut self) {
        self.tos |= 3;
    }
    fn source_host(&self) -> u64 {
        if self.source == 0 { self.flow } else { self.source }
    }
    fn destination_host(&self) -> u64 {
        if self.destination == 0 { self.flow } else { self.destination }
    }
    fn class(&self) -> u8 {
        self.tos & !3
    }
    fn label(&self) -> u64 {
        self.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.label = bits_per_second;
    }
}

const HELD: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [text, burst, packets] = &*arguments else { return Err("direct KIND BURST PACKETS".into()) };
    let (burst, packets): (u64, u64) = (burst.parse()?, packets.parse()?);
    let host = Host { rate: Rate::from_bits_per_second(100_000_000), seed: Seed::new(1) };
    let mut queue: BoxQdisc<Plain> = text.parse::<QdiscParameters>()?.build(&host)?;
    let (mut now, mut sum) = (Time::ZERO, 0);
    for sent in (0..packets).step_by(burst as usize) {
        for number in sent..sent + burst {
            let flow = number % 16;
            let packet = Plain { handle: number, flow, source: 0, destination: 0, label: 0, bytes: 1000, tos: 2 };
            queue.enqueue(now, packet, &mut ());
        }
        now = Time::from_nanos(now.as_nanos() + 80_000 * burst);
        if sent < HELD {
            continue;
        }
        for _ in 0..burst {
            let Some(packet) = queue.dequeue(now, &mut ()) else { break };
            sum += packet.handle;
        }
    }
    println!("{sum}");
    Ok(())
}
