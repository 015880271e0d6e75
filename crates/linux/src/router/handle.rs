//! Control of a running router from other threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_qdisc::headers::FlowsBy;
use fairlane_qdisc::{AnyConfig, BoxQdisc, Duration, Host, ParameterError, Rate};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::bridge::BridgeError;
use crate::router::config::Link;
use crate::router::config::{BridgeConfig, RouterConfig};
use crate::router::report::Report;
use crate::shaper::TimestampedPacket;
use crate::sys::random::random_seed;

/// The longest time for an answer of the router's thread.
const ANSWER: std::time::Duration = std::time::Duration::from_secs(2);

/// A request to the router's thread.
pub(crate) enum Command {
    /// Changes the discipline, the link and the flows.
    Reload(Box<Reload>),
    /// Opens other interfaces for a bridge, or closes those opened so, and tells the result.
    Prepare(Option<BridgeConfig>, Sender<Result<(), BridgeError>>),
    /// Changes the rate of the link, and nothing else.
    SetRate(Rate),
    /// Ends the router, at the latest after this time.
    Stop(Duration),
}

/// A discipline, a link and a definition of flows that replace those in use.
pub(crate) struct Reload {
    pub(crate) config: AnyConfig,
    /// The discipline built from `config`, empty.
    pub(crate) discipline: BoxQdisc<TimestampedPacket>,
    pub(crate) link: Link,
    pub(crate) flows: FlowsBy,
    /// See [`Classifier`](crate::packet::classifier::Classifier).
    pub(crate) mtu: Option<u32>,
}

/// A handle that controls a running router from another thread. Clones control the same router.
#[derive(Clone)]
pub struct RouterHandle(Arc<HandleState>);

struct HandleState {
    commands: Mutex<Vec<Command>>,
    pending: AtomicBool,
    wake: EventFd,
    report: Mutex<Report>,
}

impl RouterHandle {
    pub(crate) fn new() -> io::Result<Self> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self(Arc::new(HandleState {
            commands: Mutex::default(),
            pending: AtomicBool::new(false),
            wake,
            report: Mutex::default(),
        })))
    }

    /// Changes the discipline, the link, the definition of a flow, and the MTU by which GSO packets are counted
    /// ([`QueueConfig::gso`](crate::QueueConfig::gso)) to those of `config`. A bridge moves to the interfaces that were
    /// [prepared](Self::prepare). The rest of the data path cannot change.
    ///
    /// Packets that arrive from now on go to a new discipline; packets that are queued leave before them. If neither
    /// the configuration of the discipline nor the definition of a flow changes, as when only the rate does, the
    /// discipline stays, with its packets and its state, and gets the new rate. With another definition of a flow the
    /// counts of single flows begin anew.
    ///
    /// # Errors
    /// The discipline cannot be built from its configuration. Nothing has changed then.
    pub fn reload(&self, config: &RouterConfig) -> Result<(), ParameterError> {
        let &RouterConfig { link, flows, .. } = config;
        // Built here, so that the router's thread does not spend time on it even though it may not need it.
        let discipline = config.discipline.build(&Host { rate: link.rate, seed: random_seed() })?;
        let (mtu, config) = (config.path.mtu(), config.discipline.config().clone());
        self.send(Command::Reload(Box::new(Reload { config, discipline, link, flows, mtu })));
        Ok(())
    }

    /// Opens other interfaces for a bridge, to which the next [`reload`](Self::reload) moves it: frames that wait for
    /// the old ones leave by the new ones. `None` closes those that were opened.
    ///
    /// # Errors
    /// The interfaces cannot be bridged, or this router is no running bridge. Nothing has changed then.
    pub fn prepare(&self, bridge: Option<&BridgeConfig>) -> Result<(), BridgeError> {
        let (tell, told) = channel();
        self.send(Command::Prepare(bridge.cloned(), tell));
        told.recv_timeout(ANSWER).unwrap_or(Err(BridgeError::NotABridge))
    }

    /// Changes the rate of the link. The discipline stays, also where defaults of its parameters follow from the rate,
    /// and learns the new one.
    pub fn set_rate(&self, rate: Rate) {
        self.send(Command::SetRate(rate));
    }

    /// Ends the router when its queue is empty, or after `max_wait`; packets that still wait then are sent at once.
    ///
    /// Stop the flow of packets first, with [`Firewall::stop`](crate::Firewall::stop), or the queue may never become
    /// empty.
    pub fn stop(&self, max_wait: Duration) {
        self.send(Command::Stop(max_wait));
    }

    /// Returns the latest report. While the router runs it is at most a quarter of a second old.
    #[must_use]
    pub fn report(&self) -> Report {
        lock(&self.0.report).clone()
    }

    fn send(&self, command: Command) {
        let mut commands = lock(&self.0.commands);
        // A router that stands still takes the last rate only.
        if matches!((commands.last(), &command), (Some(Command::SetRate(_)), Command::SetRate(_))) {
            commands.pop();
        }
        commands.push(command);
        drop(commands);
        self.0.pending.store(true, Ordering::Release);
        // If this fails, the router sees the command when it publishes its next report.
        let _ = self.0.wake.write(1);
    }

    /// Removes and returns the commands sent since the last call.
    pub(crate) fn take_commands(&self) -> Vec<Command> {
        if !self.0.pending.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        // The read does not block. It fails if there is nothing to read, which is harmless.
        let _ = self.0.wake.read();
        std::mem::take(&mut *lock(&self.0.commands))
    }

    pub(crate) fn publish(&self, report: Report) {
        *lock(&self.0.report) = report;
    }

    /// Returns a descriptor that is readable while a command is pending.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

/// Locks `mutex`. Poisoning is ignored: the data is consistent whenever the lock is released.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
