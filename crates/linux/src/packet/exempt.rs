//! Addresses whose packets are not queued.

use std::fmt;
use std::net::IpAddr;

use fairlane_qdisc::headers::Network;

/// The far addresses whose packets are not queued: those of the destinations of packets that leave, and of the sources
/// of packets that arrive. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exempt(Vec<Network>);

impl Exempt {
    /// Returns the addresses of `networks`, which may overlap.
    #[must_use]
    pub fn new(networks: &[Network]) -> Self {
        let mut sorted = networks.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // A network comes behind those that contain it. A set of nftables takes no two of which one contains the other.
        let mut apart: Vec<Network> = Vec::new();
        for network in sorted {
            if apart.last().is_none_or(|last| !last.contains(network.address())) {
                apart.push(network);
            }
        }
        Self(apart)
    }

    /// Returns `true` if there are no such addresses.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the networks in ascending order, none of which contains another.
    #[must_use]
    pub fn networks(&self) -> &[Network] {
        &self.0
    }

    /// Returns `true` if packets to or from `address` are not queued.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }
}

impl fmt::Display for Exempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let networks: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&networks.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Would catch networks of which one contains another, which nftables refuses, and one that is lost.
    #[test]
    fn no_network_contains_another() {
        let all = ["10.1.0.0/16", "fd00::/8", "10.0.0.0/8", "10.0.0.0/9", "fd00::1", "11.0.0.0/8", "10.1.0.0/16"];
        let exempt = Exempt::new(&all.map(|network| network.parse().unwrap()));
        assert_eq!(exempt.to_string(), "10.0.0.0/8, 11.0.0.0/8, fd00::/8");
        assert!(exempt.contains("10.255.0.1".parse().unwrap()) && !exempt.contains("12.0.0.0".parse().unwrap()));
    }
}
