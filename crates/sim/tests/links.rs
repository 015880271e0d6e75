//! Host links that only drop from the tail take a short cut through the event queue. These tests hold the short cut against
//! the DropTail discipline itself.

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Happening, Observer, PacketEvent, run};

/// What reaches the receivers, in order and to the nanosecond, and how many packets the hosts' links dropped.
#[derive(Debug, Default, PartialEq)]
struct Deliveries {
    delivered: Vec<(u64, u32, u32)>,
    dropped: u64,
}

impl Observer for Deliveries {
    fn packet(&mut self, event: &PacketEvent) {
        self.dropped += u64::from(matches!(event.happening, Happening::Dropped(_)));
    }
    fn delivered(&mut self, at: fairlane_scenario::Time, flow: u32, seq: u32) {
        self.delivered.push((at.as_nanos(), flow, seq));
    }
}

fn simulate(access_queue: &str, access_rate: &str, traffic: &str) -> (Run, Deliveries) {
    let text = format!(
        r#"
        duration = "30s"
        [tcp]
        preset = "ns2-1999"
        [bottleneck]
        rate = "1mbit"
        delay = "7ms"
        queue = {{ kind = "droptail", limit = "20p" }}
        [access]
        rate = "{access_rate}"
        delay = "3ms"
        queue = {access_queue}
        {traffic}
        "#
    );
    let scenario = Document::parse("links.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut deliveries = Deliveries::default();
    let run = run(&scenario, 0, &Control::default(), &mut deliveries).expect("it runs");
    (run, deliveries)
}

/// `drop = "tail"` is the default: saying it changes nothing but that the simulator takes the long way.
const TAILS: [(u32, &str); 3] = [(1, "1mbit"), (4, "2mbit"), (1000, "10mbit")];

#[test]
fn a_short_cut_link_equals_droptail_for_bursts() {
    let traffic = r#"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        count = 5
        window = 40
        packet = "1000b"
        start = "0s..1s"
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "1500kbit"
        packet = "700b"
        jitter = 0.4
    "#;
    let mut with_drops = 0;
    for (limit, rate) in TAILS {
        let short = simulate(&format!(r#"{{ kind = "droptail", limit = "{limit}p" }}"#), rate, traffic);
        let long = simulate(&format!(r#"{{ kind = "droptail", limit = "{limit}p", drop = "tail" }}"#), rate, traffic);
        assert!(short.1.delivered.len() > 3000, "{}", short.1.delivered.len());
        assert_eq!(short.1.delivered, long.1.delivered, "limit {limit}");
        assert_eq!(short.0.flows, long.0.flows, "limit {limit}");
        let at_bottleneck: u64 = short.0.queues[0].flows.iter().flat_map(|flow| flow.dropped).sum();
        with_drops += u64::from(short.1.dropped > at_bottleneck);
    }
    assert!(with_drops >= 1, "no host link was ever full: the test shows nothing");
}

#[test]
fn a_packet_takes_exactly_its_transmissions_and_delays() {
    // 1000 bytes: 0.8 ms at 10 Mbit/s, 8 ms at 1 Mbit/s; 3 + 7 + 3 ms of delay.
    let traffic = r#"
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "8kbit"
        packet = "1000b"
        start = "0s"
    "#;
    let (_, deliveries) = simulate(r#"{ kind = "droptail", limit = "9p" }"#, "10mbit", traffic);
    let phase = deliveries.delivered[0].0 - 22_600_000;
    assert!(phase < 1_000_000_000, "the first packet leaves within one interval");
    for (index, (at, _, seq)) in deliveries.delivered.iter().enumerate() {
        assert_eq!((*at, *seq as usize), (phase + 22_600_000 + 1_000_000_000 * index as u64, index));
    }
}
