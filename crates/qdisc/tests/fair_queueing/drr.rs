//! Deficit Round Robin.

use fairlane_qdisc::{Kind, Qdisc, Seed, SimplePacket, Time};

use crate::fairness::{backlogged, check_fairness, class_of, weight_of};
use crate::link::{BYTE_NANOS, LONG, Outcome, backlog, build, flows_of, send};

/// Shreedhar and Varghese, theorem 3: over any interval in which two flows are backlogged, their service differs by at
/// most the quantum and a largest packet of each; over intervals from the start, by the quantum and one largest packet.
/// Would catch turns that are too long, too short or out of order.
#[test]
fn drr_is_fair_in_bytes() -> Outcome {
    let mut chance = Seed::new(5).stream("sizes");
    for (quantum, weighted) in [(1500, false), (1000, false), (300, false), (1500, true), (40, true)] {
        let weight = |flow: u64| if weighted { weight_of(flow) } else { 1.0 };
        let mut arrivals = Vec::new();
        for (flow, sizes) in [(0, 40..=40), (1, 576..=576), (2, 1500..=1500), (3, 40..=1500), (4, 1000..=1000)] {
            let (least, most): (u32, u32) = sizes.into_inner();
            arrivals.extend(backlog(flow, class_of(flow), 400, || least + chance.below(most - least + 1)));
        }
        let quantum_text = format!("{quantum}b");
        let mut queue = build(Kind::Drr, &[LONG, ("quantum", &quantum_text), ("weighted", &weighted.to_string())])?;
        let (mut sent, _) = send(&mut queue, &arrivals, 200 * 1500 * BYTE_NANOS);
        let rows = backlogged(&sent, &arrivals);
        let always = rows.iter().position(|row| row.values().any(|backlogged| !backlogged)).unwrap_or(rows.len());
        sent.truncate(always);
        check_fairness(&sent, &rows, weight, f64::from(quantum));
        let mut bytes = [0.0; 5];
        for s in &sent {
            bytes[s.packet.flow as usize] += f64::from(s.packet.bytes) / weight(s.packet.flow);
            let (least, most) = bytes.iter().fold((f64::MAX, 0.0), |(l, m): (f64, f64), &b| (l.min(b), m.max(b)));
            assert!(most - least <= f64::from(quantum) + 1500.0, "{bytes:?}");
        }
        assert!(bytes[0] > 3000.0);
    }
    Ok(())
}

/// Would catch a flow that sends before its deficit counter is large enough, and one that loses its counter between
/// turns.
#[test]
fn a_packet_larger_than_the_quantum_takes_several_rounds() -> Outcome {
    let mut queue = build(Kind::Drr, &[LONG, ("quantum", "1000b")])?;
    let mut arrivals = backlog(1, 0, 30, || 1000);
    arrivals.extend(backlog(2, 0, 3, || 9000));
    let (sent, _) = send(&mut queue, &arrivals, u64::MAX);
    let expected: Vec<u64> = [1, 1, 1, 1, 1, 1, 1, 1, 1, 2].into_iter().cycle().take(30).chain([1, 1, 1]).collect();
    assert_eq!(flows_of(&sent), expected);
    // Without other flows, all rounds pass at once.
    let mut queue = build(Kind::Drr, &[("limit", "9gb"), ("quantum", "1b")])?;
    queue.enqueue(Time::ZERO, SimplePacket::new(1, u32::MAX), &mut ());
    assert!(queue.dequeue(Time::ZERO, &mut ()).is_some());
    Ok(())
}

/// Would catch a deficit counter that is kept when the queue is empty: flow 1 would have 1400 bytes left and send two
/// packets in one turn.
#[test]
fn a_deficit_does_not_outlive_the_backlog() -> Outcome {
    let mut queue = build(Kind::Drr, &[LONG, ("quantum", "1500b")])?;
    queue.enqueue(Time::ZERO, SimplePacket::new(1, 100), &mut ());
    queue.dequeue(Time::ZERO, &mut ());
    let mut arrivals = backlog(1, 0, 2, || 1000);
    arrivals.extend(backlog(2, 0, 2, || 1500));
    assert_eq!(flows_of(&send(&mut queue, &arrivals, u64::MAX).0), [1, 2, 1, 2]);
    Ok(())
}
