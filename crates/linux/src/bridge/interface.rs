//! The properties of an interface that decide whether it can be bridged.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, connect, recv, send, socket,
};

use super::error::BridgeError;
use super::frame::{ETHERNET, TAG};
use crate::ethtool;
use crate::nfqueue::Attributes;

/// The length of `struct nlmsghdr` and `struct ifinfomsg`.
const HEADERS: usize = 16 + 16;
/// Space for all attributes of an interface.
const ANSWER_BYTES: usize = 64 << 10;

/// `ETHTOOL_GFLAGS` and its flag `ETH_FLAG_LRO` of `linux/ethtool.h`.
const FLAGS: u32 = 0x25;
const LRO: u32 = 1 << 15;

/// An Ethernet interface that can be bridged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(super) name: String,
    pub(super) index: u32,
    mtu: usize,
}

impl Interface {
    /// Returns the two interfaces of a bridge, in this thread's namespace.
    pub(crate) fn pair(names: [&str; 2]) -> Result<[Self; 2], BridgeError> {
        if names[0] == names[1] {
            return Err(BridgeError::Same(names[0].to_owned()));
        }
        Ok([Self::find(names[0])?, Self::find(names[1])?])
    }

    /// Returns the length of the longest frame that the interface sends: its MTU, a header and a VLAN tag, as for the
    /// kernel's own bridge.
    pub(crate) const fn longest(&self) -> usize {
        self.mtu + ETHERNET + TAG
    }

    fn find(name: &str) -> Result<Self, BridgeError> {
        let said = |error: Errno| match error {
            Errno::ENODEV | Errno::ERANGE | Errno::EINVAL => BridgeError::Unknown(name.to_owned()),
            other => BridgeError::Failed(name.to_owned(), other.into()),
        };
        let answer = InterfaceInfo::read(&ask(name).map_err(said)?).map_err(said)?;
        let name = name.to_owned();
        if answer.hardware != libc::ARPHRD_ETHER {
            return Err(BridgeError::NotEthernet(name));
        }
        if answer.enslaved {
            return Err(BridgeError::Enslaved(name));
        }
        if let Some(address) = address(&name) {
            return Err(BridgeError::Address { name, address });
        }
        if answer.flags & libc::IFF_UP as u32 == 0 {
            return Err(BridgeError::Down(name));
        }
        // A driver without this flag has no LRO.
        if ethtool::value(&name, FLAGS, 0).is_ok_and(|flags| flags & LRO != 0) {
            return Err(BridgeError::Lro(name));
        }
        Ok(Self { name, index: answer.index, mtu: answer.mtu as usize })
    }
}

/// Returns the MTU of the interface `name` in bytes.
pub(crate) fn mtu(name: &str) -> nix::Result<u32> {
    ask(name).and_then(|answer| InterfaceInfo::read(&answer)).map(|answer| answer.mtu)
}

/// Returns an address by which others reach this machine. Link-local addresses, which every interface with IPv6 has,
/// are ignored.
fn address(name: &str) -> Option<IpAddr> {
    let of_it = getifaddrs().ok()?.filter(|address| address.interface_name == name);
    let addresses = of_it.filter_map(|address| {
        let address = address.address?;
        let four = address.as_sockaddr_in().map(|four| IpAddr::V4(four.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|six| IpAddr::V6(six.ip())))
    });
    addresses.into_iter().find(|address| !matches!(address, IpAddr::V6(six) if six.is_unicast_link_local()))
}

/// The kernel's description of an interface (`rtnetlink(7)`).
#[derive(Debug, PartialEq, Eq)]
struct InterfaceInfo {
    hardware: u16,
    index: u32,
    flags: u32,
    mtu: u32,
    enslaved: bool,
}

impl InterfaceInfo {
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
        let mut answer = Self { hardware, index, flags, mtu: 0, enslaved: false };
        for (kind, value) in Attributes::new(message.get(HEADERS..).unwrap_or_default()) {
            match kind {
                libc::IFLA_MTU => answer.mtu = value.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes)),
                libc::IFLA_MASTER => answer.enslaved = true,
                _ => {}
            }
        }
        Ok(answer)
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

/// Returns an error unless the interface `name` still has this index.
pub(super) fn check_index(name: &str, index: u32) -> io::Result<()> {
    match nix::net::if_::if_nametoindex(name) {
        Ok(now) if now == index => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, format!("the interface \"{name}\" is gone"))),
    }
}
