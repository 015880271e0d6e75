//! The traffic: `[[flows]]`.

use fairlane_qdisc::{Duration, Rate};

use crate::application::{Application, Web};
use crate::document::Own;
use crate::error::ScenarioError;
use crate::field::{Elsewhere, Field, Reader, name};
use crate::key::{Key, SourceKeys, Takes, key, names};
use crate::model::{FlowGroup, Hop, Traffic};
use crate::read::network::{LEFT, Network, RIGHT, access};
use crate::read::{DEFAULT_PACKET, FLOWS, PACKET, application, endpoint, packets, phases, score, source, tcp, tfrc};
use crate::source::{Source, Udp};
use crate::tcp::{Congestion, Tcp};
use crate::{route, suggest};

pub(crate) const TCP_KEYS: &[Key] = &[
    key("cc", Takes::Choice(|| Congestion::ALL.map(Congestion::name).to_vec()), "reno", "congestion control"),
    key("window", Takes::count(&tcp::WINDOWS), "10000", "the receiver's window in packets"),
    key("tcp", Takes::Table(&tcp::KEYS), "", ""),
    key("source", Takes::Choice(application::kinds), "ftp", "source of the data"),
];
const TCP_ELSEWHERE: Elsewhere = &[
    ("rate", "TCP finds its rate by itself: `rate` is for source = \"cbr\" and kind = \"udp\""),
    ("jitter", "TCP is clocked by its acknowledgements: `jitter` is for kind = \"udp\""),
    ("ecn", "it belongs to the group's TCP: tcp = { ecn = true }"),
    ("preset", "it belongs to the group's TCP: tcp = { preset = \"modern\" }"),
    ("initial_window", "it belongs to the group's TCP: tcp = { initial_window = 10 }"),
    ("min_rto", "it belongs to the group's TCP: tcp = { min_rto = \"200ms\" }"),
    ("delayed_ack", "it belongs to the group's TCP: tcp = { delayed_ack = \"40ms\" }"),
    ("delay", "it belongs to the group's hosts: access = { delay = \"10ms\" }"),
];

#[derive(Clone, Copy)]
enum TrafficKind {
    Tcp,
    Udp,
    Tfrc,
    Endpoint,
}

const KINDS: [(&str, TrafficKind); 4] = [
    ("tcp", TrafficKind::Tcp),
    ("udp", TrafficKind::Udp),
    ("tfrc", TrafficKind::Tfrc),
    ("endpoint", TrafficKind::Endpoint),
];

/// The names of the kinds.
pub(crate) fn kinds() -> Vec<&'static str> {
    names(&KINDS)
}

/// The keys of each source of each kind; the first source is the one that need not be named.
pub(crate) fn sources() -> [(&'static str, Vec<SourceKeys>); 4] {
    KINDS.map(|(name, kind)| match kind {
        TrafficKind::Tcp => (name, application::sources()),
        TrafficKind::Udp => (name, source::sources()),
        TrafficKind::Tfrc => (name, tfrc::sources()),
        TrafficKind::Endpoint => (name, endpoint::sources()),
    })
}

/// The code points of the DSCP that have a name, as bytes: class selectors (RFC 2474), assured forwarding (RFC 2597),
/// expedited forwarding (RFC 3246), voice admit (RFC 5865), lower effort (RFC 8622) and non-queue-building (RFC 9956).
pub(crate) const CLASSES: [(&str, u8); 24] = [
    ("cs0", 0),
    ("cs1", 8 << 2),
    ("cs2", 16 << 2),
    ("cs3", 24 << 2),
    ("cs4", 32 << 2),
    ("cs5", 40 << 2),
    ("cs6", 48 << 2),
    ("cs7", 56 << 2),
    ("af11", 10 << 2),
    ("af12", 12 << 2),
    ("af13", 14 << 2),
    ("af21", 18 << 2),
    ("af22", 20 << 2),
    ("af23", 22 << 2),
    ("af31", 26 << 2),
    ("af32", 28 << 2),
    ("af33", 30 << 2),
    ("af41", 34 << 2),
    ("af42", 36 << 2),
    ("af43", 38 << 2),
    ("ef", 46 << 2),
    ("voice-admit", 44 << 2),
    ("le", 1 << 2),
    ("nqb", 45 << 2),
];

/// Default range of the flows' starts, as in the CHOKe papers.
const STARTS: Duration = Duration::from_millis(1000);
/// Links on a path: IPv4 lets a packet through as many routers.
const MOST_HOPS: usize = 255;

/// The parts of the scenario that a group of flows refers to.
pub(crate) struct Around<'a> {
    pub(crate) network: &'a Network,
    /// The `[tcp]` table.
    pub(crate) tcp: Option<&'a Reader<'a>>,
    /// The parts of the program.
    pub(crate) own: &'a Own,
    pub(crate) duration: Duration,
    pub(crate) max_flows: u32,
}

/// Reads all groups.
pub(crate) fn flows(root: &Reader<'_>, around: &Around<'_>) -> Result<Vec<FlowGroup>, ScenarioError> {
    let field = root.need("flows", "a list: [[flows]] with name = \"ftp\", kind = \"tcp\", count = 32")?;
    let tables = field.tables()?;
    if tables.is_empty() {
        return Err(field.error("there are no flows").with_help("write [[flows]] with name and kind"));
    }
    let mut groups: Vec<FlowGroup> = Vec::with_capacity(tables.len());
    let mut total = 0_u64;
    for table in tables {
        let group_name = table.need("name", "\"ftp\"")?;
        if groups.iter().any(|group| group_name.text().is_ok_and(|name| name == group.name)) {
            let error = group_name.error(format!("there is already a group of flows called {}", group_name.written()));
            return Err(error.with_help("give each group a different name"));
        }
        let name = name(&group_name)?;
        let table = table.called(format!("flows.{name}"));
        let group = group(name, &table, around)?;
        total += u64::from(group.count);
        if total > u64::from(around.max_flows) {
            return Err(too_many(&table, total, around.max_flows));
        }
        groups.push(group);
    }
    Ok(groups)
}

fn too_many(table: &Reader<'_>, total: u64, most: u32) -> ScenarioError {
    let message = format!("this makes {total} flows in all, and at most {most} are allowed");
    let error = table.get("count").map_or_else(|| table.error(&message), |count| count.error(&message));
    error.with_help(format!("if that many are meant, write max_flows = {total} at the top of the file"))
}

fn group(name: &str, table: &Reader<'_>, around: &Around<'_>) -> Result<FlowGroup, ScenarioError> {
    let kind = table.need("kind", "\"tcp\"")?.choice("kind of flow", &KINDS, &[])?;
    let packet = table.get("packet").map_or(Ok(DEFAULT_PACKET), |field| field.unit_in(&PACKET))?;
    let class = table.get("class").map_or(Ok(0), |field| field.choice("traffic class", &CLASSES, &[]))?;
    let traffic = match kind {
        TrafficKind::Tcp => {
            let application = application::ApplicationKind::of(table, &around.own.applications)?;
            let table =
                table.clone().only(&application.group_keys(), &[TCP_ELSEWHERE, application::ELSEWHERE].concat())?;
            Traffic::Tcp(Tcp {
                application: application.read(&table, packet)?,
                ..tcp::of_group((around.tcp, &around.own.congestion), &table, packet, application)?
            })
        }
        TrafficKind::Udp => Traffic::Udp(source::udp(table.clone(), packet)?),
        TrafficKind::Tfrc => Traffic::Tfrc(tfrc::tfrc(table.clone())?),
        TrafficKind::Endpoint => {
            endpoint::endpoint(table.clone())?;
            Traffic::Endpoint
        }
    };
    let count = match &traffic {
        Traffic::Udp(Udp { source: Source::Trace(trace), .. }) => packets::count(table, trace)?,
        Traffic::Tcp(Tcp { application: Application::Web(web), .. }) => browsers(table, web)?,
        _ => table.get("count").map_or(Ok(1), |field| field.count32(&FLOWS))?,
    };
    let phases = phases::phases(table, &traffic, around.duration)?;
    let (start_from, start_to, stop) = match phases.first() {
        Some(first) => (first.from, first.from, Some(first.to)),
        None => times(table, usual_start(&traffic), around.duration)?,
    };
    let score = score::score(table, &traffic)?;
    let path = path(table, around.network)?;
    if path.len() > MOST_HOPS {
        return Err(table.error(format!("the path has {} links, and at most {MOST_HOPS} are allowed", path.len())));
    }
    let hosts = access(around.network, table, own_rate(&traffic))?;
    Ok(FlowGroup {
        name: name.to_owned(),
        count,
        traffic,
        packet,
        class,
        start_from,
        start_to,
        stop,
        score,
        later_phases: phases.into_iter().skip(1).collect(),
        back: route::back(&path),
        path,
        source: hosts.clone(),
        sink: hosts,
    })
}

/// The connections of all browsers of a group: those of one by default.
fn browsers(table: &Reader<'_>, web: &Web) -> Result<u32, ScenarioError> {
    let Some(field) = table.get("count") else { return Ok(web.connections) };
    let count = field.count32(&FLOWS)?;
    if !count.is_multiple_of(web.connections) {
        let message = format!("{count} connections are not whole browsers of {} each", web.connections);
        return Err(field.error(message).with_help("make `count` a multiple of `connections`"));
    }
    Ok(count)
}

/// Returns the default range of starts: flows of a trace start together, as they were recorded.
const fn usual_start(traffic: &Traffic) -> Duration {
    match traffic {
        Traffic::Udp(Udp { source: Source::Trace(_), .. }) => Duration::ZERO,
        _ => STARTS,
    }
}

/// First and last moment to start, and the moment to stop.
fn times(
    table: &Reader<'_>,
    usual: Duration,
    duration: Duration,
) -> Result<(Duration, Duration, Option<Duration>), ScenarioError> {
    let (from, to) =
        table.get("start").map_or(Ok((Duration::ZERO, usual.min(duration))), |field| start(&field, duration))?;
    let Some(field) = table.get("stop") else { return Ok((from, to, None)) };
    let stop: Duration = field.unit()?;
    if stop <= to {
        return Err(field.error(format!("{} is not after the last start, {to}", field.written())));
    }
    Ok((from, to, Some(stop)))
}

/// `"1s"` or `"0s..1s"`.
fn start(field: &Field<'_>, duration: Duration) -> Result<(Duration, Duration), ScenarioError> {
    let text = field.text().map_err(|error| error.with_help("write \"1s\" or a range, \"0s..1s\""))?;
    let moment = |text: &str| {
        let parsed: Result<Duration, _> = text.parse();
        parsed.map_err(|error| field.error(error.to_string()).with_help("a range is written \"0s..1s\""))
    };
    let (from, to) = match text.split_once("..") {
        Some((from, to)) => (moment(from)?, moment(to)?),
        None => (moment(text)?, moment(text)?),
    };
    if from > to {
        return Err(field.error(format!("the range {} ends before it begins", field.written())));
    }
    if from >= duration || to > duration {
        let message = format!("{} is after the end: the scenario lasts {duration}", field.written());
        return Err(field.error(message));
    }
    Ok((from, to))
}

fn path(table: &Reader<'_>, network: &Network) -> Result<Vec<Hop>, ScenarioError> {
    match (table.get("path"), table.get("from"), table.get("to")) {
        (None, None, None) if network.dumbbell => shortest(table, network, (LEFT, RIGHT)),
        (None, Some(from), Some(to)) => {
            node(&from, network)?;
            if node(&to, network)? == node(&from, network)? {
                return Err(to.error(format!("the flows begin and end at the same node, {}", to.written())));
            }
            shortest(table, network, (from.text()?, to.text()?)).map_err(|error| to.error(error.message()))
        }
        (Some(path), None, None) => along(&path, network),
        (Some(path), _, _) => Err(path.error("a group has either `path` or `from` and `to`, and this one has both")),
        (None, Some(only), None) | (None, None, Some(only)) => Err(only.error("`from` and `to` go together")),
        (None, None, None) => {
            let error = table.error("it is not said where the flows run: `from` and `to` are missing");
            Err(error.with_help(format!("write the names of two nodes; there are {}", network.nodes.join(", "))))
        }
    }
}

fn shortest(table: &Reader<'_>, network: &Network, (from, to): (&str, &str)) -> Result<Vec<Hop>, ScenarioError> {
    let index = |name: &str| network.nodes.iter().position(|node| node == name);
    let ends = index(from).zip(index(to));
    ends.and_then(|(from, to)| route::shortest(&network.links, from, to)).ok_or_else(|| {
        let reached = index(from).map(|from| route::reachable(&network.links, from)).unwrap_or_default();
        let names = reached.into_iter().map(|node| network.nodes[node].as_str()).collect::<Vec<_>>().join(", ");
        table.error(format!("no links lead from \"{from}\" to \"{to}\": from \"{from}\" one reaches {names}"))
    })
}

fn along(field: &Field<'_>, network: &Network) -> Result<Vec<Hop>, ScenarioError> {
    let stations = field.texts()?;
    if stations.len() < 2 {
        return Err(field.error("a path names two nodes at least"));
    }
    let mut nodes = Vec::with_capacity(stations.len());
    for station in &stations {
        let node = node(station, network)?;
        if nodes.contains(&node) {
            return Err(station.error(format!("the path visits {} twice", station.written())));
        }
        nodes.push(node);
    }
    route::along(&network.links, &nodes).map_err(|(from, to)| {
        let (from, to) = (&network.nodes[from], &network.nodes[to]);
        field.error(format!("no link joins \"{from}\" and \"{to}\"")).with_help("name every node on the way")
    })
}

fn node(field: &Field<'_>, network: &Network) -> Result<usize, ScenarioError> {
    let text = field.text()?;
    let found = network.nodes.iter().position(|node| node == text);
    found.ok_or_else(|| {
        let names = network.nodes.iter().map(String::as_str);
        field.error(format!("there is no node {}", field.written())).with_help(suggest::help(text, names))
    })
}

/// Returns the rate at which a flow sends by itself; `None` if it has unlimited data.
fn own_rate(traffic: &Traffic) -> Option<Rate> {
    match traffic {
        Traffic::Udp(udp) => Some(udp.rate),
        Traffic::Tfrc(tfrc) => tfrc.rate,
        Traffic::Tcp(Tcp { application: Application::Cbr(cbr), .. }) => Some(cbr.rate),
        Traffic::Tcp(_) | Traffic::Endpoint => None,
    }
}
