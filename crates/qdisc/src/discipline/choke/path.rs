//! The path of an arrival through [`Choke`]: what most arrivals need without a call, and everything else in functions
//! each of which is the last thing that the one before does.

use super::{Choke, candidates};
use crate::discipline::red::Red;
use crate::queue::fifo::Place;
use crate::seed::Throw;
use crate::{DropSink, Fate, Packet, Reason, Time};

impl<P: Packet> Choke<P> {
    /// Does [`Qdisc::enqueue`](crate::Qdisc::enqueue).
    #[inline(always)]
    pub(super) fn take(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        if !(self.is_plain && self.red.core.is_straight()) {
            return self.take_otherwise(now, packet, sink);
        }
        if self.red.buffer.fifo.is_large() {
            return self.take_into_large(now, packet, sink);
        }
        self.take_straight::<false>(now, packet, sink)
    }

    /// Does it while the core is [straight](crate::discipline::red::RedCore::is_straight). With `FAR` each draw asks
    /// for the memory of a later one.
    #[inline(always)]
    fn take_straight<const FAR: bool>(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.red.arrive_straight(&packet);
        if !self.red.is_between() {
            return self.decide_any(now, packet, sink);
        }
        let Self { red, draws, drawn, .. } = self;
        match red.buffer.fifo.look::<FAR>(packet.flow(), draws) {
            Ok((candidate, false)) => {
                drawn.set(&red.buffer.fifo, candidate);
                red.decide_looked(now, packet, sink)
            }
            Ok((candidate, true)) => self.compare(now, packet, candidate, sink),
            Err(throw) => self.compare_with_hit(now, packet, throw, sink),
        }
    }

    /// Does the same where it takes long to read a candidate.
    #[inline(never)]
    fn take_into_large(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.take_straight::<true>(now, packet, sink)
    }

    /// Does [`take`](Self::take) for any configuration and state.
    #[inline(never)]
    fn take_otherwise(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.clear();
        if self.one_by_one.is_none() || !self.red.core.is_straight() {
            // Section II-A, paragraph 2: the average occupancy, an exponential moving average as in RED.
            self.red.arrive(now, &packet);
            return self.decide(now, packet, sink);
        }
        self.red.arrive_straight(&packet);
        if !self.red.is_between() {
            return self.decide_any(now, packet, sink);
        }
        let fifo = &self.red.buffer.fifo;
        if let Some(candidate) = candidates::one(fifo, self.draw, &mut self.draws) {
            if fifo.is_of(candidate, packet.flow()) {
                return self.drop_both(now, packet, candidate, sink);
            }
            self.drawn.set(fifo, candidate);
        }
        self.red.decide_between(now, packet, sink)
    }

    /// Decides on an arrival while the average is not between the thresholds.
    #[inline(never)]
    fn decide_any(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.clear();
        self.decide(now, packet, sink)
    }

    /// Compares an arrival with the packet that `throw` hits.
    #[cold]
    #[inline(never)]
    fn compare_with_hit(&mut self, now: Time, packet: P, throw: Throw, sink: &mut dyn DropSink<P>) -> Fate {
        let candidate = self.red.buffer.fifo.hit(throw, &mut self.draws);
        self.compare(now, packet, candidate, sink)
    }

    /// Drops an arrival and its `candidate`, which mostly is of the same flow; otherwise RED decides on the arrival.
    #[inline(never)]
    fn compare(&mut self, now: Time, packet: P, candidate: Place, sink: &mut dyn DropSink<P>) -> Fate {
        if !self.red.buffer.fifo.is_of(candidate, packet.flow()) {
            return self.decide_beside(now, packet, candidate, sink);
        }
        self.drop_pair(now, packet, candidate, sink)
    }

    /// Lets RED decide on an arrival that is not of the flow of its `candidate`.
    #[inline(never)]
    fn decide_beside(&mut self, now: Time, packet: P, candidate: Place, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.set(&self.red.buffer.fifo, candidate);
        self.red.decide_between(now, packet, sink)
    }

    /// Decides on an arrival that is in the average.
    #[inline(always)]
    fn decide(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        // Paragraph 3: above min_th the arrival is compared with a drop candidate, a packet drawn at random; if both
        // are of one flow, both are dropped.
        if self.compares() {
            let flow = packet.flow();
            if self.one_by_one.is_none() {
                if self.drop_matches(now, flow, sink) {
                    return self.drop_matched(now, packet, sink);
                }
            } else if let Some(candidate) = candidates::one(&self.red.buffer.fifo, self.draw, &mut self.draws) {
                if self.red.buffer.fifo.is_of(candidate, flow) {
                    return self.drop_both(now, packet, candidate, sink);
                }
                self.drawn.set(&self.red.buffer.fifo, candidate);
            }
        }
        // Otherwise the candidate stays where it is, and the arrival is dropped with RED's probability. That includes
        // the two cases at the begin of the paragraph: below min_th every arrival is queued, above max_th every arrival
        // is dropped.
        self.red.decide(now, packet, sink)
    }

    /// Tells whether arrivals are compared: the average is above the lower threshold.
    ///
    /// Above the upper threshold they are compared too, so that the queue gets short quickly (section II-A, end of
    /// paragraph 3).
    fn compares(&self) -> bool {
        let (min, max) = self.red.core.thresholds();
        let average = self.red.core.average();
        average > min && (average < max || self.compare_above_max)
    }

    /// Does [`drop_pair`](Self::drop_pair) apart from the packet path.
    #[inline(never)]
    fn drop_both(&mut self, now: Time, packet: P, place: Place, sink: &mut dyn DropSink<P>) -> Fate {
        self.drop_pair(now, packet, place, sink)
    }

    /// Drops an arrival and its candidate `place`, which is of the same flow, and as many more as are drawn while they
    /// match.
    #[inline(always)]
    fn drop_pair(&mut self, now: Time, packet: P, place: Place, sink: &mut dyn DropSink<P>) -> Fate {
        self.drawn.clear();
        self.red.buffer.remove(now, place, Reason::MatchVictim, sink);
        self.red.buffer.fifo.settle();
        if self.one_by_one > Some(1) {
            return self.drop_with_more(now, packet, sink);
        }
        self.drop_matched(now, packet, sink)
    }

    /// Drops an arrival whose first candidate has been dropped, and those that are drawn after it while they match.
    #[inline(never)]
    fn drop_with_more(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        let flow = packet.flow();
        for _ in 1..self.one_by_one.unwrap_or(1) {
            let Self { red: Red { buffer, .. }, draw, draws, drawn, .. } = self;
            let Some((candidate, may_match)) = candidates::one_beside(&buffer.fifo, *draw, flow, draws) else { break };
            if !(may_match && buffer.fifo.is_of(candidate, flow)) {
                drawn.set(&buffer.fifo, candidate);
                break;
            }
            buffer.remove(now, candidate, Reason::MatchVictim, sink);
            buffer.fifo.settle();
        }
        self.drop_matched(now, packet, sink)
    }

    /// Drops an arrival whose candidates have been dropped.
    #[inline(always)]
    fn drop_matched(&mut self, now: Time, packet: P, sink: &mut dyn DropSink<P>) -> Fate {
        if self.count_matches {
            self.red.core.count_since_signal(packet.bytes());
        }
        self.red.buffer.refuse(now, packet, Reason::MatchArrival, sink)
    }
}
