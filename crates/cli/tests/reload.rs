//! Reloads of a router's file, and the router's end afterwards, in a network namespace of the test.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

mod common;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use common::Place;
use namespace::{in_namespace, tool};
use nix::sys::signal::Signal;
use running::{Running, has_rules, metric, rules, scrape, settle, sockets, state, through};

/// SIGHUP: the file is read again, and queued packets leave first; an invalid file changes nothing. The metrics show
/// both.
#[test]
fn a_reload_and_the_metrics() {
    in_namespace(|| {
        let place = Place::new();
        let write = |rate: &str, kind: &str| {
            place.write(
                "router.toml",
                &format!("queue-num = 0\ninterface = \"lo\"\nrate = \"{rate}\"\nmetrics = 9277\nqueue = {{ kind = \"{kind}\" }}\n"),
            )
        };
        let file = write("10kbit", "droptail");
        let mut router = Running::start(&["--config", &file]);
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        // At 10 kbit/s a packet takes 0.8 s: 20 are 16 s.
        for _ in 0..20 {
            sender.send_to(&[1; 972], receiver.local_addr().unwrap()).unwrap();
        }
        let reload = |router: &mut Running, rate: &str, kind: &str, said: &str| {
            write(rate, kind);
            router.signal(Signal::SIGHUP);
            router.wait_for(said);
        };
        reload(&mut router, "10mbit", "chok", "nothing has changed: ");
        reload(&mut router, "10mbit", "choke", "reloaded; queued packets leave first");
        let start = Instant::now();
        assert_eq!((0..20).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count(), 20);
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        // The metrics' own packets go over loopback too.
        thread::sleep(Duration::from_millis(600));
        let metrics = scrape();
        for line in [
            "fairlane_reloads_total{queue=\"0\"} 1\n",
            "fairlane_dropped_packets_total{queue=\"0\",reason=\"match_victim\"} 0\n",
        ] {
            assert!(metrics.contains(line), "no {line} in {metrics}");
        }
        let value = |name: &str| metric(&metrics, name, "queue=\"0\"").unwrap();
        assert!(value("fairlane_departed_packets_total") >= 20.0, "{metrics}");
        assert_eq!(
            value("fairlane_arrived_packets_total"),
            value("fairlane_departed_packets_total") + value("fairlane_backlog_packets")
        );
        assert_eq!(value("fairlane_sojourn_seconds_count"), value("fairlane_departed_packets_total"));
        assert!(metrics.ends_with("# EOF\n"), "{metrics}");
        let state = state();
        assert_eq!((&state["discipline"]["kind"], &state["link"]["rate_bps"]), (&"choke".into(), &10_000_000.into()));
        assert_eq!((&state["reloads"], &state["interfaces"]), (&1.into(), &serde_json::json!(["lo"])));
        // Nothing that the discipline is made of follows the rate here.
        reload(&mut router, "5mbit", "droptail", "reloaded; queued packets leave first");
        reload(&mut router, "4mbit", "droptail", "reloaded; queued packets stay");
        router.signal(Signal::SIGINT);
        assert_eq!(router.end(), Some(0));
    });
}

/// Would catch an option that is ignored without a word, and a file of which a part takes effect.
#[test]
fn a_reload_says_what_needs_a_new_start() {
    in_namespace(|| {
        let place = Place::new();
        let before = "queue-num = 0\nrate = \"1mbit\"\nlog = \"json\"\nqueue = { kind = \"red\" }\n";
        let file = place.write("router.toml", before);
        let mut router = Running::start(&["--config", &file]);
        let rest = "rate = \"2mbit\"\nlog = \"json\"\nqueue = { kind = \"choke\" }\n";
        for (text, words) in [
            (
                "queue-num = 1\nrate = \"2mbit\"\nlog = \"text\"\nqueue = { kind = \"choke\" }\ninterface = \"lo\"\nmarks = 0x30\n\
                 fail-open = true\ngso = true\n"
                    .to_owned(),
                "queue-num, interface, fail-open, gso, log",
            ),
            (format!("bridge = \"lan0,wan0\"\n{rest}"), "path"),
            ("interface = \"lo\"\nup = \"2mbit\"\nlog = \"json\"\nqueue = { kind = \"choke\" }\n".to_owned(), "the choice of --rate, --up and --down, interface"),
        ] {
            place.write("router.toml", &text);
            router.signal(Signal::SIGHUP);
            let line = router.wait_for("the file is refused, and nothing has changed: ");
            let expected = format!("{words}: this cannot change while the router runs; start it again for that");
            assert!(line.contains(&expected), "{line}");
        }
        assert!(!router.said.contains("reloaded"), "{}", router.said);
        let state = state();
        assert_eq!((&state["path"], &state["discipline"]["kind"]), (&"queue 0".into(), &"red".into()));
        assert_eq!((&state["link"]["rate_bps"], &state["reloads"]), (&1_000_000.into(), &0.into()));
    });
}

/// The metrics move from the default socket to a port, and to none. Would catch a place that answers no more before the
/// other does, one that answers on, and a file with a place that is taken of which the rest takes effect.
#[test]
fn the_metrics_move() {
    in_namespace(|| {
        let place = Place::new();
        let write = |metrics: &str, kind: &str| {
            let text = format!("queue-num = 0\nrate = \"1mbit\"\n{metrics}\nqueue = {{ kind = \"{kind}\" }}\n");
            place.write("router.toml", &text)
        };
        let mut router = Running::start(&["--config", &write("", "red")]);
        assert_eq!((sockets().len(), &state()["discipline"]["kind"]), (1, &"red".into()));
        let taken = std::net::TcpListener::bind("127.0.0.1:9300").unwrap();
        write("metrics = 9300", "choke");
        router.signal(Signal::SIGHUP);
        let line = router.wait_for("the file is refused, and nothing has changed: ");
        assert!(line.contains("cannot serve metrics at 127.0.0.1:9300"), "{line}");
        assert_eq!((sockets().len(), &state()["discipline"]["kind"]), (1, &"red".into()));
        drop(taken);
        write("metrics = 9277", "choke");
        router.signal(Signal::SIGHUP);
        router.wait_for("reloaded");
        assert_eq!((sockets().len(), &state()["discipline"]["kind"]), (0, &"choke".into()));
        write("metrics = \"off\"", "choke");
        router.signal(Signal::SIGHUP);
        router.wait_for("reloaded");
        let answers = || std::net::TcpStream::connect("127.0.0.1:9277").is_ok();
        let start = Instant::now();
        while answers() && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        assert!(!answers());
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// After a reload packets have their size on the new link, here 100 bytes more, also with two reading threads.
#[test]
fn a_reload_changes_what_a_packet_takes() {
    in_namespace(|| {
        let place = Place::new();
        let write = |overhead: &str| {
            let text = format!(
                "queue-num = \"0:1\"\nrate = \"100mbit\"\noverhead = \"{overhead}\"\nqueue = {{ kind = \"droptail\" }}\n"
            );
            place.write("router.toml", &text)
        };
        let file = write("0b");
        let mut router = Running::start(&["--config", &file]);
        for family in ["iptables", "ip6tables"] {
            tool(family, "-t mangle -A OUTPUT -o lo -p udp -j NFQUEUE --queue-balance 0:1");
        }
        let bytes = |packets: u64| {
            assert_eq!(through(50), 50);
            settle();
            let state = state();
            assert_eq!(state["departed"]["packets"], packets, "{state:#}");
            state["departed"]["bytes"].as_u64().unwrap()
        };
        assert_eq!(bytes(50), 50 * 1000);
        write("100b");
        router.signal(Signal::SIGHUP);
        router.wait_for("reloaded");
        // Each thread takes the new link when it wakes, at most a quarter of a second later.
        thread::sleep(Duration::from_millis(600));
        assert_eq!(bytes(100), 50 * 1000 + 50 * 1100);
    });
}

/// A second signal ends the draining, as does a `--drain` that a reload has changed: 25 packets of 8 s each would take
/// minutes.
#[test]
fn a_second_signal_and_a_new_bound_end_the_wait() {
    in_namespace(|| {
        let place = Place::new();
        let write = |drain: &str| {
            let text = format!(
                "queue-num = 0\ninterface = \"lo\"\nrate = \"1kbit\"\ndrain = \"{drain}\"\nlog = \"json\"\n\
                 queue = {{ kind = \"droptail\" }}\n"
            );
            place.write("router.toml", &text)
        };
        for how in ["a second signal", "a new bound"] {
            let file = write("600s");
            let mut router = Running::start(&["--config", &file]);
            let (sender, receiver) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
            receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            for _ in 0..25 {
                sender.send_to(&[1; 972], receiver.local_addr().unwrap()).unwrap();
            }
            if how == "a new bound" {
                write("1ms");
                router.signal(Signal::SIGHUP);
                router.wait_for("reloaded");
            }
            router.signal(Signal::SIGTERM);
            router.wait_for("ending");
            if how == "a second signal" {
                router.signal(Signal::SIGTERM);
            }
            assert_eq!(router.end(), Some(0), "{how}");
            assert_eq!((0..25).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count(), 25, "{how}");
            assert!(!has_rules(0), "{how}: {}", rules());
        }
    });
}
