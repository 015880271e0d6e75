//! A router's settings, from the command line and the file together.

use std::cell::OnceCell;
use std::io;
use std::path::PathBuf;

use fairlane_console::floods::{self, Finding, Mix};
use fairlane_console::{Failure, explain};
use fairlane_linux::{
    BridgeConfig, DataPath, Exempt, Firewall, FlowsBy, Framing, Link, LinkLayer, MarkBits, Marking, PacketNeeds,
    RouterConfig, mtu, runtime_file,
};
use fairlane_qdisc::{Duration, Host, QdiscParameters, Rate, Seed, SimplePacket};

use super::autorate_settings::AutorateSettings;
use super::file::{self, FileSettings};
use super::path::{Wanted, needs};
use super::ready::refused;
use super::way::{Direction, Path, Way, bridge, queue};
use crate::args::router::{self as args, FileOptions, Log, Metrics, RouterArgs};

/// The maximum number of packets that wait in an NFQUEUE (`max_packets` in fairlane-linux).
const KERNEL_LIMIT: u64 = 65_536;

/// The ending of the names of default sockets.
pub(crate) const SOCKET: &str = ".sock";

/// The bits and the MTU of a machine that is not looked at.
const ANY_MARKS: u32 = 0x1800_0000;
const USUAL_MTU: u32 = 1500;

/// The default of `--drain`.
const DRAIN: Duration = Duration::from_millis(2000);

/// All settings of a router.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    /// One, or the two of `--up` and `--down`.
    pub(super) ways: Vec<Way>,
    /// `None` for a link whose rate does not vary.
    pub(super) autorate: Option<AutorateSettings>,
    /// The reason why `--path auto` chose this path.
    pub(super) chosen: Option<String>,
    pub(super) flows: FlowsBy,
    pub(super) interfaces: Vec<String>,
    pub(super) exempt: Exempt,
    /// The tool of our rules, and the bits of their marks; `None` without rules of ours.
    pub(super) ours: Option<(Firewall, MarkBits)>,
    pub(super) drain: Duration,
    pub(super) metrics: Metrics,
    pub(super) log: Log,
    /// Warnings about the file.
    pub(super) doubts: Vec<String>,
}

/// The sources of the settings, so that they can be read again.
#[derive(Debug)]
pub(super) struct Sources {
    options: FileOptions,
    queue: Option<QdiscParameters>,
    file: Option<PathBuf>,
    /// The tool of our rules, and the bits that were free at the start.
    chosen: OnceCell<(Firewall, MarkBits)>,
    /// `true` if this machine is not looked at.
    elsewhere: bool,
}

impl Sources {
    pub(super) fn new(args: RouterArgs) -> Result<Self, Failure> {
        let config =
            |kind| explain::config(kind, &args.parameters).map_err(|error| Failure::plain(format!("{kind} {error}")));
        Ok(Self {
            queue: args.kind.map(config).transpose()?,
            options: args.options,
            file: args.config,
            chosen: OnceCell::new(),
            elsewhere: args.check_config,
        })
    }

    /// Returns the file, if there is one.
    pub(super) fn file(&self) -> Option<&std::path::Path> {
        self.file.as_deref()
    }

    /// Reads the settings, with the present contents of the file. Returns the first mistake.
    pub(super) fn read(&self) -> Result<Settings, Failure> {
        self.read_all().map_err(|mistakes| mistakes.into_iter().next().unwrap_or(Failure::Logged))
    }

    /// Reads the settings, with the present contents of the file. Returns all mistakes in single keys, or the first one
    /// of the whole; at least one.
    pub(super) fn read_all(&self) -> Result<Settings, Vec<Failure>> {
        let contents = self.file.as_ref().map_or_else(|| Ok(FileSettings::default()), |path| file::read(path));
        let mut contents = contents.map_err(|failure| vec![failure])?;
        if contents.mistakes.is_empty() {
            self.resolve(contents).map_err(|failure| vec![failure])
        } else {
            Err(std::mem::take(&mut contents.mistakes))
        }
    }

    /// Returns the settings of the command line and the file together.
    fn resolve(&self, contents: FileSettings) -> Result<Settings, Failure> {
        let FileSettings { options: file, queue, autorate, doubts, .. } = contents;
        let options = &self.options;
        let rates = rates(options, &file)?;
        let given = self.queue.as_ref().or(queue.as_ref());
        let discipline = given.ok_or_else(|| needs("a discipline", "choke limit=300p"))?;
        let from = self.file.as_ref().filter(|_| self.queue.is_none());
        let from = from.map_or_else(String::new, |path| format!("{}: ", path.display()));
        let interfaces = if options.interface.is_empty() { &file.interface } else { &options.interface };
        let exempt = Exempt::new(if options.exempt.is_empty() { &file.exempt } else { &options.exempt });
        let (overhead, mpu) = (options.overhead.or(file.overhead), options.mpu.or(file.mpu));
        let framing = options.framing.or(file.framing).map_or(Framing::None, framing);
        let layer = LinkLayer::new(overhead.unwrap_or(0), mpu.unwrap_or(0), framing).map_err(Failure::plain)?;
        let flows = options.flows.or(file.flows).map_or(FlowsBy::FiveTuple, flows_by);
        let (mut ways, mut chosen, both) = (Vec::new(), None, rates.len() > 1);
        for (direction, rate) in rates {
            // Contradictions are found here, before packets wait.
            let refused = |error| Failure::plain(format!("{from}{} {error}", discipline.kind()));
            let discipline = discipline.resolve(rate).map_err(refused)?;
            let link = Link { rate, layer };
            let before = ways.len() as u16;
            let wanted = Wanted {
                options,
                file: &file,
                interfaces,
                exempt: &exempt,
                link,
                discipline: &discipline,
                flows,
                direction,
                both,
                before,
                mtu: &|interface| if self.elsewhere { Ok(USUAL_MTU) } else { mtu(interface) },
                ours: &|| self.ours(options.marks.or(file.marks)),
            };
            let (path, reason) = wanted.path()?;
            chosen = reason;
            ways.push(Way { direction, path, link, discipline });
        }
        let ruled = !interfaces.is_empty() && ways.iter().any(|way: &Way| way.path.queues().is_some());
        let autorate = autorate.map(|table| table.resolve(&ways, interfaces)).transpose()?;
        Ok(Settings {
            ways,
            autorate,
            chosen,
            flows,
            interfaces: interfaces.clone(),
            exempt,
            ours: ruled.then(|| self.ours(options.marks.or(file.marks))).transpose()?,
            drain: options.drain.or(file.drain).unwrap_or(DRAIN),
            metrics: options.metrics.clone().or(file.metrics).unwrap_or_default(),
            log: options.log.or(file.log).unwrap_or(Log::Text),
            doubts,
        })
    }

    /// Returns the tool of our rules and the bits of their marks: those that are `given`, or two that were free when
    /// this was first asked.
    fn ours(&self, given: Option<u32>) -> Result<(Firewall, MarkBits), Failure> {
        let find = || {
            let firewall = if self.elsewhere { Firewall::Nft } else { Firewall::find()? };
            let free = || if self.elsewhere { MarkBits::new(ANY_MARKS) } else { firewall.choose_marks() };
            Ok((firewall, given.map_or_else(free, MarkBits::new)?))
        };
        let (firewall, bits) = match self.chosen.get() {
            Some(chosen) => *chosen,
            None => *self.chosen.get_or_init({
                let found = find().map_err(|error| refused(&error))?;
                move || found
            }),
        };
        let given = given.map(MarkBits::new).transpose().map_err(|error| refused(&error))?;
        Ok((firewall, given.unwrap_or(bits)))
    }
}

/// Returns the directions and their rates: the command line's, if it has any, otherwise the file's.
fn rates(options: &FileOptions, file: &FileOptions) -> Result<Vec<(Option<Direction>, Rate)>, Failure> {
    let any = |options: &&FileOptions| options.rate.or(options.up).or(options.down).is_some();
    let given = [options, file].into_iter().find(any).ok_or_else(|| needs("--rate", "--rate 10mbit"))?;
    let both = [(Direction::Up, given.up), (Direction::Down, given.down)];
    match (given.rate, both.into_iter().filter_map(|(way, rate)| Some((Some(way), rate?))).collect()) {
        (None, both) => Ok(both),
        (Some(rate), both) if both.is_empty() => Ok(vec![(None, rate)]),
        _ => Err(Failure::new("--rate and --up or --down contradict each other", "leave --rate out")),
    }
}

impl Settings {
    /// Returns the configuration of a router in this process, whose packets wait at `path`.
    pub(super) fn config(&self, way: &Way, path: DataPath) -> RouterConfig {
        RouterConfig { path, link: way.link, discipline: way.discipline.clone(), flows: self.flows }
    }

    /// Returns the path, which is the same for both directions but for the numbers of queues.
    pub(super) fn path(&self) -> Option<&Path> {
        self.ways.first().map(|way| &way.path)
    }

    /// Returns the default socket for metrics, whose name tells the path.
    pub(super) fn socket(&self) -> io::Result<PathBuf> {
        let name = match self.path() {
            Some(Path::Process(DataPath::Queue(queue))) => format!("queue-{}", queue.queues.first()),
            Some(Path::Process(DataPath::Bridge(bridge))) => format!("bridge-{}", bridge.inside),
            Some(Path::Kernel(interface)) => format!("bpf-{interface}"),
            None => "router".to_owned(),
        };
        runtime_file(&format!("{name}{SOCKET}"))
    }

    /// Returns the warnings for an operator, before packets wait.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = self.doubts.clone();
        if let Metrics::At(address) = &self.metrics
            && !address.ip().is_loopback()
        {
            warnings.push(format!("--metrics {address}: whoever reaches this port learns whose packets pass here"));
        }
        for network in self.exempt.networks().iter().filter(|network| network.prefix() == 0) {
            let family = if network.address().is_ipv4() { "IPv4" } else { "IPv6" };
            warnings.push(format!("--exempt {network}: no {family} packet is queued"));
        }
        for way in &self.ways {
            let (kind, explanation) = (way.discipline.kind(), way.discipline.explanation());
            warnings.extend(explanation.warnings.iter().map(|warning| format!("{kind}: {warning}")));
            let limit = explanation.parameters.iter().find(|parameter| parameter.key == "limit");
            let packets = limit.and_then(|limit| limit.value.strip_suffix('p')?.parse::<u64>().ok());
            if way.path.queues().is_some() && packets.is_some_and(|packets| packets > KERNEL_LIMIT) {
                warnings.push(format!(
                    "{kind}: the kernel holds at most {KERNEL_LIMIT} packets, so a larger limit has no effect"
                ));
            }
        }
        warnings.dedup();
        warnings
    }

    /// Returns the part of the link that a flood keeps under the discipline, if that is much more than its fair share;
    /// `None` also if it is not known.
    pub(super) fn note(&self) -> Option<String> {
        let way = self.ways.first()?;
        let (kind, mix) = (way.discipline.kind(), Mix { rate: way.link.rate, rtt: None, flows: None });
        match floods::find(kind, &mix)? {
            Finding::Unfair(text) => Some(format!("{kind}: {text}; docs/deploy.md tells when")),
            Finding::Fair(_) => None,
        }
    }

    /// Returns the bridges of `new`, one for each way, if their interfaces are other ones.
    pub(super) fn bridges_moved<'n>(&self, new: &'n Self) -> Vec<&'n BridgeConfig> {
        let paths = self.ways.iter().zip(&new.ways).map(|(old, new)| (&old.path, &new.path));
        let moved = |(old, new)| bridge(new).filter(|new| bridge(old) != Some(new));
        paths.filter_map(moved).collect()
    }

    /// Checks that all disciplines can be built.
    pub(super) fn can_be_built(&self) -> Result<(), String> {
        let built = |way: &Way| {
            let host = Host { rate: way.link.rate, seed: Seed::new(0) };
            way.discipline
                .build::<SimplePacket>(&host)
                .map(drop)
                .map_err(|error| format!("{} {error}", way.discipline.kind()))
        };
        self.ways.iter().try_for_each(built)
    }

    /// Checks that a running router can take `new` settings.
    pub(super) fn can_become(&self, new: &Self) -> Result<(), String> {
        let fixed = self.fixed(new);
        if fixed.is_empty() {
            return Ok(());
        }
        let words = fixed.join(", ");
        Err(format!(
            "{words}: this cannot change while the router runs; start it again for that, or write it as before"
        ))
    }

    /// Returns the options that differ in `new` and can only change with a new start.
    fn fixed(&self, new: &Self) -> Vec<&'static str> {
        let of =
            |settings: &Self| -> Vec<Option<Direction>> { settings.ways.iter().map(|way| way.direction).collect() };
        let ways = || self.ways.iter().zip(&new.ways);
        let paths = || ways().map(|(old, new)| (&old.path, &new.path));
        if paths().any(|(old, new)| old.kind() != new.kind()) {
            return vec!["path"];
        }
        let numbers = |path| queue(path).map(|queue| queue.queues);
        let fail_open = |path| queue(path).map(|queue| queue.fail_open);
        let by_rule = |path| queue(path).is_some_and(|queue| queue.marking != Marking::ByUs);
        let needs = |way: &Way| PacketNeeds::of(way.discipline.config());
        let differ = [
            ("the choice of --rate, --up and --down", of(self) != of(new)),
            ("queue-num", paths().any(|(old, new)| numbers(old) != numbers(new))),
            (
                "bridge",
                paths()
                    .any(|(old, new)| bridge(old).zip(bridge(new)).is_some_and(|(old, new)| changes_sides(old, new))),
            ),
            ("interface", self.interfaces != new.interfaces && !self.can_move(new)),
            ("marks", self.ours.is_some() && new.ours.is_some() && self.ours != new.ours),
            ("fail-open", paths().any(|(old, new)| fail_open(old) != fail_open(new))),
            ("wash", ways().any(|(old, new)| by_rule(&old.path) && needs(new).wash)),
            ("nat", ways().any(|(old, new)| needs(new).nat && !needs(old).nat)),
            ("gso", paths().any(|(old, new)| whole(old) != whole(new))),
            ("log", self.log != new.log),
        ];
        differ.into_iter().filter(|(_, differs)| *differs).map(|(word, _)| word).collect()
    }

    /// Returns `true` if the interfaces may change to those of `new`: rules of ours send their packets to NFQUEUEs
    /// before and after.
    fn can_move(&self, new: &Self) -> bool {
        let queued = |settings: &Self| settings.ways.iter().all(|way| way.path.queues().is_some());
        let ruled = |settings: &Self| queued(settings) && !settings.interfaces.is_empty();
        ruled(self) && ruled(new)
    }
}

/// Returns `true` if an interface is inside before and outside then, or the other way round.
fn changes_sides(old: &BridgeConfig, new: &BridgeConfig) -> bool {
    old.inside == new.outside || old.outside == new.inside
}

/// Returns true if GSO packets are queued whole.
fn whole(path: &Path) -> bool {
    queue(path).is_some_and(|queue| queue.gso) || bridge(path).is_some_and(|bridge| bridge.gso)
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
        args::Flows::Inner => FlowsBy::Inner,
        args::Flows::AddressPair => FlowsBy::AddressPair,
        args::Flows::SourceAddress => FlowsBy::SourceAddress,
        args::Flows::DestinationAddress => FlowsBy::DestinationAddress,
    }
}
