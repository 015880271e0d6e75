//! How the network of one run is divided among threads.

use std::fmt;
use std::sync::Arc;

use fairlane_qdisc::Duration;
use fairlane_scenario::{Application, Congestion, FlowGroup, Scenario, Tcp, Traffic};

use crate::build::names::link_name;
use crate::build::packet_sizes::{SMALLEST, browser_of, events_per_second, smallest};
use crate::network::boundary::Owners;
use crate::network::link::LinkQueue;
use crate::network::topology::Topology;
use crate::parallel::lookahead::{Lookaheads, Pace};

/// The parts of a run: some of the links between nodes, each with the droptail links of hosts behind them, or some of
/// the flows, each with the links of its hosts before them.
#[derive(Debug)]
pub(crate) struct Division {
    /// The part of each link and flow.
    pub(crate) owners: Arc<Owners>,
    /// The number of parts that consist of links.
    pub(crate) cores: usize,
    /// The first flow of each part that consists of flows.
    pub(crate) first_flows: Vec<u32>,
    pub(crate) lookaheads: Lookaheads,
    pub(crate) pace: Pace,
}

/// The reason why one run cannot be divided among threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Undivided {
    /// The scenario has a single flow.
    OneFlow,
    /// A congestion control of the program, which may share state among flows.
    OwnCongestion {
        /// The flow group's name.
        group: String,
    },
    /// An application of the program, which may share state among flows.
    OwnApplication {
        /// The flow group's name.
        group: String,
    },
    /// Flows have no links of their own at one end: they reach the link between nodes without delay.
    NoAccess {
        /// The flow group's name.
        group: String,
    },
    /// Endpoints of a program may share state.
    Endpoints {
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
            Self::OwnCongestion { group } => {
                write!(f, "flows \"{group}\" have a congestion control of the program, whose calls are in order")
            }
            Self::OwnApplication { group } => {
                write!(f, "flows \"{group}\" have an application of the program, which may share state")
            }
            Self::NoAccess { group } => {
                write!(f, "flows \"{group}\" have no separate links with a delay; give them [access] at both ends")
            }
            Self::Endpoints { group } => {
                write!(f, "the endpoints of flows \"{group}\" may share state")
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

/// The parts with flows for each thread: with several, threads can have about the same work.
const FLOW_PARTS: usize = 2;

impl Division {
    /// Divides `topology`, that of `scenario`, among `threads` threads. `browsers` holds the first flow of each
    /// browser, whose flows stay together.
    pub(crate) fn of(scenario: &Scenario, topology: &Topology, threads: usize) -> Result<Self, Undivided> {
        let flows = topology.flows;
        if flows < 2 || threads < 2 {
            return Err(Undivided::OneFlow);
        }
        check(scenario, topology)?;
        let cores = threads.min(topology.first_host_link as usize);
        let first_flows = first_flows(scenario, FLOW_PARTS * threads);
        let partitions = cores + first_flows.len();
        let mut owners = Owners {
            links: vec![0; topology.links.len()],
            flows: parts_of_flows(cores, &first_flows, flows as u32),
            partitions,
        };
        give_links(&mut owners, cores, topology);
        let mut lookaheads = Lookaheads::new(partitions);
        for flow in 0..flows as u32 {
            let routes = topology.routes_of(flow);
            follow(&mut owners, &mut lookaheads, topology, flow, routes.forward);
            follow(&mut owners, &mut lookaheads, topology, flow, routes.back);
        }
        if lookaheads.least() == Some(Duration::ZERO) {
            return Err(Undivided::NoDelay);
        }
        let all_at_once = Pace { step: scenario.duration, ahead: scenario.duration, steps: 1 };
        let pace = lookaheads.pace(events_per_second(scenario)).unwrap_or(all_at_once);
        Ok(Self { owners: Arc::new(owners), cores, first_flows, lookaheads, pace })
    }
}

/// Gives each link between nodes to the part with the lowest sum of rates.
fn give_links(owners: &mut Owners, cores: usize, topology: &Topology) {
    let rate = |link: u32| topology.media[topology.links[link as usize].medium as usize].transmission.rate();
    let mut links: Vec<u32> = (0..topology.first_host_link).collect();
    links.sort_by_key(|link| std::cmp::Reverse(rate(*link)));
    let mut loads = vec![0_u128; cores];
    for link in links {
        let Some((part, load)) = loads.iter_mut().enumerate().min_by_key(|(_, load)| **load) else { return };
        *load += u128::from(rate(link).bits_per_second());
        owners.links[link as usize] = part as u16;
    }
}

/// Gives the links of the hosts on a route of `flow` to their parts, and notes the times from one part to another.
fn follow(owners: &mut Owners, lookaheads: &mut Lookaheads, topology: &Topology, flow: u32, start: u32) {
    let mut part = owners.of_flow(flow);
    let mut delay = None;
    for step in &topology.table[start as usize..] {
        let to = match step.link(flow) {
            Some(link) if link < topology.first_host_link => usize::from(owners.links[link as usize]),
            // A packet crosses a droptail link of a host together with the link before.
            Some(_) if step.is_droptail_host_link() && delay.is_some() => part,
            _ => owners.of_flow(flow),
        };
        if let Some(delay) = delay.filter(|_| to != part) {
            lookaheads.note(part, to, delay);
        }
        if to != part || delay.is_none() {
            delay = Some(Duration::ZERO);
        }
        part = to;
        let Some(link) = step.link(flow) else { return };
        owners.links[link as usize] = part as u16;
        let own = topology.media[topology.links[link as usize].medium as usize].delay;
        delay = Some(if step.is_droptail_host_link() { delay.unwrap_or_default() + own } else { own });
    }
}

/// Returns the part of each of `flows` flows, where these parts begin with the first flows given and follow the
/// `cores`.
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
    if let Some(group) = scenario.flows.iter().find(|group| group.traffic == Traffic::Endpoint) {
        return Err(Undivided::Endpoints { group: group.name.clone() });
    }
    for group in &scenario.flows {
        let Traffic::Tcp(Tcp { congestion, application, .. }) = &group.traffic else { continue };
        if let Congestion::Own(_) = congestion {
            return Err(Undivided::OwnCongestion { group: group.name.clone() });
        }
        if let Application::Own(_) = application {
            return Err(Undivided::OwnApplication { group: group.name.clone() });
        }
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

/// Returns the first flow of each of about `parts` parts; the connections of a browser stay together.
fn first_flows(scenario: &Scenario, parts: usize) -> Vec<u32> {
    let flows: u64 = scenario.flows.iter().map(|group| u64::from(group.count)).sum();
    let mut firsts: Vec<u32> = Vec::with_capacity(parts);
    let mut group_first = 0;
    for group in &scenario.flows {
        let together = browser_of(group).map_or(1, |web| web.connections.max(1));
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
