//! Frames of IEEE 802.11, and the header that radiotap puts before them.

use super::layer::{Inside, Layer, find_ip};
use super::link::address;

/// Length of a frame's check sequence.
const CHECK_SEQUENCE: u32 = 4;

/// The four bits of version and type of a data frame, and those of subtypes: without data, and with quality of service.
const DATA: u8 = 0x08;
const NULL: u8 = 0x40;
const QUALITY: u8 = 0x80;

/// Flags of a frame: to and from the distribution system, encrypted, with HT control.
const TO_DS: u8 = 0x01;
const FROM_DS: u8 = 0x02;
const PROTECTED: u8 = 0x40;
const ORDER: u8 = 0x80;

/// Finds IP in the frame at `at` of a packet of `length` bytes. Its header is `padded` to a multiple of four bytes if
/// the driver says so.
///
/// Encrypted and aggregated data (A-MSDU) are not looked into.
pub(super) fn inside(data: &[u8], (at, padded): (usize, bool), length: usize) -> Inside {
    let frame = data.get(at..).unwrap_or_default();
    let &[kind, flags, ..] = frame else { return Inside::Other(0) };
    if kind & 0x0f != DATA || kind & NULL != 0 || flags & PROTECTED != 0 {
        return Inside::Other(0);
    }
    let mut header = if flags & TO_DS != 0 && flags & FROM_DS != 0 { 30 } else { 24 };
    if kind & QUALITY != 0 {
        if frame.get(header).is_some_and(|control| control & 0x80 != 0) {
            return Inside::Other(0);
        }
        header += if flags & ORDER == 0 { 2 } else { 6 };
    }
    if padded {
        header = header.next_multiple_of(4);
    }
    find_ip(Layer::Llc, data, at + header, length)
}

/// Returns the addresses of a frame's sender and receiver, which may be beyond access points.
pub(super) fn hosts(frame: &[u8]) -> [[u8; 6]; 2] {
    let &[kind, flags, ..] = frame else { return [[0; 6]; 2] };
    let is_data = kind & 0x0f == DATA;
    let (sender, receiver) = match (is_data && flags & FROM_DS != 0, is_data && flags & TO_DS != 0) {
        (false, false) => (10, 4),
        (false, true) => (10, 16),
        (true, false) => (16, 4),
        (true, true) => (24, 16),
    };
    [sender, receiver].map(|at| address(frame, at))
}

/// A radiotap header, as far as it matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Radiotap {
    /// Length in bytes; the frame follows.
    pub(super) length: usize,
    /// The frame's header is padded.
    pub(super) padded: bool,
    /// The frame has its check sequence.
    has_check_sequence: bool,
}

impl Radiotap {
    /// Reads the header; of an unknown version it has no length.
    pub(super) fn read(data: &[u8]) -> Self {
        /// The bits of the presence word.
        const TIME: u32 = 1;
        const FLAGS: u32 = 1 << 1;
        const MORE: u32 = 1 << 31;
        let &[0, _, low, high, ..] = data else { return Self::default() };
        let length = usize::from(u16::from_le_bytes([low, high]));
        let present = |at: usize| {
            data.get(at..).and_then(|bytes| bytes.first_chunk()).map_or(0, |word| u32::from_le_bytes(*word))
        };
        let mut at = 4;
        while present(at) & MORE != 0 {
            at += 4;
        }
        at += 4;
        if present(4) & TIME != 0 {
            at = at.next_multiple_of(8) + 8;
        }
        let flags = if present(4) & FLAGS != 0 && at < length { data.get(at).copied().unwrap_or(0) } else { 0 };
        Self { length, padded: flags & 0x20 != 0, has_check_sequence: flags & 0x10 != 0 }
    }

    /// Returns the bytes that are no part of the packet's length.
    pub(super) const fn uncounted(self) -> u32 {
        self.length as u32 + self.check_sequence()
    }

    /// Returns the length of the frame's check sequence; 0 if it has none.
    pub(super) const fn check_sequence(self) -> u32 {
        if self.has_check_sequence { CHECK_SEQUENCE } else { 0 }
    }
}
