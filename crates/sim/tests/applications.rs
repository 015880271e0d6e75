//! TCP applications without unlimited data: transfers of limited size, and on/off periods.

use fairlane_outcome::score::ScoreRun;
use fairlane_outcome::{Run, VideoRun};
use fairlane_scenario::Document;
use fairlane_sim::{Control, Observer, PacketEvent, run};

mod wide;

use wide::{network, observe};

/// A dumbbell of 1 Gbit/s throughout, with 12 ms one way.
fn wide(duration: &str, flows: &str) -> Run {
    observe(duration, "", flows, &mut ())
}

fn completions(run: &Run, flow: usize) -> &[u64] {
    run.flows[flow].completions_ns.as_deref().unwrap_or_else(|| panic!("flow {flow} makes transfers"))
}

/// By hand: a packet takes 3 · 8 µs + 12 ms, an acknowledgement 3 · 0.32 µs + 12 ms, so a round trip takes 24.02496 ms.
/// Seven packets from a window of one are sent in rounds of 1, 2 and 4. The four of the third round take 32 µs on the
/// first link, and the last one takes two more links.
const SEVEN_NS: u64 = 2 * 24_024_960 + 32_000 + 2 * 8_000 + 12_000_000;

/// Would catch a transfer of a wrong size, or one that does not begin with slow start.
#[test]
fn a_transfer_takes_its_rounds_of_slow_start() {
    for size in ["7p", "6001b", "7kb"] {
        let run = wide("2s", &format!("source = \"transfers\"\nsize = \"{size}\""));
        assert_eq!(completions(&run, 0), [SEVEN_NS], "{size}");
        assert_eq!((run.flows[0].sent, run.flows[0].unique_bytes), (7, 7000));
    }
}

/// Would catch a transfer that inherits the window of the one before: each begins with a window of one, so all take the
/// same time. A transfer with its last acknowledgement takes 72.1 ms, the pause 50 ms on average: 1638 in 200 s, with a
/// standard deviation of √1638 · 50/122 = 17.
#[test]
fn one_transfer_follows_another_after_a_pause() {
    let run = wide("200s", "source = \"transfers\"\nsize = \"7p\"\nthink = \"50ms\"");
    let completions = completions(&run, 0);
    assert!(completions.iter().all(|nanos| *nanos == SEVEN_NS));
    assert!((completions.len() as f64 - 1638.0).abs() < 70.0, "{}", completions.len());
}

/// Would catch sizes with a wrong mean: it is that of the distribution, plus half a packet for rounding up if sizes are
/// random. With an exponential size of 20 packets and 20,000 transfers the standard error is 0.7 %.
#[test]
fn sizes_are_drawn_from_their_distribution() {
    for (sizes, expected, tolerance) in [
        ("sizes = \"exponential\"", 20.5, 0.03),
        ("sizes = \"pareto\"\nshape = 3", 20.5, 0.03),
        ("sizes = \"lognormal\"\nsigma = 1", 20.5, 0.04),
        ("sizes = \"fixed\"", 20.0, 0.0),
    ] {
        let run =
            wide("20s", &format!("source = \"transfers\"\nsize = \"20kb\"\nthink = \"1ms\"\ncount = 100\n{sizes}"));
        let transfers: usize = (0..100).map(|flow| completions(&run, flow).len()).sum();
        let packets: u64 = run.flows.iter().map(|flow| flow.unique_bytes / 1000).sum();
        // At the end at most one transfer per flow is incomplete, of 150 to 200.
        let mean = packets as f64 / transfers as f64;
        assert!(transfers > 10_000, "{transfers}");
        assert!((mean / expected - 1.0).abs() <= tolerance + 0.01, "{sizes}: {mean}");
    }
}

/// Would catch responses of a wrong mean size, and ones that are all the same.
#[test]
fn sizes_of_responses_are_drawn_too() {
    let drawn = [("sizes = \"exponential\"", 20.5), ("sizes = \"lognormal\"\nsigma = 1", 20.5), ("", 20.0)];
    for (sizes, expected) in drawn {
        let run = wide("20s", &format!("source = \"rpc\"\nrequest = \"100b\"\nsize = \"20kb\"\ncount = 100\n{sizes}"));
        // The duration of the first response is not counted.
        let responses: usize = (0..100).map(|flow| completions(&run, flow).len() + 1).sum();
        let packets: u64 = run.flows.iter().map(|flow| flow.unique_bytes / 1000).sum();
        let mean = packets as f64 / responses as f64;
        assert!(responses > 10_000 && (mean / expected - 1.0).abs() <= 0.03, "{sizes}: {mean} of {responses}");
    }
}

/// 10 Mbit/s are 1250 packets of 1000 bytes a second. Would catch a rate that drifts, or that the window limits: 24 ms
/// of it are 30 packets.
#[test]
fn an_application_writes_at_its_rate() {
    for (every, least) in [("", 49_960), ("every = \"40ms\"", 49_900)] {
        let run = wide("40s", &format!("source = \"cbr\"\nrate = \"10mbit\"\n{every}"));
        let flow = &run.flows[0];
        assert_eq!((flow.retransmitted, flow.completions_ns.as_deref()), (0, None), "nothing is completed");
        assert!((least..=50_050).contains(&flow.delivered), "{every}: {}", flow.delivered);
    }
}

/// Would catch packets of an old connection that are taken for those of the new one: with many losses each transfer is
/// still delivered completely, once.
#[test]
fn losses_do_not_mix_connections() {
    let text = r#"
        duration = "60s"
        [tcp]
        preset = "modern"
        [bottleneck]
        rate = "1mbit"
        queue = { kind = "droptail", limit = "3p" }
        [[flows]]
        name = "web"
        kind = "tcp"
        count = 8
        source = "transfers"
        size = "5p"
        think = "10ms"
    "#;
    let scenario = Document::parse("lossy.toml", text).and_then(|document| document.scenario());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let run = run(&scenario, 0, &Control::default(), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    for (index, flow) in run.flows.iter().enumerate() {
        let completed = completions(&run, index).len() as u64;
        assert!(completed > 20 && flow.retransmitted > 20, "{}: {completed}, {}", flow.name, flow.retransmitted);
        let packets = flow.unique_bytes / 1000;
        assert!((5 * completed..5 * completed + 5).contains(&packets), "{}: {packets} of {completed}", flow.name);
    }
}

/// Would catch transfers completed during the warm-up that count.
#[test]
fn the_warm_up_is_left_out() {
    let transfers = "source = \"transfers\"\nsize = \"1p\"\nthink = \"1ms\"";
    let whole = wide("4s", transfers);
    let half = wide("4s\"\nwarmup = \"2s", transfers);
    let (whole, half) = (completions(&whole, 0), completions(&half, 0));
    assert!(half.len() < whole.len() * 6 / 10 && half.len() > whole.len() * 4 / 10, "{} {}", half.len(), whole.len());
    assert_eq!(whole[whole.len() - half.len()..], *half);
}

/// Would catch transfers that begin after `stop`, and completions of a flow without transfers.
#[test]
fn transfers_end() {
    let stopped = wide("4s", "source = \"transfers\"\nsize = \"1p\"\nthink = \"1ms\"\nstop = \"2s\"");
    let all = wide("4s", "source = \"transfers\"\nsize = \"1p\"\nthink = \"1ms\"");
    assert!(completions(&stopped, 0).len() < completions(&all, 0).len() * 6 / 10);
    assert_eq!(wide("1s", "").flows[0].completions_ns, None);
}

/// The time of the last delivery, and the sum of the silences longer than 100 ms.
#[derive(Default)]
struct Silences {
    last: f64,
    silent: f64,
}

impl Observer for Silences {
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, at: fairlane_qdisc::Time, _flow: u32, _seq: u32) {
        let gap = at.as_secs() - self.last;
        if gap > 0.1 {
            self.silent += gap;
        }
        self.last = at.as_secs();
    }
}

/// Would catch an on/off application that sends in off periods or does not fill its window in on periods. A flow that
/// is on for 2 s and off for 3 s on average (the periods in Feng, Kandlur, Saha and Shin, INFOCOM 2001, figure 4) is
/// silent for three fifths of the time, except for the round trip at the start of each off period. In the rest it sends
/// its window of 20 packets per round trip of 24.025 ms. Over 400 exponential periods the standard error of the
/// fraction is 4 %.
#[test]
fn an_on_off_application_is_greedy_or_silent() {
    for source in ["source = \"exponential\"", "source = \"pareto\"\nshape = 3"] {
        let mut silences = Silences::default();
        let keys = format!("{source}\non = \"2s\"\noff = \"3s\"\nwindow = 20");
        let run = observe("2000s", "", &keys, &mut silences);
        assert!((silences.silent / 2000.0 - 0.6).abs() < 0.06, "{source}: {}", silences.silent);
        let active = 2000.0 - silences.silent;
        let expected = active / 0.024_024_96 * 20.0;
        let sent = run.flows[0].sent as f64;
        assert!((sent / expected - 1.0).abs() < 0.05, "{source}: {sent} for {expected}");
        assert_eq!(run.flows[0].completions_ns, None);
    }
}

/// By hand: a round trip takes 24.02496 ms, as above, and a window of one grows to two with the first acknowledgement.
/// A page of three objects of one packet over one connection: each object needs the acknowledgement of the one before,
/// and the last one is there after 3 · 8 µs + 12 ms. Delayed acknowledgements change nothing, as the request for the
/// next object carries them.
const THREE_IN_TURN_NS: u64 = 2 * 24_024_960 + 3 * 8_000 + 12_000_000;

/// Would catch objects that wait for one another without need, that do not wait, and pages that begin before the one
/// before is acknowledged.
#[test]
fn a_page_is_complete_with_its_last_object() {
    for delayed in ["", "\ntcp = { delayed_ack = \"40ms\" }"] {
        let keys =
            |connections| format!("source = \"web\"\nobjects = 3\nconnections = {connections}\nsize = \"1p\"{delayed}");
        let run = wide("10s", &keys(1));
        let one = completions(&run, 0);
        assert!(one.iter().all(|nanos| *nanos == THREE_IN_TURN_NS), "{one:?}");
        // A page with its last acknowledgement takes three round trips.
        assert_eq!(one.len(), (10_000_000_000_u64 + 12_000_960) as usize / (3 * 24_024_960));
        let run = wide("10s", &keys(3));
        let parallel: Vec<u64> = (0..3).flat_map(|flow| completions(&run, flow).to_vec()).collect();
        // Each has its own link up to the bottleneck, where the last waits for two others.
        assert!(parallel.iter().all(|nanos| *nanos == 12_000_000 + 5 * 8_000), "{parallel:?}");
    }
}

/// Would catch browsers of a group that share their pages: two browsers complete as many as one each.
#[test]
fn each_browser_has_its_own_pages() {
    let keys = |count| format!("source = \"web\"\nobjects = 3\nconnections = 1\nsize = \"1p\"\ncount = {count}");
    let (one, two) = (wide("10s", &keys(1)), wide("10s", &keys(2)));
    let pages = completions(&one, 0).len();
    assert!(pages > 100, "{pages}");
    assert_eq!([0, 1].map(|flow| completions(&two, flow).len()), [pages; 2]);
}

/// Would catch an outcome that does not tell pages without a start from traffic without pages.
#[test]
fn pages_have_starts_even_if_none_was_loaded() {
    let run = wide("10ms", "source = \"web\"\nobjects = 3\nconnections = 1\nsize = \"1p\"");
    assert_eq!((completions(&run, 0), run.flows[0].startups_ns.as_deref()), (&[][..], Some(&[][..])));
    let run = wide("10ms", "source = \"rpc\"\nrequest = \"100b\"\nsize = \"1kb\"");
    assert_eq!((completions(&run, 0), run.flows[0].startups_ns.as_deref()), (&[][..], None));
}

/// Would catch a page whose connections load more or fewer objects than it has, and sizes below the least one: with an
/// exponential mean of one packet and a least size of four, e⁻⁴ of the objects are larger. By the sum of the geometric
/// tail, the mean is 4 + e⁻⁴ / (1 − e⁻¹) = 4.029 packets, as sizes are rounded up.
#[test]
fn a_page_has_its_objects() {
    let keys = "source = \"web\"\nobjects = 50\nconnections = 6\nsize = \"1p\"\nsizes = \"exponential\"\nmin_size = \"3001b\"\nthink = \"1s\"";
    let run = wide("1000s", keys);
    assert_eq!(run.flows.len(), 6);
    let pages: usize = (0..6).map(|flow| completions(&run, flow).len()).sum();
    let sent: u64 = run.flows.iter().map(|flow| flow.sent).sum();
    let mean = sent as f64 / (pages * 50) as f64;
    assert!(pages > 500 && (mean - 4.029).abs() < 0.02, "{pages} pages, {mean} packets an object");
}

/// Would catch a phase that is left out, one that does not end, or one that goes on with the window of the one before:
/// by hand, slow start from a window of one sends 1, 2, 4 … packets a round trip of 24.02 ms in each phase, 1 + 2 + 4 +
/// 8 in 80 ms.
#[test]
fn each_phase_is_a_new_connection() {
    let mut seen = Deliveries::default();
    let groups = r#"
        [[flows]]
        name = "web"
        kind = "tcp"
        phases = [["0s", "80ms"], ["1s", "1080ms"], ["2500ms", "2580ms"]]
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "800kbit"
        phases = [["500ms", "1s"], ["2s", "2100ms"]]
    "#;
    let result = network("duration = \"3s\"", "rate = \"1gbit\"", groups, &mut seen);
    assert_eq!(result.flows[0].sent, 3 * 15);
    assert_eq!(result.flows[0].unique_bytes, 45_000);
    let of =
        |flow: u32, from: f64, to: f64| seen.0.iter().filter(|(at, id)| *id == flow && *at >= from && *at < to).count();
    assert_eq!([of(0, 0.0, 0.2), of(0, 1.0, 1.2), of(0, 2.5, 2.7)], [15, 15, 15]);
    // A packet every 10 ms.
    assert_eq!([of(1, 0.0, 0.5), of(1, 1.1, 2.0), of(1, 2.0, 2.2)], [0, 0, 10]);
    assert!((49..=51).contains(&of(1, 0.5, 1.1)));
}

/// The times in seconds and the flows of all deliveries.
#[derive(Default)]
struct Deliveries(Vec<(f64, u32)>);

impl Observer for Deliveries {
    fn packet(&mut self, _event: &PacketEvent) {}
    fn delivered(&mut self, at: fairlane_qdisc::Time, flow: u32, _seq: u32) {
        self.0.push((at.as_secs(), flow));
    }
}

/// A bottleneck of `rate` between hosts of 1 Gbit/s, 12 ms one way, with room for all that waits.
fn through(rate: &str, duration: &str, flows: &str) -> Run {
    let general = format!("duration = \"{duration}\"\nwarmup = \"100s\"");
    let bottleneck = format!("rate = {rate}\nqueue = {{ kind = \"droptail\", limit = \"20000p\" }}");
    let group = format!("[[flows]]\nname = \"app\"\nstart = \"0s\"\n{flows}");
    network(&general, &bottleneck, &group, &mut ())
}

/// Segments of 4 s at 1, 2, 4 and 8 Mbit/s, of which a buffer of 24 s holds six.
const VIDEO: &str = r#"
    kind = "tcp"
    cc = "sack"
    source = "video"
    ladder = ["1mbit", "2mbit", "4mbit", "8mbit"]
    buffer = "24s"
    reservoir = "8s"
    cushion = "12s"
    window = "#;

fn video(run: &Run) -> VideoRun {
    *run.flows[0].video.as_deref().unwrap_or_else(|| panic!("a video"))
}

/// Over a link of constant rate, by the received and the played video. Above the ladder, the buffer is full, and each
/// segment has the highest bit rate: one each 4 s, without switches and stalls. Between two bit rates the buffer is
/// neither full nor empty, so that as much comes in as is played: the mean bit rate is the rate of the link, made of
/// both, of which each switch is one. Below the ladder a segment of 4 Mbit takes 4/0.9 s and is played in 4 s: a stall
/// after each, in all 10 % of the time. Its first segment takes as long. The round trip between two segments, 24 ms,
/// accounts for the difference from the rates.
#[test]
fn video_has_the_bit_rate_that_the_link_carries() {
    let fast = video(&through("\"20mbit\"", "500s", &format!("{VIDEO}100")));
    assert_eq!((fast.stalls, fast.switches, fast.bit_rates_bps), (0, 0, fast.segments * 8_000_000));
    assert!((99..=101).contains(&fast.segments), "{fast:?}");
    let run = through("\"3mbit\"", "1100s", &format!("{VIDEO}20"));
    let between = video(&run);
    let mean = between.bit_rates_bps as f64 / between.segments as f64;
    assert!((mean / 3e6 - 1.0).abs() < 0.02, "{mean}");
    assert!((run.flows[0].unique_bytes as f64 * 8.0 / 1000.0 / 3e6 - 1.0).abs() < 0.02);
    assert_eq!(between.stalls, 0);
    // n segments of 2 Mbit/s and m of 4 Mbit/s and none else: their sum is that of the bit rates.
    assert!(between.switches > 10 && between.bit_rates_bps.is_multiple_of(2_000_000), "{between:?}");
    let slow = video(&through("\"900kbit\"", "1100s", &format!("{VIDEO}20")));
    assert_eq!(slow.bit_rates_bps, slow.segments * 1_000_000);
    assert!((slow.stalled_ns as f64 / 1e9 / 1000.0 - 0.1).abs() < 0.01, "{slow:?}");
    assert!(slow.stalls.abs_diff(slow.segments) <= 1, "{slow:?}");
    let startup = slow.startup_ns.unwrap_or_default() as f64 / 1e9;
    assert!((startup - 4.0 / 0.9).abs() < 0.15, "{startup}");
}

/// A link of 80 Mbit/s brings a segment of 32 Mbit in 0.4 s, so the buffer moves between 19.6 s and 23.6 s. When the
/// link stops for t seconds the playback stands still for t minus the time in the buffer, and until the segment is
/// there. Ten seconds more of outage are ten more of stall.
#[test]
fn an_outage_stalls_by_its_time_less_the_buffer() {
    let stalled = |outage: u32| {
        let steps =
            format!("{{ steps = [[\"0s\", \"80mbit\"], [\"200s\", \"0bit\"], [\"{}s\", \"80mbit\"]] }}", 200 + outage);
        let video = video(&through(&steps, "400s", &format!("{VIDEO}300")));
        (video.stalls, video.stalled_ns as f64 / 1e9)
    };
    // TCP takes a second at the most to find the link again.
    assert_eq!(stalled(17), (0, 0.0));
    let [(stalls, thirty), (_, forty)] = [30, 40].map(stalled);
    assert_eq!(stalls, 1);
    assert!((30.0 - 23.6..=30.0 - 19.6 + 1.5).contains(&thirty), "{thirty}");
    assert!((forty - thirty - 10.0).abs() < 1.0, "{thirty} {forty}");
}

/// Would catch a measurement that begins after the stop, and a viewer who has left and still waits.
#[test]
fn a_viewer_who_leaves_does_not_stall() {
    let left = video(&through("\"20mbit\"", "500s", &format!("{VIDEO}100\nstop = \"200s\"")));
    assert_eq!(left.stalls, 0);
    assert!((24..=26).contains(&left.segments), "{left:?}");
}

/// By hand: a response of 1000 bytes takes 3 · 8 µs + 12 ms, a request of 100 bytes with its acknowledgement of 40
/// bytes 3 · 1.12 µs + 12 ms. The first response comes after 12.024 ms, and then one each 24.02736 ms: 82 in 2 s.
#[test]
fn calls_follow_each_other() {
    let run = wide("2s", "source = \"rpc\"\nrequest = \"100b\"\nsize = \"1kb\"");
    let calls = completions(&run, 0);
    assert_eq!(calls.len(), 82);
    assert!(calls.iter().all(|nanos| *nanos == 24_027_360), "{:?}", calls.first());
    // Seven packets find the window of the calls before, once that is seven: a single round trip and six packets more
    // on the slowest link.
    let run = wide("2s", "source = \"rpc\"\nrequest = \"100b\"\nsize = \"7p\"");
    assert_eq!(completions(&run, 0).last(), Some(&(24_027_360 + 6 * 8_000)));
}

/// By hand: a packet of a call, 200 bytes each 20 ms, takes 3 · 1.6 µs + 12 ms, and a buffer of 60 ms: 92.0048 ms from
/// mouth to ear, nothing lost. With a loss of 2 % at random, as much is missing, in bursts as long as chance makes
/// them.
#[test]
fn calls_are_played_behind_a_jitter_buffer() {
    let call = |loss: &str| {
        let general = "duration = \"2100s\"\nwarmup = \"100s\"";
        let group =
            "[[flows]]\nname = \"call\"\nkind = \"udp\"\nrate = \"80kbit\"\npacket = \"200b\"\nscore = \"voip\"";
        let run = network(general, &format!("rate = \"1gbit\"\n{loss}"), group, &mut ());
        match run.flows[0].score.as_deref() {
            Some(ScoreRun::Voice(voice)) => *voice,
            other => panic!("a call, not {other:?}"),
        }
    };
    let clean = call("");
    assert_eq!((clean.missing, clean.bursts, clean.delay_ns), (0, 0, 92_004_800));
    assert!((99_999..=100_001).contains(&clean.played), "{clean:?}");
    // The standard error of the ratio over 100,000 packets is √(0.02 · 0.98/100,000) = 0.00044, of the bursts' mean
    // length 1/√2000 · 0.14.
    let lossy = call("loss = 0.02");
    assert!((lossy.loss() - 0.02).abs() < 0.002 && (lossy.burst_ratio() - 1.0).abs() < 0.015, "{lossy:?}");
}

/// By hand: UDP of 12 ms one way, with the same back, has round trips of 24.0048 ms, those of TCP are measured:
/// 24.02496 ms for packets of 1000 bytes. Would catch a one-way delay in place of a round trip.
#[test]
fn scores_are_of_round_trips() {
    let round_trip = |flows: &str| {
        let group = format!("[[flows]]\nname = \"app\"\nscore = \"web\"\n{flows}");
        let run = network("duration = \"20s\"\nwarmup = \"1s\"", "rate = \"1gbit\"", &group, &mut ());
        match run.flows[0].score.as_deref() {
            Some(ScoreRun::Path(path)) => path.round_trip_ns.mean(),
            other => panic!("a path, not {other:?}"),
        }
    };
    let udp = round_trip("kind = \"udp\"\nrate = \"80kbit\"\npacket = \"200b\"");
    assert!((udp / 24_004_800.0 - 1.0).abs() < 1e-3, "{udp}");
    let tcp = round_trip("kind = \"tcp\"\nwindow = 1");
    assert!((tcp / 24_024_960.0 - 1.0).abs() < 1e-3, "{tcp}");
}
