//! Identifiers of flows.

use core::fmt;
use core::net::{IpAddr, SocketAddr};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const GRE: u8 = 47;
const ESP: u8 = 50;
const ICMP6: u8 = 58;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

const ARP: u16 = 0x0806;

/// A flow as its packets' headers name it: one direction of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FlowId {
    /// The 5-tuple of IPv4 or IPv6.
    Ip {
        /// The protocol above IP and its extension headers, by its IANA number.
        protocol: u8,
        /// The sender.
        source: IpAddr,
        /// The receiver.
        destination: IpAddr,
        /// The ports, sender's first; `None` where the protocol has none or they were not captured.
        ports: Option<(u16, u16)>,
    },
    /// The Ethernet type and the hardware addresses of any other protocol.
    Frame {
        /// The Ethernet type; 0 for frames without one, as in IEEE 802.3.
        ether_type: u16,
        /// The sender's hardware address; zeros where there is none.
        source: [u8; 6],
        /// The receiver's hardware address; zeros where there is none.
        destination: [u8; 6],
    },
}

/// Returns true if packets of IP protocol `protocol` begin with two ports.
pub(super) const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | DCCP | SCTP | UDP_LITE)
}

impl FlowId {
    /// The protocol: `tcp`, `udp`, `icmp`, `icmp6`, `sctp`, `dccp`, `udplite`, `gre`, `esp`, else `ip`; for frames
    /// without IP `arp` or `other`.
    #[must_use]
    pub const fn protocol_name(&self) -> &'static str {
        match self {
            Self::Ip { protocol, .. } => match *protocol {
                TCP => "tcp",
                UDP => "udp",
                ICMP => "icmp",
                ICMP6 => "icmp6",
                SCTP => "sctp",
                DCCP => "dccp",
                UDP_LITE => "udplite",
                GRE => "gre",
                ESP => "esp",
                _ => "ip",
            },
            Self::Frame { ether_type: ARP, .. } => "arp",
            Self::Frame { .. } => "other",
        }
    }

    /// Returns true if the transport slows down after a loss: TCP, SCTP and DCCP do; all others count as
    /// unresponsive.
    #[must_use]
    pub const fn responsive(&self) -> bool {
        matches!(self, Self::Ip { protocol: TCP | SCTP | DCCP, .. })
    }
}

/// Such as `tcp/10.0.0.1:40000>10.0.0.2:80`, `ip-89/10.0.0.1>224.0.0.5` and
/// `other-88cc/02:00:00:00:00:01>01:80:c2:00:00:0e`.
impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.protocol_name();
        match (name, self) {
            ("ip", Self::Ip { protocol, .. }) => write!(f, "{name}-{protocol}/")?,
            ("other", Self::Frame { ether_type, .. }) => write!(f, "{name}-{ether_type:04x}/")?,
            _ => write!(f, "{name}/")?,
        }
        match *self {
            Self::Ip { source, destination, ports: Some((from, to)), .. } => {
                write!(f, "{}>{}", SocketAddr::new(source, from), SocketAddr::new(destination, to))
            }
            Self::Ip { source, destination, ports: None, .. } => write!(f, "{source}>{destination}"),
            Self::Frame { source, destination, .. } => write!(f, "{}>{}", Hardware(source), Hardware(destination)),
        }
    }
}

/// A hardware address.
struct Hardware([u8; 6]);

impl fmt::Display for Hardware {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
