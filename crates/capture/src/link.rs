//! The layers below IP.

use etherparse::{EtherType, Ethernet2HeaderSlice, SingleVlanHeaderSlice, ether_type};

/// The header that the packets of a capture begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkType {
    /// Ethernet, without the frame check sequence (1).
    Ethernet,
    /// IPv4 or IPv6 at once (101, and 12, 14, 228 and 229).
    Raw,
    /// The "cooked" header of Linux's `any` device, version 1 (113).
    LinuxSll,
    /// The same, version 2 (276).
    LinuxSll2,
    /// BSD's loopback, with the address family in the order of the host (0).
    Null,
    /// OpenBSD's loopback, with the address family in network order (108).
    Loop,
}

/// Offset of the IP header, or the protocol that is there instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// IP begins at this byte.
    Ip(usize),
    /// Something else of this Ethernet type; 0 where there is none.
    Other(u16),
}

/// The header of a frame, without its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside {
    pub(crate) inside: Inside,
    /// The hardware addresses, sender first; zeros where there are none.
    pub(crate) hosts: ([u8; 6], [u8; 6]),
}

/// Below this an Ethernet type is the length of an IEEE 802.3 frame.
const FIRST_ETHER_TYPE: u16 = 0x600;

impl LinkType {
    /// The link type of the number in a capture's header, if it can be read here. The upper bits say whether frames
    /// have check sequences.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number & 0xffff {
            0 => Some(Self::Null),
            1 => Some(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            108 => Some(Self::Loop),
            113 => Some(Self::LinuxSll),
            276 => Some(Self::LinuxSll2),
            _ => None,
        }
    }

    /// Its number in a capture's header.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Null => 0,
            Self::Ethernet => 1,
            Self::Raw => 101,
            Self::Loop => 108,
            Self::LinuxSll => 113,
            Self::LinuxSll2 => 276,
        }
    }

    /// Bytes at the beginning of a packet that the capturing program has made up: they were not on the wire.
    pub(crate) const fn made_up(self) -> u32 {
        match self {
            Self::Ethernet | Self::Raw => 0,
            Self::Null | Self::Loop => 4,
            Self::LinuxSll => 16,
            Self::LinuxSll2 => 20,
        }
    }

    /// Reads a packet down to IP.
    pub(crate) fn open(self, data: &[u8]) -> Outside {
        let none = ([0; 6], [0; 6]);
        match self {
            Self::Ethernet => ethernet(data),
            Self::Raw => Outside { inside: Inside::Ip(0), hosts: none },
            Self::Null | Self::Loop => Outside { inside: Inside::Ip(4), hosts: none },
            Self::LinuxSll => cooked(data, 14, (6, 16)),
            Self::LinuxSll2 => cooked(data, 0, (12, 20)),
        }
    }
}

fn ethernet(data: &[u8]) -> Outside {
    let Ok(header) = Ethernet2HeaderSlice::from_slice(data) else {
        return Outside { inside: Inside::Other(0), hosts: ([0; 6], [0; 6]) };
    };
    let inside = ether_payload(data, header.ether_type(), header.slice().len());
    Outside { inside, hosts: (header.source(), header.destination()) }
}

/// A Linux cooked packet, with its Ethernet type, its sender's address and its end at these places.
fn cooked(data: &[u8], type_at: usize, (sender_at, end): (usize, usize)) -> Outside {
    let sender = data.get(sender_at..).and_then(|bytes| bytes.first_chunk::<6>()).copied().unwrap_or_default();
    let inside = match data.get(type_at..type_at + 2) {
        Some(&[high, low]) => ether_payload(data, EtherType(u16::from_be_bytes([high, low])), end),
        _ => Inside::Other(0),
    };
    Outside { inside, hosts: (sender, [0; 6]) }
}

/// Finds the header of type `inside` at `at`, after any VLAN tags (IEEE 802.1Q and 802.1ad).
fn ether_payload(data: &[u8], mut inside: EtherType, mut at: usize) -> Inside {
    while matches!(
        inside,
        ether_type::VLAN_TAGGED_FRAME | ether_type::PROVIDER_BRIDGING | ether_type::VLAN_DOUBLE_TAGGED_FRAME
    ) {
        let Some(Ok(tag)) = data.get(at..).map(SingleVlanHeaderSlice::from_slice) else { break };
        inside = tag.ether_type();
        at += tag.slice().len();
    }
    match inside {
        ether_type::IPV4 | ether_type::IPV6 => Inside::Ip(at),
        EtherType(length) if length < FIRST_ETHER_TYPE => Inside::Other(0),
        EtherType(other) => Inside::Other(other),
    }
}
