//! A policer passes what a second meter passes, and delays nothing.

use fairlane_outcome::Run;
use fairlane_qdisc::{Reason, Time};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, PacketKind, QueueEvent, run};

/// The data packets at a link: the time of each arrival in ns, its bytes, and whether the policer dropped it.
#[derive(Default)]
struct Log {
    arrivals: Vec<(u64, u32, bool)>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        if event.link != 0 || event.kind != PacketKind::Data {
            return;
        }
        match event.queue_event {
            QueueEvent::Arrived => self.arrivals.push((event.at.as_nanos(), event.bytes, false)),
            QueueEvent::Dropped(Reason::Policed) => self.arrivals.last_mut().expect("it has arrived").2 = true,
            _ => {}
        }
    }

    fn delivered(&mut self, _at: Time, _flow: u32, _seq: u32) {}
}

fn observe(text: &str, log: &mut Log) -> Run {
    let scenario = Document::parse("policer.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), log).unwrap_or_else(|error| panic!("{error}"))
}

/// The generic cell rate algorithm as virtual scheduling (ITU-T I.371, annex A), for bytes: a packet conforms if the
/// theoretical arrival time is at most the time that the rest of the bucket takes ahead. Times are in ns at 8 Mbit/s,
/// at which a byte takes 1000, so all are whole numbers.
fn conforming(arrivals: &[(u64, u32, bool)], burst: u64) -> Vec<bool> {
    let mut theoretical = 0;
    let each = arrivals.iter().map(|(at, bytes, _)| {
        let start = u64::max(theoretical, *at);
        let conforms = start + 1000 * u64::from(*bytes) <= at + 1000 * burst;
        if conforms {
            theoretical = start + 1000 * u64::from(*bytes);
        }
        conforms
    });
    each.collect()
}

/// Asserts that no interval passes more than the rate times its length plus the burst: with S the bytes passed, the
/// most of S(t) − t/1000 after the least of it before.
fn is_within_rate_and_burst(arrivals: &[(u64, u32, bool)], burst: i128) {
    let (mut passed, mut least) = (0, i128::MAX);
    for (at, bytes, dropped) in arrivals {
        least = least.min(1000 * passed - i128::from(*at));
        passed += if *dropped { 0 } else { i128::from(*bytes) };
        assert!(1000 * passed - i128::from(*at) - least <= 1000 * burst, "at {at} ns");
    }
}

const POLICED: &str = "policer = { rate = \"8mbit\", burst = \"20kb\" }";

/// Would catch tokens that are lost or created, a bucket that is empty at the start, and packets that are dropped for
/// another reason or counted twice.
#[test]
fn it_passes_what_a_second_meter_passes() {
    let traffic = [
        ("steady", "kind = \"udp\"\nrate = \"12mbit\"\npacket = \"1000b\""),
        ("sparse", "kind = \"udp\"\nrate = \"7mbit\"\npacket = \"1000b\""),
        (
            "bursts",
            "kind = \"udp\"\nrate = \"90mbit\"\nsource = \"pareto\"\non = \"5ms\"\noff = \"40ms\"\npacket = \"700b\"",
        ),
        ("window", "kind = \"tcp\"\ncc = \"cubic\"\npacket = \"1500b\"\ncount = 3"),
    ];
    for (name, keys) in traffic {
        let group = format!("[[flows]]\nname = \"{name}\"\n{keys}\n");
        let text = format!("duration = \"20s\"\n[bottleneck]\nrate = \"100mbit\"\n{POLICED}\n{group}");
        let mut log = Log::default();
        let run = observe(&text, &mut log);
        let passes: Vec<bool> = log.arrivals.iter().map(|(.., dropped)| !dropped).collect();
        assert!(passes.len() > 3000 && passes == conforming(&log.arrivals, 20_000), "{name}");
        is_within_rate_and_burst(&log.arrivals, 20_000);
        let dropped = passes.iter().filter(|passes| !**passes).count() as u64;
        assert_eq!(dropped == 0, name == "sparse", "{name}: {dropped}");
        let policed: u64 = run.queues[0].flows.iter().map(|flow| flow.dropped[Reason::Policed.index()]).sum();
        let all: u64 = run.flows.iter().map(|flow| flow.dropped).sum();
        assert_eq!((policed, all), (dropped, dropped), "{name}");
    }
}

/// By hand: 12 Mbit/s of 1000 bytes are 1500 packets a second. In 20 s a bucket of 20 kB at 8 Mbit/s passes
/// 20 · 1000 + 20 of them, less the tokens that no whole packet remains for. None waits longer than without a policer.
#[test]
fn a_steady_flow_gets_the_rate_and_one_burst() {
    let text = |policer: &str, rate: &str| {
        let group = format!("name = \"cbr\"\nkind = \"udp\"\npacket = \"1000b\"\nstart = \"0s\"\nrate = \"{rate}\"");
        format!("duration = \"20s\"\n[bottleneck]\nrate = \"100mbit\"\n{policer}\n[[flows]]\n{group}\n")
    };
    let policed = observe(&text(POLICED, "12mbit"), &mut Log::default());
    let departed = policed.queues[0].flows[0].departed;
    assert!((20_018..=20_020).contains(&departed), "{departed}");
    let free = observe(&text("", "12mbit"), &mut Log::default());
    let delays =
        [&policed, &free].map(|run| run.flows[0].path.as_ref().map(|path| path.delay_ns / run.flows[0].delivered));
    assert_eq!(delays[0], delays[1]);
    // What conforms is untouched, packet by packet.
    let sparse = [POLICED, ""].map(|policer| observe(&text(policer, "7mbit"), &mut Log::default()));
    assert_eq!(sparse[0].flows, sparse[1].flows);
}

/// Would catch a policer that counts for the buffer behind a shaper, or for the other direction, too.
#[test]
fn it_is_in_front_of_the_queue_of_its_direction() {
    let text = |link: &str| {
        let group = "[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\npacket = \"1000b\"\nwindow = 500";
        format!("duration = \"20s\"\n[bottleneck]\nrate = \"20mbit\"\n{link}\n{group}\n")
    };
    let mut log = Log::default();
    let shaped = observe(&text(&format!("{POLICED}\nshaper = {{ rate = \"6mbit\" }}")), &mut log);
    assert_eq!(
        log.arrivals.iter().map(|(.., dropped)| !dropped).collect::<Vec<_>>(),
        conforming(&log.arrivals, 20_000)
    );
    assert!(shaped.flows[0].delivered > 10_000);
    let reverse = "reverse = { policer = { rate = \"10kbit\", burst = \"100b\" } }";
    let reverse = observe(&text(reverse), &mut Log::default());
    let flow = |queue: &str| {
        let queue = reverse.queues.iter().find(|other| &*other.name == queue).expect("the queue");
        &queue.flows[0]
    };
    assert_eq!(flow("bottleneck").dropped[Reason::Policed.index()], 0);
    // 25,100 bytes pass, and an acknowledgement has 40.
    let acks = flow("bottleneck/reverse");
    assert!(acks.dropped[Reason::Policed.index()] > 100 && acks.departed <= 627, "{acks:?}");
}
