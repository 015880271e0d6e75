//! Names that one process in the network namespace can have, as long as it lives.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A name that is ours. It goes with the process, however that ends.
#[derive(Debug)]
pub(crate) struct Lock(
    #[expect(dead_code, reason = "as long as the socket is open, nobody else has the name")] UnixDatagram,
);

impl Lock {
    /// Takes `name`.
    ///
    /// # Errors
    /// Another process has it, which is [`io::ErrorKind::AddrInUse`].
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let address = SocketAddr::from_abstract_name(format!("fairlane/{name}"))?;
        UnixDatagram::bind_addr(&address).map(Self)
    }
}
