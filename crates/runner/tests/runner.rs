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
