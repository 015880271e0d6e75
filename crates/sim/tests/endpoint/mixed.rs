//! Endpoints with other traffic, through disciplines that drop and mark.

use std::sync::{Arc, Mutex};

use fairlane_qdisc::{Seed, Time};
use fairlane_sim::endpoint::{Ecn, Pair};
use fairlane_sim::{Control, Fingerprint, Observer, PacketEvent, PacketKind, Undivided, run_endpoints, undivided};

use super::window::{Seen, Window, payload};
use super::{FIFO, ONE, run_one, scenario};

const OTHERS: &str = r#"
    [[flows]]
    name = "tcp"
    kind = "tcp"
    count = 3
    cc = "cubic"
    tcp = { preset = "modern" }
    [[flows]]
    name = "flood"
    kind = "udp"
    rate = "9mbit"
    [[flows]]
    name = "more"
    kind = "endpoint"
    count = 2
"#;

/// Returns windows of 30 datagrams, and adds what their receivers see to `seen`.
fn pairs(seen: &mut Vec<Arc<Mutex<Seen>>>) -> impl FnMut(&str, u32, Seed) -> Option<Pair> {
    move |group, index, _| {
        let salt = u64::from(index) + if group == "own" { 10 } else { 20 };
        let (pair, flow) = Window { salt, refills: true, ..Window::of(30) }.pair();
        seen.push(flow);
        Some(pair)
    }
}

/// Every datagram comes once and unchanged, or is counted as dropped, lost or on its way, through disciplines that drop
/// at both ends of the queue, a wire that loses, reorders and sends in frames, and a shaper. Would catch a payload that
/// is freed while its packet lives, or that another packet gets.
#[test]
fn payloads_are_those_that_were_sent() {
    let queues = [
        FIFO,
        r#"queue = { kind = "choke", limit = "100p", min = "10p", max = "30p" }"#,
        r#"queue = { kind = "fq-codel" }"#,
        r#"queue = { kind = "cake" }"#,
        r#"queue = { kind = "sfq-red" }"#,
        r#"loss = 0.1
           jitter = "9ms"
           reorder = true"#,
        r#"aggregation = { packets = 16, access = "2ms" }"#,
        r#"shaper = { rate = "5mbit" }"#,
        r#"reverse = { rate = "100kbit", queue = { kind = "fq-codel" }, loss = 0.2 }"#,
    ];
    for bottleneck in queues {
        let scenario = scenario(5, bottleneck, &format!("{ONE}\ncount = 2\n{OTHERS}"));
        let mut seen = Vec::new();
        let run = run_endpoints(&scenario, 0, &Control::default(), &mut (), pairs(&mut seen));
        let run = run.unwrap_or_else(|error| panic!("{bottleneck}: {error}"));
        let flows = run.flows.iter().filter(|flow| &*flow.kind == "endpoint");
        let (mut delivered, mut missing) = (0, 0);
        for (flow, seen) in flows.zip(&seen) {
            let seen = seen.lock().expect("nobody panicked");
            assert_eq!((seen.broken, seen.numbers.len() as u64), (0, flow.delivered), "{bottleneck}: {}", flow.name);
            assert!(flow.sent >= flow.delivered + flow.dropped + flow.lost, "{bottleneck}: {}", flow.name);
            delivered += flow.delivered;
            missing += flow.dropped + flow.lost;
        }
        assert!(delivered > 100, "{bottleneck}: {delivered}");
        assert!(missing > 0 || bottleneck.contains("reverse"), "{bottleneck}: nothing was lost");
    }
}

/// Would catch marks that do not reach the endpoint, marks on what is not ECN-capable, and an ECN field that changes on
/// the way. A queue of RED between 5 and 15 packets marks all ECN-capable packets that it would drop.
#[test]
fn marks_arrive() {
    let red = r#"queue = { kind = "red", limit = "100p", min = "5p", max = "15p", ecn = true }"#;
    let scenario = scenario(5, red, ONE);
    for (sent, capable) in [(Ecn::NotEct, false), (Ecn::Ect0, true), (Ecn::Ect1, true)] {
        let (pair, seen) = Window { ecn: sent, refills: !capable, ..Window::of(45) }.pair();
        let run = run_one(&scenario, pair).expect("it runs");
        let seen = seen.lock().expect("nobody panicked");
        let of = |wanted: Ecn| seen.arrivals.iter().filter(|(_, _, ecn)| *ecn == wanted).count() as u64;
        assert_eq!(of(sent) + of(Ecn::Ce), run.flows[0].delivered);
        assert_eq!(of(Ecn::Ce) > 0, capable, "{sent:?}");
        let marked = run.queues[0].flows[0].marked;
        assert!(of(Ecn::Ce) <= marked && marked <= of(Ecn::Ce) + 45, "{marked} were marked");
    }
}

/// Compares the payload that is shown with each packet of flow 0 with the one that was sent.
#[derive(Default)]
struct Payloads {
    shown: Option<Vec<u8>>,
    data: u64,
    answers: u64,
    others: u64,
}

impl Observer for Payloads {
    fn packet(&mut self, event: &PacketEvent) {
        let shown = self.shown.take();
        match (event.flow, event.kind) {
            (0, PacketKind::Data) => {
                assert_eq!(shown, Some(payload(10, u64::from(event.seq))), "{event:?}");
                self.data += 1;
            }
            (0, _) => {
                assert_eq!(shown.map(|shown| shown.len()), Some(8));
                self.answers += 1;
            }
            _ => {
                assert_eq!(shown, None);
                self.others += 1;
            }
        }
    }
    fn passed(&mut self, event: &PacketEvent) {
        self.packet(event);
    }
    fn payload(&mut self, payload: &[u8]) {
        self.shown = Some(payload.to_vec());
    }
    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

/// Would catch an observer that is shown the payload of another packet, none, or one of a packet of TCP, also where
/// SACK blocks and payloads follow each other in the same places.
#[test]
fn observers_are_shown_payloads() {
    let tcp = "[[flows]]\nname = \"tcp\"\nkind = \"tcp\"\ncount = 4\ntcp = { preset = \"modern\" }";
    let choke = r#"queue = { kind = "choke", limit = "60p", min = "5p", max = "30p" }"#;
    let scenario = scenario(5, choke, &format!("{ONE}\n{tcp}"));
    let mut payloads = Payloads::default();
    let mut seen = Vec::new();
    run_endpoints(&scenario, 0, &Control::default(), &mut payloads, pairs(&mut seen)).expect("it runs");
    assert!(payloads.data > 1000 && payloads.answers > 500 && payloads.others > 1000);
}

/// Would catch results that depend on threads or on memory: runs on three threads at once, and on one, are the same to
/// the last bit, and another run number gives another run.
#[test]
fn the_same_seed_gives_the_same_run() {
    let bottleneck = r#"queue = { kind = "choke", limit = "100p", min = "10p", max = "30p" }"#;
    let scenario = scenario(3, bottleneck, &format!("{ONE}\ncount = 2\n{OTHERS}"));
    let result = |number: u32| {
        let (mut seen, mut print) = (Vec::new(), Fingerprint::default());
        let run = run_endpoints(&scenario, number, &Control::default(), &mut print, pairs(&mut seen));
        (format!("{:?}", run.expect("it runs")), print.strict())
    };
    let alone = result(0);
    let together = std::thread::scope(|scope| {
        let threads = [0; 3].map(|number| scope.spawn(move || result(number)));
        threads.map(|thread| thread.join().expect("it ends"))
    });
    assert!(together.iter().all(|other| *other == alone));
    assert_ne!(result(1), alone);
    let reason = undivided(&scenario).expect("it can be built");
    assert_eq!(reason, Some(Undivided::Endpoints { group: "own".to_owned() }));
}
