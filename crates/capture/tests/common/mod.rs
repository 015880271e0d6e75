//! Captures made byte by byte, as the formats' descriptions say.
#![allow(dead_code, reason = "each test program uses its own part")]

use fairlane_capture::{Capture, CaptureError, Flows};

/// The header of a little-endian pcap file with microseconds, of link type `link`.
pub(crate) fn pcap(link: u32) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(96_u32.to_le_bytes());
    file.extend(link.to_le_bytes());
    file
}

/// Appends a packet of `micros` since 1970, which had `original` bytes.
pub(crate) fn packet(file: &mut Vec<u8>, micros: u64, original: usize, data: &[u8]) {
    for number in [micros / 1_000_000, micros % 1_000_000, data.len() as u64, original as u64] {
        file.extend((number as u32).to_le_bytes());
    }
    file.extend(data);
}

/// A pcap file of whole packets, a second apart.
pub(crate) fn whole(link: u32, packets: &[&[u8]]) -> Vec<u8> {
    let mut file = pcap(link);
    for (index, data) in packets.iter().enumerate() {
        packet(&mut file, 1_000_000 * (index as u64 + 1), data.len(), data);
    }
    file
}

/// A block of a big-endian pcapng file.
pub(crate) fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = (12 + body.len().next_multiple_of(4)) as u32;
    let mut block = kind.to_be_bytes().to_vec();
    block.extend(length.to_be_bytes());
    block.extend(body);
    block.resize(length as usize - 4, 0);
    block.extend(length.to_be_bytes());
    block
}

/// A pcapng section header and interfaces, each of a link type and with options.
pub(crate) fn section(interfaces: &[(u16, &[u8])]) -> Vec<u8> {
    let mut file = block(0x0a0d_0d0a, &[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    for (link, options) in interfaces {
        let mut body = link.to_be_bytes().to_vec();
        body.extend([0, 0, 0, 0, 0, 96]);
        body.extend(*options);
        file.extend(block(1, &body));
    }
    file
}

/// An enhanced packet block.
pub(crate) fn enhanced(interface: u32, ticks: u64, original: usize, data: &[u8]) -> Vec<u8> {
    let mut body = interface.to_be_bytes().to_vec();
    body.extend(ticks.to_be_bytes());
    body.extend((data.len() as u32).to_be_bytes());
    body.extend((original as u32).to_be_bytes());
    body.extend(data);
    block(6, &body)
}

/// An IPv4 header of 20 bytes with these fields, for `payload`.
pub(crate) fn ipv4(protocol: u8, tos: u8, identification: u16, fragment: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, tos];
    packet.extend((20 + payload.len() as u16).to_be_bytes());
    packet.extend(identification.to_be_bytes());
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(payload);
    packet
}

/// An IPv6 header for `payload`, from fd00::1 to fd00::2.
pub(crate) fn ipv6(next: u8, class: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60 | class >> 4, class << 4, 0, 0];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    for host in [1, 2] {
        let mut address = [0; 16];
        (address[0], address[15]) = (0xfd, host);
        packet.extend(address);
    }
    packet.extend(payload);
    packet
}

/// The UDP header of a datagram from port 1000 to port 53, and four bytes.
pub(crate) const UDP: [u8; 12] = [3, 232, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4];

/// An Ethernet frame of `ether_type`.
pub(crate) fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The fields that are read of a packet: nanoseconds, flow, bytes, TOS byte.
pub(crate) type Seen = (u64, String, u32, u8);

/// Everything in `file`, or the first error.
pub(crate) fn read(file: &[u8]) -> Result<Vec<Seen>, CaptureError> {
    let mut capture = Capture::new("t.pcap", file)?;
    let (mut flows, mut seen) = (Flows::new(), Vec::new());
    while let Some(packet) = capture.next_packet()? {
        let flow = flows.number(packet.time, &packet.headers);
        let name = flows.all()[flow as usize].to_string();
        seen.push((packet.time.as_nanos(), name, packet.headers.bytes, packet.headers.tos));
    }
    Ok(seen)
}

/// The flows of the packets of `file`.
pub(crate) fn flows(file: &[u8]) -> Vec<String> {
    read(file).unwrap_or_else(|error| panic!("{error}")).into_iter().map(|(_, flow, _, _)| flow).collect()
}
