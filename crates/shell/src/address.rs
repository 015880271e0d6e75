//! The addresses of a shell, which depend on how many shells it is in.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nix::ifaddrs::getifaddrs;

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
        let inside_of = |level: &u8| Self { level: *level }.inside()[0];
        let here: Vec<IpAddr> = getifaddrs().map_or_else(
            |_| Vec::new(),
            |all| {
                let four = all.filter_map(|one| Some(one.address?.as_sockaddr_in()?.ip()));
                four.map(IpAddr::V4).collect()
            },
        );
        let around = (0..u8::MAX).rev().find(|level| here.contains(&inside_of(level)));
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
