//! A shaper in user space: packets leave a discipline at a given rate. Time is simulated here; a real program would
//! sleep until the time at which the next packet is due.
//!
//! `cargo run -p fairlane-qdisc --example shaper`

use fairlane_qdisc::discipline::choke::{Choke, Config};
use fairlane_qdisc::discipline::red::RedParameters;
use fairlane_qdisc::{Duration, ParameterError, Rate, Seed, Shaper, SimplePacket, Size, Time};

fn main() -> Result<(), ParameterError> {
    let red = RedParameters { min: Size::packets(5), max: Size::packets(15), ..RedParameters::default() };
    let config = Config { limit: Size::packets(30), red, ..Config::default() };
    let choke: Choke<SimplePacket> = Choke::new(config, Seed::new(1))?;
    let mut shaper = Shaper::new(choke, Rate::from_bits_per_second(8_000_000));
    let mut sent = [0_u32; 2];
    for step in 0..2000 {
        // Each step is a millisecond, in which the link can send one packet. The flood sends two per step, the other
        // flow one every second step.
        let now = Time::ZERO + Duration::from_millis(step);
        while let Some(packet) = shaper.dequeue(now, &mut ()) {
            sent[packet.flow as usize] += 1;
        }
        let arrivals = [0, 0, 1];
        for &flow in arrivals.iter().take(2 + usize::from(step % 2 == 0)) {
            shaper.enqueue(now, SimplePacket::new(flow, 1000), &mut ());
        }
    }
    println!("flood {} packets, the other flow {} of 1000", sent[0], sent[1]);
    Ok(())
}
