//! `NFQNL_MSG_PACKET`.

use std::net::IpAddr;

use super::attribute::number;
use crate::sys::attributes::Attributes;

const NFQA_PACKET_HDR: u16 = 1;
const NFQA_MARK: u16 = 3;
const NFQA_PAYLOAD: u16 = 10;
const NFQA_CT: u16 = 11;
const NFQA_CT_INFO: u16 = 12;
const NFQA_CAP_LEN: u16 = 13;
const NFQA_SKB_INFO: u16 = 14;

/// `NFQA_SKB_GSO`.
const SKB_GSO: u32 = 1 << 1;

// Attributes of a connection (`linux/netfilter/nfnetlink_conntrack.h`).
const CTA_TUPLE_ORIG: u16 = 1;
const CTA_TUPLE_REPLY: u16 = 2;
const CTA_TUPLE_IP: u16 = 1;
const CTA_IP_V4_SRC: u16 = 1;
const CTA_IP_V6_SRC: u16 = 3;

// `enum ip_conntrack_info`: established, related or new in the connection's own direction, and the first two in that of
// its replies.
const CT_ESTABLISHED: u32 = 0;
const CT_NEW: u32 = 2;
const CT_ESTABLISHED_REPLY: u32 = 3;
const CT_RELATED_REPLY: u32 = 4;

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
    /// The hosts that sent the packet and that will receive it, without address translation: before its source and
    /// after its destination are translated. Only with [`Setup::conntrack`](super::Setup::conntrack), and for packets
    /// that are tracked.
    pub hosts: Option<(IpAddr, IpAddr)>,
}

impl<'a> PacketMessage<'a> {
    /// Parses the attributes of a message; returns `None` if there is no packet number.
    pub(super) fn read(queue: u16, attributes: &'a [u8]) -> Option<Self> {
        let (mut id, mut mark, mut whole, mut gso, mut payload) = (None, 0, None, false, &[][..]);
        let (mut connection, mut state) = (None, None);
        for (kind, value) in Attributes::new(attributes) {
            match kind {
                NFQA_PACKET_HDR => id = number(value),
                NFQA_MARK => mark = number(value).unwrap_or(0),
                NFQA_PAYLOAD => payload = value,
                NFQA_CT => connection = Some(value),
                NFQA_CT_INFO => state = number(value),
                NFQA_CAP_LEN => whole = number(value),
                NFQA_SKB_INFO => gso = number(value).is_some_and(|flags| flags & SKB_GSO != 0),
                _ => {}
            }
        }
        // The kernel reports the length only if it truncated the packet.
        let bytes = whole.unwrap_or(payload.len() as u32);
        let hosts = connection.zip(state).and_then(|(connection, state)| hosts(connection, state));
        id.map(|id| Self { queue, id, mark, payload, bytes, gso, hosts })
    }
}

/// Returns the hosts of a packet of `connection`: the host that sends in each direction is the source of that
/// direction's first packet as it came to this machine.
fn hosts(connection: &[u8], state: u32) -> Option<(IpAddr, IpAddr)> {
    let source =
        |kind| Attributes::new(connection).find(|(found, _)| *found == kind).and_then(|(_, tuple)| source(tuple));
    let (first, other) = (source(CTA_TUPLE_ORIG)?, source(CTA_TUPLE_REPLY)?);
    match state {
        CT_ESTABLISHED..=CT_NEW => Some((first, other)),
        CT_ESTABLISHED_REPLY..=CT_RELATED_REPLY => Some((other, first)),
        _ => None,
    }
}

/// Returns the source address of a tuple.
fn source(tuple: &[u8]) -> Option<IpAddr> {
    let (_, addresses) = Attributes::new(tuple).find(|(kind, _)| *kind == CTA_TUPLE_IP)?;
    Attributes::new(addresses).find_map(|(kind, value)| match kind {
        CTA_IP_V4_SRC => <[u8; 4]>::try_from(value).ok().map(IpAddr::from),
        CTA_IP_V6_SRC => <[u8; 16]>::try_from(value).ok().map(IpAddr::from),
        _ => None,
    })
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    /// Returns an attribute, with its padding.
    fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = [&(4 + value.len() as u16).to_ne_bytes()[..], &kind.to_ne_bytes(), value].concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    /// Returns a tuple from `source` to `destination`: nested, with its protocol and ports as the kernel sends them.
    fn tuple(kind: u16, source: (u16, &[u8]), destination: &[u8]) -> Vec<u8> {
        let addresses = [attribute(source.0, source.1), attribute(source.0 + 1, destination)].concat();
        let protocol = [attribute(1, &[6]), attribute(2, &[0, 5]), attribute(3, &[0, 80])].concat();
        let inner = [attribute(1 | 1 << 15, &addresses), attribute(2 | 1 << 15, &protocol)].concat();
        attribute(kind | 1 << 15, &inner)
    }

    /// A message for packet 7 of a connection in `state`, written after `nfnetlink_queue.h` and
    /// `nfnetlink_conntrack.h`.
    fn message(original: &[u8], reply: &[u8], state: u32) -> Vec<u8> {
        // The status comes behind the tuples, and the mark is another number.
        let connection = [original, reply, &attribute(3, &[0, 0, 1, 0x9a])].concat();
        let packet = attribute(1, &[0, 0, 0, 7, 8, 0, 4]);
        [packet, attribute(11 | 1 << 15, &connection), attribute(12, &state.to_be_bytes())].concat()
    }

    fn read(message: &[u8]) -> Option<(IpAddr, IpAddr)> {
        PacketMessage::read(0, message).and_then(|packet| packet.hosts)
    }

    /// MASQUERADE: 10.0.0.7 opens a connection to 9.9.9.9 by the address 1.2.3.4. A forwarded port: 9.9.9.9 opens one
    /// to 1.2.3.4, which goes to 10.0.0.7. Would catch the address of this machine in place of the host behind it, and
    /// hosts that are exchanged.
    #[test]
    fn hosts_are_those_behind_this_machine() {
        let (inside, outside, own) = ([10, 0, 0, 7], [9, 9, 9, 9], [1, 2, 3, 4]);
        let hosts = |from: [u8; 4], to: [u8; 4]| Some((from.into(), to.into()));
        let (opened, replies) = (tuple(1, (1, &inside), &outside), tuple(2, (1, &outside), &own));
        for state in [0, 1, 2] {
            assert_eq!(read(&message(&opened, &replies, state)), hosts(inside, outside), "{state}");
        }
        for state in [3, 4] {
            assert_eq!(read(&message(&opened, &replies, state)), hosts(outside, inside), "{state}");
        }
        let (opened, replies) = (tuple(1, (1, &outside), &own), tuple(2, (1, &inside), &outside));
        assert_eq!(read(&message(&opened, &replies, 0)), hosts(outside, inside));
        assert_eq!(read(&message(&opened, &replies, 3)), hosts(inside, outside));
        assert_eq!(read(&message(&opened, &replies, 7)), None, "it is not tracked");
        let six = |last: u8| [[0xfd; 15].to_vec(), vec![last]].concat();
        let (opened, replies) = (tuple(1, (3, &six(1)), &six(2)), tuple(2, (3, &six(2)), &six(3)));
        let address = |last: u8| <[u8; 16]>::try_from(six(last)).unwrap();
        assert_eq!(read(&message(&opened, &replies, 3)), Some((address(2).into(), address(1).into())));
    }

    /// Would catch a read beyond the end, and hosts of which one is a guess.
    #[test]
    fn what_is_cut_off_has_no_hosts() {
        let (opened, replies) = (tuple(1, (1, &[1; 4]), &[2; 4]), tuple(2, (1, &[2; 4]), &[3; 4]));
        let whole = message(&opened, &replies, 0);
        assert!(read(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), None, "{length} bytes");
        }
        for wrong in [message(&opened, &[], 0), message(&[], &replies, 0), message(&replies, &replies, 0)] {
            assert_eq!(read(&wrong), None);
        }
        assert_eq!(read(&message(&tuple(1, (1, &[1; 3]), &[2; 3]), &replies, 0)), None);
    }
}
