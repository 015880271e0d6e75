//! What a router is told, by the command line and the file together.

use std::path::{Path, PathBuf};

use fairlane_linux::{
    BridgeConfig, DataPath, FlowsBy, Framing, Link, LinkLayer, Marking, QueueConfig, Queues, RouterConfig, mtu,
};
use fairlane_qdisc::{Duration, QdiscConfig};

use super::file::{self, Written};
use crate::args::{self, Log, Metrics, Words};
use crate::error::Failure;
use crate::explain;

/// The bit that says which packets our rules mark, unless told otherwise. The lower ones are what people use.
const CE_MARK: u32 = 0x4000_0000;

/// How long what waits may take to leave at the end, unless told otherwise.
const DRAIN: Duration = Duration::from_millis(2000);

/// Everything that a router is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) router: RouterConfig,
    pub(super) interfaces: Vec<String>,
    pub(super) ce_mark: u32,
    pub(super) drain: Duration,
    pub(super) metrics: Metrics,
    pub(super) log: Log,
}

/// Where the settings come from, so that they can be read again.
#[derive(Debug)]
pub(super) struct Sources {
    words: Words,
    queue: Option<QdiscConfig>,
    file: Option<PathBuf>,
}

impl Sources {
    pub(super) fn new(args: args::Router) -> Result<Self, Failure> {
        let config =
            |kind| explain::config(kind, &args.parameters).map_err(|error| Failure::plain(format!("{kind} {error}")));
        Ok(Self { queue: args.kind.map(config).transpose()?, words: args.words, file: args.config })
    }

    /// The file, if there is one.
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// The settings as the file is now.
    pub(super) fn read(&self) -> Result<Settings, Failure> {
        let Written { words: file, queue } = match &self.file {
            Some(path) => file::read(path)?,
            None => Written::default(),
        };
        let words = &self.words;
        let rate = words.rate.or(file.rate).ok_or_else(|| needs("--rate", "--rate 10mbit"))?;
        let discipline = self.queue.clone().or(queue).ok_or_else(|| needs("a discipline", "choke limit=300p"))?;
        // A queue that contradicts itself is found here, not when packets wait for it.
        let from = self.file.as_ref().filter(|_| self.queue.is_none());
        let from = from.map_or_else(String::new, |path| format!("{}: ", path.display()));
        discipline.explain(rate).map_err(|error| Failure::plain(format!("{from}{} {error}", discipline.kind())))?;
        let interfaces = if words.interface.is_empty() { &file.interface } else { &words.interface };
        let (overhead, mpu) = (words.overhead.or(file.overhead), words.mpu.or(file.mpu));
        let framing = words.framing.or(file.framing).map_or(Framing::None, framing);
        let layer = LinkLayer::new(overhead.unwrap_or(0), mpu.unwrap_or(0), framing).map_err(Failure::plain)?;
        let router = RouterConfig {
            path: path(words, &file, interfaces)?,
            link: Link { rate, layer },
            discipline,
            flows: words.flows.or(file.flows).map_or(FlowsBy::FiveTuple, flows_by),
        };
        Ok(Settings {
            router,
            interfaces: interfaces.clone(),
            ce_mark: ce_mark(words, &file),
            drain: words.drain.or(file.drain).unwrap_or(DRAIN),
            metrics: words.metrics.or(file.metrics).unwrap_or_default(),
            log: words.log.or(file.log).unwrap_or(Log::Text),
        })
    }
}

/// How packets come. With `interfaces` rules of ours bring what leaves by them to a queue.
fn path(words: &Words, file: &Words, interfaces: &[String]) -> Result<DataPath, Failure> {
    let (queue, fail_open) = (words.queue_num.or(file.queue_num), words.fail_open.or(file.fail_open));
    let (gso, ruled) = (words.gso.or(file.gso), !interfaces.is_empty());
    let Some([inside, outside]) = words.bridge.clone().or_else(|| file.bridge.clone()) else {
        let (first, last) = queue.ok_or_else(|| needs("--queue-num or --bridge", "--queue-num 0"))?;
        let queues = Queues::new(first, last).map_err(|error| Failure::plain(format!("queue-num: {error}")))?;
        let marking = if ruled { Marking::ByRule(ce_mark(words, file)) } else { Marking::ByUs };
        let gso = if gso == Some(true) { Some(segments(interfaces)?) } else { None };
        return Ok(DataPath::Queue(QueueConfig { queues, marking, fail_open: fail_open.unwrap_or(false), gso }));
    };
    let of_a_queue = [
        ("--queue-num", queue.is_some()),
        ("--interface", ruled),
        ("--ce-mark", words.ce_mark.or(file.ce_mark).is_some()),
        ("--fail-open", fail_open.is_some()),
    ];
    match of_a_queue.into_iter().find(|(_, given)| *given) {
        Some((word, _)) => {
            let message = format!("{word} is for an NFQUEUE, and --bridge does without one");
            Err(Failure::new(message, format!("leave {word} or --bridge out")))
        }
        None => Ok(DataPath::Bridge(BridgeConfig { inside, outside, gso: gso.unwrap_or(false) })),
    }
}

fn ce_mark(words: &Words, file: &Words) -> u32 {
    words.ce_mark.or(file.ce_mark).unwrap_or(CE_MARK)
}

impl Settings {
    /// Which words differ in `new` and can only change with a new start.
    pub(super) fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let (old, new_path) = (&self.router.path, &new.router.path);
        let differ = [
            ("queue-num", queue(old).map(|queue| queue.queues) != queue(new_path).map(|queue| queue.queues)),
            ("bridge", bridge(old).map(ends) != bridge(new_path).map(ends)),
            ("interface", self.interfaces != new.interfaces),
            ("flows", self.router.flows != new.router.flows),
            ("ce-mark", self.ce_mark != new.ce_mark),
            ("fail-open", queue(old).map(|queue| queue.fail_open) != queue(new_path).map(|queue| queue.fail_open)),
            ("gso", whole(old) != whole(new_path)),
            ("metrics", self.metrics != new.metrics),
            ("log", self.log != new.log),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(word, _)| word).collect()
    }
}

const fn queue(path: &DataPath) -> Option<&QueueConfig> {
    match path {
        DataPath::Queue(queue) => Some(queue),
        DataPath::Bridge(_) => None,
    }
}

const fn bridge(path: &DataPath) -> Option<&BridgeConfig> {
    match path {
        DataPath::Bridge(bridge) => Some(bridge),
        DataPath::Queue(_) => None,
    }
}

fn ends(bridge: &BridgeConfig) -> [&str; 2] {
    [&bridge.inside, &bridge.outside]
}

/// Whether joined packets come whole.
fn whole(path: &DataPath) -> bool {
    queue(path).is_some_and(|queue| queue.gso.is_some()) || bridge(path).is_some_and(|bridge| bridge.gso)
}

fn needs(what: &str, example: &str) -> Failure {
    Failure::new(format!("a router needs {what}"), format!("write for example {example}, or put it into --config"))
}

/// How long segments are on the shortest of these interfaces' links.
fn segments(interfaces: &[String]) -> Result<u32, Failure> {
    let mut least = None;
    for interface in interfaces {
        let mtu = mtu(interface).map_err(Failure::plain)?;
        least = Some(least.map_or(mtu, |least: u32| least.min(mtu)));
    }
    least.ok_or_else(|| {
        let message = "gso needs --interface: packets that are joined must not be written anew, so rules of ours have to mark them";
        Failure::new(message, "name the interface, or leave gso out")
    })
}

const fn framing(framing: args::Framing) -> Framing {
    match framing {
        args::Framing::Noatm => Framing::None,
        args::Framing::Atm => Framing::Atm,
        args::Framing::Ptm => Framing::Ptm,
    }
}

const fn flows_by(flows: args::Flows) -> FlowsBy {
    match flows {
        args::Flows::FiveTuple => FlowsBy::FiveTuple,
        args::Flows::AddressPair => FlowsBy::AddressPair,
    }
}
