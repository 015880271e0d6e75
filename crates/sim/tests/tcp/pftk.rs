//! The model of Padhye, Firoiu, Towsley and Kurose (SIGCOMM 1998) against a long flow with the losses that it assumes:
//! a packet is lost with probability p unless one before it in its round is lost, and after a loss all others of the
//! round are lost.

use std::cell::Cell;
use std::rc::Rc;

use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::Congestion::Sack;
use fairlane_scenario::Tcp;
use fairlane_theory::TcpPath;

use super::path::{Passage, Path, ms};

/// Returns the segments sent per second over `seconds`, with a round trip of 100 ms and timeouts of 400 ms. Segments of
/// a round are sent at the same time, since the path has no queue.
fn rate(window: u32, p: f64, seconds: u64) -> f64 {
    let mut tcp = Tcp::ns2_1999(Sack, window);
    (tcp.timestamps, tcp.tick, tcp.min_rto, tcp.initial_rto) = (true, ms(1), ms(400), ms(400));
    let (clock, sent) = (Rc::new(Cell::new(Time::ZERO)), Rc::new(Cell::new(0_u32)));
    let (now, count) = (Rc::clone(&clock), Rc::clone(&sent));
    let (mut random, mut lost_at) = (Seed::new(1).stream("losses"), None);
    let mut path = Path::new(&tcp, ms(100)).deciding(move |_, _| {
        count.set(count.get() + 1);
        if lost_at == Some(now.get()) || random.chance(p) {
            lost_at = Some(now.get());
            return Passage::Lost;
        }
        Passage::Arrives
    });
    path.start();
    let end = Time::ZERO + ms(1_000 * seconds);
    while let Some(next) = path.next_time().filter(|next| *next <= end) {
        clock.set(next);
        path.step();
    }
    f64::from(sent.get()) / seconds as f64
}

/// Within a quarter: the model leaves out the round trips of recovery and the slow start after a timeout. Would catch
/// wrong growth, a wrong reduction, and timeouts that are too many, too few, too long or too short.
#[test]
fn a_long_flow_follows_the_full_model() {
    let path = TcpPath::new(0.1, 0.4, 1.0).expect("a path");
    for (p, window) in [(0.001, 10_000), (0.003, 10_000), (0.01, 10_000), (0.03, 10_000), (0.1, 10_000), (0.003, 8)] {
        let expected = path.reno_in_full(p, f64::from(window)).expect("a rate");
        let seconds = (1_000.0 / (p * expected)) as u64;
        let measured = rate(window, p, seconds);
        assert!((measured / expected - 1.0).abs() < 0.25, "{p}, {window}: {measured:.2}, expected {expected:.2}");
    }
}
