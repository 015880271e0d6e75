//! Transfers of limited size, one after the other.

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{self as scenario, Tcp};
use fairlane_traffic::TransferSequence;

/// The transfers of one flow.
#[derive(Debug)]
pub(crate) struct Transfers {
    /// The settings of each new connection.
    pub(super) tcp: Tcp,
    sequence: TransferSequence,
    /// The size in segments of the current or last transfer.
    size: u32,
    began: Time,
    /// The time from its start until its first data reached the receiver; `None` before that.
    startup: Option<Duration>,
    progress: TransferProgress,
    /// The durations in nanoseconds of the transfers completed since the start of the measurement.
    completions: Vec<u64>,
    /// The time to the first data of each of them in nanoseconds.
    startups: Vec<u64>,
}

/// The progress of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TransferProgress {
    /// The receiver does not have all segments.
    InProgress,
    /// The receiver has all segments, but not all have been acknowledged.
    Received,
    /// All segments have been acknowledged.
    Acknowledged,
}

impl Transfers {
    /// Returns the transfers of `config` with segments of `bytes` bytes.
    pub(super) fn new(tcp: &Tcp, config: &scenario::Transfers, bytes: u32, seed: Seed) -> Self {
        Self {
            tcp: tcp.clone(),
            sequence: TransferSequence::new(config, bytes, seed),
            size: 0,
            began: Time::ZERO,
            startup: None,
            progress: TransferProgress::Acknowledged,
            completions: Vec::new(),
            startups: Vec::new(),
        }
    }

    /// Begins a transfer and returns its size in segments.
    pub(super) fn begin(&mut self, now: Time) -> u32 {
        self.size = self.sequence.next_size();
        (self.began, self.startup) = (now, None);
        self.progress = TransferProgress::InProgress;
        self.size
    }

    /// Returns the size in segments of the current or last transfer.
    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Notes that data have come, and that the receiver has the first `segments` segments.
    pub(super) fn received(&mut self, now: Time, segments: u32) {
        let startup = *self.startup.get_or_insert(now - self.began);
        if self.progress == TransferProgress::InProgress && segments >= self.size {
            self.progress = TransferProgress::Received;
            self.completions.push((now - self.began).as_nanos());
            self.startups.push(startup.as_nanos());
        }
    }

    /// Notes that the first `segments` segments have been acknowledged. If that ends the transfer, returns the pause
    /// before the next one; `None` if there is no next one.
    pub(super) fn acknowledged(&mut self, segments: u32) -> Option<Duration> {
        if self.progress != TransferProgress::Received || segments < self.size {
            return None;
        }
        self.progress = TransferProgress::Acknowledged;
        self.sequence.next_pause()
    }

    /// Starts the measurement: removes the completed transfers.
    pub(super) fn begin_measurement(&mut self) {
        self.completions.clear();
        self.startups.clear();
    }

    /// Returns the time to the first data of each of the [completed](Self::completions) transfers in nanoseconds.
    pub(super) fn startups(&self) -> &[u64] {
        &self.startups
    }

    /// Returns the durations in nanoseconds of the transfers completed since the start of the measurement.
    pub(super) fn completions(&self) -> &[u64] {
        &self.completions
    }
}
