//! A router that shapes both directions of an interface.

use std::fs;
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::{Place, printed};
use crate::namespace::in_namespace;
use crate::running::{Running, listen, metric, nothing, refused, rules, scrape, settle, state, tables};

/// Packets over loopback leave and arrive by it, so they pass both queues: first that of `--up`, then that of `--down`,
/// whose rate is a quarter. 400 datagrams of 1000 bytes take 800 ms there. Would catch two queues with one rate,
/// packets that miss one of them, and one that is counted in both.
#[test]
fn both_directions_have_their_rate() {
    in_namespace(|| {
        let before = nothing();
        let place = Place::new();
        let text = |up: &str, down: &str| {
            let queue = "queue = { kind = \"droptail\", limit = \"1000p\" }";
            let file = format!("interface = \"lo\"\nup = \"{up}\"\ndown = \"{down}\"\n{queue}\n");
            place.write("router.toml", &file)
        };
        let mut router = Running::start(&["--config", &text("16mbit", "4mbit")]);
        router.wait_for("direction=\"down\" queue=1 rate=4mbit");
        let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), listen("127.0.0.1:0"));
        to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let start = Instant::now();
        for _ in 0..400 {
            from.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
        }
        assert!((0..400).all(|_| to.recv(&mut [0; 2000]).is_ok()), "{:#}", state());
        let took = start.elapsed().as_secs_f64();
        // The first packet leaves at once. What a busy machine adds is made up for but beyond 50 ms at a time.
        assert!((0.78..4.0).contains(&took), "{took} s");
        settle();
        let (state, metrics) = (state(), scrape());
        for (direction, queue, rate) in [("up", 0, 16_000_000), ("down", 1, 4_000_000)] {
            let of = &state[direction];
            assert_eq!(
                (&of["direction"], &of["path"], &of["link"]["rate_bps"], &of["departed"]["packets"]),
                (&direction.into(), &format!("queue {queue}").into(), &rate.into(), &400.into()),
                "{of:#}"
            );
            let labels = format!("queue=\"{queue}\",direction=\"{direction}\"");
            assert_eq!(metric(&metrics, "fairlane_departed_bytes_total", &labels), Some(400_000.0), "{metrics}");
        }
        // The first queue takes 200 ms, so the second held most packets.
        assert!(state["down"]["sojourn_s"]["max"].as_f64() > Some(0.4), "{:#}", state["down"]["sojourn_s"]);
        text("8mbit", "2mbit");
        router.signal(Signal::SIGHUP);
        router.wait_for("direction=\"down\" rate=2mbit");
        let shown = printed(&["top", "--once"]);
        assert!(shown.starts_with("up: droptail, queue 0 on lo"), "{shown}");
        assert!(shown.contains("\n8mbit, ") && shown.contains("\ndown: droptail, queue 1 on lo"), "{shown}");
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
        let ended = router.rest();
        assert_eq!(ended.matches("arrived=400 departed=400 dropped=0").count(), 2, "{ended}");
    });
}

/// One direction alone, without a queue's number, and what cannot be.
#[test]
fn directions_that_contradict_are_refused() {
    in_namespace(|| {
        fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        let down = printed(&["router", "--interface", "lo", "--down", "4mbit", "--dry-run", "fq-codel"]);
        assert!(down.starts_with("down: Queue 0, flows by five-tuple\nLink of 4mbit"), "{down}");
        assert!(down.contains("Rules for packets arriving by lo\n") && !down.contains("leaving"), "{down}");
        for (words, part) in [
            (&["--interface=lo", "--rate=1mbit", "--up=1mbit"][..], "contradict"),
            (&["--up=1mbit", "--queue-num=0"], "--interface for --up and --down"),
            (&["--up=1mbit", "--bridge=lo,lo"], "on a bridge --up and --down need each other"),
            (&["--up=1mbit", "--down=1mbit", "--path=bridge"], "--bridge for --path bridge"),
            (&["--up=1mbit", "--down=1mbit", "--interface=lo", "--queue-num=65535"], "--queue-num leaves no numbers"),
        ] {
            refused(&[&["router"], words, &["choke"]].concat(), &[part]);
        }
    });
}
