//! What one arrival costs, with its share of departures, under the disciplines that control delay: 10,000 active flows, and
//! a heavy one that sends as much as they do together. Eight packets come for seven that the link takes.
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
    (0..65_536).map(|_| SimplePacket::new(flow(&mut chance), 1000)).collect()
}

fn bench(c: &mut Criterion, name: &str, kind: Kind, given: &[(&str, &str)]) -> Result<(), ParameterError> {
    let config = given.iter().try_fold(QdiscConfig::new(kind), |config, &(key, text)| config.with(key, text))?;
    let mut queue = config.build(&Host { rate: Rate::from_bits_per_second(10_000_000_000), seed: Seed::new(1) })?;
    let packets = packets();
    let (mut now, mut next) = (Time::ZERO, 0_usize);
    let mut step = || {
        now += Duration::from_nanos(700);
        next += 1;
        queue.enqueue(now, packets[next & (packets.len() - 1)], &mut ());
        if next & 7 != 0 {
            black_box(queue.dequeue(now, &mut ()));
        }
    };
    for _ in 0..1_000_000 {
        step();
    }
    let mut group = c.benchmark_group("delay, 10,000 flows");
    group.warm_up_time(std::time::Duration::from_millis(300));
    group.measurement_time(std::time::Duration::from_millis(1000));
    group.sample_size(20);
    group.bench_function(name, |b| b.iter(&mut step));
    Ok(())
}

/// A name, and the kind with its parameters.
type Case<'a> = (&'a str, Kind, &'a [(&'a str, &'a str)]);

fn delay(c: &mut Criterion) {
    let cases: [Case; 10] = [
        ("droptail", Kind::DropTail, &[("limit", "1000p")]),
        ("codel", Kind::Codel, &[]),
        ("pie", Kind::Pie, &[]),
        ("cobalt", Kind::Cobalt, &[]),
        ("pi2", Kind::Pi2, &[]),
        ("dualpi2", Kind::DualPi2, &[]),
        ("fq-codel", Kind::FqCodel, &[]),
        ("fq-codel flows=65536", Kind::FqCodel, &[("flows", "65536")]),
        ("fq-pie", Kind::FqPie, &[]),
        ("cake", Kind::Cake, &[("bandwidth", "9gbit")]),
    ];
    for (name, kind, given) in cases {
        if let Err(error) = bench(c, name, kind, given) {
            eprintln!("{name}: {error}");
        }
    }
}

criterion_group!(benches, delay);
criterion_main!(benches);
