//! RACK compared with sets of single segments.

use fairlane_qdisc::Seed;
use fairlane_scenario::{Congestion, Tcp};

use super::super::super::SackBlocks;
use super::*;

/// Compares with sets of single segments, for any acknowledgements, timers, and copies of any outstanding segment, even
/// of one that has arrived: a segment has arrived from the first acknowledgement that reports it, and a lost one is
/// lost until it is sent again or arrives. Would catch a count or a flag of a segment that differs from these sets, and
/// an arrival that is forgotten or counted twice.
#[test]
fn flags_and_counts_are_those_of_sets() {
    let mut random = Seed::new(1).stream("rack");
    for _ in 0..200 {
        let mut state = SenderState::new(&Tcp::modern(Congestion::Reno, 40), 0, None);
        state.supplied = u32::MAX;
        let (mut rack, mut arrived, mut losses) = (Rack::default(), BTreeSet::new(), 0);
        for step in 0..200 {
            let clock = Clock {
                now: Time::from_nanos(step * 1_000_000),
                srtt: Some(Duration::from_millis(20)),
                deadline: None,
            };
            let before = rack.lost.clone();
            let mut sent = Vec::new();
            match random.below(8) {
                0 if state.una < state.max => {
                    rack.on_timeout(&mut state, clock);
                    state.fast_from = state.max;
                }
                // A copy of any outstanding segment.
                1 if state.una < state.max => sent.push(state.una + random.below(state.max - state.una)),
                2 => {
                    if let Alarm::Probe(seq) = rack.on_alarm(&mut state, clock) {
                        sent.push(seq);
                    }
                }
                3..6 => {
                    let outstanding = state.max - state.una;
                    let near = |byte: u32| state.una + byte % (outstanding + 2);
                    let mut sack = SackBlocks::default();
                    (0..3).for_each(|_| sack.push(near(random.below(64)), near(random.below(64))));
                    let acked = if random.chance(0.3) { random.below(outstanding + 1).min(4) } else { 0 };
                    let next = state.una + acked;
                    let valid = sack.as_slice().iter().filter(|block| block.0 > next && block.1 <= state.max);
                    let reported: BTreeSet<u32> =
                        (state.una..next).chain(valid.flat_map(|block| block.0..block.1)).collect();
                    let new = reported.difference(&arrived).count();
                    arrived.extend(reported);
                    arrived.retain(|seq| *seq >= next);
                    (state.una, state.next) = (next, state.next.max(next));
                    let ack = Ack { next, sack, ece: false, ace: 0, echo: Time::ZERO, delay: None };
                    rack.note(&mut state, ack, clock.now);
                    assert_eq!(rack.delivered as usize, new);
                    if acked > 0 {
                        rack.on_advance(&mut state, AckSample { acked, ..AckSample::default() }, true);
                    }
                    rack.after_ack(&mut state, clock);
                }
                _ => {
                    for _ in 0..rack.room(&state) {
                        let Some(seq) = rack.pick(&mut state) else { break };
                        assert!(!arrived.contains(&seq), "{seq} has arrived");
                        state.max = state.max.max(seq + 1);
                        rack.on_send(&state, seq, clock);
                    }
                }
            }
            for seq in sent {
                state.max = state.max.max(seq + 1);
                rack.on_send(&state, seq, clock);
                assert!(!rack.lost.contains(&seq), "{seq} has been sent again");
            }
            losses += rack.lost.difference(&before).count();
            let outstanding = || state.una..state.max;
            let flags = |flag: fn(&Outstanding) -> bool| {
                outstanding().zip(&rack.segments).filter(move |(_, segment)| flag(segment)).map(|(seq, _)| seq)
            };
            assert_eq!(flags(|segment| segment.arrived).collect::<BTreeSet<_>>(), arrived);
            assert_eq!(flags(|segment| segment.lost).collect::<BTreeSet<_>>(), rack.lost);
            assert_eq!(rack.lost.intersection(&arrived).count(), 0);
            assert_eq!(rack.arrived(&state) as usize, arrived.len());
            let elsewhere = outstanding().filter(|seq| !arrived.contains(seq) && !rack.lost.contains(seq));
            assert_eq!(rack.in_flight(&state) as usize, elsewhere.count());
        }
        assert!(losses > 0, "nothing was lost");
    }
}
