//! Batches that are refused, and batches that are stopped before they begin.

use std::num::NonZeroU32;

use fairlane_runner::{Batch, Job, MOST_THREADS, pool};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::Control;

fn scenario() -> Scenario {
    let mut document = Document::builtin();
    document.set("duration", "3s").unwrap();
    document.set("warmup", "1s").unwrap();
    document.scenario().unwrap()
}

/// Would catch a mistyped number that starts too many threads for the machine.
#[test]
fn more_threads_than_anyone_means_are_refused() {
    let error = pool(Some(100_000)).unwrap_err().to_string();
    assert_eq!(error, "100000 threads are too many: at most 1024 are started; leave --jobs out for one thread a core");
    assert_eq!(MOST_THREADS, 1024);
    assert_eq!(pool(Some(3)).unwrap().current_num_threads(), 3);
}

/// Would catch a stop during the checks that is ignored, so that the work begins.
#[test]
fn a_batch_that_is_stopped_while_it_is_checked_begins_nothing() {
    let jobs = || (0..3).map(|_| Job::of(scenario())).collect::<Vec<_>>();
    let control = Control::default();
    let whole = Batch::stoppable(jobs(), NonZeroU32::MIN, Some(1), &control).unwrap().execute(&control).unwrap();
    assert_eq!((whole.outcomes.len(), whole.interrupted, control.finished()), (3, false, 3));

    let control = Control::default();
    control.stop();
    let none = Batch::stoppable(jobs(), NonZeroU32::MIN, Some(1), &control).unwrap().execute(&control).unwrap();
    assert_eq!((none.outcomes.len(), none.interrupted, control.finished()), (0, true, 0));
}

/// Would catch a timeline of another link, or rates that are not those of the moment.
#[test]
fn the_timeline_has_the_rates_of_shaper_and_link() {
    let text = r#"
        duration = "8s"
        [[links]]
        from = "a"
        to   = "b"
        rate = "100mbit"
        [[links]]
        from   = "b"
        to     = "c"
        rate   = { steps = [["0s", "8mbit"], ["4s", "2mbit"]] }
        queue  = { kind = "fq-codel" }
        shaper = { kind = "autorate", rate = "6mbit", min = "1mbit", max = "10mbit" }
        [[flows]]
        name = "upload"
        kind = "tcp"
        from = "a"
        to   = "c"
    "#;
    let scenario = Document::parse("timeline.toml", text).unwrap().scenario().unwrap();
    let batch = Batch::new(vec![Job::of(scenario)], NonZeroU32::MIN, None).unwrap().recorded();
    let done = batch.execute(&Control::default()).unwrap();
    let timeline = done.timelines[0].as_ref().unwrap();
    let [shaper] = &timeline.shapers[..] else { panic!("{} shapers", timeline.shapers.len()) };
    assert_eq!((shaper.name.as_str(), shaper.rate_bps.len()), ("b-c", timeline.time_s.len()));
    for ((time, rate), link) in timeline.time_s.iter().zip(&shaper.rate_bps).zip(&shaper.link_bps) {
        assert_eq!(*link, if *time < 4.0 { 8e6 } else { 2e6 }, "{time}");
        assert!((1e6..=10e6).contains(rate), "{time}: {rate}");
    }
    let slowest = shaper.rate_bps.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(shaper.rate_bps[0] == 6e6 && slowest < 2e6, "{slowest}");
}
