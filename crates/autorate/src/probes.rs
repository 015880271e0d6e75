//! Probes on their way.

use std::collections::VecDeque;

use fairlane_qdisc::Time;

/// A probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Probe {
    pub(crate) reflector: usize,
    pub(crate) sent: Time,
    /// The bytes that had passed when it was sent.
    pub(crate) bytes: u64,
}

/// The most probes that are remembered: 51 s at 20 a second.
const MOST: usize = 1024;

/// The probes without an answer, in the order of their sending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Probes(VecDeque<Probe>);

impl Probes {
    pub(crate) fn sent(&mut self, probe: Probe) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(probe);
    }

    /// Removes and returns the probe that was answered; `None` if it is not known.
    pub(crate) fn answered(&mut self, reflector: usize, sent: Time) -> Option<Probe> {
        let place = self.0.iter().position(|probe| probe.reflector == reflector && probe.sent == sent)?;
        self.0.remove(place)
    }
}
