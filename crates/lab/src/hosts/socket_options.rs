//! Socket options used by the lab.

use std::os::fd::{AsFd, BorrowedFd};

use fairlane_linux::sockopt::{get, set};
use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{Ipv4Tos, Ipv6TClass};

use crate::address::IpVersion;

/// `SK_MEMINFO_WMEM_ALLOC` of `linux/sock_diag.h`: bytes of a socket's packets that have not been sent.
const WMEM_ALLOC: usize = 2;
/// `SO_MEMINFO` of `asm-generic/socket.h`.
const SO_MEMINFO: libc::c_int = 55;
/// `TCP_SEND_QUEUE` of `linux/tcp.h`.
const TCP_SEND_QUEUE: libc::c_int = 2;

/// Sets `TCP_WINDOW_CLAMP`: the largest window that a receiver announces, in bytes.
pub(crate) fn clamp_window(socket: BorrowedFd<'_>, bytes: u32) -> nix::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, &bytes.to_ne_bytes())
}

/// Keeps a connection from sending new data, so that its counts are final before it is closed. In repair mode
/// (`TCP_REPAIR`, for processes with `CAP_NET_ADMIN`) the kernel moves unsent data of the send queue to the part that
/// has been sent, without a packet; a connection that is closed then sends no reset, but answers what still arrives for
/// it with one.
pub(crate) fn stop_sending(socket: BorrowedFd<'_>) -> nix::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR, &on.to_ne_bytes())?;
    set(socket, libc::IPPROTO_TCP, libc::TCP_REPAIR_QUEUE, &TCP_SEND_QUEUE.to_ne_bytes())
}

/// Sets the TOS or traffic class byte of a socket's packets.
pub(crate) fn set_class(socket: &impl AsFd, ip_version: IpVersion, class: u8) -> nix::Result<()> {
    match ip_version {
        IpVersion::V4 => setsockopt(socket, Ipv4Tos, &class.into()),
        IpVersion::V6 => setsockopt(socket, Ipv6TClass, &class.into()),
    }
}

/// Sets `TCP_NOTSENT_LOWAT`: the data in bytes that a sender takes beyond what it can send.
pub(crate) fn limit_unsent(socket: BorrowedFd<'_>, bytes: u32) -> nix::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes.to_ne_bytes())
}

/// Enables pacing with `SO_MAX_PACING_RATE` and a rate that does not limit: the kernel spreads packets over the round
/// trip.
pub(crate) fn pace(socket: BorrowedFd<'_>) -> nix::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &(u64::MAX >> 1).to_ne_bytes())
}

/// Returns `TCP_INFO`. An older kernel returns fewer bytes.
pub(crate) fn tcp_info(socket: BorrowedFd<'_>) -> nix::Result<Vec<u8>> {
    get(socket, libc::IPPROTO_TCP, libc::TCP_INFO, 256)
}

/// Returns the bytes of the socket's packets that have not left for the next namespace, including the kernel's
/// overhead.
pub(crate) fn unsent_bytes(socket: BorrowedFd<'_>) -> nix::Result<u32> {
    let words = get(socket, libc::SOL_SOCKET, SO_MEMINFO, 64)?;
    let word = words.get(4 * WMEM_ALLOC..).and_then(|rest| rest.first_chunk());
    Ok(word.map_or(0, |word| u32::from_ne_bytes(*word)))
}
