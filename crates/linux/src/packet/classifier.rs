//! The description of packets for disciplines.

use fairlane_qdisc::AnyConfig;
use fairlane_qdisc::discipline::cake::AckFilter;
use fairlane_qdisc::headers::{FlowKeys, FlowsBy};

use crate::packet::link_layer::LinkLayer;
use crate::sys::random::random_secret;

/// Determines a packet's flow, its hosts and its size on the link.
#[derive(Clone)]
pub struct Classifier {
    /// Hashes flows and hosts.
    pub keys: FlowKeys,
    /// Calculates the size on the link.
    pub layer: LinkLayer,
    /// The MTU in bytes by which the segments of a GSO packet and the fragments of a long one are calculated, where
    /// their length is not reported; `None` if no packet is several ones on the link.
    pub mtu: Option<u32>,
    /// The other properties that the discipline needs of packets.
    pub needs: PacketNeeds,
}

impl Classifier {
    /// Returns a classifier by flows as defined by `by`, under a new random secret, where GSO packets are segmented
    /// before they come, for a discipline that needs nothing else.
    #[must_use]
    pub fn new(by: FlowsBy, layer: LinkLayer) -> Self {
        Self { keys: FlowKeys::new(by, random_secret()), layer, mtu: None, needs: PacketNeeds::default() }
    }
}

/// The properties that a discipline needs of packets in addition to flow, size, class and ECN. Each costs time only
/// where it is needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketNeeds {
    /// The DSCP of packets that leave is cleared (`wash` of CAKE). Packets of an NFQUEUE can be changed only with
    /// [`Marking::ByUs`](crate::Marking::ByUs).
    pub wash: bool,
    /// Packets tell their TCP headers (`ack_filter` of CAKE).
    pub tcp: bool,
    /// Hosts are those behind network address translation on this machine (`nat` of CAKE). Only an NFQUEUE can tell,
    /// and only if the router was started with it.
    pub nat: bool,
}

impl PacketNeeds {
    /// Returns the needs of a discipline of `config`.
    #[must_use]
    pub const fn of(config: &AnyConfig) -> Self {
        match config {
            AnyConfig::Cake(cake) => {
                Self { wash: cake.wash, tcp: !matches!(cake.ack_filter, AckFilter::None), nat: cake.nat }
            }
            _ => Self { wash: false, tcp: false, nat: false },
        }
    }
}
