//! Plain host links, which only drop from the tail, need no event at the queue. These tests compare them with the
//! DropTail discipline.

use fairlane_outcome::{PathRun, Run};
use fairlane_qdisc::{BoxQdisc, Host, Kind, QdiscParameters, Reason};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, Packet, PacketEvent, QueueEvent, queue_names, run, run_with};

/// The deliveries in order, with their times in nanoseconds, and the number of dropped packets.
#[derive(Debug, Default, PartialEq)]
struct Deliveries {
    delivered: Vec<(u64, u32, u32)>,
    dropped: u64,
}

impl Observer for Deliveries {
    fn packet(&mut self, event: &PacketEvent) {
        self.dropped += u64::from(matches!(event.queue_event, QueueEvent::Dropped(_)));
    }
    fn delivered(&mut self, at: fairlane_qdisc::Time, flow: u32, seq: u32) {
        self.delivered.push((at.as_nanos(), flow, seq));
    }
}

/// Runs `traffic` with host links of `access_rate` and `limit` packets, which are plain or, with `droptail`, have a
/// DropTail discipline of the caller.
fn simulate(limit: u32, access_rate: &str, droptail: bool, traffic: &str) -> (Run, Deliveries) {
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
        queue = {{ kind = "droptail", limit = "{limit}p" }}
        {traffic}
        "#
    );
    let scenario = Document::parse("links.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut deliveries = Deliveries::default();
    let config = QdiscParameters::new(Kind::DropTail).with("limit", format!("{limit}p").as_str()).expect("a limit");
    let custom = |link: &str, host: &Host| {
        let queue: BoxQdisc<Packet> = config.build(host).expect("a queue");
        (!link.starts_with("bottleneck")).then_some(("droptail", queue))
    };
    let run = if droptail {
        run_with(&scenario, 0, &Control::default(), &mut deliveries, custom)
    } else {
        run(&scenario, 0, &Control::default(), &mut deliveries)
    };
    (run.expect("it runs"), deliveries)
}

/// The limits and rates of the host links.
const TAILS: [(u32, &str); 4] = [(1, "1mbit"), (4, "2mbit"), (1000, "10mbit"), (40, "50kbit")];

/// Would catch any difference between a plain link and DropTail in deliveries or drops, also where another flow's SYN
/// is the last packet that crossed a link of the same kind.
#[test]
fn a_plain_link_equals_droptail_for_bursts() {
    let traffic = r#"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        count = 5
        window = 40
        packet = "1000b"
        start = "0s..1s"
        [[flows]]
        name = "opened"
        kind = "tcp"
        count = 20
        packet = "1000b"
        source = "transfers"
        size = "20kb"
        think = "100ms"
        tcp = { handshake = true, initial_window = 3 }
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "1500kbit"
        packet = "700b"
        jitter = 0.4
    "#;
    let mut with_drops = 0;
    for (limit, rate) in TAILS {
        let plain = simulate(limit, rate, false, traffic);
        let droptail = simulate(limit, rate, true, traffic);
        assert!(plain.1.delivered.len() > 3000, "{}", plain.1.delivered.len());
        assert_eq!(plain.1.delivered, droptail.1.delivered, "limit {limit}");
        assert_eq!(plain.0.flows, droptail.0.flows, "limit {limit}");
        let at_bottleneck: u64 = plain.0.queues[0].flows.iter().flat_map(|flow| flow.dropped).sum();
        with_drops += u64::from(plain.1.dropped > at_bottleneck);
    }
    assert!(with_drops >= 1, "no host link was ever full, so the test shows nothing");
}

/// Would catch a link of acknowledgements whose limit is not kept: the links of hosts behind it let its packets pass at
/// once.
#[test]
fn a_congested_way_back_drops_acknowledgements() {
    let text = r#"
        duration = "20s"
        [tcp]
        preset = "ns2-1999"
        [bottleneck]
        rate = "2mbit"
        delay = "7ms"
        queue = { kind = "droptail", limit = "20p" }
        reverse = { rate = "24kbit", queue = { kind = "droptail", limit = "3p" } }
        [access]
        rate = "10mbit"
        delay = "3ms"
        [[flows]]
        name = "ftp"
        kind = "tcp"
        count = 5
        window = 40
        packet = "1000b"
        start = "0s..1s"
    "#;
    let scenario = Document::parse("links.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let config = QdiscParameters::new(Kind::DropTail).with("limit", "3p").expect("a limit");
    let [plain, droptail] = [false, true].map(|droptail| {
        let mut deliveries = Deliveries::default();
        let custom = |link: &str, host: &Host| {
            let queue: BoxQdisc<Packet> = config.build(host).expect("a queue");
            (droptail && link == "bottleneck/reverse").then_some(("droptail", queue))
        };
        let run = run_with(&scenario, 0, &Control::default(), &mut deliveries, custom).expect("it runs");
        let forward: u64 = run.queues[0].flows.iter().flat_map(|flow| flow.dropped).sum();
        (run.flows, deliveries.delivered, deliveries.dropped - forward)
    });
    // The way back carries 75 acknowledgements of 40 bytes a second, and 250 segments arrive.
    assert!(plain.2 > 500, "{}", plain.2);
    assert_eq!(plain, droptail);
}

/// Would catch a delay that is missing or counted twice.
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
    let (run, deliveries) = simulate(9, "10mbit", false, traffic);
    let phase = deliveries.delivered[0].0 - 22_600_000;
    assert!(phase < 1_000_000_000, "the first packet leaves within one interval");
    for (index, (at, _, seq)) in deliveries.delivered.iter().enumerate() {
        assert_eq!((*at, *seq as usize), (phase + 22_600_000 + 1_000_000_000 * index as u64, index));
    }
    let delay_ns = 22_600_000 * run.flows[0].delivered;
    assert_eq!(run.flows[0].path, Some(PathRun { delay_ns, ..PathRun::default() }));
    // With one segment at a time, each is answered after the way back too: 40 bytes take 0.032 and 0.32 ms.
    let one = "[[flows]]\nname = \"tcp\"\nkind = \"tcp\"\nwindow = 1\npacket = \"1000b\"\nstart = \"0s\"\n";
    let (run, _) = simulate(9, "10mbit", false, one);
    let path = run.flows[0].path.expect("the simulator knows delays");
    assert!(path.round_trips > 800, "{path:?}");
    assert_eq!(path.round_trip_ns, (22_600_000 + 13_384_000) * path.round_trips);
}

/// The number of filtered acknowledgements.
struct Filtered(u64);

impl Observer for Filtered {
    fn packet(&mut self, event: &PacketEvent) {
        self.0 += u64::from(event.queue_event == QueueEvent::Dropped(Reason::AckFilter));
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

/// A link carries 5000 packets of 1000 bytes a second, and back 100 acknowledgements of 40 bytes, each of which repeats
/// those before it. Would catch packets that do not tell that they are acknowledgements, so that none is dropped, and a
/// filter that drops what no other acknowledgement repeats, so that the senders stall.
#[test]
fn filtered_acknowledgements_leave_room() {
    let simulate = |filter: &str| {
        let text = format!(
            r#"
            duration = "20s"
            [tcp]
            preset = "modern"
            [bottleneck]
            rate = "40mbit"
            delay = "5ms"
            queue = {{ kind = "fq-codel" }}
            reverse = {{ rate = "32kbit", queue = {{ kind = "cake", diffserv = "besteffort", ack_filter = "{filter}" }} }}
            [[flows]]
            name = "down"
            kind = "tcp"
            packet = "1000b"
            count = 2
            "#
        );
        let scenario = Document::parse("acks.toml", &text).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let mut filtered = Filtered(0);
        let run = run(&scenario, 0, &Control::default(), &mut filtered).expect("it runs");
        (run.flows.iter().map(|flow| flow.delivered).sum::<u64>(), filtered.0)
    };
    let (plain, filter, aggressive) = (simulate("none"), simulate("filter"), simulate("aggressive"));
    assert_eq!(plain.1, 0);
    for (delivered, filtered) in [filter, aggressive] {
        assert!(filtered > 1000 && delivered > 2 * plain.0, "{plain:?} {filter:?} {aggressive:?}");
    }
}

/// Would catch a queue of acknowledgements that no outcome has, and one that is counted although nothing can wait in
/// it: each data packet has one acknowledgement of 40 bytes, so of 20 Mbit/s in packets of 1000 bytes they take 0.8
/// Mbit/s, and more than 400 kbit/s carry. What arrived left, was dropped, or is in the queue, which holds ten.
#[test]
fn acknowledgements_that_may_wait_are_counted() {
    let simulate = |reverse: &str, kind: &str| {
        let text = format!(
            "duration = \"20s\"\n[bottleneck]\nrate = \"20mbit\"\ndelay = \"5ms\"\nqueue = {{ kind = \"droptail\" }}\n{reverse}\n\
             [[flows]]\nname = \"a\"\n{kind}\n"
        );
        let scenario = Document::parse("acks.toml", &text).and_then(|document| document.scenario());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let run = run(&scenario, 0, &Control::default(), &mut ()).expect("it runs");
        let names: Vec<String> = run.queues.iter().map(|queue| queue.name.clone()).collect();
        assert_eq!(names, queue_names(&scenario), "{reverse}");
        run
    };
    let tcp = "kind = \"tcp\"\ncc = \"sack\"\nwindow = 500";
    let slow = "reverse = { rate = \"400kbit\", queue = { kind = \"droptail\", limit = \"10p\" } }";
    for plain in ["", "reverse = { rate = \"10mbit\" }"] {
        assert_eq!(simulate(plain, tcp).queues.len(), 1, "{plain}");
    }
    assert_eq!(simulate(slow, "kind = \"udp\"\nrate = \"1mbit\"").queues.len(), 1);
    assert_eq!(simulate("reverse = { rate = \"1mbit\" }", tcp).queues.len(), 2);
    let run = simulate(slow, tcp);
    let [data, answers] = &run.queues[..] else { panic!("{:?}", run.queues) };
    assert_eq!((&*answers.name, answers.flows.len()), ("bottleneck/reverse", 1));
    let flow = &answers.flows[0];
    let dropped: u64 = flow.dropped.iter().sum();
    assert!(flow.arrived.abs_diff(run.flows[0].delivered) <= 20, "{flow:?} {:?}", run.flows[0].delivered);
    assert!(dropped > 100 && flow.arrived - flow.departed - dropped <= 11, "{flow:?}");
    assert_eq!(flow.departed_bytes, 40 * flow.departed);
    assert!(answers.mean_packets > 1.0 && data.flows[0].departed > 10_000, "{answers:?}");
}
