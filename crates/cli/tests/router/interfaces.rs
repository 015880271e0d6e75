//! Interfaces that change while a router queues their packets.

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::fairlane;
use crate::namespace::{in_namespace, tool};
use crate::running::{Running, nothing, rules, said, settle, state, tables};

const WAN: [&str; 5] = ["--queue-num=0", "--interface=wan0", "--rate=10mbit", "droptail", "limit=1000p"];

/// Makes an interface with the address 10.9.0.1 whose neighbour takes every packet for 10.9.0.2.
fn make(name: &str) {
    // Otherwise IPv6 sends its own packets.
    fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap();
    tool("ip", &format!("link add {name} type veth peer name {name}-peer"));
    tool("ip", &format!("addr add 10.9.0.1/24 dev {name}"));
    tool("ip", &format!("link set {name}-peer up"));
    set_up(name);
}

fn set_up(name: &str) {
    tool("ip", &format!("link set {name} up"));
    tool("ip", &format!("neigh replace 10.9.0.2 lladdr 02:00:00:00:00:01 dev {name}"));
}

/// Sends 20 datagrams and returns how many of them the router has had in its queue.
fn queued() -> u64 {
    let arrived = || state()["arrived"]["packets"].as_u64().unwrap();
    let before = settled(arrived);
    let socket = UdpSocket::bind("10.9.0.1:0").unwrap();
    for _ in 0..20 {
        socket.send_to(&[1; 972], "10.9.0.2:9").unwrap();
    }
    settled(arrived) - before
}

/// Returns the count when the router's reports tell what was so before.
fn settled(count: impl Fn() -> u64) -> u64 {
    settle();
    count()
}

/// The rules contain the name, and follow the interface to another one, and back. Would catch a link that is not shaped
/// any more, and rules for the old name that stay behind.
#[test]
fn a_renamed_interface_is_followed() {
    in_namespace(|| {
        make("wan0");
        let before = nothing();
        let mut router = Running::start(&WAN);
        assert_eq!(queued(), 20);
        tool("ip", "link set wan0 down");
        tool("ip", "link set wan0 name lte0");
        set_up("lte0");
        let line = router.wait_for("its packets are queued by that");
        assert!(line.contains("interface=\"wan0\"") && line.contains("now=\"lte0\""), "{line}");
        router.wait_for("the rules are installed again");
        assert_eq!(queued(), 20);
        tool("ip", "link set lte0 down");
        tool("ip", "link set lte0 name wan0");
        set_up("wan0");
        router.wait_for("there is such an interface again");
        router.wait_for("the rules are installed again");
        assert_eq!(queued(), 20);
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}

/// An interface is renamed while the router runs, to a name that a rule takes for a pattern and to one that moves a
/// terminal's cursor. Neither is put into a rule: the log says that packets pass unqueued, also those of an interface
/// that the pattern matches, until there is a usable name.
#[test]
fn a_name_that_is_a_pattern_is_never_in_a_rule() {
    in_namespace(|| {
        make("wan0");
        let before = nothing();
        let mut router = Running::start(&WAN);
        assert_eq!(queued(), 20);
        let mut now = "wan0";
        for (name, shown) in [("w+", "\"w+\""), ("w*", "\"w*\""), ("w\u{1b}[2J", "\"w\\u{1b}[2J\"")] {
            tool("ip", &format!("link set {now} down"));
            tool("ip", &format!("link set {now} name {name}"));
            set_up(name);
            let line = router.wait_for("packets pass unqueued");
            let expected = format!("the interface name {shown} cannot be used in a rule");
            assert!(line.contains(&expected) && !router.said.contains('\u{1b}'), "{line}");
            assert!(!rules().contains(name) && queued() == 0, "{}", rules());
            now = name;
        }
        for name in ["lte0", "wan0"] {
            tool("ip", &format!("link set {now} down"));
            tool("ip", &format!("link set {now} name {name}"));
            set_up(name);
            router.wait_for("the rules are installed again");
            assert_eq!(queued(), 20);
            now = name;
        }
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}

/// An interface goes while packets wait for it, and another comes with its name. The kernel drops those packets; the
/// router goes on and queues the packets of the new interface.
#[test]
fn an_interface_that_goes_and_comes_back_is_queued() {
    in_namespace(|| {
        make("wan0");
        let slow = ["--queue-num=0", "--interface=wan0", "--rate=50kbit", "droptail", "limit=1000p"];
        let mut router = Running::start(&slow);
        assert_eq!(queued(), 20);
        tool("ip", "link delete wan0");
        let line = router.wait_for("there is no such interface any more");
        assert!(line.contains("interface=\"wan0\""), "{line}");
        make("wan0");
        router.wait_for("there is such an interface again");
        assert_eq!(queued(), 20);
        // Of the 40 packets, 20 have no place to go: the kernel no longer knows their verdicts.
        let start = Instant::now();
        while state()["backlog"]["packets"] != 0 && start.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(200));
        }
        let state = state();
        assert_eq!(state["departed"]["packets"], 40, "{state}");
        assert!(state["unknown_verdicts"].as_u64().is_some_and(|unknown| (15..=20).contains(&unknown)), "{state}");
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// A router that is started before its interface is there is refused, as documented, and a later start works.
#[test]
fn an_interface_that_is_late_is_refused() {
    in_namespace(|| {
        let (code, _, stderr) = said(&fairlane(&[&["router"], &WAN[..]].concat()));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("there is no interface \"wan0\": ip link lists the interfaces"), "{stderr}");
        make("wan0");
        let mut router = Running::start(&WAN);
        assert_eq!(queued(), 20);
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// A kernel without queue disciplines in BPF refuses the program after the IFB device for arriving packets was made.
/// Would catch a device that is left behind; with such a kernel, one that `detach` leaves.
#[test]
fn a_refused_program_leaves_no_device() {
    in_namespace(|| {
        tool("ip", "link add wan0 type veth peer name wan1");
        // /sys/fs/bpf need not be mounted outside.
        let fairlane = env!("CARGO_BIN_EXE_fairlane");
        let script = format!(
            "mount -t bpf bpf /sys/fs/bpf || exit 77\n\
             {fairlane} bpf attach wan0 red limit=300p min=20p max=60p --rate 1mbit --arriving || exit 2\n\
             {fairlane} bpf detach wan0"
        );
        let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output().unwrap();
        let (code, _, stderr) = said(&output);
        match code {
            Some(77) => return skip::because("bpf-qdisc", stderr),
            Some(2) => assert!(stderr.contains("the kernel refuses the program"), "{stderr}"),
            code => assert_eq!(code, Some(0), "{stderr}"),
        }
        let devices = tool("ip", "-brief link");
        assert!(!devices.contains("flifb"), "{devices}");
    });
}
