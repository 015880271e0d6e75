//! Files as they come, whole and broken: valid packets are read, and an error names the packet.

mod common;

use common::{UDP, block, enhanced, ipv4, packet, pcap, read, section, whole};
use fairlane_capture::{Capture, Flows, Headers};
use fairlane_qdisc::headers::mark_ce;
use proptest::prelude::*;

/// The expected error and the packet that it is about.
fn error(file: &[u8]) -> (Option<u64>, String) {
    let error = read(file).expect_err("it is refused");
    (error.packet(), error.to_string())
}

fn refused(file: &[u8], packet: Option<u64>, parts: &[&str]) {
    let (number, text) = error(file);
    assert_eq!(number, packet, "{text}");
    let place = packet.map_or("t.pcap: ".to_owned(), |number| format!("t.pcap: packet {number}: "));
    assert!(text.starts_with(&place), "{text}");
    for part in parts {
        assert!(text.contains(part), "\"{part}\" is not in: {text}");
    }
}

/// The four forms of a pcap file say the same. The bytes are those of libpcap's description.
#[test]
fn every_form_of_pcap_is_read() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    for (nanos, magic) in [(false, 0xa1b2_c3d4_u32), (true, 0xa1b2_3c4d)] {
        for big in [false, true] {
            let word = |number: u32| if big { number.to_be_bytes() } else { number.to_le_bytes() };
            let fraction = if nanos { 500_000_000 } else { 500_000 };
            let mut file = Vec::new();
            let version = if big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
            file.extend([word(magic), version, word(0), word(0), word(65_535), word(101)].concat());
            for (seconds, fraction) in [(1_700_000_000, 0), (1_700_000_001, fraction)] {
                let length = word(ip.len() as u32);
                file.extend([word(seconds), word(fraction), length, length].concat());
                file.extend(&ip);
            }
            let times: Vec<u64> = read(&file).unwrap().iter().map(|(time, ..)| *time).collect();
            assert_eq!(times, [0, 1_500_000_000], "{nanos} {big}");
        }
    }
}

/// Would catch a compressed capture that is refused, one of several parts (RFC 1952, section 2.2) that ends after the
/// first, and damage that looks like the end of the file.
#[test]
fn compressed_captures_are_read() {
    use std::io::Write;
    let ip = ipv4(17, 0, 0, 0, &UDP);
    let file = whole(101, &[&ip, &ip]);
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let plain = read(&file).unwrap();
    assert_eq!(read(&packed(&file)).unwrap(), plain);
    let parts = [packed(&file[..30]), packed(&file[30..])].concat();
    assert_eq!(read(&parts).unwrap(), plain);
    let packed = packed(&file);
    for end in [3, 15, packed.len() / 2, packed.len() - 1] {
        assert!(read(&packed[..end]).is_err(), "cut at {end}");
    }
}

/// Interfaces count time in their own ticks; blocks of other kinds are passed over; a second section has its own
/// interfaces.
#[test]
fn pcapng_is_read() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    // if_tsresol (9): nanoseconds.
    let nanos: &[u8] = &[0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0];
    let mut file = section(&[(101, &[]), (101, nanos)]);
    file.extend(enhanced(0, 2_000_000, ip.len(), &ip));
    file.extend(block(0xbad, &[1, 2, 3, 4]));
    file.extend(enhanced(1, 2_250_000_000, 1500, &ip));
    file.extend(section(&[(101, nanos)]));
    // An obsolete packet block (2), which has 16 bits for the interface.
    let mut body = vec![0, 0, 0, 0];
    body.extend(3_000_000_000_u64.to_be_bytes());
    body.extend((ip.len() as u32).to_be_bytes().repeat(2));
    body.extend(&ip);
    file.extend(block(2, &body));
    let seen: Vec<(u64, u32)> = read(&file).unwrap().into_iter().map(|(time, _, bytes, _)| (time, bytes)).collect();
    assert_eq!(seen, [(0, 32), (250_000_000, 1500), (1_000_000_000, 32)]);
}

/// Gives one byte at a time, as a slow pipe does.
struct Trickle<'a>(&'a [u8]);

impl std::io::Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let (Some((first, rest)), Some(place)) = (self.0.split_first(), into.first_mut()) else { return Ok(0) };
        (*place, self.0) = (*first, rest);
        Ok(1)
    }
}

/// Would catch a packet that is cut where a read ends.
#[test]
fn a_slow_reader_gives_the_same() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    let ng = [section(&[(101, &[])]), enhanced(0, 5, 32, &ip), enhanced(0, 6, 32, &ip)].concat();
    for file in [whole(101, &[&ip, &ip, &ip]), ng] {
        let mut capture = Capture::new("t.pcap", Trickle(&file)).unwrap();
        let mut times = Vec::new();
        while let Some(packet) = capture.next_packet().unwrap() {
            assert_eq!(packet.data, ip);
            times.push(packet.time.as_nanos());
        }
        assert_eq!(times, read(&file).unwrap().iter().map(|seen| seen.0).collect::<Vec<_>>());
        assert!(times.len() >= 2);
    }
}

/// Each packet counts as coming no earlier than the one before it in the file, and those that were behind are counted.
#[test]
fn times_never_run_backwards() {
    let mut file = pcap(101);
    let ip = ipv4(17, 0, 0, 0, &UDP);
    for micros in [5_000_000, 4_000_000, 5_000_700, 5_000_300, 5_000_699, 6_000_000] {
        packet(&mut file, micros, 32, &ip);
    }
    let mut capture = Capture::new("t.pcap", &*file).unwrap();
    let mut times = Vec::new();
    while let Some(packet) = capture.next_packet().unwrap() {
        times.push((packet.time.as_nanos() / 1000, packet.stamp.as_micros()));
    }
    let expected = [0, 0, 700, 700, 700, 1_000_000]
        .into_iter()
        .zip([5_000_000, 4_000_000, 5_000_700, 5_000_300, 5_000_699, 6_000_000]);
    assert_eq!(times, expected.collect::<Vec<_>>());
    assert_eq!((capture.late().packets, capture.late().most.as_millis()), (3, 1000));
}

#[test]
fn what_is_no_capture_is_refused() {
    refused(b"", None, &["too short"]);
    refused(b"\xd4\xc3", None, &["too short"]);
    refused(b"#!/bin/sh\n", None, &["not a pcap or pcapng file", "editcap"]);
    refused(&[0x1f, 0x8b, 8, 0, 0, 0], None, &["cannot be read"]);
    refused(&[0x28, 0xb5, 0x2f, 0xfd, 0, 0], None, &["zstd", "unpack"]);
    refused(&pcap(1)[..23], None, &["ends before its header does"]);
    refused(&pcap(143), None, &["link type 143", "Ethernet (1)"]);
    refused(&section(&[])[..20], None, &["ends before its header does"]);
    assert_eq!(read(&pcap(1)).unwrap(), []);
    assert_eq!(read(&section(&[])).unwrap(), []);
}

#[test]
fn a_damaged_packet_is_named() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    let two = whole(101, &[&ip, &ip]);
    for cut in [1, 12, 33, 47] {
        refused(&two[..two.len() - cut], Some(2), &["ends before the packet does", "tcpdump -r"]);
    }
    // The second packet's record begins at 24 + 16 + 32.
    let with = |offset: usize, number: u32| {
        let mut file = two.clone();
        file[72 + offset..76 + offset].copy_from_slice(&number.to_le_bytes());
        file
    };
    refused(&with(4, 1_000_000), Some(2), &["1000000 of 1000000"]);
    refused(&with(8, u32::MAX), Some(2), &["length in it is wrong"]);
    refused(&with(12, 31), Some(2), &["32 bytes", "had 31"]);
    refused(&with(12, u32::MAX), Some(2), &["4294967295 bytes", "1048576", "damaged"]);
    refused(&with(0, 1_000_000_003), Some(2), &["10^9 s"]);
    let mut long = pcap(101);
    packet(&mut long, 0, 1_048_577, &vec![0x45; 1_048_577]);
    refused(&long, Some(1), &["1048577 bytes"]);
}

#[test]
fn a_damaged_block_is_named() {
    let ip = ipv4(17, 0, 0, 0, &UDP);
    let begun = [section(&[(101, &[]), (143, &[])]), enhanced(0, 1, 32, &ip)].concat();
    let after = |more: &[u8]| [&begun, more].concat();
    refused(&after(&enhanced(2, 1, 32, &ip)), Some(2), &["interface 2", "not describe"]);
    refused(&after(&enhanced(1, 1, 32, &ip)), Some(2), &["link type 143"]);
    refused(&after(&block(3, &[0, 0, 0, 4, 1, 2, 3, 4])), Some(2), &["no time"]);
    refused(&after(&enhanced(0, 1, 32, &ip)[..40]), Some(2), &["ends before"]);
    let mut wrong = enhanced(0, 1, 32, &ip);
    wrong[7] -= 4;
    refused(&after(&wrong), Some(2), &["damaged"]);
    // if_tsoffset (14) of -10 s, and a packet of 1 s after that.
    let offset: &[u8] = &[0, 14, 0, 8, 255, 255, 255, 255, 255, 255, 255, 246, 0, 0, 0, 0];
    let early = [section(&[(101, offset)]), enhanced(0, 1_000_000, 32, &ip)].concat();
    refused(&early, Some(1), &["before 1970"]);
}

/// Reads all of a file, valid or not.
fn swallow(file: &[u8]) -> usize {
    let Ok(mut capture) = Capture::new("t.pcap", file) else { return 0 };
    let (mut flows, mut packets) = (Flows::new(), 0);
    while let Ok(Some(packet)) = capture.next_packet() {
        flows.number(packet.time, &packet.headers);
        let mut data = packet.data.to_vec();
        if let Some(at) = packet.headers.ip_at {
            mark_ce(&mut data, at);
            let marked = Headers::read(packet.link, &data, packet.original);
            assert_eq!((marked.ecn(), marked.flow, marked.class()), (3, packet.headers.flow, packet.headers.class()));
        }
        packets += 1;
    }
    packets
}

fn link() -> impl Strategy<Value = u32> {
    prop::sample::select(vec![0, 1, 9, 50, 51, 101, 105, 108, 113, 127, 204, 276])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any bytes at all, and any bytes where a packet should be.
    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        link in link(),
        ether_type in prop::sample::select(vec![0x0800_u16, 0x86dd, 0x8100, 0x88a8]),
        nibble in prop::sample::select(vec![0x45_u8, 0x46, 0x4f, 0x60, 0x00]),
    ) {
        swallow(&bytes);
        let magics = [[0xd4, 0xc3, 0xb2, 0xa1], [0xa1, 0xb2, 0x3c, 0x4d], [0x0a, 0x0d, 0x0d, 0x0a]];
        for magic in magics {
            swallow(&[&magic, &bytes[..]].concat());
        }
        let mut frame = common::ethernet(ether_type, &[nibble]);
        frame.extend(&bytes);
        prop_assert_eq!(swallow(&whole(1, &[&frame])), 1);
        prop_assert_eq!(swallow(&whole(link, &[&bytes])), 1);
        let raw = [&[nibble], &bytes[..]].concat();
        prop_assert_eq!(swallow(&whole(101, &[&raw])), 1);
        for kind in [1, 2, 3, 6, 5, 4, 9, 0x0a0d_0d0a] {
            swallow(&[section(&[(1, &[]), (101, &bytes)]), block(kind, &bytes)].concat());
            swallow(&[section(&[(1, &[])]), block(kind, &bytes)].concat());
        }
    }

    /// Good files in which some bytes are wrong.
    #[test]
    fn damage_is_read_or_refused(
        changes in prop::collection::vec((0..400_usize, any::<u8>()), 1..8),
        cut in 0..400_usize,
    ) {
        let ip = ipv4(17, 2, 3, 0x2000, &UDP);
        let ng = [section(&[(101, &[0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0])]), enhanced(0, 5, 32, &ip), enhanced(0, 6, 32, &ip)];
        for mut file in [whole(101, &[&ip, &ip, &ip]), ng.concat()] {
            for (at, byte) in &changes {
                let at = at % file.len();
                file[at] = *byte;
            }
            swallow(&file);
            swallow(&file[..cut % file.len()]);
        }
    }
}
