//! A sender and a receiver on a path with a fixed round trip and no queue, where the test says what happens to each
//! segment. Everything sent at one moment arrives at one moment, in order.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;
use fairlane_sim::tcp::{Ack, Network, Receiver, Segment, Sender};

/// What the path does to a segment or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Lost,
    Arrives,
    Marked,
    Twice,
    /// Later by this than what was sent with it.
    Late(Duration),
}

type Decide = Box<dyn FnMut(u32, u32) -> Fate>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data { seq: u32, cwr: bool, marked: bool, sent: Time },
    Ack(usize),
}

/// One line of the trace: segments in a row that one moment sent.
#[derive(Clone, Debug)]
struct Row {
    at: Time,
    kind: &'static str,
    first: u32,
    last: u32,
    cwnd: f64,
    ssthresh: f64,
}

pub(crate) struct Path {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    pub(crate) now: Time,
    half: Duration,
    /// Decides by (number of the segment, how often it has been sent before).
    data: Decide,
    /// Decides by (what it acknowledges, how many acknowledgements there were before).
    acks: Decide,
    copies: BTreeMap<u32, u32>,
    in_flight: BinaryHeap<Reverse<(Time, u64, Event)>>,
    sent_acks: Vec<Ack>,
    events: u64,
    rows: Vec<Row>,
    pub(crate) delivered: BTreeSet<u32>,
    pub(crate) cwr: Vec<u32>,
}

#[derive(Default)]
struct Outbox(Vec<Segment>);

impl Network for Outbox {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Path {
    pub(crate) fn new(tcp: &Tcp, round_trip: Duration) -> Self {
        Self {
            sender: Sender::new(tcp),
            receiver: Receiver::new(tcp),
            now: Time::ZERO,
            half: Duration::from_nanos(round_trip.as_nanos() / 2),
            data: Box::new(|_, _| Fate::Arrives),
            acks: Box::new(|_, _| Fate::Arrives),
            copies: BTreeMap::new(),
            in_flight: BinaryHeap::new(),
            sent_acks: Vec::new(),
            events: 0,
            rows: Vec::new(),
            delivered: BTreeSet::new(),
            cwr: Vec::new(),
        }
    }

    /// Loses these: (segment, how often it has been sent before).
    pub(crate) fn losing(self, lost: &[(u32, u32)]) -> Self {
        let lost = lost.to_vec();
        self.deciding(move |seq, copy| if lost.contains(&(seq, copy)) { Fate::Lost } else { Fate::Arrives })
    }

    pub(crate) fn deciding(mut self, data: impl FnMut(u32, u32) -> Fate + 'static) -> Self {
        self.data = Box::new(data);
        self
    }

    pub(crate) fn deciding_acks(mut self, acks: impl FnMut(u32, u32) -> Fate + 'static) -> Self {
        self.acks = Box::new(acks);
        self
    }

    pub(crate) fn start(&mut self) {
        let mut outbox = Outbox::default();
        self.sender.start(self.now, &mut outbox);
        self.dispatch(outbox, "new");
    }

    /// Runs up to and including `millis`.
    pub(crate) fn run_to(&mut self, millis: u64) {
        let end = Time::ZERO + ms(millis);
        while self.next_time().is_some_and(|next| next <= end) {
            self.turn();
        }
        self.now = end;
    }

    /// Starts, runs up to and including `millis`, and gives the trace.
    pub(crate) fn trace(mut self, millis: u64) -> String {
        self.start();
        self.run_to(millis);
        self.table()
    }

    /// When anything happens next.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let arrival = self.in_flight.peek().map(|Reverse((at, ..))| *at);
        [arrival, self.sender.deadline(), self.receiver.deadline()].into_iter().flatten().min()
    }

    /// Lets the next thing happen; arrivals go before timers.
    pub(crate) fn turn(&mut self) {
        let Some(next) = self.next_time() else { return };
        self.now = next;
        if self.in_flight.peek().is_some_and(|Reverse((at, ..))| *at == next) {
            let Some(Reverse((_, _, event))) = self.in_flight.pop() else { return };
            match event {
                Event::Data { seq, cwr, marked, sent } => {
                    let received = self.receiver.on_segment(self.now, seq, sent, marked, cwr);
                    assert_eq!(received.new, self.delivered.insert(seq), "segment {seq}");
                    self.acknowledge(received.ack);
                }
                Event::Ack(index) => {
                    let (mut outbox, ack) = (Outbox::default(), self.sent_acks[index]);
                    self.sender.on_ack(self.now, &ack, &mut outbox);
                    self.dispatch(outbox, "again");
                }
            }
        } else if self.receiver.deadline() == Some(next) {
            let ack = self.receiver.on_timer(next);
            assert!(ack.is_some(), "a deadline without an acknowledgement");
            self.acknowledge(ack);
        } else {
            let mut outbox = Outbox::default();
            self.sender.on_timer(next, &mut outbox);
            self.dispatch(outbox, "timeout");
        }
    }

    fn acknowledge(&mut self, ack: Option<Ack>) {
        let Some(ack) = ack else { return };
        let index = self.sent_acks.len();
        let fate = (self.acks)(ack.next, index as u32);
        self.sent_acks.push(ack);
        self.travel(fate, Event::Ack(index));
    }

    fn dispatch(&mut self, outbox: Outbox, retransmission: &'static str) {
        for segment in outbox.0 {
            let copy = self.copies.entry(segment.seq).or_default();
            assert_eq!(segment.retransmission, *copy > 0, "{segment:?}");
            let fate = (self.data)(segment.seq, *copy);
            *copy += 1;
            if segment.cwr {
                self.cwr.push(segment.seq);
            }
            let marked = fate == Fate::Marked;
            self.travel(fate, Event::Data { seq: segment.seq, cwr: segment.cwr, marked, sent: self.now });
            self.record(segment.seq, if segment.retransmission { retransmission } else { "new" });
        }
    }

    fn travel(&mut self, fate: Fate, event: Event) {
        let (copies, late) = match fate {
            Fate::Lost => (0, Duration::ZERO),
            Fate::Arrives | Fate::Marked => (1, Duration::ZERO),
            Fate::Twice => (2, Duration::ZERO),
            Fate::Late(late) => (1, late),
        };
        for _ in 0..copies {
            self.events += 1;
            self.in_flight.push(Reverse((self.now + self.half + late, self.events, event)));
        }
    }

    fn record(&mut self, seq: u32, kind: &'static str) {
        let (at, cwnd, ssthresh) = (self.now, self.sender.cwnd(), self.sender.ssthresh());
        match self.rows.last_mut() {
            Some(row) if (row.at, row.kind, row.last + 1) == (at, kind, seq) => {
                (row.last, row.cwnd, row.ssthresh) = (seq, cwnd, ssthresh);
            }
            _ => self.rows.push(Row { at, kind, first: seq, last: seq, cwnd, ssthresh }),
        }
    }

    /// Time in ms, kind, segments, and the window and threshold after the last of them.
    pub(crate) fn table(&self) -> String {
        let mut table = String::new();
        for Row { at, kind, first, last, cwnd, ssthresh } in &self.rows {
            let segments = if first == last { first.to_string() } else { format!("{first}-{last}") };
            let millis = at.as_nanos() / 1_000_000;
            table += &format!("{millis} {kind} {segments} {cwnd:.2} {ssthresh:.2}\n");
        }
        table
    }
}

/// Compares a trace with the lines that were worked out by hand.
pub(crate) fn expect(trace: &str, by_hand: &[&str]) {
    let trace: Vec<&str> = trace.lines().collect();
    assert_eq!(trace, by_hand, "left: the sender, right: by hand");
}
