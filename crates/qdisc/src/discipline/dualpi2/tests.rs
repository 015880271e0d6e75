use super::*;
use crate::{AnyConfig, Kind, QdiscParameters, Rate, SimplePacket};

fn dual(classic_protection: u32, probability: f64) -> DualPi2<SimplePacket> {
    let pi = pi2::PiParameters::frozen();
    let queue = DualPi2::new(Config { pi, classic_protection, ..Config::default() }, Seed::new(1));
    let mut queue = queue.unwrap_or_else(|error| panic!("{error}"));
    queue.core = PiCore::new(pi).with(probability, 0.0);
    queue
}

fn classic(bytes: u32) -> SimplePacket {
    SimplePacket::new(1, bytes)
}

fn scalable(bytes: u32) -> SimplePacket {
    SimplePacket::new(2, bytes).with_l4s()
}

/// Returns the numbers of drops and marks among 1000 packets, each dequeued at once.
fn signals(queue: &mut DualPi2<SimplePacket>, packet: SimplePacket) -> (u64, u64) {
    let before = queue.counters().clone();
    for _ in 0..1000 {
        queue.enqueue(Time::ZERO, packet, &mut ());
        queue.dequeue(Time::ZERO, &mut ());
    }
    let after = queue.counters();
    let reason = Reason::AqmDequeue;
    (
        after.dropped(reason).packets - before.dropped(reason).packets,
        after.marked(reason).packets - before.marked(reason).packets,
    )
}

/// Linux's rule by hand: the controller signals no packet that leaves less than 3028 bytes behind, in both queues, at
/// any p'; the step marks all the same. Would catch a rule for one queue's bytes alone.
#[test]
fn the_last_packets_are_spared() {
    for (behind, spared) in [([0, 0], true), ([1514, 1513], true), ([1514, 1514], false), ([0, 3028], false)] {
        let mut queue = dual(10, 0.3);
        queue.spare = 2 * MTU;
        let [of_scalable, of_classic] = behind;
        for packet in [scalable(of_scalable), classic(of_classic)].into_iter().filter(|packet| packet.bytes() > 0) {
            queue.enqueue(Time::ZERO, packet, &mut ());
        }
        let dropped = (0..100).any(|_| queue.test_classic(false) == PiVerdict::Drop);
        let marked = (0..100).any(|_| queue.test_scalable(Duration::ZERO) == PiVerdict::Mark);
        assert_eq!((dropped, marked), (!spared, !spared), "{behind:?}");
        let late = (0..100).map(|_| queue.test_scalable(Duration::from_millis(1)));
        assert!(late.skip(1).all(|verdict| verdict == PiVerdict::Mark), "{behind:?}");
    }
}

/// p_CL = k p' and p_C = p'^2 (RFC 9332, section 2.1), evenly spread, so exact to one signal.
#[test]
fn signals_are_coupled() {
    for (p, of_classic, of_scalable) in [(0.0, 0_u64, 0_u64), (0.05, 2, 100), (0.1, 10, 200), (0.3, 90, 600)] {
        let mut queue = dual(10, p);
        let exact = |(dropped, marked): (u64, u64), drops: u64, marks: u64| {
            assert!(dropped.abs_diff(drops) <= 1 && marked.abs_diff(marks) <= 1, "{p}: {dropped} {marked}");
        };
        exact(signals(&mut queue, classic(1000)), of_classic, 0);
        exact(signals(&mut queue, classic(1000).with_ecn()), 0, of_classic);
        exact(signals(&mut queue, scalable(1000)), 0, of_scalable);
    }
}

/// From p_CL = 1 on packets of both queues are dropped with p'^2, and the other scalable packets are marked (RFC 9332,
/// appendix A.2).
#[test]
fn overload_drops_all_alike() {
    let mut queue = dual(10, 0.6);
    for (packet, marks) in [(classic(1000), 0), (classic(1000).with_ecn(), 0), (scalable(1000), 640)] {
        let (dropped, marked) = signals(&mut queue, packet);
        assert!(dropped.abs_diff(360) <= 2 && marked.abs_diff(marks) <= 2, "{dropped} {marked}");
    }
}

/// The ramp is 0 up to 0.8 ms, a half at 1 ms and 1 from 1.2 ms on, and a lone packet is spared (RFC 9332, appendix
/// A.1).
#[test]
fn the_l_queue_marks_by_its_own_delay() {
    let step = NativeMarks::new(Laqm::default(), 0);
    let (min, range) = (Duration::from_nanos(800_000), Duration::from_nanos(400_000));
    let ramp = NativeMarks::new(Laqm::Ramp { min, range }, 1);
    for (micros, likelihood) in [(0, 0.0), (799, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (5000, 1.0)] {
        let waited = Duration::from_nanos(1000 * micros);
        assert!((ramp.likelihood(waited, 1) - likelihood).abs() < 1e-12, "{micros}");
        assert!(ramp.likelihood(waited, 0) == 0.0);
        assert!(step.likelihood(waited, 0) == f64::from(u8::from(micros >= 1000)));
    }
    // The ramp and the step do not mark a classic packet that waits as long.
    let mut queue = dual(10, 0.0);
    queue.enqueue(Time::ZERO, scalable(1000), &mut ());
    queue.enqueue(Time::ZERO, scalable(1000), &mut ());
    queue.enqueue(Time::ZERO, classic(1000).with_ecn(), &mut ());
    let mut marked = || queue.dequeue(Time::from_nanos(2_000_000), &mut ()).map(|packet| packet.marked);
    // The sum of likelihoods must exceed 1, which the first alone does not.
    assert_eq!([marked(), marked(), marked()], [Some(false), Some(true), Some(false)]);
}

/// The classic queue gets its share of bytes with a busy L queue, and each gets all that the other leaves (RFC 9332,
/// section 4.2.2).
#[test]
fn the_classic_queue_is_protected() {
    for percent in [0_u32, 10, 50, 100] {
        let mut queue = dual(percent, 0.0);
        let mut bytes = [0_u64; 2];
        for _ in 0..20_000 {
            while queue.classic.fifo.packets() < 3 {
                queue.enqueue(Time::ZERO, classic(1500), &mut ());
            }
            while queue.scalable.fifo.packets() < 3 {
                queue.enqueue(Time::ZERO, scalable(300), &mut ());
            }
            if let Some(packet) = queue.dequeue(Time::ZERO, &mut ()) {
                bytes[usize::from(packet.l4s)] += u64::from(packet.bytes);
            }
        }
        let share = bytes[0] as f64 / (bytes[0] + bytes[1]) as f64;
        assert!((share - f64::from(percent) / 100.0).abs() < 0.001, "{percent}: {share}");
    }
}

/// After an idle time the L queue is served first; packets that a queue sent while the other was empty do not count.
#[test]
fn an_idle_queue_starts_afresh() {
    let mut queue = dual(10, 0.0);
    for _ in 0..1000 {
        queue.enqueue(Time::ZERO, scalable(1500), &mut ());
        queue.dequeue(Time::ZERO, &mut ());
    }
    queue.enqueue(Time::ZERO, classic(1500), &mut ());
    queue.enqueue(Time::ZERO, scalable(1500), &mut ());
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()).map(|packet| packet.l4s), Some(true));
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()).map(|packet| packet.l4s), Some(false));
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()), None);
    assert_eq!(queue.credit, first_credit(queue.classic_weight));
}

/// Would catch values that only the text refuses.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let rate = Rate::from_bits_per_second(0);
    let text = QdiscParameters::new(Kind::DualPi2);
    let default = Config::default();
    let laqm = Laqm::Ramp { min: Duration::from_nanos(800_000), range: Duration::from_nanos(400_000) };
    let ramp = Config { laqm, min_qlen_step: 1, ..default };
    assert_eq!(text.with("laqm", "ramp")?.resolve(rate)?.config(), &AnyConfig::DualPi2(ramp));
    let pi = pi2::PiParameters { target: Duration::ZERO, ..default.pi };
    for (config, key) in [
        (Config { pi, ..default }, "target"),
        (Config { laqm: Laqm::Step { threshold: Duration::ZERO }, ..default }, "step_thresh"),
        (Config { classic_protection: 101, ..default }, "classic_protection"),
    ] {
        let queue = DualPi2::<SimplePacket>::new(config, Seed::new(1));
        assert_eq!(queue.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}
