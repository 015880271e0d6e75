//! The cost of an arrival with its share of departures, for handles of 64 bytes and queues between RED's thresholds.
//!
//! The queue is kept at a fixed length: after each arrival, one departure if the queue has grown. Half of the
//! arrivals belong to one heavy flow, so about half of those match and are dropped together with a queued packet.
#![allow(missing_docs, reason = "criterion's macros write public items without documentation")]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fairlane_qdisc::{
    BoxQdisc, Duration, FlowKey, Host, Kind, Packet, ParameterError, Qdisc, QdiscParameters, Rate, Seed, Stream, Time,
};

/// A packet handle as a data path might queue it.
#[derive(Clone, Copy)]
struct Handle {
    flow: u64,
    bytes: u32,
    _rest: [u32; 13],
}

impl Packet for Handle {
    fn flow(&self) -> FlowKey {
        FlowKey::new(self.flow)
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        false
    }
    fn mark_ce(&mut self) {}
}

/// Arrivals as in a receive ring: every second one belongs to the heavy flow, the others to many light flows.
struct Arrivals {
    ring: Vec<Handle>,
    next: usize,
}

impl Arrivals {
    /// Creates a ring whose size is a power of two, large enough for `light` flows.
    fn new(light: u32) -> Self {
        let mut chance = Seed::new(1).stream("arrivals");
        let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(light)) };
        let handles = (light as usize).next_power_of_two().max(8192);
        let ring = (0..handles).map(|_| Handle { flow: flow(&mut chance), bytes: 1000, _rest: [0; 13] }).collect();
        Self { ring, next: 0 }
    }

    fn next(&mut self) -> Handle {
        self.next += 1;
        self.ring[self.next & (self.ring.len() - 1)]
    }
}

/// Builds a discipline that holds `packets` packets, halfway between its thresholds.
struct Steady {
    queue: BoxQdisc<Handle>,
    packets: usize,
    arrivals: Arrivals,
    now: Time,
}

impl Steady {
    fn new(kind: Kind, packets: usize, light: u32) -> Result<Self, ParameterError> {
        let mut config = QdiscParameters::new(kind).with("limit", format!("{}p", 4 * packets).as_str())?;
        if kind != Kind::DropTail {
            config = config
                .with("min", format!("{}p", packets / 2).as_str())?
                .with("max", format!("{}p", 2 * packets).as_str())?
                .with("probability", 1e-6)?;
        }
        let host = Host { rate: Rate::from_bits_per_second(10_000_000_000), seed: Seed::new(1) };
        let queue = config.build(&host)?;
        let mut steady = Self { queue, packets, arrivals: Arrivals::new(light), now: Time::ZERO };
        for _ in 0..8 * packets + 20_000 {
            steady.step();
        }
        Ok(steady)
    }

    fn step(&mut self) {
        self.now += Duration::from_nanos(800);
        let packet = self.arrivals.next();
        self.queue.enqueue(self.now, packet, &mut ());
        if self.queue.packets() > self.packets {
            let departed = self.queue.dequeue(self.now, &mut ());
            black_box(&departed);
        }
    }
}

fn packet_path(c: &mut Criterion) {
    for (kind, light) in [(Kind::Choke, 32), (Kind::Choke, 100_000), (Kind::Red, 32), (Kind::DropTail, 32)] {
        let mut group = c.benchmark_group(format!("{kind}/{light} light flows"));
        group.warm_up_time(std::time::Duration::from_millis(300));
        group.measurement_time(std::time::Duration::from_millis(1200));
        group.sample_size(20);
        for packets in [1000, 60_000, 1_000_000] {
            match Steady::new(kind, packets, light) {
                Ok(mut steady) => {
                    group.bench_function(BenchmarkId::from_parameter(packets), |b| b.iter(|| steady.step()));
                }
                Err(error) => eprintln!("{kind}: {error}"),
            }
        }
    }
}

criterion_group!(benches, packet_path);
criterion_main!(benches);
