//! A router's settings, from the command line and the file together.

use std::mem::discriminant;
use std::path::PathBuf;

use fairlane_console::{Failure, explain};
use fairlane_linux::{BridgeConfig, DataPath, FlowsBy, Framing, Link, LinkLayer, QueueConfig, RouterConfig, mtu};
use fairlane_qdisc::{Duration, QdiscConfig, QdiscParameters};

use super::file::{self, FileSettings};
use super::path::Wanted;
use crate::args::router::{self as args, FileOptions, Log, MetricsAddress, RouterArgs};

/// The default bit that tells our rules which packets to mark. Lower bits are in common use.
const CE_MARK: u32 = 0x4000_0000;

/// The default of `--drain`.
const DRAIN: Duration = Duration::from_millis(2000);

/// Where packets wait.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Path {
    /// In this process, or in the kernel for this process.
    Process(DataPath),
    /// In the kernel, in a BPF program at this interface.
    Kernel(String),
}

/// All settings of a router.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub(super) path: Path,
    /// The reason why `--path auto` chose this path.
    pub(super) chosen: Option<String>,
    pub(super) link: Link,
    pub(super) discipline: QdiscConfig,
    pub(super) flows: FlowsBy,
    pub(super) interfaces: Vec<String>,
    pub(super) ce_mark: u32,
    pub(super) drain: Duration,
    pub(super) metrics: MetricsAddress,
    pub(super) log: Log,
}

/// The sources of the settings, so that they can be read again.
#[derive(Debug)]
pub(super) struct Sources {
    options: FileOptions,
    queue: Option<QdiscParameters>,
    file: Option<PathBuf>,
}

impl Sources {
    pub(super) fn new(args: RouterArgs) -> Result<Self, Failure> {
        let config =
            |kind| explain::config(kind, &args.parameters).map_err(|error| Failure::plain(format!("{kind} {error}")));
        Ok(Self { queue: args.kind.map(config).transpose()?, options: args.options, file: args.config })
    }

    /// Returns the file, if there is one.
    pub(super) fn file(&self) -> Option<&std::path::Path> {
        self.file.as_deref()
    }

    /// Reads the settings, with the present contents of the file.
    pub(super) fn read(&self) -> Result<Settings, Failure> {
        let FileSettings { options: file, queue } = match &self.file {
            Some(path) => file::read(path)?,
            None => FileSettings::default(),
        };
        let options = &self.options;
        let rate = options.rate.or(file.rate).ok_or_else(|| needs("--rate", "--rate 10mbit"))?;
        let given = self.queue.as_ref().or(queue.as_ref());
        let discipline = given.ok_or_else(|| needs("a discipline", "choke limit=300p"))?;
        // Contradictions are found here, before packets wait.
        let from = self.file.as_ref().filter(|_| self.queue.is_none());
        let from = from.map_or_else(String::new, |path| format!("{}: ", path.display()));
        let refused = |error| Failure::plain(format!("{from}{} {error}", discipline.kind()));
        let discipline = discipline.resolve(rate).map_err(refused)?;
        let interfaces = if options.interface.is_empty() { &file.interface } else { &options.interface };
        let (overhead, mpu) = (options.overhead.or(file.overhead), options.mpu.or(file.mpu));
        let framing = options.framing.or(file.framing).map_or(Framing::None, framing);
        let layer = LinkLayer::new(overhead.unwrap_or(0), mpu.unwrap_or(0), framing).map_err(Failure::plain)?;
        let link = Link { rate, layer };
        let flows = options.flows.or(file.flows).map_or(FlowsBy::FiveTuple, flows_by);
        let wanted = Wanted { options, file: &file, interfaces, link, discipline: &discipline, flows };
        let (path, chosen) = wanted.path()?;
        Ok(Settings {
            path,
            chosen,
            link,
            discipline,
            flows,
            interfaces: interfaces.clone(),
            ce_mark: ce_mark(options, &file),
            drain: options.drain.or(file.drain).unwrap_or(DRAIN),
            metrics: options.metrics.or(file.metrics).unwrap_or_default(),
            log: options.log.or(file.log).unwrap_or(Log::Text),
        })
    }
}

pub(super) fn ce_mark(options: &FileOptions, file: &FileOptions) -> u32 {
    options.ce_mark.or(file.ce_mark).unwrap_or(CE_MARK)
}

impl Settings {
    /// Returns the configuration of a router in this process.
    pub(super) fn config(&self, path: DataPath) -> RouterConfig {
        RouterConfig { path, link: self.link, discipline: self.discipline.clone(), flows: self.flows }
    }

    /// Returns the options that differ in `new` and can only change with a new start.
    pub(super) fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let (old, new_path) = (&self.path, &new.path);
        let differ = [
            ("path", discriminant(old) != discriminant(new_path)),
            ("queue-num", queue(old).map(|queue| queue.queues) != queue(new_path).map(|queue| queue.queues)),
            ("bridge", bridge(old).map(ends) != bridge(new_path).map(ends)),
            ("interface", self.interfaces != new.interfaces),
            ("flows", self.flows != new.flows),
            ("ce-mark", self.ce_mark != new.ce_mark),
            ("fail-open", queue(old).map(|queue| queue.fail_open) != queue(new_path).map(|queue| queue.fail_open)),
            ("gso", whole(old) != whole(new_path)),
            ("metrics", self.metrics != new.metrics),
            ("log", self.log != new.log),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(word, _)| word).collect()
    }
}

const fn queue(path: &Path) -> Option<&QueueConfig> {
    match path {
        Path::Process(DataPath::Queue(queue)) => Some(queue),
        _ => None,
    }
}

const fn bridge(path: &Path) -> Option<&BridgeConfig> {
    match path {
        Path::Process(DataPath::Bridge(bridge)) => Some(bridge),
        _ => None,
    }
}

fn ends(bridge: &BridgeConfig) -> [&str; 2] {
    [&bridge.inside, &bridge.outside]
}

/// Returns true if GSO packets are queued whole.
fn whole(path: &Path) -> bool {
    queue(path).is_some_and(|queue| queue.gso.is_some()) || bridge(path).is_some_and(|bridge| bridge.gso)
}

pub(super) fn needs(what: &str, example: &str) -> Failure {
    Failure::new(format!("a router needs {what}"), format!("write for example {example}, or put it into --config"))
}

/// Returns the smallest MTU of these interfaces.
pub(super) fn segments(interfaces: &[String]) -> Result<u32, Failure> {
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
