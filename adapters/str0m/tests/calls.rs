//! Video calls by str0m over a bottleneck.

use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Rate, Seed};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Fingerprint, Observer, run_endpoints};
use fairlane_str0m::{Report, Video};

/// The delay of the path without queues in seconds: 20 ms, and twice 1 ms for the hosts.
const PROPAGATION: f64 = 0.022;
/// The time between two frames in seconds.
const INTERVAL: f64 = 1.0 / 30.0;
const FLOOD: &str = "[[flows]]\nname = 'flood'\nkind = 'udp'\nrate = '40mbit'\nstart = '10s'\n";
const CUBIC: &str = "[[flows]]\nname = 'cubic'\nkind = 'tcp'\ncc = 'cubic'\nstart = '10s'\n";

/// Runs a call for 40 s, of which the last 20 count, and these flows, over a link of this rate.
fn simulate(rate: &str, queue: &str, flows: &str, observer: &mut impl Observer) -> (Run, Report) {
    let text = format!(
        "duration = '40s'\nwarmup = '20s'\ntcp = {{ preset = 'linux' }}\n\
         [bottleneck]\nrate = {rate}\ndelay = '20ms'\nqueue = {{ kind = '{queue}' }}\n\
         [[flows]]\nname = 'video'\nkind = 'endpoint'\nstart = '0s'\n{flows}"
    );
    let scenario = Document::parse("video.toml", &text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut call = Report::default();
    let run = run_endpoints(&scenario, 0, &Control::default(), observer, |_, _, seed| {
        let (pair, report) = Video::default().call(seed).expect("a call");
        call = report;
        Some(pair)
    });
    (run.unwrap_or_else(|error| panic!("{error}")), call)
}

/// Returns the rate of the video in bit/s.
fn rate(run: &Run) -> u64 {
    run.flows[0].unique_bytes * 8 / 20
}

/// Returns the delays in seconds of the frames that count, the shortest first.
fn delays(call: &Report) -> Vec<f64> {
    let frames = call.frames().into_iter().filter(|frame| frame.captured.as_secs() > 20.0);
    let mut delays: Vec<f64> = frames.map(|frame| frame.delay().as_secs()).collect();
    delays.sort_by(f64::total_cmp);
    delays
}

/// Would catch datagrams or timers that get lost between str0m and the simulator, and an estimate that nobody follows.
/// ICE needs a round trip and DTLS 1.2 two (RFC 6347, section 4.2.4), and str0m waits some times 50 ms. The link has
/// twice the video's highest rate, which it reaches and keeps: 30 frames a second, of which at least 99 of 100 need no
/// longer than the path and the time to the next frame. The others had a datagram sent again.
#[test]
fn a_call_alone_has_its_highest_rate() {
    for queue in ["droptail", "choke", "fq-codel", "dualpi2"] {
        let (run, call) = simulate("'10mbit'", queue, "", &mut ());
        let connected = call.connected().expect("a connection").as_secs();
        assert!((3.0 * 2.0 * PROPAGATION..1.0).contains(&connected), "{connected} s");
        assert!(rate(&run).abs_diff(5_000_000) < 50_000, "{queue}: {} bit/s", rate(&run));
        assert!(call.frames().len() as u64 + 2 >= call.encoded() && call.encoded() >= 39 * 30);
        let delays = delays(&call);
        let (least, most) = (delays[0], delays[delays.len() * 99 / 100]);
        assert!(least > PROPAGATION && most < PROPAGATION + INTERVAL, "{queue}: {least} to {most} s");
        assert_eq!(call.ended(), None);
    }
}

/// Would catch an estimate that does not follow the link. Before it falls the estimate exceeds the video's highest
/// rate. 5 s after, it is at most 1.5 times the rate that arrives (draft-ietf-rmcat-gcc-02, section 5.5), which is
/// that of the link. Where nothing is lost it is at least half of that on average, since the reaction to a queue is to
/// 0.85 of what arrives; with losses it is less (section 6). More than the link cannot arrive, but for what had
/// waited.
#[test]
fn the_estimate_follows_a_link_that_falls() {
    for queue in ["droptail", "fq-codel", "dualpi2"] {
        let (run, call) = simulate("{ steps = [['0s', '10mbit'], ['20s', '2mbit']] }", queue, "", &mut ());
        let estimates = |from: f64, to: f64| {
            let within = move |time: f64| (from..to).contains(&time);
            call.estimates().into_iter().filter(move |(time, _)| within(time.as_secs())).map(|(_, rate)| rate)
        };
        let before = estimates(0.0, 20.0).next_back().expect("an estimate");
        assert!(before > Video::default().most, "{queue}: {before:?}");
        let after: Vec<u64> = estimates(25.0, 40.0).map(Rate::bits_per_second).collect();
        let (most, mean) = (after.iter().max(), after.iter().sum::<u64>() / after.len() as u64);
        assert!(most <= Some(&3_000_000), "{queue}: {most:?} bit/s");
        assert!(queue != "droptail" || mean >= 1_000_000, "{mean} bit/s");
        assert!(rate(&run) < 2_200_000, "{queue}: {} bit/s", rate(&run));
    }
}

/// Would catch flows that are not told apart. A FIFO drops three of four datagrams next to a flood of four times the
/// link, and hardly a frame is complete: those of 5 Mbit/s have 20 datagrams. Fair queueing leaves the video half of
/// the link, and it takes more than half of that.
#[test]
fn a_call_survives_a_flood_behind_fair_queueing() {
    let video = |queue| rate(&simulate("'10mbit'", queue, FLOOD, &mut ()).0);
    assert!(video("droptail") < 50_000);
    assert!(video("fq-codel") > 2_500_000);
}

/// Would catch a queue that the video does not see. A FIFO of 300 packets, nearly full of a CUBIC download's 1500
/// bytes, delays frames by more than half of its 360 ms; DualPI2 has a target of 15 ms (RFC 9332, section 2.5.1), to
/// which the path and the time of a frame come.
#[test]
fn a_download_delays_the_video_as_its_queue_does() {
    let median = |queue| {
        let delays = delays(&simulate("'10mbit'", queue, CUBIC, &mut ()).1);
        delays[delays.len() / 2]
    };
    assert!(median("droptail") > PROPAGATION + 0.18);
    assert!(median("dualpi2") < PROPAGATION + INTERVAL + 0.015);
}

/// Would catch a call that ends silently. Consent to send expires 30 s after the last answer (RFC 7675, section 5.1).
#[test]
fn an_outage_ends_the_call() {
    let (_, call) =
        simulate("{ steps = [['0s', '10mbit'], ['5s', '0bit'], ['39s', '10mbit']] }", "droptail", "", &mut ());
    let ended = call.ended().expect("an end");
    assert!((5.0..35.1).contains(&ended.at.as_secs()), "{ended:?}");
}

/// Would catch randomness of the system that reaches the size or the time of a datagram: keys, signatures, timers, and
/// identifiers, also where the handshake loses datagrams; and random numbers of others that are no longer theirs.
#[test]
fn the_same_seed_has_the_same_packets() {
    let link = "'10mbit'\nloss = 0.4";
    let print = || {
        let mut fingerprint = Fingerprint::default();
        let (_, call) = simulate(link, "choke", CUBIC, &mut fingerprint);
        // A handshake timer of DTLS starts with 1 s.
        assert!(call.connected().expect("a connection").as_secs() > 0.75);
        fingerprint.strict()
    };
    let first = print();
    fastrand::seed(7);
    let of_others = fastrand::get_seed();
    assert_eq!([print(), print()], [first; 2]);
    assert_eq!(fastrand::get_seed(), of_others);
}

/// Would catch parameters that nobody checks.
#[test]
fn parameters_out_of_range_are_errors() {
    let rate = Rate::from_bits_per_second;
    let usual = Video::default();
    for video in [
        Video { least: rate(0), ..usual.clone() },
        Video { first: rate(50_000), ..usual.clone() },
        Video { most: rate(900_000), ..usual.clone() },
        Video { interval: Duration::from_nanos(999_999), ..usual.clone() },
        Video { interval: Duration::from_millis(1001), ..usual },
    ] {
        assert!(video.call(Seed::new(1)).is_err(), "{video:?}");
    }
}
