//! Connections that open with a handshake: its packets cross the network, take their time and are lost like others.

use fairlane_outcome::Run;
use fairlane_sim::{Observer, PacketEvent, PacketKind, QueueEvent};

mod wide;

use wide::observe;

/// The packets that came to the bottleneck's queues: link, kind, bytes, and the time in nanoseconds.
#[derive(Default)]
struct Log(Vec<(u32, PacketKind, u32, u64)>);

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        if event.queue_event == QueueEvent::Arrived && event.link < 2 {
            self.0.push((event.link, event.kind, event.bytes, event.at.as_nanos()));
        }
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

/// Runs `flows` over a dumbbell of 1 Gbit/s throughout, with 12 ms one way.
fn wide(duration: &str, bottleneck: &str, flows: &str) -> (Run, Log) {
    let mut log = Log::default();
    let run = observe(duration, bottleneck, flows, &mut log);
    (run, log)
}

/// By hand: a packet of 40 bytes takes 3 · 0.32 µs + 12 ms, so the SYN-ACK is back after this.
const OPEN_NS: u64 = 2 * 12_000_960;

/// By hand: the first data wait for the ACK, 0.32 µs on the first link, and take 3 · 8 µs + 12 ms.
const FIRST_NS: u64 = OPEN_NS + 320 + 24_000 + 12_000_000;

/// By hand: rounds of 1, 2 and 4 packets, of which the first begins behind the ACK. A round trip of data takes 24.02496
/// ms; the four of the last round take 32 µs on the first link, and the last one takes two more.
const SEVEN_NS: u64 = OPEN_NS + 320 + 2 * 24_024_960 + 32_000 + 2 * 8_000 + 12_000_000;

/// Would catch a handshake that takes no time, one that counts as data, or packets of another size.
#[test]
fn a_transfer_begins_after_a_round_trip() {
    let (run, log) = wide("2s", "", "source = \"transfers\"\nsize = \"7p\"\ntcp = { handshake = true }");
    let flow = &run.flows[0];
    assert_eq!(flow.completions_ns.as_deref(), Some(&[SEVEN_NS][..]));
    assert_eq!(flow.startups_ns.as_deref(), Some(&[FIRST_NS][..]));
    assert_eq!((flow.sent, flow.delivered, flow.unique_bytes, flow.dropped), (7, 7, 7000, 0));
    let opening: Vec<_> = log.0.iter().filter(|event| event.1 != PacketKind::Data && event.0 == 0).collect();
    assert_eq!(
        opening[..],
        [&(0, PacketKind::Syn, 40, 1_000_320), &(0, PacketKind::OpeningAck, 40, OPEN_NS + 1_000_320)]
    );
    let (larger, _) =
        wide("2s", "", "source = \"transfers\"\nsize = \"7p\"\ntcp = { handshake = true, ack = \"100b\" }");
    assert!(larger.flows[0].completions_ns.as_ref().is_some_and(|times| times[0] > SEVEN_NS));
}

/// Would catch connections that inherit the opening of the one before: each transfer takes the same time.
#[test]
fn each_transfer_opens_a_connection() {
    let keys = "source = \"transfers\"\nsize = \"7p\"\nthink = \"50ms\"\ntcp = { handshake = true }";
    let (run, log) = wide("20s", "", keys);
    let completions = run.flows[0].completions_ns.as_deref().unwrap_or_default();
    assert!(completions.len() > 100 && completions.iter().all(|nanos| *nanos == SEVEN_NS));
    let syns = log.0.iter().filter(|event| event.1 == PacketKind::Syn).count();
    assert!((completions.len()..=completions.len() + 1).contains(&syns), "{syns} SYNs");
}

/// By hand: three connections open at once; behind the SYNs of the other two the last one is 0.64 µs late, which ends
/// at the bottleneck, where the last of three packets of data waits for two others: 5 · 8 µs + 12 ms from the ACK of
/// the first one, which takes 0.32 µs.
#[test]
fn the_connections_of_a_page_open_together() {
    let keys =
        "source = \"web\"\nobjects = 3\nconnections = 3\nsize = \"1p\"\nthink = \"1s\"\ntcp = { handshake = true }";
    let (run, _) = wide("10s", "", keys);
    let pages = || run.flows.iter().filter_map(|flow| flow.completions_ns.as_ref()).flatten();
    let startups = || run.flows.iter().filter_map(|flow| flow.startups_ns.as_ref()).flatten();
    assert!(pages().count() > 3 && pages().all(|nanos| *nanos == OPEN_NS + 320 + 12_000_000 + 5 * 8_000));
    assert!(startups().count() == pages().count() && startups().all(|nanos| *nanos == FIRST_NS));
}

/// Would catch SYNs that no loss reaches, or whose timer does not back off: with an initial timeout of 1 s they are
/// sent at 0, 1, 3 and 7 s.
#[test]
fn a_lost_syn_is_sent_again() {
    let keys = "tcp = { preset = \"modern\", handshake = true }";
    let (run, log) = wide("10s", "loss = 1.0", keys);
    let flow = &run.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.lost, flow.timeouts, flow.retransmitted), (0, 0, 0, 3, 0));
    let syns: Vec<u64> = log.0.iter().map(|event| event.3 / 1_000_000_000).collect();
    assert_eq!(syns, [0, 1, 3, 7]);
    // A lost SYN-ACK has the same effect.
    let (run, log) = wide("10s", "reverse = { loss = 1.0 }", keys);
    assert_eq!((run.flows[0].sent, run.flows[0].timeouts), (0, 3));
    let answers = log.0.iter().filter(|event| event.1 == PacketKind::SynAck).count();
    assert_eq!(answers, 4);
}
