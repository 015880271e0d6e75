//! Transfers of limited size, one after the other.

use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario as scenario;
use fairlane_traffic::TransferSequence;

use crate::application::{Application, Client, Server};

/// The transfers of one flow.
#[derive(Debug)]
pub(super) struct Transfers {
    sequence: TransferSequence,
    /// The size in segments of the current or last transfer.
    size: u32,
    began: Time,
    /// The time from its start until its first data reached the receiver; `None` before that.
    startup: Option<Duration>,
    progress: TransferProgress,
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
    pub(super) fn new(config: &scenario::Transfers, bytes: u32, seed: Seed) -> Self {
        Self {
            sequence: TransferSequence::new(config, bytes, seed),
            size: 0,
            began: Time::ZERO,
            startup: None,
            progress: TransferProgress::Acknowledged,
        }
    }
}

impl Application for Transfers {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.size = server.send(self.sequence.next_size());
        (self.began, self.startup) = (server.now(), None);
        self.progress = TransferProgress::InProgress;
    }

    fn on_timer(&mut self, server: &mut Server<'_>) {
        server.reconnect();
        self.on_start(server);
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        let duration = client.now() - self.began;
        let startup = *self.startup.get_or_insert(duration);
        if self.progress == TransferProgress::InProgress && received >= self.size {
            self.progress = TransferProgress::Received;
            client.completed(duration, Some(startup));
        }
    }

    fn on_acknowledged(&mut self, acknowledged: u32, server: &mut Server<'_>) {
        if self.progress != TransferProgress::Received || acknowledged < self.size {
            return;
        }
        self.progress = TransferProgress::Acknowledged;
        if let Some(pause) = self.sequence.next_pause() {
            server.set_timer(server.now() + pause);
        }
    }
}
