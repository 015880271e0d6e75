//! `fairlane router --bridge`: refusals, dry runs, and forwarding between two interfaces in a namespace of the test.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

mod common;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "../../linux/tests/common/node.rs"]
mod node;
#[path = "common/running.rs"]
mod running;

use std::fs;
use std::net::UdpSocket;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

use common::{Place, fairlane};
use namespace::{in_namespace, tool};
use nix::sys::signal::Signal;
use node::Node;
use running::{Running, metric, said, scrape, state};

fn router(rest: &[&str]) -> Output {
    fairlane(&[&["router", "--rate", "10mbit", "choke"], rest].concat())
}

fn refused(rest: &[&str], parts: &[&str]) {
    running::refused(&[&["router", "--rate", "10mbit", "choke"], rest].concat(), parts);
}

#[test]
fn what_cannot_be_is_refused() {
    for one in ["lan0", "lan0,", "a,b,c", ",b"] {
        refused(&["--bridge", one], &["write two interfaces, such as lan0,wan0"]);
    }
    refused(&["--bridge", "nosuch0,nosuch1"], &["there is no interface \"nosuch0\"", "ip link"]);
    refused(
        &["--bridge", "nosuch0,nosuch0", "--dry-run"],
        &["a bridge needs two different interfaces", "both are \"nosuch0\""],
    );
    refused(&["--bridge", "lo,nosuch1", "--dry-run"], &["\"lo\" is not an Ethernet interface"]);
    for (word, value) in [("--queue-num", "0"), ("--interface", "lo"), ("--ce-mark", "1"), ("--fail-open", "")] {
        let given = if value.is_empty() { word.to_owned() } else { format!("{word}={value}") };
        refused(
            &["--bridge", "a,b", &given],
            &[&format!("{word} is for an NFQUEUE"), &format!("leave {word} or --bridge out")],
        );
    }
    let place = Place::new();
    for (text, part) in [
        ("bridge = \"lan0\"\n", ":1:10: bridge: write two interfaces"),
        ("bridge = [\"lan0\", \"wan0\"]\n", ":1:10: bridge: expected one value"),
        ("queue-num = 0\nbridge = \"lan0,wan0\"\n", "--queue-num is for an NFQUEUE"),
    ] {
        refused(&["--config", &place.write("router.toml", text)], &[part]);
    }
}

/// Runs `test` where `lan0` and `wan0` lead to two hosts, 10.77.4.1 and 10.77.4.2.
fn between_hosts(test: impl FnOnce(&[Node; 2]) + Send + 'static) {
    in_namespace(|| {
        let hosts = [Node::new(), Node::new()];
        for (host, name, number) in [(&hosts[0], "lan0", 1), (&hosts[1], "wan0", 2)] {
            tool("ip", &format!("link add {name} type veth peer name h0 netns {}", host.tid));
            tool("ip", &format!("link set {name} up"));
            host.run(move || {
                tool("ip", &format!("address add 10.77.4.{number}/24 dev h0"));
                tool("ip", "link set h0 up");
            });
        }
        test(&hosts);
    });
}

/// Sends `packets` datagrams from the first host to the second and returns how many arrive.
fn through(hosts: &[Node; 2], packets: u32) -> u32 {
    let receiver = hosts[1].run(|| UdpSocket::bind("10.77.4.2:7777").unwrap());
    receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
    hosts[0].run(move || {
        let sender = UdpSocket::bind("10.77.4.1:0").unwrap();
        (0..packets).for_each(|_| assert_eq!(sender.send_to(&[1; 972], "10.77.4.2:7777").unwrap(), 972));
    });
    (0..packets).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count() as u32
}

/// A dry run prints every setting and opens nothing. A router forwards while it runs, and a second one for the same interfaces is
/// refused. After `kill -9` nothing passes until the next start.
#[test]
fn it_is_the_wire_while_it_runs() {
    between_hosts(|hosts| {
        let (_, whole, _) = said(&router(&["--bridge", "lan0,wan0", "--gso", "--dry-run"]));
        assert!(
            whole.contains("joined go through the discipline whole, and take on the link what their segments"),
            "{whole}"
        );
        let (code, stdout, stderr) = said(&router(&["--bridge", "lan0,wan0", "--dry-run", "--metrics=off"]));
        assert_eq!((code, &*stderr), (Some(0), ""));
        for part in [
            "Bridge from lan0 to wan0, flows by five-tuple\nLink of 10mbit, overhead 0b",
            "Packets coming in by wan0 pass to lan0 at once\nPackets that are joined are cut before the discipline\n",
            "choke on a link of 10mbit",
            "No rules: packets pass between the two interfaces by this program only\n",
        ] {
            assert!(stdout.contains(part), "no \"{part}\" in {stdout}");
        }
        assert_eq!(through(hosts, 5), 0);
        let args =
            ["--bridge", "lan0,wan0", "--rate", "10mbit", "--metrics=off", "--log=json", "droptail", "limit=200p"];
        for signal in [Signal::SIGKILL, Signal::SIGTERM] {
            let mut running = Running::start(&args);
            assert_eq!(through(hosts, 50), 50);
            refused(&["--bridge", "lan0,wan0"], &["\"lan0\" is bridged by another fairlane router"]);
            assert_eq!(through(hosts, 50), 50);
            running.signal(signal);
            if signal == Signal::SIGTERM {
                let ended: serde_json::Value = serde_json::from_str(&running.wait_for("\"ended\"")).unwrap();
                assert_eq!((running.end(), ended["kernel_dropped"].as_u64()), (Some(0), Some(0)), "{ended}");
                assert_eq!(ended["arrived"], ended["departed"], "{ended}");
            } else {
                assert_eq!(running.end(), None);
            }
            assert_eq!(through(hosts, 5), 0);
        }
    });
}

/// SIGHUP, `/metrics` and `/state` of a bridge. Would catch missing counts of the bridge, and counts of an NFQUEUE that is not in use.
#[test]
fn a_reload_and_the_metrics() {
    between_hosts(|hosts| {
        let place = Place::new();
        let write = |bridge: &str, kind: &str| {
            let text =
                format!("bridge = \"{bridge}\"\nrate = \"10mbit\"\nmetrics = 9277\nqueue = {{ kind = \"{kind}\" }}\n");
            place.write("router.toml", &text)
        };
        let file = write("lan0,wan0", "droptail");
        let mut running = Running::start(&["--config", &file]);
        assert_eq!(through(hosts, 20), 20);
        write("wan0,lan0", "choke");
        running.signal(Signal::SIGHUP);
        running.wait_for("bridge changes with the next start");
        running.wait_for("reloaded");
        assert_eq!(through(hosts, 20), 20);
        thread::sleep(Duration::from_millis(600));
        let metrics = scrape();
        assert!(metrics.contains("fairlane_reloads_total{bridge=\"lan0,wan0\"} 1\n"), "{metrics}");
        assert!(!metrics.contains("verdicts") && !metrics.contains("kernel_dropped_full"), "{metrics}");
        let value = |name: &str, direction: &str| {
            let labels = format!("bridge=\"lan0,wan0\",direction=\"{direction}\"");
            metric(&metrics, &format!("fairlane_{name}_frames_total"), &labels).unwrap()
        };
        assert!(value("received", "out") >= 40.0 && value("received", "in") > 0.0, "{metrics}");
        for direction in ["out", "in"] {
            assert_eq!(value("received", direction), value("forwarded", direction), "{metrics}");
            assert_eq!(
                ["kernel_dropped", "joined", "unfit", "no_memory", "refused"].map(|name| value(name, direction)),
                [0.0; 5]
            );
        }
        let state = state();
        assert_eq!(
            (&state["path"], &state["kernel"]),
            (&"bridge lan0,wan0".into(), &serde_json::Value::Null),
            "{state}"
        );
        let bridge = &state["bridge"];
        assert_eq!((&bridge["in"]["refused"], &bridge["out"]["forwarded"]), (&0.into(), &state["departed"]["packets"]));
        running.signal(Signal::SIGINT);
        assert_eq!(running.end(), Some(0));
    });
}

/// The error for a user who may not open packet sockets names the missing privilege.
#[test]
fn who_may_not_is_told_so() {
    between_hosts(|hosts| {
        let mut without = Command::new("setpriv");
        without.args(["--bounding-set=-net_raw,-net_admin", "--inh-caps=-net_raw,-net_admin"]);
        without.args([env!("CARGO_BIN_EXE_fairlane"), "router", "--bridge", "lan0,wan0", "--rate", "1mbit", "choke"]);
        let Ok(output) = without.output() else {
            eprintln!("skipped: there is no setpriv");
            return;
        };
        let (code, stdout, stderr) = said(&output);
        assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
        assert!(stderr.contains("CAP_NET_RAW: run it as root") && stderr.contains("nothing has changed"), "{stderr}");
        assert_eq!(through(hosts, 5), 0);
    });
}

/// With no address space left, frames that find no memory are counted and dropped, and the bridge works on. Would catch an allocation
/// that ends the program.
#[test]
fn without_memory_frames_are_dropped() {
    between_hosts(|hosts| {
        if Command::new("prlimit").arg("--version").output().is_err() {
            eprintln!("skipped: there is no prlimit");
            return;
        }
        let slow = ["--bridge", "lan0,wan0", "--rate", "100kbit", "--drain=0s", "droptail", "limit=1000000p"];
        let mut running = Running::start(&slow);
        let id = running.id();
        let limit = |space: &str| drop(tool("prlimit", &format!("--pid {id} --as={space}:unlimited")));
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        limit(&(size * 1024).to_string());
        // 140 MB, more than the 64 MB of address space that a thread's heap reserves (malloc(3)).
        hosts[0].run(|| {
            let sender = UdpSocket::bind("10.77.4.1:0").unwrap();
            for n in 0..100_000 {
                let _ = sender.send_to(&[1; 1372], "10.77.4.2:7777");
                if n % 50 == 0 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        });
        thread::sleep(Duration::from_millis(600));
        assert!(running.is_working(), "{}", running.rest());
        let told = state();
        let out = |key: &str| told["bridge"]["out"][key].as_u64().unwrap();
        assert!(out("no_memory") > 1000, "{told:#}");
        assert_eq!(out("received"), told["arrived"]["packets"].as_u64().unwrap() + out("no_memory") + out("unfit"));
        limit("unlimited");
        running.signal(Signal::SIGTERM);
        assert_eq!(running.end(), Some(0), "{}", running.rest());
    });
}
