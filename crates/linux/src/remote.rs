//! What other threads ask of a router, and what they read of it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_qdisc::{AnyQdisc, Duration, Host, ParameterError, QdiscConfig};
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::engine::Waiting;
use crate::flow::random_seed;
use crate::report::Report;
use crate::router::Link;

/// What a router is asked to do.
pub(crate) enum Order {
    /// Another discipline before a link.
    Reload(Box<AnyQdisc<Waiting>>, Link),
    /// An end, after this time at most.
    Stop(Duration),
}

/// A handle on a running router; clones are of the same one.
#[derive(Clone)]
pub struct Remote(Arc<Shared>);

struct Shared {
    orders: Mutex<Vec<Order>>,
    ordered: AtomicBool,
    wake: EventFd,
    report: Mutex<Report>,
}

impl Remote {
    pub(crate) fn new() -> io::Result<Self> {
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        Ok(Self(Arc::new(Shared {
            orders: Mutex::default(),
            ordered: AtomicBool::new(false),
            wake,
            report: Mutex::default(),
        })))
    }

    /// Lets `discipline` before `link` take what comes from now on. What waits already leaves first.
    ///
    /// # Errors
    /// The parameters contradict each other; nothing has changed then.
    pub fn reload(&self, discipline: &QdiscConfig, link: Link) -> Result<(), ParameterError> {
        let discipline = discipline.build(&Host { rate: link.rate, seed: random_seed() })?;
        self.order(Order::Reload(Box::new(discipline), link));
        Ok(())
    }

    /// Ends the router when nothing waits any more, or after `most`. Send it nothing more before
    /// ([`Firewall::stop`](crate::Firewall::stop)), or the queue may never be empty. What waits then is let go at once.
    pub fn stop(&self, most: Duration) {
        self.order(Order::Stop(most));
    }

    /// How things were lately: it is a quarter of a second old at most while the router runs.
    #[must_use]
    pub fn report(&self) -> Report {
        lock(&self.0.report).clone()
    }

    fn order(&self, order: Order) {
        lock(&self.0.orders).push(order);
        self.0.ordered.store(true, Ordering::Release);
        // Should this fail, the order is seen when the router publishes its next report.
        let _ = self.0.wake.write(1);
    }

    /// The orders since the last call.
    pub(crate) fn orders(&self) -> Vec<Order> {
        if !self.0.ordered.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        // It is not blocking, and that it has nothing to read is no matter.
        let _ = self.0.wake.read();
        std::mem::take(&mut *lock(&self.0.orders))
    }

    pub(crate) fn publish(&self, report: Report) {
        *lock(&self.0.report) = report;
    }

    /// Readable when there is an order.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

/// What is behind a lock is whole whenever it is let go, so a panic elsewhere is no matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
