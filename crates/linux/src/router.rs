//! A router: a data path, a discipline and the link behind it.

pub(crate) mod config;
mod core;
mod driver;
pub(crate) mod handle;
mod multi_queue;
mod packet_ids;
pub(crate) mod report;
mod single_queue;

use std::io;

use fairlane_qdisc::{Host, ParameterError};

use self::core::Core;
use self::multi_queue::MultiQueue;
use self::single_queue::SingleQueue;
use crate::bridge::BridgeError;
use crate::nfqueue::socket::BindError;
use crate::packet::classifier::{Classifier, PacketNeeds};
use crate::router::config::{DataPath, QueueConfig, RouterConfig};
use crate::router::driver::{BridgeDriver, QueueDriver};
use crate::router::handle::RouterHandle;
use crate::router::report::Report;
use crate::shaper::Shaper;
use crate::shaper::queued_packet::Marking;
use crate::shaper::top_flows::TopFlows;
use crate::sys::random::random_seed;

/// The marking used on a bridge, where it does not matter: the driver writes changes into the headers of its frames.
const FRAME_MARKING: Marking = Marking::ByRule(1);

/// A reason why a router did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The NFQUEUE cannot be bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The interfaces cannot be bridged.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// The discipline cannot be built from its configuration.
    #[error(transparent)]
    Discipline(#[from] ParameterError),
    /// The rate of the link is 0.
    #[error("the rate of the link must be greater than zero")]
    NoRate,
    /// The system refused a resource, such as a file descriptor.
    #[error("the router cannot be woken: {0}")]
    System(#[source] io::Error),
}

/// A router whose data path is open. [`run`](Self::run) processes packets.
pub struct Router {
    runner: PathRunner,
    handle: RouterHandle,
}

/// The processing loop, compiled for each data path.
enum PathRunner {
    Queue(Box<SingleQueue<QueueDriver>>),
    Queues(Box<MultiQueue>),
    Bridge(Box<SingleQueue<BridgeDriver>>),
}

impl Router {
    /// Opens the data path. From now on packets that arrive on it wait until [`run`](Self::run) processes them.
    ///
    /// # Errors
    /// The data path cannot be opened, the discipline cannot be built, or the rate of the link is 0.
    pub fn new(config: &RouterConfig) -> Result<Self, StartError> {
        let rate = config.link.rate;
        if rate.bits_per_second() == 0 {
            return Err(StartError::NoRate);
        }
        let discipline = config.discipline.build(&Host { rate, seed: random_seed() })?;
        let handle = RouterHandle::new().map_err(StartError::System)?;
        let (marking, repeat) = match &config.path {
            DataPath::Queue(queue) => (queue.marking, queue.repeat),
            DataPath::Bridge(_) => (FRAME_MARKING, None),
        };
        let shaper = Shaper::new(discipline, rate, marking, TopFlows::new(config.flows)).repeating(repeat);
        let classifier = Classifier {
            mtu: config.path.mtu(),
            needs: PacketNeeds::of(config.discipline.config()),
            ..Classifier::new(config.flows, config.link.layer)
        };
        let core = Core::new(shaper, config.discipline.config().clone(), classifier, handle.clone());
        let runner = match &config.path {
            DataPath::Queue(queue) => bind(queue, core)?,
            DataPath::Bridge(bridge) => {
                PathRunner::Bridge(Box::new(SingleQueue::new(BridgeDriver::open(bridge)?, core)))
            }
        };
        Ok(Self { runner, handle })
    }

    /// Returns a handle that controls the router from another thread.
    #[must_use]
    pub fn handle(&self) -> RouterHandle {
        self.handle.clone()
    }

    /// Processes packets until [`RouterHandle::stop`] is called, and returns the final report.
    ///
    /// # Errors
    /// The data path failed, and the packets that waited are lost. After a failure, packets pass an NFQUEUE if its rule
    /// has the bypass option; a bridge forwards nothing.
    pub fn run(self) -> io::Result<Report> {
        match self.runner {
            PathRunner::Queue(queue) => queue.run(),
            PathRunner::Queues(queues) => queues.run(),
            PathRunner::Bridge(bridge) => bridge.run(),
        }
    }
}

/// Binds the NFQUEUEs of `config`.
fn bind(config: &QueueConfig, core: Core) -> Result<PathRunner, StartError> {
    let conntrack = core.classifier.needs.nat;
    let bind = |number| QueueDriver::bind(number, config, conntrack);
    let mut drivers = config.queues.numbers().map(bind).collect::<Result<Vec<_>, _>>()?;
    Ok(match (drivers.pop(), drivers.is_empty()) {
        (Some(only), true) => PathRunner::Queue(Box::new(SingleQueue::new(only, core))),
        (last, _) => {
            drivers.extend(last);
            PathRunner::Queues(Box::new(MultiQueue::new(drivers, core).map_err(StartError::System)?))
        }
    })
}
