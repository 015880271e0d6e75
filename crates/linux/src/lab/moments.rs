//! What a run did over time: samples of all its parts, at the same moments.

use fairlane_outcome::{FlowSample, QueueSample};
use fairlane_qdisc::{Duration, Time};

use super::stage::Stage;

/// What was done from the start of the run up to a moment, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// When, from the scenario's time zero.
    pub at: Duration,
    /// The queue.
    pub queue: QueueSample,
    /// The flows, in the scenario's order. Nothing is lost on a wire; timeouts are 0 before Linux 6.7, which does not tell them; and what was
    /// delivered counts as whole packets.
    pub flows: Vec<FlowSample>,
}

/// `now`, but no count goes back behind `before`: of a connection that is gone the kernel may tell nothing any more.
pub(super) fn not_before(before: &FlowSample, now: FlowSample) -> FlowSample {
    FlowSample {
        sent: now.sent.max(before.sent),
        retransmitted: now.retransmitted.max(before.retransmitted),
        timeouts: now.timeouts.max(before.timeouts),
        delivered: now.delivered.max(before.delivered),
        delivered_bytes: now.delivered_bytes.max(before.delivered_bytes),
        unique_bytes: now.unique_bytes.max(before.unique_bytes),
        dropped: now.dropped.max(before.dropped),
        ..now
    }
}

/// The moments at which a part takes its samples: an interval apart, and at the end.
#[derive(Debug)]
pub(super) struct Ticks {
    /// `None`: there are no moments.
    every: Option<Duration>,
    last: Time,
}

impl Ticks {
    pub(super) const fn new(every: Option<Duration>) -> Self {
        Self { every, last: Time::ZERO }
    }

    /// The next one; [`Time::MAX`] if there is none, or not yet.
    pub(super) fn next(&self, stage: &Stage) -> Time {
        let (start, to) = (stage.start(), stage.to());
        let last = self.last.max(start);
        match self.every {
            Some(every) if last < to => (last + every).min(to),
            _ => Time::MAX,
        }
    }

    /// The next one, if it has come by `now`; each is told once.
    pub(super) fn come(&mut self, now: Time, stage: &Stage) -> Option<Time> {
        let next = self.next(stage);
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

    /// Would catch a moment that is left out by whoever looks late, so that two parts tell of different ones, and an end that is none.
    #[test]
    fn moments_are_an_interval_apart_and_the_last_is_the_end() {
        let stage = Stage::new(Some(Duration::from_millis(100)));
        let mut ticks = stage.ticks();
        assert_eq!((ticks.next(&stage), ticks.come(ms(5000), &stage)), (Time::MAX, None), "it has not begun");
        stage.begin(ms(1000), Duration::from_millis(50), Duration::from_millis(250));
        let mut by = |now| std::iter::from_fn(|| ticks.come(now, &stage)).collect::<Vec<_>>();
        assert_eq!((by(ms(1099)), by(ms(1100))), (vec![], vec![ms(1100)]));
        assert_eq!((by(ms(9000)), by(ms(9999))), (vec![ms(1200), ms(1250)], vec![]));
        let none = Stage::new(None);
        none.begin(ms(1000), Duration::ZERO, Duration::from_millis(250));
        assert_eq!(none.ticks().come(ms(9000), &none), None);
    }

    /// A run that is cut ends there.
    #[test]
    fn a_run_that_is_cut_has_its_last_moment_then() {
        let stage = Stage::new(Some(Duration::from_millis(100)));
        stage.begin(ms(0), Duration::ZERO, Duration::from_millis(1000));
        let mut ticks = stage.ticks();
        assert_eq!(ticks.come(ms(130), &stage), Some(ms(100)));
        stage.cut(ms(130));
        assert_eq!([ticks.come(ms(140), &stage), ticks.come(ms(500), &stage)], [Some(ms(130)), None]);
    }
}
