//! Headers of packets as they are on a link: from bytes to flows, hosts, traffic class and ECN codepoint.
//!
//! [`Headers::read`] finds the IP header behind the headers of the link, and reads as far as the packet was captured.
//! [`FlowKeys`] hashes the flow and the hosts for a [`Packet`](crate::Packet). [`mark_ce`] and [`clear_dscp`] change
//! the traffic class, and [`tcp_header`] is the input of filters of acknowledgements. Nothing is allocated.
//!
//! ```
//! use fairlane_qdisc::headers::{FlowKeys, FlowsBy, Headers, LinkType};
//!
//! // An IPv4 header alone, ECT(0), of UDP from 10.0.0.1 to 10.0.0.2; 1000 bytes were sent.
//! let packet = [0x45, 2, 3, 232, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
//! let headers = Headers::read(LinkType::Raw, &packet, 1000);
//! assert_eq!((headers.flow.to_string().as_str(), headers.ecn()), ("udp/10.0.0.1>10.0.0.2", 0b10));
//!
//! // The secret comes from the operating system's randomness.
//! let keys = FlowKeys::new(FlowsBy::FiveTuple, 0x0123_4567_89ab_cdef);
//! assert_eq!(keys.of(&headers), keys.key(headers.flow));
//! ```

mod class;
mod flow;
mod flows_by;
mod ip;
mod keys;
mod layer;
mod link;
mod network;
mod tcp;
mod tunnel;
mod wifi;

use core::net::IpAddr;

use etherparse::LaxIpSlice;

pub use class::{clear_dscp, mark_ce};
pub use flow::FlowId;
pub use flows_by::{FlowName, FlowsBy, UnknownFlowsBy};
pub use keys::FlowKeys;
pub use link::LinkType;
pub use network::{Network, UnknownNetwork};
pub use tcp::tcp_header;

use layer::Inside;
use link::Outside;

/// The fields of a packet's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headers {
    /// The flow according to this packet's headers. A later fragment has no ports here.
    pub flow: FlowId,
    /// The position of a fragment in its datagram; `None` for a whole datagram.
    pub fragment: Option<Fragment>,
    /// Length on the wire in bytes, even if only a part was captured: with the link's header, without the headers that
    /// capturing programs make up. A check sequence counts if the packet has it, unless radiotap tells of it.
    pub bytes: u32,
    /// The TOS or traffic class byte of the outermost IP header, in which routers mark; 0 without IP.
    pub tos: u8,
    /// Offset of the outermost IP header in the captured bytes; `None` without IP.
    pub ip_at: Option<usize>,
}

/// A fragment of an IP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// The datagram's identification.
    pub identification: u32,
    /// True for the first fragment, which alone has the ports.
    pub first: bool,
}

impl Headers {
    /// Reads the headers of `data`, captured on a link of type `link`, of a packet that had `original` bytes. A tunnel
    /// is one flow, that of its outer IP header; see [`by`](Self::by).
    #[must_use]
    pub fn read(link: LinkType, data: &[u8], original: u32) -> Self {
        let Outside { inside, uncounted } = link.open(data, original);
        let bytes = original.saturating_sub(uncounted);
        let ether_type = match inside {
            Inside::Ip(at) => {
                if let Ok((ip, _)) = &LaxIpSlice::from_slice(data.get(at..).unwrap_or_default()) {
                    let (flow, fragment) = ip::flow(ip);
                    return Self { flow, fragment, bytes, tos: ip::tos(ip), ip_at: Some(at) };
                }
                0
            }
            Inside::Other(ether_type) => ether_type,
        };
        let [source, destination] = link.hosts(data);
        let flow = FlowId::Frame { ether_type, source, destination };
        Self { flow, fragment: None, bytes, tos: 0, ip_at: None }
    }

    /// Returns the headers with the flow that `by` asks for: for [`FlowsBy::Inner`] that of the innermost IP header of
    /// a tunnel in `data`, the bytes that were read. The class and its place stay those of the outermost header (RFC
    /// 6040).
    #[inline]
    #[must_use]
    pub fn by(self, by: FlowsBy, data: &[u8]) -> Self {
        match self.ip_at.and_then(|at| data.get(at..)) {
            Some(outer) if by == FlowsBy::Inner => {
                let (flow, fragment) = tunnel::innermost(outer).unwrap_or((self.flow, self.fragment));
                Self { flow, fragment, ..self }
            }
            _ => self,
        }
    }

    /// Returns the flow by the fields that all its packets have in common: without ports for each fragment, even the
    /// first one. So no state is needed to find the flow of later fragments.
    #[must_use]
    pub const fn common_flow(&self) -> FlowId {
        match self.flow {
            FlowId::Ip { protocol, source, destination, .. } if self.fragment.is_some() => {
                FlowId::Ip { protocol, source, destination, ports: None }
            }
            flow => flow,
        }
    }

    /// The ECN codepoint (RFC 3168): 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    #[must_use]
    pub const fn ecn(&self) -> u8 {
        self.tos & 0b11
    }

    /// The TOS or traffic class byte without the ECN codepoint.
    #[must_use]
    pub const fn class(&self) -> u8 {
        self.tos & !0b11
    }

    /// The IP addresses of sender and receiver; `None` without IP.
    #[must_use]
    pub const fn hosts(&self) -> Option<(IpAddr, IpAddr)> {
        match self.flow {
            FlowId::Ip { source, destination, .. } => Some((source, destination)),
            FlowId::Frame { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;
