//! The hosts at both ends: senders and receivers, with the sockets of Linux.

pub(crate) mod receiver;
pub(crate) mod sender;
mod socket_options;
pub(crate) mod tcp_info;
mod transfer;

/// The port of UDP, and of the first TCP group.
const PORT: u16 = 20_000;

/// The length of a UDP header (RFC 768).
const UDP_HEADER: u32 = 8;

/// Returns the port of the group at index `place`.
const fn port(place: usize) -> u16 {
    PORT + place as u16
}
