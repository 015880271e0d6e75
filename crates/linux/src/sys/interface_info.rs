//! The properties of an interface, through rtnetlink.

use std::io;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc;
use nix::net::if_::if_indextoname;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send, socket,
};

use crate::sys::attributes::Attributes;

/// The length of `struct nlmsghdr` and `struct ifinfomsg`.
const HEADERS: usize = 16 + 16;
/// Space for all attributes of an interface.
const ANSWER_BYTES: usize = 64 << 10;

/// Returns the MTU of the interface `name` in bytes.
pub(crate) fn mtu(name: &str) -> nix::Result<u32> {
    InterfaceInfo::of(name).map(|info| info.mtu)
}

/// Returns the name of the interface with this index in this thread's network namespace; `None` if there is none.
#[must_use]
pub fn interface_name(index: u32) -> Option<String> {
    // Without such an interface, nix returns an empty name.
    if_indextoname(index).ok()?.into_string().ok().filter(|name| !name.is_empty())
}

/// Tells whether the packets of the interface `name` have Ethernet headers; those of PPP and tunnels have none.
///
/// # Errors
/// There is no such interface, or the kernel does not describe it.
pub fn has_ethernet_headers(name: &str) -> io::Result<bool> {
    Ok(InterfaceInfo::of(name)?.hardware == libc::ARPHRD_ETHER)
}

/// The kernel's description of an interface (`rtnetlink(7)`).
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InterfaceInfo {
    /// The type of its hardware (`ARPHRD_ETHER` and so on).
    pub(crate) hardware: u16,
    pub(crate) index: u32,
    /// The flags `IFF_UP` and so on.
    pub(crate) flags: u32,
    pub(crate) mtu: u32,
    /// The index of the interface that it belongs to, such as a bridge.
    pub(crate) master: Option<u32>,
    /// The kind of that one: `bridge`, `bond`, `vrf` and so on.
    pub(crate) master_kind: String,
    /// The interface is a bridge of the kernel.
    pub(crate) bridge: bool,
    /// Its own flags tell the bridge to pass packets between ports through the firewall.
    pub(crate) calls_rules: bool,
}

/// The attribute of a port with the kind of what it belongs to, and the flags of a bridge for IPv4 and IPv6
/// (`linux/if_link.h`).
const IFLA_INFO_SLAVE_KIND: u16 = 4;
const IFLA_BR_NF_CALL: [u16; 2] = [36, 37];

impl InterfaceInfo {
    /// Returns the description of the interface `name` in this thread's namespace.
    pub(crate) fn of(name: &str) -> nix::Result<Self> {
        Self::read(&ask(name)?)
    }

    /// Parses `RTM_NEWLINK`, or the error message in its place.
    fn read(message: &[u8]) -> nix::Result<Self> {
        let number = |at: usize| message.get(at..)?.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes));
        let short = |at: usize| message.get(at..)?.first_chunk().map(|bytes| u16::from_ne_bytes(*bytes));
        match short(4) {
            Some(libc::RTM_NEWLINK) => {}
            Some(kind) if i32::from(kind) == libc::NLMSG_ERROR => {
                return Err(Errno::from_raw(number(16).map_or(0, |error| error.cast_signed().wrapping_neg())));
            }
            _ => return Err(Errno::EBADMSG),
        }
        let (Some(hardware), Some(index), Some(flags)) = (short(18), number(20), number(24)) else {
            return Err(Errno::EBADMSG);
        };
        let mut answer = Self {
            hardware,
            index,
            flags,
            mtu: 0,
            master: None,
            master_kind: String::new(),
            bridge: false,
            calls_rules: false,
        };
        for (kind, value) in Attributes::new(message.get(HEADERS..).unwrap_or_default()) {
            match kind {
                libc::IFLA_MTU => answer.mtu = value.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)),
                libc::IFLA_MASTER => answer.master = value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes)),
                libc::IFLA_LINKINFO => answer.read_link(value),
                _ => {}
            }
        }
        Ok(answer)
    }

    /// Reads the attributes of the kind of the interface.
    fn read_link(&mut self, attributes: &[u8]) {
        let text = |value: &[u8]| String::from_utf8_lossy(value.strip_suffix(&[0]).unwrap_or(value)).into_owned();
        for (kind, value) in Attributes::new(attributes) {
            match kind {
                libc::IFLA_INFO_KIND => self.bridge = text(value) == "bridge",
                IFLA_INFO_SLAVE_KIND => self.master_kind = text(value),
                libc::IFLA_INFO_DATA if self.bridge => {
                    let calls = |(flag, set): (u16, &[u8])| IFLA_BR_NF_CALL.contains(&flag) && set == [1];
                    self.calls_rules = Attributes::new(value).any(calls);
                }
                _ => {}
            }
        }
    }
}

/// Sends `RTM_GETLINK` for the interface `name` and returns the answer.
fn ask(name: &str) -> nix::Result<Vec<u8>> {
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, SockProtocol::NetlinkRoute)?;
    connect(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
    send(socket.as_raw_fd(), &question(name), MsgFlags::empty())?;
    let mut answer = vec![0; ANSWER_BYTES];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
    answer.truncate(length);
    Ok(answer)
}

fn question(name: &str) -> Vec<u8> {
    let attribute = 4 + name.len() + 1;
    let mut message = vec![0; HEADERS + attribute.next_multiple_of(4)];
    let length = message.len() as u32;
    message[..4].copy_from_slice(&length.to_ne_bytes());
    message[4..6].copy_from_slice(&libc::RTM_GETLINK.to_ne_bytes());
    message[6..8].copy_from_slice(&(libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message[HEADERS..HEADERS + 2].copy_from_slice(&(attribute as u16).to_ne_bytes());
    message[HEADERS + 2..HEADERS + 4].copy_from_slice(&libc::IFLA_IFNAME.to_ne_bytes());
    message[HEADERS + 4..HEADERS + 4 + name.len()].copy_from_slice(name.as_bytes());
    message
}
