//! Batches that are refused, and batches that are stopped before they begin.

use std::num::NonZeroU32;

use fairlane_runner::{Batch, Job, MOST_THREADS, pool};
use fairlane_scenario::{Document, Scenario, Vary};
use fairlane_sim::tcp::{AckSample, CongestionControl, CongestionEvent, WindowSize};
use fairlane_sim::{Control, queue_names};

fn scenario() -> Scenario {
    let mut document = Document::builtin();
    document.set("duration", "3s").unwrap();
    document.set("warmup", "1s").unwrap();
    document.scenario().unwrap()
}

/// Would catch a mistyped number that starts too many threads for the machine.
#[test]
fn more_threads_than_anyone_means_are_refused() {
    let error = pool(Some(100_000)).unwrap_err().to_string();
    assert_eq!(error, "100000 threads are too many: at most 1024 are started; leave --jobs out for one thread a core");
    assert_eq!(MOST_THREADS, 1024);
    assert_eq!(pool(Some(3)).unwrap().current_num_threads(), 3);
}

/// Would catch a stop during the checks that is ignored, so that the work begins.
#[test]
fn a_batch_that_is_stopped_while_it_is_checked_begins_nothing() {
    let jobs = || (0..3).map(|_| Job::of(scenario())).collect::<Vec<_>>();
    let control = Control::default();
    let whole = Batch::stoppable(jobs(), NonZeroU32::MIN, Some(1), &control).unwrap().execute(&control).unwrap();
    assert_eq!((whole.outcomes.len(), whole.interrupted, control.finished()), (3, false, 3));

    let control = Control::default();
    control.stop();
    let none = Batch::stoppable(jobs(), NonZeroU32::MIN, Some(1), &control).unwrap().execute(&control).unwrap();
    assert_eq!((none.outcomes.len(), none.interrupted, control.finished()), (0, true, 0));
}

/// Would catch a timeline of another link, rates that are not those of the moment, and names of queues that no outcome
/// has.
#[test]
fn the_timeline_has_the_rates_of_shaper_and_link() {
    let text = r#"
        duration = "8s"
        [[links]]
        from = "a"
        to   = "b"
        rate = "100mbit"
        [[links]]
        from   = "b"
        to     = "c"
        rate   = { steps = [["0s", "8mbit"], ["4s", "2mbit"]] }
        queue  = { kind = "fq-codel" }
        shaper = { kind = "autorate", rate = "6mbit", min = "1mbit", max = "10mbit" }
        [[flows]]
        name = "upload"
        kind = "tcp"
        from = "a"
        to   = "c"
    "#;
    let scenario = Document::parse("timeline.toml", text).unwrap().scenario().unwrap();
    let names = queue_names(&scenario);
    let batch = Batch::new(vec![Job::of(scenario)], NonZeroU32::MIN, None).unwrap().recorded();
    // Only a queue that the outcome will have can be asked for.
    let again = || Batch::new(vec![Job::of(self::scenario())], NonZeroU32::MIN, None).unwrap();
    let error = again().at(Some("b-c".to_owned())).unwrap_err().to_string();
    assert!(error.contains("no queue called \"b-c\"") && error.ends_with("name one of them: bottleneck"), "{error}");
    let done = batch.at(Some("b-c".to_owned())).unwrap().execute(&Control::default()).unwrap();
    let queues: Vec<&str> = done.outcomes[0].queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!((queues, names.len()), (names.iter().map(String::as_str).collect(), 3));
    assert_eq!(done.outcomes[0].shown_queues().map(|queue| queue.name.as_str()).collect::<Vec<_>>(), ["b-c"]);
    let timeline = done.timelines[0].as_ref().unwrap();
    let [shaper] = &timeline.shapers[..] else { panic!("{} shapers", timeline.shapers.len()) };
    assert_eq!((shaper.name.as_str(), shaper.rate_bps.len()), ("b-c", timeline.time_s.len()));
    for ((time, rate), link) in timeline.time_s.iter().zip(&shaper.rate_bps).zip(&shaper.link_bps) {
        assert_eq!(*link, if *time < 4.0 { 8e6 } else { 2e6 }, "{time}");
        assert!((1e6..=10e6).contains(rate), "{time}: {rate}");
    }
    let slowest = shaper.rate_bps.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(shaper.rate_bps[0] == 6e6 && slowest < 2e6, "{slowest}");
}

/// Would catch drops of another queue or counted twice, a mean over all flows rather than those that have a window,
/// thresholds of another discipline, and a probability or a mark where there is none. 2 Mb/s into 1 Mb/s: half of the
/// arrivals are dropped; RED's probability follows its average, 0.1 · (average − 20) / 20 between the thresholds.
#[test]
fn the_timeline_has_what_the_queue_does() {
    let text = r#"
        duration = "10s"
        [bottleneck]
        rate  = "1mbit"
        delay = "1ms"
        queue = { kind = "red", limit = "100p", min = "20p", max = "40p", probability = 0.1 }
        [[flows]]
        name = "flood"
        kind = "udp"
        rate = "2mbit"
    "#;
    let scenario = Document::parse("timeline.toml", text).unwrap().scenario().unwrap();
    let batch = Batch::new(vec![Job::of(scenario)], NonZeroU32::MIN, None).unwrap().recorded();
    let done = batch.execute(&Control::default()).unwrap();
    let timeline = done.timelines[0].as_ref().unwrap();
    let queue = timeline.queues.iter().find(|queue| queue.name == "bottleneck").unwrap();
    assert_eq!(queue.thresholds, [("min".to_owned(), 20.0), ("max".to_owned(), 40.0)]);
    let interval = timeline.time_s[1] - timeline.time_s[0];
    let dropped: f64 = queue.dropped_pps.iter().map(|rate| rate * interval).sum();
    let outcome = done.outcomes[0].queue("bottleneck").unwrap();
    assert!((dropped - outcome.dropped.total()).abs() < 1.5, "{dropped}, {:?}", outcome.dropped);
    assert!((dropped / outcome.arrived.mean - 0.5).abs() < 0.05, "{dropped}");
    assert!(queue.marked_pps.is_empty());
    let [group] = &timeline.groups[..] else { panic!("{} groups", timeline.groups.len()) };
    assert!(group.cwnd_packets.is_empty() && group.srtt_s.is_empty());
    let later = &group.goodput_bps[group.goodput_bps.len() / 2..];
    let mean = later.iter().sum::<f64>() / later.len() as f64;
    assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
    assert_eq!(queue.probability.len(), queue.average.len());
    for (probability, average) in queue.probability.iter().zip(&queue.average) {
        let expected = if *average < 20.0 {
            0.0
        } else if *average < 40.0 {
            0.1 * (average - 20.0) / 20.0
        } else {
            1.0
        };
        assert!((probability - expected).abs() < 1e-9, "{average}: {probability}");
    }
}

/// Reno as the program has it.
#[derive(Debug)]
struct Mine;

impl CongestionControl for Mine {
    fn grow(&mut self, window: &mut WindowSize, _ack: &AckSample) {
        window.cwnd += 1.0 / window.cwnd;
    }
    fn on_congestion(&mut self, _window: &WindowSize, event: &CongestionEvent) -> f64 {
        event.segments / 2.0
    }
}

/// Would catch a congestion control of the program that a sweep refuses, or shows under another name.
#[test]
fn a_sweep_has_the_congestion_controls_of_the_program() {
    let control = Control::default().with_congestion("mine", |_| Box::new(Mine));
    let mut document = Document::builtin().with_congestion(control.congestion());
    document.set("duration", "3s").unwrap();
    document.set("warmup", "1s").unwrap();
    let points = document.points(&[Vary::parse("flows.ftp.cc=cubic,mine").unwrap()]).unwrap();
    let jobs = points.iter().map(|point| Job::of(document.at(point).unwrap())).collect();
    let batch = Batch::stoppable(jobs, NonZeroU32::MIN, Some(1), &control).unwrap();
    let transports: Vec<String> =
        batch.execute(&control).unwrap().outcomes.iter().map(|outcome| outcome.groups[0].transport.clone()).collect();
    assert_eq!(transports, ["tcp cubic, recovery sack", "tcp mine, recovery sack"]);
}
