//! Locks between processes of the same network namespace.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A named lock. The kernel releases it when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock(
    #[expect(dead_code, reason = "as long as the socket is open, nobody else has the name")] UnixDatagram,
);

impl Lock {
    /// Acquires the lock `name`.
    ///
    /// # Errors
    /// Another process holds the lock ([`io::ErrorKind::AddrInUse`]), or the system refused the socket.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let address = SocketAddr::from_abstract_name(format!("fairlane/{name}"))?;
        UnixDatagram::bind_addr(&address).map(Self)
    }
}
