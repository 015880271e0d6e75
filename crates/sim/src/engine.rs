//! Runs a scenario, event by event.

use std::fmt;

use fairlane_outcome::{Cost, FlowRun, Run};
use fairlane_qdisc::{AnyQdisc, Host, Qdisc, Seed, Time};
use fairlane_scenario::{Hop, Scenario, Traffic};

use crate::ahead::Lookahead;
use crate::batch::Control;
use crate::event::{TARGETS, Target};
use crate::flow::{Flow, Totals};
use crate::link::{Link, Queue};
use crate::network::{Metered, Network, QueueError, link_of};
use crate::observer::Observer;
use crate::own::{Disciplines, FromScenario, Own};
use crate::packet::Packet;
use crate::plane::Plane;
use crate::sampling::Sampling;

/// A scenario that cannot be run.
#[derive(Debug)]
pub enum Error {
    /// A queue's parameters contradict each other.
    Queue {
        /// The link's name.
        link: String,
        /// What is wrong.
        error: fairlane_qdisc::ParameterError,
    },
    /// More links or flows than the simulator can number.
    TooLarge {
        /// How many it would be.
        wanted: usize,
    },
    /// A flow's source and destination are the same host: its packets would cross no link.
    NoLink {
        /// The flow group's name.
        group: String,
    },
    /// A link of rate zero would never send.
    NoRate,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Queue { link, error } => write!(f, "the queue of link \"{link}\": {error}"),
            Self::TooLarge { wanted } => {
                write!(f, "{wanted} links and flows are too many: the simulator numbers {TARGETS}; use fewer flows")
            }
            Self::NoRate => f.write_str("a link needs a rate above zero"),
            Self::NoLink { group } => {
                write!(
                    f,
                    "flows \"{group}\" cross no link; give them different ends, or hosts of their own with [access]"
                )
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<QueueError> for Error {
    fn from(QueueError { link, error }: QueueError) -> Self {
        Self::Queue { link, error }
    }
}

/// How many events pass between two looks at whether to go on.
const LOOK_EVERY: u64 = 1 << 14;

/// Runs `scenario`: its run number `run`, which has randomness of its own, told to `observer`.
///
/// When `control` says stop, what was measured so far comes back as a partial run.
///
/// # Errors
/// The scenario cannot be run; see [`Error`].
pub fn run(scenario: &Scenario, run: u32, control: &Control, observer: &mut impl Observer) -> Result<Run, Error> {
    Ok(Engine::new(scenario, run, observer, &mut FromScenario)?.run(run, control))
}

/// As [`run`], with disciplines of the caller's own: `own` is asked for each direction of each link, by its
/// [name](crate::link_name), before the scenario's discipline is built. Where it gives one, with the name that outcomes call it
/// by, that one stands there; the scenario's queue is left out.
///
/// The seed of the [`Host`](fairlane_qdisc::Host) that `own` gets is the one that the scenario's discipline would have had.
///
/// # Errors
/// As [`run`].
pub fn run_with<D: Qdisc<Packet>>(
    scenario: &Scenario,
    run: u32,
    control: &Control,
    observer: &mut impl Observer,
    own: impl FnMut(&str, &Host) -> Option<(&'static str, D)>,
) -> Result<Run, Error> {
    Ok(Engine::new(scenario, run, observer, &mut Own(own))?.run(run, control))
}

/// Bytes that a run of `scenario` needs at least: those of its flows and their hosts' links. Packets, queues and results come
/// on top.
#[must_use]
pub fn least_memory(scenario: &Scenario) -> u64 {
    let group = |group: &fairlane_scenario::FlowGroup| {
        let ends = usize::from(group.source.is_some()) + usize::from(group.sink.is_some());
        let flow = size_of::<Flow>() + 2 * ends * size_of::<Link<AnyQdisc<Packet>>>() + size_of::<Tally>();
        u64::from(group.count) * flow as u64
    };
    scenario.flows.iter().map(group).sum()
}

struct Engine<'s, 'o, O, D> {
    scenario: &'s Scenario,
    plane: Plane<'o, O, D>,
    flows: Vec<Flow>,
    ahead: Lookahead,
    /// What had been counted of each flow when the measurement began; empty when it began at the start.
    before: Vec<Tally>,
    now: Time,
    from: Time,
    events: u64,
    sampling: Option<Sampling>,
}

impl<'s, 'o, O: Observer, D: Qdisc<Packet>> Engine<'s, 'o, O, D> {
    fn new(
        scenario: &'s Scenario,
        run: u32,
        observer: &'o mut O,
        disciplines: &mut impl Disciplines<Discipline = D>,
    ) -> Result<Self, Error> {
        let count: usize = scenario.flows.iter().map(|group| group.count as usize).sum();
        let wanted = 2 * scenario.links.len() + 4 * count;
        if wanted > TARGETS {
            return Err(Error::TooLarge { wanted });
        }
        let no_link = |group: &&fairlane_scenario::FlowGroup| {
            group.path.is_empty() && (group.source.is_none() || group.sink.is_none())
        };
        if let Some(group) = scenario.flows.iter().find(no_link) {
            return Err(Error::NoLink { group: group.name.clone() });
        }
        let seed = Seed::new(scenario.seed).numbered(u64::from(run));
        let mut plane = Plane::new(Network::new(scenario, seed, disciplines)?, events_per_second(scenario), observer);
        let mut flows = Vec::with_capacity(count);
        for group in &scenario.flows {
            let seed = seed.named("flow").named(&group.name);
            for index in 0..group.count {
                let (id, seed) = (flows.len() as u32, seed.numbered(u64::from(index)));
                let mut flow = Flow::new(id, (group, index), plane.network.routes[id as usize], seed);
                plane.events.push(flow.start(group, seed), Target::Source(id));
                flows.push(flow);
            }
        }
        let (ahead, sampling) = (Lookahead::new(count), Sampling::of(plane.observer));
        let (before, now, from) = (Vec::new(), Time::ZERO, Time::ZERO);
        Ok(Self { scenario, plane, flows, ahead, before, now, from, events: 0, sampling })
    }

    /// The whole run.
    fn run(mut self, run: u32, control: &Control) -> Run {
        let warmup = Time::ZERO + self.scenario.warmup;
        let end = Time::ZERO + self.scenario.duration;
        let mut partial = self.advance(warmup, control);
        self.begin_measurement();
        partial = partial || self.advance(end, control);
        if self.sampling.is_some_and(|sampling| !sampling.took(self.now)) {
            self.sample();
        }
        self.check();
        self.result(run, partial)
    }

    /// Goes on to `until`, with samples on the way; true when it was told to stop.
    fn advance(&mut self, until: Time, control: &Control) -> bool {
        while let Some(at) = self.sampling.map(Sampling::next).filter(|at| *at <= until) {
            if self.handle_before(at, control) {
                return true;
            }
            self.sample();
        }
        self.handle_before(until, control)
    }

    /// Tells the observer of all flows and queues.
    fn sample(&mut self) {
        if let Some(sampling) = &mut self.sampling {
            sampling.take(self.now, &self.flows, &mut self.plane);
        }
    }

    /// Handles every event before `until`; true when it was told to stop on the way.
    fn handle_before(&mut self, until: Time, control: &Control) -> bool {
        while let Some((at, target)) = self.plane.events.pop_before(until) {
            self.now = at;
            self.handle(at, target);
            self.events += 1;
            self.ahead.look(&self.plane, &self.flows);
            if self.events.is_multiple_of(LOOK_EVERY) && control.stopped() {
                return true;
            }
        }
        self.now = until;
        false
    }

    fn handle(&mut self, now: Time, target: Target) {
        match target {
            Target::Arrival(link) => {
                if let Some(packet) = self.plane.arrive(now, link) {
                    self.flows[packet.flow as usize].on_packet(now, packet, &mut self.plane);
                }
            }
            Target::LinkFree(link) => self.plane.link_free(now, link),
            Target::Overtaking(link) => {
                if let Some(packet) = self.plane.overtake(now, link) {
                    self.flows[packet.flow as usize].on_packet(now, packet, &mut self.plane);
                }
            }
            Target::Release(link) => self.plane.release(now, link),
            Target::Source(flow) => self.flows[flow as usize].on_source(now, &mut self.plane),
            Target::SenderTimer(flow) => self.flows[flow as usize].on_sender_timer(now, &mut self.plane),
            Target::ReceiverTimer(flow) => self.flows[flow as usize].on_receiver_timer(now, &mut self.plane),
        }
    }

    /// The warm-up is over.
    fn begin_measurement(&mut self) {
        self.from = self.now;
        if self.now > Time::ZERO {
            self.before = tallies(&self.flows, &self.plane.dropped, &self.plane.lost).collect();
        }
        self.flows.iter_mut().for_each(Flow::begin_measurement);
        for link in &mut self.plane.network.links {
            if let Queue::Managed(managed) = &mut link.queue
                && let Some(meter) = &mut managed.meter
            {
                meter.begin(self.now);
            }
        }
    }

    /// Nothing is lost from the books: at no queue, and in the whole.
    fn check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let (mut inside, mut dropped) = (0, 0);
        for link in &self.plane.network.links {
            inside += link.underway() as u64;
            if let Queue::Managed(managed) = &link.queue {
                let (queue, counters) = (&managed.discipline, managed.discipline.counters());
                let gone = (counters.departed, counters.dropped_total());
                assert_eq!(counters.arrived.packets, gone.0.packets + gone.1.packets + queue.packets() as u64);
                assert_eq!(counters.arrived.bytes, gone.0.bytes + gone.1.bytes + queue.bytes());
                inside += queue.packets() as u64;
                dropped += gone.1.packets;
            }
        }
        dropped += self.plane.dropped_from_wires + self.plane.lost_on_wires;
        assert_eq!(self.plane.injected, self.plane.ejected + dropped + inside);
    }

    fn result(self, run: u32, partial: bool) -> Run {
        let exits: Vec<Option<usize>> =
            self.scenario.flows.iter().map(|group| group.path.last().and_then(|hop| self.reported(*hop))).collect();
        let Self { scenario, plane, flows, before, now, from, events, .. } = self;
        let packet_hops = plane.packet_hops;
        // First what is not needed goes: for a million flows the result is as large as the network.
        let (network, dropped, lost) = plane.close();
        let metered: Vec<Metered> = network.metered(scenario, (from, now)).collect();
        let queues = metered.into_iter().map(|metered| metered.result(now)).collect();
        Run {
            scenario: scenario.name.clone(),
            engine: "sim",
            seed: scenario.seed,
            run,
            from_s: from.as_secs(),
            to_s: now.as_secs(),
            partial,
            queues,
            flows: flow_runs(scenario, &exits, &before, &flows, tallies(&flows, &dropped, &lost)),
            cost: Cost { events, packet_hops, ..Cost::default() },
        }
    }

    /// The place of a link's queue among those of the result.
    fn reported(&self, hop: Hop) -> Option<usize> {
        let link = link_of(hop) as usize;
        let metered = |link: &Link<D>| matches!(&link.queue, Queue::Managed(queue) if queue.meter.is_some());
        metered(&self.plane.network.links[link])
            .then(|| self.plane.network.links[..link].iter().filter(|link| metered(link)).count())
    }
}

/// What is counted of a flow since the start: at its ends, and of its packets on the way.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    totals: Totals,
    dropped: u64,
    lost: u64,
}

fn tallies<'a>(flows: &'a [Flow], dropped: &'a [u64], lost: &'a [u64]) -> impl Iterator<Item = Tally> + 'a {
    let counted = flows.iter().zip(dropped).zip(lost);
    counted.map(|((flow, dropped), lost)| Tally { totals: flow.totals(), dropped: *dropped, lost: *lost })
}

/// What was counted of each flow after `before`, up to `tallies`; `exits` has the queue by which each group leaves.
fn flow_runs(
    scenario: &Scenario,
    exits: &[Option<usize>],
    before: &[Tally],
    flows: &[Flow],
    mut tallies: impl Iterator<Item = Tally>,
) -> Vec<FlowRun> {
    let mut runs = Vec::with_capacity(flows.len());
    for (group, exit) in scenario.flows.iter().zip(exits) {
        for (index, now) in (0..group.count).zip(tallies.by_ref()) {
            let id = runs.len();
            let before = before.get(id).copied().unwrap_or_default();
            let (ends, ends_before) = (&now.totals, &before.totals);
            runs.push(FlowRun {
                id: id as u32,
                name: format!("{}/{index}", group.name),
                group: group.name.clone(),
                kind: match group.traffic {
                    Traffic::Tcp(_) => "tcp",
                    Traffic::Udp(_) => "udp",
                    Traffic::Tfrc(_) => "tfrc",
                },
                exit: *exit,
                sent: ends.sent - ends_before.sent,
                delivered: ends.delivered - ends_before.delivered,
                unique_bytes: ends.unique_bytes - ends_before.unique_bytes,
                dropped: now.dropped - before.dropped,
                lost: now.lost - before.lost,
                retransmitted: ends.retransmitted - ends_before.retransmitted,
                timeouts: ends.timeouts - ends_before.timeouts,
                completions_ns: flows[id].completions().map(<[u64]>::to_vec),
            });
        }
    }
    runs
}

/// About how many events a second the scenario will make: five for a packet that crosses a link between nodes, two for one
/// that a source sends whatever happens.
fn events_per_second(scenario: &Scenario) -> f64 {
    let packet_bits = |bytes: u64| 8.0 * bytes.max(1) as f64;
    let smallest = scenario.flows.iter().map(|group| group.packet.get()).min().unwrap_or(1000);
    let rates = scenario.links.iter().map(|link| link.forward.rate.bits_per_second() as f64);
    let links = rates.map(|rate| 5.0 * rate / packet_bits(smallest));
    let sources = scenario.flows.iter().map(|group| match &group.traffic {
        Traffic::Udp(udp) => {
            2.0 * f64::from(group.count) * udp.rate.bits_per_second() as f64 / packet_bits(group.packet.get())
        }
        Traffic::Tcp(_) | Traffic::Tfrc(_) => 0.0,
    });
    links.chain(sources).sum()
}
