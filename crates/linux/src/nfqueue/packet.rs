//! `NFQNL_MSG_PACKET`.

use super::attribute::{Attributes, number};

const NFQA_PACKET_HDR: u16 = 1;
const NFQA_MARK: u16 = 3;
const NFQA_PAYLOAD: u16 = 10;
const NFQA_CAP_LEN: u16 = 13;
const NFQA_SKB_INFO: u16 = 14;

/// `NFQA_SKB_GSO`.
const JOINED: u32 = 1 << 1;

/// A packet that waits in the kernel for its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued<'a> {
    /// The number of the NFQUEUE.
    pub queue: u16,
    /// Names the packet in its verdict. The kernel counts from 1 in each queue, and a packet that it could not hand over has
    /// its number too.
    pub id: u32,
    /// The packet's firewall mark; 0 for none.
    pub mark: u32,
    /// The packet's first bytes, from its network header on.
    pub payload: &'a [u8],
    /// How many bytes the packet has in all, from its network header on.
    pub bytes: u32,
    /// It will be cut into packets of the link's size, or was joined of such (`NFQA_SKB_GSO`): there are some only with
    /// [`Setup::gso`](super::Setup::gso).
    pub joined: bool,
}

impl<'a> Queued<'a> {
    /// Reads the attributes of a message; `None` if it does not name its packet.
    pub(super) fn read(queue: u16, attributes: &'a [u8]) -> Option<Self> {
        let (mut id, mut mark, mut whole, mut joined, mut payload) = (None, 0, None, false, &[][..]);
        for (kind, value) in Attributes::new(attributes) {
            match kind {
                NFQA_PACKET_HDR => id = number(value),
                NFQA_MARK => mark = number(value).unwrap_or(0),
                NFQA_PAYLOAD => payload = value,
                NFQA_CAP_LEN => whole = number(value),
                NFQA_SKB_INFO => joined = number(value).is_some_and(|flags| flags & JOINED != 0),
                _ => {}
            }
        }
        // The kernel says the whole length only where it has cut the packet.
        let bytes = whole.unwrap_or(payload.len() as u32);
        id.map(|id| Self { queue, id, mark, payload, bytes, joined })
    }
}
