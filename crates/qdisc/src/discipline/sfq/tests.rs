use super::*;
use crate::{Bytes, SimplePacket};

/// Creates a queue of `limit` packets.
fn sfq(limit: u32, flows: u32, seed: u64) -> Sfq<SimplePacket> {
    with(Config { limit: Size::packets(limit), flows, ..Config::default() }, seed)
}

fn with(config: Config, seed: u64) -> Sfq<SimplePacket> {
    match Sfq::new(config, Seed::new(seed)) {
        Ok(queue) => queue,
        Err(error) => panic!("{config:?}: {error}"),
    }
}

/// Would catch a value that is let in out of its range, or refused under the key of another parameter.
#[test]
fn impossible_configurations_are_refused() {
    let default = Config::default();
    for (config, key) in [
        (Config { flows: 0, ..default }, "flows"),
        (Config { quantum: Size::bytes(0), ..default }, "quantum"),
        (Config { perturb: Some(Duration::ZERO), ..default }, "perturb"),
        (Config { limit: Size::bytes(40_000), admission: Admission::Ns2, ..default }, "admission"),
    ] {
        let refused = Sfq::<SimplePacket>::new(config, Seed::new(1)).map(|_| ());
        assert_eq!(refused.as_ref().map_err(ParameterError::key), Err(key));
    }
}

/// Returns `count` flows that share no queue.
fn separate_flows(queue: &Sfq<SimplePacket>, count: usize) -> Vec<u64> {
    let mut flows: Vec<u64> = Vec::new();
    for flow in 0.. {
        let place = |flow: u64| queue.queue_of(&SimplePacket::new(flow, 1));
        if flows.iter().all(|&known| place(known) != place(flow)) {
            flows.push(flow);
        }
        if flows.len() == count {
            break;
        }
    }
    flows
}

/// With B queues, a flow shares its queue with at least one of M others with probability 1 - (1 - 1/B)^M (Feng,
/// Kandlur, Saha, Shin, INFOCOM 2001, equation 1 with one level). Would catch a hash that prefers some queues.
#[test]
fn flows_collide_with_the_probability_of_uniform_hashing() {
    for (flows, others, expected) in [(46, 8, 0.161_240), (16, 10, 0.475_55), (1024, 32, 0.030_78)] {
        let trials = 20_000_u32;
        let mut shared = 0;
        for seed in 0..trials {
            let queue = sfq(10, flows, u64::from(seed));
            let place = |flow: u64| queue.queue_of(&SimplePacket::new(flow, 1));
            shared += u32::from((1..=others).any(|flow| place(flow) == place(0)));
        }
        let share = f64::from(shared) / f64::from(trials);
        // Four standard errors.
        let margin = 4.0 * libm::sqrt(expected * (1.0 - expected) / f64::from(trials));
        assert!((share - expected).abs() < margin, "{flows} {others}: {share} {expected}");
    }
}

/// Would catch a flow that gets more than an equal share by sending more, and a loss of a flow that sends no more than
/// its share.
#[test]
fn flows_in_separate_queues_are_served_equally() {
    let mut queue = sfq(30, 64, 5);
    let flows = separate_flows(&queue, 3);
    let mut served = [0_u32; 3];
    let mut lost = Vec::new();
    struct Losses<'a>(&'a mut Vec<(u64, Reason)>);
    impl DropSink<SimplePacket> for Losses<'_> {
        fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
            self.0.push((packet.flow, reason));
        }
        fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {}
    }
    for round in 0..3000 {
        // 1, 1 and 7 packets in the time of three departures: the first two flows send their fair share.
        for (flow, packets) in flows.iter().zip([1, 1, 7]).rev() {
            for _ in 0..packets {
                queue.enqueue(Time::ZERO, SimplePacket::new(*flow, 1000), &mut Losses(&mut lost));
            }
        }
        for _ in 0..3 {
            let packet = queue.dequeue(Time::ZERO, &mut ());
            let at = packet.and_then(|packet| flows.iter().position(|flow| *flow == packet.flow));
            let Some(at) = at else { panic!("the link is idle") };
            served[at] += 1;
        }
        let (most, least) = (served.iter().max(), served.iter().min());
        assert!(most.zip(least).is_some_and(|(most, least)| most - least <= 1), "{round}: {served:?}");
    }
    assert!(!lost.is_empty() && lost.iter().all(|(flow, _)| *flow == flows[2]));
    assert!(lost.iter().any(|(_, reason)| *reason == Reason::BufferSteal));
    assert!(lost.iter().any(|(_, reason)| *reason == Reason::Limit));
}

/// Would catch an excess over the allotment that is not subtracted from the next turn: large packets would then get
/// more bytes than small ones.
#[test]
fn a_quantum_in_bytes_gives_equal_bytes() {
    for quantum in [1, 300, 1514] {
        let quantum_in_bytes = Size::Bytes(Bytes::new(quantum));
        let limit = Size::packets(1000);
        let mut queue = with(Config { limit, flows: 64, quantum: quantum_in_bytes, ..Config::default() }, 5);
        let flows = separate_flows(&queue, 2);
        let mut served = [0_u64; 2];
        for round in 0..5000 {
            while queue.packets() < 200 {
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[0], 1500), &mut ());
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[1], 100), &mut ());
            }
            // The small packets must not run out either.
            while queue.packets_in(queue.queue_of(&SimplePacket::new(flows[1], 1))) < 40 {
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[1], 100), &mut ());
            }
            if let Some(packet) = queue.dequeue(Time::ZERO, &mut ()) {
                served[usize::from(packet.flow == flows[1])] += u64::from(packet.bytes);
            }
            // A quantum and a packet of each flow.
            assert!(served[0].abs_diff(served[1]) <= 2 * quantum + 1600, "{quantum} {round}: {served:?}");
        }
    }
}

/// Would catch a flow that is reordered, or a packet that is lost, when the hash function changes during a backlog.
#[test]
fn a_change_of_the_hash_function_reorders_no_flow() {
    let perturb = Some(Duration::from_millis(5));
    let mut queue = with(Config { limit: Size::packets(500), flows: 8, perturb, ..Config::default() }, 5);
    let mut chance = Seed::new(3).stream("arrivals");
    let mut last = [0_u64; 40];
    let (mut departed, mut now) = (0_u64, Time::ZERO);
    for id in 1..=20_000 {
        let flow = u64::from(chance.below(40));
        queue.enqueue(now, SimplePacket::new(flow, 1000).with_id(id), &mut ());
        now += Duration::from_millis(1);
        if id > 300 && chance.below(4) > 0 {
            let Some(packet) = queue.dequeue(now, &mut ()) else { continue };
            assert!(last[packet.flow as usize] < packet.id);
            last[packet.flow as usize] = packet.id;
            departed += 1;
        }
    }
    assert!(queue.changes > 3000);
    assert_eq!(20_000, departed + queue.counters().dropped_total().packets + queue.packets() as u64);
}

/// With ns-2's 40 packets and 16 queues a single flow is admitted up to half of the room left, which is 13 packets.
/// Would catch another bound, and drops from a queue.
#[test]
fn ns2_admits_up_to_half_of_the_room_left() {
    let admission = Admission::Ns2;
    let mut queue = with(Config { limit: Size::packets(40), flows: 16, admission, ..Config::default() }, 5);
    for _ in 0..100 {
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
    }
    // The 14th packet finds 13 queued and room for 27, and 13 >= 27 / 2.
    assert_eq!(queue.packets(), 13);
    assert_eq!(queue.counters().dropped(Reason::Limit).packets, 87);
}
