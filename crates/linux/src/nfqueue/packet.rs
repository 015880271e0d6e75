//! `NFQNL_MSG_PACKET`.

use super::attribute::{Attributes, number};

const NFQA_PACKET_HDR: u16 = 1;
const NFQA_MARK: u16 = 3;
const NFQA_PAYLOAD: u16 = 10;
const NFQA_CAP_LEN: u16 = 13;
const NFQA_SKB_INFO: u16 = 14;

/// `NFQA_SKB_GSO`.
const SKB_GSO: u32 = 1 << 1;

/// A packet that waits in the kernel for its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketMessage<'a> {
    /// The number of the NFQUEUE.
    pub queue: u16,
    /// Identifies the packet in its verdict. The kernel counts from 1 in each queue, and also numbers packets that it
    /// could not hand over.
    pub id: u32,
    /// The packet's firewall mark; 0 for none.
    pub mark: u32,
    /// The first bytes of the packet, beginning with its network header.
    pub payload: &'a [u8],
    /// The length of the whole packet, from its network header on.
    pub bytes: u32,
    /// `true` for a GSO packet, which is segmented when it is sent (`NFQA_SKB_GSO`). Only with
    /// [`Setup::gso`](super::Setup::gso).
    pub gso: bool,
}

impl<'a> PacketMessage<'a> {
    /// Parses the attributes of a message; returns `None` if there is no packet number.
    pub(super) fn read(queue: u16, attributes: &'a [u8]) -> Option<Self> {
        let (mut id, mut mark, mut whole, mut gso, mut payload) = (None, 0, None, false, &[][..]);
        for (kind, value) in Attributes::new(attributes) {
            match kind {
                NFQA_PACKET_HDR => id = number(value),
                NFQA_MARK => mark = number(value).unwrap_or(0),
                NFQA_PAYLOAD => payload = value,
                NFQA_CAP_LEN => whole = number(value),
                NFQA_SKB_INFO => gso = number(value).is_some_and(|flags| flags & SKB_GSO != 0),
                _ => {}
            }
        }
        // The kernel reports the length only if it truncated the packet.
        let bytes = whole.unwrap_or(payload.len() as u32);
        id.map(|id| Self { queue, id, mark, payload, bytes, gso })
    }
}
