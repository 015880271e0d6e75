//! Captured packets as input for disciplines.

use fairlane_capture::{FlowId, Flows, Packet};
use fairlane_qdisc::headers::{clear_dscp, mark_ce, tcp_header};
use fairlane_qdisc::{FlowKey, TcpHeader};

/// The number of the first host of packets other than IP; each of their flows has its own pair of hosts.
const OTHER_HOSTS: u64 = 1 << 32;

/// The properties of a captured packet that a discipline may use, and the packet itself where it is written again.
#[derive(Debug)]
pub struct Captured {
    pub(crate) flow: u32,
    bytes: u32,
    tos: u8,
    hosts: (u64, u64),
    responsive: bool,
    label: u64,
    tcp: Option<TcpHeader>,
    frame: Option<Box<Frame>>,
}

/// The packet as it was captured.
#[derive(Debug)]
pub struct Frame {
    /// The captured bytes.
    pub data: Vec<u8>,
    /// Its length on the wire.
    pub original: u32,
    ip_at: Option<usize>,
}

impl Captured {
    /// Converts a packet; keeps its bytes if `keep` is true.
    pub(crate) fn new(packet: &Packet<'_>, flows: &mut Flows, keep: bool) -> Self {
        let headers = &packet.headers.by(flows.definition(), packet.data);
        let flow = flows.number(packet.time, headers);
        let other = OTHER_HOSTS + 2 * u64::from(flow);
        let hosts = headers.hosts().map_or((other, other + 1), |(source, destination)| {
            (u64::from(flows.host(source)), u64::from(flows.host(destination)))
        });
        let frame = || Frame { data: packet.data.to_vec(), original: packet.original, ip_at: headers.ip_at };
        Self {
            flow,
            bytes: headers.bytes,
            tos: headers.tos,
            hosts,
            responsive: FlowId::responsive(&headers.flow),
            label: 0,
            tcp: headers
                .ip_at
                .and_then(|at| tcp_header(packet.data.get(at..)?, 0))
                .map(|tcp| TcpHeader { connection: u64::from(flows.connection(headers.flow)), ..tcp }),
            frame: keep.then(|| Box::new(frame())),
        }
    }

    /// Returns the packet's bytes, if they were kept.
    #[must_use]
    pub fn frame(&self) -> Option<&Frame> {
        self.frame.as_deref()
    }

    const fn ecn(&self) -> u8 {
        self.tos & 0b11
    }
}

impl fairlane_qdisc::Packet for Captured {
    fn flow(&self) -> FlowKey {
        FlowKey::new(u64::from(self.flow))
    }
    fn bytes(&self) -> u32 {
        self.bytes
    }
    fn ecn_capable(&self) -> bool {
        self.ecn() != 0
    }
    fn mark_ce(&mut self) {
        self.tos |= 0b11;
        if let Some(frame) = &mut self.frame
            && let Some(at) = frame.ip_at
        {
            mark_ce(&mut frame.data, at);
        }
    }
    fn source_host(&self) -> u64 {
        self.hosts.0
    }
    fn destination_host(&self) -> u64 {
        self.hosts.1
    }
    fn class(&self) -> u8 {
        self.tos & !0b11
    }
    fn clear_class(&mut self) {
        self.tos &= 0b11;
        if let Some(frame) = &mut self.frame
            && let Some(at) = frame.ip_at
        {
            clear_dscp(&mut frame.data, at);
        }
    }
    /// ECT(1) or CE.
    fn l4s(&self) -> bool {
        self.ecn() & 1 == 1
    }
    fn label(&self) -> u64 {
        self.label
    }
    fn set_label(&mut self, bits_per_second: u64) {
        self.label = bits_per_second;
    }
    fn responsive(&self) -> bool {
        self.responsive
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.tcp
    }
}
