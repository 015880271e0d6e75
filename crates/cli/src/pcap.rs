//! The packets that a sniffer behind each queue would capture.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etherparse::{IpEcn, IpNumber, Ipv4Header, TcpHeader, UdpHeader};
use fairlane_console::Failure;
use fairlane_qdisc::Time;
use fairlane_scenario::{FlowGroup, Hop, Scenario, Traffic};
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};

/// The longest packet.
const LONGEST: u32 = u16::MAX as u32;
const TTL: u8 = 64;
/// The port of the discard service (RFC 863).
const DISCARD: u16 = 9;
/// The first of the dynamic ports (RFC 6335) that tcpdump does not decode as a protocol.
const FIRST_PORT: u16 = 50_000;
const PORTS: u32 = 15_000;
/// Sources have addresses in the lower half of 10.0.0.0/8, destinations in the upper half.
const HOSTS: u32 = 1 << 23;
const NETWORK: u32 = 10 << 24;

/// Writes each packet that leaves one of the queues that an outcome reports.
#[derive(Debug)]
pub(crate) struct PacketCapture {
    path: PathBuf,
    writer: PcapWriter<BufWriter<File>>,
    /// One for each flow.
    flows: Vec<Flow>,
    /// The first error.
    failed: Option<PcapError>,
}

/// The fields of a flow's headers.
#[derive(Clone, Debug)]
struct Flow {
    tcp: bool,
    window: u32,
    /// Bytes of data in a packet.
    payload: u32,
    /// The simulator's numbers of the links between nodes that its data crosses.
    path: Vec<u32>,
    /// Those that its acknowledgements cross.
    back: Vec<u32>,
}

impl Flow {
    fn of(group: &FlowGroup) -> Self {
        let bytes = u32::try_from(group.packet.get()).unwrap_or(LONGEST);
        let (tcp, window, headers) = match &group.traffic {
            Traffic::Tcp(tcp) => (true, tcp.window, Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN),
            Traffic::Udp(_) | Traffic::Tfrc(_) => (false, 0, Ipv4Header::MIN_LEN + UdpHeader::LEN),
        };
        let links = |hops: &[Hop]| hops.iter().map(|hop| 2 * hop.link as u32 + u32::from(hop.reverse)).collect();
        let payload = bytes.saturating_sub(headers as u32);
        Self { tcp, window, payload, path: links(&group.path), back: links(&group.back) }
    }
}

impl PacketCapture {
    /// Begins the file at `path`, which is replaced.
    pub(crate) fn create(path: &Path, scenario: &Scenario) -> Result<Self, Failure> {
        let file = File::create(path).map_err(|error| Failure::write(path, &error))?;
        let header = PcapHeader {
            snaplen: LONGEST,
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(|error| refused(path, &error))?;
        let mut flows = Vec::new();
        for group in &scenario.flows {
            flows.extend(std::iter::repeat_n(Flow::of(group), group.count as usize));
        }
        // Reverse queues that carry only acknowledgements are not in the outcome.
        let mut reported: Vec<u32> = flows.iter().flat_map(|flow| &flow.path).copied().collect();
        reported.sort_unstable();
        reported.dedup();
        for flow in &mut flows {
            flow.back.retain(|link| reported.binary_search(link).is_ok());
        }
        Ok(Self { path: path.to_owned(), writer, flows, failed: None })
    }

    /// Returns true if a packet could not be written.
    pub(crate) fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        if let Some(error) = &self.failed {
            return Err(refused(&self.path, error));
        }
        let flushed = self.writer.into_writer().into_inner();
        flushed.map(drop).map_err(|error| Failure::write(&self.path, error.error()))
    }

    fn write(&mut self, event: &PacketEvent) -> Result<(), PcapError> {
        let Some(flow) = self.flows.get(event.flow as usize) else { return Ok(()) };
        let path = if event.kind == PacketKind::Ack { &flow.back } else { &flow.path };
        let Some(hops) = path.iter().position(|link| *link == event.link) else { return Ok(()) };
        let mut headers = headers(flow, event, hops);
        headers.truncate(event.bytes as usize);
        let at = Duration::from_nanos(event.at.as_nanos());
        self.writer.write_packet(&PcapPacket::new(at, event.bytes, &headers)).map(drop)
    }
}

fn refused(path: &Path, error: &PcapError) -> Failure {
    match error {
        PcapError::IoError(error) => Failure::write(path, error),
        other => Failure::plain(format!("cannot write {}: {other}", path.display())),
    }
}

/// Returns the headers of a packet that has entered `hops` links between nodes before this one.
fn headers(flow: &Flow, event: &PacketEvent, hops: usize) -> Vec<u8> {
    let length = u16::try_from(event.bytes).unwrap_or(u16::MAX);
    let mut bytes = ip(flow, event, hops, length).to_bytes().to_vec();
    let ports = (FIRST_PORT + (event.flow % PORTS) as u16, DISCARD);
    if flow.tcp {
        bytes.extend_from_slice(&tcp(flow, event, ports).to_bytes());
    } else {
        let length = length.saturating_sub(Ipv4Header::MIN_LEN as u16);
        let (source_port, destination_port) = if event.kind == PacketKind::Ack { (ports.1, ports.0) } else { ports };
        // Checksum 0 means that there is none (RFC 768).
        let header = UdpHeader { source_port, destination_port, length, checksum: 0 };
        bytes.extend_from_slice(&header.to_bytes());
    }
    bytes
}

fn ip(flow: &Flow, event: &PacketEvent, hops: usize, length: u16) -> Ipv4Header {
    let host = event.flow % HOSTS;
    let (source, sink) = ((NETWORK + host).to_be_bytes(), (NETWORK + HOSTS + host).to_be_bytes());
    let (source, destination) = if event.kind == PacketKind::Ack { (sink, source) } else { (source, sink) };
    let mut header = Ipv4Header {
        total_len: length,
        ecn: match (event.marked, event.ecn_capable) {
            (true, _) => IpEcn::THREE,
            (false, true) => IpEcn::TWO,
            (false, false) => IpEcn::ZERO,
        },
        time_to_live: TTL.saturating_sub(hops as u8 + 1),
        protocol: if flow.tcp { IpNumber::TCP } else { IpNumber::UDP },
        // The only field for the number of a UDP packet. A retransmitted TCP segment has the same number.
        identification: event.seq as u16,
        source,
        destination,
        ..Ipv4Header::default()
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

/// Returns a TCP header. Sequence numbers count bytes from 1, as after a handshake that began at 0. The checksum is 0, as the
/// data that it covers is not there.
fn tcp(flow: &Flow, event: &PacketEvent, (source, sink): (u16, u16)) -> TcpHeader {
    let position = event.seq.wrapping_mul(flow.payload).wrapping_add(1);
    let window = u16::try_from(u64::from(flow.window) * u64::from(flow.payload)).unwrap_or(u16::MAX);
    let mut header = match event.kind {
        PacketKind::Data => TcpHeader::new(source, sink, position, window),
        PacketKind::Ack => TcpHeader::new(sink, source, 1, window),
    };
    header.ack = true;
    header.acknowledgment_number = if event.kind == PacketKind::Ack { position } else { 1 };
    header
}

impl Observer for PacketCapture {
    fn packet(&mut self, event: &PacketEvent) {
        if matches!(event.queue_event, QueueEvent::Departed { .. }) && self.failed.is_none() {
            self.failed = self.write(event).err();
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
