//! The start and the end of a run, shared by its threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use fairlane_qdisc::{Duration, Time};

/// A time that is not known yet.
const NEVER: u64 = u64::MAX;

/// The times of a run. Clones share the same run.
#[derive(Clone, Debug)]
pub struct Timeline(Arc<TimelineState>);

#[derive(Debug)]
struct TimelineState {
    start: AtomicU64,
    from: AtomicU64,
    to: AtomicU64,
    over: AtomicBool,
    measured: AtomicU32,
    /// The sampling interval; `None` for no samples.
    every: Option<Duration>,
}

impl Timeline {
    /// Creates a run that has not begun, with the sampling interval `every`; `None` for no samples.
    #[must_use]
    pub fn new(every: Option<Duration>) -> Self {
        let never = || AtomicU64::new(NEVER);
        Self(Arc::new(TimelineState {
            start: never(),
            from: never(),
            to: never(),
            over: AtomicBool::new(false),
            measured: AtomicU32::new(0),
            every,
        }))
    }

    /// Starts the run: time zero of the scenario is at `start`.
    pub fn begin(&self, start: Time, warmup: Duration, duration: Duration) {
        self.0.to.store((start + duration).as_nanos(), Ordering::SeqCst);
        self.0.from.store((start + warmup).as_nanos(), Ordering::SeqCst);
        self.0.start.store(start.as_nanos(), Ordering::SeqCst);
    }

    /// Ends the run at `now` if it has not ended.
    pub fn cut(&self, now: Time) {
        self.0.to.fetch_min(now.as_nanos(), Ordering::SeqCst);
    }

    /// Returns time zero; [`Time::MAX`] if it is not known yet.
    pub(crate) fn start(&self) -> Time {
        Time::from_nanos(self.0.start.load(Ordering::SeqCst))
    }

    /// Returns the start of the measurement; [`Time::MAX`] if it is not known yet.
    pub(crate) fn from(&self) -> Time {
        Time::from_nanos(self.0.from.load(Ordering::SeqCst))
    }

    /// Returns the end of the measurement; [`Time::MAX`] if it is not known yet.
    pub(crate) fn to(&self) -> Time {
        Time::from_nanos(self.0.to.load(Ordering::SeqCst))
    }

    /// Returns the sample times of one part.
    #[must_use]
    pub fn sample_times(&self) -> SampleTimes {
        SampleTimes::new(self.0.every)
    }

    /// Notes that a part has completed its measurement.
    pub(crate) fn count_measured(&self) {
        self.0.measured.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the number of parts that have completed their measurement.
    pub(crate) fn measured(&self) -> u32 {
        self.0.measured.load(Ordering::SeqCst)
    }

    /// Tells all parts to end.
    pub(crate) fn end(&self) {
        self.0.over.store(true, Ordering::SeqCst);
    }

    /// Returns `true` after [`end`](Self::end) was called.
    pub(crate) fn is_over(&self) -> bool {
        self.0.over.load(Ordering::SeqCst)
    }
}

/// The sample times of a part: one interval apart, and at the end of the run.
#[derive(Debug)]
pub struct SampleTimes {
    /// The interval; `None` for no samples.
    every: Option<Duration>,
    last: Time,
}

impl SampleTimes {
    pub(crate) const fn new(every: Option<Duration>) -> Self {
        Self { every, last: Time::ZERO }
    }

    /// Returns the next sample time; [`Time::MAX`] if there is none or the run has not begun.
    #[must_use]
    pub fn next(&self, timeline: &Timeline) -> Time {
        let (start, to) = (timeline.start(), timeline.to());
        let last = self.last.max(start);
        match self.every {
            Some(every) if last < to => (last + every).min(to),
            _ => Time::MAX,
        }
    }

    /// Returns the next sample time if it is not after `now`. Each time is returned once.
    pub fn take_due(&mut self, now: Time, timeline: &Timeline) -> Option<Time> {
        let next = self.next(timeline);
        (next <= now).then(|| {
            self.last = next;
            next
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    /// Would catch a sample time that a late caller skips, so that the parts disagree, and an end without a sample.
    #[test]
    fn samples_are_an_interval_apart_and_the_last_is_at_the_end() {
        let timeline = Timeline::new(Some(Duration::from_millis(100)));
        let mut sample_times = timeline.sample_times();
        assert_eq!(
            (sample_times.next(&timeline), sample_times.take_due(ms(5000), &timeline)),
            (Time::MAX, None),
            "it has not begun"
        );
        timeline.begin(ms(1000), Duration::from_millis(50), Duration::from_millis(250));
        let mut by = |now| std::iter::from_fn(|| sample_times.take_due(now, &timeline)).collect::<Vec<_>>();
        assert_eq!((by(ms(1099)), by(ms(1100))), (vec![], vec![ms(1100)]));
        assert_eq!((by(ms(9000)), by(ms(9999))), (vec![ms(1200), ms(1250)], vec![]));
        let none = Timeline::new(None);
        none.begin(ms(1000), Duration::ZERO, Duration::from_millis(250));
        assert_eq!(none.sample_times().take_due(ms(9000), &none), None);
    }

    /// Would catch a run that is cut and has no sample at its end.
    #[test]
    fn a_run_that_is_cut_has_its_last_sample_then() {
        let timeline = Timeline::new(Some(Duration::from_millis(100)));
        timeline.begin(ms(0), Duration::ZERO, Duration::from_millis(1000));
        let mut sample_times = timeline.sample_times();
        assert_eq!(sample_times.take_due(ms(130), &timeline), Some(ms(100)));
        timeline.cut(ms(130));
        assert_eq!(
            [sample_times.take_due(ms(140), &timeline), sample_times.take_due(ms(500), &timeline)],
            [Some(ms(130)), None]
        );
    }
}
