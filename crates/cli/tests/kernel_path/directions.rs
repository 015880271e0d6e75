//! Both directions of an interface, marks, and two routers at a time.

use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{fs, io};

use nix::sys::signal::Signal;
use nix::sys::socket::sockopt::{IpRecvTos, Ipv4Tos};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use serde_json::Value;

use crate::checks::flood;
use crate::machine::{Checked, LOG, checked, end, ensure, get, pinned, run, start, state, tell, until};
use crate::node::Node;

const FILE: &str = "/tmp/both.toml";

/// The bytes of a datagram, and on an Ethernet link.
const DATA: usize = 972;
const FRAME: usize = DATA + 8 + 20 + 14;

/// The TOS byte of a sender that understands ECN, and of a packet that met congestion (RFC 3168).
const ECT: i32 = 2;
const CE: u8 = 3;

pub(super) fn check(fairlane: &str) -> Checked {
    let host = connect()?;
    configure(8, 4)?;
    let router = start(fairlane, &format!("router --config {FILE}"))?;
    let worked = works(fairlane, &host, &router);
    let ended = end(router, "wan0");
    worked.and(ended)?;
    ensure(ifb().is_none(), || "the IFB device is left behind".to_owned())?;
    killed(fairlane, &host)?;
    by_command(fairlane)?;
    what_cannot_start_leaves_nothing(fairlane)?;
    unplugged(fairlane)
}

/// Connects this namespace by wan0 with a host.
fn connect() -> Checked<Node> {
    let host = Node::new();
    run("ip", &format!("link add wan0 type veth peer name far0 netns {}", host.tid))?;
    run("ip", "addr add 10.8.0.1/24 dev wan0")?;
    run("ip", "link set wan0 up")?;
    let ready = host.run(|| {
        let done = run("ip", "addr add 10.8.0.2/24 dev far0").and_then(|_| run("ip", "link set far0 up"));
        done.map(drop).map_err(|error| error.to_string())
    });
    Ok(ready.map(|()| host)?)
}

/// RED that marks, so that a flow that does not slow down is told of it.
fn configure(up: u32, down: u32) -> Checked {
    let queue =
        r#"{ kind = "red", limit = "300p", min = "20p", max = "60p", weight = 0.02, probability = 0.5, ecn = true }"#;
    let text = format!(
        "path = \"bpf\"\ninterface = \"wan0\"\nup = \"{up}mbit\"\ndown = \"{down}mbit\"\nmetrics = 9277\nqueue = {queue}\n"
    );
    Ok(fs::write(FILE, text)?)
}

/// The router from its start to its last reload.
fn works(fairlane: &str, host: &Node, router: &std::process::Child) -> Checked {
    until("the router serves its state", || state().ok())?;
    both_are_shaped(host, 8.0, 4.0)?;
    let both = state()?;
    for direction in ["up", "down"] {
        let one = checked(both[direction].clone())?;
        let marked = total(&one["marked"]);
        ensure(one["path"] == "bpf" && one["interfaces"][0] == "wan0" && marked > 10, || format!("{one:#}"))?;
    }
    let metrics = get("/metrics")?;
    for direction in ["up", "down"] {
        let line = format!("fairlane_arrived_packets_total{{interface=\"wan0\",direction=\"{direction}\"}} ");
        ensure(metrics.contains(&line), || format!("there is no {line} in {metrics}"))?;
    }

    // A second router at another interface counts its own packets.
    let words = "router --path bpf --interface eth7 --rate 10mbit --metrics 9278 choke limit=300p min=20p max=60p";
    let mut second = Command::new(fairlane).args(words.split(' ')).spawn()?;
    until("the second discipline", || run("tc", "qdisc show dev eth7").ok().filter(|text| text.contains("fl_choke")))?;
    let before = state()?;
    flood()?;
    let after = state()?;
    ensure(before["up"]["arrived"] == after["up"]["arrived"], || format!("{before:#}\n{after:#}"))?;
    tell(&second, Signal::SIGTERM)?;
    ensure(second.wait()?.success(), || "the second router failed".to_owned())?;
    let roots = run("tc", "qdisc show")?;
    ensure(roots.matches("fl_red").count() == 2, || roots.clone())?;

    // Without the IFB device packets pass, and it comes back.
    let device = ifb().ok_or("there is no IFB device")?;
    run("ip", &format!("link delete {device}"))?;
    until("the IFB device is back", || {
        ifb().filter(|_| run("tc", "qdisc show").is_ok_and(|text| text.matches("fl_red").count() == 2))
    })?;
    let log = fs::read_to_string(LOG)?;
    ensure(log.contains("another program removed the discipline"), || log.clone())?;

    configure(6, 2)?;
    tell(router, Signal::SIGHUP)?;
    until("the reload", || state().ok().filter(|state| state["down"]["reloads"] == 1))?;
    both_are_shaped(host, 6.0, 2.0)
}

/// After `kill -9` the kernel goes on; a new start takes over.
fn killed(fairlane: &str, host: &Node) -> Checked {
    let mut first = start(fairlane, &format!("router --config {FILE}"))?;
    until("the router serves its state", || state().ok())?;
    tell(&first, Signal::SIGKILL)?;
    first.wait()?;
    both_are_shaped(host, 6.0, 2.0)?;
    let metrics = run(fairlane, "bpf metrics wan0")?;
    ensure(metrics.contains("{interface=\"wan0\",direction=\"down\"}"), || metrics.clone())?;
    let top = run(fairlane, "top --bpf wan0 --once")?;
    ensure(top.contains("6mbit") && top.contains("2mbit"), || top.clone())?;
    // A device that somebody removes holds up nothing, although nobody looks after it.
    let device = ifb().ok_or("there is no IFB device")?;
    run("ip", &format!("link delete {device}"))?;
    passes(host)?;

    let router = start(fairlane, &format!("router --config {FILE}"))?;
    until("the router serves its state", || state().ok())?;
    let worked = both_are_shaped(host, 6.0, 2.0);
    worked.and(end(router, "wan0"))?;
    let pinned = pinned()?;
    ensure(ifb().is_none() && pinned == 0, || format!("{pinned} pinned folders are left"))
}

/// All of fifty datagrams come from the host.
fn passes(host: &Node) -> Checked {
    let socket = UdpSocket::bind("10.8.0.1:9003")?;
    socket.set_read_timeout(Some(Duration::from_secs(2)))?;
    host.run(|| {
        let from = UdpSocket::bind("0.0.0.0:0")?;
        (0..50).try_for_each(|_| from.send_to(&[0; DATA], "10.8.0.1:9003").map(drop))
    })?;
    let came = (0..50).take_while(|_| socket.recv(&mut [0; DATA]).is_ok()).count();
    ensure(came == 50, || format!("{came} of 50 datagrams came"))
}

/// `fairlane bpf` for arriving packets.
fn by_command(fairlane: &str) -> Checked {
    run(fairlane, "bpf attach wan0 choke limit=300p min=20p max=60p --rate 1mbit --arriving")?;
    let status = run(fairlane, "bpf status")?;
    ensure(status.contains("wan0, arriving packets: fl_choke"), || status.clone())?;
    run(fairlane, "bpf detach wan0")?;
    ensure(ifb().is_none() && pinned()? == 0, || "something is left behind".to_owned())?;
    // One that has lost its discipline is detached, too.
    run(fairlane, "bpf attach wan0 red limit=300p min=20p max=60p --rate 1mbit --arriving")?;
    run("tc", &format!("qdisc del dev {} root", ifb().ok_or("there is no IFB device")?))?;
    run(fairlane, "bpf detach wan0")?;
    ensure(ifb().is_none() && pinned()? == 0, || "something is left behind".to_owned())
}

/// An interface without Ethernet headers is refused for arriving packets, and a port for metrics that is taken; the
/// discipline of the other direction goes, too.
fn what_cannot_start_leaves_nothing(fairlane: &str) -> Checked {
    let _taken = std::net::TcpListener::bind("127.0.0.1:9277")?;
    for (interface, metrics, why) in [("lo", "off", "lo has no Ethernet headers"), ("wan0", "9277", "9277")] {
        let words =
            format!("router --path bpf --interface {interface} --up 1mbit --down 1mbit --metrics {metrics} red");
        let refused = Command::new(fairlane).args(words.split(' ')).output()?;
        let said = String::from_utf8(refused.stderr)?;
        ensure(refused.status.code() == Some(2) && said.contains(why), || said.clone())?;
        let roots = run("tc", "qdisc show")?;
        ensure(!roots.contains("fl_red") && ifb().is_none() && pinned()? == 0, || roots.clone())?;
    }
    Ok(())
}

/// The interface vanishes: the router ends, and its IFB device goes, too.
fn unplugged(fairlane: &str) -> Checked {
    let mut router = start(fairlane, &format!("router --config {FILE}"))?;
    until("the router serves its state", || state().ok())?;
    let device = ifb().ok_or("there is no IFB device")?;
    run("ip", "link delete wan0")?;
    let status = router.wait()?;
    ensure(status.code() == Some(2), || format!("the router ended with {status}"))?;
    let left = nix::net::if_::if_nametoindex(device.as_str()).is_ok() || pinned()? > 0;
    ensure(!left, || "something is left behind".to_owned())
}

/// Sends four times the rates in both directions at once, with two flows each, and measures what comes.
fn both_are_shaped(host: &Node, up: f64, down: f64) -> Checked {
    let here = Receivers::new("10.8.0.1")?;
    let there = host.run(|| Receivers::new("10.8.0.2").map_err(|error| error.to_string()))?;
    let counted_there = host_counts(host, there);
    let counting_here = std::thread::spawn(move || here.count());
    let sending = host.start(move || send("10.8.0.1", 4.0 * down));
    send("10.8.0.2", 4.0 * up)?;
    sending.recv()??;
    let counted = [counted_there.recv()?, counting_here.join().map_err(|_| "a thread failed")?];
    for (rate, Counted { bytes, marked, wrongly_marked }) in [up, down].into_iter().zip(counted) {
        let measured = bytes as f64 * 8.0 / 1e6;
        ensure((measured / rate - 1.0).abs() < 0.03, || format!("{measured} Mbit/s of {rate}"))?;
        ensure(marked > 10 && wrongly_marked == 0, || format!("{marked} marks, {wrongly_marked} where none may be"))?;
    }
    Ok(())
}

/// Counts on another thread of the host, since its first one sends.
fn host_counts(host: &Node, receivers: Receivers) -> Receiver<Counted> {
    let (tell, told) = std::sync::mpsc::channel();
    host.run(move || drop(std::thread::spawn(move || tell.send(receivers.count()))));
    told
}

/// Sends for a second and a half at this rate in Mbit/s, half of it with ECN.
fn send(to: &str, rate: f64) -> io::Result<()> {
    let sockets = [UdpSocket::bind("0.0.0.0:0")?, UdpSocket::bind("0.0.0.0:0")?];
    setsockopt(&sockets[0], Ipv4Tos, &ECT)?;
    let gap = Duration::from_secs_f64(2.0 * FRAME as f64 * 8.0 / 1e6 / rate);
    let start = Instant::now();
    let mut next = start;
    while start.elapsed() < Duration::from_millis(1500) {
        sockets[0].send_to(&[0; DATA], (to, 9001))?;
        sockets[1].send_to(&[0; DATA], (to, 9002))?;
        next += gap;
        sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// The sockets of the flow with ECN and of the one without.
struct Receivers([UdpSocket; 2]);

/// The packets that came within a second.
#[derive(Default)]
struct Counted {
    /// With Ethernet headers.
    bytes: usize,
    marked: usize,
    wrongly_marked: usize,
}

impl Receivers {
    fn new(address: &str) -> Checked<Self> {
        let receiver = |port| -> Checked<UdpSocket> {
            let socket = UdpSocket::bind((address, port))?;
            setsockopt(&socket, IpRecvTos, &true)?;
            socket.set_nonblocking(true)?;
            Ok(socket)
        };
        Ok(Self([receiver(9001)?, receiver(9002)?]))
    }

    /// Counts for a second, from a quarter of a second after the first packet on.
    fn count(&self) -> Counted {
        let mut counted = Counted::default();
        let mut first = None;
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let since = first.map(|first: Instant| first.elapsed());
            if since > Some(Duration::from_millis(1250)) {
                break;
            }
            let counts = since > Some(Duration::from_millis(250));
            for (socket, with_ecn) in self.0.iter().zip([true, false]) {
                while let Some(tos) = next_tos(socket) {
                    first.get_or_insert_with(Instant::now);
                    if counts {
                        counted.bytes += FRAME;
                        counted.marked += usize::from(with_ecn && tos & CE == CE);
                        counted.wrongly_marked += usize::from(!with_ecn && tos != 0);
                    }
                }
            }
            sleep(Duration::from_millis(1));
        }
        counted
    }
}

fn next_tos(socket: &UdpSocket) -> Option<u8> {
    let (mut buffer, mut control) = ([0; DATA], nix::cmsg_space!(u8));
    let mut slices = [io::IoSliceMut::new(&mut buffer)];
    let message = recvmsg::<()>(socket.as_raw_fd(), &mut slices, Some(&mut control), MsgFlags::empty()).ok()?;
    message.cmsgs().ok()?.find_map(|told| match told {
        ControlMessageOwned::Ipv4Tos(tos) => Some(tos),
        _ => None,
    })
}

fn total(reasons: &Value) -> u64 {
    reasons
        .as_object()
        .into_iter()
        .flat_map(|reasons| reasons.values())
        .filter_map(|count| count["packets"].as_u64())
        .sum()
}

/// Returns the name of the IFB device of wan0.
fn ifb() -> Option<String> {
    let name = format!("flifb{}", nix::net::if_::if_nametoindex("wan0").ok()?);
    nix::net::if_::if_nametoindex(name.as_str()).ok().map(|_| name)
}
