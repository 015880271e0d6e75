use super::*;
use crate::SimplePacket;

const STEP: Native = Native { from: Duration::from_millis(1), slope: f64::INFINITY, behind: 0 };

fn dual(pi: PiSettings, native: Native, classic_weight: i64, probability: f64) -> DualPi2<SimplePacket> {
    let settings =
        Settings { room: Room::new(packets(10_000), u64::MAX), pi, drop_overload: true, native, classic_weight };
    let mut queue = DualPi2::new(settings, Seed::new(1));
    queue.core = PiCore::new(pi).with(probability, 0.0);
    queue
}

fn classic(bytes: u32) -> SimplePacket {
    SimplePacket::new(1, bytes)
}

fn scalable(bytes: u32) -> SimplePacket {
    SimplePacket::new(2, bytes).with_l4s()
}

/// Drops and marks of 1000 packets that pass through at once.
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

/// RFC 9332, section 2.1: p_CL = k p' and p_C = p'^2, evenly spread, so exact to one signal.
#[test]
fn signals_are_coupled() {
    for (p, of_classic, of_scalable) in [(0.0, 0_u64, 0_u64), (0.05, 2, 100), (0.1, 10, 200), (0.3, 90, 600)] {
        let mut queue = dual(PiSettings::FROZEN, STEP, 10, p);
        let exact = |(dropped, marked): (u64, u64), drops: u64, marks: u64| {
            assert!(dropped.abs_diff(drops) <= 1 && marked.abs_diff(marks) <= 1, "{p}: {dropped} {marked}");
        };
        exact(signals(&mut queue, classic(1000)), of_classic, 0);
        exact(signals(&mut queue, classic(1000).with_ecn()), 0, of_classic);
        exact(signals(&mut queue, scalable(1000)), 0, of_scalable);
    }
}

/// RFC 9332, appendix A.2: from p_CL = 1 on all are dropped with p'^2, and scalable packets that are left are marked.
#[test]
fn overload_drops_all_alike() {
    let mut queue = dual(PiSettings::FROZEN, STEP, 10, 0.6);
    for (packet, marks) in [(classic(1000), 0), (classic(1000).with_ecn(), 0), (scalable(1000), 640)] {
        let (dropped, marked) = signals(&mut queue, packet);
        assert!(dropped.abs_diff(360) <= 2 && marked.abs_diff(marks) <= 2, "{dropped} {marked}");
    }
}

/// RFC 9332, appendix A.1: the ramp is 0 up to 0.8 ms, a half at 1 ms and 1 from 1.2 ms on; a lone packet is spared.
#[test]
fn the_l_queue_marks_by_its_own_delay() {
    let ramp = Native { from: Duration::from_nanos(800_000), slope: 1.0 / 400_000.0, behind: 1 };
    for (micros, likelihood) in [(0, 0.0), (799, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1200, 1.0), (5000, 1.0)] {
        let waited = Duration::from_nanos(1000 * micros);
        assert!((ramp.likelihood(waited, 1) - likelihood).abs() < 1e-12, "{micros}");
        assert!(ramp.likelihood(waited, 0) == 0.0);
        assert!(STEP.likelihood(waited, 0) == f64::from(u8::from(micros >= 1000)));
    }
    // A classic packet that waits as long is not marked by it.
    let mut queue = dual(PiSettings::FROZEN, STEP, 10, 0.0);
    queue.enqueue(Time::ZERO, scalable(1000), &mut ());
    queue.enqueue(Time::ZERO, scalable(1000), &mut ());
    queue.enqueue(Time::ZERO, classic(1000).with_ecn(), &mut ());
    let mut marked = || queue.dequeue(Time::from_nanos(2_000_000), &mut ()).map(|packet| packet.marked);
    // The sum must exceed 1: the first full likelihood only fills it.
    assert_eq!([marked(), marked(), marked()], [Some(false), Some(true), Some(false)]);
}

/// Section 4.2.2 of RFC 9332: the classic queue gets its share of bytes beside a busy L queue, and each gets all that the
/// other leaves.
#[test]
fn the_classic_queue_is_protected() {
    for percent in [0_i64, 10, 50, 100] {
        let mut queue = dual(PiSettings::FROZEN, STEP, percent, 0.0);
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
        assert!((share - percent as f64 / 100.0).abs() < 0.001, "{percent}: {share}");
    }
}

/// Between idle times the L queue goes first, and what one queue sent alone is not held against it.
#[test]
fn an_idle_queue_starts_afresh() {
    let mut queue = dual(PiSettings::FROZEN, STEP, 10, 0.0);
    for _ in 0..1000 {
        queue.enqueue(Time::ZERO, scalable(1500), &mut ());
        queue.dequeue(Time::ZERO, &mut ());
    }
    queue.enqueue(Time::ZERO, classic(1500), &mut ());
    queue.enqueue(Time::ZERO, scalable(1500), &mut ());
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()).map(|packet| packet.l4s), Some(true));
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()).map(|packet| packet.l4s), Some(false));
    assert_eq!(queue.dequeue(Time::ZERO, &mut ()), None);
    assert_eq!(queue.credit, first_credit(&queue.settings));
}
