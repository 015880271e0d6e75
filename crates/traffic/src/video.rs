//! Adaptive video: a player that chooses the bit rate of each segment by the data that it has.

use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::Video;

/// A player of segments, which come one after the other.
///
/// The bit rate of each is chosen by the playback time in the buffer (BBA-0 of Huang et al., "A buffer-based approach
/// to rate adaptation", SIGCOMM 2014, algorithm 1): the lowest up to the reservoir, the highest from the end of the
/// cushion on, and between them it changes when a straight line over the cushion reaches the next bit rate. Playback
/// begins with the first segment, and goes on after a stall with the next one. A segment is asked for when the one
/// before is there and the buffer has room for it.
#[derive(Clone, Debug)]
pub struct VideoPlayer {
    config: Video,
    state: Playback,
    /// The playback time in the buffer at `now`, in nanoseconds.
    buffered: u64,
    now: Time,
    began: Time,
    /// The index of the bit rate of the segment that is asked for.
    rung: usize,
    counts: VideoCounts,
}

/// The picture that the viewer sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Playback {
    /// Nothing yet.
    StartUp,
    /// The video.
    Playing,
    /// The last frame, since this time.
    Stalled(Time),
    /// Nothing any more.
    Ended,
}

/// Counts of the playback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VideoCounts {
    /// Segments that arrived.
    pub segments: u64,
    /// The sum of their bit rates in bit/s.
    pub bit_rates_bps: u64,
    /// Times that the playback stopped for want of data.
    pub stalls: u64,
    /// The time that it stood still, without the start-up.
    pub stalled: Duration,
    /// Segments of another bit rate than the one before.
    pub switches: u64,
    /// The time until the playback began; `None` before that.
    pub startup: Option<Duration>,
}

impl VideoPlayer {
    /// Returns the player of `config` that asks for its first segment, one of the lowest bit rate, at `now`.
    #[must_use]
    pub fn new(config: &Video, now: Time) -> Self {
        let (state, counts) = (Playback::StartUp, VideoCounts::default());
        Self { config: config.clone(), state, buffered: 0, now, began: now, rung: 0, counts }
    }

    /// Returns the size in bytes of the segment that is asked for, rounded up.
    #[must_use]
    pub fn segment_bytes(&self) -> u64 {
        let bits = u128::from(self.rate().bits_per_second()) * u128::from(self.config.segment.as_nanos());
        u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX)
    }

    /// Returns the bit rate of the segment that is asked for.
    #[must_use]
    pub fn rate(&self) -> Rate {
        self.config.ladder.get(self.rung).copied().unwrap_or_default()
    }

    /// Notes that the segment is there. Chooses the next one and returns the time after which it is asked for.
    pub fn received(&mut self, now: Time) -> Duration {
        if self.state == Playback::Ended {
            return Duration::ZERO;
        }
        self.advance(now);
        self.counts.segments += 1;
        self.counts.bit_rates_bps += self.rate().bits_per_second();
        match self.state {
            Playback::StartUp => self.counts.startup = Some(now - self.began),
            Playback::Stalled(since) => self.counts.stalled = self.counts.stalled + (now - since),
            Playback::Playing | Playback::Ended => {}
        }
        self.state = Playback::Playing;
        self.buffered += self.config.segment.as_nanos();
        let full = self.buffered + self.config.segment.as_nanos();
        let pause = full.saturating_sub(self.config.buffer.as_nanos());
        let next = self.choose(self.buffered.saturating_sub(pause));
        self.counts.switches += u64::from(next != self.rung);
        self.rung = next;
        Duration::from_nanos(pause)
    }

    /// Plays until `now`.
    fn advance(&mut self, now: Time) {
        let passed = (now - self.now).as_nanos();
        if self.state == Playback::Playing {
            if passed > self.buffered {
                self.state = Playback::Stalled(self.now + Duration::from_nanos(self.buffered));
                self.counts.stalls += 1;
            }
            self.buffered = self.buffered.saturating_sub(passed);
        }
        self.now = now;
    }

    /// Returns the index of the bit rate of the next segment with `buffered` nanoseconds of playback.
    fn choose(&self, buffered: u64) -> usize {
        let Video { ladder, reservoir, cushion, .. } = &self.config;
        let highest = ladder.len().saturating_sub(1);
        let (reservoir, cushion) = (reservoir.as_nanos(), cushion.as_nanos());
        if buffered <= reservoir {
            return 0;
        }
        if buffered >= reservoir + cushion {
            return highest;
        }
        let bits = |rung: usize| ladder.get(rung).map_or(0.0, |rate| rate.bits_per_second() as f64);
        let allowed = bits(0) + (bits(highest) - bits(0)) * (buffered - reservoir) as f64 / cushion as f64;
        let (above, below) = ((self.rung + 1).min(highest), self.rung.saturating_sub(1));
        if allowed >= bits(above) {
            (0..=highest).rev().find(|rung| bits(*rung) < allowed).unwrap_or(0)
        } else if allowed <= bits(below) {
            (0..=highest).find(|rung| bits(*rung) > allowed).unwrap_or(highest)
        } else {
            self.rung
        }
    }

    /// Ends the playback: the viewer leaves.
    pub fn end(&mut self, now: Time) {
        self.counts = self.counts(now);
        (self.state, self.now) = (Playback::Ended, now);
    }

    /// Starts the measurement: all counts but the start-up begin at zero, and a stall that lasts counts with the rest
    /// of its time.
    pub fn begin_measurement(&mut self, now: Time) {
        self.advance(now);
        if let Playback::Stalled(since) = &mut self.state {
            *since = now;
        }
        self.counts = VideoCounts { startup: self.counts.startup, ..VideoCounts::default() };
    }

    /// Returns what the viewer saw until `now`, with a stall that lasts.
    #[must_use]
    pub fn counts(&self, now: Time) -> VideoCounts {
        let mut until = self.clone();
        until.advance(now);
        if let Playback::Stalled(since) = until.state {
            until.counts.stalled = until.counts.stalled + (now - since);
        }
        until.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 4 s at 1, 2, 4 and 8 Mbit/s; a reservoir of 8 s and a cushion of 14 s, in which a bit rate of 1 + (B
    /// − 8)/2 Mbit/s is allowed.
    fn player() -> VideoPlayer {
        let mbit = |mbit: u64| Rate::from_bits_per_second(mbit * 1_000_000);
        let config = Video {
            segment: Duration::from_millis(4000),
            ladder: [1, 2, 4, 8].map(mbit).to_vec(),
            buffer: Duration::from_millis(24_000),
            reservoir: Duration::from_millis(8000),
            cushion: Duration::from_millis(14_000),
        };
        VideoPlayer::new(&config, Time::ZERO)
    }

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// By hand: allowed are 1 Mbit/s at 8 s, 2 at 10 s, 4 at 14 s and 8 at 22 s. From 1 Mbit/s the choice rises when 2
    /// are allowed, to the highest below the allowed rate; from 4 it falls when 2 are allowed, to the lowest above;
    /// between them it stays.
    #[test]
    fn the_choice_follows_algorithm_1() {
        let choice = |rung: usize, tenths: u64| {
            let player = VideoPlayer { rung, ..player() };
            player.choose(tenths * 100_000_000)
        };
        // At 10.0 s exactly 2 Mbit/s are allowed: the highest below is still 1.
        assert_eq!([50, 80, 99, 100, 101, 139, 141].map(|at| choice(0, at)), [0, 0, 0, 0, 1, 1, 2]);
        assert_eq!([79, 81, 99, 101, 139, 141, 219, 220].map(|at| choice(2, at)), [0, 1, 1, 2, 2, 2, 2, 3]);
        assert_eq!([130, 139, 141, 180, 230].map(|at| choice(3, at)), [2, 2, 3, 3, 3]);
    }

    /// By hand: segments of the lowest bit rate, 500,000 bytes, come in 1 s each. Playback begins after 1 s. After n
    /// segments at n s there are 4 n − (n − 1) s of playback: 4, 7, 10 (2 Mbit/s are allowed, not more), 13, for which
    /// 3.5 are: 2 Mbit/s. With segments of 2 s then 15 s, and 4 Mbit/s.
    #[test]
    fn the_buffer_fills_and_the_bit_rate_rises() {
        let mut player = player();
        let mut rates = Vec::new();
        for at in [1000, 2000, 3000, 4000, 6000] {
            rates.push(player.segment_bytes());
            assert_eq!(player.received(ms(at)), Duration::ZERO);
        }
        rates.push(player.segment_bytes());
        assert_eq!(rates, [500_000, 500_000, 500_000, 500_000, 1_000_000, 2_000_000]);
        let counts = player.counts(ms(6000));
        let expected = VideoCounts {
            segments: 5,
            bit_rates_bps: 6_000_000,
            switches: 2,
            startup: Some(Duration::from_millis(1000)),
            ..counts
        };
        assert_eq!((counts, counts.stalls), (expected, 0));
    }

    /// By hand: the segments come at once, so after five there are 20 s and room for one more; after six 24 s, which is
    /// full: the next one is asked for when 4 s have been played.
    #[test]
    fn a_full_buffer_waits_for_room() {
        let mut player = player();
        let pauses: Vec<u64> = (0..7).map(|_| player.received(Time::ZERO).as_nanos() / 1_000_000).collect();
        assert_eq!(pauses, [0, 0, 0, 0, 0, 4000, 8000]);
        // The level then is 20 s: between 4 Mbit/s and 8 Mbit/s.
        assert_eq!(player.rate().bits_per_second(), 4_000_000);
    }

    /// By hand: the first segment is played from 1 s to 5 s. The second one comes at 9 s: a stall of 4 s. It is played
    /// until 13 s; at 15 s the stall has lasted 2 s. Would catch a start-up that counts as a stall, and a stall that
    /// only counts when it is over.
    #[test]
    fn stalls_last_until_the_next_segment() {
        let mut player = player();
        player.received(ms(1000));
        player.received(ms(9000));
        let counts = player.counts(ms(15_000));
        assert_eq!((counts.stalls, counts.stalled), (2, Duration::from_millis(6000)));
        // A measurement from 14 s on sees its last second of the second stall, and the stall does not count as its own.
        player.begin_measurement(ms(14_000));
        let counts = player.counts(ms(15_000));
        assert_eq!((counts.stalls, counts.stalled), (0, Duration::from_millis(1000)));
        assert_eq!(counts.startup, Some(Duration::from_millis(1000)));
        // Who has left waits no longer.
        player.end(ms(16_000));
        assert_eq!(player.counts(ms(20_000)).stalled, Duration::from_millis(2000));
    }

    /// A segment that comes as the last one ends is in time.
    #[test]
    fn a_segment_in_time_is_no_stall() {
        let mut player = player();
        player.received(ms(1000));
        player.received(ms(5000));
        assert_eq!(player.counts(ms(9000)).stalls, 0);
    }
}
