//! How the network of one run is divided among threads.

use std::fmt;

use fairlane_qdisc::Duration;
use fairlane_scenario::{FlowGroup, Scenario, Traffic};

use crate::network::link::LinkQueue;
use crate::network::route::Step;
use crate::network::topology::{Topology, link_name};
use crate::parallel::lookahead::{Lookaheads, Pace};
use crate::run::engine::events_per_second;

/// The parts of a run: some of the links between nodes, each with the plain links of hosts behind them, or some of the flows, each with the
/// links of its hosts before them.
#[derive(Debug)]
pub(crate) struct Division {
    /// The part of each link.
    pub(crate) links: Vec<u16>,
    /// The number of parts that consist of links.
    pub(crate) cores: usize,
    /// The first flow of each part that consists of flows.
    pub(crate) first_flows: Vec<u32>,
    /// The part of each flow.
    flows: Vec<u16>,
    pub(crate) lookaheads: Lookaheads,
    pub(crate) pace: Pace,
}

/// The reason why one run cannot be divided among threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undivided {
    /// The scenario has a single flow.
    OneFlow,
    /// Flows have no links of their own at one end: they reach the link between nodes without delay.
    NoAccess {
        /// The flow group's name.
        group: String,
    },
    /// A link has jitter, a varying rate, frames of several packets or a shaper.
    Impaired {
        /// The link's name.
        link: String,
    },
    /// Packets cross from one part to another without delay.
    NoDelay,
    /// A link is so fast that packets of one flow may arrive within the same nanosecond.
    TooFast {
        /// The link's name.
        link: String,
    },
}

impl fmt::Display for Undivided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneFlow => f.write_str("one flow cannot be divided"),
            Self::NoAccess { group } => {
                write!(f, "flows \"{group}\" have no links of their own with a delay; give them [access] at both ends")
            }
            Self::Impaired { link } => {
                write!(f, "link \"{link}\" has jitter, a varying rate, aggregation or a shaper")
            }
            Self::NoDelay => f.write_str("packets reach another link without delay; give the links of hosts a delay"),
            Self::TooFast { link } => {
                write!(f, "link \"{link}\" sends packets of one flow within a nanosecond")
            }
        }
    }
}

/// The smallest packet of a flow whose sizes differ, and the smallest acknowledgement, in bytes.
pub(crate) const SMALLEST: u64 = 1;

/// The parts with flows for each thread: with several, threads can have about the same work.
const FLOW_PARTS: usize = 2;

impl Division {
    /// Divides `topology`, that of `scenario`, among `threads` threads. `browsers` holds the first flow of each browser, whose flows stay
    /// together.
    pub(crate) fn of(scenario: &Scenario, topology: &Topology, threads: usize) -> Result<Self, Undivided> {
        let flows = topology.flows;
        if flows < 2 || threads < 2 {
            return Err(Undivided::OneFlow);
        }
        check(scenario, topology)?;
        let cores = threads.min(topology.first_host_link as usize);
        let first_flows = first_flows(scenario, FLOW_PARTS * threads);
        let mut division = Self {
            links: vec![0; topology.links.len()],
            flows: parts_of_flows(cores, &first_flows, flows as u32),
            cores,
            lookaheads: Lookaheads::new(cores + first_flows.len()),
            first_flows,
            pace: Pace { step: scenario.duration, ahead: scenario.duration, steps: 1 },
        };
        division.give_links(topology);
        for flow in 0..flows as u32 {
            let routes = topology.routes_of(flow);
            division.follow(topology, flow, routes.forward);
            division.follow(topology, flow, routes.back);
        }
        if division.lookaheads.least() == Some(Duration::ZERO) {
            return Err(Undivided::NoDelay);
        }
        if let Some(pace) = division.lookaheads.pace(events_per_second(scenario)) {
            division.pace = pace;
        }
        Ok(division)
    }

    /// Returns the number of parts.
    pub(crate) fn parts(&self) -> usize {
        self.cores + self.first_flows.len()
    }

    /// Returns the part that handles the arrival of a packet of `flow` at `step` of its route.
    #[inline]
    pub(crate) fn part_of(&self, step: Step, flow: u32) -> usize {
        match step.link(flow) {
            Some(link) => usize::from(self.links[link as usize]),
            None => self.part_of_flow(flow),
        }
    }

    /// Returns the part of a flow.
    #[inline]
    pub(crate) fn part_of_flow(&self, flow: u32) -> usize {
        usize::from(self.flows[flow as usize])
    }

    /// Returns the number of the delay line for packets from one part: those of several parts would not come in the order of time.
    #[inline]
    pub(crate) fn line_of(&self, line: u32, from: usize) -> u32 {
        line * self.parts() as u32 + from as u32
    }

    /// Gives each link between nodes to the part with the lowest sum of rates.
    fn give_links(&mut self, topology: &Topology) {
        let rate = |link: u32| topology.media[topology.links[link as usize].medium as usize].transmission.rate();
        let mut links: Vec<u32> = (0..topology.first_host_link).collect();
        links.sort_by_key(|link| std::cmp::Reverse(rate(*link)));
        let mut loads = vec![0_u128; self.cores];
        for link in links {
            let Some((part, load)) = loads.iter_mut().enumerate().min_by_key(|(_, load)| **load) else { return };
            *load += u128::from(rate(link).bits_per_second());
            self.links[link as usize] = part as u16;
        }
    }

    /// Gives the links of the hosts on a route of `flow` to their parts, and notes the times from one part to another.
    fn follow(&mut self, topology: &Topology, flow: u32, start: u32) {
        let mut part = self.part_of_flow(flow);
        let mut delay = None;
        for step in &topology.table[start as usize..] {
            let to = match step.link(flow) {
                Some(link) if link < topology.first_host_link => usize::from(self.links[link as usize]),
                // A packet crosses a plain link of a host together with the link before.
                Some(_) if step.is_plain_host_link() && delay.is_some() => part,
                _ => self.part_of_flow(flow),
            };
            if let Some(delay) = delay.filter(|_| to != part) {
                self.lookaheads.note(part, to, delay);
            }
            if to != part || delay.is_none() {
                delay = Some(Duration::ZERO);
            }
            part = to;
            let Some(link) = step.link(flow) else { return };
            self.links[link as usize] = part as u16;
            let own = topology.media[topology.links[link as usize].medium as usize].delay;
            delay = Some(if step.is_plain_host_link() { delay.unwrap_or_default() + own } else { own });
        }
    }
}

/// Returns the part of each of `flows` flows, where these parts begin with the first flows given and follow the `cores`.
fn parts_of_flows(cores: usize, first_flows: &[u32], flows: u32) -> Vec<u16> {
    let mut parts = Vec::with_capacity(flows as usize);
    for (number, first) in first_flows.iter().enumerate() {
        let end = first_flows.get(number + 1).copied().unwrap_or(flows);
        parts.extend((*first..end).map(|_| (cores + number) as u16));
    }
    parts
}

/// Checks that packets need time from each flow to the links between nodes, and between these.
fn check(scenario: &Scenario, topology: &Topology) -> Result<(), Undivided> {
    let has_ends = |group: &&FlowGroup| group.source.is_some() && group.sink.is_some();
    if let Some(group) = scenario.flows.iter().find(|group| !has_ends(group)) {
        return Err(Undivided::NoAccess { group: group.name.clone() });
    }
    let smallest = scenario.flows.iter().map(smallest).min().unwrap_or(SMALLEST);
    for (number, link) in (0_u32..).zip(&topology.links) {
        let name = || link_name(scenario, number);
        if let LinkQueue::Managed(managed) = &link.queue
            && (managed.impairments.as_ref().is_some_and(|all| !all.only_lose()) || managed.part.is_some())
        {
            return Err(Undivided::Impaired { link: name() });
        }
        if topology.is_too_fast(number, smallest) {
            return Err(Undivided::TooFast { link: name() });
        }
    }
    Ok(())
}

/// Returns the size of the smallest packet of a group in bytes.
pub(crate) fn smallest(group: &FlowGroup) -> u64 {
    match &group.traffic {
        Traffic::Tcp(tcp) => group.packet.get().min(tcp.ack.get()),
        Traffic::Udp(udp) if udp.sizes_differ() => SMALLEST,
        Traffic::Udp(_) => group.packet.get(),
        Traffic::Tfrc(_) => SMALLEST,
    }
}

/// Returns the first flow of each of about `parts` parts; the connections of a browser stay together.
fn first_flows(scenario: &Scenario, parts: usize) -> Vec<u32> {
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
    let mut firsts: Vec<u32> = Vec::with_capacity(parts);
    let mut group_first = 0;
    for group in &scenario.flows {
        let together = crate::run::engine::web(group).map_or(1, |web| web.connections.max(1));
        for index in (0..group.count).step_by(together as usize) {
            let flow = group_first + index;
            if u64::from(flow) * parts as u64 >= firsts.len() as u64 * flows {
                firsts.push(flow);
            }
        }
        group_first += group.count;
    }
    firsts
}
