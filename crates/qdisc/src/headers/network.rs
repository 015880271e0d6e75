//! Networks of IP addresses.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

/// The addresses of IPv4 or of IPv6 that begin with the same bits, such as `10.0.0.0/8` (RFC 4632) or `2001:db8::/32`
/// (RFC 4291).
///
/// Networks are ordered by their first address, IPv4 first; one stands before those that it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Network {
    address: IpAddr,
    /// The number of bits that are the same.
    prefix: u8,
}

/// A text that is no network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownNetwork {
    /// The text is no address with the length of a prefix.
    Malformed,
    /// The address has bits behind the prefix: an address of this network.
    BitsBehind(Network),
}

impl Network {
    /// Returns the network of the addresses whose first `prefix` bits are those of `address`. A prefix longer than an
    /// address is that of the address alone.
    #[must_use]
    pub const fn new(address: IpAddr, prefix: u8) -> Self {
        let prefix = if prefix < bits(address) { prefix } else { bits(address) };
        let behind = (bits(address) - prefix) as u32;
        let address = match address {
            IpAddr::V4(address) => {
                let mask = if behind == u32::BITS { 0 } else { u32::MAX << behind };
                IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & mask))
            }
            IpAddr::V6(address) => {
                let mask = if behind == u128::BITS { 0 } else { u128::MAX << behind };
                IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & mask))
            }
        };
        Self { address, prefix }
    }

    /// Returns its first address.
    #[must_use]
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// Returns the length of its prefix in bits.
    #[must_use]
    pub const fn prefix(self) -> u8 {
        self.prefix
    }

    /// Returns true if `address` is of the network.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.address.is_ipv4() == address.is_ipv4() && Self::new(address, self.prefix) == self
    }
}

const fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

impl FromStr for Network {
    type Err = UnknownNetwork;

    /// Reads an address and the length of its prefix; without a length it is the address alone.
    fn from_str(text: &str) -> Result<Self, UnknownNetwork> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| UnknownNetwork::Malformed)?;
        let longest = bits(address);
        // Only digits: `parse` would take a sign as well.
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let prefix = prefix.map_or(Some(longest), digits);
        let prefix = prefix.filter(|prefix| *prefix <= longest).ok_or(UnknownNetwork::Malformed)?;
        let network = Self::new(address, prefix);
        if network.address == address { Ok(network) } else { Err(UnknownNetwork::BitsBehind(network)) }
    }
}

/// Such as `10.0.0.0/8`, and an address alone as `192.0.2.7`.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)?;
        if self.prefix == bits(self.address) { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

impl fmt::Display for UnknownNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("write a network such as 10.0.0.0/8 or 2001:db8::/32, or one address"),
            Self::BitsBehind(network) => {
                let prefix = network.prefix;
                write!(f, "there are bits behind the first {prefix}: write {network}, or the address without a length")
            }
        }
    }
}

impl core::error::Error for UnknownNetwork {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    /// RFC 1918: 172.16.0.0/12 ends with 172.31.255.255. RFC 4193: fd00::/8. Would catch a shift by the whole width,
    /// and an address of one version in a network of the other.
    #[test]
    fn a_network_contains_its_addresses() {
        for (text, inside, outside) in [
            ("172.16.0.0/12", ["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]),
            ("10.128.0.0/9", ["10.128.0.0", "10.255.0.1"], ["10.127.255.255", "11.0.0.0"]),
            ("fd00::/8", ["fd00::", "fdff::1"], ["fe00::", "fc00::1"]),
            ("10.0.0.7", ["10.0.0.7", "10.0.0.7"], ["10.0.0.6", "::a00:7"]),
            ("2001:db8::1", ["2001:db8::1", "2001:db8::1"], ["2001:db8::", "2001:db8::2"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::ffff:1.2.3.4"]),
            ("::/0", ["::", "ffff::"], ["0.0.0.0", "1.2.3.4"]),
        ] {
            let network = network(text);
            assert!(inside.iter().all(|address| network.contains(address.parse().unwrap())), "{text}");
            assert!(!outside.iter().any(|address| network.contains(address.parse().unwrap())), "{text}");
            assert_eq!(network.to_string(), text);
        }
        assert_eq!(network("10.0.0.7/32"), network("10.0.0.7"));
        assert!(network("10.0.0.0/8") < network("10.0.0.0/9") && network("255.0.0.0/8") < network("::/0"));
    }

    #[test]
    fn other_text_is_refused_with_the_right_one() {
        for text in [
            "",
            "/8",
            "10",
            "10.0.0.0/33",
            "::/129",
            "10.0.0.0/",
            "10.0.0.0/+8",
            "10.0.0.0/-1",
            "10/8",
            "lan",
            "1.0.0.0/8/8",
        ] {
            assert_eq!(text.parse::<Network>(), Err(UnknownNetwork::Malformed), "{text}");
        }
        let error = "192.168.1.7/24".parse::<Network>().unwrap_err().to_string();
        assert!(error.contains("the first 24: write 192.168.1.0/24, or the address"), "{error}");
    }
}
