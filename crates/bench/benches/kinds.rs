//! The cost of an arrival with its departure, for each kind, at the same length of the queue: 1,000 packets with 33
//! flows, and 10,000 packets with 10,001 flows. `bench/costs` turns the results into the table that `fairlane qdiscs`
//! and the documentation show.

use criterion::Criterion;
use fairlane_bench::{Load, Station};
use fairlane_qdisc::Kind;

fn kinds(c: &mut Criterion) {
    for load in [Load::FEW, Load::MANY] {
        let mut group = c.benchmark_group(format!("{} flows", load.flows()));
        group.warm_up_time(std::time::Duration::from_millis(200));
        group.measurement_time(std::time::Duration::from_millis(500));
        group.sample_size(20);
        group.nresamples(2000);
        for kind in Kind::ALL {
            match Station::new(kind, load) {
                Ok(mut station) => {
                    group.bench_function(kind.name(), |b| b.iter(|| station.step()));
                }
                Err(error) => eprintln!("{kind}: {error}"),
            }
        }
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    kinds(&mut criterion);
    criterion.final_summary();
}
