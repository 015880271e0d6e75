//! Nodes and links: the `[bottleneck]` shorthand, `[[links]]` and `[access]`.

use std::ops::RangeInclusive;

use fairlane_qdisc::{Duration, Rate};

use crate::error::ScenarioError;
use crate::field::{Elsewhere, Reader, name};
use crate::model::{Access, Link, LinkSide};
use crate::read::RATE;
use crate::read::queue::{plain, queue};
use crate::read::wire;
use crate::wire::Wire;

/// The nodes of the dumbbell.
pub(crate) const LEFT: &str = "left";
/// The other one.
pub(crate) const RIGHT: &str = "right";
/// The dumbbell's only link, and so its queue.
const BOTTLENECK: &str = "bottleneck";

const DELAY: Duration = Duration::from_millis(1);
const DELAYS: RangeInclusive<Duration> = Duration::ZERO..=Duration::from_millis(1_000_000);
/// Ten times the bottleneck of the CHOKe papers.
const ACCESS_RATE: Rate = Rate::from_bits_per_second(10_000_000);

/// The keys of `[bottleneck]`.
const BOTTLENECK_KEYS: [&str; 8] = ["rate", "delay", "queue", "shaper", "reverse", "loss", "jitter", "reorder"];
/// The keys of one of `[[links]]`.
pub(crate) const LINK_KEYS: [&str; 11] =
    ["name", "from", "to", "rate", "delay", "queue", "shaper", "reverse", "loss", "jitter", "reorder"];
/// The keys of `reverse`.
pub(crate) const SIDE_KEYS: [&str; 7] = ["rate", "delay", "queue", "shaper", "loss", "jitter", "reorder"];
/// The keys of `access`.
const ACCESS_KEYS: [&str; 3] = ["rate", "delay", "queue"];

const WIRE_IS_OF_LINKS: &str = "it is for links between nodes: [bottleneck] or [[links]]";
const ACCESS_ELSEWHERE: Elsewhere =
    &[("loss", WIRE_IS_OF_LINKS), ("jitter", WIRE_IS_OF_LINKS), ("reorder", WIRE_IS_OF_LINKS)];
const SIDE_ELSEWHERE: Elsewhere = &[
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
    pub(crate) access: Option<Access>,
    /// By default flows run from left to right.
    pub(crate) dumbbell: bool,
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
        Some(field) => Some(access(None, field.table()?)?),
        None if network.dumbbell => Some(default_access(root)?),
        None => None,
    };
    Ok(network)
}

fn dumbbell(table: Reader<'_>) -> Result<Network, ScenarioError> {
    let table = table.only(&BOTTLENECK_KEYS, SIDE_ELSEWHERE)?;
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
            return Err(error.with_help("give each link a name of its own: name = \"…\""));
        }
        network.links.push(link);
    }
    Ok(network)
}

/// Reads one of `[[links]]`; a node that has not been named before is added to `nodes`.
fn link(table: Reader<'_>, nodes: &mut Vec<String>) -> Result<Link, ScenarioError> {
    let table = table.only(&LINK_KEYS, SIDE_ELSEWHERE)?;
    let from = name(&table.need("from", "\"r1\"")?)?;
    let to_field = table.need("to", "\"r2\"")?;
    let to = name(&to_field)?;
    if from == to {
        return Err(to_field.error(format!("a link joins two nodes, and this one begins and ends at \"{to}\"")));
    }
    let link_name =
        table.get("name").map_or_else(|| Ok(link_name(from, to)), |field| name(&field).map(str::to_owned))?;
    let (forward, reverse) = sides(&table.called(format!("links.{link_name}")))?;
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

/// Both directions; the reverse one has the same rate and delay unless `reverse` says otherwise, and a queue, loss and jitter
/// of its own.
fn sides(table: &Reader<'_>) -> Result<(LinkSide, LinkSide), ScenarioError> {
    let (rate, rates) = wire::rate(&table.need("rate", "\"1mbit\"")?)?;
    let delay = delay(table, DELAY)?;
    let wire = wire::wire(table, delay, rates)?;
    let forward = LinkSide { rate, delay, queue: queue(table, wire.queue_rate(rate))?, wire };
    let reverse = match table.get("reverse") {
        Some(field) => side(field.table()?, &forward)?,
        None => LinkSide { rate, delay, queue: plain(table, rate)?, wire: same_rate(&forward) },
    };
    Ok((forward, reverse))
}

fn side(table: Reader<'_>, forward: &LinkSide) -> Result<LinkSide, ScenarioError> {
    let table = table.only(&SIDE_KEYS, SIDE_ELSEWHERE)?;
    let same = || Ok((forward.rate, forward.wire.rates.clone()));
    let (rate, rates) = table.get("rate").map_or_else(same, |field| wire::rate(&field))?;
    let delay = delay(&table, forward.delay)?;
    let wire = wire::wire(&table, delay, rates)?;
    Ok(LinkSide { rate, delay, queue: queue(&table, wire.queue_rate(rate))?, wire })
}

/// A wire whose rate varies as that of the other direction, without loss or jitter.
fn same_rate(forward: &LinkSide) -> Wire {
    Wire { rates: forward.wire.rates.clone(), ..Wire::default() }
}

/// An access link; missing keys are as in `base`.
pub(crate) fn access(base: Option<&Access>, table: Reader<'_>) -> Result<Access, ScenarioError> {
    let table = table.only(&ACCESS_KEYS, &[ACCESS_ELSEWHERE, SIDE_ELSEWHERE].concat())?;
    let rate = rate(&table, base.map_or(ACCESS_RATE, |base| base.rate))?;
    let delay = delay(&table, base.map_or(DELAY, |base| base.delay))?;
    let queue = match base {
        Some(base) if table.get("queue").is_none() => {
            base.queue.parameters().resolve(rate).map_err(|error| table.error(error.to_string()))?
        }
        _ => queue(&table, rate)?,
    };
    Ok(Access { rate, delay, queue })
}

fn default_access(root: &Reader<'_>) -> Result<Access, ScenarioError> {
    Ok(Access { rate: ACCESS_RATE, delay: DELAY, queue: plain(root, ACCESS_RATE)? })
}

fn rate(table: &Reader<'_>, default: Rate) -> Result<Rate, ScenarioError> {
    table.get("rate").map_or(Ok(default), |field| field.unit_in(&RATE))
}

fn delay(table: &Reader<'_>, default: Duration) -> Result<Duration, ScenarioError> {
    table.get("delay").map_or(Ok(default), |field| field.unit_in(&DELAYS))
}
