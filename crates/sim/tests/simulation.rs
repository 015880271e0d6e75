//! Simulations in steps: any slices give the run as a whole, and what changes on the way has the effect that arithmetic
//! predicts.

use std::path::Path;

use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::{Document, Scenario};
use fairlane_sim::{ChangeError, Control, Simulation, StepError, run};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A run as text, with every number that it measured.
fn text(run: &Run) -> String {
    format!("{run:?}")
}

fn shipped(name: &str, duration: &str, warmup: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(name);
    let mut document = Document::load(&path)?;
    document.set("warmup", "0s")?;
    document.set("duration", duration)?;
    document.set("warmup", warmup)?;
    Ok(document.scenario()?)
}

/// Returns the run that a simulation gives which is advanced by `slice` each time.
fn stepped(scenario: &Scenario, slice: Duration) -> Result<Run, Box<dyn std::error::Error>> {
    let mut simulation = Simulation::new(scenario, 3)?;
    let end = Time::ZERO + scenario.duration;
    while simulation.now() < end {
        let until = (simulation.now() + slice).min(end);
        assert!(simulation.step(until, &Control::default())?);
        assert_eq!(simulation.now(), until);
    }
    Ok(simulation.finish(&Control::default())?)
}

/// Would catch an event at the end of a slice that is handled twice, never, or in another order; a warm-up that ends at
/// a step instead of at its time; and reading that disturbs.
#[test]
fn any_slices_give_the_same_run() -> Outcome {
    for name in ["choke-fig3.toml", "parking-lot.toml", "varying-rate.toml", "autorate.toml", "web.toml"] {
        let scenario = shipped(name, "3s", "1s")?;
        let whole = text(&run(&scenario, 3, &Control::default(), &mut ())?);
        // Shorter than a packet's transmission; across the warm-up's end; exactly to it; in one go.
        for slice in [700, 123_457, 1_000_000, 3_000_000] {
            let slices = stepped(&scenario, Duration::from_nanos(1000 * slice))?;
            assert_eq!(text(&slices), whole, "{name} in slices of {slice} µs");
        }
    }
    Ok(())
}

/// Would catch a step that ends early and loses its rest: a stopped control ends each call after some thousand events.
#[test]
fn a_step_that_was_stopped_continues() -> Outcome {
    let scenario = shipped("choke-fig3.toml", "100s", "5s")?;
    let whole = text(&run(&scenario, 0, &Control::default(), &mut ())?);
    let (mut simulation, stopped) = (Simulation::new(&scenario, 0)?, Control::default());
    stopped.stop();
    let mut calls = 1;
    while !simulation.step(at(100_000), &stopped)? {
        calls += 1;
    }
    assert!(calls > 2, "{calls}");
    assert_eq!(text(&simulation.finish(&Control::default())?), whole);
    Ok(())
}

/// A flood of packets of 1000 bytes into a link of 1 Mbit/s.
fn flood(rate: &str, limit: &str, source: &str) -> Result<Scenario, Box<dyn std::error::Error>> {
    let text = format!(
        r#"
        duration = "10s"
        [bottleneck]
        rate  = "{rate}"
        delay = "1ms"
        queue = {{ kind = "droptail", limit = "{limit}" }}
        [access]
        rate  = "100mbit"
        delay = "1ms"
        [[flows]]
        name = "cbr"
        kind = "udp"
        rate = "{source}"
        start = "0s"
    "#
    );
    Ok(Document::parse("flood.toml", &text)?.scenario()?)
}

/// A full link of 1 Mbit/s and then of 4 Mbit/s carries 5 s × 1 Mbit/s + 5 s × 4 Mbit/s = 25 Mbit in 10 s, 2.5 Mbit/s
/// in the mean. Would catch a rate that the link or the outcome does not follow.
#[test]
fn a_link_follows_its_rate() -> Outcome {
    let mut simulation = Simulation::new(&flood("1mbit", "50p", "8mbit")?, 0)?;
    simulation.step(at(5_000), &Control::default())?;
    simulation.change(&flood("4mbit", "50p", "8mbit")?)?;
    assert_eq!(simulation.queue_rate(0).map(Rate::bits_per_second), Some(4_000_000));
    let run = simulation.finish(&Control::default())?;
    assert_eq!(run.queues[0].rate_bps, 2_500_000.0);
    let sent: u64 = run.queues[0].flows.iter().map(|flow| flow.departed_bytes).sum();
    let carried = 8.0 * (sent as f64 + run.queues[0].edge_bytes);
    // Less the packet that was being sent at the old rate, 8 ms of the new one at most, and the time to the first
    // packet.
    assert!((25e6 - 40_000.0..=25e6).contains(&carried), "{carried}");
    assert!(run.expected.fair_bps.is_empty(), "a fair rate would be that of one of the two");
    Ok(())
}

/// At 80 kbit/s a source sends a packet of 1000 bytes each 100 ms, at 800 kbit/s each 10 ms: 50 packets in the first 5
/// s and 500 in those after, less one gap of the old rate.
#[test]
fn a_source_follows_its_rate() -> Outcome {
    let mut simulation = Simulation::new(&flood("10mbit", "50p", "80kbit")?, 0)?;
    simulation.step(at(5_000), &Control::default())?;
    // The phase of the first packet is drawn.
    let first = simulation.flow(0).map_or(0, |flow| flow.sent);
    assert!((49..=50).contains(&first), "{first}");
    simulation.change(&flood("10mbit", "50p", "800kbit")?)?;
    simulation.step(at(10_000), &Control::default())?;
    let sent = simulation.flow(0).map_or(0, |flow| flow.sent) - first;
    assert!((490..=500).contains(&sent), "{sent}");
    Ok(())
}

/// A change before the first packet gives the run that had these values from the start: DropTail draws no random
/// numbers. Would catch a change that holds for part of the links only.
#[test]
fn a_change_at_the_start_is_as_good_as_a_scenario() -> Outcome {
    let mut simulation = Simulation::new(&flood("1mbit", "50p", "8mbit")?, 0)?;
    simulation.change(&flood("2mbit", "20p", "8mbit")?)?;
    let changed = simulation.finish(&Control::default())?;
    let given = run(&flood("2mbit", "20p", "8mbit")?, 0, &Control::default(), &mut ())?;
    assert_eq!(format!("{:?}", changed.queues), format!("{:?}", given.queues));
    assert_eq!(format!("{:?}", changed.flows), format!("{:?}", given.flows));
    Ok(())
}

/// Would catch a change of parameters that drops queued packets, lets new ones pass them, or counts packets twice. With
/// 50 packets in the queue and a new limit of 20 there are 70 at most, and 20 once the 50 have left, which takes 50 × 8
/// ms.
#[test]
fn queued_packets_leave_before_a_new_discipline() -> Outcome {
    let mut simulation = Simulation::new(&flood("1mbit", "50p", "8mbit")?, 0)?;
    simulation.step(at(5_000), &Control::default())?;
    let before = simulation.queues().next().expect("there is a queue");
    assert_eq!(before.backlog.packets, 50);
    simulation.change(&flood("1mbit", "20p", "8mbit")?)?;
    let same = simulation.queues().next().expect("there is a queue");
    assert_eq!((same.backlog, same.arrived, same.dropped), (before.backlog, before.arrived, before.dropped));
    simulation.step(at(5_200), &Control::default())?;
    let during = simulation.queues().next().expect("there is a queue");
    // 25 of the 50 have left, and 20 new ones have come at once.
    assert!((44..=46).contains(&during.backlog.packets), "{}", during.backlog.packets);
    simulation.step(at(6_000), &Control::default())?;
    let after = simulation.queues().next().expect("there is a queue");
    assert_eq!(after.backlog.packets, 20);
    assert_eq!(after.arrived.packets, after.departed.packets + after.dropped.packets + 20);
    // Several changes while packets of all disciplines wait; the end checks that none was lost.
    for (limit, now) in [("30p", 6_010), ("40p", 6_020), ("10p", 6_030)] {
        simulation.change(&flood("1mbit", limit, "8mbit")?)?;
        simulation.step(at(now), &Control::default())?;
    }
    let run = simulation.finish(&Control::default())?;
    assert_eq!(run.queues[0].kind, "droptail");
    Ok(())
}

/// Would catch a step or a change that is ignored instead of refused, or that has an effect although it is refused.
#[test]
fn what_cannot_be_is_refused() -> Outcome {
    let scenario = flood("1mbit", "50p", "8mbit")?;
    let mut simulation = Simulation::new(&scenario, 0)?;
    let control = Control::default();
    simulation.step(at(1_000), &control)?;
    assert_eq!(simulation.step(at(999), &control), Err(StepError::Past { until: at(999), now: at(1_000) }));
    assert_eq!(simulation.step(at(10_001), &control), Err(StepError::AfterEnd { until: at(10_001), end: at(10_000) }));
    let mut other = scenario.clone();
    other.duration = Duration::from_millis(20_000);
    let refused = simulation.change(&other).expect_err("the duration is fixed");
    assert!(matches!(&refused, ChangeError::Fixed { what } if what == "the duration"), "{refused}");
    let mut other = scenario.clone();
    other.links[0].forward.delay = Duration::from_millis(20);
    let refused = simulation.change(&other).expect_err("the delay is fixed").to_string();
    assert!(refused.starts_with("more of link \"bottleneck\" than its rate and its queue cannot change"), "{refused}");
    let mut other = flood("2mbit", "20p", "8mbit")?;
    other.flows[0].class = 4;
    assert!(simulation.change(&other).is_err());
    assert_eq!(simulation.scenario(), &scenario);
    assert_eq!(text(&simulation.finish(&control)?), text(&run(&scenario, 0, &control, &mut ())?));
    Ok(())
}
