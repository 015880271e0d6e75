//! Packets that are not queued because of their address.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::common::{Place, printed};
use crate::namespace::{in_namespace, tool};
use crate::node::Node;
use crate::running::{Running, listen, nothing, refused, rules, settle, state, tables};

/// The time that a full queue of 50 packets takes at 80 kbit/s.
const FULL: Duration = Duration::from_secs(5);

const NEAR: [&str; 2] = ["10.77.2.1", "fd77:2::1"];
const FAR: [&str; 2] = ["10.77.2.2", "fd77:2::2"];
const EXEMPT: [&str; 2] = ["10.77.3.3", "fd77:3::3"];

/// Connects this thread's namespace by `wan0` with a host that has all of these addresses.
fn connect() -> Node {
    let host = Node::new();
    tool("ip", &format!("link add wan0 type veth peer name h0 netns {}", host.tid));
    tool("ip", "link set wan0 up");
    for near in NEAR {
        tool("ip", &format!("address add {near}/16 dev wan0 {}", at_once(near)));
    }
    host.run(|| {
        tool("ip", "link set h0 up");
        for far in FAR.into_iter().chain(EXEMPT) {
            tool("ip", &format!("address add {far}/16 dev h0 {}", at_once(far)));
        }
    });
    host
}

/// Returns the words that let an address be used without a search for duplicates.
fn at_once(address: &str) -> &str {
    if address.contains(':') { "nodad" } else { "" }
}

/// Returns the address with a port.
fn at(address: &str) -> String {
    if address.contains(':') { format!("[{address}]:7777") } else { format!("{address}:7777") }
}

/// Sends 20 datagrams to the host, or has it send them here from that address. Returns the longest time that one took.
fn slowest(host: &Node, far: &'static str, down: bool) -> Duration {
    let near = NEAR[usize::from(far.contains(':'))];
    let there =
        host.run(move || if down { UdpSocket::bind(at(far).replace("7777", "0")).unwrap() } else { listen(&at(far)) });
    let here = if down { listen(&at(near)) } else { UdpSocket::bind(at(near).replace("7777", "0")).unwrap() };
    let (from, to, address) = if down { (there, here, near) } else { (here, there, far) };
    to.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let times = (0..20).map(|_| {
        let sent = Instant::now();
        from.send_to(&[1; 100], at(address)).unwrap();
        to.recv(&mut [0; 200]).unwrap();
        sent.elapsed()
    });
    times.max().unwrap()
}

fn arrived(way: &str) -> u64 {
    settle();
    state()[way]["arrived"]["packets"].as_u64().unwrap()
}

/// While the queues of both directions are full, packets of exempt addresses at the far side do not wait, and the
/// others do: at 80 kbit/s 50 packets of 1000 bytes take 5 s. A reload exempts others, and no rule is left.
#[test]
fn exempt_packets_do_not_wait() {
    in_namespace(|| {
        let before = nothing();
        let (host, place) = (connect(), Place::new());
        let file = |exempt: &str| {
            let queue = "queue = { kind = \"droptail\", limit = \"50p\" }";
            let rates = "interface = \"wan0\"\nup = \"80kbit\"\ndown = \"80kbit\"\n";
            place.write("router.toml", &format!("{rates}exempt = {exempt}\n{queue}\n"))
        };
        let mut router = Running::start(&["--config", &file("[\"10.77.3.0/24\", \"fd77:3::/32\"]")]);
        // Neighbour discovery has other addresses, which are not exempt, so it takes place before.
        FAR.into_iter().chain(EXEMPT).for_each(|far| assert!(slowest(&host, far, false) < FULL));
        let flood = |from: &str, to: &str| {
            let from = UdpSocket::bind(at(from).replace("7777", "0")).unwrap();
            (0..100).for_each(|_| drop(from.send_to(&[1; 972], at(to))));
        };
        for (near, far) in NEAR.into_iter().zip(FAR) {
            flood(near, far);
            host.run(move || flood(far, near));
        }
        let queued = ["up", "down"].map(arrived);
        assert!(queued.iter().all(|packets| *packets >= 200), "{queued:?}");
        for address in EXEMPT {
            for down in [false, true] {
                let took = slowest(&host, address, down);
                assert!(took < Duration::from_secs(1), "{address}: {took:?}, where 5 s are full: {}", rules());
            }
        }
        let waited = ["up", "down"].map(arrived);
        assert!(waited.iter().zip(&queued).all(|(after, before)| after - before < 20), "{queued:?} {waited:?}");
        file("\"10.77.2.0/24\"");
        router.signal(Signal::SIGHUP);
        router.wait_for("other rules installed");
        let took = slowest(&host, FAR[0], false);
        assert!(took < Duration::from_secs(1), "{took:?}");
        let before_others = arrived("up");
        let from = UdpSocket::bind("0.0.0.0:0").unwrap();
        (0..20).for_each(|_| drop(from.send_to(&[1; 100], at(EXEMPT[0]))));
        assert!(arrived("up") >= before_others + 20, "{}", rules());
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}

/// A dry run names the addresses and warns of a prefix that leaves nothing to queue. An error tells the place.
#[test]
fn prefixes_are_checked() {
    in_namespace(|| {
        let place = Place::new();
        for (text, parts) in [
            ("exempt = \"lan\"\n", [":1:10: exempt: write a network such as 10.0.0.0/8", "or one address"]),
            ("rate = \"1mbit\"\nexempt = [\"::/0\", \"10.0.0.1/8\"]\n", [":2:19: exempt:", "write 10.0.0.0/8"]),
        ] {
            refused(&["router", "--config", &place.write("router.toml", text)], &parts);
        }
        let usual = ["router", "--rate=1mbit", "droptail", "--exempt"];
        let with = |more: &[&'static str]| [&usual[..], more].concat();
        refused(&with(&["10.0.0.0/33", "--queue-num=0"]), &["write a network such as 10.0.0.0/8"]);
        refused(&with(&["10.0.0.0/8", "--queue-num=0"]), &["--exempt needs --interface or --bridge"]);
        refused(&with(&["10.0.0.0/8", "--interface=lo", "--path=bpf"]), &["--path bpf: "]);
        let shown = printed(&with(&["::/0", "--exempt=10.0.0.0/8", "--interface=lo", "--queue-num=0", "--dry-run"]));
        assert!(
            shown.contains("Packets of these addresses at the far side are not queued: 10.0.0.0/8, ::/0\n"),
            "{shown}"
        );
        assert!(shown.contains("Warning: --exempt ::/0: no IPv6 packet is queued\n"), "{shown}");
    });
}
