use super::*;
use crate::SimplePacket;

fn millis(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

fn codel(ecn: bool, ce_threshold: Option<Duration>) -> Codel<SimplePacket> {
    let codel = CodelParameters { ecn, ce_threshold, ..CodelParameters::default() };
    let queue = Codel::new(Config { limit: Size::packets(100_000), codel }, Seed::new(1));
    queue.unwrap_or_else(|error| panic!("{error}"))
}

/// The times of the signals, in seconds.
#[derive(Default)]
struct Signals(std::vec::Vec<f64>);

impl DropSink<SimplePacket> for Signals {
    fn dropped(&mut self, now: Time, _packet: SimplePacket, reason: Reason) {
        assert_eq!(reason, Reason::AqmDequeue);
        self.0.push(now.as_secs());
    }
    fn marked(&mut self, now: Time, packet: &SimplePacket, reason: Reason) {
        assert_eq!((packet.marked, reason), (true, Reason::AqmDequeue));
        self.0.push(now.as_secs());
    }
}

/// Fills the queue and takes a packet every tenth of a millisecond for a second, as a link would.
fn drain(queue: &mut Codel<SimplePacket>, ecn: bool) -> Signals {
    let mut signals = Signals::default();
    for id in 0..20_000 {
        let packet = SimplePacket { ecn_capable: ecn, ..SimplePacket::new(1, 1000).with_id(id) };
        queue.enqueue(Time::ZERO, packet, &mut signals);
    }
    for tick in 0..10_000 {
        queue.dequeue(Time::from_nanos(tick * 100_000), &mut signals);
    }
    signals
}

/// A queue that stays is signalled at intervals of 100 ms / sqrt(n) (RFC 8289, section 5): 0, 0.1, 0.1707, 0.2284 s …
/// after the first signal.
#[test]
fn signals_come_by_the_inverse_square_root() {
    for ecn in [false, true] {
        let signals = drain(&mut codel(ecn, None), ecn);
        // The delay passes the target after 5 ms and stays above it for an interval.
        assert!((signals.0[0] - 0.105).abs() < 1e-9, "{}", signals.0[0]);
        for (signal, expected) in signals.0.iter().zip([0.0, 0.1, 0.1707, 0.2284, 0.2784, 0.3232, 0.364, 0.4018]) {
            // The packets come every tenth of a millisecond.
            assert!((signal - signals.0[0] - expected).abs() < 1.5e-4, "{signal} {expected}");
        }
    }
}

/// A burst that is gone within an interval is no reason to drop (RFC 8289, section 3).
#[test]
fn a_burst_of_90_ms_passes() {
    let mut queue = codel(false, None);
    let mut signals = Signals::default();
    for round in 0..10 {
        let start = round * 200;
        for _ in 0..90 {
            queue.enqueue(millis(start), SimplePacket::new(1, 1000), &mut signals);
        }
        for tick in 0..90 {
            assert!(queue.dequeue(millis(start + tick), &mut signals).is_some());
        }
        assert_eq!(queue.dequeue(millis(start + 90), &mut signals), None);
    }
    assert!(signals.0.is_empty());
}

/// Up to `mtu` bytes behind a packet, it is not signalled however long it waited.
#[test]
fn the_last_packets_pass() {
    let mut queue = codel(false, None);
    let mut signals = Signals::default();
    for second in 0..20 {
        for _ in 0..2 {
            queue.enqueue(millis(1000 * second), SimplePacket::new(1, 1514), &mut signals);
        }
        for wait in [400, 800] {
            assert!(queue.dequeue(millis(1000 * second + wait), &mut signals).is_some());
        }
    }
    assert!(signals.0.is_empty());
}

/// A dropping state entered within 16 intervals of the last goes on at its rate; a later one starts anew.
#[test]
fn the_frequency_is_remembered_for_16_intervals() {
    for (pause, remembered) in [(1000, true), (3000, false)] {
        let mut queue = codel(false, None);
        let before = drain(&mut queue, false).0.len();
        assert!(before > 20);
        // Empty, which leaves the dropping state.
        while queue.dequeue(millis(1000), &mut ()).is_some() {}
        let again = 1000 + pause;
        let mut signals = Signals::default();
        for _ in 0..20_000 {
            queue.enqueue(millis(again), SimplePacket::new(1, 1000), &mut signals);
        }
        for tick in 0..2_500 {
            queue.dequeue(millis(again) + Duration::from_nanos(tick * 100_000), &mut signals);
        }
        // 145 ms: two drops of the first three from a fresh start, at 0 and 100 ms; more by far with the memory.
        let fresh = 2;
        assert_eq!(signals.0.len() > 2 * fresh, remembered, "{pause}: {}", signals.0.len());
        assert!(remembered || signals.0.len() == fresh, "{pause}: {}", signals.0.len());
    }
}

/// `ce_threshold` marks the packets that waited longer, and no others.
#[test]
fn the_ce_threshold_marks() {
    let mut queue = codel(false, Some(Duration::from_millis(1)));
    for id in 0..4 {
        let packet = SimplePacket::new(1, 1000).with_id(id);
        queue.enqueue(Time::ZERO, if id == 3 { packet } else { packet.with_ecn() }, &mut ());
    }
    let mut marked = |now| queue.dequeue(now, &mut ()).map(|packet| packet.marked);
    assert_eq!(marked(millis(1)), Some(false));
    assert_eq!(marked(Time::from_nanos(1_000_001)), Some(true));
    assert_eq!(marked(millis(3)), Some(true));
    assert_eq!(marked(millis(3)), Some(false));
}

/// Would catch values that only the text refuses.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let codel = CodelParameters::default();
    for (codel, key) in [
        (CodelParameters { target: Duration::ZERO, ..codel }, "target"),
        (CodelParameters { interval: Duration::ZERO, ..codel }, "interval"),
        (CodelParameters { mtu: Bytes::new(0), ..codel }, "mtu"),
        (CodelParameters { ce_threshold: Some(Duration::ZERO), ..codel }, "ce_threshold"),
    ] {
        let queue = Codel::<SimplePacket>::new(Config { codel, ..Config::default() }, Seed::new(1));
        assert_eq!(queue.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}
