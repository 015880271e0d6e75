//! The TCP receiver.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::{Congestion, Tcp};

use super::accurate_ecn::MarkCounter;
use super::ranges::{Inserted, Ranges};
use super::{Ack, SackBlocks};

/// The receiving side of one connection.
///
/// The receiver keeps segments that arrive out of order, never withdraws a selective acknowledgement, and refuses
/// segments beyond its window.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    /// The next segment expected: all segments before it have arrived.
    next: u32,
    /// The number in the last acknowledgement (Last.ACK.sent of RFC 7323).
    acknowledged: u32,
    /// The segments that have arrived beyond `next`.
    early: Ranges,
    /// The three ranges of `early` that changed most recently, the latest first. A range below `next`, which has been
    /// acknowledged, may still be among them and does not count; (0, 0) is none.
    recent: [(u32, u32); 3],
    /// The timestamp to echo (TS.Recent of RFC 7323).
    echo: Time,
    /// The time at which the delayed acknowledgement is due; [`Time::MAX`] if there is none.
    deadline: Time,
    /// How long an acknowledgement is delayed; [`NOT_DELAYED`] if none is.
    ack_delay: Duration,
    window: u32,
    sack: bool,
    /// Segments that arrive once more are reported (RFC 2883).
    dsack: bool,
    ecn: bool,
    /// Marks are echoed segment by segment (RFC 8257) instead of until the sender has reacted (RFC 3168).
    accurate: bool,
    /// Acknowledgements carry ECN-Echo.
    ece: bool,
    /// The segments left that are acknowledged at once at the start of a connection.
    prompt: u8,
    /// The feedback that only some senders ask for.
    feedback: Option<Box<ReceiverFeedback>>,
}

/// The segments that Linux acknowledges at once at the start of a connection, so that slow start is fast.
const PROMPT: u8 = 16;

/// Stands for no delay: each segment is acknowledged at once.
const NOT_DELAYED: Duration = Duration::from_nanos(u64::MAX);

/// Feedback that only some senders ask for.
#[derive(Clone, Debug)]
struct ReceiverFeedback {
    /// The one-way delay of the last segment; `None` unless congestion control asks for it.
    one_way: Option<Duration>,
    /// The counter of accurate ECN; `None`: marks are echoed.
    marks: Option<MarkCounter>,
}

impl ReceiverFeedback {
    /// Returns what a sender of `tcp` asks for; `None` if that is nothing.
    fn new(tcp: &Tcp) -> Option<Box<Self>> {
        let one_way = (tcp.congestion == Congestion::Ledbat).then(Duration::default);
        let marks = (tcp.ecn && tcp.accurate_ecn).then(MarkCounter::new);
        (one_way.is_some() || marks.is_some()).then(|| Box::new(Self { one_way, marks }))
    }

    /// Notes a segment that took `delay`. Returns true if its mark is to be acknowledged at once.
    fn received(&mut self, delay: Duration, marked: bool) -> bool {
        if let Some(one_way) = &mut self.one_way {
            *one_way = delay;
        }
        self.marks.as_mut().is_some_and(|marks| marks.received(marked))
    }
}

/// The result of a segment's arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// True if the segment had not been received before.
    pub new: bool,
    /// The acknowledgement to send now, if any.
    pub ack: Option<Ack>,
}

impl TcpReceiver {
    /// [Asks for](crate::network::prefetch) the segments that have arrived early.
    pub(crate) fn prefetch_early(&self) {
        self.early.prefetch();
    }

    /// Returns a receiver that has received nothing.
    #[must_use]
    pub fn new(tcp: &Tcp) -> Self {
        Self {
            next: 0,
            acknowledged: 0,
            early: Ranges::default(),
            recent: [(0, 0); 3],
            echo: Time::ZERO,
            deadline: Time::MAX,
            ack_delay: tcp.delayed_ack.unwrap_or(NOT_DELAYED),
            window: tcp.window.max(1),
            sack: tcp.uses_sack(),
            dsack: tcp.reports_duplicates(),
            ecn: tcp.ecn,
            accurate: matches!(tcp.congestion, Congestion::Dctcp | Congestion::Prague),
            ece: false,
            prompt: if tcp.as_linux { PROMPT } else { 0 },
            feedback: ReceiverFeedback::new(tcp),
        }
    }

    /// Returns the receiver with ECN-Echo for each marked segment, as that of DCTCP (RFC 8257, section 3.2).
    pub(crate) fn with_exact_echo(self) -> Self {
        Self { accurate: true, ..self }
    }

    /// Handles segment `seq`, sent at `sent`. `ce` is true if the network has marked it, `cwr` if the sender says that
    /// it has reduced its window.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, seq: u32, sent: Time, ce: bool, cwr: bool) -> Received {
        // Echoes from the mark on until the sender says that it has reacted (RFC 3168, section 6.1.3).
        let continues = !self.accurate && self.ece && !cwr;
        let counted = self.feedback.as_mut().is_some_and(|feedback| feedback.received(now.since(sent), ce));
        let counts = self.feedback.as_ref().is_some_and(|feedback| feedback.marks.is_some());
        let echo = self.ecn && !counts && (ce || continues);
        let changes = echo != self.ece;
        if changes && self.accurate && self.deadline < Time::MAX {
            return self.acknowledge_before(now, seq, sent, echo);
        }
        self.ece = echo;
        self.note_echo(seq, sent);
        let gap = !self.early.is_empty();
        let expected = seq == self.next;
        let new = self.accept(seq);
        if !new && self.dsack {
            return Received { new, ack: Some(self.acknowledge_again(seq)) };
        }
        // At once if a segment is out of order or fills a gap (RFC 5681, section 4.2), and if the echo changes.
        let prompt = !expected || gap || changes || counted;
        let acknowledges = prompt || !self.delays_acknowledgement(now);
        Received { new, ack: acknowledges.then(|| self.acknowledge()) }
    }

    /// Handles segment `seq` if an acknowledgement is delayed and the marking of `seq` differs from that of the
    /// segments it covers: it is sent at once, without `seq` and with the old echo (RFC 8257, section 3.2). If `seq` is
    /// out of order, it is reported in the SACK blocks of this acknowledgement.
    #[cold]
    fn acknowledge_before(&mut self, now: Time, seq: u32, sent: Time, echo: bool) -> Received {
        if seq != self.next {
            let new = self.accept(seq);
            let ack = if new || !self.dsack { self.acknowledge() } else { self.acknowledge_again(seq) };
            self.ece = echo;
            return Received { new, ack: Some(ack) };
        }
        let ack = self.acknowledge();
        self.ece = echo;
        self.note_echo(seq, sent);
        let new = self.accept(seq);
        self.deadline = now + self.ack_delay;
        Received { new, ack: Some(ack) }
    }

    /// Updates the timestamp to echo, so that a delayed acknowledgement echoes the first segment that it covers (RFC
    /// 7323, section 4.3).
    fn note_echo(&mut self, seq: u32, sent: Time) {
        if seq <= self.acknowledged {
            self.echo = self.echo.max(sent);
        }
    }

    /// Returns the delayed acknowledgement if it is due. To be called at or after [`deadline`](Self::deadline).
    pub fn on_timer(&mut self, now: Time) -> Option<Ack> {
        self.deadline().is_some_and(|deadline| now >= deadline).then(|| self.acknowledge())
    }

    /// Returns the delayed acknowledgement, if there is one, at once: it travels with data of the receiving
    /// application.
    pub fn flush(&mut self) -> Option<Ack> {
        (self.deadline < Time::MAX).then(|| self.acknowledge())
    }

    /// Returns the time at which a delayed acknowledgement is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        (self.deadline < Time::MAX).then_some(self.deadline)
    }

    /// Returns the next segment expected, which is the number of segments received without a gap.
    #[must_use]
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Stores segment `seq`; returns true if it is new.
    #[inline]
    fn accept(&mut self, seq: u32) -> bool {
        let Some(ahead) = seq.checked_sub(self.next).filter(|ahead| *ahead < self.window && seq < u32::MAX) else {
            return false;
        };
        if ahead > 0 {
            let Inserted { new, range } = self.early.insert(seq, seq + 1, |_, _| {});
            if self.sack {
                self.remember(range);
            }
            return new > 0;
        }
        self.next = self.early.take_first(seq + 1).unwrap_or(seq + 1);
        true
    }

    /// Makes `range`, which may be the union of others, the first of those that changed most recently.
    fn remember(&mut self, range: (u32, u32)) {
        let is_apart = |other: (u32, u32)| other.0 < range.0 || range.1 < other.1;
        let mut others = self.recent.into_iter().filter(|other| other.0 > self.next && is_apart(*other));
        self.recent = [range, others.next().unwrap_or_default(), others.next().unwrap_or_default()];
    }

    /// Delays the acknowledgement of a segment; returns false if it is not to be delayed.
    #[inline]
    fn delays_acknowledgement(&mut self, now: Time) -> bool {
        if self.prompt > 0 {
            self.prompt -= 1;
            return false;
        }
        // At least every second segment is acknowledged (RFC 1122, section 4.2.3.2).
        if self.ack_delay == NOT_DELAYED || self.deadline < Time::MAX {
            return false;
        }
        self.deadline = now + self.ack_delay;
        true
    }

    #[inline]
    fn acknowledge(&mut self) -> Ack {
        self.deadline = Time::MAX;
        self.acknowledged = self.next;
        let marks = self.feedback.as_mut().and_then(|feedback| feedback.marks.as_mut());
        let ace = marks.map_or(0, MarkCounter::acknowledge);
        Ack {
            next: self.next,
            sack: self.blocks(),
            ece: self.ece,
            ace,
            echo: self.echo,
            delay: self.feedback.as_ref().and_then(|feedback| feedback.one_way),
        }
    }

    /// Acknowledges segment `seq`, which was refused: if it had arrived before, the first block reports it (RFC 2883,
    /// section 4).
    #[cold]
    fn acknowledge_again(&mut self, seq: u32) -> Ack {
        let mut ack = self.acknowledge();
        if seq < self.next || self.early.holding(seq).is_some() {
            let mut sack = SackBlocks::default();
            sack.push(seq, seq + 1);
            ack.sack.as_slice().iter().for_each(|&(start, end)| sack.push(start, end));
            ack.sack = sack;
        }
        ack
    }

    /// Returns the SACK blocks: the most recently changed first, then those reported before it (RFC 2018, section 4).
    /// If merges have left fewer of these, the highest other blocks follow.
    #[inline]
    fn blocks(&self) -> SackBlocks {
        if self.sack && !self.early.is_empty() { self.early_blocks() } else { SackBlocks::default() }
    }

    #[inline(never)]
    fn early_blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let recent = self.recent.into_iter().filter(|range| range.0 > self.next);
        for (start, end) in recent.chain(self.early.descending()) {
            if !blocks.as_slice().contains(&(start, end)) {
                blocks.push(start, end);
            }
            if blocks.as_slice().len() == 3 {
                break;
            }
        }
        blocks
    }
}
