//! The estimated minimum of memory, compared with the memory that a run takes.

use std::num::NonZeroU32;

use fairlane_runner::memory::Needs;
use fairlane_runner::{Batch, Job};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, run};

fn scenario(settings: &[(&str, &str)]) -> Scenario {
    let mut document = Document::builtin();
    for (key, value) in settings {
        document.set(key, value).unwrap();
    }
    document.scenario().unwrap()
}

/// Would catch an estimate above the memory of a run, which would refuse work that fits, and one that is far below.
#[test]
fn a_run_takes_what_is_foretold_and_not_much_more() {
    let many = scenario(&[
        ("duration", "2ms"),
        ("warmup", "1ms"),
        ("flows.ftp.count", "20000"),
        ("flows.ftp.start", "0s"),
        ("flows.cbr.start", "0s"),
    ]);
    let taken = allocation_counter::measure(|| drop(run(&many, 0, &Control::default(), &mut ()).unwrap()));
    let foretold = Needs::of([&many], 1, Some(1)).bytes();
    assert!(foretold <= taken.bytes_max, "{foretold} bytes are foretold and {} taken", taken.bytes_max);
    assert!(2 * foretold >= taken.bytes_max, "{foretold} bytes are foretold and {} taken", taken.bytes_max);
}

/// Would catch a check after the allocation: the process would be killed.
#[test]
fn a_hundred_million_flows_are_refused_at_once() {
    let many = scenario(&[("max_flows", "100000000"), ("flows.ftp.count", "99999999")]);
    let needs = Needs::of([&many], 1, None);
    assert!(needs.bytes() > 40_000_000_000, "{needs:?}");
    if needs.check().is_err() {
        let error = Batch::new(vec![Job::of(many)], NonZeroU32::MIN, None).unwrap_err().to_string();
        assert!(error.contains("for 100000000 flows"), "{error}");
    }
}

#[test]
fn points_runs_and_intervals_add_up() {
    let one = scenario(&[]);
    let of = |points: usize, runs| Needs::of(std::iter::repeat_n(&one, points), runs, Some(1)).bytes();
    assert!(of(100_000, 1) > 90_000 * (of(2, 1) - of(1, 1)));
    assert!(of(1, 1_000_000) > 100_000 * 33);
    // 33 flows and a queue at 120 million microseconds: 4 billion rows.
    let every = "1us".parse().unwrap();
    assert!(Needs::of([&one], 1, None).with_series(&one, every).bytes() > 200_000_000_000);
}
