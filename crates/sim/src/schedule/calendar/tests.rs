//! Packets that waited, compared with a sorted list.

use fairlane_qdisc::Seed;

use super::*;
use crate::packet::{Flags, NO_SACK};

fn packet(nanos: u64, flow: u32, seq: u32) -> Packet {
    let (sent, at, flags) = (Time::ZERO, Time::from_nanos(nanos), Flags::default());
    Packet { sent, at, flow, seq, bytes: 1, route: 3, sack: NO_SACK, flags, class: 0 }
}

/// Compares with a sorted list, with packets on the same nanosecond, days and far beyond the calendar, few and thousands. Would catch a packet
/// that is lost or out of order, in the calendar, beyond it, as days become longer, or more and shorter, and where packets have been announced.
#[test]
fn packets_that_waited_come_out_in_order() {
    for (reach, far, pushed) in [
        (300, 0.0, 0.5),
        (30_000, 0.01, 0.5),
        (3_000_000, 0.1, 0.5),
        (200_000_000, 0.5, 0.5),
        (300, 0.0, 0.6),
        (30_000, 0.0, 0.6),
        (3_000_000, 0.1, 0.8),
    ] {
        let mut random = Seed::new(1).stream("waited");
        let (mut waited, mut list) = (WaitedPackets::default(), Vec::<Packet>::new());
        let mut now = 5_000_000_000;
        for seq in 0..20_000 {
            if random.chance(pushed) {
                let wait = if random.chance(far) { 100 * u64::from(reach) } else { u64::from(random.below(reach)) };
                let packet = packet(now + wait - wait % 7, random.below(50), seq);
                let place = list.partition_point(|other| order(other, &packet).is_le());
                list.insert(place, packet);
                let is_first = waited.push(&packet);
                assert_eq!(is_first, place == 0);
            } else if list.is_empty() {
                assert_eq!(waited.front(), None);
                assert_eq!(waited.take_first(), None);
            } else {
                assert_eq!(waited.front(), list.first());
                waited.announce(&mut |_| ());
                let packet = list.remove(0);
                assert_eq!(waited.take_first(), Some(packet));
                now = packet.at.as_nanos();
            }
            assert_eq!(waited.len(), list.len());
            let (first, least) =
                (waited.first(), list.first().map_or((Time::MAX, 0), |packet| (packet.at, packet.flow)));
            assert_eq!((first.at, first.flow), least);
        }
        // At most 12,000 packets wait, or 4,000, or few.
        let days = [DAYS, 512, 2048][usize::from(pushed > 0.5) + usize::from(pushed > 0.7)];
        assert_eq!(waited.days.len(), days, "{reach}, {pushed}");
        // A few far ones do not make the days of all others longer.
        assert!(days > DAYS || (waited.shift > FIRST_SHIFT) == (reach > 30_000), "{reach}");
        assert_eq!(waited.into_packets().collect::<Vec<_>>(), list);
    }
}

/// Of packets in the calendar each is announced once, several at a time, and before it is taken; the days begin anew after the last one. Would catch
/// what costs time and changes no result: packets that are not announced, in their order, or are again and again.
#[test]
fn each_packet_is_announced_once() {
    let mut random = Seed::new(2).stream("waited");
    let (mut waited, mut near, mut taken) = (WaitedPackets::default(), Vec::new(), Vec::new());
    for round in 0..3_u64 {
        // The calendar has 262 microseconds, and each round is 100.
        for seq in 0..100 {
            // The first one is the earliest, so that the calendar reaches all.
            let within = if seq == 0 { 0 } else { u64::from(random.below(100_000)) };
            waited.push(&packet(1_000_000 + 100_000 * round + within, 1, 100 * round as u32 + seq));
        }
        while waited.len() > 0 {
            waited.announce(&mut |packet| near.push(packet.seq));
            assert_eq!(waited.near().map(|packet| packet.seq), near.get(taken.len() + NEAR).copied());
            taken.extend(waited.take_first().map(|packet| packet.seq));
            assert!(near.len() >= taken.len() && near.len() < taken.len() + FAR);
        }
        assert_eq!(near, taken);
        waited.announce(&mut |_| panic!("there is none"));
    }
}

/// Two packets of a flow arrive on the same nanosecond, and the calendar reaches it only when the second one is sent. Would catch that the
/// second one comes first.
#[test]
fn the_first_one_sent_is_the_first_of_equal_ones() {
    let push = |waited: &mut WaitedPackets, seq, nanos| waited.push(&packet(nanos, 1, seq));
    let taken = |waited: &mut WaitedPackets| waited.take_first().map(|packet| packet.seq);
    let mut waited = WaitedPackets::default();
    // The calendar has 262 microseconds.
    push(&mut waited, 0, 10_000);
    push(&mut waited, 1, 300_000);
    push(&mut waited, 2, 200_000);
    assert_eq!([taken(&mut waited), taken(&mut waited)], [Some(0), Some(2)]);
    push(&mut waited, 3, 300_000);
    push(&mut waited, 4, 250_000);
    assert_eq!((waited.in_calendar, waited.distant.len()), (2, 1));
    assert_eq!([(); 4].map(|()| taken(&mut waited)), [Some(4), Some(1), Some(3), None]);
}

/// Each packet comes before all others, while days are divided several times. Would catch a packet that is first and not announced, because
/// it is the one for which days are divided: it would arrive late.
#[test]
fn the_first_one_is_announced_as_days_are_divided() {
    let mut waited = WaitedPackets::default();
    waited.push(&packet(1_000_000, 1, 0));
    let others = (0..10_000).map(|seq| waited.push(&packet(1_010_000 - u64::from(seq), 1, seq)));
    assert_eq!(others.filter(|is_first| *is_first).count(), 0);
    assert!((0..20_000).all(|seq| waited.push(&packet(999_999 - u64::from(seq), 1, seq))));
    assert!(waited.days.len() > 4 * DAYS);
}

/// A thousand packets arrive on the same nanosecond, again and again, each time on another day. Would catch days that keep the memory of their
/// largest burst, which for many days is hundreds of times as much as ever waited.
#[test]
fn memory_of_bursts_is_returned() {
    let mut waited = WaitedPackets::default();
    for burst in 0..1_000 {
        let first = (0..1_000).filter(|seq| waited.push(&packet(1_000_000 + burst * 1_000_003, 1, *seq)));
        assert_eq!(first.count(), 1);
        (0..1_000).for_each(|_| waited.remove_first());
    }
    let memory: usize = waited.days.iter().map(Vec::capacity).sum();
    assert!(memory < 10 * 1_000, "{memory}");
}
