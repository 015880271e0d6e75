//! One run gives the same result on any number of threads.

use std::num::NonZeroUsize;
use std::path::Path;

use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Undivided, run, run_on, undivided};

/// The scenarios whose flows have links of their own, with a time that is enough for losses of all kinds.
const DIVIDED: [(&str, &str); 8] = [
    ("choke-fig3", "20s"),
    ("web", "8s"),
    ("parking-lot", "5s"),
    ("two-way", "8s"),
    ("congestion-controls", "8s"),
    ("bare-fig11", "6s"),
    ("unequal-rtt", "5s"),
    ("peers-100mbit", "1s"),
];

fn scenario(name: &str, changes: &[(&str, &str)]) -> Scenario {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name).with_extension("toml");
    let mut document = Document::load(&path).unwrap_or_else(|error| panic!("{error}"));
    for (key, value) in changes {
        document.set(key, value).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    document.scenario().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the whole result, every number with all its digits.
fn on(scenario: &Scenario, threads: usize) -> String {
    let threads = NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN);
    let run = run_on(scenario, 0, threads, &Control::default()).unwrap_or_else(|error| panic!("{error}"));
    format!("{run:?}")
}

/// Would catch an event that comes in another order, a packet or an option that is lost between parts, and counts of a part that are missing
/// or counted twice.
#[test]
fn any_number_of_threads_gives_the_same_result() {
    for (name, duration) in DIVIDED {
        let scenario = scenario(name, &[("duration", duration), ("warmup", "200ms")]);
        assert_eq!(undivided(&scenario).ok().flatten(), None, "{name}");
        let whole = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
        let whole = format!("{whole:?}");
        for threads in [1, 2, 3, 8, 16] {
            assert!(on(&scenario, threads) == whole, "{name} on {threads} threads");
        }
    }
}

/// Would catch a scenario that is divided although a packet may affect another part at once, and a reason that names something else.
#[test]
fn what_cannot_be_divided_runs_on_one_thread() {
    let reason = |name: &str, changes: &[(&str, &str)]| {
        let scenario = scenario(name, &[&[("duration", "2s"), ("warmup", "0s")], changes].concat());
        let whole = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
        assert!(on(&scenario, 2) == format!("{whole:?}"), "{name}");
        undivided(&scenario).unwrap_or_else(|error| panic!("{error}"))
    };
    let link = || "bottleneck".to_owned();
    assert_eq!(reason("choke-fig3", &[]), None);
    assert_eq!(reason("varying-rate", &[]), Some(Undivided::Impaired { link: link() }));
    assert_eq!(reason("choke-fig3", &[("bottleneck.jitter", "1ms")]), Some(Undivided::Impaired { link: link() }));
    let frames = [("bottleneck.aggregation.packets", "8"), ("bottleneck.aggregation.access", "1ms")];
    assert_eq!(reason("choke-fig3", &frames), Some(Undivided::Impaired { link: link() }));
    assert_eq!(reason("choke-fig3", &[("access.delay", "0s")]), Some(Undivided::NoDelay));
    assert_eq!(
        reason("bare-fig11", &[("access.rate", "10gbit")]),
        Some(Undivided::TooFast { link: "tcp/0/source".to_owned() })
    );
}

/// Would catch a run that goes on after it was told to stop, and one that loses what it has measured.
#[test]
fn a_stopped_run_is_partial() {
    let scenario = scenario("choke-fig3", &[("duration", "1000s"), ("warmup", "200ms")]);
    let control = Control::default();
    control.stop();
    let run =
        run_on(&scenario, 0, NonZeroUsize::MIN.saturating_add(1), &control).unwrap_or_else(|error| panic!("{error}"));
    assert!(run.partial && run.to_s < 2.0, "{} s", run.to_s);
}
