//! When a run begins and ends, for the threads that take part in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use fairlane_qdisc::{Duration, Time};

use super::moments::Ticks;

/// Not yet.
const NEVER: u64 = u64::MAX;

/// A run's moments; clones are of the same run.
#[derive(Clone)]
pub(super) struct Stage(Arc<Moments>);

struct Moments {
    start: AtomicU64,
    from: AtomicU64,
    to: AtomicU64,
    over: AtomicBool,
    measured: AtomicU32,
    /// After how long, again and again, each part takes a sample.
    every: Option<Duration>,
}

impl Stage {
    /// A run that has not begun; `every`: after how long, again and again, each part takes a sample.
    pub(super) fn new(every: Option<Duration>) -> Self {
        let never = || AtomicU64::new(NEVER);
        Self(Arc::new(Moments {
            start: never(),
            from: never(),
            to: never(),
            over: AtomicBool::new(false),
            measured: AtomicU32::new(0),
            every,
        }))
    }

    /// Time zero of the scenario is at `start`.
    pub(super) fn begin(&self, start: Time, warmup: Duration, duration: Duration) {
        self.0.to.store((start + duration).as_nanos(), Ordering::SeqCst);
        self.0.from.store((start + warmup).as_nanos(), Ordering::SeqCst);
        self.0.start.store(start.as_nanos(), Ordering::SeqCst);
    }

    /// The run ends at `now` already, if it has not ended.
    pub(super) fn cut(&self, now: Time) {
        self.0.to.fetch_min(now.as_nanos(), Ordering::SeqCst);
    }

    /// Time zero; [`Time::MAX`] while it is not known. So are the next two.
    pub(super) fn start(&self) -> Time {
        Time::from_nanos(self.0.start.load(Ordering::SeqCst))
    }

    /// When the measurement begins.
    pub(super) fn from(&self) -> Time {
        Time::from_nanos(self.0.from.load(Ordering::SeqCst))
    }

    /// When it ends.
    pub(super) fn to(&self) -> Time {
        Time::from_nanos(self.0.to.load(Ordering::SeqCst))
    }

    /// When whoever takes part takes samples.
    pub(super) fn ticks(&self) -> Ticks {
        Ticks::new(self.0.every)
    }

    /// Someone who takes part has measured what there is in the window.
    pub(super) fn tell_measured(&self) {
        self.0.measured.fetch_add(1, Ordering::SeqCst);
    }

    /// How many have.
    pub(super) fn measured(&self) -> u32 {
        self.0.measured.load(Ordering::SeqCst)
    }

    /// Nothing more is wanted of anyone.
    pub(super) fn end(&self) {
        self.0.over.store(true, Ordering::SeqCst);
    }

    /// Whether [`end`](Self::end) was called.
    pub(super) fn is_over(&self) -> bool {
        self.0.over.load(Ordering::SeqCst)
    }
}
