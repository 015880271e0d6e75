//! Probes of the tail (RFC 8985, section 7): a segment behind which nothing follows shows its loss to no other.

use fairlane_qdisc::Duration;

use super::super::super::Ack;
use super::super::super::state::SenderState;
use super::{Alarm, Clock, Rack};

/// A probe of the tail whose effect is not known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// One past the highest segment when it was sent (TLP.end_seq).
    pub(super) end: u32,
    /// The probe repeated a segment.
    pub(super) again: bool,
}

/// The delay that a receiver may add to a single acknowledgement (WCDelAckT of RFC 8985, section 7.2).
const ACK_DELAY: Duration = Duration::from_millis(200);

/// The wait for a probe before the first round trip is known.
const FIRST_PROBE: Duration = Duration::from_millis(1000);

impl Rack {
    /// Sets the time of the next probe, after new data was sent or acknowledged (RFC 8985, section 7.2).
    pub(super) fn set_probe(&mut self, state: &SenderState, clock: Clock) {
        let outstanding = state.max - state.una;
        let idle = outstanding == 0 || self.probe.is_some();
        let repairing = state.recovering || state.una < state.fast_from || !self.lost.is_empty();
        if idle || repairing || self.arrived(state) > 0 {
            self.probe_at = None;
            return;
        }
        let delay = if outstanding == 1 { ACK_DELAY } else { Duration::ZERO };
        let wait = clock.srtt.map_or(FIRST_PROBE, |srtt| srtt + srtt + delay);
        let at = clock.now + wait;
        self.probe_at = Some(clock.deadline.map_or(at, |deadline| at.min(deadline)));
    }

    /// Returns a new segment as the probe, or the last one again (RFC 8985, section 7.3).
    pub(super) fn send_probe(&mut self, state: &mut SenderState) -> Alarm {
        if self.probe.is_some() || state.una == state.max {
            return Alarm::None;
        }
        let (seq, again) = match state.step() {
            Some(new) => (new, false),
            None => (state.max - 1, true),
        };
        self.probe = Some(Probe { end: state.max.max(seq + 1), again });
        Alarm::Probe(seq)
    }

    /// Returns true if a duplicate that ends at `end` is the probe of the tail.
    pub(super) fn is_of_probe(&self, end: u32) -> bool {
        self.probe.is_some_and(|probe| probe.again && probe.end == end)
    }

    /// Learns from an acknowledgement whether a probe repaired a loss (RFC 8985, section 7.4.2).
    pub(super) fn judge_probe(
        &mut self,
        state: &mut SenderState,
        ack: &Ack,
        (new, duplicate): (bool, Option<(u32, u32)>),
    ) {
        let Some(probe) = self.probe.filter(|probe| ack.next >= probe.end) else { return };
        let needless = duplicate.is_some_and(|(_, end)| self.is_of_probe(end));
        if !probe.again || needless || (ack.next == probe.end && self.delivered == 0 && !new) {
            // New data has arrived, or both copies have.
            self.probe = None;
        } else if ack.next > probe.end {
            // Only the copy has arrived, so the network lost a segment.
            self.probe = None;
            if !state.recovering {
                self.spurious.forget();
                state.cut();
                state.window.resume(f64::INFINITY);
            }
        }
    }
}
