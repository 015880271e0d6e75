//! The addresses of the lab's hosts.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use fairlane_scenario::FlowGroup;
use nix::sys::socket::AddressFamily;

/// The version of IP between the hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// A side of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// The first part of the addresses on each side, and between the namespaces.
const LEFT: u8 = 78;
const RIGHT: u8 = 79;

impl IpVersion {
    /// Returns the version of an address.
    pub(crate) const fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    /// Returns the domain of sockets.
    pub(crate) const fn domain(self) -> AddressFamily {
        match self {
            Self::V4 => AddressFamily::Inet,
            Self::V6 => AddressFamily::Inet6,
        }
    }

    /// Returns the length of a header without options, in bytes.
    pub(crate) const fn header(self) -> u32 {
        match self {
            Self::V4 => 20,
            Self::V6 => 40,
        }
    }

    /// Returns the address that stands for all.
    pub(crate) const fn any(self) -> IpAddr {
        match self {
            Self::V4 => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            Self::V6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        }
    }

    /// Returns the prefix of the hosts on `side`.
    pub(crate) fn hosts(self, side: Side) -> String {
        match self {
            Self::V4 => format!("10.{}.0.0/16", side.number()),
            Self::V6 => format!("fd00:{}::/64", side.number()),
        }
    }

    /// Returns the address of the hosts' interface on `side`.
    pub(crate) const fn interface(self, side: Side) -> &'static str {
        match (self, side) {
            (Self::V4, Side::Left) => "10.77.0.1",
            (Self::V4, Side::Right) => "10.77.0.2",
            (Self::V6, Side::Left) => "fd00:77::1",
            (Self::V6, Side::Right) => "fd00:77::2",
        }
    }

    /// Returns the length of the prefix that both interfaces share.
    pub(crate) const fn link_prefix(self) -> u8 {
        match self {
            Self::V4 => 24,
            Self::V6 => 64,
        }
    }
}

impl Side {
    const fn number(self) -> u8 {
        match self {
            Self::Left => LEFT,
            Self::Right => RIGHT,
        }
    }

    /// Returns the side from which the data of a group come.
    pub(crate) fn of(group: &FlowGroup) -> Self {
        if group.path.iter().any(|hop| hop.reverse) { Self::Right } else { Self::Left }
    }

    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }

    /// Returns the address of the host of flow `flow` on this side. As in the simulator, each flow has its own hosts.
    pub(crate) fn host(self, ip_version: IpVersion, flow: u32) -> IpAddr {
        let number = flow + 1;
        match ip_version {
            IpVersion::V4 => Ipv4Addr::new(10, self.number(), (number >> 8) as u8, number as u8).into(),
            // The hexadecimal digits read like the number: fd00:78::1.
            IpVersion::V6 => {
                let side = u16::from(self.number() / 10 * 16 + self.number() % 10);
                Ipv6Addr::new(0xfd00, side, 0, 0, 0, 0, 0, number as u16).into()
            }
        }
    }
}

/// Returns the flow of a host.
pub(crate) fn flow_of(address: IpAddr) -> Option<u32> {
    match address {
        IpAddr::V4(address) => {
            let [10, LEFT | RIGHT, high, low] = address.octets() else { return None };
            (u32::from(high) << 8 | u32::from(low)).checked_sub(1)
        }
        IpAddr::V6(address) => {
            let [0xfd00, 0x78 | 0x79, 0, 0, 0, 0, 0, number] = address.segments() else { return None };
            u32::from(number).checked_sub(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch two flows that share a host, an error at the ends of the range of numbers, and a host outside the
    /// prefix of its side.
    #[test]
    fn a_host_tells_its_flow() {
        for ip_version in [IpVersion::V4, IpVersion::V6] {
            for flow in [0, 1, 254, 255, 256, 65_533] {
                for side in [Side::Left, Side::Right] {
                    assert_eq!(flow_of(side.host(ip_version, flow)), Some(flow));
                }
            }
        }
        assert_eq!(Side::Left.host(IpVersion::V4, 255).to_string(), "10.78.1.0");
        assert_eq!(Side::Right.host(IpVersion::V6, 0).to_string(), "fd00:79::1");
        assert_eq!(
            [IpVersion::V4, IpVersion::V6].map(|ip_version| ip_version.hosts(Side::Left)),
            ["10.78.0.0/16", "fd00:78::/64"]
        );
        for other in ["10.77.1.1", "10.78.0.0", "127.0.0.1", "fd00:77:1::1", "fd00:78::", "fe80::1"] {
            assert_eq!(flow_of(other.parse().unwrap()), None, "{other}");
        }
    }
}
