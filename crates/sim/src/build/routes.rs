//! Builds the routes of a topology, and its delay lines.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_qdisc::{Duration, Kind};
use fairlane_scenario::{FlowGroup, Hop, Scenario};
use fairlane_traffic::Impairments;

use crate::build::early::{receives_early, sends_early};
use crate::build::names::link_of;
use crate::build::packet_sizes::{SMALLEST, smallest};
use crate::network::link::LinkQueue;
use crate::network::route::{Routes, Step};
use crate::network::topology::Topology;
use crate::schedule::{Line, Ports};
use crate::shortcuts::Shortcuts;

/// The state of the routes while they are built.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// The number of each delay line in the order in which they were found.
    lines: BTreeMap<LineKey, u32>,
    /// The number of classes of links with a line.
    classes: u32,
    /// The links between nodes that packets enter without a delay line.
    entered: BTreeSet<u32>,
    /// Which links of the hosts of the group's last flow are droptail links.
    last: Option<[Option<[bool; 2]>; 2]>,
}

/// The most bytes that a link sends between two looks at it, 32,768 packets of 1500 bytes: what arrives meanwhile is
/// kept in memory. A link that has 100 Gbit/s from the start is looked at every 4 ms.
const MOST_BETWEEN_LOOKS: u64 = 32_768 * 1_500;

impl Routing {
    /// Begins another group of flows.
    pub(crate) const fn begin_group(&mut self) {
        self.last = None;
    }
}

/// The properties that the packets of a delay line share. Lines are numbered in this order. Of two packets of a flow
/// that arrive at the same time, the one on the lower line comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    /// The class of the link that they cross last.
    class: u32,
    /// The link between nodes that they come from, whose packets are in order; `None` if they come from hosts. For the
    /// packets of hosts that take others [early](crate::flow::hosts), the link that those come from: what answers them
    /// is in the same order.
    from: Option<u32>,
    /// Where they arrive.
    end: LineEnd,
}

/// Where the packets of a line arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineEnd {
    /// At hosts, or at their links.
    Host,
    /// At hosts that can take packets [early](crate::flow::hosts) from this link between nodes.
    Early(u32),
    /// At this link between nodes.
    Link(u32),
}

impl Topology {
    /// Adds the routes of the next flow, one of `group`, whose `hosts` have these links.
    pub(crate) fn add_flow(&mut self, group: &FlowGroup, hosts: [Option<[u32; 2]>; 2], routing: &mut Routing) {
        let flow = self.flows as u32;
        self.flows += 1;
        let droptail = hosts.map(|host| host.map(|links| links.map(|link| self.is_droptail(link))));
        if routing.last.replace(droptail) == Some(droptail) {
            return;
        }
        let stride = 2 * hosts.iter().flatten().count() as u32;
        let host = |topology: &Self, link| Step::of_host(link, flow, stride, topology.is_droptail(link));
        let [sender, receiver] = hosts;
        let forward = self.table.len() as u32;
        self.table.extend(sender.map(|[up, _]| host(self, up)));
        self.add_hops(&group.path);
        self.table.extend(receiver.map(|[down, _]| host(self, down)));
        self.table.push(Step::END);
        let back = self.table.len() as u32;
        self.table.extend(receiver.map(|[_, up]| host(self, up)));
        self.add_hops(&group.back);
        self.table.extend(sender.map(|[_, down]| host(self, down)));
        self.table.push(Step::END);
        let to_receiver = self.early_behind(forward, flow, group).filter(|_| receives_early(group));
        let to_sender = self.early_behind(back, flow, group).filter(|_| sends_early(group));
        self.add_lines(forward, flow, [to_sender, to_receiver], routing);
        self.add_lines(back, flow, [to_receiver, to_sender], routing);
        self.routes.push((flow, Routes { forward, back }));
    }

    /// Returns the link between nodes from which the host at the end of a route can take packets early; `None` if it
    /// cannot. What the host sends in answer meets no other packet before it comes to a delay line, since its link is a
    /// droptail link in both directions; and it does not come back to the same link at once, since that leads to it.
    fn early_behind(&self, route: u32, flow: u32, group: &FlowGroup) -> Option<u32> {
        let mut before = None;
        let mut last = None;
        for step in &self.table[route as usize..] {
            let Some(link) = step.link(flow) else { break };
            (before, last) = (last, Some((step, link)));
        }
        let (_, from) = before.filter(|(_, link)| *link < self.first_host_link)?;
        let (step, link) = last?;
        let ahead = step.is_droptail_host_link() && !self.is_too_fast(link, smallest(group));
        ahead.then_some(from)
    }

    /// Adds the routes of probes: over each of these links, which have a shaper, and back.
    pub(crate) fn add_probe_routes(&mut self, shaped: impl Iterator<Item = Hop>, routing: &mut Routing) {
        for (number, hop) in shaped.enumerate() {
            let start = self.table.len() as u32;
            self.add_hops(&[hop, Hop { reverse: !hop.reverse, ..hop }]);
            self.table.push(Step::END);
            self.add_lines(start, 0, [None; 2], routing);
            self.shapers[number].probe_along(start);
        }
    }

    /// Adds the links of a path to the table of routes: with a shaper, the buffer too.
    fn add_hops(&mut self, path: &[Hop]) {
        for hop in path {
            let link = link_of(*hop);
            let buffer = self.shapers.iter().find(|shaper| shaper.queue == link).map(|shaper| shaper.buffer);
            self.table.extend([Some(link), buffer].into_iter().flatten().map(Step::between_nodes));
        }
    }

    /// Adds the delay lines of the route of `flow` that starts at `start`. A packet comes on a line where it has not
    /// yet crossed the droptail link of a host. `before` and `after` are the links between nodes from which the hosts
    /// at the route's ends take packets early.
    fn add_lines(&mut self, start: u32, flow: u32, [before, after]: [Option<u32>; 2], routing: &mut Routing) {
        let between_nodes =
            |topology: &Self, step: Step| step.link(flow).filter(|link| *link < topology.first_host_link);
        routing.entered.extend(between_nodes(self, self.table[start as usize]));
        let mut from = before;
        for index in start as usize.. {
            let step = self.table[index];
            let Some(link) = step.link(flow) else { return };
            let next = self.table[index + 1];
            if !step.is_droptail_host_link() {
                from = between_nodes(self, step);
            }
            let to = between_nodes(self, next);
            // Behind a link that reorders packets, a host's link takes them in the order of their arrival.
            let reorders = self.links[link as usize].impairments().is_some_and(Impairments::reorders);
            if next.is_droptail_host_link() && !reorders {
                continue;
            }
            let class = self.class(self.links[link as usize].medium as usize, routing);
            let end = match (to, after) {
                (Some(link), _) => LineEnd::Link(link),
                (None, Some(from)) if next.link(flow).is_none() => {
                    self.table[index].set_early();
                    LineEnd::Early(from)
                }
                (None, _) => LineEnd::Host,
            };
            let found = routing.lines.len() as u32;
            let line = *routing.lines.entry(LineKey { class, from, end }).or_insert(found);
            self.table[index].line = Line { port: 0, line };
        }
    }

    /// Returns the class of a medium: that of one that is alike, or its own.
    fn class(&mut self, index: usize, routing: &mut Routing) -> u32 {
        let medium = &self.media[index];
        if let Some(class) = medium.class {
            return class;
        }
        // Links between nodes are not alike.
        let others = if medium.carries.is_some() { self.media.as_slice() } else { &[] };
        let alike = others.iter().filter(|other| other.is_alike(medium)).find_map(|other| other.class);
        let class = alike.unwrap_or(routing.classes);
        routing.classes += u32::from(class == routing.classes);
        self.media[index].class = Some(class);
        class
    }

    /// Numbers the ports and their lines, and finds the links of `scenario` that can be processed lazily; with `custom`
    /// disciplines there are none.
    pub(crate) fn finish(&mut self, scenario: &Scenario, routing: &Routing, custom: bool, shortcuts: Shortcuts) {
        let links = self.first_host_link as usize;
        let smallest = scenario.flows.iter().map(smallest).min().unwrap_or(SMALLEST);
        let lazy = shortcuts.lazy_links && !custom && self.shapers.is_empty();
        let lookahead = |link: u32| self.lookahead(link, smallest).filter(|_| lazy && !routing.entered.contains(&link));
        let lookaheads: Vec<Duration> =
            (0..self.first_host_link).map(|link| lookahead(link).unwrap_or(Duration::ZERO)).collect();
        let port_of = |end: LineEnd| match end {
            LineEnd::Link(link) => link as usize,
            LineEnd::Early(from) if shortcuts.early_hosts && lookaheads[from as usize] > Duration::ZERO => {
                Ports::early_of(links)
            }
            LineEnd::Early(_) | LineEnd::Host => Ports::hosts_of(links),
        };
        // Lines are numbered in the order of their keys.
        let mut sources = vec![Vec::new(); links + 2];
        let mut lines = vec![Line::NONE; routing.lines.len()];
        for ((key, found), number) in routing.lines.iter().zip(0..) {
            let port = port_of(key.end);
            lines[*found as usize] = Line { port: port as u32, line: sources[port].len() as u32 };
            sources[port].push(number);
        }
        let early = Ports::early_of(links) as u32;
        for step in self.table.iter_mut().filter(|step| !step.line.is_none()) {
            step.line = lines[step.line.line as usize];
            if step.is_early() && step.line.port != early {
                step.set_in_order();
            }
        }
        let (early, hosts) = (sources.pop().unwrap_or_default(), sources.pop().unwrap_or_default());
        self.ports = Ports { links: sources.into_iter().zip(lookaheads).collect(), hosts, early };
        self.prefetches = self.flows >= shortcuts.prefetch_from;
    }

    /// Returns the least time from what happens at `link` to its effect elsewhere, where packets have at least
    /// `smallest` bytes, or less where too many packets would wait for so long; `None` if the link has no delay, or if
    /// more than the queue, the rate and the delay matter for its packets.
    fn lookahead(&self, link: u32, smallest: u64) -> Option<Duration> {
        let state = &self.links[link as usize];
        let regular = match &state.queue {
            LinkQueue::Droptail(_) => true,
            LinkQueue::Managed(managed) => managed.impairments.is_none() && !holds_back(managed.kind),
        };
        let medium = &self.media[state.medium as usize];
        let rate = medium.transmission.rate().bits_per_second().max(1);
        let time_of = |bytes: u64| Duration::from_nanos(bytes.saturating_mul(8_000_000_000) / rate);
        let most = time_of(MOST_BETWEEN_LOOKS).max(Duration::from_nanos(1));
        // Without a delay nothing would be left of it at a higher rate.
        (regular && medium.delay > Duration::ZERO).then(|| (medium.delay + time_of(smallest)).min(most))
    }
}

/// Returns true for disciplines that may hold packets back although the link is free.
fn holds_back(kind: &str) -> bool {
    [Kind::Cbq, Kind::Cake].iter().any(|other| other.name() == kind)
}
