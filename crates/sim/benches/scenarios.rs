//! The time of whole runs, including setup.
#![allow(missing_docs, reason = "criterion's macros write public items without documentation")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, run};

fn scenario(name: &str, duration: &str, warmup: &str) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let mut document = Document::load(&path).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in [("warmup", warmup), ("duration", duration)] {
        document.set(key, value).unwrap_or_else(|error| panic!("{error}"));
    }
    document.scenario().unwrap_or_else(|error| panic!("{error}"))
}

/// Measures each scenario; the throughput counts events.
fn scenarios(c: &mut Criterion) {
    let mut group = c.benchmark_group("scenario");
    group.sample_size(10);
    let all = [
        ("choke-fig3", "120s", "20s"),
        ("choke-table1", "120s", "20s"),
        ("overload", "2s", "1s"),
        ("peers-100mbit", "10s", "2s"),
        ("peers-1gbit", "2s", "1s"),
    ];
    for (name, duration, warmup) in all {
        let scenario = scenario(name, duration, warmup);
        let once = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
        group.throughput(Throughput::Elements(once.cost.events));
        group.bench_function(name, |b| {
            b.iter(|| black_box(run(&scenario, 0, &Control::default(), &mut ())));
        });
    }
    group.finish();
}

criterion_group!(benches, scenarios);
criterion_main!(benches);
