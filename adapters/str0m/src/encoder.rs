//! A simulated encoder of video.

use fairlane_qdisc::{Duration, Rate, Time};

use crate::Video;

/// The bytes of the smallest frame, which has room for the header of VP8 and a time.
const LEAST_BYTES: u64 = 32;

/// The place of a frame's time of capture, behind the header of a key frame of VP8 (RFC 6386, section 9.1).
const CAPTURED: std::ops::Range<usize> = 10..18;

/// The share of the estimate that the encoder does not use: headers of RTP, retransmissions and probes.
const RESERVE: u64 = 10;

#[derive(Debug)]
pub(crate) struct Encoder {
    least: Rate,
    most: Rate,
    interval: Duration,
    rate: Rate,
    /// The time of the next frame, once the hosts have connected.
    next: Option<Time>,
}

impl Encoder {
    pub(crate) fn new(video: &Video) -> Self {
        Self { least: video.least, most: video.most, interval: video.interval, rate: video.first, next: None }
    }

    pub(crate) fn begin(&mut self, now: Time) {
        self.next = Some(now);
    }

    pub(crate) fn next(&self) -> Option<Time> {
        self.next
    }

    /// Follows an estimate in bit/s.
    pub(crate) fn follow(&mut self, estimate: u64) {
        let rate = Rate::from_bits_per_second(estimate - estimate / RESERVE);
        self.rate = rate.clamp(self.least, self.most);
    }

    /// Returns the frame that is due at `now`, if there is one.
    pub(crate) fn encode(&mut self, now: Time) -> Option<Vec<u8>> {
        self.next = Some(self.next.filter(|next| *next <= now)? + self.interval);
        let bits = u128::from(self.rate.bits_per_second()) * u128::from(self.interval.as_nanos()) / 1_000_000_000;
        let bytes = u64::try_from(bits / 8).unwrap_or(u64::MAX).max(LEAST_BYTES);
        let mut frame = vec![0; bytes as usize];
        frame[CAPTURED].copy_from_slice(&now.as_nanos().to_le_bytes());
        Some(frame)
    }
}

/// Returns the time of capture of a frame; `None` for one that is none of the encoder's.
pub(crate) fn captured(frame: &[u8]) -> Option<Time> {
    let bytes = frame.get(CAPTURED)?.try_into().ok()?;
    Some(Time::from_nanos(u64::from_le_bytes(bytes)))
}
