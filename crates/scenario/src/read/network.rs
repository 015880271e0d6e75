//! Nodes and links: the `[bottleneck]` shorthand, `[[links]]` and `[access]`.

use fairlane_qdisc::{Duration, QdiscParameters, Rate};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Reader, name};
use crate::key::{ANY_TIME, Key, REQUIRED, TableKeys, Takes, key};
use crate::model::{Access, Link, LinkSide};
use crate::read::RATE;
use crate::read::queue::{plain, queue};
use crate::read::{shaper, wire};
use crate::wire::{RateSteps, Wire};

/// The nodes of the dumbbell.
pub(crate) const LEFT: &str = "left";
/// The other one.
pub(crate) const RIGHT: &str = "right";
/// The dumbbell's only link, and so its queue.
const BOTTLENECK: &str = "bottleneck";

const DELAY: Duration = Duration::from_millis(1);
/// The hosts' links are this many times as fast as what they carry, unless the file states their rate: so they limit no
/// flow. The CHOKe papers have 10 Mbit/s before 1 Mbit/s.
const ACCESS_FACTOR: u64 = 10;
/// The highest rate of a host's link that is faster than needed: at a higher one packets take less than a nanosecond.
const MOST_AMPLE: Rate = Rate::from_bits_per_second(100_000_000_000);

const LINK_RATE: Key = key("rate", wire::RATES, REQUIRED, "rate of transmission, or a table for a rate that varies");
const DELAY_KEY: Key = key("delay", wire::DELAY, "1ms", "propagation delay, one way, or a table for one that varies");
const QUEUE: Key = key("queue", Takes::Queue, "", "");
const POLICER: Key = key("policer", Takes::Table(&wire::POLICER_KEYS), "", "");
const SHAPER: Key = key("shaper", Takes::Table(&shaper::KEYS), "", "");
const LOSS: Key = key(
    "loss",
    wire::LOSSES,
    "0",
    "random loss on the wire, behind the queue: a probability, or a table for loss in bursts or by time",
);
const JITTER: Key = key("jitter", ANY_TIME, "0s", "each packet's delay is drawn uniformly from `delay` ± this");
const REORDER: Key = key("reorder", Takes::Switch, "false", "packets may overtake each other");
const AGGREGATION: Key = key("aggregation", Takes::Table(&wire::AGGREGATION_KEYS), "", "");
const REVERSE: Key = key("reverse", Takes::Table(&SIDE_KEYS), "", "");

pub(crate) const BOTTLENECK_KEYS: TableKeys = TableKeys {
    name: "bottleneck",
    meaning: "a dumbbell: one link between the nodes `left` and `right`",
    keys: &[LINK_RATE, DELAY_KEY, QUEUE, POLICER, SHAPER, REVERSE, LOSS, JITTER, REORDER, AGGREGATION],
};
pub(crate) const LINK_KEYS: TableKeys = TableKeys {
    name: "link",
    meaning: "a link between two nodes",
    keys: &[
        key("name", Takes::Name, "`from-to`, such as r1-r2", "the link's name in outcomes"),
        key("from", Takes::Name, REQUIRED, "the node where it begins"),
        key("to", Takes::Name, REQUIRED, "the node where it ends"),
        LINK_RATE,
        DELAY_KEY,
        QUEUE,
        POLICER,
        SHAPER,
        REVERSE,
        LOSS,
        JITTER,
        REORDER,
        AGGREGATION,
    ],
};
pub(crate) const SIDE_KEYS: TableKeys = TableKeys {
    name: "reverse",
    meaning: "the other direction of the link: by default the same rate and delay, droptail of 1000 packets, and nothing else",
    keys: &[
        key("rate", wire::RATES, "that of the link", "rate of transmission, or a table for a rate that varies"),
        key("delay", wire::DELAY, "that of the link", "propagation delay, one way, or a table for one that varies"),
        QUEUE,
        POLICER,
        SHAPER,
        LOSS,
        JITTER,
        REORDER,
        AGGREGATION,
    ],
};
pub(crate) const ACCESS_KEYS: TableKeys = TableKeys {
    name: "access",
    meaning: "the links between hosts and nodes",
    keys: &[
        key("rate", Takes::Rate(RATE), "ten times the fastest link, so that it limits no flow", "rate of transmission"),
        key("delay", Takes::Time(wire::DELAYS), "1ms", "propagation delay, one way"),
        QUEUE,
    ],
};

const WIRE_IS_OF_LINKS: &str = "it is for links between nodes: [bottleneck] or [[links]]";
const ACCESS_ELSEWHERE: Elsewhere = &[
    ("loss", WIRE_IS_OF_LINKS),
    ("jitter", WIRE_IS_OF_LINKS),
    ("reorder", WIRE_IS_OF_LINKS),
    ("aggregation", WIRE_IS_OF_LINKS),
    ("policer", WIRE_IS_OF_LINKS),
];
const SIDE_ELSEWHERE: Elsewhere = &[
    ("police", "a policer is called `policer`: policer = { rate = \"5mbit\", burst = \"100kb\" }"),
    ("bandwidth", "the rate of a link is called `rate`: rate = \"1mbit\""),
    ("latency", "the propagation delay of a link is called `delay`: delay = \"1ms\""),
    ("limit", "it is a parameter of the queue: queue = { kind = \"choke\", limit = \"300p\" }"),
    ("kind", "it is a parameter of the queue: queue = { kind = \"choke\" }"),
    ("min", "it is a parameter of the queue: queue = { kind = \"choke\", min = \"100p\" }"),
    ("max", "it is a parameter of the queue: queue = { kind = \"choke\", max = \"200p\" }"),
];

/// The network that flows run over.
pub(crate) struct Network {
    pub(crate) nodes: Vec<String>,
    pub(crate) links: Vec<Link>,
    /// The links between hosts and nodes; `None`: the hosts are the nodes.
    pub(crate) access: Option<AccessTable>,
    /// By default flows run from left to right.
    pub(crate) dumbbell: bool,
}

impl Network {
    /// Returns the default rate of a host's link, for flows that send at `rate` by themselves: ten times `rate` or the
    /// fastest link between nodes, if that is faster. Above 100 Gbit/s the same rate limits no flow either.
    fn access_rate(&self, rate: Option<Rate>) -> Rate {
        let sides = self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let fastest = sides.map(fastest).chain(rate).max().unwrap_or_default();
        let ample = fastest.bits_per_second().saturating_mul(ACCESS_FACTOR);
        Rate::from_bits_per_second(ample).clamp(*RATE.start(), fastest.max(MOST_AMPLE))
    }
}

/// Returns the highest rate that the link has.
fn fastest(side: &LinkSide) -> Rate {
    let steps = side.wire.rates.iter().flat_map(RateSteps::steps).map(|(_, rate)| *rate);
    steps.chain([side.rate]).max().unwrap_or_default()
}

/// The hosts' links in a file: `[access]`, or nothing.
#[derive(Clone)]
pub(crate) struct AccessTable {
    /// `None`: it depends on the flows.
    rate: Option<Rate>,
    delay: Duration,
    /// `None`: the default one.
    queue: Option<QdiscParameters>,
}

/// Reads the network of a scenario.
pub(crate) fn network(root: &Reader<'_>) -> Result<Network, ScenarioError> {
    let (bottleneck, links) = (root.get("bottleneck"), root.get("links"));
    let mut network = match (bottleneck, links) {
        (Some(bottleneck), None) => dumbbell(bottleneck.table()?)?,
        (None, Some(links)) => general(&links.tables()?)?,
        (Some(_), Some(links)) => {
            let error = links.error("a file has either [bottleneck] or [[links]], and this one has both");
            return Err(error.with_help("[bottleneck] is short for one link from \"left\" to \"right\": write it so"));
        }
        (None, None) => {
            let help = "write [bottleneck] with rate = \"1mbit\" and queue = { kind = \"choke\" }, or [[links]]";
            return Err(root.error("there is no link: [bottleneck] is missing").with_help(help));
        }
    };
    network.access = match root.get("access") {
        Some(field) => Some(access_table(None, field.table()?)?),
        None if network.dumbbell => Some(AccessTable { rate: None, delay: DELAY, queue: None }),
        None => None,
    };
    Ok(network)
}

fn dumbbell(table: Reader<'_>) -> Result<Network, ScenarioError> {
    let table = table.only(BOTTLENECK_KEYS.keys, SIDE_ELSEWHERE)?;
    let (forward, reverse) = sides(&table)?;
    let link = Link { name: BOTTLENECK.to_owned(), from: 0, to: 1, forward, reverse };
    let nodes = vec![LEFT.to_owned(), RIGHT.to_owned()];
    Ok(Network { nodes, links: vec![link], access: None, dumbbell: true })
}

fn general(tables: &[Reader<'_>]) -> Result<Network, ScenarioError> {
    let mut network = Network { nodes: Vec::new(), links: Vec::new(), access: None, dumbbell: false };
    for table in tables {
        let link = link(table.clone(), &mut network.nodes)?;
        if network.links.iter().any(|other| other.name == link.name) {
            let message = format!("there is already a link called \"{}\"", link.name);
            let error = table.get("name").map_or_else(|| table.error(&message), |field| field.error(&message));
            return Err(error.with_help("give each link a different name: name = \"…\""));
        }
        network.links.push(link);
    }
    Ok(network)
}

/// Reads one of `[[links]]`; a node that has not been named before is added to `nodes`.
fn link(table: Reader<'_>, nodes: &mut Vec<String>) -> Result<Link, ScenarioError> {
    let table = table.known(LINK_KEYS.keys, SIDE_ELSEWHERE)?;
    let from = name(&table.need("from", "\"r1\"")?)?;
    let to_field = table.need("to", "\"r2\"")?;
    let to = name(&to_field)?;
    if from == to {
        return Err(to_field.error(format!("a link joins two nodes, and this one begins and ends at \"{to}\"")));
    }
    let link_name =
        table.get("name").map_or_else(|| Ok(link_name(from, to)), |field| name(&field).map(str::to_owned))?;
    let (forward, reverse) = sides(&table.called(format!("links.{link_name}")).checked(LINK_KEYS.keys)?)?;
    let mut index = |node: &str| {
        nodes.iter().position(|known| known == node).unwrap_or_else(|| {
            nodes.push(node.to_owned());
            nodes.len() - 1
        })
    };
    Ok(Link { name: link_name, from: index(from), to: index(to), forward, reverse })
}

/// The default name of a link.
pub(crate) fn link_name(from: &str, to: &str) -> String {
    format!("{from}-{to}")
}

/// Both directions. The reverse one has the same rate and delay unless `reverse` says otherwise, and its own queue,
/// loss and jitter.
fn sides(table: &Reader<'_>) -> Result<(LinkSide, LinkSide), ScenarioError> {
    let (rate, rates) = wire::rate(&table.need("rate", "\"1mbit\"")?)?;
    let (delay, delays) = table.get("delay").map_or(Ok((DELAY, None)), |field| wire::delay(&field))?;
    let wire = wire::wire(table, (delay, delays), rates)?;
    let forward = LinkSide { rate, delay, queue: queue(table, wire.queue_rate(rate))?, wire };
    let reverse = match table.get("reverse") {
        Some(field) => side(field.table()?, &forward)?,
        None => LinkSide { rate, delay, queue: plain(table, rate)?, wire: same_link(&forward) },
    };
    Ok((forward, reverse))
}

fn side(table: Reader<'_>, forward: &LinkSide) -> Result<LinkSide, ScenarioError> {
    let table = table.only(SIDE_KEYS.keys, SIDE_ELSEWHERE)?;
    let same = || Ok((forward.rate, forward.wire.rates.clone()));
    let (rate, rates) = table.get("rate").map_or_else(same, |field| wire::rate(&field))?;
    let same = || Ok((forward.delay, forward.wire.delays.clone()));
    let (delay, delays) = table.get("delay").map_or_else(same, |field| wire::delay(&field))?;
    let wire = wire::wire(&table, (delay, delays), rates)?;
    Ok(LinkSide { rate, delay, queue: queue(&table, wire.queue_rate(rate))?, wire })
}

/// A wire whose rate and delay vary as those of the other direction, without loss or jitter.
fn same_link(forward: &LinkSide) -> Wire {
    Wire { rates: forward.wire.rates.clone(), delays: forward.wire.delays.clone(), ..Wire::default() }
}

/// Reads a table of hosts' links; missing keys are as in `base`.
fn access_table(base: Option<&AccessTable>, table: Reader<'_>) -> Result<AccessTable, ScenarioError> {
    let table = table.only(ACCESS_KEYS.keys, &[ACCESS_ELSEWHERE, SIDE_ELSEWHERE].concat())?;
    let stated = table.get("rate").map(|field| field.unit_in(&RATE)).transpose()?;
    let rate = stated.or_else(|| base.and_then(|base| base.rate));
    let delay = delay(&table, base.map_or(DELAY, |base| base.delay))?;
    let own = table.get("queue").map(|_| queue(&table, rate.unwrap_or(*RATE.end()))).transpose()?;
    let own = own.map(|queue| queue.parameters().clone());
    Ok(AccessTable { rate, delay, queue: own.or_else(|| base.and_then(|base| base.queue.clone())) })
}

/// Returns the links of the hosts of a group whose flows send at `rate` by themselves; `None` if its hosts are nodes.
pub(crate) fn access(
    network: &Network,
    group: &Reader<'_>,
    rate: Option<Rate>,
) -> Result<Option<Access>, ScenarioError> {
    let table = match group.get("access") {
        Some(field) => access_table(network.access.as_ref(), field.table()?)?,
        None => match &network.access {
            Some(table) => table.clone(),
            None => return Ok(None),
        },
    };
    let rate = table.rate.unwrap_or_else(|| network.access_rate(rate));
    let queue = match &table.queue {
        Some(parameters) => parameters.resolve(rate).map_err(|error| group.error(error.to_string()))?,
        None => plain(group, rate)?,
    };
    Ok(Some(Access { rate, delay: table.delay, queue }))
}

fn delay(table: &Reader<'_>, default: Duration) -> Result<Duration, ScenarioError> {
    table.get("delay").map_or(Ok(default), |field| field.unit_in(&wire::DELAYS))
}
