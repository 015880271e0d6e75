//! `direct KIND BURST PACKETS` does in Rust what `bench/c/cost.c` does through the library's interface for C.

use std::env;
use std::error::Error;

use fairlane_qdisc::{BoxQdisc, Host, QdiscParameters, Rate, Seed, SimplePacket, Time};

const HELD: u64 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [text, burst, packets] = &*arguments else { return Err("direct KIND BURST PACKETS".into()) };
    let (burst, packets): (u64, u64) = (burst.parse()?, packets.parse()?);
    let host = Host { rate: Rate::from_bits_per_second(100_000_000), seed: Seed::new(1) };
    let mut queue: BoxQdisc<SimplePacket> = text.parse::<QdiscParameters>()?.build(&host)?;
    let (mut now, mut sum) = (Time::ZERO, 0);
    for sent in (0..packets).step_by(burst as usize) {
        for number in sent..sent + burst {
            queue.enqueue(now, SimplePacket::new(number % 16, 1000).with_id(number).with_ecn(), &mut ());
        }
        now = Time::from_nanos(now.as_nanos() + 80_000 * burst);
        if sent < HELD {
            continue;
        }
        for _ in 0..burst {
            let Some(packet) = queue.dequeue(now, &mut ()) else { break };
            sum += packet.id;
        }
    }
    println!("{sum}");
    Ok(())
}
