//! Socket calls for which there is no safe library function.
#![allow(
    unsafe_code,
    reason = "these calls take pointers, and nix has neither the options nor the address that we need"
)]

use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;

/// Sets a socket option to `value`.
///
/// # Errors
/// The kernel refuses the option or its value.
pub fn set(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &[u8]) -> nix::Result<()> {
    let length = value.len() as libc::socklen_t;
    // SAFETY: the pointer is to `length` bytes that live throughout the call.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value.as_ptr().cast(), length) };
    Errno::result(result).map(drop)
}

/// Returns the value of a socket option, at most `room` bytes.
///
/// # Errors
/// The socket does not have the option.
pub fn get(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, room: usize) -> nix::Result<Vec<u8>> {
    get_with(socket, level, option, &vec![0; room])
}

/// Returns the value of a socket option that is asked for with `request`, as long as the request at most.
pub(crate) fn get_with(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    request: &[u8],
) -> nix::Result<Vec<u8>> {
    let mut value = request.to_vec();
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the pointer is to `length` bytes that live throughout the call, and the kernel writes no more.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut length) };
    Errno::result(result)?;
    value.truncate(length as usize);
    Ok(value)
}

/// An instruction of a socket filter (`struct sock_filter`): code, jump if true, jump if false, and a number.
pub(crate) type FilterInstruction = (u16, u8, u8, u32);

/// Has the kernel pass only those packets to `socket` for which the filter returns a length (socket(7),
/// `SO_ATTACH_FILTER`).
pub(crate) fn attach_filter(socket: BorrowedFd<'_>, filter: &[FilterInstruction]) -> nix::Result<()> {
    let mut instructions: Vec<libc::sock_filter> =
        filter.iter().map(|&(code, jt, jf, k)| libc::sock_filter { code, jt, jf, k }).collect();
    let program = libc::sock_fprog { len: instructions.len() as u16, filter: instructions.as_mut_ptr() };
    let (value, length) = (std::ptr::from_ref(&program).cast(), size_of::<libc::sock_fprog>() as libc::socklen_t);
    // SAFETY: the program and its instructions live throughout the call, and the kernel copies them.
    let result =
        unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, value, length) };
    Errno::result(result).map(drop)
}

/// Enables `NETLINK_NO_ENOBUFS`. Without it, a full receive buffer also loses what arrives until the buffer is empty
/// again.
pub(crate) fn no_enobufs(socket: BorrowedFd<'_>) -> nix::Result<()> {
    let on: libc::c_int = 1;
    set(socket, libc::SOL_NETLINK, libc::NETLINK_NO_ENOBUFS, &on.to_ne_bytes())
}

/// Binds a packet socket to the interface `index`, to receive frames of an Ethernet type.
pub(crate) fn bind_packet(socket: BorrowedFd<'_>, index: u32, ether_type: u16) -> nix::Result<()> {
    // SAFETY: a sockaddr_ll is plain old data, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = ether_type.to_be();
    address.sll_ifindex = index as libc::c_int;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the pointer is to a whole address that lives throughout the call, and `length` is its size.
    let result = unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), length) };
    Errno::result(result).map(drop)
}

/// `struct tpacket_auxdata`.
pub(crate) const AUXDATA: usize = size_of::<libc::tpacket_auxdata>();

/// A frame received from a packet socket with `PACKET_AUXDATA`.
pub(crate) struct PacketReceived {
    /// The number of bytes received.
    pub(crate) bytes: usize,
    /// `true` if the frame was not truncated.
    pub(crate) whole: bool,
    /// The auxiliary data; `None` if the kernel sent none.
    pub(crate) beside: Option<libc::tpacket_auxdata>,
}

/// Receives from a packet socket without waiting.
pub(crate) fn receive_packet(socket: BorrowedFd<'_>, to: &mut [u8]) -> nix::Result<PacketReceived> {
    // Words, since the kernel writes aligned headers.
    let mut control = [0_usize; 16];
    let mut part = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: a msghdr is plain old data, for which zeros are a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control) as _);
    // SAFETY: the message points to the buffer and the control buffer, which live throughout the call.
    let result = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let bytes = Errno::result(result)? as usize;
    // SAFETY: the kernel has written whole headers, up to the length that it returned.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message).as_ref() };
    // SAFETY: the argument is the length of the data, as CMSG_LEN requires.
    let length = unsafe { libc::CMSG_LEN(AUXDATA as u32) };
    let told = header.filter(|header| {
        (header.cmsg_level, header.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA)
            && header.cmsg_len >= length as _
    });
    let beside = told.map(|header| {
        // SAFETY: the header's length says that the data follow it, and every bit pattern is a valid value.
        unsafe { libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned() }
    });
    Ok(PacketReceived { bytes, whole: message.msg_flags & libc::MSG_TRUNC == 0, beside })
}
