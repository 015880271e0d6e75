//! The bottleneck of the simulator and this one, for the same arrivals.

use fairlane_link::{Bottleneck, Config, LinkObserver};
use fairlane_qdisc::{BoxQdisc, Duration, Host, Qdisc, Reason, Seed, SimplePacket, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Observer, PacketEvent, QueueEvent, run_with};
use fairlane_traffic::ScenarioLine;

use crate::caller::{cross, link, mbit};

/// The arrivals and drops at the queue, and the deliveries behind the link, of data packets.
#[derive(Default)]
struct Log {
    arrived: Vec<(Time, SimplePacket)>,
    dropped: [u64; Reason::COUNT],
    delivered: Vec<(Time, u64, u64)>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        match event.queue_event {
            QueueEvent::Arrived if event.link == 0 => {
                // The simulator's key tells the two directions of a flow apart.
                let packet = SimplePacket::new(u64::from(event.flow) * 2, event.bytes).with_id(event.seq.into());
                self.arrived.push((event.at, SimplePacket { ecn_capable: event.ecn_capable, ..packet }));
            }
            QueueEvent::Dropped(reason) if event.link == 0 => self.dropped[reason.index()] += 1,
            _ => {}
        }
    }

    fn delivered(&mut self, at: Time, flow: u32, seq: u32) {
        self.delivered.push((at, u64::from(flow) * 2, seq.into()));
    }
}

/// Returns 20 s of a link at 8 Mbit/s with 10 ms of delay between 8 downloads, half of them with ECN, and a flood of
/// 10 Mbit/s. All stop so early that the queue is empty at the end.
fn scenario(queue: &str, wire: &str) -> Scenario {
    let scenario = Document::parse("link.toml", &text(queue, wire)).and_then(|document| document.scenario());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn text(queue: &str, wire: &str) -> String {
    format!(
        r#"
        duration = "20s"
        [[links]]
        name = "link"
        from = "a"
        to = "b"
        queue = {queue}
        {wire}
        [[flows]]
        name = "ftp"
        kind = "tcp"
        stop = "15s"
        count = 4
        from = "a"
        to = "b"
        [[flows]]
        name = "ecn"
        kind = "tcp"
        stop = "15s"
        tcp = {{ ecn = true }}
        count = 4
        from = "a"
        to = "b"
        [[flows]]
        name = "flood"
        kind = "udp"
        source = "poisson"
        rate = "10mbit"
        start = "10s"
        stop = "15s"
        from = "a"
        to = "b"
        "#
    )
}

const PLAIN: &str = "rate = \"8mbit\"\ndelay = \"10ms\"";

/// Would catch any difference in what a discipline is told and when: its arrivals, its times of departure, the rate,
/// the order of events at the same time. The simulator and this crate share the disciplines and nothing else here.
#[test]
fn the_same_arrivals_have_the_same_drops_and_deliveries() {
    for queue in [
        r#"{ kind = "droptail" }"#,
        r#"{ kind = "red", ecn = true }"#,
        r#"{ kind = "choke" }"#,
        r#"{ kind = "codel", ecn = true }"#,
        r#"{ kind = "fq-codel" }"#,
        r#"{ kind = "pie" }"#,
        r#"{ kind = "cake", bandwidth = "6mbit" }"#,
        r#"{ kind = "echo" }"#,
    ] {
        let (log, discipline) = simulated(&scenario(queue, PLAIN));
        let mut link = link(Config { delay: Duration::from_millis(10), ..Config::new(mbit(8)) }, discipline);
        let popped = cross(&mut link, log.arrived);
        let popped: Vec<_> = popped.iter().map(|(at, packet)| (*at, packet.flow, packet.id)).collect();
        assert_eq!(popped.iter().zip(&log.delivered).find(|(ours, theirs)| ours != theirs), None, "{queue}");
        assert!(popped.len() == log.delivered.len() && popped.len() > 10_000, "{queue}: {}", popped.len());
        let dropped = Reason::ALL.map(|reason| link.queue().counters().dropped(reason).packets);
        assert_eq!(dropped, log.dropped, "{queue}");
    }
}

/// Would catch another model of a wire than the simulator's, and other random numbers: each line of a scenario, from
/// the seed that the simulator gives it, delivers the same packets at the same nanoseconds.
#[test]
fn a_scenarios_line_is_that_of_the_simulator() {
    let rate = "rate = \"8mbit\"";
    for wire in [
        PLAIN.to_owned(),
        format!("{rate}\ndelay = \"10ms\"\njitter = \"4ms\""),
        format!("{rate}\ndelay = \"10ms\"\njitter = \"4ms\"\nreorder = true"),
        format!("{rate}\ndelay = \"10ms\"\nloss = 0.02"),
        format!("{rate}\ndelay = \"10ms\"\njitter = \"1ms\"\nloss = {{ p = 0.01, r = 0.25 }}"),
        format!("{rate}\ndelay = \"10ms\"\nloss = {{ steps = [[\"0s\", 0.0], [\"3s\", 0.05]], every = \"5s\" }}"),
        format!("{rate}\ndelay = {{ steps = [[\"0s\", \"10ms\"], [\"2s\", \"30ms\"]], every = \"3s\" }}"),
        "rate = { steps = [[\"0s\", \"8mbit\"], [\"2s\", \"2mbit\"], [\"3s\", \"0bit\"]], every = \"4s\" }\ndelay = \"10ms\"".to_owned(),
        format!("{rate}\ndelay = \"10ms\"\naggregation = {{ packets = 16, time = \"4ms\", access = \"500us\" }}"),
        format!("{rate}\ndelay = \"10ms\"\npolicer = {{ rate = \"6mbit\", burst = \"20kb\" }}"),
    ] {
        compare(&scenario(r#"{ kind = "codel", ecn = true }"#, &wire), &wire);
    }
}

/// The delivery opportunities of mahimahi: two or three in each millisecond of a trace of ten.
#[test]
fn opportunities_are_those_of_the_simulator() {
    let folder = std::env::temp_dir().join(format!("fairlane-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("link.trace"), "1\n2\n2\n4\n7\n7\n7\n10\n").unwrap();
    let file = folder.join("link.toml");
    let wire = "rate = { trace = \"link.trace\", opportunities = true }\ndelay = \"10ms\"";
    std::fs::write(&file, text(r#"{ kind = "droptail", limit = "100p" }"#, wire)).unwrap();
    let scenario = Document::open(&file).and_then(|document| document.scenario());
    compare(&scenario.unwrap_or_else(|error| panic!("{error}")), wire);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Compares the deliveries of a scenario's link, and the drops.
fn compare(scenario: &Scenario, wire: &str) {
    let (log, discipline) = simulated(scenario);
    let seed = Seed::new(scenario.seed).numbered(0).named("wire").named("link");
    let line = ScenarioLine::new(&scenario.links[0].forward, seed);
    let mut link = Bottleneck::with_line(discipline, line, Drops::default());
    let popped = cross(&mut link, log.arrived);
    let end = Time::from_nanos(20_000_000_000);
    let mut popped: Vec<_> =
        popped.iter().map(|(at, packet)| (*at, packet.flow, packet.id)).filter(|it| it.0 <= end).collect();
    // The simulator orders events at the same nanosecond by a hash.
    let mut delivered = log.delivered;
    popped.sort_unstable();
    delivered.sort_unstable();
    assert_eq!(popped.iter().zip(&delivered).find(|(ours, theirs)| ours != theirs), None, "{wire}");
    assert!(popped.len() == delivered.len() && popped.len() > 3_000, "{wire}: {}", popped.len());
    assert_eq!(link.observer().0, log.dropped, "{wire}");
}

/// The drops by reason.
#[derive(Default)]
struct Drops([u64; Reason::COUNT]);

impl LinkObserver<SimplePacket> for Drops {
    fn dropped(&mut self, _now: Time, _packet: SimplePacket, reason: Reason) {
        self.0[reason.index()] += 1;
    }
}

/// Simulates `scenario`. Returns what was logged at its link, and a new discipline of the link.
fn simulated(scenario: &Scenario) -> (Log, BoxQdisc<SimplePacket>) {
    let (mut log, mut seed) = (Log::default(), None);
    let host = |_: &str, host: &Host| {
        seed.get_or_insert(host.seed);
        None
    };
    run_with(scenario, 0, &Control::default(), &mut log, host).unwrap_or_else(|error| panic!("{error}"));
    let config = scenario.links[0].forward.queue.config();
    (log, config.build(seed.expect("a link")).expect("parameters in range"))
}
