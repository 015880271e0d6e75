//! Loss, jitter and varying rates compared with their distributions; they change nothing else.

use std::collections::BTreeMap;

use fairlane_outcome::Run;
use fairlane_scenario::Document;
use fairlane_sim::{Control, Fingerprint, Observer, PacketEvent, PacketKind, QueueEvent, run};

/// The packets of one flow by sequence number: departures with their times, losses, and deliveries with their times.
#[derive(Default)]
struct Log {
    departed: BTreeMap<u32, u64>,
    lost: Vec<u32>,
    delivered: Vec<(u32, u64)>,
}

impl Observer for Log {
    fn packet(&mut self, event: &PacketEvent) {
        if event.kind == PacketKind::Ack {
            return;
        }
        match event.queue_event {
            QueueEvent::Departed { .. } => {
                self.departed.insert(event.seq, event.at.as_nanos());
            }
            QueueEvent::Lost => self.lost.push(event.seq),
            _ => {}
        }
    }
    fn delivered(&mut self, at: fairlane_qdisc::Time, _flow: u32, seq: u32) {
        self.delivered.push((seq, at.as_nanos()));
    }
}

/// Runs a link with the keys `link` and a UDP flow of `rate`, without host links.
fn simulate(link: &str, rate: &str, seconds: u32) -> (Run, Log) {
    let text = format!(
        r#"
        duration = "{seconds}s"
        [[links]]
        from = "a"
        to = "b"
        queue = {{ kind = "droptail", limit = "5p" }}
        {link}
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "{rate}"
        packet = "125b"
        start = "0s"
        from = "a"
        to = "b"
        "#
    );
    let mut log = Log::default();
    (observe(&text, &mut log), log)
}

fn observe(text: &str, observer: &mut impl Observer) -> Run {
    let scenario = Document::parse("impairments.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    run(&scenario, 0, &Control::default(), observer).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns true if `count` of `all` is within five standard deviations of the probability `p` for independent events.
fn near(count: usize, all: usize, p: f64) -> bool {
    let (count, all) = (count as f64, all as f64);
    (count - all * p).abs() < 5.0 * (all * p * (1.0 - p)).sqrt() + 1e-9
}

/// Would catch losses that are counted as drops or not at all, and a wrong probability.
#[test]
fn independent_loss_is_binomial_and_counted_separately() {
    let (run, log) = simulate("rate = \"10mbit\"\nloss = 0.03", "1mbit", 60);
    let (queue, flow) = (&run.queues[0].flows[0], &run.flows[0]);
    assert_eq!((queue.dropped.iter().sum::<u64>(), flow.dropped), (0, 0));
    assert_eq!((queue.lost, flow.lost, log.lost.len() as u64), (flow.lost, queue.lost, flow.lost));
    assert_eq!((queue.departed, log.departed.len() as u64), (flow.sent, flow.sent));
    let in_flight = flow.sent - flow.delivered - flow.lost;
    assert!(in_flight <= 2, "a packet a millisecond takes 1.1 ms");
    assert!(near(log.lost.len(), log.departed.len(), 0.03), "{} of {}", flow.lost, flow.sent);
    // Losses are independent: two neighbours are lost with probability 0.03².
    let pairs = log.lost.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    assert!(near(pairs, log.departed.len(), 0.0009), "{pairs}");
    assert!(log.lost.iter().all(|seq| log.delivered.binary_search_by_key(seq, |(seq, _)| *seq).is_err()));
}

/// The Gilbert chain: the bad state lasts 1/r packets on average and has probability p/(p + r). `1-h` and `1-k` are the
/// loss probabilities of the states (Elliott 1963). Would catch wrong transitions and wrong loss probabilities.
#[test]
fn bursts_are_those_of_the_chain() {
    let (_, log) = simulate("rate = \"10mbit\"\nloss = { p = 0.01, r = 0.2 }", "1mbit", 120);
    let (lost, sent) = (log.lost.len() as f64, log.departed.len() as f64);
    let bursts = 1 + log.lost.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
    // The length of a burst is geometric: its standard deviation is sqrt(1 - r)/r, 4.5 packets.
    let mean = lost / bursts as f64;
    assert!((mean - 5.0).abs() < 5.0 * 4.5 / (bursts as f64).sqrt(), "{mean} packets a burst");
    // Bursts begin from good packets with p.
    assert!(near(bursts, (sent - lost) as usize, 0.01), "{bursts} bursts");
    let (_, log) = simulate("rate = \"10mbit\"\nloss = { p = 0.5, r = 0.5, 1-h = 0.8, 1-k = 0.1 }", "1mbit", 60);
    // With p + r = 1 the states of successive packets are independent, and so are the losses.
    assert!(near(log.lost.len(), log.departed.len(), 0.45), "{}", log.lost.len());
}

/// By hand from mm-link's source. The trace has opportunities of 1504 bytes at 2 ms, two at 4 ms and one at 7 ms, and
/// begins again there: 9, 11 (two), 14 ms. Of the first arrivals, at 0 ms, the first packet and 504 bytes of the second
/// leave at 2 ms, the rest of the second at 4 ms with the third, which came at 2 ms, too late for the opportunity of
/// that time; the rest of those at 4 ms is lost, since the fourth comes at that time. 3000 bytes at 7.5 ms take the
/// opportunity at 9 ms and all but 1512 bytes of the two at 11 ms. These are for 1504 of the sixth and 8 of the seventh
/// packet, whose other 12 bytes leave at 14 ms. The link's delay is 1 ms.
#[test]
fn a_trace_delivers_at_its_moments() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    std::fs::write(place.path().join("link.up"), "2\n4\n4\n7\n")?;
    let packets = [(0.0, 1000), (0.0, 1000), (2.0, 100), (4.0, 1500), (7.5, 3000), (10.0, 1504), (10.5, 20)];
    let rows = packets.map(|(millis, bytes)| format!("{},{bytes}\n", millis / 1000.0)).concat();
    std::fs::write(place.path().join("packets.csv"), format!("time_s,bytes\n{rows}"))?;
    let text = r#"
        duration = "20ms"
        [[links]]
        from = "a"
        to = "b"
        delay = "1ms"
        rate = { trace = "link.up", opportunities = true }
        queue = { kind = "droptail", limit = "10p" }
        [[flows]]
        name = "recorded"
        kind = "udp"
        source = "trace"
        trace = "packets.csv"
        from = "a"
        to = "b"
    "#;
    std::fs::write(place.path().join("s.toml"), text)?;
    let scenario = Document::load(place.path().join("s.toml"))?.scenario()?;
    let mut log = Log::default();
    let run = run(&scenario, 0, &Control::default(), &mut log)?;
    let times: Vec<u64> = log.delivered.iter().map(|(_, at)| at / 1_000_000).collect();
    assert_eq!(times, [3, 5, 5, 8, 12, 12, 15]);
    assert!(log.delivered.iter().all(|(_, at)| at % 1_000_000 == 0));
    // Each leaves the queue at the first opportunity that it uses.
    assert_eq!(log.departed.values().map(|at| at / 1_000_000).collect::<Vec<u64>>(), [2, 2, 4, 7, 9, 11, 11]);
    assert_eq!(run.queues[0].flows[0].departed, 7);
    Ok(())
}

/// Closed form: full queues use every byte of a trace. One line a millisecond carries 1504 bytes, 12.032 Mbit/s, with
/// packets of any size. Would catch bytes that are lost between packets.
#[test]
fn a_backlogged_trace_loses_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let place = tempfile::tempdir()?;
    std::fs::write(place.path().join("link.up"), "1\n")?;
    for packet in [97, 1500, 4000] {
        let text = format!(
            r#"
            duration = "10s"
            warmup = "1s"
            [bottleneck]
            rate = {{ trace = "link.up", opportunities = true }}
            [[flows]]
            name = "flood"
            kind = "udp"
            rate = "30mbit"
            packet = "{packet}b"
        "#
        );
        std::fs::write(place.path().join("s.toml"), text)?;
        let scenario = Document::load(place.path().join("s.toml"))?.scenario()?;
        let run = run(&scenario, 0, &Control::default(), &mut ())?;
        let bytes = run.queues[0].flows[0].departed * packet;
        assert!(bytes.abs_diff(9 * 1_504_000) <= 2 * 4000, "{bytes} bytes in 9 s");
    }
    Ok(())
}

/// Runs a link of 20 Mbit/s, on which 1000 bytes take 400 µs, with frames of `aggregation`.
fn frames(aggregation: &str, rate: &str) -> (Run, Log) {
    let text = format!(
        r#"
        duration = "10s"
        [[links]]
        from = "a"
        to = "b"
        rate = "20mbit"
        delay = "1ms"
        aggregation = {aggregation}
        queue = {{ kind = "droptail", limit = "1000p" }}
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "{rate}"
        start = "0s"
        from = "a"
        to = "b"
        "#
    );
    let mut log = Log::default();
    (observe(&text, &mut log), log)
}

/// Closed form: N packets of L bits take T + N · L / C, so N = 8, T = 500 µs and L / C = 400 µs carry 8 packets each
/// 3.7 ms. With a time of 1 ms a frame takes 3 packets, since two take less: 3 each 1.7 ms. Would catch a frame that
/// waits once for each packet, or takes arrivals after its start.
#[test]
fn frames_share_their_access_time() {
    for (aggregation, packets, micros) in [
        ("{ packets = 8, access = \"500us\" }", 8, 3700),
        ("{ packets = 8, access = \"500us\", time = \"1ms\" }", 3, 1700),
        ("{ packets = 1, access = \"100us\" }", 1, 500),
        ("{ packets = 4, access = \"0s\" }", 4, 1600),
    ] {
        let (run, log) = frames(aggregation, "30mbit");
        let expected = 10_000_000 / micros * packets;
        let departed = run.queues[0].flows[0].departed;
        assert!(departed.abs_diff(expected) <= 2 * packets, "{aggregation}: {departed}, not {expected}");
        // All of a frame arrives together.
        let late = &log.delivered[log.delivered.len() - 800..];
        let together = late.chunk_by(|a, b| a.1 == b.1).map(<[_]>::len);
        assert!(together.skip(1).take(50).all(|length| length as u64 == packets), "{aggregation}");
    }
}

/// By hand: a packet of 1 Mbit/s finds the link free, waits 500 µs for access, takes 400 µs and arrives after 1 ms
/// more. Would catch a delay that is left out, and frames that wait for more packets.
#[test]
fn a_lone_packet_waits_for_access() {
    let (run, log) = frames("{ packets = 8, access = \"500us\" }", "1mbit");
    let delay = run.flows[0].path.map(|path| path.delay_ns);
    assert_eq!(delay, Some(run.flows[0].delivered * 1_900_000));
    let waits = log.delivered.iter().map(|(seq, at)| at - log.departed[seq]);
    assert!(waits.clone().count() > 1000 && waits.clone().all(|nanos| nanos == 1_400_000));
    let gaps = log.delivered.windows(2).map(|pair| pair[1].1 - pair[0].1);
    assert!(gaps.clone().all(|nanos| nanos.abs_diff(8_000_000) <= 1), "they come as they were sent");
}

/// The acknowledgements at the queue of the way back.
#[derive(Default)]
struct Acks {
    /// The times of departures, which are those of frames.
    departed: Vec<u64>,
    lost: usize,
}

impl Observer for Acks {
    fn packet(&mut self, event: &PacketEvent) {
        match event.queue_event {
            QueueEvent::Departed { .. } if event.link == 1 => self.departed.push(event.at.as_nanos()),
            QueueEvent::Lost if event.link == 1 => self.lost += 1,
            _ => {}
        }
    }
    fn delivered(&mut self, _at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {}
}

/// Without losses of data each acknowledgement says more than the one before, so a frame sends one for a flow. Would
/// catch one that is kept or one too many that goes, and data that are not acknowledged in the end.
#[test]
fn a_frame_sends_the_last_acknowledgement_of_a_flow() {
    let run = |thin: bool| {
        let text = format!(
            r#"
            duration = "10s"
            [bottleneck]
            rate = "20mbit"
            reverse = {{ aggregation = {{ packets = 64, access = "5ms", thin_acks = {thin} }} }}
            [[flows]]
            name = "a"
            kind = "tcp"
            window = 60
            source = "transfers"
            size = "9000p"
            "#
        );
        let mut acks = Acks::default();
        let run = observe(&text, &mut acks);
        (run, acks)
    };
    let (whole, all) = run(false);
    let (thin, acks) = run(true);
    for run in [&whole, &thin] {
        assert_eq!((run.flows[0].unique_bytes, run.flows[0].retransmitted), (9_000_000, 0));
        assert_eq!(run.flows[0].completions_ns.as_ref().map(Vec::len), Some(1));
    }
    assert_eq!(all.lost, 0);
    let frames = acks.departed.chunk_by(|a, b| a == b).count();
    assert_eq!(acks.departed.len() - acks.lost, frames);
    assert!(acks.lost > acks.departed.len() / 2, "{} of {}", acks.lost, acks.departed.len());
}

/// Would catch losses that change the traffic, the queue or the arrival times of other packets, and a probability of
/// zero that changes anything.
#[test]
fn loss_disturbs_nothing_else() {
    let (clean, clean_log) = simulate("rate = \"1mbit\"", "1100kbit", 20);
    let (lossy, lossy_log) = simulate("rate = \"1mbit\"\nloss = 0.2", "1100kbit", 20);
    assert_eq!(clean_log.departed, lossy_log.departed);
    let kept: Vec<(u32, u64)> =
        clean_log.delivered.iter().copied().filter(|(seq, _)| !lossy_log.lost.contains(seq)).collect();
    assert_eq!(kept, lossy_log.delivered);
    let (mut clean, mut lossy) = (clean.queues[0].flows[0].clone(), lossy.queues[0].flows[0].clone());
    assert!(lossy.lost > 0);
    (clean.lost, lossy.lost) = (0, 0);
    assert_eq!(clean, lossy);
    let text = |keys: &str| {
        let flows = "[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\ncount = 4";
        format!("duration = \"10s\"\n[bottleneck]\nrate = \"1mbit\"\n{keys}\n{flows}")
    };
    let mut prints = [Fingerprint::default(), Fingerprint::default(), Fingerprint::default()];
    for (keys, print) in ["", "loss = 0\njitter = \"0s\"\nreorder = false", "loss = 0.01"].iter().zip(&mut prints) {
        observe(&text(keys), print);
    }
    assert_eq!(prints[0], prints[1]);
    assert_ne!(prints[0], prints[2]);
}

/// Would catch a link that does not follow its rate steps: 1 Mbit/s, 3 Mbit/s and an outage of one second each, with a
/// queue that is never empty.
#[test]
fn a_varying_rate_is_used_fully() {
    let steps = "rate = { steps = [[\"0s\", \"1mbit\"], [\"1s\", \"3mbit\"], [\"2s\", \"0bit\"]], every = \"3s\" }";
    let (run, log) = simulate(steps, "4mbit", 30);
    // Packets have 1000 bits. The first one arrives within 0.25 ms, and a step can divide ten packets.
    let begun = |second: u64| log.departed.values().filter(|at| **at / 1_000_000_000 % 3 == second).count() as i64;
    assert!((begun(0) - 10_000).abs() <= 10, "{}", begun(0));
    assert!((begun(1) - 30_000).abs() <= 10, "{}", begun(1));
    assert!(begun(2) <= 10, "{}", begun(2));
    let queue = &run.queues[0];
    assert!((queue.rate_bps - 4e6 / 3.0).abs() < 1e-6);
    let used = queue.flows[0].departed_bytes as f64 * 8.0 / (queue.rate_bps * 30.0);
    assert!((0.9995..=1.0001).contains(&used), "{used}");
    // Without the warm-up: 40 Mbit in all, minus 1 Mbit of the first second.
    let flows = "[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nrate = \"9mbit\"";
    let text = format!("duration = \"30s\"\nwarmup = \"1s\"\n[bottleneck]\n{steps}\n{flows}");
    let queue = observe(&text, &mut ()).queues.remove(0);
    assert!((queue.rate_bps - 39e6 / 29.0).abs() < 1e-6, "{}", queue.rate_bps);
    let bits = queue.flows[0].departed_bytes as f64 * 8.0;
    assert!((bits / 39e6 - 1.0).abs() < 0.001, "{bits}");
}

/// A packet a millisecond, with 0.1 ms of transmission at 10 Mbit/s. Would catch a step that comes early or late, and
/// packets that overtake each other, without `reorder`, where the delay falls.
#[test]
fn a_delay_that_varies_holds_from_its_steps() {
    let steps = r#"delay = { steps = [["0s", "10ms"], ["1s", "50ms"]], every = "2s" }"#;
    let delivered = |reorder: bool| {
        let (run, log) = simulate(&format!("rate = \"10mbit\"\n{steps}\nreorder = {reorder}"), "1mbit", 6);
        assert!(run.flows[0].delivered >= run.flows[0].sent - 52);
        let sent = |seq: &u32| log.departed[seq] + 100_000;
        let mut times: Vec<(u64, u64)> = log.delivered.iter().map(|(seq, at)| (sent(seq), *at)).collect();
        times.sort_unstable();
        times
    };
    let own = |sent: u64| sent + if sent % 2_000_000_000 < 1_000_000_000 { 10_000_000 } else { 50_000_000 };
    assert!(delivered(true).iter().all(|(sent, at)| *at == own(*sent)));
    let mut latest = 0;
    for (sent, at) in delivered(false) {
        latest = latest.max(own(sent));
        assert_eq!(at, latest, "sent at {sent}");
    }
}

/// Would catch losses at other times than those of the steps, and a wrong probability.
#[test]
fn losses_are_by_time() {
    let steps = r#"loss = { steps = [["0s", 0], ["10s", 1], ["11s", 0], ["20s", 0.2]], every = "40s" }"#;
    let (run, log) = simulate(&format!("rate = \"10mbit\"\n{steps}"), "1mbit", 80);
    assert_eq!(run.flows[0].lost, log.lost.len() as u64);
    let within = |from: u64, to: u64| move |sent: &u64| (from..to).contains(&(sent / 1_000_000_000 % 40));
    let sent = |from, to| log.departed.values().map(|at| at + 100_000).filter(within(from, to)).count();
    let lost = |from, to| log.lost.iter().map(|seq| log.departed[seq] + 100_000).filter(within(from, to)).count();
    assert_eq!((lost(0, 10), lost(11, 20)), (0, 0));
    assert_eq!((lost(10, 11), sent(10, 11)), (2000, 2000));
    assert!(near(lost(20, 40), sent(20, 40), 0.2), "{} of {}", lost(20, 40), sent(20, 40));
}

/// 64 bytes last 1.28 ns at 400 Gbit/s: 78,125 packets leave in 100 µs, neither more nor fewer in the long run. Would
/// catch times whose fractions are lost to rounding: with 1 ns each 100,000 packets would leave, with 2 ns 50,000.
#[test]
fn a_packet_may_take_a_nanosecond() {
    for (gigabits, packets) in [(400_u64, 78_125_u64), (800, 156_250), (1_600, 312_500)] {
        let text = format!(
            r#"
            duration = "110us"
            warmup = "10us"
            [[links]]
            from = "a"
            to = "b"
            rate = "{gigabits}gbit"
            delay = "1us"
            queue = {{ kind = "red", limit = "100p", min = "90p", max = "99p" }}
            [[flows]]
            name = "cbr"
            kind = "udp"
            rate = "300gbit"
            packet = "64b"
            count = {count}
            start = "0s"
            from = "a"
            to = "b"
            "#,
            count = gigabits / 200
        );
        let run = observe(&text, &mut ());
        let departed: u64 = run.queues[0].flows.iter().map(|flow| flow.departed).sum();
        assert!(departed.abs_diff(packets) <= 1, "{gigabits} Gbit/s: {departed} of {packets}");
        assert!(run.flows.iter().all(|flow| flow.dropped > 0));
    }
}

/// Would catch jitter that is not uniform around the delay, and packets that overtake each other without `reorder`.
#[test]
fn jitter_is_uniform_and_reorders_only_when_told() {
    // One packet per millisecond, a transmission time of 0.1 ms at 10 Mbit/s, and 20 ms of delay.
    let delays = |reorder: bool| {
        let link = format!("rate = \"10mbit\"\ndelay = \"20ms\"\njitter = \"8ms\"\nreorder = {reorder}");
        let (run, log) = simulate(&link, "1mbit", 20);
        let delays: Vec<f64> =
            log.delivered.iter().map(|(seq, at)| (at - log.departed[seq] - 100_000) as f64 / 1e6).collect();
        assert!(
            run.flows[0].delivered >= run.flows[0].sent - 29,
            "all packets but those of the last 28 ms are delivered"
        );
        let in_order = log.delivered.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(log.delivered.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        (delays, in_order)
    };
    let (free, in_order) = delays(true);
    assert!(!in_order);
    assert!(free.iter().all(|delay| (12.0..=28.0).contains(delay)));
    let mean = free.iter().sum::<f64>() / free.len() as f64;
    let variance = free.iter().map(|delay| (delay - mean) * (delay - mean)).sum::<f64>() / free.len() as f64;
    // A uniform distribution over 16 ms has mean 20 ms and variance 16²/12. Five standard errors are 0.16 ms and 0.7
    // ms².
    assert!((mean - 20.0).abs() < 0.17 && (variance - 256.0 / 12.0).abs() < 0.8, "{mean} ± {variance}");
    let (queued, in_order) = delays(false);
    assert!(in_order);
    assert!(queued.iter().all(|delay| (12.0..=28.0).contains(delay)));
    // Waiting for earlier packets makes the delay longer: mostly the latest of the last sixteen determines it.
    assert!(queued.iter().sum::<f64>() / queued.len() as f64 > 22.0);
}

/// Would catch a packet that is unaccounted for (the engine checks at the end of each run) and a TCP flow that stops,
/// with all impairments in both directions.
#[test]
fn tcp_works_with_all_impairments() {
    for reorder in [false, true] {
        let text = format!(
            r#"
            duration = "30s"
            [tcp]
            preset = "modern"
            [bottleneck]
            rate = {{ steps = [["0s", "4mbit"], ["700ms", "500kbit"]], every = "1s" }}
            delay = "10ms"
            jitter = "5ms"
            reorder = {reorder}
            loss = {{ p = 0.002, r = 0.3 }}
            queue = {{ kind = "choke", limit = "60p", min = "10p", max = "30p" }}
            reverse = {{ loss = 0.05, jitter = "1ms" }}
            [[flows]]
            name = "ftp"
            kind = "tcp"
            cc = "sack"
            count = 4
            [[flows]]
            name = "back"
            kind = "udp"
            rate = "100kbit"
            from = "right"
            to = "left"
            "#
        );
        let run = observe(&text, &mut ());
        for flow in &run.flows {
            assert!(flow.lost > 0 && flow.delivered > 100, "{}: {} lost", flow.name, flow.lost);
            assert!(flow.delivered + flow.dropped + flow.lost <= flow.sent);
        }
        assert_eq!(
            run.queues.iter().map(|queue| &*queue.name).collect::<Vec<_>>(),
            ["bottleneck", "bottleneck/reverse"]
        );
    }
}

/// Would catch a wire of acknowledgements that loses none of them: if none returns, the sender sends
/// only after timeouts.
#[test]
fn acknowledgements_are_lost_too() {
    let delivered = |reverse: &str| {
        let text = format!(
            "duration = \"20s\"\n[bottleneck]\nrate = \"1mbit\"\n{reverse}\n[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\n"
        );
        let run = observe(&text, &mut ());
        assert_eq!(run.flows[0].lost, 0, "acknowledgements do not count as lost data");
        (run.flows[0].delivered, run.flows[0].timeouts)
    };
    let (all, none) = (delivered(""), delivered("reverse = { loss = 1 }"));
    assert!(all.0 > 2000, "{all:?}");
    assert!(none.1 > 1 && none.0 <= none.1 + 1, "{none:?}");
}
