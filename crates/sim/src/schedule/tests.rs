use fairlane_qdisc::{Duration, Seed, Time};

use super::*;
use crate::packet::{Flags, NO_SACK};
use crate::schedule::calendar::Calendar;
use crate::schedule::event_key::arrival_order;
use crate::schedule::link_events::LinkEvent;

fn packet(at: u64, flow: u32, seq: u32) -> Packet {
    let (sent, at, flags) = (Time::ZERO, Time::from_nanos(at), Flags::default());
    Packet { sent, at, flow, seq, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 }
}

/// Compares a port with a sorted list: packets in order and late ones from three sources, a few of them far out of
/// order. Would catch a packet that is lost, doubled or out of order, and a first arrival that is too late.
#[test]
fn packets_leave_a_port_in_order() {
    for events_per_second in [1e3, 1e7, 1e9] {
        let mut random = Seed::new(1).stream("port");
        let (mut port, mut list) = (Port::new(vec![0, 1, 2, 3], events_per_second), Vec::<Packet>::new());
        let (mut now, mut sent, mut beyond_lines) = (0, 0, 0);
        while sent < 20_000 || !list.is_empty() {
            now += u64::from(random.below(3));
            if sent < 20_000 && random.chance(0.55) {
                sent += 1;
                let source = random.below(3);
                let late = random.chance(0.3);
                let wait = if random.chance(0.05) { random.below(100_000) } else { 50 + 20 * u32::from(late) };
                let packet = packet(now + u64::from(wait), 10 * source + random.below(4), sent);
                let before = port.first();
                if port.push_behind(source, &packet, (packet.at, 0)) {
                    assert_eq!(port.first(), before);
                } else if port.insert(source, &packet) {
                    assert!(port.first().at <= packet.at);
                }
                beyond_lines += u32::from(port.calendar.len() > 0);
                let place = list.partition_point(|other| arrival_order(other, &packet).is_le());
                list.insert(place, packet);
            } else if !list.is_empty() {
                assert!(port.first().at <= list[0].at);
                if let Some(packet) = port.pop() {
                    // Of packets of a flow at the same time, any line may come first.
                    assert!(arrival_order(&packet, &list[0]).is_eq());
                    let place = list.iter().position(|other| *other == packet).expect("it was sent");
                    list.remove(place);
                }
            }
            assert_eq!(port.len(), list.len());
        }
        assert!(beyond_lines > 0, "the calendar was not used");
    }
}

/// Would catch a packet of which its link does not know, so that it would be handled late: each comes before all
/// others.
#[test]
fn a_link_knows_of_its_first_packet() {
    let lookahead = Duration::from_millis(1);
    let ports = Ports { links: vec![(vec![0], lookahead)], hosts: Vec::new(), early: Vec::new() };
    let mut schedule = Schedule::new(&ports, 1.0);
    for nanos in (1..=40).rev() {
        let at = Time::from_nanos(nanos);
        schedule.send(Line { port: 0, line: 0 }, &packet(nanos, 0, 0), (at, 0));
        assert_eq!((schedule.next_at(), schedule.lazy_links_before(at)), (at, vec![]));
        assert_eq!(schedule.lazy_links_before(at + Duration::from_nanos(1)), [0]);
    }
    // More than a line reaches: the others are in the calendar.
    assert_eq!(schedule.packets(), 40);
    let next = schedule.next_before(Time::MAX);
    assert!(matches!(next, Some((at, Next::Link(0))) if at == Time::from_nanos(1) + lookahead), "{next:?}");
}

/// Would catch packets of a flow that overtake each other in the calendar.
#[test]
fn the_calendar_keeps_the_order_of_equal_packets() {
    for events_per_second in [1e3, 1e9] {
        let mut calendar = Calendar::new(events_per_second);
        for seq in 0..100 {
            calendar.push(&packet(5_000, 7, seq));
        }
        let mut order = Vec::new();
        while calendar.len() > 0 {
            if let Some(packet) = calendar.front() {
                order.push(packet.seq);
                calendar.remove_first();
            }
        }
        assert!(order.iter().copied().eq(0..100), "{order:?}");
    }
}

/// Events at links in event order, arrivals at hosts and timers, drawn at equal times. Would catch an event that comes
/// before one whose key is smaller.
#[test]
fn events_come_by_their_keys() {
    let links = [0, 1, 2].map(|line| (vec![line], Duration::ZERO)).to_vec();
    let ports = Ports { links, hosts: vec![3], early: Vec::new() };
    let mut random = Seed::new(2).stream("keys");
    let mut schedule = Schedule::new(&ports, 1e6);
    for number in 0..3000 {
        let at = Time::from_nanos(u64::from(random.below(200)));
        match random.below(4) {
            0 => schedule.push(at, Target::Source(number)),
            1 => {
                let link = random.below(3);
                if schedule.links[link as usize].free == Time::MAX {
                    schedule.schedule_link(link, at, Time::MAX);
                }
            }
            2 => schedule.send(Line { port: random.below(3), line: 0 }, &packet(0, number, 0), (at, 0)),
            _ => schedule.send(Line { port: 3, line: 0 }, &packet(0, number, 0), (at, 0)),
        }
    }
    let (mut last, mut events) = (0, 0);
    while let Some((at, next)) = schedule.next_before(Time::MAX) {
        let key = match next {
            Next::Arrival(_, packet) => FirstArrival::of(&packet, 0).key(),
            Next::Timer(target) => event_key(at, target),
            Next::Link(link) => {
                let (mut events, mut port) = schedule.take_out(link);
                let event = events.next_before(at + Duration::from_nanos(1), port.first().at);
                let key = match event {
                    Some((_, LinkEvent::Arrival)) => port.pop().map(|packet| FirstArrival::of(&packet, 0).key()),
                    Some(_) => Some(event_key(at, Target::LinkFree(link))),
                    None => None,
                };
                schedule.put_back(link, events, port);
                let Some(key) = key else { continue };
                key
            }
        };
        assert!(last <= key, "{last:x} {key:x}");
        (last, events) = (key, events + 1);
    }
    assert!(events > 2000 && schedule.packets() == 0, "{events}");
}
