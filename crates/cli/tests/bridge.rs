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
use std::time::{Duration, Instant};

use common::{Place, fairlane, printed};
use namespace::{in_namespace, tool};
use nix::sys::signal::Signal;
use node::Node;
use running::{Running, metric, said, scrape, settle, state};

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
    for (word, value) in [("--queue-num", "0"), ("--interface", "lo"), ("--marks", "3"), ("--fail-open", "")] {
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

/// A dry run prints every setting and opens nothing. A router forwards while it runs, and a second one for the same
/// interfaces is refused. After `kill -9` nothing passes until the next start.
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

/// SIGHUP, `/metrics` and `/state` of a bridge. Would catch missing counts of the bridge, and counts of an NFQUEUE that
/// is not in use.
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
        let line = running.wait_for("the file is refused, and nothing has changed: ");
        assert!(line.contains("bridge: this cannot change while the router runs"), "{line}");
        write("lan0,nosuch0", "choke");
        running.signal(Signal::SIGHUP);
        let line = running.wait_for("the file is refused, and nothing has changed: ");
        assert!(line.contains("there is no interface \"nosuch0\""), "{line}");
        write("lan0,wan0", "choke");
        running.signal(Signal::SIGHUP);
        running.wait_for("reloaded");
        assert_eq!(through(hosts, 20), 20);
        settle();
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

/// The first host has two more addresses, and the second one too. While a direction's queue is full, frames whose far
/// address is exempt pass at once, also after a reload; at 80 kbit/s the others wait for 4 s. A near address exempts
/// nothing.
#[test]
fn exempt_frames_do_not_wait() {
    between_hosts(|hosts| {
        let place = Place::new();
        let write = |exempt: &str| {
            let rates = "bridge = \"lan0,wan0\"\nup = \"80kbit\"\ndown = \"80kbit\"\nmetrics = 9277\n";
            let queue = "queue = { kind = \"droptail\", limit = \"40p\" }";
            place.write("router.toml", &format!("{rates}exempt = [\"{exempt}\", \"10.77.4.1\"]\n{queue}\n"))
        };
        let mut running = Running::start(&["--config", &write("10.77.5.0/24")]);
        for (host, number) in hosts.iter().zip([1, 2]) {
            host.run(move || {
                for network in [5, 6] {
                    tool("ip", &format!("address add 10.77.{network}.{number}/24 dev h0"));
                }
            });
        }
        introduce(hosts);
        let ends = |down: bool| if down { (1, 0) } else { (0, 1) };
        let send = |down: bool, network: u8, packets: u32| {
            let (from, to) = ends(down);
            let receiver = hosts[to].run(move || running::listen(&format!("10.77.{network}.{}:7777", to + 1)));
            receiver.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            hosts[from].run(move || {
                let sender = UdpSocket::bind(format!("10.77.{network}.{}:0", from + 1)).unwrap();
                let to = format!("10.77.{network}.{}:7777", to + 1);
                (0..packets).for_each(|_| drop(sender.send_to(&[1; 972], &to)));
            });
            receiver
        };
        let arrive = |receiver: &UdpSocket| (0..20).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count();
        // Addresses are asked for before the queues are full.
        for (down, network) in [(false, 5), (false, 6), (true, 5), (true, 6)] {
            assert!((0..20).any(|_| send(down, network, 1).recv(&mut [0; 2000]).is_ok()));
        }
        for (exempt, other) in [(5, 6), (6, 5)] {
            for down in [false, true] {
                send(down, 4, 100);
                let passed = send(down, exempt, 20);
                assert_eq!(arrive(&passed), 20, "{:#}", state());
                let waits = send(down, other, 20);
                waits.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
                assert_eq!(arrive(&waits), 0, "{:#}", state());
            }
            settle();
            for (way, key) in [("up", "out"), ("down", "in")] {
                let (of, number) = (&state()[way], |value: &serde_json::Value| value.as_u64().unwrap());
                let frames = &of["bridge"][key];
                assert!(number(&frames["exempt"]) >= 20, "{of:#}");
                let received = number(&of["arrived"]["packets"]) + number(&frames["exempt"]);
                assert_eq!(number(&frames["received"]), received, "{of:#}");
            }
            write("10.77.6.0/24");
            running.signal(Signal::SIGHUP);
            running.wait_for("direction=\"down\" rate=80kbit");
        }
    });
}

/// Sends datagrams until one arrives: hosts keep few packets while they ask for an address.
fn introduce(hosts: &[Node; 2]) {
    assert!((0..20).any(|_| through(hosts, 1) == 1));
}

/// Begins to send 200 datagrams of 1000 bytes from one host to another. The result is the seconds until all have
/// arrived, if they have.
fn seconds(from: &Node, to: &Node, [own, other]: [&'static str; 2]) -> thread::JoinHandle<Option<f64>> {
    let receiver = to.run(move || running::listen(&format!("{other}:7777")));
    receiver.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let sender = from.run(move || UdpSocket::bind((own, 0)).unwrap());
    thread::spawn(move || {
        let begun = Instant::now();
        (0..200).for_each(|_| assert_eq!(sender.send_to(&[1; 972], (other, 7777)).unwrap(), 972));
        let all = (0..200).all(|_| receiver.recv(&mut [0; 2000]).is_ok());
        all.then(|| begun.elapsed().as_secs_f64())
    })
}

/// 200 datagrams of 1000 bytes each way at the same time: 0.4 s at 4 Mbit/s, 0.8 s at 2 Mbit/s. Would catch a direction
/// that passes unqueued, one that passes twice, rates that are exchanged, and counts of one direction in the other.
#[test]
fn both_directions_have_their_rate() {
    between_hosts(|hosts| {
        let place = Place::new();
        let write = |up: &str, down: &str| {
            let queue = "queue = { kind = \"droptail\", limit = \"1000p\" }";
            let text = format!("bridge = \"lan0,wan0\"\nup = \"{up}\"\ndown = \"{down}\"\nmetrics = 9277\n{queue}\n");
            place.write("router.toml", &text)
        };
        let file = write("4mbit", "2mbit");
        let shown = printed(&["router", "--config", &file, "--dry-run"]);
        for part in ["up: Bridge from lan0 to wan0", "Link of 4mbit", "down: Bridge from wan0 to lan0", "Link of 2mbit"]
        {
            assert!(shown.contains(part), "no {part} in {shown}");
        }
        assert!(!shown.contains("at once"), "{shown}");
        let mut running = Running::start(&["--config", &file]);
        running.wait_for("direction=\"down\"");
        for interfaces in ["lan0,wan0", "wan0,lan0"] {
            running::refused(&["router", "--rate=1mbit", "--bridge", interfaces, "choke"], &["is bridged by another"]);
        }
        introduce(hosts);
        let addresses = ["10.77.4.1", "10.77.4.2"];
        let up = seconds(&hosts[0], &hosts[1], addresses);
        let down = seconds(&hosts[1], &hosts[0], [addresses[1], addresses[0]]);
        let (Some(up), Some(down)) = (up.join().unwrap(), down.join().unwrap()) else {
            panic!("frames are lost: {:#}", state());
        };
        // The first packet leaves at once.
        assert!((0.39..4.0).contains(&up) && (0.78..4.0).contains(&down), "{up} {down}");
        settle();
        let (told, metrics) = (state(), scrape());
        for (direction, key, none, rate) in [("up", "out", "in", 4_000_000), ("down", "in", "out", 2_000_000)] {
            let of = &told[direction];
            assert_eq!((&of["path"], &of["link"]["rate_bps"]), (&"bridge lan0,wan0".into(), &rate.into()), "{of:#}");
            assert_eq!((&of["bridge"][none], of["direction"].as_str()), (&serde_json::Value::Null, Some(direction)));
            let frames = &of["bridge"][key];
            assert_eq!(
                (&frames["received"], &frames["forwarded"]),
                (&of["arrived"]["packets"], &of["departed"]["packets"])
            );
            let departed = of["departed"]["packets"].as_u64().unwrap();
            // Some frames are ARP's and IPv6's own.
            assert!((200..240).contains(&departed), "{of:#}");
            let labels = format!("bridge=\"lan0,wan0\",direction=\"{direction}\"");
            for name in ["fairlane_received_frames_total", "fairlane_departed_packets_total"] {
                assert_eq!(metric(&metrics, name, &labels), Some(departed as f64), "{metrics}");
            }
        }
        write("40mbit", "20mbit");
        running.signal(Signal::SIGHUP);
        running.wait_for("direction=\"down\" rate=20mbit");
        let shown = printed(&["top", "--once"]);
        assert!(shown.starts_with("up: droptail, bridge lan0,wan0") && shown.contains("\n40mbit, "), "{shown}");
        assert!(shown.contains("\ndown: droptail, bridge lan0,wan0") && shown.contains("\n20mbit, "), "{shown}");
        running.signal(Signal::SIGTERM);
        assert_eq!(running.end(), Some(0));
        assert_eq!(through(hosts, 5), 0);
    });
}

/// The packets that an interface of this namespace has sent.
fn sent(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
    let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}:")));
    line.unwrap().split_whitespace().nth(9).unwrap().parse().unwrap()
}

/// The file names another outside interface again and again, while frames wait for the one before; both lead to the
/// same host. Would catch a waiting frame that is lost or overtaken, a bridge that stays where it was, and counts that
/// are lost with an interface.
#[test]
fn it_moves_to_other_interfaces_under_traffic() {
    between_hosts(|hosts| {
        tool("ip", &format!("link add wan1 type veth peer name h1 netns {}", hosts[1].tid));
        tool("ip", "link set wan1 up");
        hosts[1].run(|| {
            tool("ip", "address flush dev h0");
            tool("ip", "link add both type bridge");
            for name in ["h0", "h1"] {
                tool("ip", &format!("link set {name} up master both"));
            }
            tool("ip", "address add 10.77.4.2/24 dev both");
            tool("ip", "link set both up");
        });
        for rates in [
            ["rate = \"1mbit\"", "rate = \"4mbit\""],
            ["up = \"1mbit\"\ndown = \"1mbit\"", "up = \"4mbit\"\ndown = \"4mbit\""],
        ] {
            let place = Place::new();
            let write = |outside: &str, rate: &str| {
                let queue = "queue = { kind = \"droptail\", limit = \"5000p\" }";
                place.write("router.toml", &format!("bridge = \"lan0,{outside}\"\n{rate}\nmetrics = 9277\n{queue}\n"))
            };
            let mut running = Running::start(&["--config", &write("wan0", rates[0])]);
            introduce(hosts);
            let before = ["wan0", "wan1"].map(sent);
            let receiver = hosts[1].run(|| running::listen("10.77.4.2:7777"));
            receiver.set_read_timeout(Some(Duration::from_secs(6))).unwrap();
            let sender = hosts[0].run(|| UdpSocket::bind("10.77.4.1:0").unwrap());
            let sending = thread::spawn(move || {
                let mut datagram = [0; 972];
                for number in 0..1000_u32 {
                    datagram[..4].copy_from_slice(&number.to_be_bytes());
                    assert_eq!(sender.send_to(&datagram, "10.77.4.2:7777").unwrap(), 972);
                    thread::sleep(Duration::from_millis(4));
                }
            });
            let receiving = thread::spawn(move || {
                let (mut received, mut datagram) = (Vec::new(), [0; 2000]);
                while received.len() < 1000 && receiver.recv(&mut datagram).is_ok() {
                    received.push(u32::from_be_bytes(datagram[..4].try_into().unwrap()));
                }
                received
            });
            for round in 0..9 {
                write(["wan1", "wan0"][round % 2], rates[round / 6]);
                running.signal(Signal::SIGHUP);
                running.wait_for("reloaded");
                thread::sleep(Duration::from_millis(200));
            }
            sending.join().unwrap();
            let received = receiving.join().unwrap();
            settle();
            let told = state();
            let missing: Vec<u32> = (0..1000).filter(|number| !received.contains(number)).collect();
            assert!(missing.is_empty() && received.is_sorted(), "{missing:?} {told:#} {}", running.said);
            let out = if told["up"].is_null() { &told } else { &told["up"] };
            assert_eq!(out["path"], "bridge lan0,wan1", "{out:#}");
            let (frames, departed) = (&out["bridge"]["out"], out["departed"]["packets"].as_u64().unwrap());
            assert_eq!((&frames["received"], &frames["refused"]), (&out["arrived"]["packets"], &0.into()), "{out:#}");
            assert!(departed > 1000 && frames["forwarded"] == departed && out["backlog"]["packets"] == 0, "{out:#}");
            assert_eq!((&frames["unfit"], &frames["kernel_dropped"]), (&0.into(), &0.into()), "{out:#}");
            let now = ["wan0", "wan1"].map(sent);
            assert!(now[0] > before[0] + 50 && now[1] > before[1] + 300, "{before:?} {now:?}");
            let second = ["--bridge=lan0,wan0", "--rate=1mbit", "--metrics=off", "droptail"];
            running::refused(&[&["router"], &second[..]].concat(), &["\"lan0\" is bridged by another"]);
            running.signal(Signal::SIGTERM);
            assert_eq!(running.end(), Some(0));
        }
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
            skip::because("setpriv", "there is no setpriv");
            return;
        };
        let (code, stdout, stderr) = said(&output);
        assert_eq!((code, &*stdout), (Some(2), ""), "{stderr}");
        assert!(stderr.contains("CAP_NET_RAW: run it as root") && stderr.contains("nothing has changed"), "{stderr}");
        assert_eq!(through(hosts, 5), 0);
    });
}

/// With 8 MB of address space left, frames without memory are counted and dropped, and the bridge works on. Would catch
/// an allocation that ends the program, since nothing was left for it.
#[test]
fn without_memory_frames_are_dropped() {
    between_hosts(|hosts| {
        if Command::new("prlimit").arg("--version").output().is_err() {
            skip::because("prlimit", "there is no prlimit");
            return;
        }
        let slow = ["--bridge", "lan0,wan0", "--rate", "100kbit", "--drain=0s", "droptail", "limit=1000000p"];
        let mut running = Running::start(&slow);
        let id = running.id();
        let limit = |space: &str| drop(tool("prlimit", &format!("--pid {id} --as={space}:unlimited")));
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        let size: u64 = size.trim().trim_end_matches(" kB").parse().unwrap();
        limit(&(size * 1024 + (8 << 20)).to_string());
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
        settle();
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

/// An ordinary user has all rights in a namespace, but `/run/fairlane` is the real root's there. Would catch a bridge
/// that is refused for it.
#[test]
fn a_bridge_works_in_a_user_namespace() {
    if !nix::unistd::geteuid().is_root() {
        return skip::because("root", "only root can have another user's folder in /run");
    }
    fairlane_linux::runtime_folder().unwrap();
    let script = format!(
        "for pair in a b; do ip link add ${{pair}}0 type veth peer name ${{pair}}1 && ip link set ${{pair}}0 up && \
         ip link set ${{pair}}1 up; done; timeout --signal=INT 1 {} router --rate 10mbit choke --bridge a1,b1",
        env!("CARGO_BIN_EXE_fairlane")
    );
    let mut nobody = Command::new("setpriv");
    nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "--user", "--map-root-user", "--net"]);
    let place = Place::new();
    std::os::unix::fs::chown(place.path(""), Some(65_534), Some(65_534)).unwrap();
    nobody.args(["sh", "-c", &script]).env("TMPDIR", place.name("")).env_remove("XDG_RUNTIME_DIR");
    let output = nobody.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare failed") {
        return skip::because("userns", said);
    }
    assert!(said.contains("working inside=\"a1\" outside=\"b1\""), "{said}");
}
