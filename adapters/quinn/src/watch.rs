//! Access to the connection of a host in the simulator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fairlane_qdisc::Time;
use fairlane_sim::endpoint::{Ecn, Endpoint, Outgoing};
use quinn_proto::{ConnectionError, ConnectionStats};

use crate::host::Host;

/// The end of a connection.
#[derive(Clone, Debug)]
pub struct Lost {
    /// The virtual time at which the host took it for lost.
    pub at: Time,
    /// The reason, such as [`ConnectionError::TimedOut`].
    pub reason: ConnectionError,
}

/// The two hosts of a download.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// The sender: the flow's source.
    pub server: Watch,
    /// The receiver: the flow's sink.
    pub client: Watch,
}

/// A host, to be asked at any time.
#[derive(Clone, Debug)]
pub struct Watch(Shared);

impl Watch {
    pub(crate) fn new(host: &Shared) -> Self {
        Self(host.clone())
    }

    /// Returns the end of the host's connection; `None` while it lasts, and before there is one.
    #[must_use]
    pub fn lost(&self) -> Option<Lost> {
        self.0.lock().lost.clone()
    }

    /// Returns quinn's statistics of the connection: frames of each type, losses, window and round trip; `None` before
    /// there is one. Those of the path begin again when the address changes.
    #[must_use]
    pub fn stats(&self) -> Option<ConnectionStats> {
        self.0.lock().connection.as_ref().map(|(_, connection)| connection.stats())
    }
}

/// A host that the simulator shares with the program.
#[derive(Clone, Debug)]
pub(crate) struct Shared(Arc<Mutex<Host>>);

impl Shared {
    pub(crate) fn new(host: Host) -> Self {
        Self(Arc::new(Mutex::new(host)))
    }

    /// Locks the host. One that has panicked has ended the run, and can still be asked.
    fn lock(&self) -> MutexGuard<'_, Host> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Endpoint for Shared {
    fn start(&mut self, now: Time) {
        self.lock().start(now);
    }

    fn receive(&mut self, now: Time, datagram: &mut Vec<u8>, ecn: Ecn) {
        self.lock().receive(now, datagram, ecn);
    }

    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Option<Outgoing> {
        self.lock().transmit(now, datagram)
    }

    fn deadline(&mut self) -> Option<Time> {
        self.lock().deadline()
    }

    fn on_timer(&mut self, now: Time) {
        self.lock().on_timer(now);
    }

    fn delivered_bytes(&self) -> u64 {
        self.lock().delivered_bytes()
    }
}
