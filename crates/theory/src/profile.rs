//! Position of an unresponsive flow's packets in the queue, and the transient after the flow stops.
//!
//! Under CHOKe a flow leaks while it waits, so it has more of the tail than of the head. After a time `t` in the queue
//! (1 is what the link takes for a whole queue) the flow's part of the stream is `u(t) = u(0) exp(-beta t)` of the
//! link's rate, and TCP's is `1 - s` all the way. Both together are the speed `v` at which packets move there,
//! `dy/dt = v(t)`, 1 at the head; the flow's part of the packets is `u / v` (Tang, Wang and Low 2004, whose spatial
//! distribution this is).
//!
//! When the flow stops, nothing hits its packets any more and the queue drains as it stands: at a time `t` after the
//! stop the link sends the packets that were at a distance `t` from the head. So its share of the link rises to its
//! share at the tail, then ends. That is `L / (1 + L)` under CHOKe without early drops, more than half for any load
//! above that of the largest share, 1.19: the transient that Eshete and Jiang 2014 found.

use crate::check::{Error, probability};
use crate::solve::increasing;

/// An unresponsive flow's part of the packets along the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// `u(0)`, the admitted part of the flow.
    admitted: f64,
    /// `beta`, by which it leaks.
    leak: f64,
    /// `1 - s`.
    tcp: f64,
}

impl Profile {
    /// Creates the profile of a flow that is admitted at `admitted` of the link's rate and leaks at `leak`, with TCP at
    /// `tcp`.
    pub(crate) fn new(admitted: f64, leak: f64, tcp: f64) -> Self {
        Self { admitted, leak, tcp }
    }

    /// The flow's part of the packets at `position`, from 0 at the tail to 1 at the head.
    ///
    /// # Errors
    /// When the position is not from 0 to 1.
    pub fn density(&self, position: f64) -> Result<f64, Error> {
        let age = self.age(probability("position", position)?);
        let flow = self.flow(age);
        Ok(flow / (flow + self.tcp))
    }

    /// The flow's mean part of the packets from position `from` to position `to`.
    ///
    /// # Errors
    /// When the positions are not from 0 to 1, or the second is not beyond the first.
    pub fn mean_density(&self, from: f64, to: f64) -> Result<f64, Error> {
        let (entered, left) = (self.age(probability("position", from)?), self.age(probability("position", to)?));
        if from >= to {
            return Err(Error::new("position", format!("{to} is not beyond {from}")));
        }
        Ok((self.packets_until(left) - self.packets_until(entered)) / (to - from))
    }

    /// The flow's share of the link at a time after it has stopped, in the time that the link takes for a whole queue;
    /// none of it is left from 1 on.
    ///
    /// # Errors
    /// When the time is not from 0 to 1.
    pub fn share_after_stop(&self, time: f64) -> Result<f64, Error> {
        self.density(1.0 - probability("time", time)?)
    }

    /// The part of the flow that remains at an age.
    fn flow(&self, age: f64) -> f64 {
        self.admitted * libm::exp(-self.leak * age)
    }

    /// The flow's packets of at most an age, as a part of the queue.
    fn packets_until(&self, age: f64) -> f64 {
        -self.admitted / self.leak * libm::expm1(-self.leak * age)
    }

    /// The age at a position: all packets of at most that age are behind it.
    fn age(&self, position: f64) -> f64 {
        increasing(|age| self.packets_until(age) + self.tcp * age, position, 0.0, position / self.tcp)
    }
}
