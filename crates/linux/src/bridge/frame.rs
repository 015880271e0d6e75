//! Received frames, and the form in which they are stored and sent.

use std::net::IpAddr;

use fairlane_qdisc::headers::{Headers, LinkType};

/// The length of `struct virtio_net_hdr`, which describes the offloads of a frame: checksum and segmentation.
pub(crate) const VIRTIO: usize = 10;

/// The length of the two hardware addresses. A VLAN tag follows them.
pub(super) const ADDRESSES: usize = 12;
/// The length of an Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;
/// The length of a VLAN tag (IEEE 802.1Q).
pub(crate) const TAG: usize = 4;

/// The number of bytes that the kernel copies as if they were headers (`hdr_len`), which covers most frames entirely.
/// The kernel takes the rest as pages of our memory, and copies these too if the receiver keeps the frame, as the other
/// end of a veth does.
pub(super) const COPIED: u16 = 2048;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the sender has left the checksum to the network card.
pub(super) const NEEDS_CHECKSUM: u8 = 1;

/// A received frame.
#[derive(Clone, Copy)]
pub(crate) struct IncomingFrame<'s> {
    /// The bytes, without a VLAN tag that the kernel has removed.
    pub(super) frame: &'s [u8],
    /// `true` if the frame was not truncated.
    pub(super) whole: bool,
    /// The VLAN tag that the kernel has removed.
    pub(super) tag: Option<[u8; TAG]>,
    pub(super) virtio: [u8; VIRTIO],
    /// The time at which the kernel received the frame, in nanoseconds since 1970.
    pub(super) received: u64,
}

/// Returns `true` if a virtio header is that of a GSO frame: its `gso_type` is not `VIRTIO_NET_HDR_GSO_NONE`.
pub(crate) fn is_gso(header: &[u8]) -> bool {
    header.get(1).is_some_and(|kind| *kind != 0)
}

/// Returns `true` if an interface whose frames have at most `longest` bytes can send the frame behind the virtio header
/// `stored`. As for [`fits`](IncomingFrame::fits), the tag that the kernel had removed does not count.
pub(crate) fn is_sendable(stored: &[u8], longest: usize) -> bool {
    let frame = stored.get(VIRTIO..).unwrap_or_default();
    let tagged = matches!(frame.get(ADDRESSES..), Some([0x81, 0, ..] | [0x88, 0xa8, ..]));
    frame.len() <= longest + if tagged { TAG } else { 0 }
}

impl IncomingFrame<'_> {
    /// Returns the source and the destination address of the IP packet in the frame; `None` without one.
    pub(crate) fn hosts(&self) -> Option<(IpAddr, IpAddr)> {
        Headers::read(LinkType::Ethernet, self.frame, self.frame.len() as u32).hosts()
    }

    /// Returns the length of the frame on the wire, without its frame check sequence.
    pub(super) fn bytes(&self) -> usize {
        self.frame.len() + self.tag_bytes()
    }

    /// Returns the length of the tag that the kernel has removed.
    pub(super) fn tag_bytes(&self) -> usize {
        self.tag.map_or(0, |tag| tag.len())
    }

    /// Returns `true` if the frame is several frames of the link joined by segmentation offload.
    pub(crate) fn is_gso(&self) -> bool {
        is_gso(&self.virtio)
    }

    /// Returns `true` for a GSO frame that the kernel truncated for lack of memory.
    pub(crate) fn is_truncated(&self) -> bool {
        self.is_gso() && !self.whole
    }

    /// Returns `true` if the frame was not truncated.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Returns the number of bytes that [`write`](Self::write) writes.
    pub(crate) fn length(&self) -> usize {
        VIRTIO + self.bytes()
    }

    /// Returns `true` if an interface whose frames have at most `longest` bytes can send the frame. As in the kernel's
    /// own bridge, a tag that the kernel has removed does not count.
    pub(crate) fn fits(&self, longest: usize) -> bool {
        self.whole && self.frame.len() >= ETHERNET && self.frame.len() <= longest
    }

    /// Writes the virtio header and the frame with its tag to the start of `to`, and returns the number of bytes
    /// written.
    pub(crate) fn write(&self, to: &mut [u8]) -> usize {
        let (addresses, rest) = self.frame.split_at(ADDRESSES.min(self.frame.len()));
        let mut end = 0;
        for part in [&self.header()[..], addresses, self.tag.as_ref().map_or(&[], |tag| &tag[..]), rest] {
            to[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        end
    }

    /// Returns the virtio header of the frame with its tag. Flags about checks already made are cleared: they mean
    /// nothing to the next interface.
    fn header(&self) -> [u8; VIRTIO] {
        let mut header = self.virtio;
        header[0] &= NEEDS_CHECKSUM;
        let number = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let tag = self.tag.map_or(0, |tag| tag.len() as u16);
        // `hdr_len` and `csum_start` count from the start of the frame.
        let headers = if self.is_gso() { number(2).saturating_add(tag) } else { COPIED.min(self.bytes() as u16) };
        let checked_from = if header[0] == 0 { number(6) } else { number(6).saturating_add(tag) };
        header[2..4].copy_from_slice(&headers.to_ne_bytes());
        header[6..8].copy_from_slice(&checked_from.to_ne_bytes());
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(incoming: &IncomingFrame<'_>) -> Vec<u8> {
        let mut to = [0xee; 100];
        let length = incoming.write(&mut to);
        assert!(to[length..].iter().all(|byte| *byte == 0xee));
        to[..length].to_vec()
    }

    /// IEEE 802.1Q: the tag follows the addresses. Would catch a tag at another position, and a checksum that would be
    /// written four bytes too early (virtio 1.2, section 5.1.6: offsets count from the start of the frame).
    #[test]
    fn a_tag_goes_back_to_its_place() {
        let frame: Vec<u8> = (0..60).collect();
        let mut virtio = [0; VIRTIO];
        virtio[0] = 1;
        virtio[6..10].copy_from_slice(&[34_u16.to_ne_bytes(), 16_u16.to_ne_bytes()].concat());
        let tagged = IncomingFrame { frame: &frame, whole: true, tag: Some([0x81, 0, 0x60, 5]), virtio, received: 0 };
        let expected = |bytes: u16, checked_from: u16| {
            let mut expected = virtio;
            expected[2..4].copy_from_slice(&bytes.to_ne_bytes());
            expected[6..8].copy_from_slice(&checked_from.to_ne_bytes());
            expected
        };
        assert_eq!(written(&tagged), [&expected(64, 38)[..], &frame[..12], &[0x81, 0, 0x60, 5], &frame[12..]].concat());
        let plain = IncomingFrame { frame: &frame, whole: true, tag: None, virtio, received: 0 };
        assert_eq!(written(&plain), [&expected(60, 34)[..], &frame].concat());
        assert_eq!((tagged.bytes(), plain.bytes()), (64, 60));
    }

    /// `VIRTIO_NET_HDR_F_DATA_VALID` informs a receiver, and has no meaning in a frame to be sent.
    #[test]
    fn checksum_status_of_receivers_is_cleared() {
        let virtio = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let incoming =
            IncomingFrame { frame: &[1; 14], whole: true, tag: Some([0x88, 0xa8, 0, 1]), virtio, received: 0 };
        assert_eq!(written(&incoming)[..VIRTIO], [[0, 0], 18_u16.to_ne_bytes(), [0; 2], [0; 2], [0; 2]].concat());
    }

    #[test]
    fn only_whole_frames_of_a_length_that_can_be_sent_fit() {
        let of = |bytes: usize, whole| IncomingFrame {
            frame: &[0; 2000][..bytes],
            whole,
            tag: None,
            virtio: [0; VIRTIO],
            received: 0,
        };
        let fits = [0, 13, 14, 1518, 1519].map(|bytes| of(bytes, true).fits(1518));
        assert_eq!(fits, [false, false, true, true, false]);
        assert!(!of(100, false).fits(1518));
        // A packet of 1500 bytes behind one tag, behind two (IEEE 802.1ad), and one byte more.
        let tagged = |bytes| IncomingFrame { tag: Some([0x88, 0xa8, 0, 5]), ..of(bytes, true) };
        assert_eq!([1514, 1518, 1519].map(|bytes| tagged(bytes).fits(1518)), [true, true, false]);
        let stored = |kind: [u8; 2], bytes: usize| {
            let mut stored = vec![2; VIRTIO + bytes];
            stored[VIRTIO + 12..][..2].copy_from_slice(&kind);
            is_sendable(&stored, 1518)
        };
        for kind in [[0x81, 0], [0x88, 0xa8]] {
            assert_eq!([1522, 1523].map(|bytes| stored(kind, bytes)), [true, false]);
        }
        for kind in [[0x91, 0], [8, 0]] {
            assert_eq!([1518, 1519].map(|bytes| stored(kind, bytes)), [true, false]);
        }
        assert_eq!(written(&of(5, true)).len(), VIRTIO + 5);
    }
}
