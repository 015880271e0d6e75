//! The choice of the data path.

use fairlane_console::Failure;
use fairlane_linux::{
    BridgeConfig, BridgeDirections, DataPath, Exempt, Firewall, FlowsBy, Link, LinkLayer, MarkBits, Marking,
    PacketNeeds, QueueConfig, Queues, RuleError,
};
use fairlane_qdisc::QdiscConfig;

use super::kernel;
use super::way::{Direction, Path};
use crate::args::router::{FileOptions, PathChoice};

/// The request from which the path follows.
pub(super) struct Wanted<'w> {
    pub(super) options: &'w FileOptions,
    pub(super) file: &'w FileOptions,
    pub(super) interfaces: &'w [String],
    pub(super) exempt: &'w Exempt,
    pub(super) link: Link,
    pub(super) discipline: &'w QdiscConfig,
    pub(super) flows: FlowsBy,
    /// `None` for the one of a router with `--rate`.
    pub(super) direction: Option<Direction>,
    /// `true` if both directions are shaped.
    pub(super) both: bool,
    /// The number of directions before this one, whose queues have the numbers before.
    pub(super) before: u16,
    /// Returns the MTU of an interface.
    pub(super) mtu: &'w dyn Fn(&str) -> Result<u32, RuleError>,
    /// Finds the tool of our rules and the bits of their marks.
    pub(super) ours: &'w dyn Fn() -> Result<(Firewall, MarkBits), Failure>,
}

impl Wanted<'_> {
    /// Returns the path, and the reason for it if it was left to us.
    pub(super) fn path(&self) -> Result<(Path, Option<String>), Failure> {
        let (bridge, choice) = (self.bridge(), self.options.path.or(self.file.path));
        if self.direction.is_some() && bridge.is_none() {
            return self.of_direction(choice);
        }
        let asked = |path: Result<Path, Failure>| path.map(|path| (path, None));
        match (choice, bridge) {
            (None | Some(PathChoice::Bridge), Some(ends)) => asked(self.between(ends)),
            (None, None) => {
                asked(self.queue(self.numbers().ok_or_else(|| needs("--queue-num or --bridge", "--queue-num 0"))?))
            }
            (Some(PathChoice::Bridge), None) => Err(needs("--bridge for --path bridge", "--bridge lan0,wan0")),
            (Some(PathChoice::Nfqueue), None) => asked(self.queue(self.numbers().unwrap_or((0, 0)))),
            (Some(PathChoice::Bpf), None) => asked(self.in_kernel()),
            (Some(PathChoice::Auto), Some(ends)) => {
                self.between(ends).map(|path| (path, Some("bridge, since two interfaces are named".to_owned())))
            }
            (Some(PathChoice::Auto), None) => self.best(),
            (Some(PathChoice::Nfqueue | PathChoice::Bpf), Some(_)) => {
                Err(Failure::new("--bridge is a path itself", "leave --bridge or --path out"))
            }
        }
    }

    /// Returns the path of one direction.
    fn of_direction(&self, choice: Option<PathChoice>) -> Result<(Path, Option<String>), Failure> {
        match choice {
            Some(PathChoice::Bridge) => return Err(needs("--bridge for --path bridge", "--bridge lan0,wan0")),
            Some(PathChoice::Bpf) => return Ok((self.in_kernel()?, None)),
            None | Some(PathChoice::Auto | PathChoice::Nfqueue) => {}
        }
        if self.interfaces.is_empty() {
            return Err(needs("--interface for --up and --down", "--interface wan0"));
        }
        let (first, last) = self.numbers().unwrap_or((0, 0));
        let step = last.saturating_sub(first).saturating_add(1).saturating_mul(self.before);
        let (Some(first), Some(last)) = (first.checked_add(step), last.checked_add(step)) else {
            let message = "--queue-num leaves no numbers for the queues of --down, which are behind those of --up";
            return Err(Failure::new(message, "choose smaller numbers"));
        };
        let reason = || "nfqueue; with --path bpf the kernel shapes both directions by itself".to_owned();
        Ok((self.queue((first, last))?, (choice == Some(PathChoice::Auto)).then(reason)))
    }

    /// Returns BPF if that is possible, and otherwise an NFQUEUE; and why.
    fn best(&self) -> Result<(Path, Option<String>), Failure> {
        match self.interface_in_kernel().and_then(|interface| kernel::check().map(|()| interface)) {
            Ok(interface) => {
                let reason = "bpf, since this kernel and this build have a program for the discipline";
                Ok((Path::Kernel(interface), Some(reason.to_owned())))
            }
            Err(reason) => {
                let path = self.queue(self.numbers().unwrap_or((0, 0)))?;
                Ok((path, Some(format!("nfqueue, since bpf is not possible: {reason}"))))
            }
        }
    }

    fn in_kernel(&self) -> Result<Path, Failure> {
        let of_a_queue = [
            ("--queue-num", self.numbers().is_some()),
            ("--marks", self.options.marks.or(self.file.marks).is_some()),
            ("--fail-open", self.options.fail_open.or(self.file.fail_open).is_some()),
            ("--gso", self.options.gso.or(self.file.gso).is_some()),
        ];
        if let Some((word, _)) = of_a_queue.into_iter().find(|(_, given)| *given) {
            let message = format!("{word} is for other paths than bpf");
            return Err(Failure::new(message, format!("leave {word} out")));
        }
        self.interface_in_kernel().map(Path::Kernel).map_err(|reason| Failure::plain(format!("--path bpf: {reason}")))
    }

    /// Returns the interface for a discipline in the kernel, or the reason why there can be none.
    fn interface_in_kernel(&self) -> Result<String, String> {
        let [interface] = self.interfaces else {
            return Err("it takes exactly one --interface".to_owned());
        };
        if self.link.layer != LinkLayer::default() {
            return Err(
                "the kernel knows no --overhead, --mpu and --framing; it counts a packet with its Ethernet header"
                    .to_owned(),
            );
        }
        if self.flows != FlowsBy::FiveTuple {
            return Err("flows are five-tuples there".to_owned());
        }
        if !self.exempt.is_empty() {
            return Err("it knows no --exempt; all packets pass through the discipline".to_owned());
        }
        kernel::has_program(self.discipline, self.link.rate)?;
        Ok(interface.clone())
    }

    fn numbers(&self) -> Option<(u16, u16)> {
        self.options.queue_num.or(self.file.queue_num)
    }

    fn bridge(&self) -> Option<[String; 2]> {
        self.options.bridge.clone().or_else(|| self.file.bridge.clone())
    }

    /// Returns one or more NFQUEUEs. With interfaces, rules of ours send packets leaving by them there.
    fn queue(&self, (first, last): (u16, u16)) -> Result<Path, Failure> {
        let ruled = !self.interfaces.is_empty();
        if !ruled && !self.exempt.is_empty() {
            let message =
                "--exempt needs --interface or --bridge: your own rules decide about the packets of the queue";
            return Err(Failure::new(message, "name the interface, or leave --exempt out"));
        }
        let queues = Queues::new(first, last).map_err(|error| Failure::plain(format!("queue-num: {error}")))?;
        let needs = PacketNeeds::of(self.discipline.config());
        let ours = if ruled { Some((self.ours)()?) } else { None };
        let marking = match ours {
            Some((_, bits)) if !needs.wash => Marking::ByRule(bits.ce()),
            _ => Marking::ByUs,
        };
        let repeat = ours.and_then(|(firewall, bits)| firewall.repeat(bits));
        let whole = self.options.gso.or(self.file.gso) == Some(true);
        if whole && needs.wash {
            let message = "--gso and wash exclude each other: packets that are joined must not be written anew";
            return Err(Failure::new(message, "leave --gso or wash out"));
        }
        // An interface that is missing is told later.
        let mtu = if whole { Some(self.smallest_mtu()?) } else { self.smallest_mtu().ok() };
        let fail_open = self.options.fail_open.or(self.file.fail_open).unwrap_or(false);
        Ok(Path::Process(DataPath::Queue(QueueConfig { queues, marking, repeat, fail_open, gso: whole, mtu })))
    }

    /// Returns the smallest MTU of the interfaces.
    fn smallest_mtu(&self) -> Result<u32, Failure> {
        let mut least = None;
        for interface in self.interfaces {
            let mtu = (self.mtu)(interface).map_err(Failure::plain)?;
            least = Some(least.map_or(mtu, |least: u32| least.min(mtu)));
        }
        least.ok_or_else(|| {
            let message = "gso needs --interface: packets that are joined must not be written anew, so rules of ours have to mark them";
            Failure::new(message, "name the interface, or leave gso out")
        })
    }

    /// Returns the directions over a bridge that this way forwards.
    fn directions(&self) -> Result<BridgeDirections, Failure> {
        match (self.direction, self.both) {
            (None, _) => Ok(BridgeDirections::Both),
            (Some(Direction::Up), true) => Ok(BridgeDirections::Out),
            (Some(Direction::Down), true) => Ok(BridgeDirections::In),
            (Some(_), false) => {
                let message = "on a bridge --up and --down need each other";
                Err(Failure::new(
                    message,
                    "write both, or --rate for the packets that go from the first interface to the second",
                ))
            }
        }
    }

    /// Returns a bridge.
    fn between(&self, [inside, outside]: [String; 2]) -> Result<Path, Failure> {
        let of_a_queue = [
            ("--queue-num", self.numbers().is_some()),
            ("--interface", !self.interfaces.is_empty()),
            ("--marks", self.options.marks.or(self.file.marks).is_some()),
            ("--fail-open", self.options.fail_open.or(self.file.fail_open).is_some()),
        ];
        match of_a_queue.into_iter().find(|(_, given)| *given) {
            Some((word, _)) => {
                let message = format!("{word} is for an NFQUEUE, and --bridge does without one");
                Err(Failure::new(message, format!("leave {word} or --bridge out")))
            }
            None if PacketNeeds::of(self.discipline.config()).nat => {
                let message =
                    "nat needs an NFQUEUE: the frames of a bridge have not come to this machine's address translation";
                Err(Failure::new(message, "leave nat or --bridge out"))
            }
            None => {
                let gso = self.options.gso.or(self.file.gso).unwrap_or(false);
                let directions = self.directions()?;
                let exempt = self.exempt.clone();
                Ok(Path::Process(DataPath::Bridge(BridgeConfig { inside, outside, gso, directions, exempt })))
            }
        }
    }
}

/// Returns the error of a router without `what`, with an example of it.
pub(super) fn needs(what: &str, example: &str) -> Failure {
    Failure::new(format!("a router needs {what}"), format!("write for example {example}, or put it into --config"))
}
