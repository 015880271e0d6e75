//! Adaptive video over one connection.

use fairlane_outcome::VideoRun;
use fairlane_qdisc::{Duration, Time};
use fairlane_scenario as scenario;
use fairlane_traffic::VideoPlayer;

/// The segments of one viewer.
///
/// The player is at the receiver. Its request travels with the acknowledgement of the segment before; if the buffer is
/// full it waits, and the request reaches the sender by as much later.
#[derive(Debug)]
pub(super) struct Video {
    config: scenario::Video,
    /// The size of a packet.
    bytes: u32,
    /// `None` before the start.
    player: Option<VideoPlayer>,
    /// The packets of all segments so far.
    supplied: u32,
    progress: SegmentProgress,
}

/// The progress of the segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentProgress {
    /// The receiver does not have all packets.
    InProgress,
    /// The receiver has all packets and waits for this time until it asks for the next segment; not all have been
    /// acknowledged.
    Received(Duration),
    /// All packets have been acknowledged.
    Acknowledged,
}

impl Video {
    /// Returns the video of `config` in packets of `bytes` bytes.
    pub(super) fn new(config: &scenario::Video, bytes: u32) -> Self {
        Self { config: config.clone(), bytes, player: None, supplied: 0, progress: SegmentProgress::Acknowledged }
    }

    /// Begins the segment that is asked for; returns the number of packets of all segments so far.
    pub(super) fn begin(&mut self, now: Time) -> u32 {
        let player = self.player.get_or_insert_with(|| VideoPlayer::new(&self.config, now));
        let packets = player.segment_bytes().div_ceil(u64::from(self.bytes.max(1)));
        self.supplied = self.supplied.saturating_add(u32::try_from(packets).unwrap_or(u32::MAX));
        self.progress = SegmentProgress::InProgress;
        self.supplied
    }

    /// Notes that the receiver has the first `packets` packets; returns true if it has all of the segment now.
    pub(super) fn received(&mut self, now: Time, packets: u32) -> bool {
        let ends = self.progress == SegmentProgress::InProgress && packets >= self.supplied;
        if let (true, Some(player)) = (ends, &mut self.player) {
            self.progress = SegmentProgress::Received(player.received(now));
        }
        ends
    }

    /// Notes that the first `packets` packets have been acknowledged; returns the time until the next segment is asked
    /// for if that ends the present one.
    pub(super) fn acknowledged(&mut self, packets: u32) -> Option<Duration> {
        match self.progress {
            SegmentProgress::Received(pause) if packets >= self.supplied => {
                self.progress = SegmentProgress::Acknowledged;
                Some(pause)
            }
            _ => None,
        }
    }

    /// Notes that the viewer leaves.
    pub(super) fn end(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.end(now);
        }
    }

    /// Starts the measurement.
    pub(super) fn begin_measurement(&mut self, now: Time) {
        if let Some(player) = &mut self.player {
            player.begin_measurement(now);
        }
    }

    /// Returns what the viewer saw until `now`.
    pub(super) fn run(&self, now: Time) -> VideoRun {
        let counts = self.player.as_ref().map(|player| player.counts(now)).unwrap_or_default();
        VideoRun {
            segments: counts.segments,
            bit_rates_bps: counts.bit_rates_bps,
            stalls: counts.stalls,
            stalled_ns: counts.stalled.as_nanos(),
            switches: counts.switches,
            startup_ns: counts.startup.map(Duration::as_nanos),
        }
    }
}
