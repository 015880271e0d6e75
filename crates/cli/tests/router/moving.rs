//! Reloads that change the interfaces, the flows and the address of the metrics, under traffic.

use std::fs;
use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::json;

use crate::common::Place;
use crate::namespace::{in_namespace, tool};
use crate::node::Node;
use crate::running::{Running, listen, nothing, rules, settle, state, tables};

/// Makes the interface `wan{number}` to a host with the address 10.77.{number}.2, and returns the host.
fn host(number: u8) -> Node {
    let host = Node::new();
    tool("ip", &format!("link add wan{number} type veth peer name h0 netns {}", host.tid));
    tool("ip", &format!("addr add 10.77.{number}.1/24 dev wan{number}"));
    tool("ip", &format!("link set wan{number} up"));
    host.run(move || {
        tool("ip", &format!("addr add 10.77.{number}.2/24 dev h0"));
        tool("ip", "link set h0 up");
    });
    host
}

/// Numbered datagrams of 1000 bytes to a host, and those that it has received.
struct Stream {
    sending: thread::JoinHandle<()>,
    received: std::sync::mpsc::Receiver<Vec<u32>>,
}

impl Stream {
    /// Sends `packets`, one every 4 ms.
    fn start(host: &Node, number: u8, packets: u32) -> Self {
        let to = host.run(move || listen(&format!("10.77.{number}.2:7777")));
        to.set_read_timeout(Some(Duration::from_secs(6))).unwrap();
        let received = host.start(move || {
            let (mut received, mut datagram) = (Vec::new(), [0; 2000]);
            while received.len() < packets as usize && to.recv(&mut datagram).is_ok() {
                received.push(u32::from_be_bytes(datagram[..4].try_into().unwrap()));
            }
            received
        });
        let from = UdpSocket::bind(format!("10.77.{number}.1:0")).unwrap();
        let sending = thread::spawn(move || {
            let mut datagram = [0; 972];
            for packet in 0..packets {
                datagram[..4].copy_from_slice(&packet.to_be_bytes());
                from.send_to(&datagram, format!("10.77.{number}.2:7777")).unwrap();
                thread::sleep(Duration::from_millis(4));
            }
        });
        Self { sending, received }
    }

    /// Returns the numbers received, when all are there or nothing comes any more.
    fn end(self) -> Vec<u32> {
        self.sending.join().unwrap();
        self.received.recv().unwrap()
    }
}

/// Writes a router's file with these lines, and returns its name.
fn file(place: &Place, rate: &str, interfaces: &[&str], rest: &str) -> String {
    let text = format!(
        "queue-num = 0\ninterface = {interfaces:?}\nrate = \"{rate}\"\n{rest}\nqueue = {{ kind = \"droptail\", limit = \"5000p\" }}\n"
    );
    place.write("router.toml", &text)
}

/// The file names other interfaces again and again, while packets wait, and other flows. Packets by wan1 are queued all
/// the time, those by wan2 come and go. Would catch a packet that is lost or overtaken because rules are replaced, one
/// by wan1 that passes unqueued between two rules, counts that do not balance, and rules that are left at the end.
#[test]
fn interfaces_come_and_go_under_traffic() {
    in_namespace(|| {
        // Otherwise IPv6 sends its own packets.
        fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        let hosts = [host(1), host(2)];
        let before = nothing();
        let place = Place::new();
        // 2 Mbit/s arrive by wan1, so that packets wait from the beginning. Behind 4 Mbit/s a receiver has time on a
        // busy machine.
        let mut router = Running::start(&["--config", &file(&place, "1mbit", &["wan1"], "")]);
        let (one, two) = (Stream::start(&hosts[0], 1, 1500), Stream::start(&hosts[1], 2, 1500));
        let named: [&[&str]; 3] = [&["wan1", "wan2"], &["wan1"], &["wan2", "wan1"]];
        for round in 0..12 {
            let flows = ["flows = \"address-pair\"", "flows = \"five-tuple\""][round / 2 % 2];
            file(&place, if round < 9 { "1mbit" } else { "4mbit" }, named[round % 3], flows);
            router.signal(Signal::SIGHUP);
            router.wait_for("other rules installed");
            router.wait_for("reloaded");
            thread::sleep(Duration::from_millis(150));
        }
        let expected: Vec<u32> = (0..1500).collect();
        let (one, two) = (one.end(), two.end());
        assert_eq!((one == expected, two.len()), (true, 1500), "{}", router.said);
        settle();
        let state = state();
        assert_eq!((&state["interfaces"], &state["flows_by"]), (&json!(["wan2", "wan1"]), &"five-tuple".into()));
        let count = |key: &str| state[key]["packets"].as_u64().unwrap();
        assert_eq!((count("arrived"), count("backlog")), (count("departed"), 0), "{state:#}");
        let queued = 1500..3000;
        assert!(queued.contains(&count("arrived")) && count("arrived") > 1500, "{state:#}");
        assert_eq!(state["reloads"], 12);
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}

/// From one interface to another, while packets of the first wait; the second belongs to another router at first. Would
/// catch rules that change although the file is refused, an interface that stays reserved, and packets that are lost
/// with the rules of their interface.
#[test]
fn another_interface_takes_the_place_of_the_first() {
    in_namespace(|| {
        fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
        let hosts = [host(1), host(2)];
        let before = nothing();
        let place = Place::new();
        let mut other =
            Running::start(&["--queue-num=7", "--interface=wan2", "--rate=50mbit", "--metrics=off", "droptail"]);
        let mut router = Running::start(&["--config", &file(&place, "100kbit", &["wan1"], "")]);
        let with_both = (rules(), tables());
        for (interface, part) in [
            ("wan2", "another fairlane router queues the packets that leave by \"wan2\""),
            ("wan9", "there is no interface \"wan9\""),
        ] {
            file(&place, "50mbit", &[interface], "");
            router.signal(Signal::SIGHUP);
            let line = router.wait_for("the file is refused, and nothing has changed: ");
            assert!(line.contains(part), "{line}");
        }
        assert_eq!((rules(), tables()), with_both);
        assert_eq!((&state()["interfaces"], &state()["link"]["rate_bps"]), (&json!(["wan1"]), &100_000.into()));
        other.signal(Signal::SIGTERM);
        assert_eq!(other.end(), Some(0));

        let one = Stream::start(&hosts[0], 1, 20);
        thread::sleep(Duration::from_millis(300));
        file(&place, "1mbit", &["wan2"], "");
        router.signal(Signal::SIGHUP);
        router.wait_for("reloaded");
        assert_eq!(one.end(), (0..20).collect::<Vec<u32>>(), "{}", router.said);
        let two = Stream::start(&hosts[1], 2, 100);
        assert_eq!(two.end(), (0..100).collect::<Vec<u32>>());
        // The first interface is free.
        let mut other =
            Running::start(&["--queue-num=7", "--interface=wan1", "--rate=50mbit", "--metrics=off", "droptail"]);
        other.signal(Signal::SIGTERM);
        assert_eq!(other.end(), Some(0));
        settle();
        let state = state();
        assert_eq!(
            (&state["arrived"]["packets"], &state["departed"]["packets"]),
            (&120.into(), &120.into()),
            "{state:#}"
        );
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}
