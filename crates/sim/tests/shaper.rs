//! Shapers in front of links: where packets wait, the counts, and the view of controllers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fairlane_autorate::{Decision, Reason};
use fairlane_outcome::{QueueFlowRun, QueueRun, Run};
use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Host, Kind, Qdisc, QdiscParameters, Rate, Status, Time};
use fairlane_scenario::{Document, Scenario, Shaper};
use fairlane_sim::{Control, Fingerprint, Observer, Packet, PacketEvent, QueueEvent, run, run_with};

const CBR: &str = "[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nrate = \"2mbit\"\njitter = 0.5\n";
const UPLOAD: &str =
    "[tcp]\npreset = \"modern\"\n[[flows]]\nname = \"upload\"\nkind = \"tcp\"\ncount = 3\npacket = \"1500b\"\n";

fn scenario(seconds: u32, link: &str, traffic: &str) -> Scenario {
    let access = "[access]\nrate = \"10mbit\"\n";
    let text = format!("duration = \"{seconds}s\"\n[bottleneck]\ndelay = \"5ms\"\n{link}\n{access}{traffic}");
    let scenario = Document::parse("shaper.toml", &text).and_then(|document| document.scenario());
    scenario.unwrap_or_else(|error| panic!("{error}"))
}

fn simulate(scenario: &Scenario) -> Run {
    run(scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

fn sum(queue: &QueueRun, count: fn(&QueueFlowRun) -> u64) -> u64 {
    queue.flows.iter().map(count).sum()
}

fn total_dropped(flow: &QueueFlowRun) -> u64 {
    flow.dropped.iter().sum()
}

fn delays(queue: &QueueRun) -> Vec<(u64, u64)> {
    queue.delay_ns.iter_recorded().map(|bin| (bin.value_iterated_to(), bin.count_at_value())).collect()
}

/// A shaper below the link's rate is a link of that rate, and the buffer stays empty. Would catch a shaper that adds a
/// transmission time, or departures that are counted at the wrong place.
#[test]
fn a_slow_shaper_is_the_link() {
    let queue = "queue = { kind = \"red\", limit = \"60p\", min = \"10p\", max = \"30p\" }";
    let alone = simulate(&scenario(30, &format!("rate = \"1mbit\"\n{queue}"), CBR));
    let shaped = simulate(&scenario(30, &format!("rate = \"10mbit\"\n{queue}\nshaper = {{ rate = \"1mbit\" }}"), CBR));
    let [link, whole, buffer] = [&alone.queues[0], &shaped.queues[0], &shaped.queues[1]];
    assert_eq!((whole.name.as_str(), buffer.name.as_str()), ("bottleneck", "bottleneck/buffer"));
    assert_eq!((whole.kind.as_ref(), buffer.kind.as_ref(), whole.rate_bps), ("red", "droptail", 10e6));
    assert_eq!((&link.flows, delays(link)), (&whole.flows, delays(whole)));
    assert!(sum(whole, total_dropped) > 1000);
    assert_eq!((buffer.delay_ns.max(), sum(buffer, total_dropped)), (0, 0));
    assert_eq!(sum(buffer, |flow| flow.arrived), sum(whole, |flow| flow.departed));
}

/// A shaper above the traffic's rate does nothing, and the buffer is the queue. Would catch a buffer of another size,
/// its drops missing in the whole queue, and delays that begin at the buffer.
#[test]
fn a_fast_shaper_leaves_the_queue_to_the_buffer() {
    let alone = simulate(&scenario(30, "rate = \"1mbit\"\nqueue = { kind = \"droptail\", limit = \"20p\" }", CBR));
    let shaper = "rate = \"1mbit\"\nqueue = { kind = \"red\", limit = \"60p\" }\nshaper = { rate = \"50mbit\", buffer = \"20p\" }";
    let shaped = simulate(&scenario(30, shaper, CBR));
    let [link, whole, buffer] = [&alone.queues[0], &shaped.queues[0], &shaped.queues[1]];
    for queue in [whole, buffer] {
        assert_eq!((&link.flows, delays(link)), (&queue.flows, delays(queue)), "{}", queue.name);
    }
    assert!(sum(whole, total_dropped) > 1000);
    assert_eq!(alone.flows[0].dropped, shaped.flows[0].dropped);
    let bytes = simulate(&scenario(30, &shaper.replace("20p", "20kb"), CBR));
    assert_eq!(delays(&bytes.queues[1]), delays(buffer), "20 packets of 1000 bytes");
}

/// 1.5 Mbit/s of arrivals at a shaper of 1.2 and a link of 1: of each second's packets 0.3 Mbit are dropped by the
/// discipline and 0.2 by the buffer, once both are full. Would catch packets that are counted twice or lost between the
/// two.
#[test]
fn both_parts_drop_what_they_cannot_hold() {
    let link = "rate = \"1mbit\"\nqueue = { kind = \"droptail\", limit = \"10p\" }\nshaper = { rate = \"1200kbit\", buffer = \"10p\" }";
    let traffic = "[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nrate = \"1500kbit\"\n";
    let run = simulate(&scenario(100, link, traffic));
    let [whole, buffer] = [&run.queues[0], &run.queues[1]];
    let near = |count: u64, expected: u64| assert!(count.abs_diff(expected) <= 40, "{count} {expected}");
    near(sum(whole, |flow| flow.arrived), 18_750);
    near(sum(buffer, |flow| flow.arrived), 15_000);
    near(sum(whole, |flow| flow.departed), 12_500);
    near(sum(buffer, total_dropped), 2_500);
    near(sum(whole, total_dropped), 6_250);
    assert_eq!(sum(whole, |flow| flow.departed), sum(buffer, |flow| flow.departed));
    // Little's law: 150 packets a second pass the discipline, and 125 the buffer.
    let delay = (whole.mean_packets - buffer.mean_packets) / 150.0 + buffer.mean_packets / 125.0;
    let measured = whole.delay_ns.mean() / 1e9;
    assert!((measured / delay - 1.0).abs() < 0.01, "{measured} {delay}");
    assert!((run.queues[0].mean_packets - 19.5).abs() < 0.6, "{}", run.queues[0].mean_packets);
}

/// Counts events at the queues, and keeps decisions.
#[derive(Default)]
struct Log {
    probes: BTreeMap<(u32, u32), (u64, u64)>,
    flows: u32,
    decisions: Vec<Decision>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        if event.flow < self.flows {
            return;
        }
        assert_eq!(event.bytes, 84);
        let (arrived, departed) = self.probes.entry((event.link, event.flow)).or_default();
        *arrived += u64::from(event.queue_event == QueueEvent::Arrived);
        *departed += u64::from(matches!(event.queue_event, QueueEvent::Departed { .. }));
    }
    fn delivered(&mut self, _at: Time, flow: u32, _seq: u32) {
        assert!(flow < self.flows, "a probe is no data");
    }
    fn decided(&mut self, link: u32, decision: &Decision) {
        assert_eq!(link, 0);
        self.decisions.push(*decision);
    }
}

/// Four flows of data, and then six of probes with a probe each 0.3 s. In 30 s each is sent 100 times, and crosses the
/// discipline (link 0), the buffer (2) and the way back (1). Would catch probes that skip a queue, are sent at another
/// rate or size, or count as data.
#[test]
fn probes_are_traffic_of_every_queue() {
    let shaper =
        "rate = \"10mbit\"\nqueue = { kind = \"fq-codel\" }\nshaper = { kind = \"autorate\", rate = \"8mbit\" }";
    let back = "[[flows]]\nname = \"back\"\nkind = \"udp\"\nrate = \"100kbit\"\nfrom = \"right\"\nto = \"left\"\n";
    let scenario = scenario(30, shaper, &format!("{UPLOAD}{back}"));
    let mut log = Log { flows: 4, ..Log::default() };
    let run = run(&scenario, 0, &Control::default(), &mut log).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(run.flows.len(), 4);
    for flow in 4..10 {
        for link in [0, 1, 2] {
            let (arrived, departed) = log.probes.get(&(link, flow)).copied().unwrap_or_default();
            assert!(
                (98..=100).contains(&arrived) && (98..=100).contains(&departed),
                "{link} {flow} {arrived} {departed}"
            );
        }
    }
    assert_eq!(log.probes.len(), 18);
    // Twenty observations of the traffic a second, and as many answers.
    assert!((1150..=1200).contains(&log.decisions.len()), "{}", log.decisions.len());
    for pair in log.decisions.windows(2) {
        assert!(pair[0].time <= pair[1].time && pair[0].rate == pair[1].previous);
    }
    assert!(log.decisions.iter().any(|decision| decision.reason == Reason::Raised));
}

/// Hands packets on, and keeps the rates that it is told.
struct Listener {
    inner: BoxQdisc<Packet>,
    told: Arc<Mutex<Vec<Rate>>>,
}

impl Qdisc<Packet> for Listener {
    fn enqueue(&mut self, now: Time, packet: Packet, sink: &mut dyn DropSink<Packet>) -> Fate {
        self.inner.enqueue(now, packet, sink)
    }
    fn dequeue(&mut self, now: Time, sink: &mut dyn DropSink<Packet>) -> Option<Packet> {
        self.inner.dequeue(now, sink)
    }
    fn status(&self) -> Status {
        self.inner.status()
    }
    fn counters(&self) -> &Counters {
        self.inner.counters()
    }
    fn link_rate(&mut self, rate: Rate) {
        self.told.lock().expect("nobody panics").push(rate);
    }
}

/// Would catch a discipline that is told too little or too much, or the link's rate instead of the shaper's.
#[test]
fn the_discipline_learns_every_rate() {
    let scenario = scenario(20, "rate = \"10mbit\"\nshaper = { kind = \"autorate\", rate = \"8mbit\" }", UPLOAD);
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut hosts = Vec::new();
    let custom = |link: &str, host: &Host| {
        hosts.push((link.to_owned(), host.rate));
        let inner = QdiscParameters::new(Kind::FqCodel).build(host).ok()?;
        let queue: BoxQdisc<Packet> = Box::new(Listener { inner, told: Arc::clone(&told) });
        (link == "bottleneck").then_some(("listener", queue))
    };
    let mut log = Log { flows: 3, ..Log::default() };
    run_with(&scenario, 0, &Control::default(), &mut log, custom).unwrap_or_else(|error| panic!("{error}"));
    let changes: Vec<Rate> = log.decisions.iter().filter(|it| it.changes()).map(|it| it.rate).collect();
    assert!(changes.len() > 20, "{changes:?}");
    assert_eq!(*told.lock().expect("nobody panics"), changes);
    let rate = |name: &str| hosts.iter().find(|(link, _)| link == name).map(|(_, rate)| rate.bits_per_second());
    assert_eq!([rate("bottleneck"), rate("bottleneck/buffer")], [Some(8_000_000), Some(10_000_000)]);
}

/// Shapers in both directions, in front of wires with loss, jitter and reordering, under traffic both ways. The engine
/// checks at the end of each run in debug builds that no packet is unaccounted for. Would catch a run that depends on
/// its observer.
#[test]
fn any_link_can_have_a_shaper() {
    let traffic = format!("{UPLOAD}[[flows]]\nname = \"download\"\nkind = \"tcp\"\nfrom = \"right\"\nto = \"left\"\n");
    for (index, kind) in ["droptail", "choke", "codel", "cake", "sfq", "drr"].into_iter().enumerate() {
        let shaper = "kind = \"autorate\", rate = \"4mbit\", buffer = \"30kb\"";
        let link = format!(
            "rate = {{ steps = [[\"0s\", \"5mbit\"], [\"2s\", \"1mbit\"], [\"3s\", \"0bit\"]], every = \"4s\" }}\nloss = 0.02\njitter = \"4ms\"\n\
             reorder = {}\nqueue = {{ kind = \"{kind}\" }}\nshaper = {{ {shaper} }}\n\
             reverse = {{ rate = \"3mbit\", loss = 0.05, queue = {{ kind = \"fq-codel\" }}, shaper = {{ {shaper} }} }}",
            index % 2 == 0,
        );
        let scenario = scenario(12, &link, &traffic);
        let print = |run_number| {
            let mut fingerprint = Fingerprint::default();
            let result = run(&scenario, run_number, &Control::default(), &mut fingerprint);
            (result.unwrap_or_else(|error| panic!("{error}")).flows, fingerprint.strict())
        };
        let (first, again, other) = (print(0), print(0), print(1));
        assert_eq!(first, again, "{kind}");
        assert_ne!(first.1, other.1, "{kind}");
        let result = simulate(&scenario);
        assert_eq!(result.flows, first.0, "{kind}");
        let names: Vec<&str> = result.queues.iter().map(|queue| queue.name.as_str()).collect();
        assert_eq!(
            names,
            ["bottleneck", "bottleneck/reverse", "bottleneck/buffer", "bottleneck/reverse/buffer"],
            "{kind}"
        );
        for part in [0, 1] {
            let [whole, buffer] = [&result.queues[part], &result.queues[part + 2]];
            for count in [|flow: &QueueFlowRun| flow.departed, |flow: &QueueFlowRun| flow.lost] {
                assert_eq!(sum(whole, count), sum(buffer, count), "{kind}");
            }
            let inside = sum(whole, |flow| flow.arrived) - sum(whole, |flow| flow.departed) - sum(whole, total_dropped);
            assert!(inside < 1100, "{kind}: {inside}");
            assert!(whole.delay_ns.mean() >= buffer.delay_ns.mean(), "{kind}");
        }
    }
}

/// Would catch counts of the warm-up in the whole queue, such as packets that arrived before and left after its end.
#[test]
fn the_warm_up_does_not_count() {
    let link = "rate = \"1mbit\"\nqueue = { kind = \"droptail\", limit = \"10p\" }\nshaper = { rate = \"1200kbit\", buffer = \"10p\" }";
    let mut scenario = scenario(100, link, "[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nrate = \"1500kbit\"\n");
    scenario.warmup = fairlane_qdisc::Duration::from_millis(20_000);
    let run = simulate(&scenario);
    let departed = sum(&run.queues[0], |flow| flow.departed);
    assert!(departed.abs_diff(10_000) <= 1, "{departed}");
    assert!((run.queues[0].mean_packets - 19.5).abs() < 0.6, "{}", run.queues[0].mean_packets);
}

/// Would catch a division by zero, and a controller that is left out without a word.
#[test]
fn shapers_that_a_program_made_are_checked() {
    let good = scenario(1, "rate = \"1mbit\"\nshaper = { kind = \"autorate\", rate = \"1mbit\" }", CBR);
    let refusal = |change: fn(&mut Shaper)| {
        let mut scenario = good.clone();
        scenario.links[0].forward.wire.shaper.as_mut().map(change);
        run(&scenario, 0, &Control::default(), &mut ()).map(drop).expect_err("it is refused").to_string()
    };
    assert_eq!(refusal(|shaper| shaper.rate = Rate::default()), "a link needs a rate above zero");
    assert_eq!(
        refusal(|shaper| shaper.autorate.min = Rate::default()),
        "the shaper of link \"bottleneck\": min: it must be greater than zero"
    );
}
