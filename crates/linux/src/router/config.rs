//! The configuration of a router: its data path, its link and its discipline.

use fairlane_qdisc::headers::FlowsBy;
use fairlane_qdisc::{QdiscConfig, Rate};

use crate::bridge::{BridgeError, Interface};
use crate::nfqueue::queue_numbers::Queues;
use crate::packet::exempt::Exempt;
use crate::packet::link_layer::LinkLayer;
use crate::shaper::queued_packet::Marking;

/// The data path: how packets reach a router and leave it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// One or more NFQUEUEs. The kernel keeps the packets.
    Queue(QueueConfig),
    /// Two Ethernet interfaces. Frames that wait are in the memory of this process.
    Bridge(BridgeConfig),
}

impl DataPath {
    /// Returns the MTU by which segments and fragments are calculated; `None` where it is not needed or not known.
    pub(crate) const fn mtu(&self) -> Option<u32> {
        match self {
            Self::Queue(queue) => queue.mtu,
            Self::Bridge(_) => None,
        }
    }
}

/// An NFQUEUE, or several, as a data path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueConfig {
    /// The numbers of the NFQUEUEs. Each has its own thread; the threads share the discipline.
    pub queues: Queues,
    /// The way in which Congestion Experienced is written into packets. A discipline that
    /// [clears the DSCP](crate::PacketNeeds::wash) needs [`Marking::ByUs`].
    pub marking: Marking,
    /// The bit of the firewall mark with which packets that leave pass the rules of their hook once more, as
    /// [`Rules`](crate::Rules) of iptables expect: [`Firewall::repeat`](crate::Firewall::repeat). `None`: they go on
    /// behind the hook function that queued them.
    pub repeat: Option<u32>,
    /// Packets that the kernel cannot hand over bypass the discipline instead of being dropped.
    pub fail_open: bool,
    /// GSO packets are queued whole. A GSO packet is then one packet for the discipline, and takes as much of the link
    /// as its segments of [`mtu`](Self::mtu) bytes. `false`: the kernel segments GSO packets before it queues them.
    /// Ignored without an MTU, and with [`Marking::ByUs`], since a GSO packet cannot be rewritten.
    pub gso: bool,
    /// The MTU of the link in bytes, if it is known. A longer packet, which the kernel fragments behind the queue or
    /// has reassembled before it, is one packet for the discipline, and takes as much of the link as its fragments.
    pub mtu: Option<u32>,
}

/// A transparent bridge between two Ethernet interfaces.
///
/// Every frame received on the inside interface passes through the discipline and is sent on the outside interface.
/// Frames other than IP are queued too, as flows by Ethernet type and hardware addresses. Frames received on the
/// outside interface are forwarded at once, unless [`directions`](Self::directions) says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BridgeConfig {
    /// The interface whose received frames are queued.
    pub inside: String,
    /// The interface of the managed link.
    pub outside: String,
    /// Queues GSO frames whole: one packet for the discipline, which takes as much of the link as its segments. The
    /// kernel or the network card segments the frame when it is sent. If `false`, GSO frames are segmented before the
    /// discipline.
    pub gso: bool,
    /// The frames that this router forwards.
    pub directions: BridgeDirections,
    /// The frames that are forwarded at once instead of being queued: IP packets that go out to these addresses, or
    /// with [`BridgeDirections::In`] that come in from them.
    pub exempt: Exempt,
}

/// The directions over a bridge that one router forwards. Two routers, [`Out`](Self::Out) and [`In`](Self::In), queue
/// both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BridgeDirections {
    /// Frames from the inside interface through the discipline, and those from the outside interface at once.
    #[default]
    Both,
    /// Frames from the inside interface, through the discipline.
    Out,
    /// Frames from the outside interface, through the discipline.
    In,
}

impl BridgeConfig {
    /// Checks that the two interfaces can be bridged in their present state. Opens nothing.
    ///
    /// # Errors
    /// The reason why they cannot be bridged.
    pub fn check(&self) -> Result<(), BridgeError> {
        Interface::pair([&self.inside, &self.outside]).map(drop)
    }
}

/// The link behind a router's discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// The rate; must be greater than 0.
    pub rate: Rate,
    /// The size of packets on the link.
    pub layer: LinkLayer,
}

/// The configuration of a [`Router`](crate::Router).
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// The data path.
    pub path: DataPath,
    /// The link behind the discipline.
    pub link: Link,
    /// The discipline, resolved for the rate of `link`.
    pub discipline: QdiscConfig,
    /// The definition of a flow.
    pub flows: FlowsBy,
}
