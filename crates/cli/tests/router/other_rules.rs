//! A router next to the rules of other programs: marks, rules that come later, bridges, and tools that hang.

use std::fs::{self, Permissions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv4Tos, Mark};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};

use crate::common::{Place, fairlane};
use crate::namespace::{in_namespace, tool};
use crate::node::Node;
use crate::running::{Running, refused, rules, said, state, tables, through, with};

/// The interface by which packets leave, and the address behind it.
const WAN: &str = "wan0";
const SERVER: &str = "10.77.2.2:4433";

/// Connects this thread's namespace by [`WAN`] with a host, and by another interface with nobody.
fn connect() -> Node {
    let host = Node::new();
    for interface in [WAN, "other0"] {
        tool("ip", &format!("link add {interface} type veth peer name of-{interface} netns {}", host.tid));
        tool("ip", &format!("link set {interface} up"));
    }
    tool("ip", &format!("address add 10.77.2.1/24 dev {WAN}"));
    tool("ip", "address add 10.77.3.1/24 dev other0");
    host.run(|| {
        tool("ip", "address add 10.77.2.2/24 dev of-wan0");
        tool("ip", "link set of-wan0 up");
        tool("ip", "link set of-other0 up");
    });
    host
}

/// Returns a socket of the host that tells the TOS bytes of what arrives, in order.
fn server(host: &Node) -> impl Fn(&Node, usize) -> Vec<u8> {
    let socket = host.run(|| {
        let socket = UdpSocket::bind(SERVER).unwrap();
        setsockopt(&socket, IpRecvTos, &true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        socket
    });
    move |host, packets| {
        let socket = socket.try_clone().unwrap();
        host.run(move || (0..packets).map_while(|_| tos_of_next(&socket)).collect())
    }
}

fn tos_of_next(socket: &UdpSocket) -> Option<u8> {
    use std::os::fd::AsRawFd;
    let (mut buffer, mut control) = ([0; 2000], nix::cmsg_space!(u8));
    let mut slices = [std::io::IoSliceMut::new(&mut buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty()).ok()?;
    message.cmsgs().ok()?.find_map(|told| match told {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        _ => None,
    })
}

/// Sends datagrams with this mark and TOS byte to the server.
fn send(packets: usize, mark: u32, tos: u8) {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    setsockopt(&socket, Mark, &mark).unwrap();
    setsockopt(&socket, Ipv4Tos, &i32::from(tos)).unwrap();
    for _ in 0..packets {
        socket.send_to(&[1; 972], SERVER).unwrap();
    }
}

/// Starts a router that marks every ECN-capable packet which waits.
fn marking(more: &[&str]) -> Running {
    let args = ["--queue-num=0", "--interface=wan0", "--rate=1mbit"];
    let codel = ["codel", "ce_threshold=1us", "target=1s", "interval=2s"];
    Running::start(&[&args[..], more, &codel].concat())
}

/// A policy route by an exact mark, as of wg-quick(8): packets that are marked leave by it as before, and the mark that
/// others see behind the router's rules is the old one.
#[test]
fn marks_change_no_route_and_no_mark() {
    in_namespace(|| {
        let host = connect();
        tool("ip", "rule add fwmark 0x105 table 105 priority 100");
        tool("ip", "route add 10.77.2.0/24 dev wan0 table 105");
        tool("ip", "rule add to 10.77.2.0/24 table 106 priority 200");
        tool("ip", "route add 10.77.2.0/24 dev other0 table 106");
        tool("iptables", "-t mangle -A POSTROUTING -p udp -m mark --mark 0x105 -j ACCEPT");
        let arrived = server(&host);
        let mut router = marking(&[]);
        send(40, 0x105, 2);
        let tos = arrived(&host, 40);
        assert_eq!(tos.len(), 40, "{}", router.said);
        // The first ones find the link idle.
        assert!(tos.iter().filter(|tos| **tos == 3).count() >= 36, "{tos:?}");
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
        let listed = tool("iptables", "-t mangle -L POSTROUTING -v -n -x");
        assert!(listed.contains("40    40000 ACCEPT") || tables().contains("fairlane"), "{listed}");
    });
}

/// In the kernel's own discipline: packets come to it behind all rules and routing decisions, and leave as they came
/// but for CE.
#[test]
fn a_discipline_of_the_kernel_is_behind_all_rules() {
    in_namespace(|| {
        let host = connect();
        let options = ["--interface=wan0", "--rate=1mbit", "--metrics=off"];
        let red = ["red", "limit=100p", "min=1p", "max=2p", "weight=1", "probability=1", "ecn=true"];
        let (_, best, stderr) =
            said(&fairlane(&[&["router", "--dry-run", "--path=auto"], &options[..], &red].concat()));
        if let Some((_, reason)) = best.split_once("since bpf is not possible: ") {
            return skip::because("bpf-qdisc", reason.lines().next().unwrap());
        }
        assert!(best.contains("Path bpf"), "{best}{stderr}");
        let mut router = Running::start(&[&["--path=bpf"], &options[..], &red].concat());
        tool("ip", "rule add fwmark 0x105 table 105 priority 100");
        tool("ip", "route add 10.77.2.0/24 dev wan0 table 105");
        tool("ip", "rule add to 10.77.2.0/24 table 106 priority 200");
        tool("ip", "route add 10.77.2.0/24 dev other0 table 106");
        tool("iptables", "-t mangle -A POSTROUTING -p udp -m mark --mark 0x105 -j TOS --set-tos 0x10/0xfc");
        let arrived = server(&host);
        send(40, 0x105, 2);
        let tos = arrived(&host, 40);
        assert_eq!(tos.len(), 40, "{}", router.said);
        assert!(tos.iter().all(|tos| matches!(tos, 0x12 | 0x13)), "{tos:?}");
        // The first ones find the link idle.
        assert!(tos.iter().filter(|tos| **tos == 0x13).count() >= 30, "{tos:?}");
        send(40, 0x105, 0);
        assert!(arrived(&host, 40).iter().all(|tos| *tos == 0x10));
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// A mark of another program, whichever bits it has, changes no header, and its packets are queued.
#[test]
fn a_mark_of_others_changes_no_header() {
    in_namespace(|| {
        let host = connect();
        let arrived = server(&host);
        for name in ["iptables", "ip6tables"] {
            tool(name, "-t mangle -N nfqws_post");
        }
        let router = marking(&[]);
        assert!(router.said.contains("bits=0x18000000 "), "{}", router.said);
        for mark in [0x4000_0000, 0x2000_0000, 0x0800_0000, 0xe7ff_ffff] {
            send(3, mark, 0);
            assert_eq!(arrived(&host, 3), [0, 0, 0], "{mark:#x}");
        }
        // Both bits of the router's own: such a packet is marked only if it may be.
        send(3, 0x1800_0000, 0);
        assert_eq!(arrived(&host, 3), [0, 0, 0]);
    });
}

/// Bits that a rule, a policy route or a program known by its chains uses are not chosen; one that begins to use them
/// later is told of.
#[test]
fn free_bits_are_chosen_and_kept_an_eye_on() {
    in_namespace(|| {
        let _host = connect();
        tool("ip", "rule add fwmark 0x10000000 table 105");
        tool("iptables", "-t mangle -A OUTPUT -p udp -j MARK --set-xmark 0x8000000/0x8000000");
        let mut router = marking(&[]);
        assert!(router.said.contains("bits=0x6000000 "), "{}", router.said);
        tool("iptables", "-t mangle -A OUTPUT -p tcp -j MARK --set-xmark 0x2000000/0x2000000");
        let line = router.wait_for("another program uses the firewall marks of this router");
        assert!(line.contains("0x2000000"), "{line}");
        drop(router);
        let chosen = marking(&["--marks=0x30"]);
        assert!(chosen.said.contains("bits=0x30 "), "{}", chosen.said);
        refused(&["router", "--queue-num=1", "--interface=lo", "--rate=1mbit", "--marks=0x7", "red"], &["two bits"]);
    });
}

/// Rules of others that are added later see each queued packet once, and one that is put before the router's, where it
/// may accept packets, comes behind it again.
#[test]
fn later_rules_see_queued_packets() {
    in_namespace(|| {
        let host = connect();
        let arrived = server(&host);
        let mut router = marking(&[]);
        tool("iptables", "-t mangle -A POSTROUTING -p udp -j TOS --set-tos 0x10/0xfc");
        send(20, 0, 0);
        assert_eq!(arrived(&host, 20), [0x10; 20], "{}", router.said);
        let listed = tool("iptables", "-t mangle -L POSTROUTING -v -n -x");
        assert!(listed.contains("20    20000 TOS"), "{listed}");
        tool("iptables", "-t mangle -I POSTROUTING 1 -p udp -j ACCEPT");
        if tables().contains("fairlane") {
            return;
        }
        router.wait_for("put its own before them");
        router.wait_for("the rules are installed again");
        let before = state()["arrived"]["packets"].as_u64().unwrap();
        send(20, 0, 0);
        assert_eq!(arrived(&host, 20).len(), 20);
        crate::running::settle();
        assert!(state()["arrived"]["packets"].as_u64().unwrap() >= before + 20);
    });
}

/// A second router that begins at the interface's new name, before the first follows it or after. Would catch packets
/// that go from one queue to the other for ever.
#[test]
fn two_routers_of_an_interface_make_no_loop() {
    in_namespace(|| {
        let host = connect();
        let arrived = server(&host);
        let mut first = marking(&[]);
        for (from, to) in [("wan0", "wan1"), ("wan1", "wan2")] {
            tool("ip", &format!("link set {from} down"));
            tool("ip", &format!("link set {from} name {to}"));
            tool("ip", &format!("link set {to} up"));
            if from == "wan1" {
                first.wait_for("now=\"wan2\"");
                first.wait_for("the rules are installed again");
            }
            let args = ["--queue-num=1", "--interface", to, "--rate=100mbit", "--metrics=off", "droptail"];
            let second = Running::start(&args);
            send(20, 0, 0);
            assert_eq!(arrived(&host, 20), [0; 20], "{}{}", first.said, second.said);
            second.signal(Signal::SIGKILL);
            drop(second);
            let (code, _, stderr) = said(&fairlane(&["router", "--clean"]));
            assert_eq!(code, Some(0), "{stderr}");
        }
    });
}

/// A bridge whose ports' packets pass rules, as Docker sets it up: packets from port to port are not queued, and what
/// cannot be told apart is refused.
#[test]
fn packets_between_ports_of_a_bridge_are_left_alone() {
    in_namespace(|| {
        tool("ip", "link add vmbr0 type bridge");
        let through_rules = "/proc/sys/net/bridge/bridge-nf-call-iptables";
        if fs::write(through_rules, "1").is_err() {
            return skip::because("bridge-nf", "this kernel takes no packets of bridges through rules");
        }
        let guests = [Node::new(), Node::new()];
        for (number, guest) in guests.iter().enumerate() {
            tool("ip", &format!("link add p{number} type veth peer name e0 netns {}", guest.tid));
            tool("ip", &format!("link set p{number} master vmbr0 up"));
            guest.run(move || {
                tool("ip", &format!("address add 10.79.0.{}/24 dev e0", number + 1));
                tool("ip", "link set e0 up");
            });
        }
        tool("ip", "link set vmbr0 up");
        let router = Running::start(&["--queue-num=0", "--interface=vmbr0", "--rate=8kbit", "droptail", "limit=2p"]);
        let to = guests[1].run(|| {
            let socket = UdpSocket::bind("10.79.0.2:4433").unwrap();
            socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            socket
        });
        guests[0].run(|| {
            let from = UdpSocket::bind("10.79.0.1:0").unwrap();
            (0..50).for_each(|_| drop(from.send_to(&[1; 972], "10.79.0.2:4433")));
        });
        let arrived = (0..50).take_while(|_| to.recv(&mut [0; 2000]).is_ok()).count();
        assert_eq!(arrived, 50, "at 8 kbit/s one packet a second would arrive: {}", router.said);
        drop(router);
        let down = ["--queue-num=2", "--interface=vmbr0", "--up=1mbit", "--down=1mbit", "--metrics=off", "red"];
        refused(&[&["router"], &down[..]].concat(), &["between its ports would be queued"]);
        refused(&[&["router", "--dry-run"], &down[..]].concat(), &["between its ports would be queued"]);

        // Where they do not pass rules it starts, and tells when they begin to.
        let switch = |value: &str| {
            fs::write(through_rules, value).unwrap();
            fs::write(through_rules.replace("iptables", "ip6tables"), value).unwrap();
        };
        switch("0");
        tool("ip", "link set vmbr0 type bridge nf_call_iptables 1");
        refused(&[&["router"], &down[..]].concat(), &["between its ports would be queued"]);
        tool("ip", "link set vmbr0 type bridge nf_call_iptables 0");
        let mut router = Running::start(&down);
        switch("1");
        router.wait_for("packets between ports of a bridge pass the firewall now");
        assert!(crate::running::has_rules(2) && crate::running::has_rules(3), "{}", rules());
        drop(router);
        let port = ["router", "--queue-num=0", "--interface=p0", "--rate=1mbit", "--metrics=off", "red"];
        refused(&port, &["\"p0\" is a port of the bridge \"vmbr0\"", "name that one"]);
    });
}

/// An iptables without the match of IPsec: packets are queued all the same, and the log says what differs.
#[test]
fn a_firewall_without_the_match_of_ipsec_is_told_of() {
    in_namespace(|| {
        let place = Place::new();
        let found = std::env::var_os("PATH").unwrap();
        for name in ["iptables-restore", "ip6tables-restore"] {
            let program = std::env::split_paths(&found).map(|folder| folder.join(name)).find(|path| path.exists());
            let lacking = "case \"$rules\" in *policy*) echo \"Couldn't load match \\`policy'\" >&2; exit 2;; esac";
            let script = format!(
                "#!/bin/sh\nrules=$(cat)\n{lacking}\nprintf '%s\\n' \"$rules\" | {} \"$@\"\n",
                program.unwrap().display()
            );
            place.write(name, &script);
            fs::set_permissions(place.path(name), Permissions::from_mode(0o755)).unwrap();
        }
        // nft is not found there.
        for tool in ["iptables", "ip6tables"] {
            let program = std::env::split_paths(&found).map(|folder| folder.join(tool)).find(|path| path.exists());
            std::os::unix::fs::symlink(program.unwrap(), place.path(tool)).unwrap();
        }
        let path = format!("{}:/bin", place.name(""));
        let router = Running::start_with(&with(&["droptail", "limit=100p"]), &[("PATH", &path)]);
        if router.said.contains("firewall=nft") {
            return skip::because("iptables", "nft is in /bin");
        }
        assert!(router.said.contains("lacks the match of IPsec"), "{}", router.said);
        assert_eq!(through(50), 50);
    });
}

/// Tools that hang: the log tells which, the watchdog is fed, packets pass, and the end comes within the time that the
/// unit gives it.
#[test]
fn a_tool_that_hangs_holds_nothing_up() {
    in_namespace(|| {
        let place = Place::new();
        let found = std::env::var_os("PATH").unwrap();
        for name in ["iptables", "ip6tables", "iptables-restore", "ip6tables-restore"] {
            let program = std::env::split_paths(&found).map(|folder| folder.join(name)).find(|path| path.exists());
            let (hang, program) = (place.name("hang"), program.unwrap());
            place.write(
                name,
                &format!("#!/bin/sh\n[ -e {hang} ] && /bin/sleep 600\nexec {} \"$@\"\n", program.display()),
            );
            fs::set_permissions(place.path(name), Permissions::from_mode(0o755)).unwrap();
        }
        let systemd = UnixDatagram::bind(place.path("notify")).unwrap();
        let (notify, path) = (place.name("notify"), place.name(""));
        let environment = [("NOTIFY_SOCKET", &*notify), ("PATH", &*path)];
        let heard = Arc::new(Mutex::new(Vec::new()));
        let times = Arc::clone(&heard);
        thread::spawn(move || {
            while systemd.recv(&mut [0; 500]).is_ok() {
                times.lock().unwrap().push(Instant::now());
            }
        });
        let mut router = Running::start_with(&with(&["droptail", "limit=100p"]), &environment);
        place.write("hang", "");
        for _ in 0..2 {
            let line = router.wait_for("hangs: it has not ended in 3s");
            assert!(line.contains("iptables hangs"), "{line}");
        }
        let times = heard.lock().unwrap().clone();
        let gap = times.windows(2).map(|pair| pair[1] - pair[0]).max();
        // A busy machine is later than 3 s and a quarter.
        assert!(gap < Some(Duration::from_secs(10)), "{times:?}");
        assert_eq!(through(50), 50);
        let told = Instant::now();
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(2), "{}", router.rest());
        assert!(told.elapsed() < Duration::from_secs(15), "{:?}", told.elapsed());
        assert!(router.rest().contains("hangs"), "{}", router.said);
        assert_eq!(through(50), 50, "rules without a router let packets pass: {}", rules());
        let children = Command::new("pgrep").args(["-f", &place.name("hang")]).output();
        assert!(children.is_err() || children.is_ok_and(|found| found.stdout.is_empty()), "a tool is left behind");
    });
}
