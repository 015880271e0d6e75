//! Control of a running router from other threads.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_qdisc::{AnyConfig, BoxQdisc, Duration, Host, ParameterError, QdiscConfig, Rate};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::flow::random_seed;
use crate::link::Link;
use crate::report::Report;
use crate::shaper::TimestampedPacket;

/// A request to the router's thread.
pub(crate) enum Command {
    /// Changes the discipline and the link.
    Reload(Box<Reload>),
    /// Changes the rate of the link, and nothing else.
    SetRate(Rate),
    /// Ends the router, at the latest after this time.
    Stop(Duration),
}

/// A discipline and a link that replace those in use.
pub(crate) struct Reload {
    pub(crate) config: AnyConfig,
    /// The discipline built from `config`, empty.
    pub(crate) discipline: BoxQdisc<TimestampedPacket>,
    pub(crate) link: Link,
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

    /// Changes the discipline and the link. `discipline` is resolved for the rate of `link`.
    ///
    /// Packets that arrive from now on go to a new discipline; packets that are queued leave before them. If the configuration of
    /// the discipline stays the same, as when only the rate changes, the discipline stays, with its packets and its state, and
    /// gets the new rate.
    ///
    /// # Errors
    /// The discipline cannot be built from its configuration. Nothing has changed then.
    pub fn reload(&self, discipline: &QdiscConfig, link: Link) -> Result<(), ParameterError> {
        let config = discipline.config().clone();
        // Built here, so that the router's thread does not spend time on it even though it may not need it.
        let discipline = discipline.build(&Host { rate: link.rate, seed: random_seed() })?;
        self.send(Command::Reload(Box::new(Reload { config, discipline, link })));
        Ok(())
    }

    /// Changes the rate of the link. The discipline stays, also where defaults of its parameters follow from the rate, and learns the
    /// new one.
    pub fn set_rate(&self, rate: Rate) {
        self.send(Command::SetRate(rate));
    }

    /// Ends the router when its queue is empty, or after `max_wait`; packets that still wait then are sent at once.
    ///
    /// Stop the flow of packets first, with [`Firewall::stop`](crate::Firewall::stop), or the queue may never become empty.
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
