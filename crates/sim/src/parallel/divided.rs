//! One run on several threads.
//!
//! The network is [divided](crate::parallel::partition) into parts that affect each other only by packets on links with
//! a delay. So the parts may go on side by side for a while without each other's packets (Chandy and Misra,
//! "Distributed simulation", IEEE Transactions on Software Engineering 5(5), 1979). Each part handles its events in the
//! order that they have in the whole run, so the result does not depend on the division.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use crossbeam_utils::CachePadded;
use fairlane_qdisc::{Duration, Time};

use crate::control::Control;
use crate::event_loop::EventLoop;
use crate::flow::Flow;
use crate::flow::hosts::Hosts;
use crate::flow::numbered::Numbered;
use crate::network::Network;
use crate::network::boundary::Boundary;
use crate::network::droptail_link::DroptailLink;
use crate::network::link::{Link, LinkQueue};
use crate::network::topology::Topology;
use crate::parallel::epoch::SharedEpoch;
use crate::parallel::lookahead::Pace;
use crate::parallel::mailbox::Mailboxes;
use crate::parallel::partition::Division;
use crate::schedule::Next;
use crate::schedule::event_key::Target;

/// The parts of a run.
pub(crate) struct Divided {
    division: Arc<Division>,
    /// Each has its own cache lines, so that threads do not wait for each other.
    parts: Vec<CachePadded<EventLoop<()>>>,
    now: Time,
    /// The processor time of all threads in seconds, if a clock is read.
    cpu_s: f64,
    /// The thread that handles each part until another one takes it over.
    owners: Vec<AtomicUsize>,
    mailboxes: Mailboxes,
}

impl Divided {
    /// Divides `whole`, which has not begun.
    pub(crate) fn new(whole: &mut EventLoop<()>, division: Division, events_per_second: f64) -> Self {
        let division = Arc::new(division);
        let count = division.owners.partitions;
        let each = events_per_second / count as f64;
        let part = |part| CachePadded::new(empty_part(whole, &division, part, each));
        let mut parts: Vec<CachePadded<EventLoop<()>>> = (0..count).map(part).collect();
        for (number, link) in whole.network.topology.links.iter_mut().enumerate() {
            let owner = &mut parts[usize::from(division.owners.links[number])];
            mem::swap(link, &mut owner.network.topology.links[number]);
        }
        for number in (0..division.first_flows.len()).rev() {
            let first = division.first_flows[number];
            let part = &mut parts[division.cores + number];
            part.hosts.flows = whole.hosts.flows.split_off(first);
        }
        // Before the first event there are no packets.
        while let Some((at, next)) = whole.network.events.next_before(Time::MAX) {
            let Next::Timer(target) = next else { continue };
            let part = match target {
                Target::LinkFree(link) | Target::Release(link) => usize::from(division.owners.links[link as usize]),
                Target::Source(flow) | Target::SenderTimer(flow) | Target::ReceiverTimer(flow) => {
                    division.owners.of_flow(flow)
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
        (sum(|network| &network.records.dropped), sum(|network| &network.records.lost))
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
        let epoch = SharedEpoch::new(&self.division, &self.mailboxes, &mut self.parts, &self.owners, (start, end));
        let cpu_s = rayon::broadcast(|thread| {
            let before = control.clock.map(|clock| clock());
            epoch.handle(thread.index());
            control.clock.zip(before).map_or(0.0, |(clock, before)| clock() - before)
        });
        self.cpu_s += cpu_s.iter().sum::<f64>();
    }

    /// Returns a time before which nothing happens in a part.
    fn next_at(&mut self, part: usize) -> Time {
        let coming = self.division.lookaheads.sources(part).map(|from| self.mailboxes.first(from, part));
        coming.min().unwrap_or(Time::MAX).min(self.parts[part].network.events.next_at())
    }

    /// Puts all parts together again into `whole`, from which they were taken, and returns their processor time in
    /// seconds.
    pub(crate) fn unite(mut self, whole: &mut EventLoop<()>) -> f64 {
        (whole.network.records.dropped, whole.network.records.lost) = self.losses();
        for (number, part) in self.parts.drain(..).enumerate() {
            let mut part = part.into_inner();
            self.mailboxes.receive(self.division.lookaheads.sources(number), &mut part.network);
            whole.events += part.events;
            whole.hosts.early += part.hosts.early;
            for (link, owner) in self.division.owners.links.iter().enumerate() {
                if usize::from(*owner) == number {
                    mem::swap(&mut whole.network.topology.links[link], &mut part.network.topology.links[link]);
                }
            }
            whole.hosts.delays.take_over(&part.hosts.delays, part.hosts.flows.numbers());
            whole.hosts.flows.append(part.hosts.flows);
            whole.network.take_over(&part.network);
        }
        whole.now = self.now;
        self.cpu_s
    }
}

impl Network<()> {
    /// Adds the counts of a part. The packets inside it leave the network with it.
    fn take_over(&mut self, part: &Self) {
        self.packet_hops += part.packet_hops;
        self.early_timers += part.early_timers;
        self.injected += part.injected;
        self.ejected += part.ejected + part.events.packets() as u64;
        self.dropped_at_droptail_links += part.dropped_at_droptail_links;
        self.lost_on_links += part.lost_on_links;
    }
}

/// Returns a part without links, flows and events.
fn empty_part(whole: &EventLoop<()>, division: &Arc<Division>, number: usize, events_per_second: f64) -> EventLoop<()> {
    let Topology { links, media, table, routes, flows, first_host_link, ports, prefetches, .. } =
        &whole.network.topology;
    let absent = |link: &Link| Link::new(link.medium, LinkQueue::Droptail(DroptailLink::default()));
    let topology = Topology {
        links: links.iter().map(absent).collect(),
        media: media.clone(),
        table: table.clone(),
        routes: routes.clone(),
        flows: *flows,
        shapers: Vec::new(),
        rate_changes: Vec::new(),
        first_host_link: *first_host_link,
        ports: ports.divided(division.owners.partitions as u32),
        prefetches: *prefetches,
    };
    let mut network = Network::new(topology, events_per_second, ());
    network.boundary = Some(Box::new(Boundary::new(&division.owners, number)));
    let hosts = Hosts::new(Numbered::new(0, Vec::new()), whole.hosts.delays.clone());
    EventLoop::new(network, hosts)
}

/// Adds each of `more` to that of `sums`, which may be empty.
fn add(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(more.len(), 0);
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
