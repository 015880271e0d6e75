//! The cost of an arrival with its share of departures, for each kind: with 33 flows and a queue of about 1,000 packets, and
//! with 10,001 active flows.
//!
//! Eight packets arrive for seven that depart, and every second one belongs to one heavy flow. `bench/costs` turns the
//! results into the table that `fairlane qdiscs` and the documentation show.
#![allow(missing_docs, reason = "criterion's macros write public items without documentation")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fairlane_qdisc::{
    BoxQdisc, Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Stream, Time,
};

/// Light flows beside the heavy one.
const FEW: u32 = 32;
const MANY: u32 = 10_000;

/// The rate of the link; a packet of 1000 bytes takes 800 ns.
const RATE: Rate = Rate::from_bits_per_second(10_000_000_000);

/// Room for a queue of about 1,000 packets, or for one of each of `MANY` flows and as many more.
fn configured(kind: Kind, light: u32) -> Result<QdiscParameters, ParameterError> {
    let given: &[(&str, &str)] = match (kind, light) {
        // These control the delay: the target of the delay sets the queue length.
        (Kind::Codel | Kind::Pie | Kind::Cobalt | Kind::Pi2 | Kind::DualPi2 | Kind::Cake, _)
        | (Kind::FqCodel | Kind::FqPie, FEW) => &[],
        (Kind::FqCodel | Kind::FqPie, _) => &[("flows", "65536")],
        (Kind::Sfq, FEW) => &[("limit", "1000p")],
        (Kind::Sfq, _) => &[("limit", "20000p"), ("flows", "65536")],
        (Kind::SfqRed, FEW) => &[("limit", "1000p")],
        (Kind::SfqRed, _) => &[("limit", "20000p"), ("flows", "10000")],
        (Kind::Bare, _) => &[("limit", "40mb"), ("flows", "20000"), ("timeout", "100ms")],
        (_, FEW) if takes(kind, "min") => &[("limit", "4000p"), ("min", "500p"), ("max", "1500p")],
        (_, _) if takes(kind, "min") => &[("limit", "20000p"), ("min", "5000p"), ("max", "15000p")],
        (_, FEW) => &[("limit", "1000p")],
        (_, _) => &[("limit", "20000p")],
    };
    given.iter().try_fold(QdiscParameters::new(kind), |config, &(key, text)| config.with(key, text))
}

fn takes(kind: Kind, key: &str) -> bool {
    kind.parameters().iter().any(|parameter| parameter.key == key)
}

struct Overload {
    queue: BoxQdisc<SimplePacket>,
    arrivals: Vec<SimplePacket>,
    next: usize,
    now: Time,
}

impl Overload {
    /// Builds `kind`, filled with as many packets as it lets stay.
    fn new(kind: Kind, light: u32) -> Result<Self, ParameterError> {
        let queue = configured(kind, light)?.build(&Host { rate: RATE, seed: Seed::new(1) })?;
        let mut chance = Seed::new(1).stream("arrivals");
        let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(light)) };
        let arrivals = (0..65_536).map(|_| SimplePacket::new(flow(&mut chance), 1000).unresponsive()).collect();
        let mut overload = Self { queue, arrivals, next: 0, now: Time::ZERO };
        for _ in 0..1_000_000 {
            overload.step();
        }
        Ok(overload)
    }

    fn step(&mut self) {
        self.now += Duration::from_nanos(700);
        self.next += 1;
        self.queue.enqueue(self.now, self.arrivals[self.next & (self.arrivals.len() - 1)], &mut ());
        if self.next & 7 != 0 {
            black_box(self.queue.dequeue(self.now, &mut ()));
        }
    }
}

fn kinds(c: &mut Criterion) {
    for light in [FEW, MANY] {
        let mut group = c.benchmark_group(format!("{} flows", light + 1));
        group.warm_up_time(std::time::Duration::from_millis(200));
        group.measurement_time(std::time::Duration::from_millis(500));
        group.sample_size(20);
        group.nresamples(2000);
        for kind in Kind::ALL {
            match Overload::new(kind, light) {
                Ok(mut overload) => {
                    group.bench_function(kind.name(), |b| b.iter(|| overload.step()));
                }
                Err(error) => eprintln!("{kind}: {error}"),
            }
        }
    }
}

criterion_group!(benches, kinds);
criterion_main!(benches);
