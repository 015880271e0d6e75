//! A sender and a receiver on a path with a fixed round-trip time and no queue. The test decides on each segment and
//! acknowledgement. Segments sent at the same time arrive at the same time, in order.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Tcp;
use fairlane_sim::tcp::{Ack, Opening, Segment, SegmentSink, TcpReceiver, TcpSender};

/// The path's treatment of a segment or an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Passage {
    Lost,
    Arrives,
    Marked,
    Twice,
    /// Arrives later than others by this.
    Late(Duration),
}

type Decide = Box<dyn FnMut(u32, u32) -> Passage>;

#[derive(Clone, Copy)]
enum Event {
    Data { seq: u32, cwr: bool, marked: bool, sent: Time },
    Ack(Ack),
}

/// One line of the trace: consecutive segments sent at the same time.
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
    pub(crate) sender: TcpSender,
    pub(crate) receiver: TcpReceiver,
    pub(crate) now: Time,
    half: Duration,
    /// Decides by the segment's number and the number of earlier transmissions.
    data: Decide,
    /// Decides by the acknowledged number and the number of earlier acknowledgements.
    acks: Decide,
    /// The number of transmissions of each segment.
    copies: Vec<u32>,
    queue: BTreeMap<(Time, u64), Event>,
    events: u64,
    acknowledgements: u32,
    rows: Vec<Row>,
    /// True for each segment that has arrived.
    delivered: Vec<bool>,
    pub(crate) cwr: Vec<u32>,
}

#[derive(Default)]
struct Outbox(Vec<Segment>);

impl SegmentSink for Outbox {
    fn send(&mut self, segment: Segment) {
        self.0.push(segment);
    }

    fn open(&mut self, packet: Opening) {
        panic!("{packet:?} on a path whose connections are open");
    }
}

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Path {
    pub(crate) fn new(tcp: &Tcp, round_trip: Duration) -> Self {
        Self {
            sender: TcpSender::new(tcp, Duration::ZERO),
            receiver: TcpReceiver::new(tcp),
            now: Time::ZERO,
            half: Duration::from_nanos(round_trip.as_nanos() / 2),
            data: Box::new(|_, _| Passage::Arrives),
            acks: Box::new(|_, _| Passage::Arrives),
            copies: Vec::new(),
            queue: BTreeMap::new(),
            events: 0,
            acknowledgements: 0,
            rows: Vec::new(),
            delivered: Vec::new(),
            cwr: Vec::new(),
        }
    }

    /// Loses these transmissions: segment and number of earlier transmissions.
    pub(crate) fn losing(self, lost: &[(u32, u32)]) -> Self {
        let lost = lost.to_vec();
        self.deciding(move |seq, copy| if lost.contains(&(seq, copy)) { Passage::Lost } else { Passage::Arrives })
    }

    pub(crate) fn deciding(mut self, data: impl FnMut(u32, u32) -> Passage + 'static) -> Self {
        self.data = Box::new(data);
        self
    }

    pub(crate) fn deciding_acks(mut self, acks: impl FnMut(u32, u32) -> Passage + 'static) -> Self {
        self.acks = Box::new(acks);
        self
    }

    pub(crate) fn start(&mut self) {
        let mut outbox = Outbox::default();
        self.sender.start(self.now, &mut outbox);
        self.dispatch(outbox, "new");
    }

    /// Sets the number of segments that the application has provided.
    pub(crate) fn supply(&mut self, segments: u32) {
        let mut outbox = Outbox::default();
        self.sender.supply(self.now, segments, &mut outbox);
        self.dispatch(outbox, "new");
    }

    /// Runs up to and including `millis`.
    pub(crate) fn run_to(&mut self, millis: u64) {
        let end = Time::ZERO + ms(millis);
        while self.next_time().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Starts, runs up to and including `millis`, and returns the trace.
    pub(crate) fn trace(mut self, millis: u64) -> String {
        self.start();
        self.run_to(millis);
        self.table()
    }

    /// Returns the time of the next event.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let arrival = self.queue.first_key_value().map(|((at, _), _)| *at);
        [arrival, self.sender.deadline(), self.sender.release(), self.receiver.deadline()].into_iter().flatten().min()
    }

    /// Handles the next event; arrivals come before timers.
    pub(crate) fn step(&mut self) {
        let Some(next) = self.next_time() else { return };
        self.now = next;
        if let Some(arrival) = self.queue.first_entry().filter(|first| first.key().0 == next) {
            match arrival.remove() {
                Event::Data { seq, cwr, marked, sent } => {
                    let received = self.receiver.on_segment(self.now, seq, sent, marked, cwr);
                    let before = std::mem::replace(&mut self.delivered[seq as usize], true);
                    assert_eq!(received.new, !before, "segment {seq}");
                    self.acknowledge(received.ack);
                }
                Event::Ack(ack) => {
                    let mut outbox = Outbox::default();
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
        let passage = (self.acks)(ack.next, self.acknowledgements);
        self.acknowledgements += 1;
        self.travel(passage, Event::Ack(ack));
    }

    fn dispatch(&mut self, outbox: Outbox, retransmission: &'static str) {
        for segment in outbox.0 {
            if segment.seq as usize == self.copies.len() {
                self.copies.push(0);
                self.delivered.push(false);
            }
            let copy = &mut self.copies[segment.seq as usize];
            assert_eq!(segment.retransmission, *copy > 0, "{segment:?}");
            let passage = (self.data)(segment.seq, *copy);
            *copy += 1;
            if segment.cwr {
                self.cwr.push(segment.seq);
            }
            let marked = passage == Passage::Marked;
            self.travel(passage, Event::Data { seq: segment.seq, cwr: segment.cwr, marked, sent: self.now });
            self.record(segment.seq, if segment.retransmission { retransmission } else { "new" });
        }
    }

    fn travel(&mut self, passage: Passage, event: Event) {
        let (copies, late) = match passage {
            Passage::Lost => (0, Duration::ZERO),
            Passage::Arrives | Passage::Marked => (1, Duration::ZERO),
            Passage::Twice => (2, Duration::ZERO),
            Passage::Late(late) => (1, late),
        };
        for _ in 0..copies {
            self.events += 1;
            self.queue.insert((self.now + self.half + late, self.events), event);
        }
    }

    fn record(&mut self, seq: u32, kind: &'static str) {
        if self.rows.len() > 1_000 {
            // Long runs need no trace.
            return;
        }
        let (at, cwnd, ssthresh) = (self.now, self.sender.cwnd(), self.sender.ssthresh());
        match self.rows.last_mut() {
            Some(row) if (row.at, row.kind, row.last + 1) == (at, kind, seq) => {
                (row.last, row.cwnd, row.ssthresh) = (seq, cwnd, ssthresh);
            }
            _ => self.rows.push(Row { at, kind, first: seq, last: seq, cwnd, ssthresh }),
        }
    }

    /// Returns the number of different segments sent.
    pub(crate) fn segments(&self) -> u32 {
        self.copies.len() as u32
    }

    /// Returns true if each segment sent has arrived.
    pub(crate) fn complete(&self) -> bool {
        self.delivered.iter().all(|arrived| *arrived)
    }

    /// Returns the number of segments in flight, in one or more copies, that have not arrived.
    pub(crate) fn in_flight(&self) -> u32 {
        let missing = |event: &Event| match event {
            Event::Data { seq, .. } => Some(*seq).filter(|seq| !self.delivered[*seq as usize]),
            Event::Ack(_) => None,
        };
        self.queue.values().filter_map(missing).collect::<BTreeSet<u32>>().len() as u32
    }

    /// Returns the trace: time in ms, kind, segments, and the window and threshold after the last of them.
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
