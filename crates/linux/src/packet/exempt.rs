//! Addresses whose packets are not queued.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A range of addresses of IPv4 or IPv6, such as `192.168.0.0/16` (RFC 4632) or `fd00::/8` (RFC 4291).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Prefix {
    address: IpAddr,
    length: u8,
}

impl Prefix {
    /// Returns `true` if the prefix contains every address of its family.
    #[must_use]
    pub const fn is_everything(self) -> bool {
        self.length == 0
    }

    /// Returns `true` for a prefix of IPv4.
    #[must_use]
    pub const fn is_ipv4(self) -> bool {
        self.address.is_ipv4()
    }

    /// Returns `true` if the prefix contains `address`.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        self.is_ipv4() == address.is_ipv4() && masked(address, self.length) == self.address
    }
}

/// Returns `address` with all bits behind the first `length` cleared.
fn masked(address: IpAddr, length: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32_u32.saturating_sub(length.into())).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128_u32.saturating_sub(length.into())).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl FromStr for Prefix {
    type Err = String;

    /// Parses an address, alone or with the length of a prefix.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("write a prefix such as 192.168.0.0/16 or fd00::/8, not \"{}\"", text.escape_debug());
        let (address, length) = text.split_once('/').map_or((text, None), |(address, length)| (address, Some(length)));
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        // Only digits: `parse` would take a sign as well.
        let digits = |length: &str| length.bytes().all(|byte| byte.is_ascii_digit()).then(|| length.parse().ok());
        let length = length.map_or(Some(longest), |length| digits(length).flatten());
        let length = length.filter(|length| *length <= longest).ok_or_else(wrong)?;
        let prefix = Self { address: masked(address, length), length };
        if prefix.address == address {
            Ok(prefix)
        } else {
            Err(format!(
                "\"{text}\" has bits behind its first {length}: write {prefix}, or {address} alone for one address"
            ))
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// The far addresses whose packets are not queued: those of the destinations of packets that leave, and of the sources
/// of packets that arrive. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exempt(Vec<Prefix>);

impl Exempt {
    /// Returns the addresses of `prefixes`, which may overlap.
    #[must_use]
    pub fn new(prefixes: &[Prefix]) -> Self {
        let mut sorted = prefixes.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // A prefix comes behind those that contain it. A set of nftables takes no two of which one contains the other.
        let mut apart: Vec<Prefix> = Vec::new();
        for prefix in sorted {
            if apart.last().is_none_or(|last| !last.contains(prefix.address)) {
                apart.push(prefix);
            }
        }
        Self(apart)
    }

    /// Returns `true` if there are no such addresses.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the prefixes in ascending order, none of which contains another.
    #[must_use]
    pub fn prefixes(&self) -> &[Prefix] {
        &self.0
    }

    /// Returns `true` if packets to or from `address` are not queued.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|prefix| prefix.contains(address))
    }
}

impl fmt::Display for Exempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prefixes: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&prefixes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap()
    }

    /// RFC 1918: 172.16.0.0/12 ends with 172.31.255.255. RFC 4193: fd00::/8. Would catch a shift by the whole width,
    /// and an address of one family in a prefix of the other.
    #[test]
    fn a_prefix_contains_its_addresses() {
        for (text, inside, outside) in [
            ("172.16.0.0/12", ["172.16.0.0", "172.31.255.255"], ["172.15.255.255", "172.32.0.0"]),
            ("fd00::/8", ["fd00::", "fdff::1"], ["fe00::", "fc00::1"]),
            ("10.0.0.7", ["10.0.0.7", "10.0.0.7"], ["10.0.0.6", "::a00:7"]),
            ("2001:db8::1", ["2001:db8::1", "2001:db8::1"], ["2001:db8::", "2001:db8::2"]),
            ("0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::", "::ffff:1.2.3.4"]),
            ("::/0", ["::", "ffff::"], ["0.0.0.0", "1.2.3.4"]),
        ] {
            for address in inside {
                assert!(prefix(text).contains(address.parse().unwrap()), "{text} {address}");
            }
            for address in outside {
                assert!(!prefix(text).contains(address.parse().unwrap()), "{text} {address}");
            }
        }
        assert_eq!(["10.0.0.7", "fd00::/8"].map(|text| prefix(text).to_string()), ["10.0.0.7/32", "fd00::/8"]);
        assert_eq!(["0.0.0.0/0", "::/1"].map(|text| prefix(text).is_everything()), [true, false]);
    }

    #[test]
    fn other_text_is_refused_with_the_right_one() {
        for text in
            ["", "/8", "10.0.0.0/33", "::/129", "10.0.0.0/", "10.0.0.0/+8", "10/8", "lan", "10.0.0.0/8/8", "\u{1b}"]
        {
            let error = text.parse::<Prefix>().unwrap_err();
            assert!(error.starts_with("write a prefix such as 192.168.0.0/16") && !error.contains('\u{1b}'), "{error}");
        }
        let error = "192.168.1.7/24".parse::<Prefix>().unwrap_err();
        assert!(error.ends_with("write 192.168.1.0/24, or 192.168.1.7 alone for one address"), "{error}");
    }

    /// Would catch prefixes of which one contains another, which nftables refuses, and one that is lost.
    #[test]
    fn no_prefix_contains_another() {
        let all = ["10.1.0.0/16", "fd00::/8", "10.0.0.0/8", "10.0.0.0/9", "fd00::1", "11.0.0.0/8", "10.1.0.0/16"];
        let exempt = Exempt::new(&all.map(prefix));
        assert_eq!(exempt.to_string(), "10.0.0.0/8, 11.0.0.0/8, fd00::/8");
        assert!(exempt.contains("10.255.0.1".parse().unwrap()) && !exempt.contains("12.0.0.0".parse().unwrap()));
    }
}
