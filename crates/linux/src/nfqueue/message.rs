//! Messages from the kernel. A datagram holds one or more.

use super::{HEADERS, MSG_PACKET, NLMSG_ERROR, NLMSG_HEADER, PacketMessage};
use crate::sys::attributes::aligned;

/// A message from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A packet that waits for its verdict.
    Packet(PacketMessage<'a>),
    /// The answer to a request.
    Answer(Answer),
    /// Another message, which can be ignored.
    Other,
    /// A packet without a number, an answer without a sequence number, or bytes that are no message, to the end of the
    /// datagram.
    Malformed,
}

/// The kernel's answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The sequence number of the request.
    pub sequence: u32,
    /// 0 for an acknowledgement, otherwise the error number (`errno`), positive.
    pub error: i32,
}

/// Returns the messages in a datagram from the kernel.
#[must_use]
pub const fn messages(datagram: &[u8]) -> Messages<'_> {
    Messages(datagram)
}

/// An iterator over the messages of a datagram; see [`messages`].
#[derive(Clone, Debug)]
pub struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let datagram = self.0;
        if datagram.is_empty() {
            return None;
        }
        let length = datagram.first_chunk().map_or(0, |bytes| u32::from_ne_bytes(*bytes) as usize);
        let Some(message) = datagram.get(..length).filter(|message| message.len() >= NLMSG_HEADER) else {
            self.0 = &[];
            return Some(Message::Malformed);
        };
        self.0 = datagram.get(aligned(length)..).unwrap_or_default();
        Some(read(message))
    }
}

/// Parses a message that has at least a netlink header.
fn read(message: &[u8]) -> Message<'_> {
    let number = |at: usize| message.get(at..).and_then(|rest| rest.first_chunk()).copied();
    match u16::from_ne_bytes([message[4], message[5]]) {
        MSG_PACKET => {
            let queue = message.get(NLMSG_HEADER + 2..HEADERS).and_then(|bytes| bytes.first_chunk());
            let queued = queue.and_then(|queue| PacketMessage::read(u16::from_be_bytes(*queue), &message[HEADERS..]));
            queued.map_or(Message::Malformed, Message::Packet)
        }
        // The error number, negative, and the header of the request.
        NLMSG_ERROR => match (number(NLMSG_HEADER), number(NLMSG_HEADER + 4 + 8)) {
            (Some(error), Some(sequence)) => Message::Answer(Answer {
                sequence: u32::from_ne_bytes(sequence),
                error: i32::from_ne_bytes(error).saturating_neg(),
            }),
            _ => Message::Malformed,
        },
        _ => Message::Other,
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    /// A packet message written by hand after `nfnetlink_queue.h`: queue 5, packet 7, IPv4 (0x0800) at the hook FORWARD
    /// (2), mark 0x0a0b, four of 1500 bytes, and an unknown attribute (99).
    const PACKET: [u8; 68] = [
        68, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // nlmsghdr
        2, 0, 0, 5, // nfgenmsg
        11, 0, 1, 0, 0, 0, 0, 7, 8, 0, 2, 0, // NFQA_PACKET_HDR, 7 bytes and one of padding
        8, 0, 3, 0, 0, 0, 10, 11, // NFQA_MARK
        5, 0, 99, 0, 1, 0, 0, 0, // unknown
        8, 0, 13, 0, 0, 0, 5, 220, // NFQA_CAP_LEN
        8, 0, 10, 0, 69, 1, 2, 3, // NFQA_PAYLOAD
        4, 0, 98, 128, // unknown, of no length, with a flag
    ];

    /// An error message for the request with sequence number 9: ENOENT (2).
    const ERROR: [u8; 36] = [
        36, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, // nlmsghdr
        254, 255, 255, 255, // -2
        32, 0, 0, 0, 1, 3, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, // the request's
    ];

    fn queued() -> PacketMessage<'static> {
        PacketMessage { queue: 5, id: 7, mark: 0x0a0b, payload: &[69, 1, 2, 3], bytes: 1500, gso: false, hosts: None }
    }

    #[test]
    fn a_packet_and_an_error_are_read_from_their_bytes() {
        let both = [&PACKET[..], &ERROR].concat();
        let read: Vec<Message<'_>> = messages(&both).collect();
        assert_eq!(read, [Message::Packet(queued()), Message::Answer(Answer { sequence: 9, error: 2 })]);
    }

    /// Truncates a message at every byte. Would catch a read beyond the end, and values that were not in the message.
    #[test]
    fn truncated_messages_are_malformed() {
        for length in 0..PACKET.len() {
            let read: Vec<Message<'_>> = messages(&PACKET[..length]).collect();
            assert_eq!(read, vec![Message::Malformed; usize::from(length > 0)], "{length} bytes");
        }
        for length in 16..PACKET.len() {
            // The same with the shorter length in the header. The packet's number ends at byte 31.
            let mut cut = PACKET[..length].to_vec();
            cut[0] = length as u8;
            let whole = queued();
            match messages(&cut).next() {
                Some(Message::Packet(read)) => {
                    assert!(length >= 31 && read.id == 7 && read.queue == 5, "{length} bytes");
                    assert!(
                        whole.payload.starts_with(read.payload) && [0, 1500].contains(&read.bytes),
                        "{length} bytes"
                    );
                }
                other => assert!(other == Some(Message::Malformed) && length < 31, "{length} bytes: {other:?}"),
            }
        }
        assert_eq!(messages(&[]).next(), None);
    }

    /// Lengths of 0 or beyond the datagram. Would catch an endless loop and a read beyond the end.
    #[test]
    fn wrong_lengths_end_the_datagram() {
        for length in [0, 1, 15, 69, u32::MAX] {
            let mut lying = PACKET;
            lying[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(messages(&lying).collect::<Vec<_>>(), [Message::Malformed], "{length}");
        }
        // An attribute of length 0: the attributes before it count.
        let mut lying = PACKET;
        lying[32] = 0;
        let read = messages(&lying).next();
        assert_eq!(read, Some(Message::Packet(PacketMessage { mark: 0, payload: &[], bytes: 0, ..queued() })));
    }

    #[test]
    fn other_messages_are_ignored() {
        let mut other = PACKET;
        other[4] = 3;
        other[5] = 0;
        let both = [other, PACKET].concat();
        assert_eq!(messages(&both).collect::<Vec<_>>(), [Message::Other, Message::Packet(queued())]);
    }
}
