//! Recognises the first packet of a connection, which waits until the relay can accept it.

use std::collections::HashSet;
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

/// The flags of a TCP header that says it opens a connection.
const SYN: u8 = 2;
const ACK: u8 = 16;

/// The packets that leave the link for the far end.
#[derive(Debug)]
pub(crate) struct Gate {
    gateway: [IpAddr; 2],
    /// The UDP flows that the relay accepts.
    open: HashSet<FlowPair>,
}

impl Gate {
    pub(crate) fn new(gateway: [IpAddr; 2]) -> Self {
        Self { gateway, open: HashSet::new() }
    }

    /// Notes that the relay accepts a UDP flow.
    pub(crate) fn open(&mut self, flow: FlowPair) {
        self.open.insert(flow);
    }

    /// Notes that the relay no longer accepts a UDP flow.
    pub(crate) fn forget(&mut self, flow: &FlowPair) {
        self.open.remove(flow);
    }

    /// Returns what to do with a packet; the error is the contact of which the relay has to be told first.
    pub(crate) fn contact(&self, id: u32, flow: FlowId, frame: &[u8]) -> Result<Judgement, Contact> {
        let FlowId::Ip { protocol, source, destination, ports } = flow else { return Ok(Judgement::Drop) };
        if is_of_scenario(source) {
            return Ok(Judgement::Pass);
        }
        // The relay's host answers for all addresses, and its answers would be those of others.
        if matches!((protocol, transport(frame).first()), (ICMP, Some(&ECHO)) | (ICMP6, Some(&ECHO6))) {
            return Ok(if self.gateway.contains(&destination) { Judgement::Pass } else { Judgement::Drop });
        }
        let Some((from, to)) = ports else { return Ok(Judgement::Pass) };
        let flow = FlowPair { source: SocketAddr::new(source, from), destination: SocketAddr::new(destination, to) };
        let contact = |protocol| Contact { id, protocol, flow };
        match protocol {
            TCP if transport(frame).get(13).is_some_and(|flags| flags & (SYN | ACK) == SYN) => {
                Err(contact(Protocol::Tcp))
            }
            UDP if !self.open.contains(&flow) => Err(contact(Protocol::Udp)),
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

/// Returns the frame from behind its IP header on.
fn transport(frame: &[u8]) -> &[u8] {
    let first = frame.get(ETHERNET).copied().unwrap_or_default();
    let length = if first >> 4 == 6 { IPV6 } else { usize::from(first & 15) * 4 };
    frame.get(ETHERNET + length..).unwrap_or_default()
}
