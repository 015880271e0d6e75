//! The definition of a flow.

use core::error::Error;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use super::flow::FlowId;

/// The packets that count as one flow. Frames other than IP are always flows by type and hardware addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FlowsBy {
    /// Source and destination address, protocol and ports: `five-tuple`.
    #[default]
    FiveTuple,
    /// As [`FiveTuple`](Self::FiveTuple), of the innermost IP header in tunnels of GRE and IP in IP: `inner`.
    /// [`Headers::by`](super::Headers::by) finds it.
    Inner,
    /// Source and destination address: `address-pair`.
    AddressPair,
    /// Source address, to any destination: `source-address`.
    SourceAddress,
    /// Destination address, from any source: `destination-address`.
    DestinationAddress,
}

impl FlowsBy {
    /// Every definition.
    pub const ALL: [Self; 5] =
        [Self::FiveTuple, Self::Inner, Self::AddressPair, Self::SourceAddress, Self::DestinationAddress];

    /// Returns the name: `five-tuple`, `inner`, `address-pair`, `source-address` or `destination-address`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FiveTuple => "five-tuple",
            Self::Inner => "inner",
            Self::AddressPair => "address-pair",
            Self::SourceAddress => "source-address",
            Self::DestinationAddress => "destination-address",
        }
    }

    /// Returns the flow of packets with `id`.
    #[must_use]
    pub const fn flow(self, id: FlowId) -> FlowName {
        let FlowId::Ip { source, destination, .. } = id else { return FlowName { by: self, id } };
        let (source, destination) = match self {
            Self::FiveTuple | Self::Inner => return FlowName { by: self, id },
            Self::AddressPair => (source, destination),
            Self::SourceAddress => (source, unspecified(source)),
            Self::DestinationAddress => (unspecified(destination), destination),
        };
        FlowName { by: self, id: FlowId::Ip { protocol: 0, source, destination, ports: None } }
    }
}

impl FromStr for FlowsBy {
    type Err = UnknownFlowsBy;

    /// Reads a [name](Self::name).
    fn from_str(name: &str) -> Result<Self, UnknownFlowsBy> {
        Self::ALL.into_iter().find(|by| by.name() == name).ok_or(UnknownFlowsBy)
    }
}

/// The error of a text that names no definition of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFlowsBy;

impl fmt::Display for UnknownFlowsBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, others @ ..] = FlowsBy::ALL;
        write!(f, "write one of {}", first.name())?;
        others.into_iter().try_for_each(|by| write!(f, ", {}", by.name()))
    }
}

impl Error for UnknownFlowsBy {}

/// Returns the address that stands for all of the same family.
const fn unspecified(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// A flow by one of the definitions, and its readable name.
///
/// Formats as `udp/10.0.0.1:5000>10.0.0.2:80`, without ports as `udp/10.0.0.1>10.0.0.2`, and by addresses as
/// `10.0.0.1>10.0.0.2`, `10.0.0.1>*` and `*>10.0.0.2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FlowName {
    by: FlowsBy,
    /// The identifier, with 0 in each field that the definition ignores.
    id: FlowId,
}

impl FlowName {
    /// Returns the protocol as [`FlowId::protocol_name`], by addresses `ip`.
    #[must_use]
    pub const fn protocol_name(&self) -> &'static str {
        match (self.by, self.id) {
            (FlowsBy::FiveTuple | FlowsBy::Inner, _) | (_, FlowId::Frame { .. }) => self.id.protocol_name(),
            (_, FlowId::Ip { .. }) => "ip",
        }
    }
}

impl fmt::Display for FlowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.by, self.id) {
            (FlowsBy::FiveTuple | FlowsBy::Inner, id) | (_, id @ FlowId::Frame { .. }) => id.fmt(f),
            (FlowsBy::AddressPair, FlowId::Ip { source, destination, .. }) => write!(f, "{source}>{destination}"),
            (FlowsBy::SourceAddress, FlowId::Ip { source, .. }) => write!(f, "{source}>*"),
            (FlowsBy::DestinationAddress, FlowId::Ip { destination, .. }) => write!(f, "*>{destination}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    fn id(source: u8, destination: u8, protocol: u8, port: u16) -> FlowId {
        let address = |last| IpAddr::from([10, 0, 0, last]);
        FlowId::Ip { protocol, source: address(source), destination: address(destination), ports: Some((port, 80)) }
    }

    /// Would catch a definition that leaves out a field or takes another, and a name that tells what does not belong to
    /// the flow.
    #[test]
    fn each_definition_has_its_fields() {
        let whole = id(1, 2, 17, 5);
        let others = [id(1, 2, 17, 6), id(1, 2, 6, 5), id(1, 3, 17, 5), id(3, 2, 17, 5)];
        let frame = FlowId::Frame { ether_type: 0x0806, source: [1; 6], destination: [2; 6] };
        for (by, name, same) in [
            (FlowsBy::FiveTuple, "udp/10.0.0.1:5>10.0.0.2:80", [false, false, false, false]),
            (FlowsBy::Inner, "udp/10.0.0.1:5>10.0.0.2:80", [false, false, false, false]),
            (FlowsBy::AddressPair, "10.0.0.1>10.0.0.2", [true, true, false, false]),
            (FlowsBy::SourceAddress, "10.0.0.1>*", [true, true, true, false]),
            (FlowsBy::DestinationAddress, "*>10.0.0.2", [true, true, false, true]),
        ] {
            assert_eq!(others.map(|other| by.flow(other) == by.flow(whole)), same, "{}", by.name());
            assert_eq!(by.flow(whole).to_string(), name);
            assert_eq!(by.flow(whole).protocol_name(), if name.starts_with("udp") { "udp" } else { "ip" });
            assert_eq!((by.flow(frame).to_string(), by.flow(frame).protocol_name()), (frame.to_string(), "arp"));
        }
    }
}
