//! Builds the routes of a topology, and its delay lines.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_qdisc::{Duration, Kind};
use fairlane_scenario::{FlowGroup, Hop, Scenario};

use crate::flow::hosts::{receives_ahead, sends_ahead};
use crate::network::impairments::Impairments;
use crate::network::link::LinkQueue;
use crate::network::route::{Routes, Step};
use crate::network::topology::{Topology, link_of};
use crate::parallel::partition::{SMALLEST, smallest};
use crate::schedule::delay_line::LineEnd;

/// What is known of routes while they are built.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// The number of each delay line in the order in which they were found.
    lines: BTreeMap<LineKey, u32>,
    /// The number of classes of links with a line.
    classes: u32,
    /// The links between nodes that packets enter without a delay line.
    entered: BTreeSet<u32>,
    /// Which links of the hosts of the group's last flow are plain.
    last: Option<[Option<[bool; 2]>; 2]>,
}

/// The most bytes that a link sends between two looks at it, 32,768 packets of 1500 bytes: what arrives meanwhile is kept in memory. A link that has
/// 100 Gbit/s from the start is looked at every 4 ms.
const MOST_BETWEEN_LOOKS: u64 = 32_768 * 1_500;

impl Routing {
    /// Begins another group of flows.
    pub(crate) const fn begin_group(&mut self) {
        self.last = None;
    }
}

/// What the packets of a delay line have in common. Lines are numbered in this order, and of packets of a flow that arrive at the same time,
/// that of the lower line comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LineKey {
    /// The class of the link that they cross last.
    class: u32,
    /// The link between nodes that they come from, whose packets are in order; `None` if they come from hosts. For the packets of hosts that
    /// take others [ahead of their time](crate::flow::hosts), the link that those come from: what answers them is in the same order.
    from: Option<u32>,
    /// Where they arrive.
    end: LineEnd,
}

impl Topology {
    /// Adds the routes of the next flow, one of `group`, whose `hosts` have these links.
    pub(crate) fn add_flow(&mut self, group: &FlowGroup, hosts: [Option<[u32; 2]>; 2], routing: &mut Routing) {
        let flow = self.flows as u32;
        self.flows += 1;
        let plain = hosts.map(|host| host.map(|links| links.map(|link| self.is_plain(link))));
        if routing.last.replace(plain) == Some(plain) {
            return;
        }
        let stride = 2 * hosts.iter().flatten().count() as u32;
        let host = |topology: &Self, link| Step::of_host(link, flow, stride, topology.is_plain(link));
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
        let to_receiver = self.ahead_behind(forward, flow, group).filter(|_| receives_ahead(group));
        let to_sender = self.ahead_behind(back, flow, group).filter(|_| sends_ahead(group));
        self.add_lines(forward, flow, [to_sender, to_receiver], routing);
        self.add_lines(back, flow, [to_receiver, to_sender], routing);
        self.routes.push((flow, Routes { forward, back }));
    }

    /// Returns the link between nodes from which the host at the end of a route can take packets ahead of their time; `None` if it cannot. What
    /// the host sends in answer meets no other packet before it comes to a delay line, since its link is plain in both directions; and it does
    /// not come back to the same link at once, since that leads to it.
    fn ahead_behind(&self, route: u32, flow: u32, group: &FlowGroup) -> Option<u32> {
        let mut before = None;
        let mut last = None;
        for step in &self.table[route as usize..] {
            let Some(link) = step.link(flow) else { break };
            (before, last) = (last, Some((step, link)));
        }
        let (_, from) = before.filter(|(_, link)| *link < self.first_host_link)?;
        let (step, link) = last?;
        let ahead = step.is_plain_host_link() && !self.is_too_fast(link, smallest(group));
        ahead.then_some(from)
    }

    /// Returns true if `link` may send several packets of `smallest` bytes within a nanosecond.
    pub(crate) fn is_too_fast(&self, link: u32, smallest: u64) -> bool {
        let medium = &self.media[self.links[link as usize].medium as usize];
        medium.transmission.rate().bits_per_second() > smallest.saturating_mul(8_000_000_000)
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

    /// Returns the routes of `flow`.
    pub(crate) fn routes_of(&self, flow: u32) -> Routes {
        let after = self.routes.partition_point(|(first, _)| *first <= flow);
        self.routes.get(after.wrapping_sub(1)).map(|(_, routes)| *routes).unwrap_or_default()
    }

    /// Adds the links of a path to the table of routes: with a shaper, the buffer too.
    fn add_hops(&mut self, path: &[Hop]) {
        for hop in path {
            let link = link_of(*hop);
            let buffer = self.shapers.iter().find(|shaper| shaper.queue == link).map(|shaper| shaper.buffer);
            self.table.extend([Some(link), buffer].into_iter().flatten().map(Step::between_nodes));
        }
    }

    /// Adds the delay lines of the route of `flow` that starts at `start`. A packet comes on a line where it has not yet crossed the plain link
    /// of a host. `before` and `after` are the links between nodes from which the hosts at the route's ends take packets ahead of their time.
    fn add_lines(&mut self, start: u32, flow: u32, [before, after]: [Option<u32>; 2], routing: &mut Routing) {
        let between_nodes =
            |topology: &Self, step: Step| step.link(flow).filter(|link| *link < topology.first_host_link);
        routing.entered.extend(between_nodes(self, self.table[start as usize]));
        let mut from = before;
        for index in start as usize.. {
            let step = self.table[index];
            let Some(link) = step.link(flow) else { return };
            let next = self.table[index + 1];
            if !step.is_plain_host_link() {
                from = between_nodes(self, step);
            }
            let to = between_nodes(self, next);
            if self.links[link as usize].impairments().is_some_and(Impairments::reorders) {
                routing.entered.extend(to);
            }
            if next.is_plain_host_link() {
                continue;
            }
            let class = self.class(self.links[link as usize].medium as usize, routing);
            let end = match (to, after) {
                (Some(link), _) => LineEnd::Link(link),
                (None, Some(from)) if next.link(flow).is_none() => {
                    self.table[index].set_ahead();
                    LineEnd::Ahead(from)
                }
                (None, _) => LineEnd::Host,
            };
            let found = routing.lines.len() as u32;
            self.table[index].line = *routing.lines.entry(LineKey { class, from, end }).or_insert(found);
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

    /// Numbers the delay lines, and finds the links of `scenario` that need not be looked at for each packet; with `custom` disciplines there
    /// are none.
    pub(crate) fn finish(&mut self, scenario: &Scenario, routing: &Routing, custom: bool) {
        let mut numbers = vec![0; routing.lines.len()];
        for (number, found) in (0..).zip(routing.lines.values()) {
            numbers[*found as usize] = number;
        }
        for step in &mut self.table {
            step.line = numbers.get(step.line as usize).copied().unwrap_or(step.line);
        }
        self.lines = routing.lines.keys().map(|key| key.end).collect();
        let smallest = scenario.flows.iter().map(smallest).min().unwrap_or(SMALLEST);
        let all = !custom && self.shapers.is_empty();
        let deferred = |link: u32| self.lookahead(link, smallest).filter(|_| all && !routing.entered.contains(&link));
        self.deferred = (0..self.first_host_link).map(deferred).collect();
    }

    /// Returns the least time from what happens at `link` to its effect elsewhere, where packets have at least `smallest` bytes, or less where
    /// too many packets would wait for so long; `None` if the link has no delay, or if more than the queue, the rate and the delay matter for its
    /// packets.
    fn lookahead(&self, link: u32, smallest: u64) -> Option<Duration> {
        let state = &self.links[link as usize];
        let regular = match &state.queue {
            LinkQueue::Plain(_) => true,
            LinkQueue::Managed(managed) => managed.impairments.is_none() && !holds_back(managed.kind),
        };
        let medium = &self.media[state.medium as usize];
        let rate = medium.transmission.rate().bits_per_second().max(1);
        let time_of = |bytes: u64| Duration::from_nanos(bytes.saturating_mul(8_000_000_000) / rate);
        let most = time_of(MOST_BETWEEN_LOOKS).max(Duration::from_nanos(1));
        // Without a delay nothing would be left of it at a higher rate.
        (regular && medium.delay > Duration::ZERO).then(|| (medium.delay + time_of(smallest)).min(most))
    }

    pub(crate) fn is_plain(&self, link: u32) -> bool {
        matches!(self.links[link as usize].queue, LinkQueue::Plain(_))
    }
}

/// Returns true for disciplines that may hold packets back although the link is free.
fn holds_back(kind: &str) -> bool {
    [Kind::Cbq, Kind::Cake].iter().any(|other| other.name() == kind)
}
