//! Traffic from files.
#![allow(missing_docs, reason = "a test program has no public interface")]

use std::path::Path;

use fairlane_capture::{Capture, Flows};
use fairlane_qdisc::Time;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, QueueEvent, run};

/// The arrivals at the bottleneck: time, flow, bytes.
#[derive(Default)]
struct Arrivals(Vec<(u64, u32, u32)>);

impl Observer for Arrivals {
    fn packet(&mut self, event: &PacketEvent) {
        if event.queue_event == QueueEvent::Arrived {
            self.0.push((event.at.as_nanos(), event.flow, event.bytes));
        }
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Returns the arrivals of the flows of `group`. There are no host links, so the trace alone determines the arrival
/// times.
fn arrivals(folder: &Path, group: &str) -> Vec<(u64, u32, u32)> {
    let text = format!(
        "duration = \"10s\"\n[[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"1gbit\"\nqueue = {{ kind = \"red\" }}\n\
         [[flows]]\nname = \"recorded\"\nkind = \"udp\"\nfrom = \"a\"\nto = \"b\"\nsource = \"trace\"\n{group}\n"
    );
    let file = folder.join("scenario.toml");
    std::fs::write(&file, text).unwrap();
    let scenario = Document::load(&file).and_then(|document| document.scenario()).unwrap();
    let mut arrivals = Arrivals::default();
    run(&scenario, 0, &Control::default(), &mut arrivals).unwrap();
    arrivals.0
}

/// Would catch flows that share a table, or that do not begin at their start.
#[test]
fn a_table_is_repeated_by_each_flow_from_its_start_on() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("packets.csv"), "time_s,bytes\n0.001,1500\n0.25,40\n0.25,576\n").unwrap();
    let seen = arrivals(place.path(), "trace = \"packets.csv\"\ncount = 2\nstart = \"1s\"");
    let at = |flow, bytes, nanos: u64| (1_000_000_000 + nanos, flow, bytes);
    let mut expected = Vec::new();
    for (nanos, bytes) in [(1_000_000, 1500), (250_000_000, 40), (250_000_000, 576)] {
        expected.extend([0, 1].map(|flow| at(flow, bytes, nanos)));
    }
    // Both send two packets at the same time, whose order the trace does not determine.
    let sorted = |mut all: Vec<(u64, u32, u32)>| {
        all.sort_unstable();
        all
    };
    assert_eq!(sorted(seen), sorted(expected));
}

/// Compares with the reader of captures. Would catch a packet of another flow, time or size.
#[test]
fn a_capture_is_a_group_of_its_flows() {
    let place = tempfile::tempdir().unwrap();
    let capture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture/tests/data/linux-tcp.pcap");
    std::fs::copy(&capture, place.path().join("real.pcap")).unwrap();
    let seen = arrivals(place.path(), "trace = \"real.pcap\"");
    let (mut capture, mut flows, mut expected) = (Capture::open(&capture).unwrap(), Flows::new(), Vec::new());
    while let Some(packet) = capture.next_packet().unwrap() {
        let flow = flows.number(packet.time, &packet.headers);
        expected.push((packet.time.as_nanos(), flow, packet.headers.bytes));
    }
    assert!(expected.len() > 500 && flows.all().len() > 5, "the capture is too small");
    expected.sort_unstable();
    let mut seen = seen;
    seen.sort_unstable();
    assert_eq!(seen, expected);
}

/// Would catch an invalid trace that is accepted, and an error without the file.
#[test]
fn invalid_traces_are_refused_with_the_file() {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("empty.csv"), "time_s,bytes\n").unwrap();
    std::fs::write(place.path().join("bad.csv"), "time_s,bytes\n1,0\n").unwrap();
    for (keys, expected) in [
        ("trace = \"nowhere.csv\"", "nowhere.csv: cannot be opened"),
        ("trace = \"empty.csv\"", "there are no packets"),
        ("trace = \"bad.csv\"", "bad.csv:2: "),
        ("trace = \"scenario.toml\"", "is not a pcap"),
        ("", "trace"),
        ("trace = \"empty.csv\"\npacket = \"40b\"", "leave `packet` out"),
        ("trace = \"empty.csv\"\nrate = \"1mbit\"", "rate"),
    ] {
        let text = format!(
            "duration = \"1s\"\n[bottleneck]\nrate = \"1mbit\"\n[[flows]]\nname = \"a\"\nkind = \"udp\"\nsource = \"trace\"\n{keys}\n"
        );
        let file = place.path().join("scenario.toml");
        std::fs::write(&file, text).unwrap();
        let error = Document::load(&file).and_then(|document| document.scenario()).unwrap_err().to_string();
        assert!(error.contains(expected) && error.contains("scenario.toml"), "{error}");
    }
}
