//! The properties of an interface that decide whether it can be bridged.

use std::io;
use std::net::IpAddr;

use nix::errno::Errno;
use nix::ifaddrs::getifaddrs;
use nix::libc;

use super::error::BridgeError;
use super::frame::{ETHERNET, TAG};
use crate::sys::ethtool;
use crate::sys::interface_info::InterfaceInfo;

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
    /// kernel's own bridge. A tag that the kernel removes from received frames does not count.
    pub(crate) const fn longest(&self) -> usize {
        self.mtu + ETHERNET + TAG
    }

    fn find(name: &str) -> Result<Self, BridgeError> {
        let said = |error: Errno| match error {
            Errno::ENODEV | Errno::ERANGE | Errno::EINVAL => BridgeError::Unknown(name.to_owned()),
            other => BridgeError::Failed(name.to_owned(), other.into()),
        };
        let answer = InterfaceInfo::of(name).map_err(said)?;
        let name = name.to_owned();
        if answer.hardware != libc::ARPHRD_ETHER {
            return Err(BridgeError::NotEthernet(name));
        }
        if answer.master.is_some() {
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

/// Returns an error unless the interface `name` still has this index.
pub(super) fn check_index(name: &str, index: u32) -> io::Result<()> {
    match nix::net::if_::if_nametoindex(name) {
        Ok(now) if now == index => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::NotFound, format!("the interface \"{name}\" is gone"))),
    }
}
