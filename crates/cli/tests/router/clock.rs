//! A clock that is set while packets pass. The clock of the machine is not the test's, so this is tested in a guest.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, clock_gettime, clock_settime};
use serde_json::Value;

use crate::namespace::{in_namespace, tool};
use crate::running::{Running, state};

/// IP packets of 1000 bytes take 4 ms on a link of 2 Mbit/s.
const PACKET: f64 = 4e-3;
/// The longest pause that the link makes up for ("The link" in docs/router.md).
const CATCH_UP: f64 = 50e-3;

const DAY: i64 = 86_400;

fn set_clock_forward(seconds: i64) {
    let now = clock_gettime(ClockId::CLOCK_REALTIME).unwrap();
    clock_settime(ClockId::CLOCK_REALTIME, TimeSpec::new(now.tv_sec() + seconds, now.tv_nsec())).unwrap();
}

/// Sends twice what the link can take until `end`.
fn flood(to: std::net::SocketAddr, end: Instant) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    while Instant::now() < end {
        socket.send_to(&[1; 972], to).unwrap();
        thread::sleep(Duration::from_secs_f64(PACKET / 2.0));
    }
}

/// Returns the times of arrival in seconds.
fn arrivals(socket: &UdpSocket) -> Vec<f64> {
    let start = Instant::now();
    socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    std::iter::from_fn(|| socket.recv(&mut [0; 2000]).ok().map(|_| start.elapsed().as_secs_f64())).collect()
}

/// The clock is set a day forward, two days back, and right again while the link is overloaded. By the monotonic clock
/// packets leave at the link's rate all the time, and counts only rise. Would catch a time that is taken from the wrong
/// clock.
#[test]
#[ignore = "sets the clock: it_holds_in_a_guest_with_other_firewalls runs it"]
fn a_clock_that_is_set_changes_nothing() {
    in_namespace(|| {
        // Only the flood is queued, and the router's answers about its state are not.
        tool("nft", "add table inet mine");
        tool("nft", "add chain inet mine out { type filter hook postrouting priority 0 ; }");
        tool("nft", "add rule inet mine out meta l4proto udp queue num 0 bypass");
        let mut router = Running::start(&["--queue-num=0", "--rate=2mbit", "droptail", "limit=50p"]);
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (address, end) = (receiver.local_addr().unwrap(), Instant::now() + Duration::from_secs(4));
        let received = thread::spawn(move || arrivals(&receiver));
        // A namespace is that of a thread and of those that it starts.
        let flood = thread::spawn(move || flood(address, end));
        let mut states = Vec::new();
        for forward in [0, DAY, -2 * DAY, DAY] {
            thread::sleep(Duration::from_millis(800));
            set_clock_forward(forward);
            states.push(state());
        }
        flood.join().unwrap();
        let times = received.join().unwrap();
        check_rate(&times);
        for pair in states.windows(2) {
            check_order(&pair[0], &pair[1]);
        }
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// The rate over all is exact within a percent, there is no pause, and no burst beyond what the link makes up for.
fn check_rate(times: &[f64]) {
    let took = times[times.len() - 1] - times[0];
    let rate = (times.len() - 1) as f64 * PACKET / took;
    let pause = times.windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max);
    eprintln!("{} packets in {took:.3} s: {rate:.4} of the rate, longest pause {:.2} ms", times.len(), 1e3 * pause);
    assert!(took > 3.9 && (0.99..1.01).contains(&rate), "{rate} in {took} s");
    assert!(pause < CATCH_UP, "{pause}");
    for (first, from) in times.iter().enumerate() {
        let in_a_tenth = times[first..].iter().take_while(|time| *time - from < 0.1).count();
        assert!((in_a_tenth as f64) < (0.1 + CATCH_UP) / PACKET + 1.0, "{in_a_tenth} packets from {from} s");
    }
}

/// The times of a state are those of a clock that runs evenly, and its counts rise.
fn check_order(before: &Value, after: &Value) {
    for key in ["at_s", "uptime_s"] {
        let passed = after[key].as_f64().unwrap() - before[key].as_f64().unwrap();
        assert!((0.3..2.0).contains(&passed), "{key}: {passed}");
    }
    for key in ["arrived", "departed"] {
        let [from, to] = [before, after].map(|state| state[key]["packets"].as_u64().unwrap());
        assert!(from < to, "{key}: {from} and then {to}");
    }
}
