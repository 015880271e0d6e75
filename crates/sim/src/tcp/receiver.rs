//! The receiver.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Congestion, Tcp};

use super::ranges::Ranges;
use super::{Ack, SackBlocks};

/// The receiving side of one connection.
///
/// It keeps what arrives out of order and never takes back an acknowledgement, and it refuses what lies beyond its
/// window.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected: all before it have arrived.
    next: u32,
    /// What the last acknowledgement said (RFC 7323: Last.ACK.sent).
    acknowledged: u32,
    /// What has arrived beyond `next`.
    early: Ranges,
    /// One segment of each of the three ranges of `early` that changed last, the last one first.
    recent: [Option<u32>; 3],
    /// When the segment to echo was sent (RFC 7323: TS.Recent).
    echo: Time,
    /// When the delayed acknowledgement is due.
    deadline: Option<Time>,
    delay: Option<Duration>,
    window: u32,
    sack: bool,
    ecn: bool,
    /// Marks are echoed segment by segment (RFC 8257), not until the sender has reacted.
    accurate: bool,
    /// Every acknowledgement says ECN-Echo.
    ece: bool,
}

/// What a segment's arrival led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// The receiver had not had this segment before.
    pub new: bool,
    /// The acknowledgement to send now.
    pub ack: Option<Ack>,
}

impl Receiver {
    /// A receiver that has received nothing.
    #[must_use]
    pub fn new(tcp: &Tcp) -> Self {
        Self {
            next: 0,
            acknowledged: 0,
            early: Ranges::default(),
            recent: [None; 3],
            echo: Time::ZERO,
            deadline: None,
            delay: tcp.delayed_ack,
            window: tcp.window.max(1),
            sack: tcp.congestion.uses_sack(),
            ecn: tcp.ecn,
            accurate: tcp.congestion == Congestion::Dctcp,
            ece: false,
        }
    }

    /// Takes segment `seq`, which was sent at `sent`; `ce`: marked on its way; `cwr`: the sender has reduced its window.
    pub fn on_segment(&mut self, now: Time, seq: u32, sent: Time, ce: bool, cwr: bool) -> Received {
        // RFC 3168 6.1.3: echo from the mark on until the sender says that it has reacted.
        let lasts = !self.accurate && self.ece && !cwr;
        let echo = self.ecn && (ce || lasts);
        let changes = echo != self.ece;
        if changes && self.accurate && self.deadline.is_some() {
            return self.acknowledge_before(now, seq, sent, echo);
        }
        self.ece = echo;
        self.note_echo(seq, sent);
        let gap = !self.early.is_empty();
        let expected = seq == self.next;
        let new = self.accept(seq);
        // RFC 5681 4.2: at once when a segment is out of order or fills a gap. A mark must not wait either.
        let prompt = !expected || gap || changes;
        Received { new, ack: if prompt { Some(self.acknowledge()) } else { self.acknowledge_later(now) } }
    }

    /// RFC 8257 3.2: an acknowledgement waits and segment `seq` is marked otherwise than what that covers. So it goes
    /// at once, without `seq` and with the old echo. If `seq` is out of order, its place among the selective
    /// acknowledgements goes with it.
    #[cold]
    fn acknowledge_before(&mut self, now: Time, seq: u32, sent: Time, echo: bool) -> Received {
        if seq != self.next {
            let new = self.accept(seq);
            let ack = self.acknowledge();
            self.ece = echo;
            return Received { new, ack: Some(ack) };
        }
        let ack = self.acknowledge();
        self.ece = echo;
        self.note_echo(seq, sent);
        let new = self.accept(seq);
        self.deadline = self.delay.map(|delay| now + delay);
        Received { new, ack: Some(ack) }
    }

    /// RFC 7323 4.3: so a delayed acknowledgement echoes the first segment that it covers.
    fn note_echo(&mut self, seq: u32, sent: Time) {
        if seq <= self.acknowledged {
            self.echo = self.echo.max(sent);
        }
    }

    /// The delayed acknowledgement that is due; to be called at [`deadline`](Self::deadline) or later.
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        self.deadline.is_some_and(|deadline| now >= deadline).then(|| self.acknowledge())
    }

    /// When a delayed acknowledgement is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.deadline
    }

    /// The next segment expected; as many have arrived without a hole.
    #[must_use]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Files segment `seq`; whether it is new.
    fn accept(&mut self, seq: u32) -> bool {
        let Some(ahead) = seq.checked_sub(self.next).filter(|ahead| *ahead < self.window && seq < u32::MAX) else {
            return false;
        };
        if ahead > 0 {
            let new = self.early.insert(seq, seq + 1);
            self.remember(seq);
            return new;
        }
        self.next = self.early.take_first(seq + 1).unwrap_or(seq + 1);
        true
    }

    /// Puts the range that holds `seq` in front of those that changed lately.
    fn remember(&mut self, seq: u32) {
        let range = self.early.holding(seq);
        let elsewhere = |other: &u32| self.early.holding(*other).is_some_and(|other| Some(other) != range);
        let mut others = self.recent.iter().flatten().copied().filter(elsewhere);
        self.recent = [Some(seq), others.next(), others.next()];
    }

    fn acknowledge_later(&mut self, now: Time) -> Option<Ack> {
        match self.delay {
            // RFC 1122 4.2.3.2: at least every second segment.
            Some(delay) if self.deadline.is_none() => {
                self.deadline = Some(now + delay);
                None
            }
            _ => Some(self.acknowledge()),
        }
    }

    fn acknowledge(&mut self) -> Ack {
        self.deadline = None;
        self.acknowledged = self.next;
        Ack { next: self.next, sack: self.blocks(), ece: self.ece, echo: self.echo }
    }

    /// RFC 2018 section 4: the block that changed last comes first, then those that were reported before it. Where a
    /// merge has left fewer of these, the highest others.
    fn blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if self.sack && !self.early.is_empty() {
            let recent = self.recent.iter().flatten().filter_map(|seq| self.early.holding(*seq));
            for (start, end) in recent.chain(self.early.descending()) {
                if !blocks.as_slice().contains(&(start, end)) {
                    blocks.push(start, end);
                }
                if blocks.as_slice().len() == 3 {
                    break;
                }
            }
        }
        blocks
    }
}
