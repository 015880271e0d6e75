//! Traffic that does not react: arrivals from elsewhere through one queue and its transmitter.

use fairlane_outcome::{Cost, FlowRun, QueueRun, Run};
use fairlane_qdisc::{AnyQdisc, Fate, Host, Packet, Qdisc, QdiscConfig, Rate, Reason, Seed, Tagged, Time};

use crate::batch::Control;
use crate::engine::Error;
use crate::link::Transmitter;
use crate::meter::Meter;
use crate::plane::held_until;

/// The queue's name in outcomes, as that of a dumbbell.
const NAME: &str = "bottleneck";

/// An open loop: a discipline and the link that it feeds, offered packets at the times when the caller says that they come.
///
/// Memory follows the packets that wait and the flows that were seen, not the number of packets. The randomness is that of
/// the bottleneck of a scenario with the same seed: what arrives alike is treated alike.
///
/// ```
/// use fairlane_qdisc::{Kind, QdiscConfig, Rate, Seed, SimplePacket, Time};
/// use fairlane_sim::Replay;
///
/// let (config, rate) = (QdiscConfig::new(Kind::DropTail), Rate::from_bits_per_second(1_000_000));
/// let mut replay = Replay::new(&config, rate, Seed::new(1))?;
/// let mut left = Vec::new();
/// for id in 0..3 {
///     let packet = SimplePacket::new(7, 1000).with_id(id);
///     replay.arrive(Time::ZERO, 0, packet, &mut |at, packet: SimplePacket| left.push((at.as_nanos(), packet.id)));
/// }
/// replay.drain(&Default::default(), &mut |at, packet: SimplePacket| left.push((at.as_nanos(), packet.id)));
/// // 1000 bytes take 8 ms at 1 Mbit/s.
/// assert_eq!(left, [(0, 0), (8_000_000, 1), (16_000_000, 2)]);
/// # Ok::<(), fairlane_sim::Error>(())
/// ```
pub struct Replay<P: Packet> {
    kind: &'static str,
    discipline: AnyQdisc<Waiting<P>>,
    transmitter: Transmitter,
    meter: Meter,
    now: Time,
    /// When the link has sent what it is sending; `None` while it sends nothing.
    free: Option<Time>,
    /// When the discipline may give out what it holds back.
    release: Option<Time>,
    events: u64,
}

/// A flow of a replay, as outcomes name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFlow {
    /// The flow's name.
    pub name: String,
    /// The group that it is counted in.
    pub group: String,
    /// What it carries, such as `tcp`.
    pub kind: &'static str,
}

impl<P: Packet> Replay<P> {
    /// An empty queue of `config` before a link of `rate`.
    ///
    /// # Errors
    /// The queue's parameters contradict each other, or the rate is zero.
    pub fn new(config: &QdiscConfig, rate: Rate, seed: Seed) -> Result<Self, Error> {
        if rate.bits_per_second() == 0 {
            return Err(Error::NoRate);
        }
        let host = Host { rate, seed: seed.numbered(0).named("queue").named(NAME) };
        let built = config.build(&host);
        Ok(Self {
            kind: config.kind().name(),
            discipline: built.map_err(|error| Error::Queue { link: NAME.to_owned(), error })?,
            transmitter: Transmitter::new(rate),
            meter: Meter::of_any(),
            now: Time::ZERO,
            free: None,
            release: None,
            events: 0,
        })
    }

    /// Offers a packet of the flow with the number `flow` at `at`, or, should that be past, at the time of the arrival before
    /// it; flows are numbered from 0 without gaps. `departed` hears of each packet that the link has begun to send by then, and when.
    ///
    /// A link that becomes free at `at` takes its next packet before this one comes.
    pub fn arrive(&mut self, at: Time, flow: u32, packet: P, departed: &mut impl FnMut(Time, P)) {
        while let Some(next) = self.next().filter(|next| *next <= at) {
            self.send_next(next, departed);
        }
        let now = self.now.max(at);
        (self.now, self.events) = (now, self.events + 1);
        self.meter.reach(flow);
        self.meter.arrived(now, flow);
        self.discipline.enqueue(now, Tagged::new(packet, Arrival { at: now, flow }), &mut Clerk(&mut self.meter));
        self.meter.averaged(self.discipline.average());
        if self.free.is_none() {
            self.send_next(now, departed);
        }
    }

    /// The end: sends what waits, until nothing does, and tells `control` of a finished run; true when `control` said stop on
    /// the way. What the discipline will never give out stays.
    pub fn drain(&mut self, control: &Control, departed: &mut impl FnMut(Time, P)) -> bool {
        while let Some(next) = self.next().filter(|next| *next < Time::MAX) {
            if control.stopped() {
                return true;
            }
            self.send_next(next, departed);
        }
        control.finish_one();
        false
    }

    /// What was measured from time zero until now, of flows with these names, by their numbers. A flow's packets are sent when
    /// they come to the queue and delivered when the link takes them.
    #[must_use]
    pub fn run(&self, scenario: &str, seed: u64, flows: &[ReplayFlow], partial: bool) -> Run {
        let now = self.free.map_or(self.now, |free| free.max(self.now));
        let parts = self.meter.flows(now);
        let flow_run = |part: &fairlane_outcome::QueueFlowRun| {
            let flow = flows.get(part.flow as usize)?;
            Some(FlowRun {
                id: part.flow,
                name: flow.name.clone(),
                group: flow.group.clone(),
                kind: flow.kind,
                exit: Some(0),
                sent: part.arrived,
                delivered: part.departed,
                unique_bytes: part.departed_bytes,
                dropped: part.dropped.iter().sum(),
                lost: 0,
                retransmitted: 0,
                timeouts: 0,
                completions_ns: None,
            })
        };
        Run {
            scenario: scenario.to_owned(),
            engine: "replay",
            seed,
            run: 0,
            from_s: 0.0,
            to_s: now.as_secs(),
            partial,
            flows: parts.iter().filter_map(flow_run).collect(),
            cost: Cost {
                events: self.events,
                packet_hops: self.discipline.counters().departed.packets,
                ..Cost::default()
            },
            queues: vec![QueueRun {
                name: NAME.to_owned(),
                kind: self.kind,
                rate_bps: self.transmitter.rate().bits_per_second() as f64,
                mean_packets: parts.iter().map(|part| part.mean_packets).sum(),
                mean_avg: self.meter.mean_average(),
                delay_ns: self.meter.delay_ns().clone(),
                flows: parts,
            }],
        }
    }

    /// When the link has something to do.
    fn next(&self) -> Option<Time> {
        self.free.or(self.release)
    }

    /// Lets the link take a packet at `now`, if there is one.
    fn send_next(&mut self, now: Time, departed: &mut impl FnMut(Time, P)) {
        (self.now, self.events) = (now, self.events + 1);
        let Some(waiting) = self.discipline.dequeue(now, &mut Clerk(&mut self.meter)) else {
            (self.free, self.release) = (None, held_until(now, &self.discipline));
            return;
        };
        let bytes = waiting.packet.bytes();
        self.meter.departed(now, waiting.tag.flow, bytes, waiting.tag.at);
        (self.free, self.release) = (Some(now + self.transmitter.next(bytes)), None);
        departed(now, waiting.packet);
    }
}

/// A packet in the queue.
type Waiting<P> = Tagged<P, Arrival>;

/// When it came, and of which flow it is.
#[derive(Clone, Copy)]
struct Arrival {
    at: Time,
    flow: u32,
}

/// Keeps the books of the queue.
struct Clerk<'m>(&'m mut Meter);

impl<P: Packet> Fate<Waiting<P>> for Clerk<'_> {
    fn dropped(&mut self, now: Time, waiting: Waiting<P>, reason: Reason) {
        self.0.dropped(now, waiting.tag.flow, reason);
    }
    fn marked(&mut self, _now: Time, waiting: &Waiting<P>, _reason: Reason) {
        self.0.marked(waiting.tag.flow);
    }
}
