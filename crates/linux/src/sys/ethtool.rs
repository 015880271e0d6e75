//! Reads and sets features of an interface by `SIOCETHTOOL`.
#![allow(unsafe_code, reason = "an ioctl takes a pointer, and no safe library has this one")]

use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

/// `SIOCETHTOOL` of `linux/sockios.h`.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Executes `command` of `linux/ethtool.h` with `data` on `interface`, in this thread's namespace, and returns the
/// value that the kernel wrote.
///
/// # Errors
/// There is no such interface, or it refuses the command.
pub fn value(interface: &str, command: u32, data: u32) -> Result<u32, Errno> {
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
    // SAFETY: the request points to a value of the size that these commands read and write; both live throughout the
    // call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    Errno::result(result)?;
    Ok(value.data)
}
