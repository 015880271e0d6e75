//! One run on several threads.
//!
//! The network is [divided](crate::division) into parts that affect each other only by packets on links with a delay. So the parts may go on
//! side by side for the least of these delays, the lookahead, before they exchange packets (Chandy and Misra, "Distributed simulation",
//! IEEE Transactions on Software Engineering 5(5), 1979). Each part handles its events in the order that they have in the whole run,
//! so the result does not depend on the division.

use std::borrow::Cow;
use std::mem;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_outcome::Run;
use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::Scenario;
use rayon::ThreadPoolBuilder;

use crate::border::Border;
use crate::control::Control;
use crate::division::{Division, Undivided};
use crate::engine::{Engine, Error};
use crate::flow::Flow;
use crate::link::{Link, LinkQueue};
use crate::network::Network;
use crate::numbered::Numbered;
use crate::packet::{NO_SACK, Packet};
use crate::part::Part;
use crate::plain::PlainLink;
use crate::schedule::Next;
use crate::target::Target;
use crate::topology::Topology;

/// The parts of a run.
pub(crate) struct Divided {
    division: Arc<Division>,
    parts: Vec<Part<()>>,
    now: Time,
    /// The processor time of each part in seconds, if a clock is read.
    cpu_s: Vec<f64>,
    /// The thread that handles each part.
    threads: Vec<usize>,
    /// The windows that have been handled.
    windows: u64,
}

/// The parts are dealt to threads again after so many windows, and in the beginning after each power of two.
const DEAL_EVERY: u64 = 1024;

impl Divided {
    /// Divides `whole`, which has not begun.
    pub(crate) fn new(whole: &mut Part<()>, division: Division, events_per_second: f64) -> Self {
        let division = Arc::new(division);
        let count = division.parts();
        let each = events_per_second / count as f64;
        let mut parts: Vec<Part<()>> = (0..count).map(|part| empty_part(whole, &division, part, each)).collect();
        for (number, link) in whole.network.topology.links.iter_mut().enumerate() {
            let owner = &mut parts[usize::from(division.links[number])];
            mem::swap(link, &mut owner.network.topology.links[number]);
        }
        for number in (0..division.first_flows.len()).rev() {
            let first = division.first_flows[number];
            let part = &mut parts[division.cores + number];
            part.flows = whole.flows.split_off(first);
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
        Self { division, parts, now: Time::ZERO, cpu_s: vec![0.0; count], threads: vec![0; count], windows: 0 }
    }

    /// Returns the time until which all events have been handled.
    pub(crate) const fn now(&self) -> Time {
        self.now
    }

    /// Starts the measurement.
    pub(crate) fn begin_measurement(&mut self) {
        self.parts.iter_mut().for_each(Part::begin_measurement);
    }

    /// Returns the flows of all parts in the order of their numbers.
    pub(crate) fn flows(&self) -> impl Iterator<Item = &Flow> {
        self.parts.iter().flat_map(|part| part.flows.iter())
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
        loop {
            let next = self.parts.iter_mut().map(next_at).min().unwrap_or(Time::MAX);
            let end = (next.max(self.now) + self.division.lookahead).min(until);
            self.handle_before(end, control);
            self.now = end;
            self.exchange();
            if end == until {
                return false;
            }
            if control.stopped() {
                return true;
            }
        }
    }

    /// Handles the events of all parts before `end`, each part by its thread.
    fn handle_before(&mut self, end: Time, control: &Control) {
        if self.windows.is_power_of_two() || self.windows.is_multiple_of(DEAL_EVERY) {
            self.deal(control);
        }
        self.windows += 1;
        let mut hands: Vec<Vec<(&mut Part<()>, &mut f64)>> =
            (0..rayon::current_num_threads()).map(|_| Vec::new()).collect();
        for ((part, cpu_s), thread) in self.parts.iter_mut().zip(&mut self.cpu_s).zip(&self.threads) {
            hands[*thread].push((part, cpu_s));
        }
        let hands: Vec<Mutex<_>> = hands.into_iter().map(Mutex::new).collect();
        rayon::broadcast(|thread| {
            let mut hand = hands[thread.index()].lock().unwrap_or_else(PoisonError::into_inner);
            for (part, cpu_s) in hand.iter_mut() {
                let before = control.clock.map(|clock| clock());
                let Network { border, events, sacks, .. } = &mut part.network;
                if let Some(border) = border {
                    border.receive(events, sacks);
                }
                part.handle_before(end, &Control::default());
                if let Some((clock, before)) = control.clock.zip(before) {
                    **cpu_s += clock() - before;
                }
            }
        });
    }

    /// Deals the parts to threads: that with the most work so far, by the clock if there is one and else by its events, to the thread with the
    /// least, and so on. A part that changed its thread for each window would have to come from the other processor's cache each time.
    fn deal(&mut self, control: &Control) {
        let by_events = |part: &Part<()>| part.events as f64;
        let work: Vec<f64> =
            if control.clock.is_some() { self.cpu_s.clone() } else { self.parts.iter().map(by_events).collect() };
        let mut loads = vec![0.0; rayon::current_num_threads()];
        let mut parts: Vec<usize> = (0..self.parts.len()).collect();
        parts.sort_by(|a, b| work[*b].total_cmp(&work[*a]));
        for part in parts {
            let Some(thread) = (0..loads.len()).min_by(|a, b| f64::total_cmp(&loads[*a], &loads[*b])) else { return };
            self.threads[part] = thread;
            loads[thread] += work[part];
        }
    }

    /// Passes on what each part has sent to the others.
    fn exchange(&mut self) {
        for from in 0..self.parts.len() {
            for to in 0..self.parts.len() {
                let Some(sender) = &mut self.parts[from].network.border else { continue };
                if sender.outgoing[to].packets.is_empty() {
                    continue;
                }
                let mut mail = mem::take(&mut sender.outgoing[to]);
                if let Some(receiver) = &mut self.parts[to].network.border {
                    mem::swap(&mut mail, &mut receiver.incoming[from]);
                }
                if let Some(sender) = &mut self.parts[from].network.border {
                    sender.outgoing[to] = mail;
                }
            }
        }
    }
}

impl Divided {
    /// Puts all parts together again into `whole`, from which they were taken, and returns their processor time in seconds.
    pub(crate) fn unite(mut self, whole: &mut Part<()>) -> f64 {
        (whole.network.dropped, whole.network.lost) = self.losses();
        for (number, mut part) in self.parts.drain(..).enumerate() {
            for (link, owner) in self.division.links.iter().enumerate() {
                if usize::from(*owner) == number {
                    mem::swap(&mut whole.network.topology.links[link], &mut part.network.topology.links[link]);
                }
            }
            whole.delays.take_over(&part.delays, part.flows.numbers());
            whole.flows.append(part.flows);
            whole.events += part.events;
            whole.network.take_over(part.network);
        }
        whole.now = self.now;
        self.cpu_s.iter().sum()
    }
}

impl Network<()> {
    /// Adds the counts of a part, and its packets; their options and the events are forgotten.
    fn take_over(&mut self, mut part: Self) {
        self.packet_hops += part.packet_hops;
        self.injected += part.injected;
        self.ejected += part.ejected;
        self.dropped_at_plain_links += part.dropped_at_plain_links;
        self.lost_on_links += part.lost_on_links;
        self.browsers.append(part.browsers);
        if let Some(border) = &mut part.border {
            border.receive(&mut part.events, &mut part.sacks);
        }
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
        lines: lines.iter().flat_map(|to| std::iter::repeat_n(*to, division.parts())).collect(),
        deferred: deferred.clone(),
    };
    let mut network = Network::new(topology, events_per_second, ());
    network.border = Some(Box::new(Border::new(division, number)));
    Part::new(network, Numbered::new(0, Vec::new()), whole.delays.clone(), *flows)
}

/// Returns a time before which nothing happens in `part`.
fn next_at(part: &mut Part<()>) -> Time {
    let coming = part.network.border.iter().flat_map(|border| &border.incoming).map(|mail| mail.first);
    let coming = coming.min().unwrap_or(Time::MAX);
    coming.min(part.network.events.next_at())
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
