//! The bottleneck of the simulator and this one, for the same arrivals.

use fairlane_link::Config;
use fairlane_qdisc::{Duration, Host, Qdisc, Reason, SimplePacket, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Observer, PacketEvent, QueueEvent, run_with};

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
fn scenario(queue: &str) -> Scenario {
    let text = format!(
        r#"
        duration = "20s"
        [[links]]
        from = "a"
        to = "b"
        rate = "8mbit"
        delay = "10ms"
        queue = {queue}
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
    );
    let scenario = Document::parse("link.toml", &text).and_then(|document| document.scenario());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

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
        let scenario = scenario(queue);
        let (mut log, mut seed) = (Log::default(), None);
        let host = |_: &str, host: &Host| {
            seed.get_or_insert(host.seed);
            None
        };
        run_with(&scenario, 0, &Control::default(), &mut log, host).unwrap_or_else(|error| panic!("{error}"));
        let config = scenario.links[0].forward.queue.config();
        let discipline = config.build(seed.expect("a link")).expect("parameters in range");
        let mut link = link(Config { delay: Duration::from_millis(10), ..Config::new(mbit(8)) }, discipline);
        let popped = cross(&mut link, log.arrived);
        let popped: Vec<_> = popped.iter().map(|(at, packet)| (*at, packet.flow, packet.id)).collect();
        assert_eq!(popped.iter().zip(&log.delivered).find(|(ours, theirs)| ours != theirs), None, "{queue}");
        assert!(popped.len() == log.delivered.len() && popped.len() > 10_000, "{queue}: {}", popped.len());
        let dropped = Reason::ALL.map(|reason| link.queue().counters().dropped(reason).packets);
        assert_eq!(dropped, log.dropped, "{queue}");
    }
}
