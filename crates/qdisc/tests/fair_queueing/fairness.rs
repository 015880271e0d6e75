//! Random traffic, and the check of a fairness bound over all intervals.

use std::collections::BTreeMap;

use fairlane_qdisc::{SimplePacket, Stream};

use crate::link::{BYTE_NANOS, Sent};

/// Checks that, over every interval in which two flows are backlogged, their service per weight differs by no more than
/// the largest packet of each per its weight, and `slack` bytes.
pub(crate) fn check_fairness(
    sent: &[Sent],
    backlogged: &[BTreeMap<u64, bool>],
    weight: impl Fn(u64) -> f64,
    slack: f64,
) {
    let flows: Vec<u64> = backlogged.iter().flat_map(|row| row.keys().copied()).collect();
    let (least, most) = (flows.iter().min().copied().unwrap_or(0), flows.iter().max().copied().unwrap_or(0));
    let largest = |flow: u64| {
        let sizes = sent.iter().filter(|s| s.packet.flow == flow).map(|s| f64::from(s.packet.bytes));
        sizes.fold(0.0, f64::max) / weight(flow)
    };
    let mut intervals = 0;
    for i in least..=most {
        for j in i + 1..=most {
            let bound = largest(i) + largest(j) + slack;
            for from in 0..sent.len() {
                let mut ahead = 0.0;
                for (s, row) in sent[from..].iter().zip(&backlogged[from..]) {
                    if row.get(&i) != Some(&true) || row.get(&j) != Some(&true) {
                        break;
                    }
                    let served = f64::from(s.packet.bytes);
                    ahead += if s.packet.flow == i { served / weight(i) } else { 0.0 };
                    ahead -= if s.packet.flow == j { served / weight(j) } else { 0.0 };
                    assert!(ahead.abs() <= bound + 1e-6, "flows {i} and {j} differ by {ahead}, above {bound}");
                    intervals += 1;
                }
            }
        }
    }
    assert!(intervals > 10_000, "only {intervals} intervals were checked");
}

/// Returns the traffic class of a flow in these tests, which gives weights 1 to 4 in turn.
pub(crate) const fn class_of(flow: u64) -> u8 {
    (flow % 4 * 64) as u8
}

/// Returns the weight of the class of a flow.
pub(crate) const fn weight_of(flow: u64) -> f64 {
    (1 + flow % 4) as f64
}

/// Returns random arrivals of flows 0 to 4. Their loads differ, some flows start late and some pause.
pub(crate) fn traffic(chance: &mut Stream, packets: u64) -> Vec<(u64, SimplePacket)> {
    let mut arrivals = Vec::new();
    for flow in 0..5_u64 {
        let mut at = u64::from(chance.below(60_000_000));
        for id in 0..packets {
            let bytes = 40 + chance.below(1461);
            arrivals.push((at, SimplePacket::new(flow, bytes).with_class(class_of(flow)).with_id(id)));
            let burst = chance.below(10) != 0;
            at += u64::from(if burst { chance.below(16_000_000) } else { chance.below(160_000_000) });
        }
    }
    arrivals.sort_by_key(|(at, packet)| (*at, packet.flow));
    arrivals
}

/// Returns for each departure which flows were backlogged just before it.
pub(crate) fn backlogged(sent: &[Sent], arrivals: &[(u64, SimplePacket)]) -> Vec<BTreeMap<u64, bool>> {
    let mut counts: BTreeMap<u64, i64> = arrivals.iter().map(|(_, packet)| (packet.flow, 0)).collect();
    let mut next = arrivals.iter().peekable();
    let mut rows = Vec::new();
    for s in sent {
        let began = s.end - u64::from(s.packet.bytes) * BYTE_NANOS;
        while let Some((_, packet)) = next.next_if(|(at, _)| *at <= began) {
            *counts.entry(packet.flow).or_default() += 1;
        }
        rows.push(counts.iter().map(|(&flow, &count)| (flow, count > 0)).collect());
        *counts.entry(s.packet.flow).or_default() -= 1;
    }
    rows
}
