//! What a run did over time: samples of all its parts, at the same moments.

use fairlane_qdisc::{Count, Duration, Time};

use super::stage::Stage;

/// What was done from the start of the run up to a moment, the warm-up included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Moment {
    /// When, from the scenario's time zero.
    pub at: Duration,
    /// The queue.
    pub queue: QueueMoment,
    /// The flows, in the scenario's order.
    pub flows: Vec<FlowMoment>,
}

/// The queue at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueMoment {
    /// Offered to the queue.
    pub arrived: Count,
    /// Given to the link.
    pub departed: Count,
    /// Dropped, for any reason.
    pub dropped: Count,
    /// Marked, for any reason.
    pub marked: Count,
    /// In the queue.
    pub backlog: Count,
    /// The discipline's average, where it keeps one.
    pub average: Option<f64>,
    /// The probability with which the discipline signals, where that is one number.
    pub probability: Option<f64>,
}

/// A flow at a moment, in packets of data unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowMoment {
    /// Sent, those that were sent again too.
    pub sent: u64,
    /// Sent again.
    pub retransmitted: u64,
    /// Retransmission timeouts; 0 before Linux 6.7, which does not tell.
    pub timeouts: u64,
    /// TCP's congestion window.
    pub cwnd: Option<f64>,
    /// TCP's smoothed round trip time.
    pub srtt: Option<Duration>,
    /// Those that reached the receiver.
    pub delivered: u64,
    /// Bytes of whole packets whose data the receiver had not had before.
    pub unique_bytes: u64,
    /// Dropped at the queue and at the hosts' own links.
    pub dropped: u64,
}

impl FlowMoment {
    /// The same, but no count goes back behind `before`: of a connection that is gone the kernel may tell nothing any more.
    pub(super) fn not_before(self, before: &Self) -> Self {
        Self {
            sent: self.sent.max(before.sent),
            retransmitted: self.retransmitted.max(before.retransmitted),
            timeouts: self.timeouts.max(before.timeouts),
            delivered: self.delivered.max(before.delivered),
            unique_bytes: self.unique_bytes.max(before.unique_bytes),
            dropped: self.dropped.max(before.dropped),
            ..self
        }
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
