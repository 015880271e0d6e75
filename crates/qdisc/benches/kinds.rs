//! The cost of an arrival with its departure, for each kind, at the same length of the queue: 1,000 packets with 33 flows, and 10,000
//! packets with 10,001 flows.
//!
//! A packet leaves for each one that is admitted, so the queue keeps its length; an arrival that is dropped has no departure. Every
//! second packet belongs to one heavy flow. The link takes 80 ns for a packet: the queue is 0.08 or 0.8 ms long, below the targets of
//! the disciplines that control the delay.
//!
//! `bench/costs` turns the results into the table that `fairlane qdiscs` and the documentation show. It counts instructions under
//! callgrind: with `COUNT=KIND,FLOWS,STEPS` in the environment this program does nothing but that many steps.
#![allow(missing_docs, reason = "criterion's macros write public items without documentation")]

use std::hint::black_box;

use criterion::Criterion;
use fairlane_qdisc::{
    BoxQdisc, Duration, Host, Kind, ParameterError, Qdisc, QdiscParameters, Rate, Seed, SimplePacket, Stream, Time,
};

/// Light flows beside the heavy one.
const FEW: u32 = 32;
const MANY: u32 = 10_000;

/// The rate of the link; a packet of 1000 bytes takes 80 ns.
const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);
const PACKET_TIME: Duration = Duration::from_nanos(80);

/// Packets in the queue.
const fn length(light: u32) -> usize {
    if light == FEW { 1000 } else { 10_000 }
}

/// Room for four times the length, and thresholds around it.
fn configured(kind: Kind, light: u32) -> Result<QdiscParameters, ParameterError> {
    let length = length(light);
    let room = format!("{}p", 4 * length);
    let mut given: Vec<(&str, String)> = Vec::new();
    let mut add = |key, value: String| {
        if kind.parameters().iter().any(|parameter| parameter.key == key) {
            given.push((key, value));
        }
    };
    match kind {
        Kind::Bare => {
            for (key, value) in [("limit", "40mb"), ("flows", "20000"), ("timeout", "100ms")] {
                add(key, value.to_owned());
            }
            // What a flow may queue: by default 8 packets, with few flows less than the length in all.
            if light == FEW {
                add("hi", "80kb".to_owned());
                add("lo", "40kb".to_owned());
            }
        }
        // Its parameter `limit` is memory.
        Kind::Cake => {}
        _ => {
            add("limit", room);
            // ECHO's sample on links of up to 1 Gbit/s.
            add("tags", "256".to_owned());
            // CHOKeD draws so many candidates that the queue does not grow far above `min`.
            add("min", format!("{}p", if kind == Kind::Choked { length - length / 50 } else { length / 2 }));
            // A bin of SFB is full at four times its part of the queue.
            add("bin_size", format!("{}p", length / 4));
            add("max", format!("{}p", 3 * length / 2));
            if light == MANY {
                add("flows", if kind == Kind::SfqRed { "10000" } else { "65536" }.to_owned());
            }
        }
    }
    given.into_iter().try_fold(QdiscParameters::new(kind), |config, (key, text)| config.with(key, text.as_str()))
}

struct Station {
    queue: BoxQdisc<SimplePacket>,
    arrivals: Vec<SimplePacket>,
    length: usize,
    next: usize,
    now: Time,
}

impl Station {
    /// Builds `kind`, and fills it.
    fn new(kind: Kind, light: u32) -> Result<Self, String> {
        let parameters = configured(kind, light).map_err(|error| error.to_string())?;
        let queue = parameters.build(&Host { rate: RATE, seed: Seed::new(1) }).map_err(|error| error.to_string())?;
        let mut chance = Seed::new(1).stream("arrivals");
        let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(light)) };
        let arrivals = (0..65_536).map(|_| SimplePacket::new(flow(&mut chance), 1000).unresponsive()).collect();
        let mut station = Self { queue, arrivals, length: length(light), next: 0, now: Time::ZERO };
        for _ in 0..200_000 {
            station.step();
        }
        let there = station.queue.packets();
        if there.abs_diff(station.length) > station.length / 10 {
            return Err(format!("{there} packets are queued, and not {}", station.length));
        }
        Ok(station)
    }

    /// A packet arrives, and another one leaves if the queue has become too long.
    fn step(&mut self) {
        self.now += PACKET_TIME;
        self.next += 1;
        self.queue.enqueue(self.now, self.arrivals[self.next & (self.arrivals.len() - 1)], &mut ());
        if self.queue.packets() > self.length {
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
            match Station::new(kind, light) {
                Ok(mut station) => {
                    group.bench_function(kind.name(), |b| b.iter(|| station.step()));
                }
                Err(error) => eprintln!("{kind}: {error}"),
            }
        }
    }
}

/// Does the steps that `asked` names, such as `choke,33,20000`.
fn count(asked: &str) -> Option<()> {
    let mut words = asked.split(',');
    let kind: Kind = words.next()?.parse().ok()?;
    let light = words.next()?.parse::<u32>().ok()?.checked_sub(1)?;
    let steps: u32 = words.next()?.parse().ok()?;
    match Station::new(kind, light) {
        Ok(mut station) => (0..steps).for_each(|_| station.step()),
        Err(error) => eprintln!("{kind}: {error}"),
    }
    Some(())
}

fn main() {
    match std::env::var("COUNT") {
        Ok(asked) => assert_eq!(count(&asked), Some(()), "COUNT is not KIND,FLOWS,STEPS"),
        Err(_) => {
            let mut criterion = Criterion::default().configure_from_args();
            kinds(&mut criterion);
            criterion.final_summary();
        }
    }
}
