//! The lab on this machine: its link, its delays, the scenarios that it rejects, and what it leaves behind.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairlane_lab::{Checks, IpVersion, Lab, LabError, LabSample, Measured};
use fairlane_outcome::Run;
use fairlane_scenario::{Document, Scenario};
use skip::Watch;

/// Labs share the processors, so they run one at a time.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn scenario(text: &str) -> Scenario {
    Document::parse("lab.toml", text).unwrap().scenario().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the lab for `text`; `None`, with a message, if this machine cannot run it.
fn lab(text: &str) -> Option<Lab> {
    match Lab::new(&scenario(text), IpVersion::V4) {
        Ok(lab) => Some(lab),
        Err(error) => {
            let requirement = match &error {
                LabError::NotPermitted(_) => "userns",
                LabError::NoTool("ip", _) => "ip",
                _ => panic!("{error}"),
            };
            skip::because(requirement, error.to_string());
            None
        }
    }
}

/// The checks that fail on a busy machine.
const OF_TIME: [&str; 5] = [
    "UDP sent at its rate",
    "TCP short of send buffer",
    "packets dropped outside of the queue",
    "packets late by",
    "shortest round trip",
];

/// The time without a processor for which the machine is busy.
const BUSY: Duration = Duration::from_millis(10);

/// Runs the lab, up to three times; `None`, with a message, if the machine was too busy each time, as seen from outside
/// of the lab. These runs are in real time: the tests of disciplines on Linux run in guests.
fn run(lab: &Lab) -> Option<Measured> {
    run_until(lab, f64::INFINITY, &|| false)
}

/// As [`run`], until `stopped`, for a test that needs each packet to leave within `pause` milliseconds of its time.
fn run_until(lab: &Lab, pause: f64, stopped: &dyn Fn() -> bool) -> Option<Measured> {
    for _ in 0..3 {
        let watch = Watch::start(|_| true);
        let result = lab.run(0, stopped);
        let waited = watch.end().longest;
        let wrong = match result {
            Ok(measured) => {
                let late = longest_delay(&measured.checks);
                if late <= pause {
                    return Some(measured);
                }
                format!("a packet was late by {late} ms")
            }
            // What else fails where the machine was too busy may follow from that.
            Err(LabError::NotTheBottleneck(checks)) => {
                let of_time = checks.all().iter().any(|check| !check.holds && OF_TIME.contains(&&*check.what));
                assert!(of_time, "{}", checks.failed());
                checks.failed()
            }
            Err(error) => panic!("{error}"),
        };
        assert!(waited > BUSY, "{wrong}; nobody waited for a processor for more than {waited:?}");
        eprintln!("too busy, {waited:?} without a processor: {wrong}");
    }
    skip::because("quiet", "this machine is too busy for a lab in real time");
    None
}

/// The longest time in milliseconds by which a packet left too late.
fn longest_delay(checks: &Checks) -> f64 {
    let check = checks.all().iter().find(|check| check.what == "packets late by").unwrap();
    let text = check.found.split(", ").nth(1).and_then(|text| text.strip_suffix(" ms at most"));
    text.unwrap_or_else(|| panic!("{check:?}")).parse().unwrap()
}

/// UDP at twice the rate of a link of 10 Mbit/s.
const UDP: &str = r#"
duration = "12s"
warmup = "2s"
[bottleneck]
rate = "10mbit"
delay = "5ms"
queue = { kind = "droptail", limit = "100p" }
[access]
rate = "100mbit"
delay = "1ms"
[[flows]]
name = "cbr"
kind = "udp"
rate = "20mbit"
"#;

/// By the receiver's clock, over ten seconds, the link has its rate within a percent, half of the packets are dropped,
/// and packets wait for the time of a full queue: 100 packets of 8000 bits at 10 Mbit/s, 80 ms, apart from the arriving
/// packet and pauses of the machine.
#[test]
fn the_link_has_its_rate() {
    let _turn = turn();
    let Some(lab) = lab(UDP) else { return };
    // The queue never empties, so the link loses what it stands still: half a percent of ten seconds.
    let Some(Measured { run, .. }) = run_until(&lab, 50.0, &|| false) else { return };
    let (flow, queue) = (&run.flows[0], &run.queues[0]);
    let received = flow.unique_bytes as f64 * 8.0 / (run.to_s - run.from_s);
    eprintln!("received {received:.0} bit/s");
    assert!((received / 10e6 - 1.0).abs() < 0.01, "{received}");
    assert!((flow.dropped as f64 / flow.sent as f64 - 0.5).abs() < 0.02, "{flow:?}");
    let waited = queue.delay_ns.mean() / 1e9;
    assert!((0.075..=0.081).contains(&waited), "{waited}");
    assert!((95.0..=100.0).contains(&queue.mean_packets), "{}", queue.mean_packets);
    assert_eq!((&*run.engine, run.partial, run.from_s, run.to_s), ("linux", false, 2.0, 12.0));
}

/// A TCP flow that only its window limits has the rate window / round trip, with 60 ms of delay in both directions
/// together. Would catch packets of another size, and a loss.
#[test]
fn a_window_and_a_round_trip_make_a_rate() {
    let _turn = turn();
    let text = r#"
duration = "4s"
warmup = "1s"
[bottleneck]
rate = "100mbit"
delay = "20ms"
queue = { kind = "droptail", limit = "1000p" }
[access]
rate = "100mbit"
delay = "5ms"
[[flows]]
name = "small"
kind = "tcp"
packet = "500b"
cc = "cubic"
window = 10
[[flows]]
name = "large"
kind = "tcp"
packet = "1500b"
window = 20
"#;
    let Some(lab) = lab(text) else { return };
    let every = fairlane_qdisc::Duration::from_millis(250);
    let Some(Measured { run, checks, samples }) = run(&lab.sampled(every)) else { return };
    add_up(&run, &samples);
    let largest = checks.all().iter().find(|check| check.what == "largest packet").unwrap();
    assert_eq!(largest.found, "1500 bytes");
    // Transmission and wake-ups take a part, and the kernel rounds a window down to its scale.
    for (flow, packets, bytes) in [(&run.flows[0], 10.0, 500.0), (&run.flows[1], 20.0, 1500.0)] {
        let rate = flow.unique_bytes as f64 * 8.0 / (run.to_s - run.from_s);
        let expected = packets * bytes * 8.0 / 0.060;
        eprintln!("{}: {rate:.0} bit/s of {expected:.0}", flow.name);
        assert!((0.85..=1.0).contains(&(rate / expected)), "{}: {rate} instead of {expected}", flow.name);
        assert_eq!((flow.dropped, flow.retransmitted, flow.timeouts), (0, 0, 0), "{flow:?}");
    }
}

/// 4 s in steps of 250 ms, the first four of which are the warm-up. The queue's samples are exact; senders and
/// receivers take theirs when they are woken, while packets are in flight.
fn add_up(run: &Run, samples: &[LabSample]) {
    let millis: Vec<u64> = samples.iter().map(|moment| moment.at.as_nanos() / 1_000_000).collect();
    assert_eq!(millis, (1..=16).map(|number| 250 * number).collect::<Vec<_>>());
    let (from, to) = (&samples[3], &samples[15]);
    let departed: u64 = run.queues[0].flows.iter().map(|flow| flow.departed).sum();
    assert_eq!(to.queues[0].departed.packets - from.queues[0].departed.packets, departed);
    assert_eq!(to.queues[0].arrived.packets - to.queues[0].departed.packets, to.queues[0].backlog.packets);
    for (id, flow) in run.flows.iter().enumerate() {
        let (from, to) = (&from.flows[id], &to.flows[id]);
        assert!((to.delivered - from.delivered).abs_diff(flow.delivered) < 10, "{from:?} {to:?} {flow:?}");
        assert!((to.sent - from.sent).abs_diff(flow.sent) < 10, "{from:?} {to:?} {flow:?}");
        assert_eq!(to.delivered_bytes, to.delivered * [500, 1500][id], "{to:?}");
        let bytes = (to.unique_bytes - from.unique_bytes).abs_diff(flow.unique_bytes);
        assert!(bytes < 10 * 1500, "{from:?} {to:?} {flow:?}");
        // The links' delays add up to 60 ms, and TCP begins with ten packets.
        let srtt = to.srtt.unwrap().as_secs();
        assert!((0.060..0.120).contains(&srtt) && to.cwnd >= Some(10.0), "{to:?}");
    }
}

/// A TCP flow that stops discards the data that it has not sent. A window of 50 packets fills the link without a loss:
/// two seconds of sending at 10 Mbit/s, and in the four seconds after it only packets that were in the queue. Would
/// catch data sent after the stop, and segments that are no longer counted.
#[test]
fn a_flow_that_stops_sends_nothing() {
    let _turn = turn();
    let text = UDP
        .replace("12s", "6s")
        .replace("\"2s\"", "\"0s\"")
        .replace("kind = \"udp\"\nrate = \"20mbit\"", "kind = \"tcp\"\nwindow = 50\nstart = \"0s\"\nstop = \"2s\"");
    let Some(lab) = lab(&text) else { return };
    let Some(Measured { run, .. }) = run(&lab) else { return };
    let (flow, queue) = (&run.flows[0], &run.queues[0].flows[0]);
    let seconds = queue.departed_bytes as f64 * 8.0 / 10e6;
    eprintln!("{seconds:.2} s of sending, {} of {} packets arrived", flow.delivered, flow.sent);
    assert!((1.8..=2.0 + 0.08).contains(&seconds), "{seconds}");
    // The rest are resets, one for each acknowledgement that arrives after the connection was closed.
    assert_eq!(flow.sent, flow.delivered, "{flow:?}");
    assert!(queue.departed - flow.delivered < 100, "{queue:?}");
}

/// A TCP flow whose window of 50 packets fills the link, from 0 to 1 s and from 3 to 4 s, and UDP of 100 packets a
/// second from 1.5 to 2 s and from 4.5 to 5 s. TCP sends in each second what the link carries, but for a handshake and
/// slow start, some round trips of 12 to 40 ms. Would catch a phase that is left out, one that does not end, counts of
/// a connection before that are lost, and a phase of UDP that begins with the packets of the pause.
#[test]
fn each_phase_is_a_connection() {
    let _turn = turn();
    let tcp = "name = \"tcp\"\nkind = \"tcp\"\nwindow = 50\nphases = [[\"0s\", \"1s\"], [\"3s\", \"4s\"]]";
    let udp =
        "name = \"cbr\"\nkind = \"udp\"\nrate = \"800kbit\"\nphases = [[\"1500ms\", \"2s\"], [\"4500ms\", \"5s\"]]";
    let text = UDP
        .replace("12s", "6s")
        .replace("\"2s\"", "\"0s\"")
        .replace("name = \"cbr\"\nkind = \"udp\"\nrate = \"20mbit\"", &format!("{tcp}\n[[flows]]\n{udp}"));
    let Some(lab) = lab(&text) else { return };
    let Some(Measured { run, .. }) = run(&lab) else { return };
    let (tcp, queue, udp) = (&run.flows[0], &run.queues[0].flows[0], &run.flows[1]);
    let seconds = queue.departed_bytes as f64 * 8.0 / 10e6;
    eprintln!("{seconds:.2} s of sending, {} of {} packets arrived, {} of UDP", tcp.delivered, tcp.sent, udp.sent);
    assert!((1.6..=2.0 + 0.16).contains(&seconds), "{seconds}");
    assert_eq!(tcp.sent, tcp.delivered, "{tcp:?}");
    assert!((99..=102).contains(&udp.sent), "{udp:?}");
    assert_eq!(udp.sent, udp.delivered, "{udp:?}");
}

/// Would catch hosts with ECN whose packets are dropped instead of marked, and hosts without ECN whose packets are
/// marked.
#[test]
fn hosts_ask_for_ecn_or_do_not() {
    let _turn = turn();
    let red = "kind = \"red\", limit = \"300p\", min = \"5p\", max = \"200p\", weight = 0.02, ecn = true";
    let text = UDP
        .replace("12s", "3s")
        .replace("\"2s\"", "\"1s\"")
        .replace("kind = \"droptail\", limit = \"100p\"", red)
        .replace("kind = \"udp\"\nrate = \"20mbit\"", "kind = \"tcp\"\ncount = 4");
    for (ecn, line) in [(true, "tcp.ecn = true\n"), (false, "")] {
        let Some(lab) = lab(&(text.clone() + line)) else { return };
        let Some(Measured { run, .. }) = run(&lab) else { return };
        let queue = &run.queues[0];
        let marked: u64 = queue.flows.iter().map(|flow| flow.marked).sum();
        let dropped: u64 = queue.flows.iter().flat_map(|flow| &flow.dropped).sum();
        eprintln!("ECN {ecn}: {marked} marked, {dropped} dropped");
        assert_eq!((marked > 0, dropped > 0), (ecn, !ecn), "{marked} marked, {dropped} dropped");
    }
}

/// Returns the network namespaces of the threads of this process.
fn namespaces() -> BTreeSet<PathBuf> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    threads.filter_map(|thread| fs::read_link(thread.path().join("ns/net")).ok()).collect()
}

/// Would catch a thread that goes on, and a run that is not cut when it is stopped: the results so far are returned.
#[test]
fn a_stopped_run_is_partial_and_leaves_nothing() {
    let _turn = turn();
    let text = UDP.replace("12s", "600s").replace("\"2s\"", "\"0s\"");
    let Some(lab) = lab(&text) else { return };
    assert_eq!(namespaces().len(), 1);
    let looks = std::cell::Cell::new(0);
    let stopped = || {
        looks.set(looks.get() + 1);
        assert_eq!(namespaces().len(), 4);
        looks.get() % 31 == 0
    };
    let Some(Measured { run, .. }) = run_until(&lab, f64::INFINITY, &stopped) else { return };
    assert!(run.partial && run.to_s > 0.0 && run.to_s < 60.0, "{}", run.to_s);
    // Before the end of the warm-up there are no results.
    let warming = Lab::new(&scenario(UDP), IpVersion::V4).unwrap();
    assert!(matches!(warming.run(0, &|| true), Err(LabError::Interrupted)));
    assert_eq!(namespaces().len(), 1);
}

/// Scenarios that the lab does not support are rejected by their key, for every user, before anything is created.
#[test]
fn unsupported_scenarios_are_rejected() {
    let _turn = turn();
    let text = r#"
duration = "4s"
[bottleneck]
rate = "10mbit"
queue = { kind = "choke", limit = "300p", min = "100p", max = "200p" }
[[flows]]
name = "ftp"
kind = "tcp"
[[flows]]
name = "cbr"
kind = "udp"
rate = "1mbit"
"#;
    let cases = [
        ("bottleneck.rate", "10gbit", "bottleneck.rate"),
        ("flows.cbr.rate", "10gbit", "flows.cbr.rate"),
        ("access.queue.kind", "red", "access.queue"),
        ("flows.ftp.cc", "tahoe", "flows.ftp.cc"),
        ("flows.ftp.packet", "100b", "flows.ftp.packet"),
        ("flows.ftp.count", "1001", "flows"),
        ("flows.cbr.packet", "20b", "flows.cbr.packet"),
    ];
    for (key, value, named) in cases {
        let mut document = Document::parse("lab.toml", text).unwrap();
        document.set(key, value).unwrap();
        let scenario = document.scenario().unwrap_or_else(|error| panic!("{error}"));
        match Lab::new(&scenario, IpVersion::V4) {
            Err(LabError::Scenario(cannot)) => assert_eq!(cannot.key, named, "{cannot}"),
            Err(LabError::NotPermitted(_) | LabError::NoTool(..)) if key == "flows.ftp.cc" => {}
            other => panic!("{key}: {other:?}"),
        }
    }
    // TCP fills the link once, with any number of groups: 75,000 packets per second, and not twice as many.
    let two = text.replace("kind = \"udp\"\nrate = \"1mbit\"", "kind = \"tcp\"").replace("10mbit", "600mbit");
    assert!(!matches!(Lab::new(&scenario(&two), IpVersion::V4), Err(LabError::Scenario(_))));
    // In both directions it fills it twice.
    let back = two.replace("name = \"cbr\"", "name = \"cbr\"\nfrom = \"right\"\nto = \"left\"");
    match Lab::new(&scenario(&back), IpVersion::V4) {
        Err(LabError::Scenario(cannot)) => assert_eq!(cannot.key, "bottleneck.rate", "{cannot}"),
        other => panic!("{other:?}"),
    }
    let tfrc = text.replace("\"udp\"", "\"tfrc\"");
    match Lab::new(&scenario(&tfrc), IpVersion::V4) {
        Err(LabError::Scenario(cannot)) => assert_eq!(cannot.key, "flows.cbr.kind"),
        other => panic!("{other:?}"),
    }
}
