//! Networks of IP addresses, which select packets by their source.

use std::collections::HashSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use fairlane_qdisc::headers::FlowId;

/// The addresses that begin with the same bits, such as `10.0.0.0/8` or `2001:db8::/32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// The number of bits that are the same.
    prefix: u8,
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownNetwork(String);

impl Network {
    /// Returns true if `address` is of the network.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && common(self.address, address) >= self.prefix
    }

    /// Returns the smallest network that has the sources of one direction of all conversations of which `flows` has
    /// both: the direction of the first flow. `None` if there is no such conversation. Where no network tells the
    /// directions apart, it is that flow's source alone.
    pub(crate) fn of_first_direction(flows: &[FlowId]) -> Option<Self> {
        let all: HashSet<FlowId> = flows.iter().copied().collect();
        let mut seen = HashSet::new();
        // The flow of each conversation that came first.
        let mut first = flows.iter().filter_map(|flow| {
            seen.insert(*flow);
            let back = turned(flow)?;
            if all.contains(&back) && !seen.contains(&back) { ends(flow) } else { None }
        });
        let (source, destination) = first.next()?;
        let alone = Self { address: source, prefix: bits(source) };
        let (mut network, mut others) = (alone, vec![destination]);
        for (from, to) in first {
            // Another conversation may have begun at the other end.
            let (near, far) = if common(source, from) >= common(source, to) { (from, to) } else { (to, from) };
            network.prefix = network.prefix.min(common(source, near));
            others.push(far);
        }
        Some(if others.iter().any(|other| network.contains(*other)) { alone } else { network })
    }
}

fn turned(flow: &FlowId) -> Option<FlowId> {
    let FlowId::Ip { protocol, source, destination, ports } = *flow else { return None };
    let ports = ports.map(|(from, to)| (to, from));
    Some(FlowId::Ip { protocol, source: destination, destination: source, ports })
}

fn ends(flow: &FlowId) -> Option<(IpAddr, IpAddr)> {
    let FlowId::Ip { source, destination, .. } = *flow else { return None };
    Some((source, destination))
}

const fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Returns the number of first bits that two addresses share; 0 for addresses of different versions.
fn common(a: IpAddr, b: IpAddr) -> u8 {
    let same = match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    };
    same as u8
}

impl FromStr for Network {
    type Err = UnknownNetwork;

    /// Reads an address and the length of its prefix; without a length it is the address alone.
    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        let unknown = || UnknownNetwork(text.to_owned());
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| unknown())?;
        let prefix = prefix.map_or(Ok(bits(address)), |prefix| prefix.parse().map_err(|_| unknown()))?;
        if prefix > bits(address) { Err(unknown()) } else { Ok(Self { address, prefix }) }
    }
}

/// Such as `10.0.0.0/8`; the bits behind the prefix are zero.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let behind = u32::from(bits(self.address) - self.prefix);
        let address = match self.address {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & u32::MAX.checked_shl(behind).unwrap_or(0)).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & u128::MAX.checked_shl(behind).unwrap_or(0)).into()
            }
        };
        let address: IpAddr = address;
        if behind == 0 { write!(f, "{address}") } else { write!(f, "{address}/{}", self.prefix) }
    }
}

impl fmt::Display for UnknownNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is no network: write for example 10.0.0.0/8, 192.0.2.7 or 2001:db8::/32", self.0)
    }
}

impl std::error::Error for UnknownNetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn network(text: &str) -> Network {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_prefix_of_any_length() {
        for (text, inside, outside) in [
            ("10.0.0.0/8", "10.255.0.1", "11.0.0.0"),
            ("10.128.0.0/9", "10.128.0.0", "10.127.255.255"),
            ("192.0.2.7", "192.0.2.7", "192.0.2.6"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"),
            ("::/0", "ffff::", "1.2.3.4"),
        ] {
            let network = network(text);
            assert!(network.contains(address(inside)) && !network.contains(address(outside)), "{text}");
            assert_eq!(network.to_string(), text);
        }
        assert_eq!(network("10.1.2.3/8").to_string(), "10.0.0.0/8");
        for wrong in ["", "10", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10.0.0.0/8/8", "host"] {
            assert!(wrong.parse::<Network>().is_err(), "{wrong}");
        }
    }

    fn flow(source: &str, destination: &str, ports: (u16, u16)) -> FlowId {
        let (source, destination) = (address(source), address(destination));
        FlowId::Ip { protocol: 6, source, destination, ports: Some(ports) }
    }

    /// Would catch a direction told by one flow alone, and a network that has both ends.
    #[test]
    fn both_directions_are_told_apart() {
        let first = |flows: &[FlowId]| Network::of_first_direction(flows).map(|network| network.to_string());
        let there = flow("10.0.0.1", "10.128.0.1", (1, 2));
        let back = flow("10.128.0.1", "10.0.0.1", (2, 1));
        assert_eq!(first(&[there, flow("10.128.0.1", "10.0.0.1", (2, 3))]), None);
        assert_eq!(first(&[there, back]), Some("10.0.0.1".to_owned()));
        let other = [flow("10.128.0.6", "10.0.0.6", (2, 1)), flow("10.0.0.6", "10.128.0.6", (1, 2))];
        assert_eq!(first(&[there, back, other[0], other[1]]), Some("10.0.0.0/29".to_owned()));
        let near = [flow("10.0.0.1", "10.0.0.2", (1, 2)), flow("10.0.0.2", "10.0.0.1", (2, 1))];
        assert_eq!(first(&near), Some("10.0.0.1".to_owned()));
    }
}
