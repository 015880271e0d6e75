//! A router: a data path, a discipline and the link behind it.

mod middle;
mod places;
mod several;
mod work;

use std::io;

use fairlane_qdisc::{Host, ParameterError, QdiscConfig, Rate};

use crate::bridge::{BridgeError, Interface};
use crate::driver::{BridgeDriver, QueueDriver, Reading};
use crate::engine::Engine;
use crate::flow::{FlowKeys, FlowsBy, random_seed};
use crate::link_layer::LinkLayer;
use crate::packet::Marking;
use crate::queues::Queues;
use crate::remote::Remote;
use crate::report::Report;
use crate::socket::BindError;
use crate::top_flows::TopFlows;
use middle::Middle;
use several::Several;
use work::Work;

/// The link that the queue feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate; not 0.
    pub rate: Rate,
    /// What a packet takes on it.
    pub layer: LinkLayer,
}

/// How packets come to a router and leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// An NFQUEUE of the kernel, which keeps their bytes.
    Queue(QueueConfig),
    /// Two interfaces of Ethernet, between which frames wait in our memory.
    Bridge(BridgeConfig),
}

/// An NFQUEUE as a data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// The numbers of the NFQUEUEs. Several have a thread each, which take turns with the discipline.
    pub queues: Queues,
    /// How packets are marked.
    pub marking: Marking,
    /// What the kernel cannot hand over to us passes, past the discipline, instead of being dropped.
    pub fail_open: bool,
    /// Packets that segmentation offload has joined come as they are, one packet each for the discipline, and take on the link what
    /// their segments take: those are as long as this MTU, in bytes. `None`: the kernel cuts them first, and each packet is one of
    /// the link. With [`Marking::ByUs`] the kernel cuts them in any case, since a packet that was joined cannot be written anew.
    pub gso: Option<u32>,
}

/// Two interfaces as the ends of a transparent wire.
///
/// All that comes in by the inside goes through the discipline and leaves by the outside: IP, and any other frame as a flow by its
/// Ethernet type and hardware addresses. What comes in by the outside passes at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeConfig {
    /// The interface whose frames wait.
    pub inside: String,
    /// The interface that is the managed link.
    pub outside: String,
    /// Frames that segmentation offload has joined go through the discipline as they are, one packet each, and take on the link what
    /// their segments take; the kernel or the card cuts them behind it. Else they are cut before, and each packet is one of the link.
    pub gso: bool,
}

impl BridgeConfig {
    /// Whether both can be bridged as they are now; nothing is opened.
    ///
    /// # Errors
    /// Why they cannot be.
    pub fn check(&self) -> Result<(), BridgeError> {
        Interface::pair([&self.inside, &self.outside]).map(drop)
    }
}

/// A frame that is to be marked gets this in the place of a firewall mark, and its header is written when it leaves.
const FRAME_MARKING: Marking = Marking::ByRule(1);

/// What a router is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// Where packets come from and go to.
    pub path: DataPath,
    /// The link behind the discipline.
    pub link: Link,
    /// The discipline.
    pub discipline: QdiscConfig,
    /// What a flow is.
    pub flows: FlowsBy,
}

/// Why a router did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its queue was not bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// Its interfaces cannot be bridged.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// The discipline's parameters contradict each other.
    #[error(transparent)]
    Discipline(#[from] ParameterError),
    /// The link has no rate.
    #[error("a link needs a rate above zero")]
    NoRate,
    /// The system has no file descriptors left, or the like.
    #[error("the router cannot be woken: {0}")]
    System(#[source] io::Error),
}

/// A router whose data path is open; [`run`](Self::run) works.
pub struct Router {
    by_path: ByPath,
    remote: Remote,
}

/// The thread's work, compiled for each data path.
enum ByPath {
    Queue(Box<Work<QueueDriver>>),
    Queues(Box<Several>),
    Bridge(Box<Work<BridgeDriver>>),
}

impl Router {
    /// Opens the data path. Packets that come by it wait from now on.
    ///
    /// # Errors
    /// The path cannot be opened, or the discipline cannot be.
    pub fn new(config: &RouterConfig) -> Result<Self, StartError> {
        let Link { rate, layer } = config.link;
        if rate.bits_per_second() == 0 {
            return Err(StartError::NoRate);
        }
        let discipline = config.discipline.build(&Host { rate, seed: random_seed() })?;
        let remote = Remote::new().map_err(StartError::System)?;
        let reading = Reading { keys: FlowKeys::new(config.flows), layer };
        let losers = TopFlows::new(config.flows);
        let by_path = match &config.path {
            DataPath::Queue(queue) => {
                let engine = Engine::new(discipline, rate, queue.marking, losers);
                let middle = Middle::new(engine, reading, remote.clone());
                let bind = |number| QueueDriver::bind(number, queue);
                let mut drivers = queue.queues.numbers().map(bind).collect::<Result<Vec<_>, _>>()?;
                match (drivers.pop(), drivers.is_empty()) {
                    (Some(only), true) => ByPath::Queue(Box::new(Work::new(only, middle))),
                    (last, _) => {
                        drivers.extend(last);
                        ByPath::Queues(Box::new(Several::new(drivers, middle).map_err(StartError::System)?))
                    }
                }
            }
            DataPath::Bridge(bridge) => {
                let engine = Engine::new(discipline, rate, FRAME_MARKING, losers);
                ByPath::Bridge(Box::new(Work::new(
                    BridgeDriver::open(bridge)?,
                    Middle::new(engine, reading, remote.clone()),
                )))
            }
        };
        Ok(Self { by_path, remote })
    }

    /// A handle for other threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Works until [`Remote::stop`]; what has happened then.
    ///
    /// # Errors
    /// The data path failed, and what waited is lost. On an NFQUEUE packets pass that come after it, if the rule has the bypass;
    /// over a bridge nothing passes.
    pub fn run(self) -> io::Result<Report> {
        match self.by_path {
            ByPath::Queue(work) => work.run(),
            ByPath::Queues(several) => several.run(),
            ByPath::Bridge(work) => work.run(),
        }
    }
}
