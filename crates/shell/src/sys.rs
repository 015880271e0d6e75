//! System calls for which there is no safe library function.
#![allow(unsafe_code, reason = "nix has no clone that works like fork, and no way to name a signal's sender")]

use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

use nix::errno::Errno;
use nix::libc;
use nix::sched::CloneFlags;
use nix::unistd::Pid;

/// Forks into new namespaces: returns `None` in the child. Unlike unshare(2), it lets the caller start threads later
/// even with `CLONE_NEWPID`. Called while the process has one thread.
pub(crate) fn fork_into(flags: CloneFlags) -> nix::Result<Option<Pid>> {
    let flags = libc::c_long::from(flags.bits()) | libc::c_long::from(libc::SIGCHLD);
    // SAFETY: without CLONE_VM and with no stack it is fork(2); the process has one thread, so no lock is held by
    // another one.
    let result = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    Errno::result(result).map(|child| (child > 0).then(|| Pid::from_raw(child as i32)))
}

/// Sets a socket option of an integer.
pub(crate) fn set_option(
    socket: impl AsFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> nix::Result<()> {
    fairlane_linux::sockopt::set(socket.as_fd(), level, option, &value.to_ne_bytes())
}

/// Lets `socket` have addresses that are not this host's (`IP_TRANSPARENT`).
pub(crate) fn set_transparent(socket: impl AsFd, address: &SocketAddr) -> nix::Result<()> {
    match address {
        SocketAddr::V4(_) => set_option(socket, libc::SOL_IP, libc::IP_TRANSPARENT, 1),
        SocketAddr::V6(_) => set_option(socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1),
    }
}

/// Makes the kernel send `signal` to this process when its parent's thread ends.
pub(crate) fn die_with_parent() -> nix::Result<()> {
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)
}

/// Returns the foreground process group of the terminal `terminal`; `None` if it is no terminal of this session.
pub(crate) fn foreground(terminal: impl AsFd) -> Option<Pid> {
    // SAFETY: takes a number.
    let group = unsafe { libc::tcgetpgrp(terminal.as_fd().as_raw_fd()) };
    Errno::result(group).ok().map(Pid::from_raw)
}

/// Makes `group` the foreground process group of the terminal `terminal`.
pub(crate) fn set_foreground(terminal: impl AsFd, group: Pid) -> nix::Result<()> {
    // SAFETY: takes two numbers.
    let result = unsafe { libc::tcsetpgrp(terminal.as_fd().as_raw_fd(), group.as_raw()) };
    Errno::result(result).map(drop)
}
