use std::collections::BTreeMap;
use std::vec::Vec;

use super::tin::TinSettings;
use super::*;
use crate::{Duration, Kind, QdiscParameters, SimplePacket, Size};

fn new_cake(bandwidth: Option<u64>, diffserv: Diffserv, isolation: Isolation) -> Cake<SimplePacket> {
    let bandwidth = bandwidth.map(Rate::from_bits_per_second);
    let cake = Cake::new(Config { bandwidth, diffserv, isolation, ..Config::default() }, Seed::new(1));
    let mut cake = cake.unwrap_or_else(|error| panic!("{error}"));
    cake.link_rate(mbit(10));
    cake
}

const fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(1_000_000 * rate)
}

/// Returns the bytes of each key that leave in `count` calls while each of `packets` is kept backlogged.
fn shares(
    cake: &mut Cake<SimplePacket>,
    packets: &[SimplePacket],
    key: impl Fn(&SimplePacket) -> u64,
    count: u32,
) -> BTreeMap<u64, u64> {
    let mut bytes = BTreeMap::new();
    let mut now = Time::ZERO;
    for packet in packets {
        for _ in 0..20 {
            cake.enqueue(now, *packet, &mut ());
        }
    }
    for _ in 0..count {
        now = cake.ready_at().unwrap_or(now).max(now);
        let Some(packet) = cake.dequeue(now, &mut ()) else { continue };
        *bytes.entry(key(&packet)).or_default() += u64::from(packet.bytes);
        cake.enqueue(now, SimplePacket { marked: false, ..packet }, &mut ());
    }
    bytes
}

fn ratio(bytes: &BTreeMap<u64, u64>, a: u64, b: u64) -> f64 {
    bytes[&a] as f64 / bytes[&b] as f64
}

/// A host with one flow gets as much as a host with ten; without isolation a tenth (Piece of CAKE).
#[test]
fn hosts_share_before_flows() {
    let mut packets = std::vec![SimplePacket::new(0, 1000).with_hosts(1, 9)];
    packets.extend((1..11).map(|flow| SimplePacket::new(flow, 1000).with_hosts(2, 9)));
    let sender = |packet: &SimplePacket| packet.source_host();
    for (isolation, expected) in [(Isolation::DualSrcHost, 1.0), (Isolation::Flows, 0.1)] {
        let mut cake = new_cake(None, Diffserv::Diffserv3, isolation);
        let bytes = shares(&mut cake, &packets, sender, 40_000);
        assert!((ratio(&bytes, 1, 2) / expected - 1.0).abs() < 0.02, "{isolation:?}: {bytes:?}");
    }
    // The receivers share in the same way.
    let mut packets = std::vec![SimplePacket::new(0, 1000).with_hosts(9, 1)];
    packets.extend((1..11).map(|flow| SimplePacket::new(flow, 1000).with_hosts(9, 2)));
    for (isolation, expected) in [(Isolation::DualDstHost, 1.0), (Isolation::DualSrcHost, 0.1)] {
        let mut cake = new_cake(None, Diffserv::Diffserv3, isolation);
        let bytes = shares(&mut cake, &packets, Packet::destination_host, 40_000);
        assert!((ratio(&bytes, 1, 2) / expected - 1.0).abs() < 0.02, "{isolation:?}: {bytes:?}");
    }
    // Pairs of hosts with nothing in common, one with one flow and one with ten.
    let mut packets = std::vec![SimplePacket::new(0, 1000).with_hosts(1, 3)];
    packets.extend((1..11).map(|flow| SimplePacket::new(flow, 1000).with_hosts(2, 4)));
    let mut cake = new_cake(None, Diffserv::Diffserv3, Isolation::TripleIsolate);
    let bytes = shares(&mut cake, &packets, sender, 40_000);
    assert!((ratio(&bytes, 1, 2) - 1.0).abs() < 0.02, "{bytes:?}");
}

/// Flows of packets of different sizes get the same bytes.
#[test]
fn flows_share_by_bytes() {
    let packets = [SimplePacket::new(0, 1500), SimplePacket::new(1, 300), SimplePacket::new(2, 64)];
    let mut cake = new_cake(None, Diffserv::BestEffort, Isolation::Flows);
    let bytes = shares(&mut cake, &packets, |packet| packet.flow, 100_000);
    assert!((ratio(&bytes, 0, 1) - 1.0).abs() < 0.02 && (ratio(&bytes, 0, 2) - 1.0).abs() < 0.02, "{bytes:?}");
}

/// Where nothing is shaped, tins share by their quanta; of a shaped rate each has its part, and best effort the rest
/// (sch_cake's `cake_config_diffserv3`, `cake_config_diffserv4` and `cake_config_diffserv8`).
#[test]
fn tins_share_by_quanta_or_by_thresholds() {
    let rest = |parts: &[f64]| 1.0 - parts.iter().sum::<f64>();
    let three = [1.0 / 16.0, 1.0 / 4.0];
    let four = [1.0 / 16.0, 1.0 / 2.0, 1.0 / 4.0];
    // The code points of the tins from the first to the last, their quanta, and their parts.
    for (diffserv, code_points, quanta, parts) in [
        (Diffserv::Diffserv3, &[0, 8, 46][..], &[1024, 64, 256][..], &[rest(&three), three[0], three[1]][..]),
        (Diffserv::Diffserv4, &[0, 8, 34, 46], &[1024, 64, 512, 256], &[rest(&four), four[0], four[1], four[2]]),
    ] {
        let packets: Vec<_> = code_points.iter().map(|&dscp| class(dscp)).collect();
        let sent = |bandwidth| {
            let mut cake = new_cake(bandwidth, diffserv, Isolation::Flows);
            let bytes = shares(&mut cake, &packets, |packet| packet.flow, 100_000);
            let total: u64 = bytes.values().sum();
            code_points.iter().map(|&dscp| bytes[&u64::from(dscp)] as f64 / total as f64).collect::<Vec<_>>()
        };
        let total: u32 = quanta.iter().sum();
        for (share, &quantum) in sent(None).into_iter().zip(quanta) {
            let expected = f64::from(quantum) / f64::from(total);
            assert!((share / expected - 1.0).abs() < 0.02, "{diffserv:?}: {quantum}, {share}");
        }
        for (share, expected) in sent(Some(10_000_000)).into_iter().zip(parts) {
            assert!((share / expected - 1.0).abs() < 0.02, "{diffserv:?}: {expected}, {share}");
        }
        // A class alone gets the whole rate.
        for packet in &packets {
            let mut cake = new_cake(Some(10_000_000), diffserv, Isolation::Flows);
            let bytes = shares(&mut cake, &[*packet], |packet| packet.flow, 1000);
            assert_eq!(bytes.values().sum::<u64>(), 1_000_000);
        }
    }
}

/// Returns a packet with the code point `dscp`, of a flow with that number.
fn class(dscp: u8) -> SimplePacket {
    SimplePacket::new(u64::from(dscp), 1000).with_class(dscp << 2)
}

/// Each of eight tins has seven eighths of the rate and of the turns of the one before (sch_cake's
/// `cake_config_diffserv8`): of 8 Mbit/s the last one has 8 * (7/8)^7 = 3.141567 Mbit/s.
#[test]
fn eight_tins_decline_by_eighths() {
    for diffserv in [Diffserv::Diffserv8, Diffserv::Precedence] {
        let config = Config { diffserv, ..Config::default() };
        let tins: Vec<_> = config.tins_at(Some(mbit(8))).collect();
        assert_eq!(tins.len(), 8);
        assert_eq!(tins.iter().map(|tin| tin.tin_quantum).collect::<Vec<_>>(), [256, 224, 196, 171, 149, 130, 113, 98]);
        let rates = diffserv.tins().iter().map(|tin| tin.part.of(8_000_000)).collect::<Vec<_>>();
        assert_eq!((rates[0], rates[1], rates[2]), (8_000_000, 7_000_000, 6_125_000));
        assert!(rates[7].abs_diff(3_141_567) < 8, "{}", rates[7]);
    }
}

/// Packets go to the tins by the code points of tc-cake(8) and, for the eight, of sch_cake.
#[test]
fn classes_go_to_their_tins() {
    let cs = |class: u8| 8 * class;
    let af = |class: u8| [8 * class + 2, 8 * class + 4, 8 * class + 6];
    let (le, tos2, tos4, va, ef) = (1, 2, 4, 44, 46);
    let afs = |classes: &[u8]| classes.iter().flat_map(|&class| af(class)).collect::<Vec<u8>>();
    let with = |mut points: Vec<u8>, more: &[u8]| {
        points.extend(more);
        points
    };
    let voice = [cs(4), cs(5), va, ef];
    let tables = [
        (Diffserv::BestEffort, 0, Vec::new()),
        (Diffserv::Diffserv3, 0, std::vec![(1, std::vec![le, cs(1)]), (2, std::vec![tos4, va, ef, cs(6), cs(7)])]),
        (
            Diffserv::Diffserv4,
            0,
            std::vec![
                (1, std::vec![le, cs(1)]),
                (2, with(afs(&[2, 3, 4]), &[cs(2), cs(3), tos4])),
                (3, with(std::vec![cs(6), cs(7)], &voice)),
            ],
        ),
        (
            Diffserv::Diffserv8,
            2,
            std::vec![
                (0, std::vec![le]),
                (1, with(af(1).to_vec(), &[tos2, cs(1)])),
                (3, with(afs(&[3, 4]), &[cs(3)])),
                (4, with(af(2).to_vec(), &[tos4])),
                (5, std::vec![cs(2)]),
                (6, voice.to_vec()),
                (7, std::vec![cs(6), cs(7)]),
            ],
        ),
    ];
    for dscp in 0..64 {
        for (diffserv, other, table) in &tables {
            let named = table.iter().find(|(_, points)| points.contains(&dscp)).map_or(*other, |(tin, _)| *tin);
            assert_eq!(diffserv.tin_of(dscp << 2), named, "{diffserv:?}, {dscp}");
        }
        assert_eq!(Diffserv::Precedence.tin_of(dscp << 2), usize::from(dscp / 8));
    }
}

/// Would catch a code point that is cleared before the tin is chosen, an ECN codepoint that is cleared too, and code
/// points that are cleared without `wash`.
#[test]
fn washed_packets_leave_without_code_points() -> Result<(), ParameterError> {
    for (wash, expected) in [(false, [46 << 2 | 1, 8 << 2 | 1]), (true, [1, 1])] {
        let config = Config { wash, bandwidth: Some(mbit(10)), ..Config::default() };
        let mut cake = Cake::new(config, Seed::new(1))?;
        for dscp in [8, 46] {
            cake.enqueue(Time::ZERO, SimplePacket { class: dscp << 2 | 1, ..class(dscp) }, &mut ());
        }
        let second = Time::ZERO + Duration::from_millis(1);
        let left = [Time::ZERO, second].map(|now| cake.dequeue(now, &mut ()).map(|packet| (packet.flow, packet.class)));
        assert_eq!(left, [Some((46, expected[0])), Some((8, expected[1]))], "voice leaves before bulk");
    }
    Ok(())
}

/// Would catch an isolation that takes something else for a flow: two flows each of two senders to two receivers, of
/// which the first pair has twice as many.
#[test]
fn hosts_are_flows() {
    let hosts = [(1, 8), (1, 9), (2, 8), (1, 8)];
    let packets: Vec<_> =
        (0..).zip(hosts).map(|(flow, (from, to))| SimplePacket::new(flow, 1000).with_hosts(from, to)).collect();
    for (isolation, shares_of) in [
        (Isolation::FlowBlind, [0.25, 0.25, 0.25, 0.25]),
        (Isolation::Flows, [0.25, 0.25, 0.25, 0.25]),
        (Isolation::SrcHost, [1.0 / 6.0, 1.0 / 6.0, 1.0 / 2.0, 1.0 / 6.0]),
        (Isolation::DstHost, [1.0 / 6.0, 1.0 / 2.0, 1.0 / 6.0, 1.0 / 6.0]),
        (Isolation::Hosts, [1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0]),
    ] {
        let mut cake = new_cake(None, Diffserv::BestEffort, isolation);
        let bytes = shares(&mut cake, &packets, |packet| packet.flow, 40_000);
        for (flow, expected) in (0..).zip(shares_of) {
            let share = bytes[&flow] as f64 / 40_000_000.0;
            assert!((share / expected - 1.0).abs() < 0.05, "{isolation:?}, {flow}: {share}");
        }
        let queues = cake.status().flows;
        let expected = match isolation {
            Isolation::FlowBlind => 1,
            Isolation::Flows => 4,
            Isolation::Hosts => 3,
            _ => 2,
        };
        assert_eq!(queues, Some(expected), "{isolation:?}");
    }
}

/// The shaper sends at exactly its rate, tells the time of its next packet, and keeps no credit of an idle time.
#[test]
fn the_shaper_paces() {
    let mut cake = new_cake(Some(8_000_000), Diffserv::BestEffort, Isolation::Flows);
    for start in [0, 5_000_000_000] {
        let start = Time::from_nanos(start);
        for flow in 0..100 {
            cake.enqueue(start, SimplePacket::new(flow, 1000), &mut ());
        }
        // 1000 bytes take a millisecond.
        for packet in 0..100 {
            let due = start + Duration::from_millis(packet);
            assert_eq!(cake.ready_at(), Some(due));
            if packet > 0 {
                assert_eq!(cake.dequeue(Time::from_nanos(due.as_nanos() - 1), &mut ()), None);
            }
            assert!(cake.dequeue(due, &mut ()).is_some());
        }
        assert_eq!(cake.ready_at(), None);
    }
}

fn best_effort(rate: Rate) -> TinSettings {
    Config { isolation: Isolation::Flows, ..Config::default() }.tin_at(Some(rate), Diffserv::Diffserv3.tins()[0])
}

/// A set has eight ways; a ninth flow takes over the queue that its hash names (sch_cake's `cake_hash`).
#[test]
fn a_full_set_is_shared() {
    let mut tin = Tin::new(best_effort(mbit(10)), Seed::new(1));
    let tag = |way: u64, number: u64| (number << 32) | (64 + way);
    let mut places = Vec::new();
    for number in 1..=8 {
        // The hash of all names the third way: they get it and those after it, around the set.
        let queue = tin.find(tag(2, number), 0, 0);
        tin.arrived(queue);
        places.push(queue);
    }
    assert_eq!(places, [66, 67, 68, 69, 70, 71, 64, 65]);
    assert_eq!(tin.find(tag(2, 5), 0, 0), 70, "a flow is found again");
    assert_eq!(tin.find(tag(4, 9), 0, 0), 68, "the set is full");
    assert_eq!(tin.find(tag(2, 3), 0, 0), 66, "its queue was taken over");
}

/// Target and interval follow from the time of 1514 bytes, 12.112 ms at 1 Mbit/s, and the quantum has its bounds
/// (sch_cake's `cake_set_rate`).
#[test]
fn a_tin_follows_from_its_rate() {
    let tin = best_effort(mbit(1));
    assert_eq!(tin.cobalt.target, Duration::from_nanos(18_168_000));
    assert_eq!(tin.cobalt.interval, Duration::from_nanos(113_168_000));
    assert_eq!((tin.flow_quantum, tin.cobalt.floor), (300, Duration::from_nanos(48_448_000)));
    let tin = best_effort(mbit(20));
    assert_eq!((tin.cobalt.target, tin.cobalt.interval), (Duration::from_millis(5), Duration::from_millis(100)));
    assert_eq!(tin.flow_quantum, 610);
    let tin = best_effort(mbit(1000));
    assert_eq!(tin.flow_quantum, 1514);
}

/// With `ingress` a delay of two packets for each bulk flow is not too long (`cobalt_should_drop` of sch_cake), without
/// it one of four packets. At 10 Mbit/s a packet of 1514 bytes takes 1.2112 ms.
#[test]
fn ingress_leaves_each_bulk_flow_two_packets() {
    for (ingress, expected) in [(false, [4, 4, 4]), (true, [4, 6, 100])] {
        let config = Config { ingress, isolation: Isolation::Flows, ..Config::default() };
        let mut tin = Tin::new(config.tin_at(Some(mbit(10)), Diffserv::Diffserv3.tins()[0]), Seed::new(1));
        for (flows, packets) in [2, 3, 50].into_iter().zip(expected) {
            for flow in 0..flows {
                let queue = tin.find(flow, 0, 0);
                tin.arrived(queue);
                // It has used up its first quantum and has packets: it is bulk from its next turn on.
                tin.charge(Time::ZERO, queue, 10_000);
            }
            tin.next(false, |_| true);
            assert_eq!(tin.cobalt().floor, Duration::from_nanos(1_211_200 * packets), "{flows} flows");
        }
    }
}

/// With `ingress` dropped packets use up the rate, but no more than a third of it (sch_cake's `failsafe_next_packet`).
#[test]
fn ingress_counts_dropped_packets_as_sent() -> Result<(), ParameterError> {
    for (ingress, sent) in [(false, 1000), (true, 667)] {
        let (limit, bandwidth) = (Some(Size::packets(10)), Some(mbit(8)));
        let mut cake = Cake::new(Config { limit, bandwidth, ingress, ..Config::default() }, Seed::new(1))?;
        // Three packets of 1000 bytes arrive in the millisecond that one takes, and two are dropped.
        for tick in 0..1000 {
            let now = Time::from_nanos(1_000_000 * tick);
            for _ in 0..3 {
                cake.enqueue(now, SimplePacket::new(1, 1000), &mut ());
            }
            cake.dequeue(now, &mut ());
        }
        let departed = cake.counters().departed.packets;
        assert!(departed.abs_diff(sent) <= 2, "{ingress}: {departed}");
    }
    Ok(())
}

/// A flow that floods loses packets from its head, and a packet of another flow leaves next.
#[test]
fn the_longest_queue_loses() {
    let mut cake = new_cake(None, Diffserv::Diffserv3, Isolation::Flows);
    for id in 0..10_000 {
        cake.enqueue(Time::ZERO, SimplePacket::new(1, 1000).with_id(id), &mut ());
    }
    assert_eq!(cake.packets(), 4194);
    assert_eq!(cake.counters().dropped(Reason::BufferSteal).packets, 10_000 - 4194);
    assert_eq!(cake.dequeue(Time::ZERO, &mut ()).map(|packet| packet.id), Some(10_000 - 4194));
    cake.enqueue(Time::ZERO, SimplePacket::new(2, 1000).with_id(20_000), &mut ());
    cake.dequeue(Time::ZERO, &mut ());
    cake.dequeue(Time::ZERO, &mut ());
    assert_eq!(cake.counters().departed.packets, 3);
    // The packet of the other flow was among the two that left after its arrival.
    let mut departed = Vec::new();
    while let Some(packet) = cake.dequeue(Time::ZERO, &mut ()) {
        departed.push(packet.id);
    }
    assert!(!departed.contains(&20_000));
}

/// Would catch queues or hosts that are kept for ever: all are forgotten after an hour with a packet now and then.
#[test]
fn flows_are_forgotten() {
    let mut cake = new_cake(None, Diffserv::BestEffort, Isolation::TripleIsolate);
    for tick in 0..20_000_u64 {
        let now = Time::from_nanos(1_000_000 * tick);
        for n in 0..3 {
            cake.enqueue(now, SimplePacket::new((tick * 7 + n * 13) % 50, 1000), &mut ());
        }
        cake.dequeue(now, &mut ());
    }
    while cake.dequeue(Time::from_nanos(20_000_000_000), &mut ()).is_some() {}
    let later = Time::from_nanos(3_600_000_000_000);
    for second in 0..20_000 {
        let now = later + Duration::from_millis(1000 * second);
        cake.enqueue(now, SimplePacket::new(1, 1000), &mut ());
        assert!(cake.dequeue(now, &mut ()).is_some());
        assert_eq!(cake.dequeue(now, &mut ()), None);
    }
    assert!(cake.status().flows <= Some(1) && cake.tins[0].remembered() <= 1, "{}", cake.tins[0].remembered());
}

/// Presets have the round-trip times of tc-cake(8), and the limit is four of them at the rate, but at least 4 MiB.
#[test]
fn defaults_follow_from_preset_and_bandwidth() -> Result<(), ParameterError> {
    let link = Rate::from_bits_per_second(1_000_000_000);
    let used = |config: &QdiscParameters, key: &str| -> Result<_, ParameterError> {
        let explained = config.explain(link)?;
        Ok(explained.parameters.iter().find(|row| row.key == key).map(|row| row.value.clone()))
    };
    for (preset, rtt) in [
        ("internet", "100ms"),
        ("datacentre", "100us"),
        ("lan", "1ms"),
        ("metro", "10ms"),
        ("regional", "30ms"),
        ("oceanic", "300ms"),
        ("satellite", "1s"),
    ] {
        let config = QdiscParameters::new(Kind::Cake).with("preset", preset)?;
        assert_eq!(used(&config, "rtt")?.as_deref(), Some(rtt), "{preset}");
    }
    let config = QdiscParameters::new(Kind::Cake);
    assert_eq!(used(&config, "limit")?.as_deref(), Some("50mb"));
    assert_eq!(used(&config.with("bandwidth", "20mbit")?, "limit")?.as_deref(), Some("4194304b"));
    Ok(())
}

/// Would catch values that only the text refuses.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let default = Config::default();
    for (config, key) in [
        (Config { bandwidth: Some(mbit(0)), ..default }, "bandwidth"),
        (Config { rtt: Duration::ZERO, ..default }, "rtt"),
        (Config { limit: Some(Size::bytes(u64::MAX)), ..default }, "limit"),
    ] {
        let cake = Cake::<SimplePacket>::new(config, Seed::new(1));
        assert_eq!(cake.map_err(|error| error.key().into()).err(), Some(std::string::String::from(key)));
    }
    Ok(())
}

/// Would catch a change of the link's rate that is ignored, that overrides `bandwidth` or that loses packets, and a
/// rate that is not known which divides by zero.
#[test]
fn the_link_rate_is_followed() -> Result<(), ParameterError> {
    let mut cake = Cake::new(Config { isolation: Isolation::Flows, ..Config::default() }, Seed::new(1))?;
    let tin = |cake: &Cake<SimplePacket>| cake.tins[0].settings;
    assert_eq!((tin(&cake).cobalt.target, tin(&cake).flow_quantum), (Duration::from_millis(5), 1514));
    for _ in 0..10 {
        cake.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
    }
    cake.link_rate(mbit(1000));
    assert_eq!((tin(&cake), cake.room), (best_effort(mbit(1000)), Room::of(Size::bytes(50_000_000))));
    cake.link_rate(mbit(1));
    assert_eq!((tin(&cake), cake.room), (best_effort(mbit(1)), Room::of(Size::bytes(4 << 20))));
    cake.link_rate(mbit(0));
    assert_eq!((tin(&cake).flow_quantum, cake.packets()), (1514, 10));
    for _ in 0..10 {
        assert!(cake.dequeue(Time::ZERO, &mut ()).is_some());
    }
    let bandwidth = Some(mbit(2));
    let mut shaped = Cake::new(Config { bandwidth, isolation: Isolation::Flows, ..Config::default() }, Seed::new(1))?;
    shaped.link_rate(mbit(1000));
    assert_eq!(tin(&shaped), best_effort(mbit(2)));
    Ok(())
}
