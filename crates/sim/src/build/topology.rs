//! Builds the links of a scenario.

use fairlane_qdisc::{BoxQdisc, Duration, Host, Kind, ParameterError, QdiscConfig, QdiscParameters, Seed};
use fairlane_scenario::{Access, Application, FlowGroup, Hop, LinkSide, Scenario, Shaper, Tcp, Traffic, Wire};
use fairlane_traffic::Impairments;

use crate::build::names::{link_name, link_of, shaped_hops};
use crate::build::routes::Routing;
use crate::measure::queue_meter::FlowRanges;
use crate::network::droptail_link::DroptailLink;
use crate::network::link::{Carries, Link, LinkQueue, Managed, Medium, droptail_limit};
use crate::network::shaper::{LinkShaper, REFLECTORS, ShapedPart};
use crate::network::topology::Topology;
use crate::packet::{Packet, packet_bytes};
use crate::schedule::Ports;
use crate::shortcuts::Shortcuts;

/// Returns a discipline of the caller and its name in outcomes for the link of this name, or `None` for the scenario's.
pub(crate) type CustomQdiscs<'c> = dyn FnMut(&str, &Host) -> Option<(&'static str, BoxQdisc<Packet>)> + 'c;

/// The source of queues: the scenario, and the caller if it brings disciplines.
struct QueueSource<'s, 'c> {
    scenario: &'s Scenario,
    seed: Seed,
    custom: Option<Box<CustomQdiscs<'c>>>,
    /// The directions of links that have a shaper.
    shaped: Vec<Hop>,
}

/// The properties of a set of similar links.
#[derive(Debug)]
struct LinkKind {
    side: LinkSide,
    /// The link only delays packets, and its queue only drops from the tail.
    droptail: bool,
    /// The packets that cross the link do not all have the same size.
    sizes_differ: bool,
    /// The flows that are counted at the queue.
    metered: Option<FlowRanges>,
    medium: u32,
}

/// The link whose queue cannot be built, and the reason.
#[derive(Debug)]
pub(crate) struct QueueError {
    pub(crate) link: String,
    pub(crate) error: ParameterError,
}

/// Returns the flows whose data, acknowledgements or probes cross `hop`.
fn flows_across(scenario: &Scenario, shaped: &[Hop], hop: Hop) -> FlowRanges {
    let flows: u32 = scenario.flows.iter().map(|group| group.count).sum();
    let probes = (0_u32..).zip(shaped).filter(|(_, shaped)| shaped.link == hop.link);
    let probes = probes.map(|(number, _)| flows + number * REFLECTORS..flows + (number + 1) * REFLECTORS);
    let mut first = 0;
    let ranges = scenario.flows.iter().map(|group| {
        let range = first..first + group.count;
        first = range.end;
        (group, range)
    });
    let crossing = ranges.filter(|(group, _)| group.path.contains(&hop) || group.back.contains(&hop));
    crossing.map(|(_, range)| range).chain(probes).collect()
}

/// Builds the topology of `scenario`. `custom` is asked for the discipline of each link before the scenario's is
/// built.
pub(crate) fn build(
    scenario: &Scenario,
    seed: Seed,
    custom: Option<Box<CustomQdiscs<'_>>>,
    shortcuts: Shortcuts,
) -> Result<Topology, QueueError> {
    let shaped = shaped_hops(scenario);
    let mut source = QueueSource { scenario, seed, custom, shaped: shaped.iter().map(|(hop, _)| *hop).collect() };
    let mut topology = Topology {
        links: Vec::new(),
        media: Vec::new(),
        table: Vec::new(),
        routes: Vec::new(),
        flows: 0,
        shapers: Vec::new(),
        rate_changes: Vec::new(),
        first_host_link: 0,
        ports: Ports::default(),
        prefetches: false,
    };
    for (index, link) in scenario.links.iter().enumerate() {
        for (side, reverse) in [(&link.forward, false), (&link.reverse, true)] {
            let hop = Hop { link: index, reverse };
            let kind = topology.kind(queue_side(side), source.metered_flows(hop));
            let kind = LinkKind { sizes_differ: source.sizes_differ(hop), ..kind };
            topology.add_link(&kind, &mut source)?;
        }
    }
    for (hop, shaper) in shaped {
        topology.add_buffer(hop, shaper, &mut source)?;
    }
    topology.first_host_link = topology.links.len() as u32;
    topology.reserve(scenario);
    let mut routing = Routing::default();
    for group in &scenario.flows {
        let ends = [(&group.source, false), (&group.sink, true)]
            .map(|(access, sink)| access.as_ref().map(|access| topology.host_kinds(access, group, sink)));
        routing.begin_group();
        for _ in 0..group.count {
            let hosts = topology.add_hosts(&ends, &mut source)?;
            topology.add_flow(group, hosts, &mut routing);
        }
    }
    topology.add_probe_routes(shaped_hops(scenario).into_iter().map(|(hop, _)| hop), &mut routing);
    topology.finish(scenario, &routing, source.custom.is_some(), shortcuts);
    Ok(topology)
}

impl Topology {
    /// Adds the buffer of the link `hop` behind its shaper.
    fn add_buffer(&mut self, hop: Hop, shaper: &Shaper, source: &mut QueueSource<'_, '_>) -> Result<(), QueueError> {
        let scenario = source.scenario;
        let link = &scenario.links[hop.link];
        let side = if hop.reverse { &link.reverse } else { &link.forward };
        let size = QdiscParameters::new(Kind::DropTail).with("limit", shaper.buffer.to_string().as_str());
        let queue = size.and_then(|size| size.resolve(side.rate));
        let queue = queue.map_err(|error| QueueError { link: link_name(scenario, link_of(hop)), error })?;
        let side = LinkSide { queue, wire: Wire { policer: None, shaper: None, ..side.wire.clone() }, ..side.clone() };
        let kind = LinkKind { droptail: false, ..self.kind(side, source.metered_flows(hop)) };
        let (queue, number) = (link_of(hop), self.shapers.len() as u32);
        let buffer = self.add_link(&kind, source)?;
        for (link, part) in [(queue, ShapedPart::Queue(number)), (buffer, ShapedPart::Buffer(number))] {
            if let LinkQueue::Managed(managed) = &mut self.links[link as usize].queue {
                (managed.part, managed.is_special) = (Some(part), true);
            }
        }
        let flows: u32 = scenario.flows.iter().map(|group| group.count).sum();
        self.shapers.push(LinkShaper::new(queue, buffer, shaper, flows + number * REFLECTORS));
        Ok(())
    }

    /// Returns the kind of links like `side`, and adds its medium. With `metered` the packets of those flows are
    /// counted.
    fn kind(&mut self, side: LinkSide, metered: Option<FlowRanges>) -> LinkKind {
        let droptail = metered.is_none() && side.wire == Wire::default();
        let limit = droptail_limit(side.queue.config()).filter(|_| droptail);
        self.media.push(Medium::new(&side, limit.unwrap_or(0)));
        LinkKind { side, droptail: limit.is_some(), sizes_differ: true, metered, medium: self.media.len() as u32 - 1 }
    }

    /// Returns the kinds of the links of a host of `group`, in the direction of the data and in the other one. Each has
    /// its own medium, since most packets of one direction have the same size.
    fn host_kinds(&mut self, access: &Access, group: &FlowGroup, sink: bool) -> [LinkKind; 2] {
        let Access { rate, delay, queue } = access;
        // Packets that open a connection have the size of an acknowledgement.
        let (differ, ack) = match &group.traffic {
            Traffic::Udp(udp) => (udp.sizes_differ(), None),
            // Some acknowledgements carry requests.
            Traffic::Tcp(Tcp { application: Application::Rpc(_) | Application::Own(_), handshake, .. }) => {
                (*handshake, None)
            }
            Traffic::Tcp(tcp) => (tcp.handshake, Some(packet_bytes(tcp.ack))),
            Traffic::Tfrc(_) => (false, None),
            Traffic::Endpoint => (true, None),
        };
        [true, false].map(|data| {
            let side = LinkSide { rate: *rate, delay: *delay, queue: queue.clone(), wire: Default::default() };
            let kind = LinkKind { sizes_differ: if data { differ } else { ack.is_none() }, ..self.kind(side, None) };
            let bytes = if data { Some(packet_bytes(group.packet)) } else { ack };
            self.media[kind.medium as usize].carries = Some(Carries { sink, data, bytes });
            kind
        })
    }

    /// Adds the links of one flow's hosts: at each end that has some, in the direction of the data and in the other
    /// one.
    fn add_hosts(
        &mut self,
        ends: &[Option<[LinkKind; 2]>; 2],
        source: &mut QueueSource<'_, '_>,
    ) -> Result<[Option<[u32; 2]>; 2], QueueError> {
        let mut hosts = [None; 2];
        for (host, end) in hosts.iter_mut().zip(ends) {
            if let Some([data, other]) = end {
                let data = self.add_link(data, source)?;
                *host = Some([data, self.add_link(other, source)?]);
            }
        }
        Ok(hosts)
    }

    /// Reserves exactly the memory for the hosts' links: growing by doubling could take twice as much.
    fn reserve(&mut self, scenario: &Scenario) {
        let links = |group: &FlowGroup| 2 * (usize::from(group.source.is_some()) + usize::from(group.sink.is_some()));
        self.links.reserve_exact(scenario.flows.iter().map(|group| group.count as usize * links(group)).sum());
    }

    /// Adds one direction of a link and returns its number.
    fn add_link(&mut self, kind: &LinkKind, source: &mut QueueSource<'_, '_>) -> Result<u32, QueueError> {
        let id = self.links.len() as u32;
        let queue = source.queue(kind, id)?;
        self.links.push(Link::new(kind.medium, queue));
        Ok(id)
    }
}

/// Returns the side of the queue: with a shaper, what empties it has the shaper's rate, and nothing else.
fn queue_side(side: &LinkSide) -> LinkSide {
    match &side.wire.shaper {
        None => side.clone(),
        Some(shaper) => {
            let wire = Wire { policer: side.wire.policer, shaper: side.wire.shaper.clone(), ..Wire::default() };
            LinkSide { rate: shaper.rate, delay: Duration::ZERO, queue: side.queue.clone(), wire }
        }
    }
}

impl QueueSource<'_, '_> {
    /// Returns the flows that are counted at `hop`; `None` if outcomes do not have its queue.
    fn metered_flows(&self, hop: Hop) -> Option<FlowRanges> {
        self.scenario.reports(hop).then(|| flows_across(self.scenario, &self.shaped, hop))
    }

    /// Returns true if the packets that cross `hop`, which carries no data, may differ in size.
    fn sizes_differ(&self, hop: Hop) -> bool {
        let answers = |group: &&FlowGroup| !matches!(group.traffic, Traffic::Udp(_)) && group.back.contains(&hop);
        let mut sizes = self.scenario.flows.iter().filter(answers).map(|group| match &group.traffic {
            Traffic::Tcp(tcp) => Some(tcp.ack),
            _ => None,
        });
        let first = sizes.next().flatten();
        first.is_none() || sizes.any(|size| size != first)
    }

    /// Builds the queue of link `id`. Names are only formatted where they are needed: there may be millions of links.
    fn queue(&mut self, kind: &LinkKind, id: u32) -> Result<LinkQueue, QueueError> {
        let LinkKind { side, droptail, sizes_differ, metered, .. } = kind;
        let name = || link_name(self.scenario, id);
        let host = |name: &str| Host { rate: side.rate, seed: self.seed.named("queue").named(name) };
        let custom = self.custom.as_mut().and_then(|custom| {
            let name = name();
            custom(&name, &host(&name))
        });
        let brought = custom.is_some();
        let named = match custom {
            Some(custom) => custom,
            None if *droptail => return Ok(LinkQueue::Droptail(DroptailLink::new(*sizes_differ))),
            None => {
                let link = name();
                match discipline(&side.queue, &host(&link)) {
                    Ok(discipline) => (side.queue.kind().name(), discipline),
                    Err(error) => return Err(QueueError { link, error }),
                }
            }
        };
        let impairments = Impairments::new(side, || self.seed.named("wire").named(&name()));
        Ok(LinkQueue::Managed(Box::new(Managed::new(named, brought, metered.as_ref(), impairments, side.wire.policer))))
    }
}

/// Returns the discipline of `queue`. Not generic, so that a program has the code of the disciplines once.
#[inline(never)]
pub(crate) fn discipline(queue: &QdiscConfig, host: &Host) -> Result<BoxQdisc<Packet>, ParameterError> {
    queue.build(host)
}
