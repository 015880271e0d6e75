//! One run gives the same result on any number of threads.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

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

/// Would catch an event that comes in another order, a packet or an option that is lost between parts, and counts of a
/// part that are missing or counted twice.
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

/// Would catch a scenario that is divided although a packet may affect another part at once, and a reason that names
/// something else.
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

/// Few packets, with delays so short that the parts meet after each step. Would catch a packet that is between two
/// parts when they meet, and is forgotten, and flows that begin after the warm-up and are measured from another time.
#[test]
fn idle_time_is_skipped_between_parts() {
    let few = [
        ("duration", "12s"),
        ("warmup", "1s"),
        ("access.delay", "1us"),
        ("bottleneck.delay", "1us"),
        ("flows.ftp.count", "2"),
        ("flows.ftp.start", "11s..12s"),
        ("flows.cbr.rate", "16kbit"),
        ("flows.cbr.start", "3s"),
    ];
    let scenario = scenario("choke-fig3", &few);
    let whole = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    let whole = format!("{whole:?}");
    for threads in [2, 3, 8] {
        assert!(on(&scenario, threads) == whole, "{threads} threads");
    }
}

/// Stops the run of [`a_stopped_run_is_partial`] when it has begun.
static CONTROL: LazyLock<Control> = LazyLock::new(|| Control::with_clock(stop_later));
static READINGS: AtomicU32 = AtomicU32::new(0);

fn stop_later() -> f64 {
    if READINGS.fetch_add(1, Ordering::Relaxed) > 40 {
        CONTROL.stop();
    }
    0.0
}

/// Would catch a run that goes on after it was told to stop, and one that loses what it has measured or whose parts
/// stop at different times.
#[test]
fn a_stopped_run_is_partial() {
    let of = |duration: &str| scenario("choke-fig3", &[("duration", duration), ("warmup", "200ms")]);
    let two = NonZeroUsize::MIN.saturating_add(1);
    let stopped = run_on(&of("100000s"), 0, two, &CONTROL).unwrap_or_else(|error| panic!("{error}"));
    assert!(stopped.partial && stopped.to_s > 1.0 && stopped.to_s < 1000.0, "{} s", stopped.to_s);
    let short = of(&format!("{:.9}s", stopped.to_s));
    let whole = run(&short, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(format!("{:?}", stopped.flows), format!("{:?}", whole.flows));
}
