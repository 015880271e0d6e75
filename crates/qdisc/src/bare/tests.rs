use super::settings::Threshold;
use super::*;
use crate::{Duration, Host, Kind, ParameterError, QdiscConfig, Rate, SimplePacket};

const PAPER: Threshold = Threshold { hi: 8000.0, lo: 4000.0, n1: 30.0, n2: 60.0 };

fn close(ours: f64, expected: f64) {
    assert!((ours / expected - 1.0).abs() < 2e-6, "{ours} {expected}");
}

/// SPEC appendix D.
#[test]
fn the_virtual_threshold_has_its_vectors() {
    for (flows, bytes) in [
        (1, 8000.0),
        (10, 80_000.0),
        (30, 240_000.0),
        (45, 240_000.0),
        (60, 240_000.0),
        (80, 320_000.0),
        (320, 1_280_000.0),
    ] {
        close(PAPER.of(f64::from(flows)), bytes);
    }
    close(PAPER.of(45.0) / 45.0, 5333.33);
    // The other reading of the missing figure: half of the buffer at 20 flows, 2000 bytes more for each up to 60.
    let other = Threshold { n1: 20.0, ..PAPER };
    close(other.of(20.0), 160_000.0);
    close(other.of(21.0), 162_000.0);
    close(other.of(60.0), 240_000.0);
}

fn build(given: &[(&str, &str)]) -> Result<Bare<SimplePacket>, ParameterError> {
    let mut config = QdiscConfig::new(Kind::Bare);
    for &(key, text) in given {
        config.set(key, text.into())?;
    }
    let host = Host { rate: Rate::from_bits_per_second(20_000_000), seed: Seed::new(5) };
    match config.build(&host)? {
        crate::AnyQdisc::Bare(bare) => Ok(bare),
        other => panic!("{other:?}"),
    }
}

/// SPEC 15.1 and appendix D: the paper's link is divided into 7812.5 bytes per second for each of 320 flows, and the
/// defaults are the paper's constants there.
#[test]
fn the_defaults_are_the_papers_at_its_link() -> Result<(), ParameterError> {
    let bare = build(&[])?;
    close(1.0 / Share::new(&bare.settings, 320).per_rate, 7812.5);
    for (flows, target) in [(0, 4000.0), (10, 40_000.0), (30, 120_000.0), (80, 120_000.0)] {
        close(Share::new(&bare.settings, flows).target, target);
    }
    let Settings { target, fair_drop, flows, beta, beta_min, beta_max, increase, weight, per_k, timeout, .. } =
        bare.settings;
    assert_eq!((target, fair_drop, flows), (120_000.0, 140_000, 320));
    assert_eq!((beta, beta_min, beta_max, increase, weight), (7.5, 0.5, 10.0, 1.2, 0.004));
    close(1.0 / per_k, 0.15);
    assert_eq!(timeout, Duration::from_millis(450));
    Ok(())
}

/// SPEC appendix D: K 0.15 s, the second packet after 0.1 s and at the same moment.
#[test]
fn the_first_rate_has_its_vectors() -> Result<(), ParameterError> {
    for (millis, rate) in [(100, 4865.83), (0, 6666.67)] {
        let mut bare = build(&[])?;
        bare.enqueue(Time::ZERO, SimplePacket::new(1, 1000), &mut ());
        bare.enqueue(Time::ZERO + Duration::from_millis(millis), SimplePacket::new(1, 1000), &mut ());
        close(bare.flows.get_mut(0).rate, rate);
    }
    Ok(())
}

/// SPEC 15 and appendix D: (1/2)^10 is 0.00098, 0.9^7.5 is 0.453752; and whatever the shortcuts do, it is the power.
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

/// SPEC 15.5.1 and 20.12: the empty queue admits; states go with their flows, after the timeout and not before.
#[test]
fn states_expire_and_the_queue_starts_anew() -> Result<(), ParameterError> {
    let mut bare = build(&[])?;
    for flow in 0..40 {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
    }
    assert_eq!((bare.packets(), bare.flows.known()), (40, 40));
    // 39 leave; the one that stays keeps its state however long it stands there.
    for _ in 0..39 {
        bare.dequeue(Time::ZERO, &mut ());
    }
    bare.enqueue(Time::ZERO + Duration::from_millis(449), SimplePacket::new(0, 1000), &mut ());
    assert_eq!((bare.flows.known(), bare.flows.weights()), (40, 40));
    bare.enqueue(Time::ZERO + Duration::from_millis(450), SimplePacket::new(0, 1000), &mut ());
    assert_eq!((bare.packets(), bare.flows.known(), bare.flows.weights()), (3, 2, 2));
    while bare.dequeue(Time::MAX, &mut ()).is_some() {}
    bare.enqueue(Time::MAX, SimplePacket::new(99, 1000), &mut ());
    assert_eq!((bare.flows.known(), bare.flows.weights()), (1, 1));
    close(bare.share.queue, 8000.0);
    Ok(())
}

/// SPEC 15.5.7: 320 flows of one packet each leave no state for another; once one has left, its state is used again.
#[test]
fn a_new_flow_takes_the_state_of_one_without_packets() -> Result<(), ParameterError> {
    let mut bare = build(&[("limit", "10mb")])?;
    for flow in 0..321 {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000), &mut ());
    }
    assert_eq!((bare.packets(), bare.flows.known()), (320, 320));
    assert_eq!(bare.counters().dropped(Reason::Limit).packets, 1);
    bare.dequeue(Time::ZERO, &mut ());
    bare.enqueue(Time::ZERO, SimplePacket::new(999, 1000), &mut ());
    assert_eq!((bare.packets(), bare.flows.known(), bare.flows.weights()), (320, 320, 320));
    assert!(
        bare.flows.find(&SimplePacket::new(0, 1)).is_none() && bare.flows.find(&SimplePacket::new(999, 1)).is_some()
    );
    Ok(())
}

/// SPEC 15: a flow is an address pair, whatever else differs; and with weights 1 to 4 in the sum.
#[test]
fn flows_are_address_pairs_with_weights() -> Result<(), ParameterError> {
    let mut bare = build(&[("weighted", "true")])?;
    for (flow, class) in [(1, 0), (2, 0x40), (3, 0x80), (4, 0xc0)] {
        bare.enqueue(Time::ZERO, SimplePacket::new(flow, 1000).with_hosts(7, 8).with_class(class), &mut ());
        assert_eq!((bare.flows.known(), bare.flows.weights()), (1, 1), "the first packet decides");
    }
    for (source, destination, weights) in [(8, 7, 2 + 1), (7, 9, 2 + 2 + 1), (9, 8, 2 + 2 + 2 + 1)] {
        let packet = SimplePacket::new(1, 1000).with_hosts(source, destination).with_class(0x40);
        bare.enqueue(Time::ZERO, packet, &mut ());
        assert_eq!(bare.flows.weights(), weights);
    }
    Ok(())
}

/// SPEC 15.4, line 1: one flow may queue 8000 bytes. Who finds them queued is dropped, new or not; a byte less lets a new
/// flow in.
#[test]
fn what_all_may_queue_is_a_limit() -> Result<(), ParameterError> {
    for (bytes, admitted) in [(8000, 1), (7999, 2)] {
        let mut bare = build(&[])?;
        bare.enqueue(Time::ZERO, SimplePacket::new(1, bytes), &mut ());
        bare.enqueue(Time::ZERO, SimplePacket::new(2, 1), &mut ());
        assert_eq!((bare.packets(), bare.counters().dropped(Reason::Limit).packets), (admitted, 2 - admitted as u64));
    }
    Ok(())
}
