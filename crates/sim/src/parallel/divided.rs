//! One run on several threads.
//!
//! The network is [divided](crate::parallel::partition) into parts that affect each other only by packets on links with a delay. So the parts may go on
//! side by side for a while without each other's packets (Chandy and Misra, "Distributed simulation", IEEE Transactions on Software
//! Engineering 5(5), 1979). Each part handles its events in the order that they have in the whole run,
//! so the result does not depend on the division.

use std::borrow::Cow;
use std::mem;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crossbeam_utils::CachePadded;
use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::Scenario;
use rayon::ThreadPoolBuilder;

use crate::control::Control;
use crate::event_loop::Part;
use crate::flow::Flow;
use crate::flow::hosts::Hosts;
use crate::flow::numbered::Numbered;
use crate::network::Network;
use crate::network::droptail_link::PlainLink;
use crate::network::link::{Link, LinkQueue};
use crate::network::topology::Topology;
use crate::packet::{NO_SACK, Packet};
use crate::parallel::epoch::Stretch;
use crate::parallel::lookahead::Pace;
use crate::parallel::mailbox::{Border, Mailboxes};
use crate::parallel::partition::{Division, Undivided};
use crate::run::engine::{Engine, Error};
use crate::schedule::Next;
use crate::schedule::event_key::Target;

/// The parts of a run.
pub(crate) struct Divided {
    division: Arc<Division>,
    /// Each has cache lines of its own, so that threads do not wait for each other.
    parts: Vec<CachePadded<Part<()>>>,
    now: Time,
    /// The processor time of all threads in seconds, if a clock is read.
    cpu_s: f64,
    /// The thread that handles each part until another one takes it over.
    owners: Vec<AtomicUsize>,
    mailboxes: Mailboxes,
}

impl Divided {
    /// Divides `whole`, which has not begun.
    pub(crate) fn new(whole: &mut Part<()>, division: Division, events_per_second: f64) -> Self {
        let division = Arc::new(division);
        let count = division.parts();
        let each = events_per_second / count as f64;
        let part = |part| CachePadded::new(empty_part(whole, &division, part, each));
        let mut parts: Vec<CachePadded<Part<()>>> = (0..count).map(part).collect();
        for (number, link) in whole.network.topology.links.iter_mut().enumerate() {
            let owner = &mut parts[usize::from(division.links[number])];
            mem::swap(link, &mut owner.network.topology.links[number]);
        }
        for number in (0..division.first_flows.len()).rev() {
            let first = division.first_flows[number];
            let part = &mut parts[division.cores + number];
            part.hosts.flows = whole.hosts.flows.split_off(first);
            let earlier = whole.network.browsers.iter().filter(|browser| browser.first_flow() < first).count();
            part.network.browsers = whole.network.browsers.split_off(earlier as u32);
        }
        // Before the first event there are no packets.
        while let Some((at, next)) = whole.network.events.next_before(Time::MAX) {
            let Next::Event(target) = next else { continue };
            let part = match target {
                Target::LinkFree(link) | Target::Release(link) | Target::ReorderedArrival(link) => {
                    usize::from(division.links[link as usize])
                }
                Target::Source(flow) | Target::SenderTimer(flow) | Target::ReceiverTimer(flow) => {
                    division.part_of_flow(flow)
                }
                Target::RateControl(_) => 0,
            };
            parts[part].network.events.push(at, target);
        }
        Self {
            division,
            parts,
            now: Time::ZERO,
            cpu_s: 0.0,
            owners: (0..count).map(|part| AtomicUsize::new(part % rayon::current_num_threads())).collect(),
            mailboxes: Mailboxes::new(count),
        }
    }

    /// Returns the time until which all events have been handled.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Starts the measurement.
    pub(crate) fn begin_measurement(&mut self) {
        self.parts.iter_mut().for_each(|part| part.begin_measurement());
    }

    /// Returns the flows of all parts in the order of their numbers.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.parts.iter().flat_map(|part| part.hosts.flows.iter())
    }

    /// Returns the packets of each flow that have been dropped, and those that were lost during transmission.
    pub(crate) fn losses(&self) -> (Vec<u64>, Vec<u64>) {
        let sum = |of: fn(&Network<()>) -> &[u64]| {
            let mut sums = Vec::new();
            for part in &self.parts {
                add(&mut sums, of(&part.network));
            }
            sums
        };
        (sum(|network| &network.dropped), sum(|network| &network.lost))
    }

    /// Handles every event before `until`; returns true if `control` stopped the run.
    pub(crate) fn advance(&mut self, until: Time, control: &Control) -> bool {
        while self.now < until {
            if control.stopped() {
                return true;
            }
            let start = (0..self.parts.len()).map(|part| self.next_at(part)).min().unwrap_or(Time::MAX);
            let start = start.max(self.now);
            let Pace { step, steps, .. } = self.division.pace;
            let end = (start + Duration::from_nanos(step.as_nanos().saturating_mul(steps))).min(until);
            if start < end {
                self.handle_between(start, end, control);
            } else {
                self.parts.iter_mut().for_each(|part| part.now = end);
            }
            self.now = end;
        }
        false
    }

    /// Handles the events of all parts before `end`, of which none is before `start`.
    fn handle_between(&mut self, start: Time, end: Time, control: &Control) {
        let stretch = Stretch::new(&self.division, &self.mailboxes, &mut self.parts, &self.owners, (start, end));
        let cpu_s = rayon::broadcast(|thread| {
            let before = control.clock.map(|clock| clock());
            stretch.handle(thread.index());
            control.clock.zip(before).map_or(0.0, |(clock, before)| clock() - before)
        });
        self.cpu_s += cpu_s.iter().sum::<f64>();
    }

    /// Returns a time before which nothing happens in a part.
    fn next_at(&mut self, part: usize) -> Time {
        let coming = self.division.lookaheads.sources(part).map(|from| self.mailboxes.first(from, part));
        coming.min().unwrap_or(Time::MAX).min(self.parts[part].network.events.next_at())
    }

    /// Puts all parts together again into `whole`, from which they were taken, and returns their processor time in seconds.
    pub(crate) fn unite(mut self, whole: &mut Part<()>) -> f64 {
        (whole.network.dropped, whole.network.lost) = self.losses();
        for (number, part) in self.parts.drain(..).enumerate() {
            let mut part = part.into_inner();
            part.receive(&self.mailboxes);
            whole.events += part.events;
            whole.hosts.handled += part.hosts.handled;
            for (link, owner) in self.division.links.iter().enumerate() {
                if usize::from(*owner) == number {
                    mem::swap(&mut whole.network.topology.links[link], &mut part.network.topology.links[link]);
                }
            }
            whole.hosts.delays.take_over(&part.hosts.delays, part.hosts.flows.numbers());
            whole.hosts.flows.append(part.hosts.flows);
            whole.network.take_over(part.network);
        }
        whole.now = self.now;
        self.cpu_s
    }
}

impl Network<()> {
    /// Adds the counts of a part, and its packets; their options and the events are forgotten.
    fn take_over(&mut self, part: Self) {
        self.packet_hops += part.packet_hops;
        self.fired_ahead += part.fired_ahead;
        self.injected += part.injected;
        self.ejected += part.ejected;
        self.dropped_at_plain_links += part.dropped_at_plain_links;
        self.lost_on_links += part.lost_on_links;
        self.browsers.append(part.browsers);
        for packet in part.events.into_packets() {
            let packet = Packet { sack: NO_SACK, ..packet };
            self.events.send(0, &packet, (packet.at, packet.route), true);
        }
    }
}

/// Returns a part without links, flows and events.
fn empty_part(whole: &Part<()>, division: &Arc<Division>, number: usize, events_per_second: f64) -> Part<()> {
    let Topology { links, media, table, routes, flows, first_host_link, lines, deferred, .. } = &whole.network.topology;
    let absent = |link: &Link| Link::new(link.medium, LinkQueue::Plain(PlainLink::default()));
    let topology = Topology {
        links: links.iter().map(absent).collect(),
        media: media.clone(),
        table: table.clone(),
        routes: routes.clone(),
        flows: *flows,
        shapers: Vec::new(),
        rate_changes: Vec::new(),
        first_host_link: *first_host_link,
        lines: lines.iter().flat_map(|end| std::iter::repeat_n(*end, division.parts())).collect(),
        deferred: deferred.clone(),
    };
    let mut network = Network::new(topology, events_per_second, ());
    network.border = Some(Box::new(Border::new(division, number)));
    let hosts = Hosts::new(Numbered::new(0, Vec::new()), whole.hosts.delays.clone());
    Part::new(network, hosts)
}

/// Adds each of `more` to that of `sums`, which may be empty.
fn add(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(more.len(), 0);
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

/// Returns the reason why `scenario` cannot be run on several threads; `None` if it can.
///
/// # Errors
/// Returns an [`Error`] if the scenario cannot be run.
pub fn undivided(scenario: &Scenario) -> Result<Option<Undivided>, Error> {
    let mut few = scenario.clone();
    let single = scenario.flows.iter().map(|group| group.count).sum::<u32>() < 2;
    few.flows.iter_mut().for_each(|group| group.count = group.count.min(2));
    let topology = Topology::new(&few, Seed::new(few.seed), None)?;
    let reason = Division::of(&few, &topology, 2).err();
    Ok(if single { Some(Undivided::OneFlow) } else { reason })
}

/// Runs `scenario` as [`run`](crate::run) does, on up to `threads` threads. The result is the same, however many there are. A scenario that cannot be
/// [divided](undivided) is run on one.
///
/// # Errors
/// As [`run`](crate::run); and [`Error::Threads`] if threads cannot be had.
pub fn run_on(scenario: &Scenario, run: u32, threads: NonZeroUsize, control: &Control) -> Result<Run, Error> {
    let before = control.clock.map(|clock| clock());
    let engine = Engine::new(Cow::Borrowed(scenario), run, (), None)?;
    let mut run = match Division::of(scenario, &engine.part.network.topology, threads.get()) {
        Err(_) => engine.run(control),
        Ok(division) => {
            let pool = ThreadPoolBuilder::new().num_threads(threads.get()).build();
            let pool = pool.map_err(|error| Error::Threads { why: error.to_string() })?;
            pool.install(|| engine.run_divided(division, control))
        }
    };
    if let Some((clock, before)) = control.clock.zip(before) {
        run.cost.cpu_s += clock() - before;
    }
    Ok(run)
}
