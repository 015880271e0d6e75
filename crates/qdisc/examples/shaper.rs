//! A shaper in user space: packets leave a discipline at a given rate. Time is simulated here; a real program would
//! sleep until the time at which the next packet is due.
//!
//! `cargo run -p fairlane-qdisc --example shaper`

use fairlane_qdisc::discipline::choke::{Choke, Config};
use fairlane_qdisc::discipline::red::RedParameters;
use fairlane_qdisc::{Duration, LinkClock, ParameterError, Qdisc, Rate, Seed, SimplePacket, Size, Time};

/// A discipline in front of a link with a given rate.
struct Shaper<Q> {
    queue: Q,
    link: LinkClock,
}

impl<Q: Qdisc<SimplePacket>> Shaper<Q> {
    fn new(mut queue: Q, rate: Rate) -> Self {
        queue.link_rate(rate);
        Self { queue, link: LinkClock::new(rate) }
    }

    /// Offers a packet that arrives at `now`.
    fn arrive(&mut self, now: Time, packet: SimplePacket) {
        if self.queue.packets() == 0 {
            self.link.wake(now);
        }
        self.queue.enqueue(now, packet, &mut ());
    }

    /// Returns the time at which the link can send the next packet; `None` while no packet is queued.
    fn next(&self) -> Option<Time> {
        (self.queue.packets() > 0).then(|| self.link.next())
    }

    /// Sends the packets that the link can send until `now`.
    fn send(&mut self, now: Time, mut send: impl FnMut(Time, SimplePacket)) {
        while let Some(at) = self.next().filter(|&at| at <= now) {
            let Some(packet) = self.queue.dequeue(at, &mut ()) else { return };
            self.link.advance(packet.bytes);
            send(at, packet);
        }
    }
}

fn main() -> Result<(), ParameterError> {
    let red = RedParameters { min: Size::packets(5), max: Size::packets(15), ..RedParameters::default() };
    let choke = Choke::new(Config { limit: Size::packets(30), red, ..Config::default() }, Seed::new(1))?;
    let mut shaper = Shaper::new(choke, Rate::from_bits_per_second(8_000_000));
    let mut sent = [0_u32; 2];
    for step in 0..2000 {
        // Each step is a millisecond, in which the link can send one packet. The flood sends two per step, the other
        // flow one every second step.
        let now = Time::ZERO + Duration::from_millis(step);
        shaper.send(now, |_, packet| sent[packet.flow as usize] += 1);
        let arrivals = [0, 0, 1];
        for &flow in arrivals.iter().take(2 + usize::from(step % 2 == 0)) {
            shaper.arrive(now, SimplePacket::new(flow, 1000));
        }
    }
    println!("flood {} packets, the other flow {} of 1000", sent[0], sent[1]);
    Ok(())
}
