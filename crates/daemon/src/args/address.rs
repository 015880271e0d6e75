//! The address of a router's metrics.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The usual address of a router's metrics where they are at a port, also for `fairlane top`.
pub(crate) const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 9277);

/// Reads an address and a port, or a port of loopback.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let port = text.strip_prefix(':').unwrap_or(text).parse().map(|port| SocketAddr::new(USUAL.ip(), port));
    port.or_else(|_| text.parse())
        .map_err(|_| format!("write a port, or an address and a port, such as {USUAL} or [::1]:{}", USUAL.port()))
}
