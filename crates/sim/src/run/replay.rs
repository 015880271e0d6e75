//! Open-loop traffic: recorded arrivals at one queue and its link.

use fairlane_outcome::{Cost, Expected, FlowRun, QueueRun, Run};
use fairlane_qdisc::{BoxQdisc, DropSink, Host, Packet, Qdisc, QdiscParameters, Rate, Reason, Seed, Tagged, Time};
use fairlane_traffic::Transmitter;

use crate::control::Control;
use crate::measure::queue_meter::Meter;
use crate::run::error::Error;

/// The queue's name in outcomes, the same as in a dumbbell scenario.
const NAME: &str = "bottleneck";

/// A queue and its link, to which the caller offers packets at given times.
///
/// Memory follows the number of queued packets and of flows, not the number of arrivals. The randomness is that of the
/// bottleneck of a scenario with the same seed: the same arrivals lead to the same decisions.
///
/// ```
/// use fairlane_qdisc::{Kind, QdiscParameters, Rate, Seed, SimplePacket, Time};
/// use fairlane_sim::Replay;
///
/// let (config, rate) = (QdiscParameters::new(Kind::DropTail), Rate::from_bits_per_second(1_000_000));
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
pub struct Replay<P: Packet + Send + Sync + 'static> {
    kind: &'static str,
    discipline: BoxQdisc<QueuedPacket<P>>,
    transmitter: Transmitter,
    meter: Meter,
    now: Time,
    /// The end of the transmission in progress; `None` while the link is idle.
    free: Option<Time>,
    /// The time at which the discipline may release a packet that it holds back.
    release: Option<Time>,
    events: u64,
}

/// The names of a flow of a replay in outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayFlow {
    /// The flow's name.
    pub name: String,
    /// The name of its flow group.
    pub group: String,
    /// The kind of its traffic, such as `tcp`.
    pub kind: &'static str,
}

impl<P: Packet + Send + Sync + 'static> Replay<P> {
    /// Returns an empty queue of `config` with a link of `rate`.
    ///
    /// # Errors
    /// [`Error::Queue`] if the parameters contradict each other, [`Error::NoRate`] if the rate is zero.
    pub fn new(config: &QdiscParameters, rate: Rate, seed: Seed) -> Result<Self, Error> {
        Self::with(rate, seed, |_, host| {
            let built = config.build(host).map_err(|error| Error::Queue { link: NAME.to_owned(), error });
            Ok((config.kind().name(), built?))
        })
    }

    /// Returns an empty queue of a discipline of the caller with a link of `rate`.
    ///
    /// `custom` is called once, with the name of the link and with its rate and seed. Outcomes show the discipline that
    /// it returns under the name returned with it.
    ///
    /// # Errors
    /// That of `custom`, or [`Error::NoRate`] if the rate is zero.
    pub fn with<E: From<Error>>(
        rate: Rate,
        seed: Seed,
        custom: impl FnOnce(&str, &Host) -> Result<(&'static str, BoxQdisc<Tagged<P, ArrivalTag>>), E>,
    ) -> Result<Self, E> {
        if rate.bits_per_second() == 0 {
            return Err(Error::NoRate.into());
        }
        let host = Host { rate, seed: seed.numbered(0).named("queue").named(NAME) };
        let (kind, discipline) = custom(NAME, &host)?;
        Ok(Self {
            kind,
            discipline,
            transmitter: Transmitter::new(rate),
            meter: Meter::for_any_flow(),
            now: Time::ZERO,
            free: None,
            release: None,
            events: 0,
        })
    }

    /// Offers a packet of flow number `flow` at `at`, or at the time of the arrival before if `at` is earlier. Flows
    /// are numbered from 0 without gaps. `departed` is called for each packet that the link has begun to send by then,
    /// with the time.
    ///
    /// A link that becomes free at `at` takes its next packet before this one arrives.
    pub fn arrive(&mut self, at: Time, flow: u32, packet: P, departed: &mut impl FnMut(Time, P)) {
        while let Some(next) = self.next().filter(|next| *next <= at) {
            self.send_next(next, departed);
        }
        let now = self.now.max(at);
        (self.now, self.events) = (now, self.events + 1);
        self.meter.ensure(flow);
        self.meter.arrived(now, flow);
        self.discipline.enqueue(
            now,
            Tagged::new(packet, ArrivalTag { at: now, flow }),
            &mut ReplayAccounting(&mut self.meter),
        );
        self.meter.averaged(self.discipline.average());
        if self.free.is_none() {
            self.send_next(now, departed);
        }
    }

    /// Sends the queued packets and reports a finished run to `control`. Returns true if `control` stopped it before
    /// the end. Packets that the discipline never releases stay in the queue.
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

    /// Returns the measurements from time zero until now. `flows` has the names of the flows, by number. A packet
    /// counts as sent when it arrives at the queue, and as delivered when the link begins to send it.
    #[must_use]
    pub fn run(&self, scenario: &str, seed: u64, flows: &[ReplayFlow], partial: bool) -> Run {
        let now = self.free.map_or(self.now, |free| free.max(self.now));
        let parts = self.meter.flows(now);
        let flow_run = |part: &fairlane_outcome::QueueFlowRun| {
            let flow = flows.get(part.flow as usize)?;
            Some(FlowRun {
                id: part.flow,
                name: flow.name.as_str().into(),
                group: flow.group.as_str().into(),
                kind: flow.kind.into(),
                transport: flow.kind.into(),
                exit: Some(0),
                sent: part.arrived,
                delivered: part.departed,
                unique_bytes: part.departed_bytes,
                dropped: part.dropped.iter().sum(),
                ..FlowRun::default()
            })
        };
        Run {
            scenario: scenario.to_owned(),
            engine: "replay".into(),
            seed,
            run: 0,
            from_s: 0.0,
            to_s: now.as_secs(),
            partial,
            flows: parts.iter().filter_map(flow_run).collect(),
            expected: Expected::default(),
            cost: Cost {
                events: self.events,
                packet_hops: self.discipline.counters().departed.packets,
                ..Cost::default()
            },
            queues: vec![QueueRun {
                name: NAME.to_owned(),
                kind: self.kind.into(),
                rate_bps: self.transmitter.rate().bits_per_second() as f64,
                edge_bytes: self.meter.edge_bytes(now),
                mean_packets: parts.iter().map(|part| part.mean_packets).sum(),
                mean_avg: self.meter.mean_average(),
                delay_ns: self.meter.delay_ns(),
                flows: parts,
            }],
        }
    }

    /// Returns the time of the next event.
    fn next(&self) -> Option<Time> {
        self.free.or(self.release)
    }

    /// Sends the next packet of the queue at `now`, if there is one.
    fn send_next(&mut self, now: Time, departed: &mut impl FnMut(Time, P)) {
        (self.now, self.events) = (now, self.events + 1);
        let Some(queued) = self.discipline.dequeue(now, &mut ReplayAccounting(&mut self.meter)) else {
            (self.free, self.release) = (None, self.discipline.status().retry_at(now));
            return;
        };
        let bytes = queued.packet.bytes();
        self.meter.departed(now, queued.tag.flow, bytes, queued.tag.at);
        let sent = now + self.transmitter.next(bytes);
        self.meter.transmits(now, sent, bytes);
        (self.free, self.release) = (Some(sent), None);
        departed(now, queued.packet);
    }
}

/// A packet in the queue, with its arrival.
type QueuedPacket<P> = Tagged<P, ArrivalTag>;

/// The arrival time and the flow number of a packet in a [`Replay`].
#[derive(Clone, Copy, Debug)]
pub struct ArrivalTag {
    at: Time,
    flow: u32,
}

/// Counts the packets that the discipline drops and marks.
struct ReplayAccounting<'m>(&'m mut Meter);

impl<P: Packet + Send + Sync + 'static> DropSink<QueuedPacket<P>> for ReplayAccounting<'_> {
    fn dropped(&mut self, now: Time, queued: QueuedPacket<P>, reason: Reason) {
        self.0.dropped(now, queued.tag.flow, reason);
    }
    fn marked(&mut self, _now: Time, queued: &QueuedPacket<P>, _reason: Reason) {
        self.0.marked(queued.tag.flow);
    }
}
