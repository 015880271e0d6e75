//! Any discipline behind the queue trait of a network emulator: packets carry the time of their arrival, the size of
//! the next one is asked for before it is taken, and parameters change while packets wait.
//!
//! The trait has the functions of `PacketQueue` of [rattan](https://github.com/stack-rs/rattan) that a queue must have.
//! A queue of rattan is configured by a structure; this one by the text of a discipline.
//!
//! `cargo run -p fairlane-qdisc --example packet_queue`
#![allow(clippy::disallowed_methods, reason = "the emulator's packets have times of the system's clock")]

use std::cell::RefCell;
use std::fmt::Debug;
use std::time::{Duration, Instant};

use fairlane_qdisc::headers::{FlowKeys, FlowsBy, Headers, LinkType};
use fairlane_qdisc::{
    DropSink, FlowKey, Host, ParameterError, Qdisc as _, QdiscParameters, Rate, Reason, ReplaceableQdisc, Seed, Time,
};

/// A packet of the emulator: a frame of Ethernet.
pub(crate) trait Packet: Debug + Send + 'static {
    fn l3_length(&self) -> usize;
    fn as_slice(&self) -> &[u8];
    fn get_timestamp(&self) -> Instant;
}

/// A queue of the emulator.
pub(crate) trait PacketQueue<P: Packet>: Send {
    type Config: Send + Debug;
    fn configure(&mut self, config: Self::Config);
    fn enqueue(&mut self, packet: P);
    fn dequeue_at(&mut self, timestamp: Instant) -> Option<P>;
    fn is_empty(&self) -> bool;
    fn get_extra_length(&self) -> usize {
        0
    }
    fn get_packet_size(&self, packet: &P) -> usize {
        packet.l3_length() + self.get_extra_length()
    }
    fn get_front_size(&self) -> Option<usize>;
    fn length(&self) -> usize;
}

/// A packet as disciplines see it.
#[derive(Debug)]
struct Queued<P> {
    packet: P,
    flow: FlowKey,
}

impl<P: Packet> fairlane_qdisc::Packet for Queued<P> {
    fn flow(&self) -> FlowKey {
        self.flow
    }
    fn bytes(&self) -> u32 {
        self.packet.l3_length() as u32
    }
    // The emulator's queues drop; own_packet.rs has a packet that can be marked.
    fn ecn_capable(&self) -> bool {
        false
    }
    fn mark_ce(&mut self) {}
}

/// Returns the flow of a frame. Nobody attacks an emulator, so the secret is none.
pub(crate) fn flow(frame: &[u8]) -> FlowKey {
    FlowKeys::new(FlowsBy::FiveTuple, 0).of(&Headers::read(LinkType::Ethernet, frame, frame.len() as u32))
}

/// Counts the dropped packets: the emulator does not ask for them.
#[derive(Default)]
struct Drops(u64);

impl<P: Packet> DropSink<Queued<P>> for Drops {
    fn dropped(&mut self, _now: Time, _packet: Queued<P>, _reason: Reason) {
        self.0 += 1;
    }
    fn marked(&mut self, _now: Time, _packet: &Queued<P>, _reason: Reason) {}
}

/// The discipline, and the packet that leaves next if that has been asked for.
struct Line<P: Packet> {
    discipline: ReplaceableQdisc<Queued<P>>,
    next: Option<Queued<P>>,
    drops: Drops,
    now: Time,
}

impl<P: Packet> Line<P> {
    /// Takes the next packet, once.
    fn next(&mut self) -> &mut Option<Queued<P>> {
        if self.next.is_none() {
            self.next = self.discipline.dequeue(self.now, &mut self.drops);
        }
        &mut self.next
    }
}

/// A discipline as a queue of the emulator.
pub(crate) struct Disciplined<P: Packet> {
    /// The emulator asks for the size of the next packet without the right to change the queue, but a discipline
    /// decides by the question which one it is.
    line: RefCell<Line<P>>,
    host: Host,
    start: Instant,
}

impl<P: Packet + Sync> Disciplined<P> {
    /// Makes a queue as `text` describes it, for a link of `rate`. No packet comes before `start`.
    pub(crate) fn new(text: &str, rate: Rate, seed: Seed, start: Instant) -> Result<Self, ParameterError> {
        let host = Host { rate, seed };
        let discipline = ReplaceableQdisc::new(text.parse::<QdiscParameters>()?.build(&host)?);
        let line = Line { discipline, next: None, drops: Drops::default(), now: Time::ZERO };
        Ok(Self { line: RefCell::new(line), host, start })
    }

    /// Returns the packets dropped so far.
    pub(crate) fn drops(&self) -> u64 {
        self.line.borrow().drops.0
    }

    /// Returns the line at `timestamp`, or at the latest time before if that is later.
    fn at(&mut self, timestamp: Instant) -> &mut Line<P> {
        let line = self.line.get_mut();
        let now = timestamp.saturating_duration_since(self.start).as_nanos() as u64;
        line.now = line.now.max(Time::from_nanos(now));
        line
    }
}

impl<P: Packet + Sync> PacketQueue<P> for Disciplined<P> {
    /// A discipline and its parameters.
    type Config = String;

    /// Packets that wait leave first. A mistake in the text changes nothing.
    fn configure(&mut self, config: String) {
        let parameters = config.parse::<QdiscParameters>();
        match parameters.and_then(|parameters| parameters.build(&self.host)) {
            Ok(discipline) => self.line.get_mut().discipline.replace(discipline),
            Err(error) => eprintln!("{config}: {error}"),
        }
    }

    fn enqueue(&mut self, packet: P) {
        let line = self.at(packet.get_timestamp());
        let queued = Queued { flow: flow(packet.as_slice()), packet };
        line.discipline.enqueue(line.now, queued, &mut line.drops);
    }

    fn dequeue_at(&mut self, timestamp: Instant) -> Option<P> {
        self.at(timestamp).next().take().map(|queued| queued.packet)
    }

    fn is_empty(&self) -> bool {
        self.length() == 0
    }

    fn get_front_size(&self) -> Option<usize> {
        let mut line = self.line.borrow_mut();
        let next = line.next().as_ref();
        next.map(|queued| self.get_packet_size(&queued.packet))
    }

    fn length(&self) -> usize {
        let line = self.line.borrow();
        line.discipline.packets() + usize::from(line.next.is_some())
    }
}

/// A frame with an IPv4 packet.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) arrival: Instant,
}

impl Frame {
    /// Makes a frame with a packet of UDP of `bytes` bytes from this port.
    pub(crate) fn new(port: u16, bytes: usize, arrival: Instant) -> Self {
        let mut frame = vec![0; 14 + bytes];
        (frame[12], frame[14], frame[23]) = (0x08, 0x45, 17);
        frame[34..36].copy_from_slice(&port.to_be_bytes());
        Self { bytes: frame, arrival }
    }
}

impl Packet for Frame {
    fn l3_length(&self) -> usize {
        self.bytes.len() - 14
    }
    fn as_slice(&self) -> &[u8] {
        &self.bytes
    }
    fn get_timestamp(&self) -> Instant {
        self.arrival
    }
}

fn main() -> Result<(), ParameterError> {
    let (start, millisecond) = (Instant::now(), Duration::from_millis(1));
    let rate = Rate::from_bits_per_second(8_000_000);
    let mut queue = Disciplined::new("choke limit=100p min=10p max=30p", rate, Seed::new(1), start)?;
    let mut sent = [0; 2];
    for step in 0..4000 {
        let now = start + step * millisecond;
        // One flow sends twice what the link can, another one a quarter. The link sends 1000 bytes in a millisecond.
        (0..2).for_each(|_| queue.enqueue(Frame::new(1, 1000, now)));
        if step % 4 == 0 {
            queue.enqueue(Frame::new(2, 1000, now));
        }
        if step == 2000 {
            println!("choke: {sent:?} sent, {} dropped, {} wait", queue.drops(), queue.length());
            queue.configure("fq-codel".to_owned());
            sent = [0; 2];
        }
        if !queue.is_empty()
            && queue.get_front_size() == Some(1000)
            && let Some(frame) = queue.dequeue_at(now)
        {
            sent[usize::from(frame.bytes[35]) - 1] += 1;
        }
    }
    println!("then fq-codel: {sent:?} sent, {} dropped, {} wait", queue.drops(), queue.length());
    Ok(())
}
