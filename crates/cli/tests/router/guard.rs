//! A router that stands still.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::namespace::in_namespace;
use crate::running::{Running, has_rules, nothing, rules, tables, through, with};

/// Returns the time until a datagram over loopback arrives, sent every 20 ms.
fn until_one_passes() -> Duration {
    let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    to.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        from.send_to(&[1], to.local_addr().unwrap()).unwrap();
        if to.recv(&mut [0; 10]).is_ok() {
            return start.elapsed();
        }
    }
    panic!("nothing passes");
}

/// A router that is stopped lets packets pass after a second, those that waited leave when it goes on, and its rules
/// are back then, also after its guard was killed. Would catch a stopped router that stops the traffic, and rules that
/// stay away or double.
#[test]
fn packets_pass_while_the_router_stands_still() {
    in_namespace(|| {
        let before = nothing();
        let mut router = Running::start(&with(&["droptail", "limit=1000p"]));
        let with_rules = (rules(), tables());
        for round in 0..2 {
            let waiting = UdpSocket::bind("127.0.0.1:0").unwrap();
            router.stop();
            for _ in 0..5 {
                waiting.send_to(&[1], waiting.local_addr().unwrap()).unwrap();
            }
            let pause = until_one_passes();
            eprintln!("the pause is {pause:?}");
            // One second, and the time of the tool. A busy machine takes longer.
            assert!(pause < Duration::from_secs(10), "{pause:?}");
            router.signal(Signal::SIGCONT);
            router.wait_for("this router stood still for a second");
            router.wait_for("the rules are installed again");
            assert_eq!((rules(), tables()), with_rules);
            waiting.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            assert!((0..5).all(|_| waiting.recv(&mut [0; 10]).is_ok()), "{}", router.said);
            assert_eq!((through(50), has_rules(0)), (50, true));
            if round == 0 {
                let killed = router.guard().unwrap();
                kill(Pid::from_raw(killed), Signal::SIGKILL).unwrap();
                router.wait_for("the process that guards the rules has ended");
                let start = Instant::now();
                while router.guard().is_none_or(|guard| guard == killed) && start.elapsed() < Duration::from_secs(20) {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}
