//! Recognises the first packet of a connection, which waits until the relay can accept it.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};

use fairlane_lab::{End, HostedFlows, Judgement};
use fairlane_qdisc::headers::FlowId;

use super::{Contact, FlowPair, Protocol};

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ICMP6: u8 = 58;

/// The types of echo requests (RFC 792, RFC 4443).
const ECHO: u8 = 8;
const ECHO6: u8 = 128;

/// The length of an Ethernet header, and of an IPv6 header.
const ETHERNET: usize = 14;
const IPV6: usize = 40;

/// The next header of a fragment of IPv6.
const FRAGMENT6: u8 = 44;

/// The offset and the flag of the first of several fragments, in IPv4's order.
const MORE_FRAGMENTS: u16 = 0x2000;

/// The flags of a TCP header that says it opens a connection.
const SYN: u8 = 2;
const ACK: u8 = 16;

/// The packets that leave the link for the far end.
#[derive(Debug)]
pub(crate) struct Gate {
    gateway: [IpAddr; 2],
    /// The UDP flows that the relay accepts.
    open: HashSet<FlowPair>,
    /// The datagrams about which the relay was asked, and their number by flow: later ones of such a flow must not
    /// overtake them.
    asked: HashMap<u32, FlowPair>,
    waiting: HashMap<FlowPair, u32>,
}

impl Gate {
    pub(crate) fn new(gateway: [IpAddr; 2]) -> Self {
        Self { gateway, open: HashSet::new(), asked: HashMap::new(), waiting: HashMap::new() }
    }

    /// Notes that the relay accepts a UDP flow.
    pub(crate) fn open(&mut self, flow: FlowPair) {
        self.open.insert(flow);
    }

    /// Notes that the relay no longer accepts a UDP flow.
    pub(crate) fn forget(&mut self, flow: &FlowPair) {
        self.open.remove(flow);
    }

    /// Notes that the relay has decided on a packet.
    pub(crate) fn answered(&mut self, id: u32) {
        let Some(flow) = self.asked.remove(&id) else { return };
        if let Entry::Occupied(mut waiting) = self.waiting.entry(flow) {
            *waiting.get_mut() -= 1;
            if *waiting.get() == 0 {
                waiting.remove();
            }
        }
    }

    /// Returns what to do with a packet; the error is the contact of which the relay has to be told first.
    pub(crate) fn contact(&mut self, id: u32, flow: FlowId, frame: &[u8]) -> Result<Judgement, Contact> {
        let FlowId::Ip { protocol, source, destination, ports } = flow else { return Ok(Judgement::Drop) };
        if is_of_scenario(source) {
            return Ok(Judgement::Pass);
        }
        // The relay's host answers for all addresses, and its answers would be those of others.
        if matches!((protocol, transport(frame).first()), (ICMP, Some(&ECHO)) | (ICMP6, Some(&ECHO6))) {
            return Ok(if self.gateway.contains(&destination) { Judgement::Pass } else { Judgement::Drop });
        }
        // A fragment's flow has no ports, but the first one has those of the datagram.
        let ports = ports.or_else(|| ports_of_first_fragment(frame).filter(|_| protocol == UDP));
        let Some((from, to)) = ports else { return Ok(Judgement::Pass) };
        let flow = FlowPair { source: SocketAddr::new(source, from), destination: SocketAddr::new(destination, to) };
        let contact = |protocol| Contact { id, protocol, flow };
        match protocol {
            TCP if transport(frame).get(13).is_some_and(|flags| flags & (SYN | ACK) == SYN) => {
                Err(contact(Protocol::Tcp))
            }
            UDP if !self.open.contains(&flow) || self.waiting.contains_key(&flow) => {
                self.asked.insert(id, flow);
                *self.waiting.entry(flow).or_default() += 1;
                Err(contact(Protocol::Udp))
            }
            _ => Ok(Judgement::Pass),
        }
    }
}

/// Returns true for a host of the scenario's own flows, whose other ends are at the far end.
fn is_of_scenario(source: IpAddr) -> bool {
    let (network, prefix) = HostedFlows::network(End::Right);
    match (source, network) {
        (IpAddr::V4(source), IpAddr::V4(network)) => {
            (source.to_bits() ^ network.to_bits()).leading_zeros() >= prefix.into()
        }
        _ => false,
    }
}

/// Returns the ports of the first fragment of a datagram (RFC 791, section 3.1; RFC 8200, section 4.5); `None` for all
/// other packets.
fn ports_of_first_fragment(frame: &[u8]) -> Option<(u16, u16)> {
    let packet = frame.get(ETHERNET..)?;
    let word = |at: usize| Some(u16::from_be_bytes(*packet.get(at..)?.first_chunk()?));
    let (fragment, behind) = match packet.first()? >> 4 {
        4 => (word(6)? & 0x3fff, usize::from(packet[0] & 15) * 4),
        // The first header behind that of IPv6 is that of the fragment, with the offset before the flag.
        6 if *packet.get(6)? == FRAGMENT6 => (word(IPV6 + 2)?.rotate_right(3) & 0x3fff, IPV6 + 8),
        _ => return None,
    };
    (fragment == MORE_FRAGMENTS).then_some((word(behind)?, word(behind + 2)?))
}

/// Returns the frame from behind its IP header on.
fn transport(frame: &[u8]) -> &[u8] {
    let first = frame.get(ETHERNET).copied().unwrap_or_default();
    let length = if first >> 4 == 6 { IPV6 } else { usize::from(first & 15) * 4 };
    frame.get(ETHERNET + length..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "198.18.0.2";
    const SERVER: &str = "192.0.2.7";

    fn gate() -> Gate {
        Gate::new(["198.18.0.1".parse().unwrap(), "2001:2::1".parse().unwrap()])
    }

    fn flow(ports: Option<(u16, u16)>) -> FlowId {
        FlowId::Ip { protocol: UDP, source: SOURCE.parse().unwrap(), destination: SERVER.parse().unwrap(), ports }
    }

    /// A datagram waits while one before it waits, also if its flow is open by then. Would catch one that overtakes.
    #[test]
    fn datagrams_keep_their_order() {
        let (mut gate, flow) = (gate(), flow(Some((4000, 53))));
        let first = gate.contact(1, flow, &[]).unwrap_err();
        assert!(gate.contact(2, flow, &[]).is_err());
        gate.open(first.flow);
        gate.answered(1);
        assert!(gate.contact(3, flow, &[]).is_err(), "the second one is not answered");
        gate.answered(2);
        gate.answered(3);
        assert_eq!(gate.contact(4, flow, &[]).ok(), Some(Judgement::Pass));
        gate.forget(&first.flow);
        assert!(gate.contact(5, flow, &[]).is_err());
    }

    /// Fragments by RFC 791 and RFC 8200. Would catch a first fragment that reaches the far end before it accepts the
    /// flow, and one that is asked about without ports.
    #[test]
    fn a_first_fragment_has_the_ports_of_its_datagram() {
        let ethernet = [0; ETHERNET];
        let ports = [4000_u16.to_be_bytes(), 53_u16.to_be_bytes()].concat();
        let four =
            |flags: u16| [&ethernet[..], &[0x45, 0, 0, 0, 0, 0], &flags.to_be_bytes(), &[0; 12], &ports].concat();
        let six = |next: u8, offset: u16| {
            let head = [&[0x60, 0, 0, 0, 0, 0, next][..], &[0; IPV6 - 7]].concat();
            [&ethernet[..], &head, &[UDP, 0], &offset.to_be_bytes(), &[0; 4], &ports].concat()
        };
        for (frame, is_first) in [
            (four(0x2000), true),
            (four(0x2000 | 185), false),
            (four(185), false),
            (four(0), false),
            (four(0x4000), false),
            (six(FRAGMENT6, 1), true),
            (six(FRAGMENT6, 185 << 3 | 1), false),
            (six(FRAGMENT6, 185 << 3), false),
            (six(UDP, 1), false),
        ] {
            assert_eq!(ports_of_first_fragment(&frame), is_first.then_some((4000, 53)), "{frame:x?}");
            for cut in 0..frame.len() {
                assert_eq!(ports_of_first_fragment(&frame[..cut]), None);
            }
        }
        let contact = gate().contact(1, flow(None), &four(0x2000)).unwrap_err();
        assert_eq!((contact.flow.source.port(), contact.flow.destination.port()), (4000, 53));
        assert_eq!(gate().contact(1, flow(None), &four(185)).ok(), Some(Judgement::Pass));
    }
}
