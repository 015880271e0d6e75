//! Times, rates, waits, losses and jitter of a bottleneck compared with closed forms.

use fairlane_link::{Bottleneck, Config, Loss};
use fairlane_qdisc::{Duration, Qdisc, Seed, SimplePacket, Time};

use crate::caller::{cross, fifo, link, mbit};

fn nanos(nanos: u64) -> Time {
    Time::from_nanos(nanos)
}

/// Returns `count` datagrams of 1000 bytes that arrive `gap` nanoseconds apart, numbered from 0.
fn train(count: u64, gap: u64) -> impl Iterator<Item = (Time, SimplePacket)> {
    (0..count).map(move |id| (nanos(id * gap), SimplePacket::new(1, 1000).with_id(id)))
}

/// Would catch a delay before the transmission instead of after it, and fractions of nanoseconds that are lost: n
/// datagrams of 1000 bytes at 3 Mbit/s take n · 8000 / 3 µs, and then 10 ms.
#[test]
fn arrivals_are_exact_to_the_nanosecond() {
    let mut link = link(Config { delay: Duration::from_millis(10), ..Config::new(mbit(3)) }, fifo(10));
    let arrivals: Vec<u64> = cross(&mut link, train(5, 0)).iter().map(|(at, _)| at.as_nanos()).collect();
    let expected: Vec<u64> = (1..=5).map(|n| n * 8_000_000 / 3 + 10_000_000).collect();
    assert_eq!(arrivals, expected);
}

/// Would catch departures at the times of the calls instead of the ends of transmissions: 1000 bytes take 1 ms at 8
/// Mbit/s, and the caller sleeps for 10 ms.
#[test]
fn a_caller_that_is_late_changes_nothing() {
    let mut link = link(Config::new(mbit(8)), fifo(10));
    train(5, 0).for_each(|(at, datagram)| link.push(at, datagram));
    assert_eq!(link.next(), Some(nanos(1_000_000)));
    assert_eq!(link.pop(nanos(999_999)), None);
    let late = nanos(10_000_000);
    let popped: Vec<u64> = std::iter::from_fn(|| link.pop(late)).map(|datagram| datagram.id).collect();
    assert_eq!((popped, link.next()), ((0..5).collect(), None));
    link.push(late, SimplePacket::new(1, 1000));
    assert_eq!(link.next(), Some(nanos(11_000_000)));
}

/// Would catch a transmitter that pauses, or one that catches up on idle time. At twice the rate for 10 s a link of 8
/// Mbit/s carries a datagram of 1000 bytes a millisecond, and the 50 that the queue holds at the end.
#[test]
fn a_saturated_link_carries_its_rate() {
    let mut link = link(Config::new(mbit(8)), fifo(50));
    let popped = cross(&mut link, train(20_000, 500_000));
    assert_eq!(popped.len(), 10_000 + 50);
    assert!(popped.iter().zip(1..).all(|((at, _), n)| *at == nanos(n * 1_000_000)));
    let counters = link.queue().counters();
    assert_eq!((counters.arrived.packets, counters.dropped_total().packets), (20_000, 9_950));
}

/// Would catch waits that a busy link does not have or lacks. M/D/1 (Kleinrock, Queueing Systems I, 1975, section 5.6):
/// at load ρ the mean wait is ρ / (2 (1 - ρ)) services, here 0.75. Five standard errors of a million arrivals, whose
/// waits are correlated over about 1 / (1 - ρ)² of them, are 2 %.
#[test]
fn waits_are_those_of_a_queue_with_constant_service() {
    let (mut random, mut now) = (Seed::new(1).stream("gaps"), 0.0);
    let poisson = (0..1_000_000).map(|_| {
        now -= libm::log(1.0 - random.unit()) * 1_000_000.0 / 0.6;
        (nanos(now as u64), SimplePacket::new(1, 1000).with_id(now as u64))
    });
    let popped = cross(&mut link(Config::new(mbit(8)), fifo(10_000)), poisson);
    let waits = popped.iter().map(|(at, datagram)| (at.as_nanos() - datagram.id - 1_000_000) as f64);
    let mean = waits.sum::<f64>() / popped.len() as f64 / 1_000_000.0;
    assert!((mean / 0.75 - 1.0).abs() < 0.02, "{mean}");
}

/// Would catch a wrong probability, and losses that are counted as drops. Of 100,000 datagrams 3 % are lost, with a
/// standard deviation of √(100,000 · 0.03 · 0.97) = 54.
#[test]
fn losses_are_binomial() {
    let mut link = link(Config { loss: Some(Loss::independent(0.03)), ..Config::new(mbit(8)) }, fifo(10));
    let popped = cross(&mut link, train(100_000, 1_000_000));
    let lost = link.lost().packets;
    assert!(lost.abs_diff(3_000) < 5 * 54, "{lost}");
    assert_eq!((popped.len() as u64, link.queue().counters().dropped_total().packets), (100_000 - lost, 0));
}

/// Would catch losses in bursts that are too long or too rare. In the bad state all are lost, so a burst is as long as
/// a stay, 1 / r = 4 datagrams in the mean, and p / (p + r) = 1/26 of all are lost (Gilbert 1960).
#[test]
fn losses_come_in_bursts() {
    let loss = Loss { to_bad: 0.01, to_good: 0.25, in_bad: 1.0, in_good: 0.0 };
    let mut link = link(Config { loss: Some(loss), ..Config::new(mbit(8)) }, fifo(10));
    let popped = cross(&mut link, train(1_000_000, 1_000_000));
    let bursts = popped.windows(2).filter(|pair| pair[1].1.id > pair[0].1.id + 1).count() as f64;
    let lost = link.lost().packets as f64;
    assert!((lost * 26.0 / 1_000_000.0 - 1.0).abs() < 0.05, "{lost}");
    assert!((lost / bursts - 4.0).abs() < 0.2, "{lost} {bursts}");
}

/// Would catch jitter outside of its range, or another mean than the delay. Without `reorder` no datagram overtakes
/// another; with it, and 0.1 ms from one to the next, some do. Delays are uniform from 6 to 14 ms: the mean of 50,000
/// has a standard error of 8 / √12 / √50,000 = 0.01 ms.
#[test]
fn jitter_is_uniform_and_reorders_only_where_it_may() {
    let delays = |reorder: bool| {
        let (delay, jitter) = (Duration::from_millis(10), Duration::from_millis(4));
        let mut link = link(Config { delay, jitter, reorder, ..Config::new(mbit(80)) }, fifo(10));
        let popped = cross(&mut link, train(50_000, 100_000));
        let delay = |(at, datagram): &(Time, SimplePacket)| at.as_nanos() - (datagram.id + 1) * 100_000;
        (popped.is_sorted_by_key(|(_, datagram)| datagram.id), popped.iter().map(delay).collect::<Vec<u64>>())
    };
    let ((kept, held), (sorted, drawn)) = (delays(false), delays(true));
    assert!(kept && !sorted);
    assert!(held.iter().chain(&drawn).all(|delay| (6_000_000..=14_000_000).contains(delay)));
    let mean = drawn.iter().sum::<u64>() as f64 / 50_000.0;
    assert!((mean - 10_000_000.0).abs() < 50_000.0, "{mean}");
}

/// Would catch draws that depend on more than the seed, and a seed that is ignored.
#[test]
fn the_same_seed_has_the_same_losses() {
    let config = Config { loss: Some(Loss::independent(0.5)), ..Config::new(mbit(8)) };
    let run = |seed| {
        let mut link = Bottleneck::new(config, fifo(10), Seed::new(seed)).expect("a probability");
        cross(&mut link, train(100, 1_000_000))
    };
    assert!(run(1) == run(1) && run(1) != run(2));
}

/// Would catch a value that is taken although it has no meaning.
#[test]
fn an_error_names_the_field_and_the_remedy() {
    let error = |config| Bottleneck::new(config, fifo(1), Seed::new(1)).expect_err("wrong").to_string();
    assert_eq!(error(Config::new(mbit(0))), "rate: it must be greater than zero");
    let (delay, jitter) = (Duration::from_millis(1), Duration::from_millis(2));
    assert_eq!(
        error(Config { delay, jitter, ..Config::new(mbit(1)) }),
        "jitter: 2ms is more than the delay of 1ms: packets would arrive before they went"
    );
    for probability in [-0.1, 1.1, f64::NAN] {
        let loss = Some(Loss::independent(probability));
        assert_eq!(
            error(Config { loss, ..Config::new(mbit(1)) }),
            format!("loss: {probability} is not a probability, which is a number from 0 to 1")
        );
    }
}
