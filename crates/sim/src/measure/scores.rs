//! The measurements for the scores of flows.

use fairlane_outcome::score::{PathScoreRun, Profile, ScoreRun, VoiceRun};
use fairlane_qdisc::Duration;
use fairlane_scenario::{FlowGroup, Hop, Scenario, Score, Traffic};
use hdrhistogram::Histogram;

use crate::packet::PacketKind;

/// The measurements for the score of a flow, since the measurement began.
#[derive(Clone, Debug)]
pub(crate) enum FlowScore {
    Voice(VoiceReceiver),
    Path {
        profile: Profile,
        /// The delay of the way back without queues, for flows without acknowledgements of their own; `None` for TCP.
        back_ns: Option<u64>,
        round_trip_ns: Histogram<u64>,
    },
}

/// A receiver of a call with a jitter buffer.
#[derive(Clone, Debug)]
pub(crate) struct VoiceReceiver {
    /// The speech in a packet, which has passed when it is sent, and the time of the jitter buffer.
    fixed_ns: (u64, u64),
    /// The least delay so far; `None` before the first packet.
    least_ns: Option<u64>,
    next: u32,
    /// The last packet is missing.
    in_burst: bool,
    counts: VoiceRun,
}

impl FlowScore {
    /// Returns the measurements of a flow of `group`; `None` if it has no score.
    pub(crate) fn new(scenario: &Scenario, group: &FlowGroup) -> Option<Box<Self>> {
        let path = |profile| Self::Path { profile, back_ns: back_ns(scenario, group), round_trip_ns: empty() };
        Some(Box::new(match group.score? {
            Score::Voip { jitter_buffer } => {
                let speech = match &group.traffic {
                    Traffic::Udp(udp) => udp.rate.transmission(group.packet.get()),
                    Traffic::Tcp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => Duration::ZERO,
                };
                Self::Voice(VoiceReceiver::new(speech, jitter_buffer))
            }
            Score::Web => path(Profile::Web),
            Score::VideoStreaming => path(Profile::VideoStreaming),
            Score::VideoConference => path(Profile::VideoConference),
        }))
    }

    /// Counts a packet that has reached its host after `delay_ns` nanoseconds; of an acknowledgement this is the round
    /// trip.
    pub(crate) fn arrived(&mut self, kind: PacketKind, seq: u32, delay_ns: u64) {
        match (self, kind) {
            (Self::Voice(receiver), PacketKind::Data) => receiver.arrived(seq, delay_ns),
            (Self::Path { back_ns: Some(back_ns), round_trip_ns, .. }, PacketKind::Data) => {
                record(round_trip_ns, delay_ns + *back_ns);
            }
            (Self::Path { back_ns: None, round_trip_ns, .. }, PacketKind::Ack) => record(round_trip_ns, delay_ns),
            (Self::Voice(_) | Self::Path { .. }, _) => {}
        }
    }

    /// Starts the measurement.
    pub(crate) fn begin(&mut self) {
        match self {
            Self::Voice(receiver) => (receiver.counts, receiver.in_burst) = (VoiceRun::default(), false),
            Self::Path { round_trip_ns, .. } => round_trip_ns.reset(),
        }
    }

    /// Returns the measurements of a flow that has sent `all` packets, `measured` of them since the measurement began.
    pub(crate) fn run(&self, all: u64, measured: u64) -> ScoreRun {
        match self {
            Self::Voice(receiver) => ScoreRun::Voice(receiver.run(all, measured)),
            Self::Path { profile, round_trip_ns, .. } => {
                ScoreRun::Path(PathScoreRun { profile: *profile, round_trip_ns: round_trip_ns.clone() })
            }
        }
    }
}

impl VoiceReceiver {
    fn new(speech: Duration, jitter_buffer: Duration) -> Self {
        let fixed_ns = (speech.as_nanos(), jitter_buffer.as_nanos());
        Self { fixed_ns, least_ns: None, next: 0, in_burst: false, counts: VoiceRun::default() }
    }

    /// Counts packet `seq`, and those before it that have not come: one that is overtaken is not played.
    fn arrived(&mut self, seq: u32, delay_ns: u64) {
        let Some(lost) = seq.checked_sub(self.next) else { return };
        self.next = seq.saturating_add(1);
        let least = self.least_ns.map_or(delay_ns, |least| least.min(delay_ns));
        self.least_ns = Some(least);
        self.miss(u64::from(lost));
        if delay_ns > least.saturating_add(self.fixed_ns.1) {
            self.miss(1);
        } else {
            self.counts.played += 1;
            self.in_burst = false;
        }
    }

    fn miss(&mut self, packets: u64) {
        if packets == 0 {
            return;
        }
        self.counts.missing += packets;
        self.counts.bursts += u64::from(!std::mem::replace(&mut self.in_burst, true));
    }

    /// Packets behind the last arrival are missing too, but for those that may still come in time: as many as are sent
    /// within the least delay and the jitter buffer.
    fn run(&self, all: u64, measured: u64) -> VoiceRun {
        let (speech, jitter_buffer) = self.fixed_ns;
        let on_the_way = self.least_ns.map_or(0, |least| (least + jitter_buffer) / speech.max(1) + 1);
        let behind = all.saturating_sub(u64::from(self.next)).saturating_sub(on_the_way);
        let mut ended = self.clone();
        ended.miss(behind.min(measured));
        VoiceRun { delay_ns: self.least_ns.map_or(0, |least| speech + least + jitter_buffer), ..ended.counts }
    }
}

fn empty() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

fn record(histogram: &mut Histogram<u64>, nanos: u64) {
    histogram.record(nanos).expect("the histogram grows to any value");
}

/// Returns the delay of the way back without queues; `None` for TCP, whose acknowledgements tell the round trip.
fn back_ns(scenario: &Scenario, group: &FlowGroup) -> Option<u64> {
    if matches!(group.traffic, Traffic::Tcp(_)) {
        return None;
    }
    let side = |hop: &Hop| {
        let link = &scenario.links[hop.link];
        if hop.reverse { link.reverse.delay } else { link.forward.delay }
    };
    let hosts = [&group.source, &group.sink].into_iter().flatten().map(|access| access.delay);
    Some(hosts.chain(group.back.iter().map(side)).map(Duration::as_nanos).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, with 20 ms of speech and a jitter buffer of 60 ms: packets 0 and 1 come after 50 and 40 ms, 2 and 3 are
    /// lost, 4 takes 100 ms, which is in time (40 + 60), and 5 takes 101 ms. 7 is lost, 8 comes before 6, which is not
    /// played then. Would catch bursts that do not join lost and late packets: 5, 6 and 7 are one.
    #[test]
    fn lost_and_late_packets_are_missing() {
        let ms = |ms| Duration::from_millis(ms);
        let mut receiver = VoiceReceiver::new(ms(20), ms(60));
        for (seq, delay) in [(0, 50), (1, 40), (4, 100), (5, 101), (8, 40), (6, 90), (9, 41)] {
            receiver.arrived(seq, ms(delay).as_nanos());
        }
        let expected = VoiceRun { played: 5, missing: 5, bursts: 2, delay_ns: ms(120).as_nanos() };
        assert_eq!(receiver.run(10, 10), expected);
    }

    /// By hand, with 20 ms of speech and a jitter buffer of 60 ms: after a delay of 40 ms each, packets sent in the
    /// last 100 ms may still come: 5 and the next. Of 100 packets of which the first ten came, 84 are missing in one
    /// burst. All of a call of which nothing came are, but only those of the measurement. Would catch a call that dies
    /// and keeps its score.
    #[test]
    fn packets_behind_the_last_arrival_are_missing() {
        let ms = |ms| Duration::from_millis(ms);
        let mut receiver = VoiceReceiver::new(ms(20), ms(60));
        assert_eq!(receiver.run(100, 80), VoiceRun { played: 0, missing: 80, bursts: 1, delay_ns: 0 });
        (0..10).for_each(|seq| receiver.arrived(seq, ms(40).as_nanos()));
        let dead = VoiceRun { played: 10, missing: 84, bursts: 1, delay_ns: ms(120).as_nanos() };
        assert_eq!(receiver.run(100, 100), dead);
        assert_eq!(receiver.run(16, 16), VoiceRun { missing: 0, bursts: 0, ..dead });
    }
}
