use super::*;
use crate::SimplePacket;

fn sfq(limit: u32, flows: u32, seed: u64) -> Sfq<SimplePacket> {
    let settings = Settings {
        limit: Size::Packets(Packets::new(limit)),
        flows,
        quantum: Size::Packets(Packets::new(1)),
        perturb: None,
        headdrop: false,
        steals: true,
    };
    Sfq::new(settings, Seed::new(seed))
}

/// `count` flows that are in queues of their own.
fn strangers(queue: &Sfq<SimplePacket>, count: usize) -> Vec<u64> {
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

/// SPEC 10 and equation 1 with one level: a flow shares its queue with one of M others with probability
/// 1 - (1 - 1/B)^M.
#[test]
fn flows_collide_as_chance_has_it() {
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

/// SPEC 10: flows that share no queue are served alike, whatever they send, and only who sends too much loses packets.
#[test]
fn flows_in_queues_of_their_own_are_served_alike() {
    let mut queue = sfq(30, 64, 5);
    let flows = strangers(&queue, 3);
    let mut served = [0_u32; 3];
    let mut lost = Vec::new();
    struct Losses<'a>(&'a mut Vec<(u64, Reason)>);
    impl Fate<SimplePacket> for Losses<'_> {
        fn dropped(&mut self, _now: Time, packet: SimplePacket, reason: Reason) {
            self.0.push((packet.flow, reason));
        }
        fn marked(&mut self, _now: Time, _packet: &SimplePacket, _reason: Reason) {}
    }
    for round in 0..3000 {
        // 1, 1 and 7 packets in the time of three departures: the first two send their fair share, when the queue is full.
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

/// In bytes a queue may exceed its allotment and makes up for it, so unequal packets make equal bytes.
#[test]
fn a_quantum_in_bytes_makes_equal_bytes() {
    for quantum in [1, 300, 1514] {
        let mut queue = sfq(1000, 64, 5);
        queue.settings.quantum = Size::Bytes(crate::Bytes::new(quantum));
        queue.quantum = quantum as i64;
        let flows = strangers(&queue, 2);
        let mut served = [0_u64; 2];
        for round in 0..5000 {
            while queue.packets() < 200 {
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[0], 1500), &mut ());
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[1], 100), &mut ());
            }
            // The light packets must not run out either.
            while queue.queues.packets_in(queue.queue_of(&SimplePacket::new(flows[1], 1))) < 40 {
                queue.enqueue(Time::ZERO, SimplePacket::new(flows[1], 100), &mut ());
            }
            if let Some(packet) = queue.dequeue(Time::ZERO, &mut ()) {
                served[usize::from(packet.flow == flows[1])] += u64::from(packet.bytes);
            }
            // A quantum and a packet of each.
            assert!(served[0].abs_diff(served[1]) <= 2 * quantum + 1600, "{quantum} {round}: {served:?}");
        }
    }
}

/// SPEC 10 and appendix E: a hash that moves in the middle of a backlog reorders no flow and loses nothing.
#[test]
fn a_moving_hash_reorders_no_flow() {
    let mut queue = sfq(500, 8, 5);
    queue.settings.perturb = Some(Duration::from_millis(5));
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
    assert!(queue.moves > 3000);
    assert_eq!(20_000, departed + queue.counters().dropped_total().packets + queue.packets() as u64);
}

/// ns-2: with 40 packets and 16 queues a flow alone stops at half of what is left, 13 packets; and there is no stealing.
#[test]
fn ns2_admits_up_to_half_of_what_is_left() {
    let mut queue = sfq(40, 16, 5);
    queue.settings.steals = false;
    for _ in 0..100 {
        queue.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
    }
    // The 14th would find 13 queued and 27 left, and 13 >= 27 / 2.
    assert_eq!(queue.packets(), 13);
    assert_eq!(queue.counters().dropped(Reason::Limit).packets, 87);
}
