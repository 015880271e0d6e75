//! A router that adjusts its rate to a link whose rate varies.

use std::fs;
use std::net::UdpSocket;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::common::{Place, printed};
use crate::namespace::{in_namespace, tool};
use crate::node::Node;
use crate::running::{Running, metric, nothing, refused, rules, scrape, state, tables};

/// Makes the link, whose near end is `wan0` with the address 10.9.0.1, and returns its far end: the modem, whose own
/// router is the link, and the host that takes everything.
fn link() -> Node {
    let far = Node::new();
    tool("ip", &format!("link add wan0 type veth peer name far0 netns {}", far.tid));
    tool("ip", "addr add 10.9.0.1/24 dev wan0");
    tool("ip", "link set wan0 up");
    far.run(|| {
        tool("ip", "addr add 10.9.0.2/24 dev far0");
        tool("ip", "link set far0 up");
    });
    far
}

/// Asks until the state of the router is as expected, and returns it; `None` after 20 s.
fn until(expected: impl Fn(&Value) -> bool) -> Option<Value> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let state = state();
        if expected(&state) {
            return Some(state);
        }
        thread::sleep(Duration::from_millis(100));
    }
    None
}

fn rate(state: &Value) -> f64 {
    state["link"]["rate_bps"].as_f64().unwrap() / 1e6
}

/// The link, a separate router with a long FIFO, falls from 20 to 4 Mbit/s under load, rises again, and at last answers
/// nobody. Would catch a rate that does not follow, and one that is decided and not carried out.
#[test]
fn the_rate_follows_the_link() {
    in_namespace(|| {
        let place = Place::new();
        let far = link();
        let modem = place.name("modem.toml");
        let set_link = {
            let modem = modem.clone();
            move |rate: &str| {
                let queue = "queue = { kind = \"droptail\", limit = \"1000p\" }";
                let file = format!("interface = \"far0\"\ndown = \"{rate}\"\nmetrics = \"off\"\n{queue}\n");
                fs::write(&modem, file).unwrap();
            }
        };
        set_link("20mbit");
        let modem = far.run(move || Running::start(&["--config", &modem]));
        let taker = far.run(|| UdpSocket::bind("10.9.0.2:5001").unwrap());
        let before = nothing();
        let config = |dry_run: bool| {
            let autorate = format!(
                "[autorate]\nprobe = \"echo:10.9.0.2\"\nmin = \"1mbit\"\nmax = \"15mbit\"\ndry-run = {dry_run}\n"
            );
            let queue = "queue-num = 0\ninterface = \"wan0\"\nrate = \"8mbit\"\nqueue = { kind = \"fq-codel\" }\n";
            place.write("router.toml", &format!("{queue}{autorate}"))
        };
        let mut router = Running::start(&["--config", &config(false)]);
        let (end, ended) = channel::<()>();
        let sender = thread::spawn(move || {
            // 22 Mbit/s, more than the highest rate.
            let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
            while ended.recv_timeout(Duration::from_millis(5)) == Err(RecvTimeoutError::Timeout) {
                (0..10).for_each(|_| drop(socket.send_to(&[7; 1372], "10.9.0.2:5001")));
            }
        });
        // The link has room, so the rate rises to the highest.
        let high = until(|state| rate(state) > 14.0);
        let high = high.unwrap_or_else(|| panic!("the rate does not rise: {:#}\n{}", state()["autorate"], router.said));
        assert!(high["autorate"]["probes_answered"].as_u64() > Some(10), "{high:#}");
        set_link("4mbit");
        modem.signal(Signal::SIGHUP);
        let low = until(|state| rate(state) < 4.5);
        let low = low.unwrap_or_else(|| panic!("the rate does not fall: {:#}", state()["autorate"]));
        let reason = low["autorate"]["reason"].as_str().unwrap();
        assert!(["cut by delay", "follows the link's measured rate", "held"].contains(&reason), "{low:#}");
        let cuts = "queue=\"0\",reason=\"follows the link's measured rate\"";
        let metrics = scrape();
        assert!(metric(&metrics, "fairlane_autorate_decisions_total", cuts) > Some(0.0), "{metrics}");
        set_link("20mbit");
        modem.signal(Signal::SIGHUP);
        assert!(until(|state| rate(state) > 12.0).is_some(), "the rate does not rise again: {:#}", state()["autorate"]);
        let shown = printed(&["top", "--once"]);
        assert!(shown.contains(" (autorate ") && shown.contains(" probes answered), "), "{shown}");
        // Nobody answers any more: after ten seconds the rate is the least.
        far.run(|| drop(tool("iptables", "-I INPUT -p icmp -j DROP")));
        let least = until(|state| rate(state) < 1.1);
        assert!(
            least.is_some_and(|least| least["autorate"]["reason"] == "minimum: no answers"),
            "{:#}",
            state()["autorate"]
        );
        router.wait_for("autorate: no probe is answered");
        // A dry run decides, and the link stays as in the file.
        config(true);
        router.signal(Signal::SIGHUP);
        let dry = until(|state| state["autorate"]["dry_run"] == true).unwrap();
        assert_eq!((rate(&dry), &dry["autorate"]["base_bps"]), (8.0, &8_000_000.into()), "{dry:#}");
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
        drop(end);
        sender.join().unwrap();
        drop((modem, taker));
    });
}

/// Each error names the key and what would be right.
#[test]
fn wrong_settings_are_refused() {
    in_namespace(|| {
        let place = Place::new();
        let start = "interface = \"lo\"\nup = \"8mbit\"\ndown = \"9mbit\"\nqueue = { kind = \"choke\" }\n";
        let up = "up = { min = \"1mbit\", max = \"15mbit\" }\n";
        for (autorate, parts) in [
            ("autorate = 5\n".to_owned(), &[":5:12: autorate: expected a table"][..]),
            (format!("[autorate]\n{up}"), &["autorate: it needs a probe"]),
            (format!("[autorate]\nprobe = \"ping:10.0.0.1\"\n{up}"), &[":6:9: probe: write echo or one-way"]),
            (
                format!("[autorate]\nprobe = [\"echo:10.0.0.1\", \"one-way:10.0.0.2\"]\n{up}"),
                &["all probes must be of one kind"],
            ),
            (
                "[autorate]\nprobe = \"echo:10.0.0.1\"\nup = { min = \"1mbit\" }\n".to_owned(),
                &[":7:6: autorate.up: expected { min ="],
            ),
            (
                "[autorate]\nprobe = \"echo:10.0.0.1\"\nmin = \"1mbit\"\nmax = \"9mbit\"\n".to_owned(),
                &["autorate has no rates", "up or down"],
            ),
            (
                format!("[autorate]\nprobe = \"echo:10.0.0.1\"\nlaws = 1\n{up}"),
                &[":7:1: autorate: there is no key \"laws\"", "law"],
            ),
            (
                format!("[autorate]\nprobe = \"echo:10.0.0.1\"\nlaw = \"none\"\n{up}"),
                &["\"none\" is none of follow, steps"],
            ),
            (
                "[autorate]\nprobe = \"echo:10.0.0.1\"\nup = { min = \"1mbit\", max = \"5mbit\" }\n".to_owned(),
                &["autorate.up.base: 8mbit is not from min, 1mbit, to max, 5mbit"],
            ),
        ] {
            let file = place.write("router.toml", &format!("{start}{autorate}"));
            refused(&["router", "--config", &file, "--dry-run"], parts);
        }
        let good = format!("{start}[autorate]\nprobe = \"one-way:10.0.0.1\"\n{up}");
        let shown = printed(&["router", "--config", &place.write("router.toml", &good), "--dry-run"]);
        for expected in [
            "The rate up is adjusted from 1mbit to 15mbit, from 8mbit on, by the law follow\n",
            "Probes, 20 a second, to 10.0.0.1\n",
        ] {
            assert!(shown.contains(expected), "{shown}");
        }
        assert!(!shown.contains("The rate down"), "{shown}");
    });
}
