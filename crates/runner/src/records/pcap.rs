//! The packets that a sniffer behind each queue between two nodes would capture, in both directions.

use std::collections::BTreeMap;
use std::io::{self, BufWriter};
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Duration;

use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use fairlane_outcome::{Extent, OutputFile};
use fairlane_qdisc::Time;
use fairlane_scenario::{FlowGroup, Hop, Scenario, Tcp, Traffic};
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};

use crate::Error;

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
/// Bytes of the timestamps option with its padding (RFC 7323, appendix A).
const TIMESTAMPS: usize = 12;
/// The largest shift of a window (RFC 7323, section 2.3).
const MOST_SHIFT: u8 = 14;

/// Writes each packet that leaves a queue of a link between nodes, warm-up included, as a packet capture: pcap with
/// nanosecond times from the start of the run.
///
/// The capture has IPv4 headers with a pair of addresses for each flow, TCP or UDP headers, and payloads only of
/// endpoints, as data of UDP that end with the packet's size on the wire. Each packet has its size on the wire (an
/// acknowledgement more if its options need it), and a TTL of 64 less one for each link that it has entered. TCP has
/// the window, timestamps, SACK blocks and ECN flags of the simulation, after a handshake, simulated or not.
#[derive(Debug)]
pub struct PacketCapture {
    path: PathBuf,
    writer: PcapWriter<BufWriter<OutputFile>>,
    /// One for each flow.
    flows: Vec<Flow>,
    /// Packets of plain links whose time has not come, by time and order.
    waiting: BTreeMap<(Time, u64), (PacketEvent, Vec<u8>)>,
    waited: u64,
    /// The payload of the event that follows; empty for packets without one.
    payload: Vec<u8>,
    /// The first error.
    failed: Option<PcapError>,
}

/// The fields of a flow's headers.
#[derive(Clone, Debug)]
struct Flow {
    tcp: Option<TcpFields>,
    /// Bytes of data in a packet.
    payload: u32,
    /// The simulator's numbers of the links between nodes that its data crosses.
    path: Vec<u32>,
    /// The numbers of the links between nodes that its acknowledgements cross.
    back: Vec<u32>,
}

/// The fields of a TCP connection.
#[derive(Clone, Debug)]
struct TcpFields {
    timestamps: bool,
    sack: bool,
    ecn: bool,
    /// The receiver's window in bytes.
    window: u32,
    /// Its shift, which the handshake announces.
    shift: u8,
    greeted: bool,
    /// The time of the last SYN-ACK that was simulated.
    greeted_at: Time,
    /// The last timestamp of the receiver, which data echo.
    echo: u32,
}

/// A segment's place: before the addresses and ports, the number of links that it has entered before.
#[derive(Clone, Copy)]
struct Place {
    flow: u32,
    hops: usize,
    /// True if the segment travels from the receiver of data to its sender.
    back: bool,
}

impl Flow {
    fn of(group: &FlowGroup) -> Self {
        let bytes = u32::try_from(group.packet.get()).unwrap_or(LONGEST);
        let headers = match &group.traffic {
            Traffic::Tcp(tcp) => Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN + if tcp.timestamps { TIMESTAMPS } else { 0 },
            Traffic::Udp(_) | Traffic::Tfrc(_) | Traffic::Endpoint => Ipv4Header::MIN_LEN + UdpHeader::LEN,
        };
        let links = |hops: &[Hop]| hops.iter().map(|hop| 2 * hop.link as u32 + u32::from(hop.reverse)).collect();
        let payload = bytes.saturating_sub(headers as u32);
        let tcp = if let Traffic::Tcp(tcp) = &group.traffic { Some(TcpFields::of(tcp, payload)) } else { None };
        Self { tcp, payload, path: links(&group.path), back: links(&group.back) }
    }
}

impl TcpFields {
    fn of(tcp: &Tcp, payload: u32) -> Self {
        let window = tcp.window.saturating_mul(payload);
        let shift = (0..MOST_SHIFT).find(|shift| window >> shift <= u32::from(u16::MAX)).unwrap_or(MOST_SHIFT);
        let (timestamps, sack, ecn) = (tcp.timestamps, tcp.uses_sack(), tcp.ecn);
        Self { timestamps, sack, ecn, window, shift, greeted: tcp.handshake, greeted_at: Time::ZERO, echo: 0 }
    }

    /// Returns the window field of a segment; those with SYN have no shift.
    fn window(&self, shift: u8) -> u16 {
        u16::try_from(self.window >> shift).unwrap_or(u16::MAX)
    }
}

/// Returns the value of a timestamp, in milliseconds as Linux counts; never 0, which stands for none.
fn stamp(at: Time) -> u32 {
    (at.as_nanos() / 1_000_000) as u32 + 1
}

impl PacketCapture {
    /// Begins the file that will be at `path`. If it is dropped before the end, a [part](Extent::path) is kept.
    ///
    /// # Errors
    /// A file cannot be made there.
    pub fn create(path: &Path, scenario: &Scenario) -> Result<Self, Error> {
        let file = OutputFile::create(path).map_err(|error| Error::write(path, error))?.keeping_part();
        let header = PcapHeader {
            snaplen: LONGEST,
            datalink: DataLink::RAW,
            ts_resolution: TsResolution::NanoSecond,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(|error| refused(path, error))?;
        let mut flows = Vec::new();
        for group in &scenario.flows {
            flows.extend(std::iter::repeat_n(Flow::of(group), group.count as usize));
        }
        Ok(Self {
            path: path.to_owned(),
            writer,
            flows,
            waiting: BTreeMap::new(),
            waited: 0,
            payload: Vec::new(),
            failed: None,
        })
    }

    /// Returns true if a packet could not be written.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Ends the file and puts it into its [place](Extent::path); after an error it is a part.
    ///
    /// # Errors
    /// The first packet that could not be written, or the end of the file.
    pub fn finish(mut self, extent: Extent) -> Result<(), Error> {
        self.write_waiting(Time::MAX);
        if let Some(error) = self.failed.take() {
            return Err(refused(&self.path, error));
        }
        let file = self.writer.into_writer().into_inner().map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.finish(extent)).map(drop).map_err(|error| Error::write(&self.path, error))
    }

    /// Writes the waiting packets whose time is not after `now`.
    fn write_waiting(&mut self, now: Time) {
        while let Some(first) = self.waiting.first_entry().filter(|first| first.key().0 <= now) {
            let (event, data) = first.remove();
            self.write_unless_failed(&event, &data);
        }
    }

    fn write_unless_failed(&mut self, event: &PacketEvent, data: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.write(event, data).err();
        }
    }

    fn write(&mut self, event: &PacketEvent, data: &[u8]) -> Result<(), PcapError> {
        let Some(flow) = self.flows.get_mut(event.flow as usize) else { return Ok(()) };
        let back = event.kind.goes_back();
        let path = if back { &flow.back } else { &flow.path };
        let Some(hops) = path.iter().position(|link| *link == event.link) else { return Ok(()) };
        let place = Place { flow: event.flow, hops, back };
        let at = Duration::from_nanos(event.at.as_nanos());
        let payload = flow.payload;
        let (headers, length) = match &mut flow.tcp {
            None => (udp(event, place, data), event.bytes),
            Some(fields) => {
                if !mem::replace(&mut fields.greeted, true) {
                    for headers in handshake(fields, payload, event.at, place) {
                        self.writer.write_packet(&PcapPacket::new(at, headers.len() as u32, &headers))?;
                    }
                }
                let headers = match event.kind {
                    PacketKind::Data | PacketKind::Ack => segment(fields, payload, event, place),
                    kind => {
                        let times = if back { (event.at, event.sent) } else { (event.sent, fields.greeted_at) };
                        if back {
                            fields.greeted_at = event.at;
                        }
                        opening(fields, payload, place, &Greeting { kind, seq: event.seq, times })
                    }
                };
                let length = event.bytes.max(headers.len() as u32);
                (headers, length)
            }
        };
        self.writer.write_packet(&PcapPacket::new(at, length, &headers)).map(drop)
    }
}

fn refused(path: &Path, error: PcapError) -> Error {
    match error {
        PcapError::IoError(error) => Error::write(path, error),
        other => Error::plain(format!("cannot write {}: {other}", path.display())),
    }
}

/// Returns the headers of a packet of UDP, TFRC or an endpoint, and as much of its data as the packet has room for.
fn udp(event: &PacketEvent, place: Place, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(event.bytes).unwrap_or(u16::MAX);
    let mut bytes = ip(event, place, IpNumber::UDP, length).to_bytes().to_vec();
    let (source_port, destination_port) = ports(place);
    // Checksum 0 means no checksum (RFC 768).
    let length = length.saturating_sub(Ipv4Header::MIN_LEN as u16);
    bytes.extend_from_slice(&UdpHeader { source_port, destination_port, length, checksum: 0 }.to_bytes());
    bytes.extend_from_slice(data);
    bytes.truncate(event.bytes as usize);
    bytes
}

/// Returns the headers of a TCP segment. Sequence numbers count bytes from 1, as after a handshake that began at 0. The
/// checksum is 0, as the data that it covers is not there.
fn segment(fields: &mut TcpFields, payload: u32, event: &PacketEvent, place: Place) -> Vec<u8> {
    let byte = |packet: u32| packet.wrapping_mul(payload).wrapping_add(1);
    let window = fields.window(fields.shift);
    let (source, destination) = ports(place);
    let mut header = TcpHeader::new(source, destination, if place.back { 1 } else { byte(event.seq) }, window);
    header.ack = true;
    header.acknowledgment_number = if place.back { byte(event.seq) } else { 1 };
    (header.ece, header.cwr) = (event.ece, event.cwr);
    let mut options = Vec::new();
    if fields.timestamps {
        let times = if place.back {
            fields.echo = stamp(event.at);
            (fields.echo, stamp(event.sent))
        } else {
            (stamp(event.sent), fields.echo)
        };
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, TcpOptionElement::Timestamp(times.0, times.1)]);
    }
    let blocks: Vec<(u32, u32)> = event.sack.as_slice().iter().map(|(start, end)| (byte(*start), byte(*end))).collect();
    if let Some((first, others)) = blocks.split_first() {
        let mut more = [None; 3];
        more.iter_mut().zip(others).for_each(|(place, block)| *place = Some(*block));
        let block = TcpOptionElement::SelectiveAcknowledgement(*first, more);
        options.extend([TcpOptionElement::Noop, TcpOptionElement::Noop, block]);
    }
    let length = event.bytes.max((Ipv4Header::MIN_LEN + TcpHeader::MIN_LEN) as u32);
    packed(header, &options, |headers| ip(event, place, IpNumber::TCP, length.max(headers as u32) as u16))
}

/// Returns the three segments that open a connection whose handshake is not simulated: without them a reader does not
/// know the shift of the window and the options.
fn handshake(fields: &TcpFields, payload: u32, at: Time, place: Place) -> [Vec<u8>; 3] {
    [PacketKind::Syn, PacketKind::SynAck, PacketKind::OpeningAck].map(|kind| {
        let place = Place { back: place.back ^ kind.goes_back(), ..place };
        opening(fields, payload, place, &Greeting { kind, seq: 0, times: (at, at) })
    })
}

/// A packet that opens a connection.
struct Greeting {
    kind: PacketKind,
    /// The number of the connection's first data packet.
    seq: u32,
    /// The time of the packet, and that of the one which it answers.
    times: (Time, Time),
}

/// Returns the headers of a segment that opens a connection.
fn opening(fields: &TcpFields, payload: u32, place: Place, greeting: &Greeting) -> Vec<u8> {
    let (syn, back) = (greeting.kind != PacketKind::OpeningAck, greeting.kind.goes_back());
    let (source, destination) = ports(place);
    let shift = if syn { 0 } else { fields.shift };
    let first = greeting.seq.wrapping_mul(payload);
    // The number of a SYN is the one before that of the first byte.
    let number = if back { 0 } else { first.wrapping_add(u32::from(!syn)) };
    let mut header = TcpHeader::new(source, destination, number, fields.window(shift));
    (header.syn, header.ack) = (syn, back || !syn);
    header.acknowledgment_number = match greeting.kind {
        PacketKind::SynAck => first.wrapping_add(1),
        PacketKind::OpeningAck => 1,
        _ => 0,
    };
    // The setup of ECN (RFC 3168, section 6.1.1).
    (header.ece, header.cwr) = (fields.ecn && syn, fields.ecn && syn && !back);
    let mut options = Vec::new();
    if syn {
        let largest = payload + if fields.timestamps { TIMESTAMPS as u32 } else { 0 };
        options.push(TcpOptionElement::MaximumSegmentSize(u16::try_from(largest).unwrap_or(u16::MAX)));
        options.extend(fields.sack.then_some(TcpOptionElement::SelectiveAcknowledgementPermitted));
        options.push(TcpOptionElement::WindowScale(fields.shift));
    }
    if fields.timestamps {
        let (own, other) = greeting.times;
        options.push(TcpOptionElement::Timestamp(stamp(own), if header.ack { stamp(other) } else { 0 }));
    }
    packed(header, &options, |headers| addressed(place, IpNumber::TCP, headers as u16))
}

/// Returns the bytes of a segment's headers; `ip` makes the first one for their length.
fn packed(mut header: TcpHeader, options: &[TcpOptionElement], ip: impl FnOnce(usize) -> Ipv4Header) -> Vec<u8> {
    // Three SACK blocks and the timestamps fit exactly; otherwise the segment has no options.
    let _ = header.set_options(options);
    let tcp = header.to_bytes();
    let mut ip = ip(Ipv4Header::MIN_LEN + tcp.len());
    ip.header_checksum = ip.calc_header_checksum();
    [&ip.to_bytes()[..], &tcp[..]].concat()
}

/// Returns the ports from and to which a packet goes.
fn ports(place: Place) -> (u16, u16) {
    let port = FIRST_PORT + (place.flow % PORTS) as u16;
    if place.back { (DISCARD, port) } else { (port, DISCARD) }
}

/// Returns an IP header with nothing but addresses, protocol, length and TTL.
fn addressed(place: Place, protocol: IpNumber, length: u16) -> Ipv4Header {
    let host = place.flow % HOSTS;
    let (source, sink) = ((NETWORK + host).to_be_bytes(), (NETWORK + HOSTS + host).to_be_bytes());
    let (source, destination) = if place.back { (sink, source) } else { (source, sink) };
    Ipv4Header {
        total_len: length,
        time_to_live: TTL.saturating_sub(place.hops as u8 + 1),
        protocol,
        source,
        destination,
        ..Ipv4Header::default()
    }
}

fn ip(event: &PacketEvent, place: Place, protocol: IpNumber, length: u16) -> Ipv4Header {
    let mut header = Ipv4Header {
        dscp: IpDscp::try_new(event.class >> 2).unwrap_or_default(),
        ecn: match event {
            PacketEvent { marked: true, .. } => IpEcn::CongestionExperienced,
            PacketEvent { l4s: true, .. } => IpEcn::Ect1,
            PacketEvent { ecn_capable: true, .. } => IpEcn::Ect0,
            _ => IpEcn::NotEct,
        },
        // The only field for the number of a UDP packet. A retransmitted TCP segment has the same number.
        identification: event.seq as u16,
        ..addressed(place, protocol, length)
    };
    header.header_checksum = header.calc_header_checksum();
    header
}

impl Observer for PacketCapture {
    fn packet(&mut self, event: &PacketEvent) {
        self.write_waiting(event.at);
        let data = mem::take(&mut self.payload);
        if matches!(event.queue_event, QueueEvent::Departed { .. }) {
            self.write_unless_failed(event, &data);
        }
    }

    fn passed(&mut self, event: &PacketEvent) {
        self.waited += 1;
        self.waiting.insert((event.at, self.waited), (*event, mem::take(&mut self.payload)));
    }

    fn payload(&mut self, payload: &[u8]) {
        self.payload.extend_from_slice(payload);
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}
