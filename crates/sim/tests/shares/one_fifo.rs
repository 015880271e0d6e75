//! Disciplines with one FIFO that keep state of each flow.

use fairlane_outcome::Run;
use fairlane_qdisc::Reason;

use crate::setup::{SEEDS, document, extremes, figure_3, mean, rates, seeded, simulate};

/// Runs `flows` over a link of `rate` with `queue`.
fn run(seed: u32, rate: &str, delay: &str, queue: &str, flows: &str) -> Run {
    let text = format!(
        r#"
        duration = "50s"
        warmup = "15s"
        [tcp]
        preset = "modern"
        delayed_ack = false
        [bottleneck]
        rate = "{rate}"
        delay = "{delay}"
        queue = {queue}
        [access]
        rate = "1gbit"
        delay = "4ms"
        {flows}
        "#
    );
    simulate(&seeded(document(&text), seed)).0
}

/// Returns a group of `count` TCP flows.
fn tcp(count: u32, packet: u32) -> String {
    format!(
        "[[flows]]\nname = \"tcp\"\nkind = \"tcp\"\ncc = \"sack\"\ncount = {count}\npacket = \"{packet}b\"\nstart = \"0s..5s\"\n"
    )
}

/// Returns a group of `count` UDP flows of `rate` with jitter.
fn udp(name: &str, count: u32, rate: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nkind = \"udp\"\ncount = {count}\nrate = \"{rate}\"\njitter = 0.5\n")
}

/// Ott, Lakshman and Wong, INFOCOM 1999: SRED's queue stays between a sixth and a third of the buffer for any number of
/// flows below 256, with the paper's link of 45 Mbit/s, buffer of 500 kB and packets of 576 bytes.
///
/// In the paper a packet of N equal flows is dropped with probability p (N/256)², so the windows of N flows add up to
/// 256 sqrt(1.5/p): 1619 packets with the p of that band, a quarter of 0.15. A round trip of 140 ms holds 1367 packets,
/// and the band is 145 to 289 packets.
#[test]
fn sred_keeps_its_queue_whatever_the_number_of_flows() {
    for flows in [20, 60, 180] {
        let run = run(1, "45mbit", "62ms", "{ kind = \"sred\", limit = \"500kb\" }", &tcp(flows, 576));
        let mean = run.queues[0].mean_packets;
        println!("{flows} flows: {mean:.1} packets");
        assert!((145.0..=289.0).contains(&mean), "{flows} flows: {mean} packets");
    }
}

/// AFD (Pan, Breslau, Prabhakar and Shenker 2003) with unresponsive flows that all send too much: a flow at three times
/// its share gets the share within 15 %, and the queue is near its target of 40 packets.
#[test]
fn afd_gives_a_flow_at_three_times_its_share_about_the_share() {
    let queue = "{ kind = \"afd\", limit = \"240p\", shadow = 1000 }";
    let run = run(1, "10mbit", "4ms", queue, &(udp("some", 9, "1300kbit") + &udp("more", 1, "3mbit")));
    let (rates, queued) = (rates(&run), run.queues[0].mean_packets);
    println!("{rates:.0?}, {queued:.1} packets");
    assert!((rates[9] / 1000.0 - 1.0).abs() < 0.15, "{rates:?}");
    assert!((queued / 40.0 - 1.0).abs() < 0.15, "{queued}");
}

/// CSFQ (Stoica, Shenker and Zhang, SIGCOMM 1998): eight flows that send one, two, three times their share and so on
/// all get the share within 10 %.
#[test]
fn csfq_gives_all_the_same() {
    let flows: String = (1..=8).map(|n| udp(&format!("f{n}"), 1, &format!("{}kbit", 1250 * n))).collect();
    let rates = rates(&run(1, "10mbit", "4ms", "{ kind = \"csfq\", limit = \"64kb\" }", &flows));
    println!("{rates:.0?}");
    assert!(rates.iter().all(|rate| (rate / 1250.0 - 1.0).abs() < 0.1), "{rates:?}");
}

/// Would catch an unresponsive flow that gets much more than its share: with nine TCP flows that do not use all of
/// their share of 1 Mbit/s, a flow at three times that gets its share and the rest.
#[test]
fn an_unresponsive_flow_gets_about_its_share() {
    for queue in [
        "{ kind = \"fred\", limit = \"120p\" }",
        "{ kind = \"afd\", limit = \"120p\" }",
        "{ kind = \"csfq\", limit = \"64kb\" }",
    ] {
        for seed in SEEDS {
            let rates = rates(&run(seed, "10mbit", "4ms", queue, &(tcp(9, 1000) + &udp("more", 1, "3mbit"))));
            let (least, largest) = extremes(&rates[..9]);
            println!("{queue}: {:.0}, TCP {least:.0} to {largest:.0}", rates[9]);
            assert!((950.0..1500.0).contains(&rates[9]), "{queue}: {rates:?}");
            assert!(least > 700.0 && largest < 1300.0, "{queue}: {rates:?}");
        }
    }
}

/// Figure 3: with N flows and q packets in the queue, FRED holds the flood to the average queue per flow plus one
/// packet: 1 + floor(q / N) of q.
#[test]
fn fred_leaves_a_flood_the_average_queue() {
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("fred", &[]), seed));
        let queued = run.queues[0].mean_packets;
        let expected = 1000.0 * (1.0 + (queued / 33.0).floor()) / queued;
        let (flood, (least, most)) = (rates(&run)[32], extremes(&rates(&run)[..32]));
        println!("fred: {flood:.1}, expected {expected:.1}; TCP {least:.1} to {most:.1}");
        assert!((flood / expected - 1.0).abs() < 0.05, "{flood}, expected {expected}");
    }
}

/// Figure 3: under BARE a flow never has more than maxth queued, 186 kB / 33 or five packets: 160 kB for 20 flows and 2
/// more for each further one. The target of the queue is half of that, 93 kB, so the flood gets one to two shares.
#[test]
fn bare_leaves_a_flood_its_part_of_the_buffer() {
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("bare", &[]), seed));
        let queued = run.queues[0].mean_packets;
        let (flood, (least, _)) = (rates(&run)[32], extremes(&rates(&run)[..32]));
        println!("bare: {flood:.1} of {queued:.1} packets; TCP from {least:.1}");
        assert!((queued / 93.0 - 1.0).abs() < 0.15, "{queued}");
        assert!((1000.0 / 33.0..=1000.0 * 5.0 / queued).contains(&flood), "{flood}");
        assert!(least > 15.0, "{least}");
    }
}

/// In figure 3 a flow with a fair share sends 3.8 packets per second. CSFQ needs several packets to estimate a rate:
/// with ten times the constants of the paper, whose link is ten times as fast, the flood is down from 66 shares to less
/// than three. The same holds for AFD's interval and 1500 samples, 15 per TCP flow.
#[test]
fn estimates_need_several_packets() {
    for (kind, settings) in [
        ("csfq", &[("k", "1s"), ("k_alpha", "2s"), ("k_c", "1s")][..]),
        ("afd", &[("interval", "62500us"), ("shadow", "1500"), ("target_queue", "150p")]),
    ] {
        let keys: Vec<_> = settings.iter().map(|(key, value)| (format!("bottleneck.queue.{key}"), *value)).collect();
        let settings: Vec<_> = keys.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        for seed in SEEDS {
            let rates = rates(&simulate(&seeded(figure_3(kind, &settings), seed)).0);
            let tcp = mean(&rates[..32]);
            println!("{kind}: {:.1}; TCP {tcp:.1} of {:.1?}", rates[32], extremes(&rates[..32]));
            assert!((30.0..90.0).contains(&rates[32]), "{kind}: {rates:?}");
            assert!(tcp > 0.9 * 1000.0 / 33.0, "{kind}: {tcp}");
        }
    }
}

/// RED-PD (Mahajan, Floyd and Wetherall, ICNP 2001): TCP flows with a round-trip time above the target are hardly ever
/// filtered, and a flood is.
#[test]
fn red_pd_leaves_slow_tcps_alone() {
    let queue = "{ kind = \"red-pd\", limit = \"120p\", min = \"15p\", max = \"60p\", rtt = \"40ms\" }";
    let run = run(1, "10mbit", "32ms", queue, &(tcp(9, 1000) + &udp("flood", 1, "5mbit")));
    let filtered = |flow: usize| {
        let flow = &run.queues[0].flows[flow];
        flow.dropped[Reason::RatePenalty.index()] as f64 / flow.arrived as f64
    };
    let tcp = (0..9).map(filtered).fold(0.0, f64::max);
    println!("filtered: TCP {tcp:.4}, flood {:.3}", filtered(9));
    assert!(tcp < 0.005, "{tcp}");
    assert!(filtered(9) > 0.3, "{}", filtered(9));
}

/// Floyd and Fall (ToN 1999) restrict flows in times of congestion only. Would catch a box that holds a flow back on an
/// idle link: CUBIC flows fail the tests at times, and one in the box used 5 % of the link alone.
#[test]
fn the_penalty_box_leaves_no_link_idle() {
    for (count, seed) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3)] {
        let flows =
            format!("[[flows]]\nname = \"a\"\nkind = \"tcp\"\ncc = \"cubic\"\npacket = \"1500b\"\ncount = {count}");
        let mut document = document(&format!(
            "duration = \"300s\"\nwarmup = \"60s\"\n[tcp]\npreset = \"modern\"\n[bottleneck]\nrate = \"500kbit\"\n\
             delay = \"20ms\"\nqueue = {{ kind = \"red-penalty-box\", limit = \"100p\" }}\n{flows}"
        ));
        document.set("seed", &seed.to_string()).unwrap_or_else(|error| panic!("{error}"));
        let used: f64 = rates(&simulate(&document).0).iter().sum::<f64>() / 500.0;
        println!("{count} flows: {used:.3}");
        assert!(used > 0.99, "{count} flows, seed {seed}: {used}");
    }
}

/// RED with a penalty box (Floyd and Fall, ToN 1999): the box holds a CBR flow of twice the link's rate at 5 % of the
/// link.
#[test]
fn the_penalty_box_holds_a_flood_at_its_rate() {
    for seed in SEEDS {
        let (run, _) = simulate(&seeded(figure_3("red-penalty-box", &[]), seed));
        println!("penalty box: {:.1}", rates(&run)[32]);
        // A TCP flow may be in the box, too.
        assert!((rates(&run)[32] / 50.0 - 1.0).abs() < 0.1, "{:?}", rates(&run));
    }
}
