//! The addresses of a shell, which depend on how many shells it is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::SockaddrStorage;

use crate::isolate::INTERFACE;

/// The length of the prefix of a shell's IPv4 network, and of its IPv6 network.
pub(crate) const PREFIXES: [u8; 2] = [30, 126];

/// The addresses of a shell: those of the benchmarking networks (RFC 2544, RFC 5180), which no network uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// The number of shells around this one.
    level: u8,
}

impl Addresses {
    /// Returns the addresses of a shell that is started in this thread's namespace.
    pub(crate) fn here() -> Self {
        Self::among(getifaddrs().into_iter().flatten().filter_map(|one| {
            let ip = |address: Option<SockaddrStorage>| Some(address?.as_sockaddr_in()?.ip());
            Some((one.interface_name, ip(one.address)?, ip(one.netmask)?.to_bits().count_ones() as u8))
        }))
    }

    /// Returns the addresses of a shell among these interfaces: their names, addresses and prefixes. A network of the
    /// benchmarking addresses is a shell only by the name of its interface and its size.
    fn among(interfaces: impl Iterator<Item = (String, Ipv4Addr, u8)>) -> Self {
        let link = interfaces.filter(|(name, _, prefix)| name == INTERFACE && *prefix == PREFIXES[0]);
        let here: Vec<IpAddr> = link.map(|(_, address, _)| address.into()).collect();
        let around = (0..u8::MAX).rev().find(|level| here.contains(&Self { level: *level }.inside()[0]));
        Self { level: around.map_or(0, |level| level.saturating_add(1)) }
    }

    /// Returns the addresses of a shell in this number of others.
    #[cfg(test)]
    pub(crate) const fn at(level: u8) -> Self {
        Self { level }
    }

    /// Returns the addresses of the shell around this one.
    pub(crate) fn around(self) -> Option<Self> {
        self.level.checked_sub(1).map(|level| Self { level })
    }

    /// Returns the addresses of the far end, `gateway`, of IPv4 and IPv6.
    pub(crate) fn gateway(self) -> [IpAddr; 2] {
        self.host(1)
    }

    /// Returns the addresses of the command's end.
    pub(crate) fn inside(self) -> [IpAddr; 2] {
        self.host(2)
    }

    fn host(self, number: u8) -> [IpAddr; 2] {
        let four = Ipv4Addr::new(198, 18, self.level, number);
        let six = Ipv6Addr::new(0x2001, 2, 0, self.level.into(), 0, 0, 0, number.into());
        [four.into(), six.into()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch a machine in the benchmarking network that is taken for a shell: its `gateway` would be a stranger.
    #[test]
    fn a_shell_is_known_by_its_interface() {
        let at = |name: &str, address: [u8; 4], prefix| (name.to_owned(), Ipv4Addr::from(address), prefix);
        let level = |all: &[(String, Ipv4Addr, u8)]| Addresses::among(all.iter().cloned());
        let inside = at("link", [198, 18, 0, 2], 30);
        assert_eq!(level(&[at("lo", [127, 0, 0, 1], 8), inside.clone()]), Addresses::at(1));
        assert_eq!(level(&[at("link", [198, 18, 1, 2], 30)]), Addresses::at(2));
        for other in [at("eth0", [198, 18, 0, 2], 16), at("eth0", [198, 18, 0, 2], 30), at("link", [198, 18, 0, 2], 16)]
        {
            assert_eq!(level(&[other]), Addresses::at(0));
        }
    }
}
