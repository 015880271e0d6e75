//! The network of a scenario, laid out: every link, and the route of every flow as a row of links.

use fairlane_qdisc::{Host, ParameterError, Seed};
use fairlane_scenario::{Access, FlowGroup, Hop, LinkSide, QdiscConfig, Scenario};

use crate::event::Alarm;
use crate::link::{Link, Managed, Queue, plain_limit};
use crate::meter::Meter;

/// Ends a route: the packet has reached its host.
pub(crate) const END: u32 = u32::MAX;

/// Where a flow's two routes begin in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    pub(crate) forward: u32,
    pub(crate) back: u32,
}

/// Links and routes.
#[derive(Debug, Default)]
pub(crate) struct Network {
    /// First the scenario's links, forward and reverse in turn, then the hosts' links.
    pub(crate) links: Vec<Link>,
    /// All routes, one after the other, each ended by [`END`].
    pub(crate) table: Vec<u32>,
    /// Each flow's routes.
    pub(crate) routes: Vec<Routes>,
    first_host_link: u32,
}

/// A queue that cannot be built: whose, and why.
#[derive(Debug)]
pub(crate) struct QueueError {
    pub(crate) link: String,
    pub(crate) error: ParameterError,
}

/// The number of one direction of a link of the scenario.
pub(crate) const fn link_of(hop: Hop) -> u32 {
    2 * hop.link as u32 + hop.reverse as u32
}

/// The name of a link in an engine's events: `bottleneck`, `bottleneck/reverse`, and `ftp/3/source` or `ftp/3/sink` for the
/// links of the hosts of flow `ftp/3`, with `/reverse` for the direction towards the source.
#[must_use]
pub fn link_name(scenario: &Scenario, link: u32) -> String {
    let mut index = link as usize;
    let reverse = |on: bool| if on { "/reverse" } else { "" };
    if let Some(named) = scenario.links.get(index / 2) {
        return format!("{}{}", named.name, reverse(index % 2 == 1));
    }
    index -= 2 * scenario.links.len();
    for group in &scenario.flows {
        let ends: Vec<&str> = [(&group.source, "source"), (&group.sink, "sink")]
            .into_iter()
            .filter_map(|(access, end)| access.is_some().then_some(end))
            .collect();
        let each = 2 * ends.len();
        let all = each * group.count as usize;
        if index < all {
            return format!("{}/{}/{}{}", group.name, index / each, ends[index % each / 2], reverse(index % 2 == 1));
        }
        index -= all;
    }
    format!("link {link}")
}

impl Network {
    /// Lays out the network of `scenario`.
    pub(crate) fn new(scenario: &Scenario, seed: Seed) -> Result<Self, QueueError> {
        let mut network = Self::default();
        let flows = scenario.flows.iter().map(|group| group.count as usize).sum();
        for (index, link) in scenario.links.iter().enumerate() {
            for (side, reverse) in [(&link.forward, false), (&link.reverse, true)] {
                let hop = Hop { link: index, reverse };
                let metered = scenario.flows.iter().any(|group| group.path.contains(&hop));
                network.add(scenario, side, seed, metered.then_some(flows))?;
            }
        }
        network.first_host_link = network.links.len() as u32;
        for group in &scenario.flows {
            for _ in 0..group.count {
                network.add_flow(scenario, group, seed)?;
            }
        }
        Ok(network)
    }

    /// Whether `link` is a plain wire between a node and a host. Each host has a flow and a link of its own.
    pub(crate) fn is_host_wire(&self, link: u32) -> bool {
        link >= self.first_host_link
            && self.links.get(link as usize).is_some_and(|link| matches!(link.queue, Queue::Wire { .. }))
    }

    /// Adds the hosts of one flow, and its routes.
    fn add_flow(&mut self, scenario: &Scenario, group: &FlowGroup, seed: Seed) -> Result<(), QueueError> {
        let source = self.add_access(scenario, group.source.as_ref(), seed)?;
        let sink = self.add_access(scenario, group.sink.as_ref(), seed)?;
        let forward = self.table.len() as u32;
        self.table.extend(source.map(|(up, _)| up));
        self.table.extend(group.path.iter().copied().map(link_of));
        self.table.extend(sink.map(|(down, _)| down));
        self.table.push(END);
        let back = self.table.len() as u32;
        self.table.extend(sink.map(|(_, up)| up));
        self.table.extend(group.back.iter().copied().map(link_of));
        self.table.extend(source.map(|(_, down)| down));
        self.table.push(END);
        self.routes.push(Routes { forward, back });
        Ok(())
    }

    /// Adds a host's two links: the one that data takes, and the other.
    fn add_access(
        &mut self,
        scenario: &Scenario,
        access: Option<&Access>,
        seed: Seed,
    ) -> Result<Option<(u32, u32)>, QueueError> {
        let Some(Access { rate, delay, queue }) = access else { return Ok(None) };
        let side = LinkSide { rate: *rate, delay: *delay, queue: queue.clone() };
        let data = self.add(scenario, &side, seed, None)?;
        let other = self.add(scenario, &side, seed, None)?;
        Ok(Some((data, other)))
    }

    /// Adds one direction of a link, metered for so many flows or not at all.
    fn add(
        &mut self,
        scenario: &Scenario,
        side: &LinkSide,
        seed: Seed,
        metered: Option<usize>,
    ) -> Result<u32, QueueError> {
        let id = self.links.len() as u32;
        let queue = match plain_limit(&side.queue) {
            Some(limit) if metered.is_none() => Queue::Wire { busy_until: fairlane_qdisc::Time::ZERO, limit },
            _ => {
                let name = link_name(scenario, id);
                let managed = manage(&side.queue, side, seed.named("queue").named(&name), metered);
                Queue::Managed(Box::new(managed.map_err(|error| QueueError { link: name, error })?))
            }
        };
        self.links.push(Link::new(side, queue));
        Ok(id)
    }
}

fn manage(
    config: &QdiscConfig,
    side: &LinkSide,
    seed: Seed,
    metered: Option<usize>,
) -> Result<Managed, ParameterError> {
    Ok(Managed {
        kind: config.kind().name(),
        discipline: config.build(&Host { rate: side.rate, seed })?,
        busy: false,
        release: Alarm::off(),
        meter: metered.map(Meter::new),
    })
}
