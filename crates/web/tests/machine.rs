//! The functions that the playground's page calls, on the machine itself.

use fairlane_outcome::Outcome;
use fairlane_scenario::Document;
use fairlane_sim::Control;
use fairlane_web::{EVENT_FIELDS, EventKind, FRAME_HEADER, Machine, PACKET_FIELDS};

const SHORT: &str = "choke-fig3\0duration=12s\nwarmup=2s\0";

/// Writes `text` as a page does.
fn put(machine: &mut Machine, text: &str) {
    machine.input(text.len()).copy_from_slice(text.as_bytes());
}

fn started(request: &str) -> Machine {
    let mut machine = Machine::default();
    put(&mut machine, request);
    assert!(machine.create(0, 0), "{}", machine.output());
    machine
}

fn advance(machine: &mut Machine, until_s: f64) {
    while !machine.advance(0, until_s * 1e9) {}
}

/// Returns the packets of a frame's queue, and its events.
fn queue_and_events(frame: &[f64]) -> (Vec<u64>, Vec<&[f64]>) {
    let [groups, flows, reasons, queued, events] = [11, 12, 13, 14, 15].map(|field| frame[field] as usize);
    let queue = FRAME_HEADER + groups * 6 + flows + reasons;
    let list = queue + queued * PACKET_FIELDS;
    assert_eq!(frame.len(), list + events * EVENT_FIELDS);
    let numbers = frame[queue..list].chunks(PACKET_FIELDS).map(|packet| packet[0] as u64).collect();
    (numbers, frame[list..].chunks(EVENT_FIELDS).collect())
}

/// Would catch an outcome that differs from that of the library which the command line runs.
#[test]
fn a_batch_has_the_outcome_of_the_simulator() {
    let mut machine = Machine::default();
    put(&mut machine, &format!("{SHORT}red"));
    assert!(machine.prepare() && machine.run() && machine.run());
    machine.outcome();
    let mut document = Document::builtin();
    for (key, value) in [("duration", "12s"), ("warmup", "2s"), ("bottleneck.queue.kind", "red")] {
        document.set(key, value).expect("the key exists");
    }
    let scenario = document.scenario().expect("it is valid");
    let runs = [0, 1].map(|run| fairlane_sim::run(&scenario, run, &Control::default(), &mut ()).expect("it runs"));
    let expected = Outcome::from_runs(runs).expect("there are runs");
    assert_eq!(machine.output(), expected.to_json_without_cost());
}

/// Would catch a picture of the queue that loses packets, keeps those that have left, or has them in another order; an
/// event of a packet that was not queued; and a comparison with a packet of the same flow.
#[test]
fn the_picture_is_that_of_the_queue() {
    for kind in ["choke", "droptail", "drr", "front-choke", "choke-adaptive", "choke-auto", "gchoke", "codel"] {
        let mut machine = started(&format!("{SHORT}{kind}"));
        let mut before = Vec::new();
        let mut compared = 0;
        for step in 1..=1200 {
            // Few events at a time, so that all are in the frame: one arrival of choke-auto may draw many pairs.
            advance(&mut machine, f64::from(step) * 0.01);
            machine.frame(0);
            let frame = machine.numbers().to_vec();
            let (queue, events) = queue_and_events(&frame);
            assert_eq!((queue.len(), frame[16]), (frame[1] as usize, 0.0), "{kind} at {}", frame[0]);
            assert!(queue.is_sorted());
            let mut expected: Vec<u64> = before;
            for event in events {
                let number = event[1] as u64;
                let present = |number| expected.iter().position(|packet| *packet == number);
                match event[0] as u8 {
                    kind if kind == EventKind::Arrived as u8 => expected.push(number),
                    kind if kind == EventKind::Compared as u8 => {
                        assert!(present(event[4] as u64).is_some_and(|candidate| expected[candidate] != number));
                        compared += 1;
                    }
                    kind if kind == EventKind::Marked as u8 => assert!(present(number).is_some()),
                    _ => {
                        let place = present(number).expect("it was queued");
                        expected.remove(place);
                    }
                }
            }
            assert_eq!(queue, expected, "{kind} at {}", frame[0]);
            before = queue;
        }
        let draws = matches!(kind, "choke" | "front-choke" | "choke-adaptive" | "choke-auto" | "gchoke");
        assert_eq!(compared > 100, draws, "{kind}: {compared}");
    }
}

/// Would catch a simulation that goes another way because somebody looks at it, and rows that are missing or doubled.
#[test]
fn looking_changes_nothing() {
    let (mut looked, mut alone) = (started(SHORT), started(SHORT));
    looked.set_interval(0, 5e7);
    let mut times = Vec::new();
    for step in 1..=120 {
        advance(&mut looked, f64::from(step) * 0.1);
        looked.frame(0);
        let width = looked.series(0);
        times.extend(looked.numbers().chunks(width).map(|row| (row[0] * 1e9).round() as u64));
    }
    advance(&mut alone, 12.0);
    looked.frame(0);
    alone.frame(0);
    let head = |machine: &Machine| machine.numbers()[..14].to_vec();
    assert_eq!(head(&looked)[..3], head(&alone)[..3]);
    assert_eq!(head(&looked)[5..], head(&alone)[5..]);
    let expected: Vec<u64> = (0..=240).map(|row| row * 50_000_000).collect();
    assert_eq!(times, expected);
}

/// Would catch a change that acts only after a new start, or one that is taken although it cannot be made.
#[test]
fn what_can_change_does_so_at_once() {
    let mut machine = started(SHORT);
    advance(&mut machine, 5.0);
    put(&mut machine, "choke-fig3\0duration=12s\nwarmup=2s\nbottleneck.rate=2mbit\nbottleneck.queue.max=150p\0drr");
    assert_eq!(machine.update(0), 0, "{}", machine.output());
    assert!(machine.output().contains("\"kind\":\"drr\""));
    machine.frame(0);
    assert_eq!(machine.numbers()[9], 2e6);
    put(&mut machine, "choke-fig3\0duration=12s\nwarmup=2s\nflows.ftp.count=5\0");
    assert_eq!(machine.update(0), 1);
    put(&mut machine, "choke-fig3\0bottleneck.rate=fast\0");
    assert_eq!(machine.update(0), 2);
    advance(&mut machine, 6.0);
    machine.frame(0);
    assert_eq!((machine.numbers()[0], machine.numbers()[9]), (6.0, 2e6));
}

/// Would catch an error that a page cannot show: without a text, at another line, or one that ends the page.
#[test]
fn what_cannot_work_is_refused() {
    let mut machine = started(SHORT);
    let wrong = "duration = \"4s\"\n[bottleneck]\nrate = \"1mbt\"\n";
    let expected =
        Document::parse("mine.toml", wrong).and_then(|document| document.scenario()).expect_err("it is wrong");
    put(&mut machine, &format!("{wrong}\0\0"));
    assert!(!machine.create(0, 0));
    assert_eq!((machine.output(), machine.error_line()), (expected.to_string().as_str(), 3));
    for flows in ["2001", "1000000"] {
        put(&mut machine, &format!("choke-fig3\0max_flows=2000000\nflows.ftp.count={flows}\0"));
        assert!(!machine.create(0, 0));
        assert!(machine.output().contains("2000 flows at most"), "{}", machine.output());
        assert_eq!(machine.error_line(), 0);
    }
    for nothing in ["", "\0", "\0\0\0\0", "no-such\0\0", "choke-fig3\0\0no-such", "choke-fig3\0=\n==\0"] {
        put(&mut machine, nothing);
        assert!(!machine.create(0, 0), "{nothing:?}");
        assert!(!machine.output().is_empty());
    }
    // The player before goes on, and sides that do not exist do nothing.
    advance(&mut machine, 1.0);
    machine.frame(0);
    assert_eq!(machine.numbers()[0], 1.0);
    assert!(machine.advance(1, 1e9) && machine.advance(7, f64::NAN));
    machine.frame(7);
    assert!(machine.numbers().is_empty());
    assert!(machine.advance(0, f64::NAN) && machine.advance(0, -1.0));
}
