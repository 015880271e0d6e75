use std::collections::HashMap;

use fairlane_qdisc::{Seed, Stream};

use super::*;
use crate::nfqueue::PacketMessage;
use crate::packet::classifier::Classifier;
use crate::packet::link_layer::LinkLayer;
use crate::shaper::queued_packet::Marking;

/// Returns a UDP packet of 100 bytes, whose source address and port are derived from `flow`.
fn packet(classifier: &Classifier, flow: u32) -> QueuedPacket {
    let [_, high, core, low] = flow.to_be_bytes();
    let mut header = [0x45, 2, 0, 0, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 0, 10, 0, 1, 1, 0, 0, 0, 80, 0, 0, 0, 0];
    header[13..16].copy_from_slice(&[high, core, low]);
    header[20..22].copy_from_slice(&[core, low]);
    let queued = PacketMessage { queue: 0, id: flow, mark: 0, payload: &header, bytes: 100, gso: false, hosts: None };
    QueuedPacket::new(&queued, classifier, Marking::ByRule(1))
}

fn name(flow: u32) -> String {
    let [_, high, core, low] = flow.to_be_bytes();
    format!("udp/10.{high}.{core}.{low}:{}>10.0.1.1:80", u16::from_be_bytes([core, low]))
}

/// Draws one of 2^`bits` flows, with a probability of about 1/n for flow n.
fn skewed(random: &mut Stream, bits: u32) -> u32 {
    let most = 2 << random.below(bits);
    random.below(most)
}

/// Compares with an exact count, over traffic in which every entry may be replaced. Checks the bounds of the paper.
/// Would catch a count that is not inherited, one that is lost with its flow, and an entry that is stored under the
/// wrong key.
#[test]
fn counts_are_within_the_bounds_of_space_saving() {
    for flows in [6, 12, 20] {
        let (classifier, mut table) =
            (Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()), TopFlows::new(FlowsBy::FiveTuple));
        let mut random = Seed::new(11).stream("losses");
        let (mut exact, mut losses) = (HashMap::<String, u64>::new(), 0_u64);
        for _ in 0..200_000 {
            let flow = skewed(&mut random, flows);
            let packet = packet(&classifier, flow);
            let what = random.below(4);
            match what {
                0 => table.arrived(Time::ZERO, &packet),
                1 => table.marked(&packet, Reason::Early),
                _ => table.dropped(Time::ZERO, &packet, Reason::MatchVictim),
            }
            if what > 0 {
                losses += 1;
                *exact.entry(name(flow)).or_default() += 1;
            }
        }
        let bound = losses / CAPACITY as u64;
        assert_eq!(table.find_least().1, *table.counts.iter().min().unwrap(), "{flows}");
        let told: HashMap<String, TopFlow> =
            table.heaviest().into_iter().map(|flow| (flow.name.to_string(), flow)).collect();
        assert_eq!(told.len(), CAPACITY.min(exact.len()), "{flows}");
        for (name, flow) in &told {
            let lost = exact[name];
            assert!(flow.lost() <= lost && lost <= flow.lost() + flow.missed, "{flows}, {name}: {lost} {flow:?}");
            assert!(flow.missed <= bound, "{flows}, {name}: {flow:?}");
        }
        let heavy: Vec<&String> = exact.iter().filter(|(_, lost)| **lost > bound).map(|(name, _)| name).collect();
        assert!(heavy.len() > 3, "{flows}: the traffic has to have heavy flows");
        heavy.iter().for_each(|name| assert!(told.contains_key(*name), "{flows}: {name} has no place"));
    }
}

/// Would catch an event that is not counted for a flow in the table, and a flow without losses that enters it.
#[test]
fn a_flow_that_lost_is_followed() {
    let (classifier, mut table) =
        (Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()), TopFlows::new(FlowsBy::FiveTuple));
    let [light, heavy, quiet] = [1, 2, 3].map(|flow| packet(&classifier, flow));
    table.arrived(Time::ZERO, &heavy);
    for _ in 0..3 {
        table.dropped(Time::ZERO, &heavy, Reason::MatchArrival);
        table.dropped(Time::ZERO, &heavy, Reason::MatchVictim);
    }
    table.marked(&light, Reason::Early);
    for packet in [&heavy, &light, &quiet] {
        table.arrived(Time::ZERO, packet);
        table.departed(Time::ZERO, packet, Time::ZERO);
    }
    let told = table.heaviest();
    let words: Vec<(String, u64, u64, u64)> =
        told.iter().map(|flow| (flow.name.to_string(), flow.lost(), flow.matched(), flow.missed)).collect();
    assert_eq!(words, [(name(2), 6, 6, 0), (name(1), 1, 0, 0)]);
    // The arrival before the first loss was not counted.
    let counters = &told[0].counters;
    assert_eq!((counters.arrived.packets, counters.departed.packets, counters.departed.bytes), (1, 1, 100));
    assert_eq!((counters.dropped(Reason::MatchVictim).bytes, counters.dropped_total().packets), (300, 6));
}

/// A flood from forged addresses. Would catch memory that grows with the number of flows, and a flow with the most
/// losses that is pushed out.
#[test]
fn a_hundred_thousand_flows_use_no_memory() {
    let (classifier, mut table) =
        (Classifier::new(FlowsBy::FiveTuple, LinkLayer::default()), TopFlows::new(FlowsBy::FiveTuple));
    let heavy = packet(&classifier, 0);
    let measured = allocation_counter::measure(|| {
        for flow in 1..=100_000 {
            table.dropped(Time::ZERO, &packet(&classifier, flow), Reason::Limit);
            if flow % 50 == 0 {
                table.dropped(Time::ZERO, &heavy, Reason::MatchVictim);
            }
        }
    });
    assert_eq!(measured.count_total, 0);
    // 2,000 of 102,000 losses are more than 1/128.
    let first = &table.heaviest()[0];
    assert_eq!(first.name.to_string(), name(0));
    assert!(first.lost() <= 2000 && 2000 <= first.lost() + first.missed, "{first:?}");
}
