//! Timers whose deadlines move.

use fairlane_qdisc::Time;

use crate::schedule::Schedule;
use crate::schedule::event_key::Target;

/// Returns true if this deadline has come.
pub(crate) fn is_due(deadline: Option<Time>, now: Time) -> bool {
    deadline.is_some_and(|deadline| deadline <= now)
}

/// The pending event of a timer.
///
/// Moving a deadline to a later time costs nothing: the event stays, and its handler sets the timer again. Only an
/// earlier deadline schedules a new event.
#[derive(Debug)]
pub(crate) struct Timer(Time);

impl Timer {
    /// Returns a timer that is not set.
    pub(crate) const fn off() -> Self {
        Self(Time::MAX)
    }

    /// Returns the time of the pending event.
    pub(crate) fn pending(&self) -> Option<Time> {
        (self.0 < Time::MAX).then_some(self.0)
    }

    /// Ensures that an event for `target` is pending at or before `deadline`.
    pub(crate) fn set(&mut self, deadline: Option<Time>, target: Target, events: &mut Schedule) {
        if let Some(deadline) = deadline.and_then(|deadline| self.brought_forward(deadline)) {
            events.push(deadline, target);
        }
    }

    /// Returns `deadline` if an event for it is to be scheduled: none is pending at or before it.
    pub(crate) fn brought_forward(&mut self, deadline: Time) -> Option<Time> {
        let earlier = deadline < self.0;
        if earlier {
            self.0 = deadline;
        }
        earlier.then_some(deadline)
    }

    /// Returns true, and turns the timer off, if the event at `now` is the pending one. An event that an earlier
    /// deadline has replaced is to be ignored.
    pub(crate) fn fires(&mut self, now: Time) -> bool {
        let fires = self.0 == now;
        if fires {
            self.0 = Time::MAX;
        }
        fires
    }
}
