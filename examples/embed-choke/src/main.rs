//! A flood and a polite flow at a CHOKe of the INFOCOM paper, on a link that takes half of what arrives.

use fairlane_qdisc::discipline::choke::{Choke, Config};
use fairlane_qdisc::discipline::red::RedParameters;
use fairlane_qdisc::{Duration, ParameterError, Qdisc, Rate, Seed, SimplePacket, Size, Time};

fn main() -> Result<(), ParameterError> {
    let red = RedParameters { min: Size::packets(10), max: Size::packets(30), ..Default::default() };
    let mut queue = Choke::new(Config { limit: Size::packets(60), red, ..Config::default() }, Seed::new(1))?;
    queue.link_rate(Rate::from_bits_per_second(1_000_000));
    let mut sent = [0_u32; 2];
    for n in 0..20_000_u64 {
        let now = Time::ZERO + Duration::from_millis(4 * n);
        queue.enqueue(now, SimplePacket::new(u64::from(n % 4 == 0), 1000), &mut ());
        if n % 2 == 0 {
            let Some(packet) = queue.dequeue(now, &mut ()) else { continue };
            sent[packet.flow as usize] += 1;
        }
    }
    println!("the flood sent three of four packets and got {} of {}", sent[0], sent[0] + sent[1]);
    Ok(())
}
