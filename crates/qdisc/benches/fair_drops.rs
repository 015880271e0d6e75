//! What one arrival costs, with its share of departures, under BARE and CHOKe's successors: 10,000 active flows, and a
//! heavy one that sends as much as they do together.
#![allow(missing_docs, reason = "criterion's macros write public items without documentation")]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use fairlane_qdisc::{
    Duration, Host, Kind, ParameterError, Qdisc, QdiscConfig, Rate, Seed, SimplePacket, Stream, Time,
};

const FLOWS: u32 = 10_000;

fn packets() -> Vec<SimplePacket> {
    let mut chance = Seed::new(1).stream("arrivals");
    let flow = |chance: &mut Stream| if chance.below(2) == 0 { 0 } else { 1 + u64::from(chance.below(FLOWS)) };
    (0..65_536).map(|_| SimplePacket::new(flow(&mut chance), 1000).unresponsive()).collect()
}

fn bench(c: &mut Criterion, kind: Kind, given: &[(&str, &str)]) -> Result<(), ParameterError> {
    let config = given.iter().try_fold(QdiscConfig::new(kind), |config, &(key, text)| config.with(key, text))?;
    let mut queue = config.build(&Host { rate: Rate::from_bits_per_second(10_000_000_000), seed: Seed::new(1) })?;
    let packets = packets();
    let (mut now, mut next, mut chance) = (Time::ZERO, 0_usize, Seed::new(2).stream("departures"));
    let mut step = || {
        now += Duration::from_nanos(700);
        next += 1;
        queue.enqueue(now, packets[next % packets.len()], &mut ());
        // Seven departures for eight arrivals.
        if chance.below(8) > 0 {
            black_box(queue.dequeue(now, &mut ()));
        }
    };
    for _ in 0..1_000_000 {
        step();
    }
    let mut group = c.benchmark_group("10,000 flows");
    group.warm_up_time(std::time::Duration::from_millis(300));
    group.measurement_time(std::time::Duration::from_millis(1000));
    group.sample_size(20);
    group.bench_function(kind.name(), |b| b.iter(&mut step));
    Ok(())
}

fn fair_drops(c: &mut Criterion) {
    let queue = [("limit", "4000p"), ("min", "500p"), ("max", "1500p")];
    let cases: [(Kind, &[(&str, &str)]); 7] = [
        (Kind::Choke, &queue),
        (Kind::Bare, &[("limit", "40mb"), ("flows", "20000"), ("timeout", "100ms")]),
        (Kind::Chokew, &queue),
        (Kind::Choker, &queue),
        (Kind::Rechoke, &queue),
        (Kind::Sac, &queue),
        (Kind::Choked, &queue),
    ];
    for (kind, given) in cases {
        if let Err(error) = bench(c, kind, given) {
            eprintln!("{kind}: {error}");
        }
    }
}

criterion_group!(benches, fair_drops);
criterion_main!(benches);
