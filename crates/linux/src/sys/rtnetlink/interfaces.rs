//! Interfaces, addresses and routes.
//!
//! **Source.** rtnetlink(7); `linux/if_link.h`, `linux/veth.h`, `linux/if_addr.h`, `linux/rtnetlink.h`.

use std::io;
use std::net::IpAddr;

use nix::libc;
use nix::net::if_::if_nametoindex;

use super::request::Request;
use super::{ACKNOWLEDGE, CREATE, EXCLUSIVE, RouteSocket};

/// Makes an object that must not be there yet.
const ADD: u16 = ACKNOWLEDGE | CREATE | EXCLUSIVE;

/// `VETH_INFO_PEER` of `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;

/// The sizes of `struct ifinfomsg`, `ifaddrmsg` and `rtmsg`.
const IFINFO: usize = 16;
const IFADDR: usize = 8;
const RTMSG: usize = 12;

/// One end of a pair of virtual Ethernet interfaces (veth(4)).
#[derive(Clone, Copy, Debug)]
pub struct VethEnd<'a> {
    /// The interface's name, at most 15 bytes.
    pub name: &'a str,
    /// The hardware address.
    pub address: [u8; 6],
    /// A thread of the network namespace for the interface; `None`: the socket's.
    pub namespace_of: Option<u32>,
}

/// A route.
#[derive(Clone, Copy, Debug)]
pub struct Route<'a> {
    /// The destinations: an address and the length of the prefix; length 0 for all.
    pub to: (IpAddr, u8),
    /// The next hop; `None`: the destinations are on the interface's own link.
    pub via: Option<IpAddr>,
    /// The interface.
    pub interface: &'a str,
    /// Packets to the destinations are for this host.
    pub local: bool,
}

impl RouteSocket {
    /// Adds a pair of virtual Ethernet interfaces of `mtu` bytes.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn add_veth(&self, ends: [VethEnd<'_>; 2], mtu: u32) -> io::Result<()> {
        let describe = |message: &mut Request, end: &VethEnd<'_>| {
            message.text(libc::IFLA_IFNAME, end.name);
            message.attribute(libc::IFLA_ADDRESS, &end.address);
            message.attribute(libc::IFLA_MTU, &mtu.to_ne_bytes());
            if let Some(thread) = end.namespace_of {
                message.attribute(libc::IFLA_NET_NS_PID, &thread.to_ne_bytes());
            }
        };
        let [first, second] = &ends;
        let mut message = Request::new(libc::RTM_NEWLINK, ADD, &[0; IFINFO]);
        describe(&mut message, first);
        message.nested(libc::IFLA_LINKINFO, |message| {
            message.attribute(libc::IFLA_INFO_KIND, b"veth");
            message.nested(libc::IFLA_INFO_DATA, |message| {
                message.nested(VETH_INFO_PEER, |message| {
                    message.raw(&[0; IFINFO]);
                    describe(message, second);
                });
            });
        });
        self.change(&message.finish())
    }

    /// Adds an interface of this kind, such as `ifb`.
    ///
    /// # Errors
    /// The kernel refuses it: there is an interface of this name, or the kernel does not know the kind.
    pub fn add_interface(&self, name: &str, kind: &str) -> io::Result<()> {
        let mut message = Request::new(libc::RTM_NEWLINK, ADD, &[0; IFINFO]);
        message.text(libc::IFLA_IFNAME, name);
        message.nested(libc::IFLA_LINKINFO, |message| message.attribute(libc::IFLA_INFO_KIND, kind.as_bytes()));
        self.change(&message.finish())
    }

    /// Removes an interface.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn remove_interface(&self, ifindex: u32) -> io::Result<()> {
        let mut body = [0; IFINFO];
        body[4..8].copy_from_slice(&ifindex.to_ne_bytes());
        self.change(&Request::new(libc::RTM_DELLINK, ACKNOWLEDGE, &body).finish())
    }

    /// Sets an interface up. Without address resolution (`IFF_NOARP`) packets to all neighbours have the interface's
    /// own hardware address.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses it.
    pub fn set_up(&self, interface: &str, resolution: bool) -> io::Result<()> {
        let noarp = if resolution { 0 } else { libc::IFF_NOARP as u32 };
        let flags = libc::IFF_UP as u32 | noarp;
        let mut body = [0; IFINFO];
        body[4..8].copy_from_slice(&if_nametoindex(interface)?.to_ne_bytes());
        body[8..12].copy_from_slice(&flags.to_ne_bytes());
        body[12..16].copy_from_slice(&flags.to_ne_bytes());
        self.change(&Request::new(libc::RTM_NEWLINK, ACKNOWLEDGE, &body).finish())
    }

    /// Adds an address with the length of its network's prefix. It can be used at once.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses it.
    pub fn add_address(&self, interface: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
        let flags = if address.is_ipv6() { libc::IFA_F_NODAD as u8 } else { 0 };
        let mut body = [0; IFADDR];
        body[..4].copy_from_slice(&[family(address), prefix, flags, libc::RT_SCOPE_UNIVERSE]);
        body[4..8].copy_from_slice(&if_nametoindex(interface)?.to_ne_bytes());
        let mut message = Request::new(libc::RTM_NEWADDR, ADD, &body);
        for kind in [libc::IFA_LOCAL, libc::IFA_ADDRESS] {
            message.attribute(kind, &octets(address));
        }
        self.change(&message.finish())
    }

    /// Adds a route.
    ///
    /// # Errors
    /// There is no such interface, or the kernel refuses it.
    pub fn add_route(&self, route: &Route<'_>) -> io::Result<()> {
        let Route { to: (network, prefix), via, interface, local } = *route;
        let (kind, scope) = match (local, via) {
            (true, _) => (libc::RTN_LOCAL, libc::RT_SCOPE_HOST),
            (false, None) => (libc::RTN_UNICAST, libc::RT_SCOPE_LINK),
            (false, Some(_)) => (libc::RTN_UNICAST, libc::RT_SCOPE_UNIVERSE),
        };
        // A default route of the local table would hide all routes of the main one.
        let table = if local && prefix > 0 { libc::RT_TABLE_LOCAL } else { libc::RT_TABLE_MAIN };
        let mut body = [0; RTMSG];
        body[..8].copy_from_slice(&[family(network), prefix, 0, 0, table, libc::RTPROT_BOOT, scope, kind]);
        let mut message = Request::new(libc::RTM_NEWROUTE, ADD, &body);
        if prefix > 0 {
            message.attribute(libc::RTA_DST, &octets(network));
        }
        if let Some(via) = via {
            message.attribute(libc::RTA_GATEWAY, &octets(via));
        }
        message.attribute(libc::RTA_OIF, &if_nametoindex(interface)?.to_ne_bytes());
        self.change(&message.finish())
    }
}

const fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    }
}
