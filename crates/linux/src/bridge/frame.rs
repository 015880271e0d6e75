//! A frame as the kernel hands it over, and as it is kept and sent on.

/// `struct virtio_net_hdr`: what the sender has left to the card, such as the checksum.
pub(crate) const VIRTIO: usize = 10;

/// The two hardware addresses, behind which a VLAN tag stands.
const ADDRESSES: usize = 12;
/// An Ethernet header without tags.
pub(super) const ETHERNET: usize = 14;
/// A VLAN tag (IEEE 802.1Q).
pub(super) const TAG: usize = 4;

/// So much of a frame the kernel copies as if it were headers (`hdr_len`), which is the whole of most. The rest it takes page by page out of our
/// memory; and where somebody keeps the frame, as the other end of a veth does, it copies the pages all the same.
pub(super) const COPIED: u16 = 2048;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is still to be written.
pub(super) const NEEDS_CHECKSUM: u8 = 1;

/// A frame that has come.
#[derive(Clone, Copy)]
pub(crate) struct Incoming<'s> {
    /// Its bytes, without a tag that the kernel has taken out.
    pub(super) frame: &'s [u8],
    /// All of its bytes are here.
    pub(super) whole: bool,
    /// The tag that the kernel has taken out.
    pub(super) tag: Option<[u8; TAG]>,
    pub(super) virtio: [u8; VIRTIO],
}

/// Whether a virtio header is that of a joined frame: its `gso_type` is not `VIRTIO_NET_HDR_GSO_NONE`.
pub(crate) fn is_joined(header: &[u8]) -> bool {
    header.get(1).is_some_and(|kind| *kind != 0)
}

impl Incoming<'_> {
    /// Bytes of the frame as it was on the wire, without its check sequence.
    pub(super) fn bytes(&self) -> usize {
        self.frame.len() + self.tag.map_or(0, |tag| tag.len())
    }

    /// Whether it is made of several frames of the link.
    pub(crate) fn is_joined(&self) -> bool {
        is_joined(&self.virtio)
    }

    /// A joined frame of which the kernel had no memory for all.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.is_joined() && !self.whole
    }

    /// All of its bytes are here.
    pub(crate) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Bytes that [`write`](Self::write) writes.
    pub(crate) fn length(&self) -> usize {
        VIRTIO + self.bytes()
    }

    /// Whether an interface can send it whose frames have `longest` bytes at most.
    pub(crate) fn fits(&self, longest: usize) -> bool {
        self.whole && self.frame.len() >= ETHERNET && self.bytes() <= longest
    }

    /// Writes the virtio header and the frame, with its tag, to the start of `to`, which has room; how many bytes these are.
    pub(crate) fn write(&self, to: &mut [u8]) -> usize {
        let (addresses, rest) = self.frame.split_at(ADDRESSES.min(self.frame.len()));
        let mut end = 0;
        for part in [&self.header()[..], addresses, self.tag.as_ref().map_or(&[], |tag| &tag[..]), rest] {
            to[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        end
    }

    /// The virtio header of the frame with its tag. What it says of checks that were made before is of no use to the next.
    fn header(&self) -> [u8; VIRTIO] {
        let mut header = self.virtio;
        header[0] &= NEEDS_CHECKSUM;
        let number = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        let tag = self.tag.map_or(0, |tag| tag.len() as u16);
        // The places `hdr_len` and `csum_start` count from the frame's start.
        let headers = if self.is_joined() { number(2).saturating_add(tag) } else { COPIED.min(self.bytes() as u16) };
        let checked_from = if header[0] == 0 { number(6) } else { number(6).saturating_add(tag) };
        header[2..4].copy_from_slice(&headers.to_ne_bytes());
        header[6..8].copy_from_slice(&checked_from.to_ne_bytes());
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(incoming: &Incoming<'_>) -> Vec<u8> {
        let mut to = [0xee; 100];
        let length = incoming.write(&mut to);
        assert!(to[length..].iter().all(|byte| *byte == 0xee));
        to[..length].to_vec()
    }

    /// IEEE 802.1Q: the tag stands behind the addresses. Would catch one that is put elsewhere, and a checksum that would then be
    /// written four bytes too early (virtio 1.2, 5.1.6: places count from the start of the frame).
    #[test]
    fn a_tag_goes_back_to_its_place() {
        let frame: Vec<u8> = (0..60).collect();
        let mut virtio = [0; VIRTIO];
        virtio[0] = 1;
        virtio[6..10].copy_from_slice(&[34_u16.to_ne_bytes(), 16_u16.to_ne_bytes()].concat());
        let tagged = Incoming { frame: &frame, whole: true, tag: Some([0x81, 0, 0x60, 5]), virtio };
        let expected = |bytes: u16, checked_from: u16| {
            let mut expected = virtio;
            expected[2..4].copy_from_slice(&bytes.to_ne_bytes());
            expected[6..8].copy_from_slice(&checked_from.to_ne_bytes());
            expected
        };
        assert_eq!(written(&tagged), [&expected(64, 38)[..], &frame[..12], &[0x81, 0, 0x60, 5], &frame[12..]].concat());
        let plain = Incoming { frame: &frame, whole: true, tag: None, virtio };
        assert_eq!(written(&plain), [&expected(60, 34)[..], &frame].concat());
        assert_eq!((tagged.bytes(), plain.bytes()), (64, 60));
    }

    /// `VIRTIO_NET_HDR_F_DATA_VALID` is what a receiver is told, and means nothing in what is sent.
    #[test]
    fn what_was_checked_before_is_not_said_again() {
        let virtio = [2, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let incoming = Incoming { frame: &[1; 14], whole: true, tag: Some([0x88, 0xa8, 0, 1]), virtio };
        assert_eq!(written(&incoming)[..VIRTIO], [[0, 0], 18_u16.to_ne_bytes(), [0; 2], [0; 2], [0; 2]].concat());
    }

    #[test]
    fn only_whole_frames_of_a_length_that_can_be_sent_fit() {
        let of = |bytes: usize, whole| Incoming { frame: &[0; 2000][..bytes], whole, tag: None, virtio: [0; VIRTIO] };
        let fits = [0, 13, 14, 1518, 1519].map(|bytes| of(bytes, true).fits(1518));
        assert_eq!(fits, [false, false, true, true, false]);
        assert!(!of(100, false).fits(1518));
        let tagged = Incoming { tag: Some([0; 4]), ..of(1515, true) };
        assert!(!tagged.fits(1518));
        assert_eq!(written(&of(5, true)).len(), VIRTIO + 5);
    }
}
