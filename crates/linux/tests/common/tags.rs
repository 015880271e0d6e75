//! Packet sockets that report VLAN tags, and that offload checksums.
#![allow(unsafe_code, reason = "no safe library has these options and this message")]

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, sendto, socket};

use super::bridged::hardware;

/// `struct tpacket_auxdata`.
const AUXDATA: usize = 20;
const TP_STATUS_VLAN_VALID: u32 = 1 << 4;

fn switch_on(socket: &OwnedFd, option: libc::c_int) {
    let (on, length) = (1 as libc::c_int, size_of::<libc::c_int>() as libc::socklen_t);
    let value = std::ptr::from_ref(&on).cast();
    // SAFETY: the pointer is to a whole c_int that lives throughout the call, and `length` is its size.
    let result = unsafe { libc::setsockopt(socket.as_raw_fd(), libc::SOL_PACKET, option, value, length) };
    Errno::result(result).unwrap();
}

/// Sends a frame on `interface` and leaves its checksum to the next sender. It is calculated from `start` on, and
/// written `offset` bytes behind.
pub(crate) fn send_unsummed(interface: &str, frame: &[u8], start: u16, offset: u16) {
    send_joined(interface, frame, [0, 0], [start, offset]);
}

/// Sends a GSO frame, with virtio's number for its type and the length of the data in a segment (virtio 1.2, section
/// 5.1.6).
pub(crate) fn send_joined(interface: &str, frame: &[u8], [kind, each]: [u16; 2], [start, offset]: [u16; 2]) {
    let socket = socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None).unwrap();
    switch_on(&socket, libc::PACKET_VNET_HDR);
    let mut virtio = vec![1, kind as u8];
    let headers = if kind == 0 { 0 } else { start + 20 };
    virtio.extend([headers, each, start, offset].map(u16::to_ne_bytes).concat());
    virtio.extend(frame);
    sendto(socket.as_raw_fd(), &virtio, &hardware(interface), MsgFlags::empty()).unwrap();
}

/// Opens a socket that captures all received frames.
pub(crate) fn capture_with_tags() -> OwnedFd {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let capture = socket(AddressFamily::Packet, SockType::Raw, flags, SockProtocol::EthAll).unwrap();
    switch_on(&capture, libc::PACKET_AUXDATA);
    capture
}

/// A frame, and the type and the value of the tag that the kernel has removed from it.
pub(crate) type Tagged = (Vec<u8>, Option<(u16, u16)>);

/// Returns the captured frames.
pub(crate) fn captured_with_tags(capture: &OwnedFd) -> Vec<Tagged> {
    std::thread::sleep(Duration::from_millis(300));
    std::iter::from_fn(|| receive(capture)).collect()
}

fn receive(capture: &OwnedFd) -> Option<Tagged> {
    let (mut frame, mut control) = (vec![0_u8; 10_000], [0_u64; 8]);
    let mut part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: frame.len() };
    // SAFETY: a msghdr is plain old data, for which zeros are a value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control) as _);
    // SAFETY: the message points to a buffer and a control buffer, which live throughout the call.
    let length = unsafe { libc::recvmsg(capture.as_raw_fd(), &raw mut message, 0) };
    frame.truncate(usize::try_from(length).ok()?);
    let mut bytes = [0_u8; AUXDATA];
    // SAFETY: the kernel has written the header of its single message, followed by as many bytes as the header says.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        assert!(!header.is_null() && (*header).cmsg_type == libc::PACKET_AUXDATA);
        assert!((*header).cmsg_len as usize >= libc::CMSG_LEN(AUXDATA as u32) as usize);
        std::ptr::copy_nonoverlapping(libc::CMSG_DATA(header), bytes.as_mut_ptr(), AUXDATA);
    }
    let short = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
    let status = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    Some((frame, (status & TP_STATUS_VLAN_VALID != 0).then(|| (short(18), short(16)))))
}
