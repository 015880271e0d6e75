//! Converts keys and values into a checked scenario.

pub(crate) mod application;
mod endpoint;
pub(crate) mod flows;
mod memory;
pub(crate) mod network;
mod packets;
mod phases;
mod queue;
mod score;
mod shaper;
pub(crate) mod source;
mod tcp;
pub(crate) mod tfrc;
mod trace;
mod wire;

use std::ops::RangeInclusive;

use fairlane_qdisc::{Bytes, Duration, Rate};

use crate::document::Own;
use crate::error::{ScenarioError, SourceText};
use crate::field::{Elsewhere, Reader};
use crate::key::{ANY_TIME, Key, REQUIRED, Takes, key, names};
use crate::model::Scenario;
use crate::tree::Table;

pub(crate) use network::link_name;
pub(crate) use queue::plain_parameters;

pub(crate) const KEYS: &[Key] = &[
    key("name", Takes::Text, "the file's name", "the scenario's name"),
    key("duration", Takes::Time(DURATION), REQUIRED, "simulated time"),
    key("warmup", ANY_TIME, "0s", "time at the start that is left out of every average; less than `duration`"),
    key("seed", Takes::Count(SEEDS), "1", "seed of all random numbers"),
    key("max_flows", Takes::count(&FLOWS), "100000", "more flows than this are taken for a mistake"),
    key("bottleneck", Takes::Table(&network::BOTTLENECK_KEYS), "", ""),
    key(
        "links",
        Takes::List(&Takes::Table(&network::LINK_KEYS)),
        "",
        "instead of `bottleneck`: a network of any topology",
    ),
    key("access", Takes::Table(&network::ACCESS_KEYS), "", ""),
    key("tcp", Takes::Table(&tcp::KEYS), "", ""),
    key("flows", Takes::List(&Takes::Flow), REQUIRED, "the traffic, in groups of flows with the same parameters"),
];
const ELSEWHERE: Elsewhere = &[
    ("nodes", "nodes need no list: they are the ends of the [[links]]"),
    ("link", "links are a list, each begun by [[links]]"),
    ("flow", "flows are a list, each group begun by [[flows]]"),
    ("queue", "a queue belongs to a link: [bottleneck] queue = { kind = \"choke\" }"),
    ("udp", "UDP is a group of flows: [[flows]] kind = \"udp\""),
    ("runs", "how often it runs is asked on the command line: --runs 30"),
];
/// The keys of every group of flows.
pub(crate) const GROUP_KEYS: &[Key] = &[
    key("name", Takes::Name, REQUIRED, "the group's name; its flows are `name/0`, `name/1`, …"),
    key("kind", Takes::Choice(flows::kinds), REQUIRED, "the transport"),
    key("count", Takes::count(&FLOWS), "1; other with `web` and `trace`", "number of flows"),
    key("packet", Takes::Bytes(PACKET), "1000b", "size of a data packet on the wire"),
    key("class", Takes::Choice(|| names(&flows::CLASSES)), "cs0", "the traffic class (DSCP) of its data"),
    key("start", Takes::Times, "0s..1s", "start of each flow, drawn uniformly from a range; within `duration`"),
    key("stop", ANY_TIME, "never", "time when the flows stop; after the last start"),
    key(
        "phases",
        Takes::List(&Takes::Pair(&[ANY_TIME, ANY_TIME])),
        "",
        "instead of `start` and `stop`: the times in which the flows send, each over a fresh connection",
    ),
    key("from", Takes::Name, "left with [bottleneck]", "the node where the path begins"),
    key("to", Takes::Name, "right with [bottleneck]", "the node where the path ends"),
    key("path", Takes::List(&Takes::Name), "", "instead of `from` and `to`: every node on the way"),
    key("access", Takes::Table(&network::ACCESS_KEYS), "", ""),
    key("score", Takes::Choice(|| names(&score::SCORES)), "none", "the application whose score the group has"),
    key(
        "jitter_buffer",
        Takes::Time(score::JITTER_BUFFERS),
        "60ms",
        "of `score = \"voip\"`: a packet is played this time after the earliest moment at which one has come, or not at all",
    ),
];

/// A link's or a sender's rate. Times are whole nanoseconds, whose fractions add up, so that the mean rate is exact.
const RATE: RangeInclusive<Rate> = Rate::from_bits_per_second(1)..=Rate::from_bits_per_second(10_000_000_000_000);
/// A packet; IPv4 has 16 bits for its length.
const PACKET: RangeInclusive<Bytes> = Bytes::new(1)..=Bytes::new(65_535);
const DURATION: RangeInclusive<Duration> = Duration::from_nanos(1)..=Duration::from_millis(1_000_000_000_000);
/// The size of packet of the CHOKe papers.
const DEFAULT_PACKET: Bytes = Bytes::new(1000);
const SEED: u64 = 1;
const SEEDS: RangeInclusive<u64> = 0..=i64::MAX.unsigned_abs();
/// More flows than this are taken for a slip unless `max_flows` allows them.
const MAX_FLOWS: u32 = 100_000;
const FLOWS: RangeInclusive<u32> = 1..=100_000_000;

/// The parts that a file must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// A duration, links and flows.
    All,
    /// Links: others bring the traffic, for as long as they like.
    Links,
}

/// Checks everything; the first thing that is wrong is the error. `own` is what the program brings.
pub(crate) fn scenario(source: &SourceText, table: &Table, own: &Own, needs: Needs) -> Result<Scenario, ScenarioError> {
    let root = Reader::root(source, table).only(KEYS, ELSEWHERE)?;
    let absent = |key: &str| needs == Needs::Links && root.get(key).is_none();
    let name = root.get("name").map_or(Ok(stem(source.name())), |field| field.text())?.to_owned();
    let untimed = absent("duration") && absent("warmup");
    let (duration, warmup) = if untimed { (*DURATION.end(), Duration::ZERO) } else { times(&root)? };
    let seed = root.get("seed").map_or(Ok(SEED), |field| field.count(&SEEDS))?;
    let max_flows = root.get("max_flows").map_or(Ok(MAX_FLOWS), |field| field.count32(&FLOWS))?;
    let network = network::network(&root)?;
    let tcp = root.get("tcp").map(|field| tcp::table(field.table()?)).transpose()?;
    let around = flows::Around { network: &network, tcp: tcp.as_ref(), own, duration, max_flows };
    let flows = if absent("flows") { Vec::new() } else { flows::flows(&root, &around)? };
    memory::check(&root, &network.links, &flows)?;
    Ok(Scenario { name, duration, warmup, seed, nodes: network.nodes, links: network.links, flows })
}

fn times(root: &Reader<'_>) -> Result<(Duration, Duration), ScenarioError> {
    let lasts = root.need("duration", "\"120s\"")?;
    let duration = lasts.unit_in(&DURATION)?;
    let Some(field) = root.get("warmup") else { return Ok((duration, Duration::ZERO)) };
    let warmup: Duration = field.unit()?;
    if warmup >= duration {
        // A shorter duration from the command line is what does not fit the file.
        let place = if lasts.is_given() { lasts } else { field };
        let message = format!("a warm-up of {warmup} leaves nothing to measure of a duration of {duration}");
        return Err(place.error(message).with_help("make `warmup` shorter than `duration`"));
    }
    Ok((duration, warmup))
}

/// A file's name without folders and ending, for scenarios that have no name.
fn stem(file: &str) -> &str {
    let file = file.rsplit(['/', '\\']).next().unwrap_or(file);
    file.strip_suffix(".toml").unwrap_or(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    const REFERENCE: &str = include_str!("../../../docs/scenario.md");

    #[test]
    fn the_reference_names_every_key() {
        let wire = [&wire::RATE_KEYS, &wire::LOSS_KEYS, &wire::POLICER_KEYS, &wire::AGGREGATION_KEYS, &shaper::KEYS];
        let tables = [&network::LINK_KEYS, &network::SIDE_KEYS, &tcp::KEYS].into_iter().chain(wire);
        let flows = [application::sources(), source::sources(), tfrc::sources()].into_iter().flatten();
        let keys = tables.flat_map(|table| table.keys.to_vec()).chain(flows.flat_map(|(_, keys)| keys));
        for Key { name: key, .. } in keys.chain(KEYS.to_vec()) {
            let named = REFERENCE.lines().any(|line| line.starts_with("| ") && line.contains(&format!("`{key}`")));
            assert!(named, "docs/scenario.md has no row for `{key}`");
        }
    }

    #[test]
    fn the_examples_of_the_reference_are_valid() {
        let examples = REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let checked = examples.map(|text| {
            let scenario = Document::parse("docs/scenario.md", text).and_then(|document| document.scenario());
            scenario.unwrap_or_else(|error| panic!("{error}"));
        });
        assert_eq!(checked.count(), 7);
    }
}
