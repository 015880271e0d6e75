//! The network of a scenario, laid out: every link, and the route of every flow as a row of links.

use std::ops::Range;

use fairlane_outcome::QueueRun;
use fairlane_qdisc::{Host, ParameterError, Seed, Time};

use fairlane_scenario::{Access, FlowGroup, Hop, LinkSide, Scenario};

use crate::link::{Link, Managed, Medium, Queue, plain_limit};
use crate::meter::Meter;
use crate::own::Disciplines;
use crate::wire::Wire;

/// Ends a route: the packet has reached its host.
pub(crate) const END: u32 = u32::MAX;

/// Where a flow's two routes begin in the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routes {
    pub(crate) forward: u32,
    pub(crate) back: u32,
}

/// Links and routes.
#[derive(Debug)]
pub(crate) struct Network<D> {
    /// First the scenario's links, forward and reverse in turn, then the hosts' links.
    pub(crate) links: Vec<Link<D>>,
    pub(crate) media: Vec<Medium>,
    /// All routes, one after the other, each ended by [`END`].
    pub(crate) table: Vec<u32>,
    /// Each flow's routes.
    pub(crate) routes: Vec<Routes>,
    first_host_link: u32,
}

/// What like links have in common.
#[derive(Debug)]
struct LinkKind {
    side: LinkSide,
    /// Nothing but a FIFO that drops from the tail, and a delay.
    plain: bool,
    /// Which flows are counted there.
    metered: Option<Visitors>,
    medium: u32,
}

/// The numbers of the flows that may come to a queue, in ranges that rise.
pub(crate) type Visitors = Vec<Range<u32>>;

/// The flows whose data or acknowledgements cross `hop`.
fn visitors(scenario: &Scenario, hop: Hop) -> Visitors {
    let mut first = 0;
    let ranges = scenario.flows.iter().map(|group| {
        let range = first..first + group.count;
        first = range.end;
        (group, range)
    });
    ranges.filter(|(group, _)| group.path.contains(&hop) || group.back.contains(&hop)).map(|(_, range)| range).collect()
}

/// A queue whose packets were counted.
pub(crate) struct Metered {
    name: String,
    kind: &'static str,
    rate_bps: f64,
    meter: Meter,
}

impl Metered {
    /// What was counted from the beginning of the measurement to `now`.
    pub(crate) fn result(self, now: Time) -> QueueRun {
        let Self { name, kind, rate_bps, meter } = self;
        let (flows, mean_avg) = (meter.flows(now), meter.mean_average());
        let mean_packets = flows.iter().map(|flow| flow.mean_packets).sum();
        QueueRun { name, kind, rate_bps, mean_packets, mean_avg, delay_ns: meter.delay_ns().clone(), flows }
    }
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

impl<D> Network<D> {
    /// Lays out the network of `scenario`, whose queues come from `disciplines`.
    pub(crate) fn new(
        scenario: &Scenario,
        seed: Seed,
        disciplines: &mut impl Disciplines<Discipline = D>,
    ) -> Result<Self, QueueError> {
        let mut network =
            Self { links: Vec::new(), media: Vec::new(), table: Vec::new(), routes: Vec::new(), first_host_link: 0 };
        let flows = scenario.flows.iter().map(|group| group.count as usize).sum();
        for (index, link) in scenario.links.iter().enumerate() {
            for (side, reverse) in [(&link.forward, false), (&link.reverse, true)] {
                let hop = Hop { link: index, reverse };
                let metered = scenario.flows.iter().any(|group| group.path.contains(&hop));
                let kind = network.kind(side.clone(), metered.then(|| visitors(scenario, hop)));
                network.add(scenario, &kind, seed, disciplines)?;
            }
        }
        network.first_host_link = network.links.len() as u32;
        network.reserve(scenario, flows);
        for group in &scenario.flows {
            let ends =
                [&group.source, &group.sink].map(|access| access.as_ref().map(|access| network.host_kinds(access)));
            for _ in 0..group.count {
                network.add_flow(scenario, group, &ends, seed, disciplines)?;
            }
        }
        Ok(network)
    }

    /// Whether `link` is a plain wire between a node and a host. Each host has a flow and a link of its own.
    pub(crate) fn is_host_wire(&self, link: u32) -> bool {
        link >= self.first_host_link
            && self.links.get(link as usize).is_some_and(|link| matches!(link.queue, Queue::Wire { .. }))
    }

    /// Makes room for the hosts' links and the routes of all flows: doubling it by and by would take up to twice as much.
    fn reserve(&mut self, scenario: &Scenario, flows: usize) {
        let links = |group: &FlowGroup| 2 * (usize::from(group.source.is_some()) + usize::from(group.sink.is_some()));
        let hops = |group: &FlowGroup| links(group) + group.path.len() + group.back.len() + 2;
        let all = |each: &dyn Fn(&FlowGroup) -> usize| {
            scenario.flows.iter().map(|group| group.count as usize * each(group)).sum::<usize>()
        };
        self.links.reserve_exact(all(&links));
        self.table.reserve_exact(all(&hops));
        self.routes.reserve_exact(flows);
    }

    /// The rate of `link` in bit/s, averaged from `from` to `to`.
    pub(crate) fn mean_rate(&self, link: &Link<D>, from: Time, to: Time) -> f64 {
        let varying = link.wire().and_then(|wire| wire.mean_rate(from, to));
        varying.unwrap_or_else(|| self.media[link.medium as usize].pace.rate().bits_per_second() as f64)
    }

    /// The queues that were metered, in the scenario's order, with what is to be told of them for the time `from` to `to`.
    pub(crate) fn metered(self, scenario: &Scenario, (from, to): (Time, Time)) -> impl Iterator<Item = Metered> {
        let rates: Vec<f64> =
            self.links[..self.first_host_link as usize].iter().map(|link| self.mean_rate(link, from, to)).collect();
        self.links.into_iter().zip(rates).enumerate().filter_map(|(id, (link, rate_bps))| {
            let Queue::Managed(managed) = link.queue else { return None };
            Some(Metered { name: link_name(scenario, id as u32), kind: managed.kind, rate_bps, meter: managed.meter? })
        })
    }

    /// What links like `side` have in common; metered for these flows or not at all.
    fn kind(&mut self, side: LinkSide, metered: Option<Visitors>) -> LinkKind {
        let plain = metered.is_none() && side.wire == fairlane_scenario::Wire::default();
        let limit = plain_limit(&side.queue).filter(|_| plain);
        self.media.push(Medium::new(&side, limit.unwrap_or(0)));
        LinkKind { side, plain: limit.is_some(), metered, medium: self.media.len() as u32 - 1 }
    }

    /// The links of like hosts: the one that data takes, and the other. They get a medium each, since the packets of a direction
    /// are mostly of one size.
    fn host_kinds(&mut self, access: &Access) -> [LinkKind; 2] {
        let Access { rate, delay, queue } = access;
        [(); 2].map(|()| {
            self.kind(LinkSide { rate: *rate, delay: *delay, queue: queue.clone(), wire: Default::default() }, None)
        })
    }

    /// Adds the hosts of one flow, and its routes.
    fn add_flow(
        &mut self,
        scenario: &Scenario,
        group: &FlowGroup,
        ends: &[Option<[LinkKind; 2]>; 2],
        seed: Seed,
        disciplines: &mut impl Disciplines<Discipline = D>,
    ) -> Result<(), QueueError> {
        let mut hosts = [None; 2];
        for (host, end) in hosts.iter_mut().zip(ends) {
            if let Some([data, other]) = end {
                let data = self.add(scenario, data, seed, disciplines)?;
                *host = Some((data, self.add(scenario, other, seed, disciplines)?));
            }
        }
        let [source, sink] = hosts;
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

    /// Adds one direction of a link.
    fn add(
        &mut self,
        scenario: &Scenario,
        kind: &LinkKind,
        seed: Seed,
        disciplines: &mut impl Disciplines<Discipline = D>,
    ) -> Result<u32, QueueError> {
        let LinkKind { side, plain, metered, medium } = kind;
        let id = self.links.len() as u32;
        let name = || link_name(scenario, id);
        let host = |name: &str| Host { rate: side.rate, seed: seed.named("queue").named(name) };
        let own = disciplines.own(name, host);
        let wire = Wire::new(side, || seed.named("wire").named(&name()));
        let queue = match own {
            Some((kind, discipline)) => {
                Queue::Managed(Box::new(Managed::new(kind, discipline, metered.as_ref(), wire)))
            }
            None if *plain => Queue::Wire { busy_until: Time::ZERO },
            None => {
                let name = name();
                let kind = side.queue.kind().name();
                let built = disciplines.scenarios(&side.queue, &host(&name));
                let discipline = built.map_err(|error| QueueError { link: name, error })?;
                Queue::Managed(Box::new(Managed::new(kind, discipline, metered.as_ref(), wire)))
            }
        };
        self.links.push(Link::new(*medium, queue));
        Ok(id)
    }
}
