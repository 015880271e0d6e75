//! `fairlane replay` with a real capture. `crates/capture/tests/data` has the file and describes how it was made.

mod common;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use common::{Place, fairlane, json, printed};
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice};
use pcap_file::pcap::{PcapReader, RawPcapPacket};
use serde_json::Value;

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn real() -> String {
    repository().join("crates/capture/tests/data/linux-tcp.pcap").display().to_string()
}

/// The packets and bytes of each flow in the capture by tcpdump -e; the fragments without ports belong to the UDP flow.
const COUNTED: [(&str, u64, u64); 4] = [
    ("udp/10.9.0.1:58040>10.9.0.2:9", 272 + 34, 291_448 + 27_132),
    ("tcp/10.9.0.1:38488>10.9.0.2:5001", 245, 366_178),
    ("tcp/10.9.0.1:51778>10.9.0.2:5002", 245, 366_178),
    ("tcp/[fd09::1]:46018>[fd09::2]:5003", 249, 371_422),
];
const PACKETS: u64 = 1049;
const BYTES: u64 = 1_422_734;

fn packets(path: &str) -> Vec<RawPcapPacket<'static>> {
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    let mut packets = Vec::new();
    while let Some(packet) = reader.next_raw_packet() {
        let RawPcapPacket { ts_sec, ts_frac, incl_len, orig_len, data } = packet.unwrap();
        packets.push(RawPcapPacket { ts_sec, ts_frac, incl_len, orig_len, data: data.into_owned().into() });
    }
    packets
}

fn nanos(packet: &RawPcapPacket<'_>) -> u64 {
    u64::from(packet.ts_sec) * 1_000_000_000 + u64::from(packet.ts_frac)
}

/// Would catch a capture of both directions that passes for one, and a direction that has packets of the other.
#[test]
fn one_direction_of_a_simulated_capture() {
    let (place, file) = Place::with_small();
    let both = place.name("both.pcap");
    printed(&["run", &file, "--pcap", &both]);
    let replay = |more: &[&str]| {
        let args = [&["replay", &both, "--rate", "1gbit", "--queue", "droptail", "limit=10000p", "--json"], more];
        let output = fairlane(&args.concat());
        let stderr = String::from_utf8(output.stderr).unwrap();
        let outcome: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{stderr}"));
        (outcome["queues"][0]["arrived"].as_u64().unwrap(), stderr)
    };
    // Sources have addresses in the lower half of 10.0.0.0/8.
    let all = packets(&both);
    let there = all.iter().filter(|packet| Ipv4HeaderSlice::from_slice(&packet.data).unwrap().source()[1] < 128);
    let there = there.count() as u64;
    let (arrived, note) = replay(&[]);
    assert!(arrived == all.len() as u64 && 0 < there && there < arrived);
    assert!(note.contains("both directions"), "{note}");
    let named = note.split("--from ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    for network in [named, "10.0.0.0/9"] {
        assert_eq!(replay(&["--from", network]), (there, String::new()), "{network}");
    }
    let refused = fairlane(&["replay", &both, "--rate", "1gbit", "--queue", "droptail", "--from", "lan"]);
    assert!(String::from_utf8(refused.stderr).unwrap().contains("write a network such as 10.0.0.0/8"));
    let nobody = fairlane(&["replay", &both, "--rate", "1gbit", "--queue", "droptail", "--from", "192.0.2.0/24"]);
    let stderr = String::from_utf8(nobody.stderr).unwrap();
    assert!(nobody.status.code() == Some(2) && stderr.contains("no packet from 192.0.2.0/24"), "{stderr}");
}

/// Would catch a flow that is split or joined, and a packet whose captured length is counted instead of its length on
/// the wire.
#[test]
fn flows_and_bytes_are_those_that_tcpdump_counts() {
    let outcome = json(&["replay", &real(), "--rate", "1gbit", "--queue", "droptail", "limit=1000p", "--json"]);
    let (queue, seconds) = (&outcome["queues"][0], outcome["to_s"].as_f64().unwrap());
    assert_eq!((&outcome["engine"], &outcome["scenario"]), (&"replay".into(), &"linux-tcp.pcap".into()));
    assert_eq!(
        (&queue["name"], &queue["arrived"], &queue["departed"]),
        (&"bottleneck".into(), &PACKETS.into(), &PACKETS.into())
    );
    let flow =
        |name: &str| outcome["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == name).cloned().unwrap();
    for (name, packets, bytes) in COUNTED {
        let flow = flow(name);
        assert_eq!((&flow["sent"], &flow["delivered"]), (&packets.into(), &packets.into()), "{name}");
        let counted = flow["throughput_bps"].as_f64().unwrap() * seconds / 8.0;
        assert!((counted - bytes as f64).abs() < 0.01, "{name}: {counted}");
    }
    let carried = queue["utilisation"].as_f64().unwrap() * 1e9 * seconds / 8.0;
    assert!((carried - BYTES as f64).abs() < 0.01, "{carried}");
    let groups: Vec<&Value> = outcome["groups"].as_array().unwrap().iter().map(|group| &group["name"]).collect();
    assert_eq!(groups, ["icmp6", "udp", "tcp"]);
}

/// A flow by one address has the packets of all 5-tuples with that address. Would catch a definition that is not passed
/// on, or the other end's address.
#[test]
fn flows_by_host_have_the_packets_of_their_connections() {
    let sent = |by: &str| -> BTreeMap<String, u64> {
        let rest = ["--rate", "1gbit", "--queue", "droptail", "limit=1000p", "--json", "--flows", by];
        let outcome = json(&[&["replay", &real()], &rest[..]].concat());
        let flows = outcome["flows"].as_array().unwrap().clone();
        let counted = |flow: &Value| (flow["name"].as_str().unwrap().to_owned(), flow["sent"].as_u64().unwrap());
        flows.iter().map(counted).collect()
    };
    // The name of a 5-tuple has the protocol first, and ports behind the addresses.
    let address = |end: &str| {
        let with_port = end.parse::<SocketAddr>().map(|address| address.ip());
        with_port.or_else(|_| end.parse::<IpAddr>()).unwrap().to_string()
    };
    let (mut sources, mut destinations, mut pairs) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (name, packets) in sent("five-tuple") {
        let (source, destination) = name.split_once('/').unwrap().1.split_once('>').unwrap();
        let (source, destination) = (address(source), address(destination));
        *sources.entry(format!("{source}>*")).or_insert(0) += packets;
        *destinations.entry(format!("*>{destination}")).or_insert(0) += packets;
        *pairs.entry(format!("{source}>{destination}")).or_insert(0) += packets;
    }
    let counted: u64 = COUNTED[..3].iter().map(|(_, packets, _)| packets).sum();
    assert_eq!(sources["10.9.0.1>*"], counted, "all packets of IPv4, by tcpdump");
    assert_eq!(
        (sent("source-address"), sent("destination-address"), sent("address-pair")),
        (sources, destinations, pairs)
    );
}

/// RFC 2784: GRE has four bytes without options. Two flows of UDP and its tunnel, from hosts to other hosts.
#[test]
fn flows_inside_a_tunnel_are_told_apart_if_that_is_asked_for() {
    let packet = |port: u8| {
        let ip = |length: u8, protocol: u8, net: u8| {
            [0x45, 0, 0, length, 0, 0, 0, 0, 64, protocol, 0, 0, net, 0, 0, 1, net, 0, 0, 2]
        };
        let gre = [&ip(52, 47, 192)[..], &[0, 0, 8, 0], &ip(28, 17, 10), &[0, port, 0, 9, 0, 8, 0, 0]].concat();
        let record = [0_u32, 0, gre.len() as u32, gre.len() as u32].map(u32::to_le_bytes).concat();
        [record, gre].concat()
    };
    let header = [0xa1b2_c3d4, 4 << 16 | 2, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    let place = Place::new();
    let file = place.name("tunnel.pcap");
    fs::write(&file, [header, packet(5), packet(6), packet(5)].concat()).unwrap();
    let names = |by: &[&str]| -> Vec<(String, u64)> {
        let rest = ["--rate", "1mbit", "--queue", "droptail", "--json"];
        let outcome = json(&[&["replay", &file], &rest[..], by].concat());
        let flows = outcome["flows"].as_array().unwrap().clone();
        flows.iter().map(|flow| (flow["name"].as_str().unwrap().to_owned(), flow["sent"].as_u64().unwrap())).collect()
    };
    let named = |name: &str, sent| (name.to_owned(), sent);
    assert_eq!(names(&[]), [named("gre/192.0.0.1>192.0.0.2", 3)]);
    let inner = [named("udp/10.0.0.1:5>10.0.0.2:9", 2), named("udp/10.0.0.1:6>10.0.0.2:9", 1)];
    assert_eq!(names(&["--flows", "inner"]), inner);
}

/// The departure times of an unlimited FIFO follow Lindley's recursion: a packet is sent when it has arrived and the
/// packet before it has been sent. The written capture has every packet unchanged, at that time.
#[test]
fn departures_of_a_fifo_are_lindleys() {
    let place = Place::new();
    let through = place.name("through.pcap");
    let args =
        ["replay", &real(), "--rate", "5mbit", "--queue", "droptail", "limit=5000p", "--pcap", &through, "--json"];
    let outcome = json(&args);
    let (before, after) = (packets(&real()), packets(&through));
    assert_eq!((before.len() as u64, after.len() as u64), (PACKETS, PACKETS));
    // In nanoseconds nothing is rounded: at 5 Mbit/s a bit takes 200 ns and a byte 1600 ns.
    let mut free = 0;
    for (came, went) in before.iter().zip(&after) {
        let begin = free.max(nanos(came));
        assert_eq!(nanos(went), begin);
        free = begin + 1600 * u64::from(came.orig_len);
        assert_eq!((&came.data, came.orig_len), (&went.data, went.orig_len));
    }
    let whole = (free - nanos(&before[0])) as f64 / 1e9;
    assert!((outcome["to_s"].as_f64().unwrap() - whole).abs() < 1e-9);
}

/// Marks are in the headers, the IPv4 checksums are right, and nothing else has changed.
#[test]
fn marks_are_written_into_the_headers() {
    let place = Place::new();
    let through = place.name("through.pcap");
    let parameters = ["limit=300p", "min=5p", "max=15p", "ecn=true"];
    let (real, rate) = (real(), ["--rate", "5mbit", "--queue", "red", "--pcap", &through, "--json"]);
    let args = [&["replay", &real], &rate[..], &parameters[..]].concat();
    let outcome = json(&args);
    let (before, after) = (packets(&real), packets(&through));
    let mut originals = before.iter();
    let (mut marked, mut v4) = (0_u64, 0);
    for packet in &after {
        let ip = &packet.data[14..];
        let ecn = if ip[0] >> 4 == 4 {
            let header = Ipv4HeaderSlice::from_slice(ip).unwrap();
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            header.ecn().value()
        } else {
            Ipv6HeaderSlice::from_slice(ip).unwrap().ecn().value()
        };
        // The packets of a FIFO keep their order, so the original is the next one that is the same but for the mark.
        let plain = |data: &[u8]| {
            let mut data = data.to_vec();
            if data[14] >> 4 == 4 {
                data[15] &= !3;
                data[24..26].fill(0);
            } else {
                data[15] &= 0xcf;
            }
            data
        };
        let original = originals.find(|original| plain(&original.data) == plain(&packet.data)).unwrap();
        if ecn == 3 {
            marked += 1;
            v4 += u64::from(ip[0] >> 4 == 4);
        } else {
            assert_eq!(original.data, packet.data);
        }
    }
    assert_eq!(
        (&outcome["queues"][0]["departed"], &outcome["queues"][0]["marked"]),
        (&after.len().into(), &marked.into())
    );
    assert!(v4 > 10 && marked - v4 > 10, "{v4} of {marked} marks in IPv4");
}

/// Every discipline gets the same packets, its outcome is the same as alone, and every packet is accounted for at the
/// end.
#[test]
fn several_disciplines_see_the_same_packets() {
    let args = [
        "replay",
        &real(),
        "--rate",
        "5mbit",
        "--queue",
        "choke,fq-codel,choke,red",
        "limit=100p",
        "min=20p",
        "--json",
    ];
    let outcomes = json(&args);
    let outcomes = outcomes["outcomes"].as_array().unwrap();
    let kinds: Vec<&str> = outcomes.iter().map(|outcome| outcome["queues"][0]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["choke", "fq-codel", "red"]);
    for outcome in outcomes {
        let queue = &outcome["queues"][0];
        let dropped: u64 = queue["dropped"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(queue["arrived"], PACKETS);
        assert_eq!(queue["departed"].as_u64().unwrap() + dropped, PACKETS);
        assert!(dropped > 0);
    }
    let alone = json(&["replay", &real(), "--rate", "5mbit", "--queue", "choke", "limit=100p", "min=20p", "--json"]);
    assert_eq!((&alone["queues"], &alone["flows"]), (&outcomes[0]["queues"], &outcomes[0]["flows"]));
    let seed = json(&[
        "replay",
        &real(),
        "--rate",
        "5mbit",
        "--queue",
        "choke",
        "limit=100p",
        "min=20p",
        "--seed",
        "2",
        "--json",
    ]);
    assert_ne!(alone["queues"], seed["queues"]);
    let table = printed(&["replay", &real(), "--rate", "5mbit", "--queue", "droptail,choke", "limit=100p"]);
    assert!(table.contains("droptail") && table.contains("choke") && table.contains("udp"), "{table}");
}

/// Would catch a page that is not written, of another form, or in place of the capture.
#[test]
fn a_page_shows_what_was_replayed() {
    let place = Place::new();
    let page = place.name("page.html");
    for (queue, title) in [("droptail,choke", "Delay against throughput"), ("choke", "Drops")] {
        printed(&["replay", &real(), "--rate", "5mbit", "--queue", queue, "limit=100p", "--html", &page]);
        let page = fs::read_to_string(&page).unwrap();
        for part in [title, "Who got what, and how long it waited", "fairlane replay"] {
            assert!(page.contains(part), "{queue}: no {part}");
        }
    }
    let copy = place.name("copy.pcap");
    fs::copy(real(), &copy).unwrap();
    refused(
        &["replay", &copy, "--rate", "5mbit", "--queue", "choke", "--html", &copy],
        &["--html", "which is read", "another file"],
    );
    assert_eq!(fs::read(copy).unwrap(), fs::read(real()).unwrap());
}

fn refused(args: &[&str], parts: &[&str]) {
    let output = fairlane(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?} does not say \"{part}\": {stderr}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let place = Place::new();
    let real = real();
    let rest = ["--rate", "1mbit", "--queue", "red"];
    let replay =
        |file: &str, more: &[&str], parts: &[&str]| refused(&[&["replay", file], &rest[..], more].concat(), parts);
    replay(&place.name("none.pcap"), &[], &["none.pcap", "No such file"]);
    replay(&place.name(""), &[], &["not a file on disk"]);
    replay(&place.write("text.pcap", "duration = \"1s\""), &[], &["not a pcap or pcapng file", "editcap"]);
    replay(&real, &["limti=3p"], &["limti", "limit"]);
    replay(&real, &["limit=3"], &["limit", "unit"]);
    replay(&real, &["--flows", "port"], &["five-tuple, inner, address-pair, source-address, destination-address"]);
    replay(&real, &["min=30p", "max=20p"], &["--queue red", "min", "max"]);
    replay(&real, &["--pcap", &real], &["--pcap", "which is read", "another file"]);
    replay(&real, &["--pcap", &place.name("no/such.pcap")], &["make its folder first"]);
    refused(&["replay", &real, "--queue", "red"], &["--rate"]);
    refused(&["replay", &real, "--rate", "1mbit"], &["--queue"]);
    refused(&["replay", &real, "--rate", "0bit", "--queue", "red"], &["above zero"]);
    let both = ["replay", &real, "--rate", "1mbit", "--queue", "red,choke"];
    refused(&[&both[..], &["--pcap", &place.name("x.pcap")]].concat(), &["--pcap", "once for each"]);
    refused(&[&both[..], &["target=5ms"]].concat(), &["target"]);
    // No file was created.
    assert_eq!(fs::read_dir(place.path("")).unwrap().count(), 1);
}

/// A file that ends in the middle of packet 1049 is refused, and the error names that number. A note reports times that
/// run backwards.
#[test]
fn damage_and_disorder_are_told() {
    let place = Place::new();
    let bytes = fs::read(real()).unwrap();
    let cut = place.name("cut.pcap");
    fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    refused(&["replay", &cut, "--rate", "1mbit", "--queue", "red"], &["cut.pcap: packet 1049", "tcpdump -r"]);
    // The first packet's record begins at byte 24 with its seconds: one second more makes all packets after it earlier
    // than it.
    let mut late = bytes;
    late[24] += 1;
    let disordered = place.name("late.pcap");
    fs::write(&disordered, &late).unwrap();
    let output = fairlane(&["replay", &disordered, "--rate", "1mbit", "--queue", "red", "--json"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("packets are earlier than the one before") && stderr.contains("999.973"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let args = ["replay", &real(), "--rate", "5mbit", "--queue", "droptail", "--pcap", "/dev/full"];
    refused(&args, &["/dev/full", "make room"]);
}

/// Would catch an option or a verb on the page that no longer exists.
#[test]
fn the_commands_of_the_page_run() {
    let page = fs::read_to_string(repository().join("docs/replay.md")).unwrap();
    let place = Place::new();
    fs::copy(real(), place.path("uplink.pcap")).unwrap();
    let mut ran = 0;
    for line in page.lines().filter(|line| line.starts_with("fairlane replay uplink.pcap")) {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().skip(1).collect();
        let mut command = assert_cmd::Command::cargo_bin("fairlane").unwrap();
        command.args(words).current_dir(place.path("")).assert().success();
        ran += 1;
    }
    assert_eq!(ran, 3);
    assert!(place.path("through.pcap").metadata().unwrap().len() > 24);
}
