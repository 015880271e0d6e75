//! The socket options that no safe library has.
#![allow(unsafe_code, reason = "setsockopt takes a pointer, and nix has none of netlink's options")]

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

/// Switches `NETLINK_NO_ENOBUFS` on: a receive buffer that is full costs what does not fit, and not also what comes until the
/// buffer is empty again.
pub(crate) fn no_enobufs(socket: BorrowedFd<'_>) -> nix::Result<()> {
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to a whole c_int that lives throughout the call, and `length` is its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_NETLINK,
            libc::NETLINK_NO_ENOBUFS,
            std::ptr::from_ref(&on).cast(),
            length,
        )
    };
    Errno::result(result).map(drop)
}
