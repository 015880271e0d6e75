//! A custom discipline that implements the library's trait: a FIFO whose limit is a time at the link's rate.
//!
//! `cargo run -p fairlane-qdisc --example own_discipline`

use std::collections::VecDeque;

use fairlane_qdisc::discipline::choke::{self, Choke};
use fairlane_qdisc::{
    BoxQdisc, Counters, DropSink, Duration, Fate, Packet, ParameterError, Qdisc, Rate, Reason, Seed, SimplePacket,
    Status, Time,
};

/// A FIFO that drops arrivals which would wait longer than `most`.
struct TimedFifo<P> {
    queue: VecDeque<P>,
    bytes: u64,
    most: Duration,
    rate: Rate,
    counters: Counters,
}

impl<P> TimedFifo<P> {
    fn new(most: Duration) -> Self {
        Self { queue: VecDeque::new(), bytes: 0, most, rate: Rate::default(), counters: Counters::default() }
    }
}

impl<P: Packet> Qdisc<P> for TimedFifo<P> {
    fn enqueue(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.counters.arrived.add(packet.bytes());
        if self.rate != Rate::default() && self.rate.transmission(self.bytes) > self.most {
            self.counters.count_drop(Reason::Limit, packet.bytes());
            sink.dropped(now, packet, Reason::Limit);
            return Fate::Dropped(Reason::Limit);
        }
        self.bytes += u64::from(packet.bytes());
        self.queue.push_back(packet);
        Fate::Queued
    }

    fn dequeue(&mut self, _now: Time, _sink: &mut dyn DropSink<P>) -> Option<P> {
        let packet = self.queue.pop_front()?;
        self.bytes -= u64::from(packet.bytes());
        self.counters.departed.add(packet.bytes());
        Some(packet)
    }

    fn status(&self) -> Status {
        Status::new(self.queue.len(), self.bytes)
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn link_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }
}

fn main() -> Result<(), ParameterError> {
    let queues: [(&str, BoxQdisc<SimplePacket>); 2] = [
        ("50 ms", Box::new(TimedFifo::new(Duration::from_millis(50)))),
        ("choke", Box::new(Choke::new(choke::Config::default(), Seed::new(1))?)),
    ];
    for (name, mut queue) in queues {
        queue.link_rate(Rate::from_bits_per_second(10_000_000));
        for number in 0..1000 {
            queue.enqueue(Time::ZERO, SimplePacket::new(number % 10, 1000), &mut ());
        }
        let (status, counters) = (queue.status(), queue.counters());
        println!("{name}: {} packets queued, {} dropped", status.packets, counters.dropped_total().packets);
    }
    Ok(())
}
