//! Replays compared with the simulator: the same arrivals lead to the same decisions.

use fairlane_outcome::Run;
use fairlane_qdisc::{Kind, QdiscParameters, Rate, Seed, SimplePacket, Time};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, QueueEvent, Replay, ReplayFlow, run};

/// The arrivals and departures at the bottleneck: time, flow, bytes, and ECN-capable or marked.
#[derive(Default)]
struct Log {
    arrivals: Vec<(Time, u32, u32, bool)>,
    departures: Vec<(Time, u32, u32, bool)>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        match event.queue_event {
            QueueEvent::Arrived => self.arrivals.push((event.at, event.flow, event.bytes, event.ecn_capable)),
            QueueEvent::Departed { .. } => self.departures.push((event.at, event.flow, event.bytes, event.marked)),
            _ => {}
        }
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Runs five flows with two packet sizes and odd rates, two of them ECN-capable, at 1.4 times the link's rate.
fn simulate(queue: &QdiscParameters) -> (Run, Log) {
    let text = r#"
        duration = "10s"
        seed = 5
        [bottleneck]
        rate = "1234567bit"
        delay = "1ms"
        [[flows]]
        name = "small"
        kind = "udp"
        rate = "200100bit"
        packet = "211b"
        jitter = 0.9
        count = 3
        [[flows]]
        name = "large"
        kind = "udp"
        rate = "600700bit"
        packet = "1499b"
        jitter = 0.5
        ecn = true
        count = 2
    "#;
    let document = Document::parse("replay.toml", text).unwrap_or_else(|error| panic!("{error}"));
    let mut scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
    scenario.links[0].forward.queue =
        queue.resolve(scenario.links[0].forward.rate).unwrap_or_else(|error| panic!("{error}"));
    let mut log = Log::default();
    let run = run(&scenario, 0, &Control::default(), &mut log).unwrap_or_else(|error| panic!("{error}"));
    (run, log)
}

/// Returns a packet that disciplines see as the simulator's.
fn packet(flow: u32, bytes: u32, ecn: bool) -> SimplePacket {
    let key = 2 * flow;
    let packet = SimplePacket::new(u64::from(key), bytes).with_hosts(key, key + 1).unresponsive();
    if ecn { packet.with_ecn() } else { packet }
}

/// Would catch a replay that calls the queue in another order, at other times or with other randomness, for every
/// discipline.
#[test]
fn equals_the_simulator_under_every_discipline() {
    for kind in Kind::ALL {
        let config = QdiscParameters::new(kind);
        let (simulated, log) = simulate(&config);
        let rate = Rate::from_bits_per_second(1_234_567);
        let mut replay = Replay::new(&config, rate, Seed::new(5)).unwrap_or_else(|error| panic!("{error}"));
        let mut left = Vec::new();
        for (at, flow, bytes, ecn) in &log.arrivals {
            let packet = SimplePacket { id: u64::from(*flow), ..packet(*flow, *bytes, *ecn) };
            replay.arrive(*at, *flow, packet, &mut |at, packet: SimplePacket| {
                left.push((at, packet.id as u32, packet.bytes, packet.marked));
            });
        }
        let common = left.len();
        assert!(common > 1000 && common <= log.departures.len(), "{kind}: {common}");
        assert_eq!(left, log.departures[..common], "{kind}");
        let names: Vec<ReplayFlow> =
            (0..5).map(|flow| ReplayFlow { name: format!("f{flow}"), group: "udp".to_owned(), kind: "udp" }).collect();
        let run = replay.run("replay", 5, &names, false);
        let (ours, theirs) = (&run.queues[0], &simulated.queues[0]);
        assert_eq!((&ours.name, &ours.kind, ours.rate_bps), (&theirs.name, &theirs.kind, theirs.rate_bps));
        for (ours, theirs) in ours.flows.iter().zip(&theirs.flows) {
            assert_eq!(
                (ours.arrived, ours.marked, ours.dropped),
                (theirs.arrived, theirs.marked, theirs.dropped),
                "{kind}"
            );
        }
        assert!((ours.mean_packets / theirs.mean_packets - 1.0).abs() < 0.01, "{kind}");
        assert_eq!(ours.mean_avg, theirs.mean_avg, "{kind}");
    }
}

/// Would catch a packet that neither departs nor is dropped, or that remains after the end.
#[test]
fn all_packets_are_accounted_for() {
    for kind in Kind::ALL {
        let (_, log) = simulate(&QdiscParameters::new(Kind::DropTail));
        let rate = Rate::from_bits_per_second(500_000);
        let mut replay =
            Replay::new(&QdiscParameters::new(kind), rate, Seed::new(1)).unwrap_or_else(|error| panic!("{error}"));
        let (mut departed, mut bits, mut last) = (0_u64, 0_u64, Time::ZERO);
        let mut count = |at: Time, packet: SimplePacket| {
            assert!(at >= last);
            (departed, bits, last) = (departed + 1, bits + 8 * u64::from(packet.bytes), at);
        };
        for (at, flow, bytes, ecn) in &log.arrivals {
            replay.arrive(*at, *flow, packet(*flow, *bytes, *ecn), &mut count);
        }
        let control = Control::default();
        assert!(!replay.drain(&control, &mut count));
        assert_eq!(control.finished(), 1);
        let run = replay.run("replay", 1, &[], false);
        let sum =
            |field: fn(&fairlane_outcome::QueueFlowRun) -> u64| run.queues[0].flows.iter().map(field).sum::<u64>();
        assert_eq!(sum(|flow| flow.arrived), log.arrivals.len() as u64, "{kind}");
        assert_eq!(sum(|flow| flow.departed), departed, "{kind}");
        assert_eq!(departed + sum(|flow| flow.dropped.iter().sum()), log.arrivals.len() as u64, "{kind}");
        // The link never carries more than its rate allows.
        assert!(bits as f64 <= 500_000.0 * run.to_s + 1.0, "{kind}: {bits} bits in {} s", run.to_s);
        assert!(run.to_s > last.as_secs(), "{kind}: the last transmission counts");
    }
}

/// Would catch a wrong order of events at one time. The queue holds one packet. A packet that arrives when the link
/// becomes free finds room, since the queued packet is sent first; a nanosecond earlier it is dropped.
#[test]
fn a_link_that_is_free_takes_a_packet_before_the_next_comes() {
    let config = QdiscParameters::new(Kind::DropTail).with("limit", "1p").unwrap_or_else(|error| panic!("{error}"));
    for (at, kept) in [(8_000_000, 3), (7_999_999, 2)] {
        let rate = Rate::from_bits_per_second(1_000_000);
        let mut replay = Replay::new(&config, rate, Seed::new(1)).unwrap_or_else(|error| panic!("{error}"));
        let mut left = Vec::new();
        let mut note = |at: Time, packet: SimplePacket| left.push((at.as_nanos(), packet.id));
        for (id, at) in [(0, 0), (1, 0), (2, at)] {
            replay.arrive(Time::from_nanos(at), 0, SimplePacket::new(0, 1000).with_id(id), &mut note);
        }
        assert!(!replay.drain(&Control::default(), &mut note));
        assert_eq!(left, [(0, 0), (8_000_000, 1), (16_000_000, 2)][..kept]);
    }
}

/// Would catch a replay that continues after a stop, and a link of rate zero that is accepted.
#[test]
fn a_stop_ends_a_replay_and_a_link_must_have_a_rate() {
    let config = QdiscParameters::new(Kind::DropTail);
    let mut replay =
        Replay::new(&config, Rate::from_bits_per_second(8), Seed::new(1)).unwrap_or_else(|error| panic!("{error}"));
    let mut departed = 0;
    for _ in 0..5 {
        replay.arrive(Time::ZERO, 0, SimplePacket::new(0, 1), &mut |_, _: SimplePacket| departed += 1);
    }
    let control = Control::default();
    control.stop();
    assert!(replay.drain(&control, &mut |_, _: SimplePacket| departed += 1));
    assert_eq!((departed, control.finished()), (1, 0));
    let run = replay.run("replay", 1, &[], true);
    assert_eq!((run.to_s, run.partial, run.queues[0].flows[0].departed), (1.0, true, 1));
    assert!(Replay::<SimplePacket>::new(&config, Rate::from_bits_per_second(0), Seed::new(1)).is_err());
}
