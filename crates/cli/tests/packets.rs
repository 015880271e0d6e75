//! The contents of captures and traces.

mod common;

use std::collections::BTreeMap;
use std::fs::File;

use common::{Place, json};
use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
use pcap_file::pcap::PcapReader;

/// A row of the trace, by the names of its columns.
type Row = BTreeMap<String, String>;

fn rows(path: &str) -> Vec<Row> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap()
}

#[test]
fn a_trace_keeps_the_books_of_its_queue() {
    let (place, file) = Place::with_small();
    let trace = place.name("trace.csv");
    let outcome = json(&["run", &file, "--trace", &trace, "--json"]);
    let (mut backlog, mut counts) = (0_u64, BTreeMap::<String, u64>::new());
    let mut last = 0;
    for row in rows(&trace).iter().filter(|row| row["queue"] == "bottleneck") {
        assert!(number(row, "time_ns") >= last);
        last = number(row, "time_ns");
        let event = &row["event"];
        *counts.entry(if event == "dropped" { row["reason"].clone() } else { event.clone() }).or_default() += 1;
        match event.as_str() {
            // The row of an arrival has the queue's length before it.
            "arrived" => {
                assert_eq!(number(row, "backlog_packets"), backlog);
                backlog += 1;
            }
            "departed" => {
                backlog -= 1;
                assert_eq!(number(row, "backlog_packets"), backlog);
            }
            "dropped" => backlog -= 1,
            other => panic!("{other}"),
        }
    }
    let queue = &outcome["queues"][0];
    let count = |key: &str| counts.get(key).copied().unwrap_or(0);
    assert!(count("match_victim") > 0);
    for event in ["arrived", "departed"] {
        assert_eq!(queue[event], count(event), "{event}");
    }
    for (reason, dropped) in queue["dropped"].as_object().unwrap() {
        assert_eq!(*dropped, count(reason), "{reason}");
    }
}

/// Every departure in the trace is in the capture, with the same time, size, flow and number.
#[test]
fn a_capture_has_the_departures() {
    let (place, file) = Place::with_small();
    let (trace, capture) = (place.name("trace.csv"), place.name("run.pcap"));
    let outcome = json(&["run", &file, "--trace", &trace, "--pcap", &capture, "--json"]);
    let rows = rows(&trace);
    let departed: Vec<&Row> =
        rows.iter().filter(|row| row["queue"] == "bottleneck" && row["event"] == "departed").collect();
    let mut reader = PcapReader::new(File::open(&capture).unwrap()).unwrap();
    let mut packets = 0;
    while let Some(packet) = reader.next_packet() {
        let (packet, row) = (packet.unwrap(), departed[packets]);
        packets += 1;
        assert_eq!(packet.timestamp.as_nanos(), u128::from(number(row, "time_ns")));
        assert_eq!(u64::from(packet.orig_len), number(row, "bytes"));
        let headers = PacketHeaders::from_ip_slice(&packet.data);
        // The data is not there, so only the headers can be read, one by one.
        assert!(headers.is_err());
        let lax = etherparse::LaxPacketHeaders::from_ip(&packet.data).unwrap();
        let Some(NetHeaders::Ipv4(ip, _)) = lax.net else { panic!("not IPv4") };
        assert_eq!(u32::from_be_bytes(ip.source), (10 << 24) + number(row, "flow") as u32);
        assert_eq!(u64::from(ip.total_len), number(row, "bytes"));
        assert_eq!((ip.time_to_live, ip.header_checksum), (63, ip.calc_header_checksum()));
        let seq = number(row, "seq") as u32;
        match lax.transport.unwrap() {
            TransportHeader::Tcp(tcp) => {
                assert!(row["flow_name"].starts_with("ftp/"));
                // 1000 bytes on the wire carry 960 of data.
                assert_eq!((tcp.sequence_number, tcp.ack, packet.data.len()), (1 + 960 * seq, true, 40));
            }
            TransportHeader::Udp(udp) => {
                assert_eq!(row["flow_name"], "cbr/0");
                assert_eq!((u32::from(ip.identification), udp.length, packet.data.len()), (seq % 65_536, 980, 28));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(packets, departed.len());
    assert_eq!(outcome["queues"][0]["departed"], packets);
}

/// A path with two queues: a packet is captured behind each, with another TTL. Acknowledgements have the reverse addresses.
#[test]
fn a_capture_tells_hops_and_directions_and_marks() {
    let place = Place::new();
    let file = place.write(
        "line.toml",
        r#"
duration = "3s"
[tcp]
ecn = true
[access]
rate = "10mbit"
[[links]]
from = "a"
to = "b"
rate = "2mbit"
queue = { kind = "red", limit = "60p", min = "3p", max = "30p", ecn = true, weight = 0.1 }
[[links]]
from = "b"
to = "c"
rate = "1mbit"
queue = { kind = "red", limit = "60p", min = "3p", max = "30p", ecn = true, weight = 0.1 }
[[flows]]
name = "there"
kind = "tcp"
count = 2
from = "a"
to = "c"
[[flows]]
name = "back"
kind = "tcp"
from = "c"
to = "a"
"#,
    );
    let capture = place.name("run.pcap");
    let outcome = json(&["run", &file, "--pcap", &capture, "--json"]);
    let mut reader = PcapReader::new(File::open(&capture).unwrap()).unwrap();
    let (mut ttl, mut acks, mut ce, mut ect) = (BTreeMap::<u8, u64>::new(), 0_u64, 0_u64, 0_u64);
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let lax = etherparse::LaxPacketHeaders::from_ip(&packet.data).unwrap();
        let Some(NetHeaders::Ipv4(ip, _)) = lax.net else { panic!("not IPv4") };
        *ttl.entry(ip.time_to_live).or_default() += 1;
        // The upper half of the addresses are the destinations.
        if ip.source[1] >= 128 {
            let Some(TransportHeader::Tcp(tcp)) = lax.transport else { panic!("not TCP") };
            assert_eq!((ip.total_len, tcp.source_port, tcp.acknowledgment_number % 960), (40, 9, 1));
            acks += 1;
        } else {
            assert_eq!(ip.source[0], 10);
            ce += u64::from(ip.ecn.value() == 3);
            ect += u64::from(ip.ecn.value() == 2);
        }
    }
    let departed: u64 =
        outcome["queues"].as_array().unwrap().iter().map(|queue| queue["departed"].as_u64().unwrap()).sum();
    assert_eq!(ttl.values().sum::<u64>(), departed);
    assert_eq!(ttl.keys().collect::<Vec<_>>(), [&62, &63]);
    assert!(acks > 0 && ce > 0 && ect > 0, "{acks} {ce} {ect}");
}

/// TFRC is captured as UDP: data in one direction, and in the other reports of 40 bytes from the port that the data is sent to.
#[test]
fn a_capture_has_both_directions_of_tfrc() {
    let place = Place::new();
    let file = place.write(
        "tfrc.toml",
        r#"
duration = "3s"
[bottleneck]
rate = "1mbit"
[[flows]]
name = "there"
kind = "tfrc"
[[flows]]
name = "back"
kind = "udp"
rate = "100kbit"
from = "right"
to = "left"
"#,
    );
    let capture = place.name("run.pcap");
    json(&["run", &file, "--pcap", &capture, "--json"]);
    let mut reader = PcapReader::new(File::open(&capture).unwrap()).unwrap();
    let mut seen = BTreeMap::<(u16, u16, u16), u64>::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let lax = etherparse::LaxPacketHeaders::from_ip(&packet.data).unwrap();
        let Some(NetHeaders::Ipv4(ip, _)) = lax.net else { panic!("not IPv4") };
        let Some(TransportHeader::Udp(udp)) = lax.transport else { panic!("not UDP") };
        *seen.entry((ip.total_len, udp.source_port, udp.destination_port)).or_default() += 1;
    }
    let (data, back): (Vec<_>, Vec<_>) = seen.iter().partition(|((bytes, _, _), _)| *bytes == 1000);
    assert!(data.iter().all(|((_, _, to), count)| *to == 9 && **count > 20), "{seen:?}");
    let [((40, 9, to), reports)] = back[..] else { panic!("{seen:?}") };
    assert!(data.iter().any(|((_, from, _), _)| from == to) && *reports > 20, "{seen:?}");
}
