//! Disciplines of the caller: they are used at the links that the caller chooses, and nowhere else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use fairlane_qdisc::{
    BoxQdisc, Counters, DropSink, Duration, Fate, Host, Kind, Packet as _, Qdisc, QdiscParameters, Reason, Status, Time,
};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{Control, Fingerprint, Packet, run, run_with};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn scenario(queue: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let text = format!(
        r#"
        duration = "20s"
        warmup   = "2s"
        [bottleneck]
        rate  = "1mbit"
        delay = "1ms"
        queue = {queue}
        [access]
        rate  = "10mbit"
        delay = "1ms"
        [[flows]]
        name  = "ftp"
        kind  = "tcp"
        count = 8
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "2mbit"
    "#
    );
    Ok(Document::parse("test.toml", &text)?.scenario()?)
}

const CHOKE: &str = r#"{ kind = "choke", limit = "100p", min = "20p", max = "60p" }"#;
const DROPTAIL: &str = r#"{ kind = "droptail", limit = "100p" }"#;

/// The same discipline makes the same decisions whether the caller or the scenario provides it, since it has the same
/// seed. Would catch calls in another order or with other times.
#[test]
fn a_custom_discipline_equals_the_scenarios() -> Outcome {
    let control = Control::default();
    let (mut from_scenario, mut from_caller) = (Fingerprint::default(), Fingerprint::default());
    let named = run(&scenario(CHOKE)?, 0, &control, &mut from_scenario)?;
    let config = QdiscParameters::new(Kind::Choke).with("limit", "100p")?.with("min", "20p")?.with("max", "60p")?;
    let custom = |link: &str, host: &Host| {
        let built: Option<BoxQdisc<Packet>> = config.build(host).ok();
        built.filter(|_| link == "bottleneck").map(|queue| ("choke", queue))
    };
    let custom = run_with(&scenario(DROPTAIL)?, 0, &control, &mut from_caller, custom)?;
    assert_eq!(from_scenario, from_caller);
    assert_eq!(
        (named.queues[0].kind.clone(), named.queues[0].mean_packets),
        (custom.queues[0].kind.clone(), custom.queues[0].mean_packets)
    );
    assert!(named.queues[0].mean_packets > 1.0);
    Ok(())
}

/// Would catch a run without custom disciplines that differs from a plain one, and a direction of a link that is not
/// asked for or is asked for twice.
#[test]
fn every_link_is_asked_for_once() -> Outcome {
    let control = Control::default();
    let (mut plain, mut asked) = (Fingerprint::default(), Fingerprint::default());
    run(&scenario(CHOKE)?, 0, &control, &mut plain)?;
    let mut links = Vec::new();
    let none = |link: &str, _host: &Host| -> Option<(&'static str, BoxQdisc<Packet>)> {
        links.push(link.to_string());
        None
    };
    run_with(&scenario(CHOKE)?, 0, &control, &mut asked, none)?;
    assert_eq!(plain, asked);
    assert_eq!(links[..2], ["bottleneck", "bottleneck/reverse"]);
    let count = links.len();
    assert_eq!(count, 2 + 4 * 9);
    links.sort();
    links.dedup();
    assert_eq!(links.len(), count);
    Ok(())
}

/// When a discipline was asked for a packet, and when it had to be.
#[derive(Default)]
struct Calls {
    asked: BTreeSet<Time>,
    arrivals: BTreeSet<Time>,
    ready: BTreeSet<Time>,
    ends: BTreeSet<Time>,
}

/// Holds one packet, the newest, for 10 ms or for 1 ms in turn.
struct Newest {
    packet: Option<(Packet, Time)>,
    calls: Arc<Mutex<Calls>>,
    counters: Counters,
}

impl Qdisc<Packet> for Newest {
    fn enqueue(&mut self, now: Time, packet: Packet, sink: &mut dyn DropSink<Packet>) -> Fate {
        let ready = now + Duration::from_millis(if self.counters.arrived.packets.is_multiple_of(2) { 10 } else { 1 });
        self.counters.arrived.add(packet.bytes());
        if let Some((replaced, _)) = self.packet.replace((packet, ready)) {
            self.counters.count_drop(Reason::Limit, replaced.bytes());
            sink.dropped(now, replaced, Reason::Limit);
        }
        self.calls.lock().expect("no other thread").arrivals.insert(now);
        Fate::Queued
    }

    fn dequeue(&mut self, now: Time, _sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        let mut calls = self.calls.lock().expect("no other thread");
        calls.asked.insert(now);
        let (packet, ready) = self.packet.take_if(|(_, ready)| *ready <= now)?;
        calls.ready.insert(ready);
        self.counters.departed.add(packet.bytes());
        calls.ends.insert(now + Duration::from_nanos(800_000));
        Some(packet)
    }

    fn status(&self) -> Status {
        let mut status =
            Status::new(usize::from(self.packet.is_some()), self.packet.map_or(0, |(packet, _)| packet.bytes().into()));
        status.ready_at = self.packet.map(|(_, ready)| ready);
        status
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// A packet arrives each 5.5 ms: every second one replaces one that was held longer, whose time then passes without a
/// packet. Would catch a discipline that is asked late, or at a time that an earlier one has replaced.
#[test]
fn a_discipline_is_asked_when_it_is_ready() -> Outcome {
    for at in ["bottleneck", "cbr/0/sink"] {
        check_calls(at).map_err(|error| format!("{at}: {error}"))?;
    }
    Ok(())
}

/// Runs `Newest` at one link and checks when it was asked.
fn check_calls(at: &str) -> Outcome {
    let text = r#"
        duration = "1s"
        warmup = "0s"
        [bottleneck]
        rate  = "10mbit"
        delay = "1ms"
        queue = { kind = "droptail" }
        [access]
        rate  = "10mbit"
        delay = "1ms"
        [[flows]]
        name = "cbr"
        kind = "udp"
        packet = "1000b"
        rate = "1454545bit"
        start = "0s"
    "#;
    let scenario = Document::parse("test.toml", text)?.scenario()?;
    let calls = Arc::<Mutex<Calls>>::default();
    let custom = |link: &str, _host: &Host| -> Option<(&'static str, BoxQdisc<Packet>)> {
        let newest = Newest { packet: None, calls: calls.clone(), counters: Counters::default() };
        (link == at).then(|| ("newest", Box::new(newest) as BoxQdisc<Packet>))
    };
    run_with(&scenario, 0, &Control::default(), &mut (), custom)?;
    let calls = calls.lock().expect("no other thread");
    assert!(calls.ready.len() > 50 && calls.ready.is_subset(&calls.asked), "{at}: {:?}", calls.ready);
    let expected: BTreeSet<Time> =
        [&calls.arrivals, &calls.ready, &calls.ends].into_iter().flatten().copied().collect();
    let unasked: Vec<_> = calls.asked.difference(&expected).collect();
    assert!(unasked.is_empty(), "{at}: {unasked:?}");
    Ok(())
}
