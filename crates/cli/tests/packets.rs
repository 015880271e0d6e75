//! The contents of captures and traces.

mod common;

use std::collections::BTreeMap;
use std::fs::File;
use std::time::Duration;

use common::{Place, SMALL, json};
use etherparse::{LaxPacketHeaders, NetHeaders, TransportHeader};
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

/// A captured packet without the handshake that begins each TCP connection.
fn packets(path: &str) -> Vec<(Duration, u32, LaxPacketHeaders<'static>, usize)> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut greetings = BTreeMap::<u16, u32>::new();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_packet() {
        let packet = packet.unwrap();
        let data: &'static [u8] = Vec::leak(packet.data.to_vec());
        let headers = LaxPacketHeaders::from_ip(data).unwrap();
        if let Some(TransportHeader::Tcp(tcp)) = &headers.transport {
            let greeted = greetings.entry(tcp.source_port.max(tcp.destination_port)).or_default();
            *greeted += 1;
            if *greeted <= 3 {
                assert_eq!((tcp.syn, tcp.ack), [(true, false), (true, true), (false, true)][*greeted as usize - 1]);
                continue;
            }
            assert!(!tcp.syn);
        }
        packets.push((packet.timestamp, packet.orig_len, headers, data.len()));
    }
    packets
}

/// Every departure in the trace is in the capture, in both directions, with the same time, size, flow and number.
#[test]
fn a_capture_has_the_departures() {
    let (place, file) = Place::with_small();
    let (trace, capture) = (place.name("trace.csv"), place.name("run.pcap"));
    let outcome = json(&["run", &file, "--trace", &trace, "--pcap", &capture, "--json"]);
    let rows = rows(&trace);
    let departed: Vec<&Row> = rows.iter().filter(|row| row["event"] == "departed").collect();
    let all = packets(&capture);
    assert!(all.windows(2).all(|pair| pair[0].0 <= pair[1].0), "the times fall");
    let back =
        |headers: &LaxPacketHeaders<'_>| matches!(&headers.net, Some(NetHeaders::Ipv4(ip, _)) if ip.source[1] >= 128);
    let (acks, packets): (Vec<_>, Vec<_>) = all.into_iter().partition(|packet| back(&packet.2));
    // The queue of the way back is in no outcome and no trace. A data packet arrives for nearly every acknowledgement.
    let delivered: u64 = outcome["flows"].as_array().unwrap().iter().map(|it| it["delivered"].as_u64().unwrap()).sum();
    assert!((1..=delivered as usize).contains(&acks.len()), "{} acknowledgements", acks.len());
    for ((time, length, lax, captured), row) in packets.iter().zip(&departed) {
        assert_eq!(time.as_nanos(), u128::from(number(row, "time_ns")));
        let Some(NetHeaders::Ipv4(ip, _)) = &lax.net else { panic!("not IPv4") };
        assert_eq!((ip.time_to_live, ip.header_checksum), (63, ip.calc_header_checksum()));
        assert_eq!(u32::from_be_bytes(ip.source), (10 << 24) + number(row, "flow") as u32);
        assert_eq!((u64::from(ip.total_len), u64::from(*length)), (number(row, "bytes"), number(row, "bytes")));
        let seq = number(row, "seq") as u32;
        match lax.transport.as_ref().unwrap() {
            TransportHeader::Tcp(tcp) => {
                assert!(row["flow_name"].starts_with("ftp/"));
                // 1000 bytes on the wire carry 960 of data.
                assert_eq!((tcp.sequence_number, tcp.ack, *captured), (1 + 960 * seq, true, 40));
            }
            TransportHeader::Udp(udp) => {
                assert_eq!(row["flow_name"], "cbr/0");
                assert_eq!((u32::from(ip.identification), udp.length, *captured), (seq % 65_536, 980, 28));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(packets.len(), departed.len());
    assert_eq!(outcome["queues"][0]["departed"], packets.len());
}

/// Wireshark's analysis of a capture: the round trips, the window and the losses that its graphs show. Skipped without
/// tshark.
#[test]
fn wireshark_understands_a_capture() {
    let place = Place::new();
    let scenario = SMALL.replace("duration = \"4s\"\n", "duration = \"20s\"\n[tcp]\npreset = \"modern\"\necn = true\n");
    let scenario = scenario.replace("count = 3", "count = 3\nwindow = 300");
    let file = place.write("ecn.toml", &scenario.replace("max = \"40p\"", "max = \"40p\", ecn = true"));
    let capture = place.name("run.pcap");
    let outcome = json(&["run", &file, "--pcap", &capture, "--json"]);
    let fields = |filter: &str, field: &str| {
        let args = ["-r", &capture, "-Y", filter, "-T", "fields", "-e", field];
        let output = std::process::Command::new("tshark").args(args).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    };
    let Some(round_trips) = fields("tcp.stream == 0 && tcp.len == 0 && tcp.analysis.ack_rtt", "tcp.analysis.ack_rtt")
    else {
        skip::because("tshark", "there is no tshark");
        return;
    };
    // From the queue to the receiver and back it takes 8 ms for the packet and the links' delays, and the receiver
    // waits 40 ms at the most. A segment behind a lost one is acknowledged later.
    let mut round_trips: Vec<f64> = round_trips.iter().map(|it| it.parse().unwrap()).collect();
    round_trips.sort_by(f64::total_cmp);
    assert!(round_trips.len() > 50, "{} round trips", round_trips.len());
    assert!(round_trips[0] > 0.009 && round_trips[round_trips.len() / 2] < 0.06, "{round_trips:?}");
    // 300 packets of 948 bytes, to the 8 bytes of the shift.
    let windows = fields("tcp.stream == 0 && tcp.flags.syn == 0", "tcp.window_size").unwrap();
    assert!(windows.iter().all(|window| window == "284400" || window == "284384"), "{:?}", windows.first());
    let count = |filter: &str| fields(filter, "frame.number").unwrap().len() as u64;
    assert!(count("tcp.options.sack_le") > 0 && count("tcp.flags.ece == 1 && tcp.flags.syn == 0") > 0);
    assert!(count("tcp.flags.cwr == 1 && tcp.flags.syn == 0") > 0 && count("ip.dsfield.ecn == 3") > 0);
    assert_eq!(count("_ws.malformed"), 0);
    let flows = outcome["flows"].as_array().unwrap();
    let sent_again: u64 = flows.iter().filter_map(|flow| flow["retransmitted"].as_u64()).sum();
    let seen = count("tcp.analysis.retransmission || tcp.analysis.fast_retransmission || tcp.analysis.out_of_order");
    assert!(seen <= sent_again, "{seen} of {sent_again}");
}

/// A path with two queues: a packet is captured behind each, with another TTL. Acknowledgements have the reverse
/// addresses.
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
    let (mut ttl, mut acks, mut ce, mut ect) = (BTreeMap::<u8, u64>::new(), 0_u64, 0_u64, 0_u64);
    for (_, _, lax, _) in packets(&capture) {
        let Some(NetHeaders::Ipv4(ip, _)) = lax.net else { panic!("not IPv4") };
        *ttl.entry(ip.time_to_live).or_default() += 1;
        // The upper half of the addresses are the destinations.
        if ip.source[1] >= 128 {
            let Some(TransportHeader::Tcp(tcp)) = lax.transport else { panic!("not TCP") };
            assert!(ip.total_len >= 40);
            assert_eq!((tcp.source_port, tcp.acknowledgment_number % 960), (9, 1));
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

/// TFRC is captured as UDP: data in one direction, and in the other reports of 40 bytes from the port that the data is
/// sent to.
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
        let lax = LaxPacketHeaders::from_ip(&packet.data).unwrap();
        let Some(NetHeaders::Ipv4(ip, _)) = lax.net else { panic!("not IPv4") };
        let Some(TransportHeader::Udp(udp)) = lax.transport else { panic!("not UDP") };
        *seen.entry((ip.total_len, udp.source_port, udp.destination_port)).or_default() += 1;
    }
    let (data, back): (Vec<_>, Vec<_>) = seen.iter().partition(|((bytes, _, _), _)| *bytes == 1000);
    assert!(data.iter().all(|((_, _, to), count)| *to == 9 && **count > 20), "{seen:?}");
    let [((40, 9, to), reports)] = back[..] else { panic!("{seen:?}") };
    assert!(data.iter().any(|((_, from, _), _)| from == to) && *reports > 20, "{seen:?}");
}
