use super::*;
use crate::{Bytes, Duration, SimplePacket, Size};

/// The paper's link.
const LINK: Rate = Rate::from_bits_per_second(20_000_000);

fn close(ours: f64, expected: f64) {
    assert!((ours / expected - 1.0).abs() < 2e-6, "{ours} {expected}");
}

/// The text's numbers for figure 1 (sections 2.1 and 4.2): 8000 bytes a flow while there are few, 4000 while there are
/// many, and between the two a queue that grows from half of the buffer to twice the largest target. Would catch a
/// threshold with a jump or a wrong slope.
#[test]
fn the_virtual_threshold_meets_the_numbers_of_the_text() {
    let threshold = VirtualThreshold::new(&Config::default());
    for (flows, bytes) in [
        (1, 8000.0),
        (10, 80_000.0),
        (20, 160_000.0),
        (21, 162_000.0),
        (30, 180_000.0),
        (45, 210_000.0),
        (60, 240_000.0),
        (80, 320_000.0),
        (320, 1_280_000.0),
    ] {
        close(threshold.of(f64::from(flows)), bytes);
    }
    close(threshold.of(45.0) / 45.0, 4666.667);
    // The other reading of the figure: a plateau.
    let other = VirtualThreshold::new(&Config { n1: 30, ..Config::default() });
    for flows in [30.0, 45.0, 60.0] {
        close(other.of(flows), 240_000.0);
    }
}

fn build(config: Config) -> Result<Bare<SimplePacket>, ParameterError> {
    let mut queue = Bare::new(config, Seed::new(5))?;
    queue.link_rate(LINK);
    Ok(queue)
}

/// Would catch a range or contradiction that the constructor does not check.
#[test]
fn the_typed_configuration_has_the_ranges_of_the_text() -> Result<(), ParameterError> {
    let default = Config::default();
    for (config, key) in [
        (Config { n1: 61, ..default }, "n1"),
        (Config { beta: 11.0, ..default }, "beta"),
        (Config { hi: Bytes::new(0), ..default }, "hi"),
        (Config { flows: 0, ..default }, "flows"),
        (Config { increase: 0.5, ..default }, "increase"),
        (Config { k: Some(Duration::ZERO), ..default }, "k"),
        (Config { queue_weight: Some(1.5), ..default }, "queue_weight"),
    ] {
        let refused = Bare::<SimplePacket>::new(config, Seed::new(1));
        assert!(refused.is_err_and(|error| error.key() == key), "{key}");
    }
    Ok(())
}

/// The paper's link is divided into 7812.5 bytes per second for each of 320 flows, and the times are the constants of
/// appendix A there. Would catch shares of a wrong rate, and an averaging time that does not follow it.
#[test]
fn the_defaults_are_the_papers_at_its_link() -> Result<(), ParameterError> {
    let bare = build(Config::default())?;
    close(1.0 / bare.shares.among(320).per_rate, 7812.5);
    for (flows, target) in [(0, 4000.0), (10, 40_000.0), (20, 80_000.0), (40, 100_000.0), (80, 120_000.0)] {
        close(bare.shares.among(flows).target, target);
    }
    close(1.0 / bare.per_k, 0.15);
    assert_eq!(bare.config.times(Some(LINK)).1, Duration::from_millis(450));
    Ok(())
}

/// Would catch a queue that divides by a rate that is not known, or does not follow a change of the rate: without a
/// rate no flow is above its share; at half of the rate, K is twice as long and the fair rate half.
#[test]
fn the_rate_may_be_unknown_and_change() -> Result<(), ParameterError> {
    let mut bare = Bare::<SimplePacket>::new(Config::default(), Seed::new(5))?;
    assert_eq!((bare.fair_share.per_rate, bare.per_k), (0.0, 1.0 / 0.15));
    bare.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
    bare.link_rate(Rate::from_bits_per_second(10_000_000));
    close(1.0 / bare.fair_share.per_rate, 1_250_000.0);
    close(1.0 / bare.per_k, 0.3);
    assert_eq!((bare.packets(), bare.status().flows), (1, Some(1)));
    bare.link_rate(Rate::from_bits_per_second(0));
    assert_eq!(bare.fair_share.per_rate, 0.0);
    let mut fixed = Bare::<SimplePacket>::new(Config { bandwidth: Some(LINK), ..Config::default() }, Seed::new(5))?;
    fixed.link_rate(Rate::from_bits_per_second(1));
    close(1.0 / fixed.fair_share.per_rate, 2_500_000.0);
    Ok(())
}

/// Appendix A, line 31, with K 0.15 s and the second packet after 0.1 s: 4865.83 bytes per second; at the same time,
/// size/K.
#[test]
fn the_first_rate_is_that_of_the_listing() -> Result<(), ParameterError> {
    for (millis, rate) in [(100, 4865.83), (0, 6666.67)] {
        let mut bare = build(Config::default())?;
        bare.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        bare.enqueue(Time::ZERO + Duration::from_millis(millis), SimplePacket::new(1, 1000), &mut ());
        close(bare.flows.get_mut(0).estimate, rate);
    }
    Ok(())
}

/// Equation 5 by hand with 1 - k = 1/4: the average starts at 0 and takes samples of 2000 and 3000 bytes, so 500 and
/// then 3/4 * 500 + 1/4 * 3000 = 1125, for any time between them. One flow's part of the queue is all 3000 bytes of it.
#[test]
fn the_average_queue_is_that_of_equation_5() -> Result<(), ParameterError> {
    let mut bare = build(Config { queue_weight: Some(0.25), weight: 1.0, ..Config::default() })?;
    for (millis, average) in [(0, 0.0), (0, 500.0), (70, 1125.0)] {
        bare.enqueue(Time::ZERO + Duration::from_millis(millis), SimplePacket::new(1, 1000), &mut ());
        assert_eq!(bare.flows.get_mut(0).estimate, average);
    }
    close(1.0 / bare.per_share(), 3000.0);
    Ok(())
}

/// Appendix A, line 24: (1/2)^10 is 0.00098, 0.9^7.5 is 0.453752. Would catch a shortcut that decides otherwise than
/// the power.
#[test]
fn the_drop_probability_is_the_power() {
    let mut rolls = Seed::new(3).stream("rolls");
    for (part, beta, expected) in
        [(0.5_f64, 10.0_f64, 0.000_976_562_5_f64), (0.9, 7.5, 0.453_752), (0.36, 0.5, 0.6), (0.25, 1.0, 0.25)]
    {
        assert!(is_below_power(expected - 1e-6, part, beta) && !is_below_power(expected + 1e-6, part, beta));
        for _ in 0..10_000 {
            let roll = rolls.unit();
            assert_eq!(is_below_power(roll, part, beta), roll < libm::pow(part, beta), "{roll} {part} {beta}");
        }
    }
    assert!(is_below_power(0.999_999, 1.0, 10.0) && is_below_power(0.999_999, 7.0, 0.5), "a full part is certain");
}

/// Would catch an empty queue that does not admit, and a state that expires before its timeout or never.
#[test]
fn states_expire_and_the_queue_starts_anew() -> Result<(), ParameterError> {
    let mut bare = build(Config::default())?;
    for flow in 0..40 {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
    }
    assert_eq!((bare.packets(), bare.flows.len()), (40, 40));
    // 39 leave; the one that stays queued keeps its state however long it waits.
    for _ in 0..39 {
        bare.dequeue(Time::ZERO, &mut ());
    }
    bare.enqueue(Time::ZERO + Duration::from_millis(449), SimplePacket::new(0, 1000), &mut ());
    assert_eq!((bare.flows.len(), bare.flows.weights()), (40, 40));
    bare.enqueue(Time::ZERO + Duration::from_millis(450), SimplePacket::new(0, 1000), &mut ());
    assert_eq!((bare.packets(), bare.flows.len(), bare.flows.weights()), (3, 2, 2));
    while bare.dequeue(Time::MAX, &mut ()).is_some() {}
    bare.enqueue(Time::MAX, SimplePacket::new(99, 1000), &mut ());
    assert_eq!((bare.flows.len(), bare.flows.weights()), (1, 1));
    close(bare.fair_share.queue, 8000.0);
    Ok(())
}

/// 320 flows of one packet each leave no state for another. Would catch a state that is taken from a flow with a queued
/// packet, and one that is not reused once its packet has left.
#[test]
fn a_new_flow_takes_the_state_of_one_without_packets() -> Result<(), ParameterError> {
    let mut bare = build(Config { limit: Size::bytes(10_000_000), ..Config::default() })?;
    for flow in 0..321 {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
    }
    assert_eq!((bare.packets(), bare.flows.len()), (320, 320));
    assert_eq!(bare.counters().dropped(Reason::Limit).packets, 1);
    bare.dequeue(Time::ZERO, &mut ());
    bare.enqueue(Time::ZERO, SimplePacket::new(999, 1000), &mut ());
    assert_eq!((bare.packets(), bare.flows.len(), bare.flows.weights()), (320, 320, 320));
    assert!(
        bare.flows.find(&SimplePacket::new(0, 1)).is_none() && bare.flows.find(&SimplePacket::new(999, 1)).is_some()
    );
    Ok(())
}

/// A flow is a directed address pair (section 3), and with `weighted` the weights are summed (section 4.5). Would catch
/// a flow told from another by anything else, and a weight that a later packet changes.
#[test]
fn flows_are_address_pairs_with_weights() -> Result<(), ParameterError> {
    let mut bare = build(Config { weighted: true, ..Config::default() })?;
    for (flow, class) in [(1, 0), (2, 0x40), (3, 0x80), (4, 0xc0)] {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000).with_hosts(7, 8).with_class(class), &mut ());
        assert_eq!((bare.flows.len(), bare.flows.weights()), (1, 1), "the first packet decides");
    }
    for (source, destination, weights) in [(8, 7, 2 + 1), (7, 9, 2 + 2 + 1), (9, 8, 2 + 2 + 2 + 1)] {
        let packet = SimplePacket::new(1, 1000).with_hosts(source, destination).with_class(0x40);
        bare.enqueue(Time::ZERO, packet, &mut ());
        assert_eq!(bare.flows.weights(), weights);
    }
    Ok(())
}

/// Appendix A, line 1: one flow may queue 8000 bytes. Would catch a packet that passes when all that is queued, of a
/// new flow or not, and a new flow that is dropped at one byte less.
#[test]
fn what_all_may_queue_is_a_limit() -> Result<(), ParameterError> {
    for (bytes, admitted) in [(8000, 1), (7999, 2)] {
        let mut bare = build(Config::default())?;
        bare.enqueue(Time::ZERO, SimplePacket::new(1, bytes), &mut ());
        bare.enqueue(Time::ZERO, SimplePacket::new(2, 1), &mut ());
        assert_eq!((bare.packets(), bare.counters().dropped(Reason::Limit).packets), (admitted, 2 - admitted as u64));
    }
    Ok(())
}
