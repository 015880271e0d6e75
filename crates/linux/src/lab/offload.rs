//! Segmentation offloads of an interface, by `SIOCETHTOOL`.
#![allow(unsafe_code, reason = "an ioctl takes a pointer, and no safe library has this one")]

use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// What can join segments, or put off cutting them: the name, and the commands that ask and set (`linux/ethtool.h`).
const OFFLOADS: [(&str, u32, u32); 3] = [("tso", 0x1e, 0x1f), ("gso", 0x23, 0x24), ("gro", 0x2b, 0x2c)];

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Switches all of them off at `interface` of this thread's namespace, and makes sure that they are.
///
/// # Errors
/// The kernel refused, or one of them is still on.
pub(super) fn switch_off(interface: &str) -> io::Result<()> {
    for (name, get, set) in OFFLOADS {
        value(interface, set, 0).map_err(|error| said(name, &error))?;
        if value(interface, get, 0).map_err(|error| said(name, &error))? != 0 {
            return Err(io::Error::other(format!("{name} stays on")));
        }
    }
    Ok(())
}

fn said(name: &str, error: &Errno) -> io::Error {
    io::Error::other(format!("{name}: {error}"))
}

/// Gives `command` with `data` to `interface`; what the kernel left there.
fn value(interface: &str, command: u32, data: u32) -> Result<u32, Errno> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)?;
    let mut value = EthtoolValue { command, data };
    // SAFETY: an ifreq is plain old data, for which zeros are a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    if interface.len() >= request.ifr_name.len() {
        return Err(Errno::ENODEV);
    }
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = std::ptr::from_mut(&mut value).cast();
    // SAFETY: the request is whole and names a value of the size that these commands read and write; both live throughout.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    Errno::result(result)?;
    Ok(value.data)
}
