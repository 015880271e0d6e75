//! The types of links, and the headers that their packets begin with.

use super::layer::{ETHERNET, Inside, Layer, find_ip, word};
use super::wifi::{self, Radiotap};

/// The header that the packets of a capture begin with, by its number in the
/// [registry](https://www.tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// PPP, with or without HDLC's address and control bytes (9).
    Ppp,
    /// PPP in frames as of HDLC, or Cisco's HDLC (50, and 104).
    PppHdlc,
    /// PPPoE without Ethernet's header (51).
    PppEther,
    /// PPP behind a byte that tells the direction (204).
    PppWithDirection,
    /// IEEE 802.11 (105).
    Ieee80211,
    /// IEEE 802.11 behind a radiotap header (127).
    Radiotap,
}

/// The headers of a packet up to IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outside {
    pub(super) inside: Inside,
    /// Bytes that are no part of the length on the wire: headers that the capturing program has made up, and a frame
    /// check sequence.
    pub(super) uncounted: u32,
}

impl LinkType {
    /// The link type of the number in a capture's header, if it can be read here. The upper bits say whether frames
    /// have check sequences.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<Self> {
        match number & 0xffff {
            0 => Some(Self::Null),
            1 => Some(Self::Ethernet),
            9 => Some(Self::Ppp),
            12 | 14 | 101 | 228 | 229 => Some(Self::Raw),
            50 | 104 => Some(Self::PppHdlc),
            51 => Some(Self::PppEther),
            105 => Some(Self::Ieee80211),
            108 => Some(Self::Loop),
            113 => Some(Self::LinuxSll),
            127 => Some(Self::Radiotap),
            204 => Some(Self::PppWithDirection),
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
            Self::Ppp => 9,
            Self::PppHdlc => 50,
            Self::PppEther => 51,
            Self::Raw => 101,
            Self::Ieee80211 => 105,
            Self::Loop => 108,
            Self::LinuxSll => 113,
            Self::Radiotap => 127,
            Self::PppWithDirection => 204,
            Self::LinuxSll2 => 276,
        }
    }

    /// Reads a packet of `original` bytes down to IP.
    pub(super) fn open(self, data: &[u8], original: u32) -> Outside {
        let length = original as usize;
        let (inside, uncounted) = match self {
            Self::Ethernet => (find_ip(Layer::Ethernet, data, 0, length), 0),
            Self::Raw => (Inside::Ip(0), 0),
            Self::Null | Self::Loop => (Inside::Ip(4), 4),
            Self::LinuxSll => (cooked(data, (14, 16), length), 16),
            Self::LinuxSll2 => (cooked(data, (0, 20), length), 20),
            Self::Ppp => (find_ip(Layer::Ppp, data, 0, length), 0),
            Self::PppHdlc => (find_ip(Layer::Hdlc, data, 0, length), 0),
            Self::PppEther => (find_ip(Layer::PppoeSession, data, 0, length), 0),
            Self::PppWithDirection => (find_ip(Layer::Ppp, data, 1, length), 1),
            Self::Ieee80211 => (wifi::inside(data, (0, false), length), 0),
            Self::Radiotap => {
                let header = Radiotap::read(data);
                let length = length.saturating_sub(header.check_sequence() as usize);
                (wifi::inside(data, (header.length, header.padded), length), header.uncounted())
            }
        };
        Outside { inside, uncounted }
    }

    /// Returns the hardware addresses of a packet, the sender's first; zeros where there are none.
    pub(super) fn hosts(self, data: &[u8]) -> [[u8; 6]; 2] {
        match self {
            Self::Ethernet if data.len() >= ETHERNET => [address(data, 6), address(data, 0)],
            Self::LinuxSll => [address(data, 6), [0; 6]],
            Self::LinuxSll2 => [address(data, 12), [0; 6]],
            Self::Ieee80211 => wifi::hosts(data),
            Self::Radiotap => wifi::hosts(data.get(Radiotap::read(data).length..).unwrap_or_default()),
            _ => [[0; 6]; 2],
        }
    }
}

/// Finds IP in a Linux cooked packet, with its Ethernet type and its end at these places.
fn cooked(data: &[u8], (type_at, end): (usize, usize), length: usize) -> Inside {
    word(data, type_at).map_or(Inside::Other(0), |number| find_ip(Layer::EtherType(number), data, end, length))
}

/// Returns the hardware address at `at`; zeros if it was not captured.
pub(super) fn address(data: &[u8], at: usize) -> [u8; 6] {
    data.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default()
}
