//! Runs a scenario, event by event.

use std::borrow::Cow;
use std::sync::Arc;

use fairlane_outcome::{Cost, Expected, FlowRun, Run, VideoRun};
use fairlane_qdisc::{BoxQdisc, Host, Qdisc, Seed, Time};
use fairlane_scenario::{FlowGroup, Hop, Scenario, Traffic};

use crate::build::names::link_of;
use crate::build::packet_sizes::events_per_second;
use crate::build::topology::build;
use crate::control::Control;
use crate::endpoint::Pair;
use crate::event_loop::EventLoop;
use crate::flow::hosts::Hosts;
use crate::flow::numbered::Numbered;
use crate::flow::{Applications, Flow, Totals};
use crate::measure::observer::Observer;
use crate::measure::path_delay::Delays;
use crate::network::Network;
use crate::network::link::{Link, LinkQueue};
use crate::packet::Packet;
use crate::parallel::divided::Divided;
use crate::parallel::partition::Division;
use crate::run::brought::Brought;
use crate::run::error::Error;
use crate::run::own_controls::OwnControls;
use crate::run::queue_results::MeteredQueue;
use crate::run::sampling::Sampling;
use crate::schedule::event_key::{TARGETS, Target};
use crate::shortcuts::Shortcuts;

/// Runs `scenario` once and returns the measurements. Each run number has its own randomness. `observer` follows the
/// run.
///
/// After [`Control::stop`] it returns the measurements so far, as a partial run.
///
/// # Errors
/// Returns an [`Error`] if the scenario cannot be run.
pub fn run(scenario: &Scenario, run: u32, control: &Control, observer: &mut impl Observer) -> Result<Run, Error> {
    run_brought(scenario, run, control, observer, Brought::default())
}

/// Runs `scenario` as [`run`] does, with disciplines of the caller.
///
/// `custom` is called once for each direction of each link, with its [name](crate::link_name) and its rate and seed.
/// The discipline that it returns replaces the scenario's queue; outcomes show it under the name returned with it. For
/// `None` the scenario's queue is used. The seed is the one that the scenario's discipline would have had.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    run: u32,
    control: &Control,
    observer: &mut impl Observer,
    custom: impl FnMut(&str, &Host) -> Option<(&'static str, BoxQdisc<Packet>)>,
) -> Result<Run, Error> {
    run_brought(scenario, run, control, observer, Brought::default().with_disciplines(custom))
}

/// Runs `scenario` as [`run`] does, with transports of the caller.
///
/// `endpoints` is called once for each flow of the groups with `kind = "endpoint"`, with the group's name, the flow's
/// number in the group, and a seed for all randomness of its endpoints. It returns the flow's two
/// [endpoints](crate::endpoint).
///
/// # Errors
/// As [`run`]; [`Error::NoEndpoint`] if `endpoints` returns `None`; and [`Error::Endpoint`] if an endpoint fails.
pub fn run_endpoints(
    scenario: &Scenario,
    run: u32,
    control: &Control,
    observer: &mut impl Observer,
    endpoints: impl FnMut(&str, u32, Seed) -> Option<Pair>,
) -> Result<Run, Error> {
    run_brought(scenario, run, control, observer, Brought::default().with_endpoints(endpoints))
}

/// Runs `scenario` as [`run`] does, with disciplines and transports of the caller, and the congestion controls and
/// applications of `control`.
///
/// # Errors
/// As [`run_endpoints`].
pub fn run_brought(
    scenario: &Scenario,
    run: u32,
    control: &Control,
    observer: &mut impl Observer,
    brought: Brought<'_>,
) -> Result<Run, Error> {
    let own = OwnControls::new(control);
    own.watch(scenario, || {
        Engine::new(Cow::Borrowed(scenario), run, observer, brought, Shortcuts::default(), &own)?.run(control)
    })
}

/// Returns the memory in bytes that the flows and the hosts' links of `scenario` take. Packets, queues and results take
/// more.
#[must_use]
pub fn least_memory(scenario: &Scenario) -> u64 {
    let group = |group: &FlowGroup| {
        let ends = usize::from(group.source.is_some()) + usize::from(group.sink.is_some());
        let flow = size_of::<Flow>() + 2 * ends * size_of::<Link>() + size_of::<Tally>();
        u64::from(group.count) * flow as u64
    };
    scenario.flows.iter().map(group).sum()
}

/// A run in progress.
pub(crate) struct Engine<'s, O> {
    pub(crate) scenario: Cow<'s, Scenario>,
    run: u32,
    /// The seed of the run.
    pub(crate) seed: Seed,
    /// All links and flows.
    pub(crate) part: EventLoop<O>,
    /// The counts of each flow when the measurement began; empty if it began at time zero.
    before: Vec<Tally>,
    /// The start of the measurement; `None` during the warm-up.
    from: Option<Time>,
    /// The number of changes during the run.
    pub(crate) changes: u64,
    sampling: Option<Sampling>,
}

impl<'s, O: Observer> Engine<'s, O> {
    pub(crate) fn new(
        scenario: Cow<'s, Scenario>,
        run: u32,
        observer: O,
        brought: Brought<'_>,
        shortcuts: Shortcuts,
        own: &OwnControls<'_>,
    ) -> Result<Self, Error> {
        let count: usize = scenario.flows.iter().map(|group| group.count as usize).sum();
        // Links with a shaper have a buffer as well, in each direction.
        let wanted = 4 * scenario.links.len() + 4 * count;
        if wanted > TARGETS {
            return Err(Error::TooLarge { wanted });
        }
        let no_link = |group: &&FlowGroup| group.path.is_empty() && (group.source.is_none() || group.sink.is_none());
        if let Some(group) = scenario.flows.iter().find(no_link) {
            return Err(Error::NoLink { group: group.name.clone() });
        }
        check_shapers(&scenario)?;
        // Tried as a whole, since the many small tables of flows and links could not give an error each.
        let bytes = least_memory(&scenario);
        if Vec::<u8>::new().try_reserve_exact(usize::try_from(bytes).unwrap_or(usize::MAX)).is_err() {
            return Err(Error::NoMemory { flows: count, bytes });
        }
        let seed = Seed::new(scenario.seed).numbered(u64::from(run));
        // Observers are shown all events in their order.
        let shortcuts = if O::ACTIVE { Shortcuts::NONE } else { shortcuts };
        let topology = build(&scenario, seed, brought.qdiscs, shortcuts)?;
        let mut network = Network::new(topology, events_per_second(&scenario), observer);
        let mut flows = Vec::with_capacity(count);
        let mut endpoints = brought.endpoints;
        for group in &scenario.flows {
            let seed = seed.named("flow").named(&group.name);
            let first = flows.len() as u32;
            let mut applications = Applications::new(group, first, own.control().applications_of(group, seed)?);
            for index in 0..group.count {
                let (id, seed) = (flows.len() as u32, seed.numbered(u64::from(index)));
                let bring = endpoints.as_mut().filter(|_| group.traffic == Traffic::Endpoint);
                let pair = bring.and_then(|bring| bring(&group.name, index, seed.named("endpoint")));
                let own = own.of(group, id, seed)?;
                let routes = network.topology.routes_of(id);
                let flow = Flow::new(id, (group, index), routes, seed, &mut applications, pair, own);
                let mut flow = flow.ok_or_else(|| Error::NoEndpoint { group: group.name.clone(), index })?;
                network.events.push(flow.start(group, seed), Target::Source(id));
                flows.push(flow);
            }
        }
        network.start_controllers();
        let sampling = Sampling::of(&network.records.observer);
        let hosts = Hosts::new(Numbered::new(0, flows), Delays::new(&scenario));
        let part = EventLoop::new(network, hosts);
        Ok(Self { scenario, run, seed, part, before: Vec::new(), from: None, changes: 0, sampling })
    }

    /// Returns the end of the scenario.
    pub(crate) fn end(&self) -> Time {
        Time::ZERO + self.scenario.duration
    }

    /// Runs to the end, or until `control` stops it, and returns the measurements.
    pub(crate) fn run(mut self, control: &Control) -> Result<Run, Error> {
        let partial = self.advance_to(self.end(), control);
        if let Some(error) = self.part.network.failure {
            return Err(Error::Endpoint(*error));
        }
        if self.from.is_none() {
            self.begin_measurement();
        }
        if self.sampling.is_some_and(|sampling| !sampling.took(self.part.now)) {
            self.sample();
        }
        self.check();
        self.result(partial)
    }

    /// Handles the events before `until`, and starts the measurement at the end of the warm-up; returns true if
    /// `control` stopped the run.
    pub(crate) fn advance_to(&mut self, until: Time, control: &Control) -> bool {
        let warmup = Time::ZERO + self.scenario.warmup;
        if self.from.is_none() && warmup <= until {
            if self.advance(warmup, control) {
                return true;
            }
            self.begin_measurement();
        }
        self.advance(until, control)
    }

    /// Handles the events before `until` and takes samples at each interval; returns true if `control` stopped the run.
    fn advance(&mut self, until: Time, control: &Control) -> bool {
        while let Some(at) = self.sampling.map(Sampling::next).filter(|at| *at <= until) {
            if self.part.handle_before(at, control) {
                return true;
            }
            self.sample();
        }
        self.part.handle_before(until, control)
    }

    /// Passes a sample of all flows and queues to the observer.
    fn sample(&mut self) {
        if let Some(sampling) = &mut self.sampling {
            sampling.take(self.part.now, &self.part.hosts.flows, &mut self.part.network);
        }
    }

    /// Starts the measurement at the end of the warm-up.
    fn begin_measurement(&mut self) {
        let EventLoop { network, hosts, now, .. } = &self.part;
        if *now > Time::ZERO {
            self.before = tallies(hosts.flows.iter(), &network.records.dropped, &network.records.lost).collect();
        }
        self.from = Some(*now);
        self.part.begin_measurement();
    }

    /// Checks, in debug builds, that no packet is unaccounted for, at each queue and in the whole network.
    fn check(&self) {
        if !cfg!(debug_assertions) {
            return;
        }
        let network = &self.part.network;
        let (mut inside, mut dropped) = (network.events.packets() as u64, 0);
        for link in &network.topology.links {
            if let LinkQueue::Managed(managed) = &link.queue {
                let (status, counters) = (managed.discipline.status(), managed.counters());
                let (departed, lost) = (counters.departed, counters.dropped_total());
                assert_eq!(counters.arrived.packets, departed.packets + lost.packets + status.packets as u64);
                assert_eq!(counters.arrived.bytes, departed.bytes + lost.bytes + status.bytes);
                inside += status.packets as u64;
                dropped += lost.packets;
            }
        }
        dropped += network.dropped_at_droptail_links + network.lost_on_links;
        assert_eq!(network.injected, network.ejected + self.part.hosts.early + dropped + inside);
    }

    /// Ends the run and returns the measurements.
    ///
    /// # Errors
    /// An application of a program fails.
    fn result(mut self, partial: bool) -> Result<Run, Error> {
        let now = self.part.now;
        let ended = self.part.hosts.flows.iter_mut().try_for_each(|flow| flow.end(now));
        if let Some(error) = self.part.network.failure.take().or(ended.err()) {
            return Err(Error::Endpoint(*error));
        }
        let exits: Vec<Option<usize>> =
            self.scenario.flows.iter().map(|group| group.path.last().and_then(|hop| self.reported(*hop))).collect();
        let Self { scenario, run, part, before, from, changes, .. } = self;
        let events = part.events();
        let EventLoop { network, hosts, .. } = part;
        let Hosts { flows, delays, early, .. } = hosts;
        let (scenario, from) = (&*scenario, from.unwrap_or(now));
        let packet_hops = network.packet_hops + early;
        // Frees unneeded parts first: for a million flows the result is as large as the network.
        let (topology, dropped, lost) = network.close();
        let metered: Vec<MeteredQueue> = topology.metered(scenario, (from, now)).collect();
        let tallies = tallies(flows.iter(), &dropped, &lost);
        let ends = flows.iter().zip(tallies).map(|(flow, tally)| FlowEnd::new(flow, tally)).collect();
        drop(flows);
        let queues = metered.into_iter().map(|metered| metered.result(now)).collect();
        Ok(Run {
            scenario: scenario.name.clone(),
            engine: "sim".into(),
            seed: scenario.seed,
            run,
            from_s: from.as_secs(),
            to_s: now.as_secs(),
            partial,
            queues,
            flows: flow_runs(scenario, &exits, &before, &delays, ends),
            cost: Cost { events, packet_hops, ..Cost::default() },
            // A fair rate follows from the scenario only while that stays as it is.
            expected: if changes == 0 { expected(scenario) } else { Expected::default() },
        })
    }

    /// Returns the index of a link's queue in the result; `None` if it is not metered.
    fn reported(&self, hop: Hop) -> Option<usize> {
        let link = link_of(hop) as usize;
        let metered = |link: &Link| matches!(&link.queue, LinkQueue::Managed(queue) if queue.meter.is_some());
        let links = &self.part.network.topology.links;
        metered(&links[link]).then(|| links[..link].iter().filter(|link| metered(link)).count())
    }
}

impl Engine<'_, ()> {
    /// Runs to the end in parts, or until `control` stops it, and returns the measurements.
    pub(crate) fn run_divided(mut self, division: Division, control: &Control) -> Result<Run, Error> {
        let (warmup, end) = (Time::ZERO + self.scenario.warmup, self.end());
        let mut divided = Divided::new(&mut self.part, division, events_per_second(&self.scenario));
        let stopped = divided.advance(warmup.min(end), control);
        if divided.now() > Time::ZERO {
            let (dropped, lost) = divided.losses();
            self.before = tallies(divided.flows(), &dropped, &lost).collect();
        }
        self.from = Some(divided.now());
        divided.begin_measurement();
        let partial = stopped || divided.advance(end, control);
        let cpu_s = divided.unite(&mut self.part);
        self.check();
        let run = self.result(partial)?;
        Ok(Run { cost: Cost { cpu_s, ..run.cost }, ..run })
    }
}

/// Returns the values that follow from the scenario alone.
fn expected(scenario: &Scenario) -> Expected {
    let names = scenario.flows.iter().map(|group| group.name.clone());
    Expected { fair_bps: names.zip(scenario.fair_rates()).collect(), notes: scenario.limit_notes() }
}

/// Checks the shapers of a scenario that was not read from a file.
fn check_shapers(scenario: &Scenario) -> Result<(), Error> {
    for link in &scenario.links {
        for shaper in [&link.forward, &link.reverse].into_iter().filter_map(|side| side.wire.shaper.as_ref()) {
            shaper.autorate.check().map_err(|error| Error::Shaper { link: link.name.clone(), error })?;
            if shaper.rate.bits_per_second() == 0 {
                return Err(Error::NoRate);
            }
        }
    }
    Ok(())
}

/// The counts of a flow since time zero: those of its end points, and its packets that the network dropped or lost.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    totals: Totals,
    dropped: u64,
    lost: u64,
}

/// The results of a flow at the end of a run.
#[derive(Debug)]
struct FlowEnd {
    tally: Tally,
    /// `None` for most.
    application: Option<Box<ApplicationEnd>>,
}

/// The results of an application that does more than send.
#[derive(Debug, Default)]
struct ApplicationEnd {
    completions_ns: Option<Vec<u64>>,
    startups_ns: Option<Vec<u64>>,
    video: Option<Box<VideoRun>>,
}

impl FlowEnd {
    fn new(flow: &Flow, tally: Tally) -> Self {
        let session = flow.session();
        let end = ApplicationEnd {
            completions_ns: session.and_then(|session| session.completions.clone()),
            startups_ns: session.and_then(|session| session.startups.clone()),
            video: session.and_then(|session| session.video.clone()),
        };
        let counts = end.completions_ns.is_some() || end.startups_ns.is_some() || end.video.is_some();
        Self { tally, application: counts.then(|| Box::new(end)) }
    }
}

fn tallies<'a>(
    flows: impl Iterator<Item = &'a Flow>,
    dropped: &'a [u64],
    lost: &'a [u64],
) -> impl Iterator<Item = Tally> {
    let counted = flows.zip(dropped).zip(lost);
    counted.map(|((flow, dropped), lost)| Tally { totals: flow.totals(), dropped: *dropped, lost: *lost })
}

/// Returns the counts of each flow from `before` to its end, with the transfers it has completed by then. `exits` is
/// the last metered queue on each group's path.
fn flow_runs(
    scenario: &Scenario,
    exits: &[Option<usize>],
    before: &[Tally],
    delays: &Delays,
    ends: Vec<FlowEnd>,
) -> Vec<FlowRun> {
    let mut runs = Vec::with_capacity(ends.len());
    let mut flows = ends.into_iter();
    for (group, exit) in scenario.flows.iter().zip(exits) {
        let transport: Arc<str> = group.traffic.to_string().into();
        let name: Arc<str> = group.name.as_str().into();
        for (index, end) in (0..group.count).zip(flows.by_ref()) {
            let id = runs.len();
            let before = before.get(id).copied().unwrap_or_default();
            let (now, totals_before) = (&end.tally, &before.totals);
            let totals = &now.totals;
            let sent = totals.sent - totals_before.sent;
            let application = end.application.map(|application| *application).unwrap_or_default();
            runs.push(FlowRun {
                id: id as u32,
                name: format!("{name}/{index}").into(),
                group: Arc::clone(&name),
                kind: group.traffic.kind().into(),
                transport: Arc::clone(&transport),
                exit: *exit,
                sent,
                delivered: totals.delivered - totals_before.delivered,
                unique_bytes: totals.unique_bytes - totals_before.unique_bytes,
                dropped: now.dropped - before.dropped,
                lost: now.lost - before.lost,
                retransmitted: totals.retransmitted - totals_before.retransmitted,
                timeouts: totals.timeouts - totals_before.timeouts,
                completions_ns: application.completions_ns,
                startups_ns: application.startups_ns,
                path: delays.of(id),
                video: application.video,
                score: delays.score(id, totals.sent, sent).map(Box::new),
            });
        }
    }
    runs
}
