//! Adaptive video over one connection.

use fairlane_outcome::VideoRun;
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario as scenario;
use fairlane_traffic::VideoPlayer;

use crate::application::{Application, Client, Server};

/// The segments of one viewer.
///
/// The player is at the receiver. Its request travels with the acknowledgement of the segment before; if the buffer is
/// full it waits, and the request reaches the sender by as much later.
#[derive(Debug)]
pub(super) struct Video {
    config: scenario::Video,
    /// `None` before the start.
    player: Option<VideoPlayer>,
    /// The packets of all segments so far.
    supplied: u32,
    /// The receiver does not have all packets of the segment.
    in_progress: bool,
}

impl Video {
    /// Returns the video of `config`.
    pub(super) fn new(config: &scenario::Video) -> Self {
        Self { config: config.clone(), player: None, supplied: 0, in_progress: false }
    }
}

impl Application for Video {
    fn on_start(&mut self, server: &mut Server<'_>) {
        self.on_request(server);
    }

    fn on_request(&mut self, server: &mut Server<'_>) {
        let player = self.player.get_or_insert_with(|| VideoPlayer::new(&self.config, server.now()));
        self.supplied = server.send(server.packets(player.segment_bytes()));
        self.in_progress = true;
    }

    fn on_data(&mut self, received: u32, client: &mut Client<'_>) {
        if !self.in_progress || received < self.supplied {
            return;
        }
        self.in_progress = false;
        if let Some(player) = &mut self.player {
            let pause = player.received(client.now());
            client.request(0, pause);
        }
    }

    fn on_stop(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.end(now);
        }
    }

    fn begin_measurement(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.begin_measurement(now);
        }
    }

    fn video(&mut self, now: Time) -> Option<VideoRun> {
        let counts = self.player.as_ref().map(|player| player.counts(now)).unwrap_or_default();
        Some(VideoRun {
            segments: counts.segments,
            bit_rates_bps: counts.bit_rates_bps,
            stalls: counts.stalls,
            stalled_ns: counts.stalled.as_nanos(),
            switches: counts.switches,
            startup_ns: counts.startup.map(Duration::as_nanos),
        })
    }
}
