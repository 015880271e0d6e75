//! A sender, a router and a receiver in network namespaces that end with the threads of the test.
#![allow(dead_code, reason = "each test program uses its own part")]

mod node;
pub(crate) mod send;

use std::fs;
use std::io::{ErrorKind, IoSliceMut, Write};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::cmsg_space;
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::sockopt::{RcvBufForce, ReceiveTimeout, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};
use nix::sys::time::{TimeSpec, TimeVal, TimeValLike};

pub(crate) use fairlane_linux::RouterConfig;
use fairlane_linux::{
    BindError, DataPath, Firewall, FlowsBy, Link, LinkLayer, MarkBits, Marking, QueueConfig, QueueSocket, Queues,
    Report, Router, RouterHandle, Rules, nfqueue,
};
use fairlane_qdisc::{QdiscParameters, Rate};
pub(crate) use node::Node;
use skip::Watch;

pub(crate) const SENDER: &str = "10.77.1.1";
pub(crate) const RECEIVER: &str = "10.77.2.1";
pub(crate) const RECEIVER6: &str = "fd77:2::1";
pub(crate) const PORT: u16 = 7777;

/// The router's interface towards the receiver.
pub(crate) const OUT: &str = "r1";

pub(crate) mod bridged;
pub(crate) mod tags;

/// The sender and the receiver. The test's own thread is the router between them.
pub(crate) struct Lab {
    pub(crate) sender: Node,
    pub(crate) receiver: Node,
}

/// Labs share the processors, so they run one at a time.
static TURN: Mutex<()> = Mutex::new(());

/// Runs `test` in a namespace between those of a sender and a receiver, or prints why it cannot run.
pub(crate) fn lab(ipv6: bool, test: impl FnOnce(&Lab) + Send + 'static) {
    in_turn(impossible(), move || test(&build(ipv6)));
}

/// The missing requirement, and the reason.
type Missing = (&'static str, String);

/// Runs `test` in its own namespace when no other test is in one, or prints why that is `impossible`.
fn in_turn(impossible: Option<Missing>, test: impl FnOnce() + Send + 'static) {
    if let Some((requirement, why)) = impossible {
        return skip::because(requirement, why);
    }
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let outcome = skip::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        test();
    });
    let outcome = outcome.join();
    drop(turn);
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}

/// Returns the reason why this machine cannot run a lab.
fn impossible() -> Option<Missing> {
    let there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if let Some(missing) = ["ip", "iptables-restore"].into_iter().find(|program| !there(program)) {
        let requirement = if missing == "ip" { "ip" } else { "iptables" };
        return Some((requirement, format!("there is no {missing}")));
    }
    let tried = thread::spawn(|| {
        let alone = unshare(CloneFlags::CLONE_NEWNET);
        alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
        let setup = nfqueue::Setup {
            queue: 0,
            copied: nfqueue::Copied::Headers,
            max_packets: 1,
            fail_open: false,
            gso: false,
            conntrack: false,
        };
        match QueueSocket::bind(&setup) {
            Err(error @ BindError::Missing) => Err(("nfqueue", error.to_string())),
            Err(error @ BindError::NotPermitted) => Err(("root", error.to_string())),
            _ => Ok(()),
        }
    });
    tried.join().unwrap().err()
}

fn build(ipv6: bool) -> Lab {
    let lab = Lab { sender: Node::new(), receiver: Node::new() };
    let off = move || {
        if !ipv6 {
            for interfaces in ["all", "default"] {
                // This fails if the kernel has no IPv6, and then there is nothing to disable.
                let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{interfaces}/disable_ipv6"), "1");
            }
        }
    };
    off();
    lab.sender.run(off);
    lab.receiver.run(off);
    ip("link set lo up");
    ip(&format!("link add r0 type veth peer name s0 netns {}", lab.sender.tid));
    ip(&format!("link add {OUT} type veth peer name d0 netns {}", lab.receiver.tid));
    address("r0", "10.77.1.2/24", "fd77:1::2/64", ipv6);
    address(OUT, "10.77.2.2/24", "fd77:2::2/64", ipv6);
    lab.sender.run(move || {
        address("s0", "10.77.1.1/24", "fd77:1::1/64", ipv6);
        ip("route add default via 10.77.1.2");
        if ipv6 {
            ip("-6 route add default via fd77:1::2");
        }
    });
    lab.receiver.run(move || {
        address("d0", "10.77.2.1/24", "fd77:2::1/64", ipv6);
        ip("route add default via 10.77.2.2");
        if ipv6 {
            ip("-6 route add default via fd77:2::2");
        }
    });
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
    if ipv6 {
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1").unwrap();
    }
    let (r0, d0) = (hardware("r0"), lab.receiver.run(|| hardware("d0")));
    lab.sender.run(move || known("10.77.1.2", "fd77:1::2", "s0", &r0, ipv6));
    known(RECEIVER, RECEIVER6, OUT, &d0, ipv6);
    lab
}

/// Returns the hardware address of an interface.
fn hardware(interface: &str) -> String {
    let said = tool("ip", &format!("-br link show dev {interface}"));
    said.split_whitespace().nth(2).unwrap().to_owned()
}

/// Configures the neighbours behind `interface`. To discover them may take a kernel a second, during which the first
/// packets of a test wait.
fn known(four: &str, six: &str, interface: &str, hardware: &str, ipv6: bool) {
    for address in [four, six].iter().take(if ipv6 { 2 } else { 1 }) {
        ip(&format!("neigh replace {address} lladdr {hardware} dev {interface} nud permanent"));
    }
}

fn address(interface: &str, four: &str, six: &str, ipv6: bool) {
    ip(&format!("address add {four} dev {interface}"));
    if ipv6 {
        ip(&format!("-6 address add {six} dev {interface} nodad"));
    }
    ip(&format!("link set {interface} up"));
}

/// Runs ip(8) in this thread's namespace.
pub(crate) fn ip(arguments: &str) {
    tool("ip", arguments);
}

/// Returns the output of `program`, run in this thread's namespace.
pub(crate) fn tool(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the errors of nft(8) for `script`; an empty string if it accepts the script.
pub(crate) fn nft(script: &str) -> String {
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    nft.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = nft.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Returns the bits of the firewall mark that the rules use.
pub(crate) fn bits() -> MarkBits {
    MarkBits::new(0x6000_0000).unwrap()
}

/// Returns the configuration of a router for queue 0 with `discipline` and a link of `rate`, which marks by a rule.
pub(crate) fn config(discipline: &QdiscParameters, rate: Rate) -> RouterConfig {
    RouterConfig {
        path: DataPath::Queue(queue_config(0)),
        link: Link { rate, layer: LinkLayer::default() },
        discipline: discipline.resolve(rate).unwrap(),
        flows: FlowsBy::FiveTuple,
    }
}

/// Returns queue 0 as a data path with this marking.
pub(crate) fn queue(marking: Marking) -> DataPath {
    DataPath::Queue(QueueConfig { marking, ..queue_config(0) })
}

/// Returns these queues as the rules of [`install`] need it, marked by a rule.
pub(crate) fn queue_config(queues: impl Into<Queues>) -> QueueConfig {
    let marking = Marking::ByRule(bits().ce());
    let repeat = Firewall::Iptables.repeat(bits());
    QueueConfig { queues: queues.into(), marking, repeat, fail_open: false, gso: false, mtu: None }
}

/// A running router with its rules.
pub(crate) struct Working {
    pub(crate) handle: RouterHandle,
    firewall: Firewall,
    queue: u16,
    thread: thread::JoinHandle<Report>,
}

/// Starts a bound router, and sends it the packets that leave by [`OUT`].
pub(crate) fn start(router: Router, queues: impl Into<Queues>) -> Working {
    let (handle, queues) = (router.handle(), queues.into());
    assert!(handle.report().kernel.is_some(), "whoever asks before the first packet is told how it is");
    let firewall = install(queues);
    Working { handle, firewall, queue: queues.first(), thread: spawn_router(|| router.run().unwrap()) }
}

impl Working {
    /// Ends the router when its queue is empty, or after two seconds, and removes the rules.
    pub(crate) fn stop(self) -> Report {
        self.firewall.stop(self.queue).unwrap();
        self.handle.stop(fairlane_qdisc::Duration::from_secs(2.0));
        let report = self.thread.join().unwrap();
        self.firewall.remove(self.queue).unwrap();
        report
    }
}

/// Installs the rules that send packets that leave by [`OUT`] to `queues`.
pub(crate) fn install(queues: impl Into<Queues>) -> Firewall {
    let rules = Rules::new(queues, &[OUT.to_owned()], bits()).unwrap();
    // Always iptables, since the tests read its counts.
    Firewall::Iptables.install(&rules).unwrap();
    Firewall::Iptables
}

/// Returns the number of IPv4 packets that rules have sent to `queue`.
pub(crate) fn sent_to_queue(queue: u16) -> u64 {
    let listed = tool("iptables", &format!("-t mangle -L FAIRLANE-Q{queue} -v -n -x"));
    let rule = listed.lines().find(|line| line.contains("NFQUEUE")).unwrap();
    rule.split_whitespace().next().unwrap().parse().unwrap()
}

/// Opens a socket that receives datagrams on [`PORT`], with a large buffer.
pub(crate) fn listen() -> UdpSocket {
    let socket = UdpSocket::bind((RECEIVER, PORT)).unwrap();
    setsockopt(&socket, RcvBufForce, &(256 << 20)).unwrap();
    socket
}

/// Returns the arrival times of datagrams in seconds until none arrives for two seconds. The times are the kernel's
/// timestamps, since the reader may be late.
pub(crate) fn arrivals() -> Vec<f64> {
    let socket = listen();
    setsockopt(&socket, ReceiveTimestampns, &true).unwrap();
    setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(2)).unwrap();
    let (mut arrivals, mut buffer, mut control) = (Vec::new(), [0; 2048], cmsg_space!(TimeSpec));
    loop {
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let received = recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty());
        let Ok(received) = received else { return arrivals };
        for message in received.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmTimestampns(at) = message {
                arrivals.push(at.num_nanoseconds() as f64 / 1e9);
            }
        }
    }
}

/// The time without a processor for which the machine is busy.
const BUSY: Duration = Duration::from_millis(10);

/// The number of measurements if pauses of the machine spoil them.
const ATTEMPTS: u32 = 5;

/// The name of the thread on which a router runs. It starts another for each further queue.
pub(crate) const ROUTER: &str = "router";

/// Starts a thread for a router.
pub(crate) fn spawn_router<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().name(ROUTER.to_owned()).spawn(run).unwrap()
}

/// Starts to watch the processors, and the threads of the router.
pub(crate) fn watch() -> Watch {
    Watch::start(|name| name == ROUTER || name.starts_with("queue-"))
}

/// By how much longer a TCP sender may stay below the link's rate than the pause that made it lose packets.
pub(crate) const RECOVERY: f64 = 4.0;

/// The fault of a measurement in real time.
pub(crate) struct Wrong {
    pub(crate) text: String,
    /// The seconds without a processor that would explain it.
    pub(crate) explained_by: f64,
}

impl Wrong {
    pub(crate) fn new(text: impl Into<String>, explained_by: f64) -> Self {
        Self { text: text.into(), explained_by }
    }
}

/// Repeats `measure` until it finds nothing wrong. An error counts unless the machine kept the router from running for
/// more than 10 ms at once, and for long enough to explain the error: only then is the measurement repeated, and given
/// up at last.
///
/// After such a pause a link may start or end a measurement late by the same time; and a TCP sender that is held up
/// overflows the queue.
pub(crate) fn undisturbed(measure: impl FnMut() -> (Report, Result<(), Wrong>)) {
    undisturbed_but_for(BUSY, measure);
}

/// As [`undisturbed`], for measurements that allow for pauses of the machine of up to `pause`.
pub(crate) fn undisturbed_but_for(pause: Duration, mut measure: impl FnMut() -> (Report, Result<(), Wrong>)) {
    repeated(pause, || {
        let (report, result) = measure();
        let late = report.lateness.max();
        let told =
            |wrong: Wrong| Wrong { text: format!("{}; late by {late:?} at most: {report:?}", wrong.text), ..wrong };
        (false, result.map_err(told))
    });
}

/// Repeats `measure`, which also tells whether the sender was too slow, until it finds nothing wrong. An error counts
/// unless the sender was too slow, or the machine was seen to be busy from outside of the router: what the router says
/// of itself excuses nothing. If it is busy each time the test is skipped, and the result is false.
pub(crate) fn unless_busy(mut measure: impl FnMut() -> (bool, Result<(), String>)) -> bool {
    repeated(BUSY, || {
        let (slow, result) = measure();
        (slow, result.map_err(|text| Wrong::new(text, 0.0)))
    })
}

fn repeated(pause: Duration, mut measure: impl FnMut() -> (bool, Result<(), Wrong>)) -> bool {
    for _ in 0..ATTEMPTS {
        let watch = watch();
        let (slow, result) = measure();
        let waits = watch.end();
        let Err(Wrong { text, explained_by }) = result else { return true };
        let busy = waits.longest > pause && waits.total.as_secs_f64() >= explained_by;
        assert!(
            slow || busy,
            "{text}; {explained_by:.3} s without a processor would explain it, but there were {waits:?}"
        );
        eprintln!("too busy, {waits:?} without a processor: {text}");
    }
    skip::because("quiet", "this machine is too busy for a measurement in real time");
    false
}

/// Asserts that packets pass an idle link of 100 Mbit/s without a delay, by the clocks of the sender and of the
/// receiver's kernel: half of a hundred packets, since others may have the processors for a while.
pub(crate) fn assert_idle_link_is_quick(lab: &Lab) {
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    let arrivals = lab.receiver.start(arrivals);
    thread::sleep(Duration::from_millis(200));
    let sent = lab.sender.run(move || {
        let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
        let each = (0..100).map(|_| {
            thread::sleep(Duration::from_millis(10));
            let at = clock();
            socket.send_to(&[1; 972], (RECEIVER, PORT)).unwrap();
            at
        });
        each.collect::<Vec<f64>>()
    });
    let arrivals = arrivals.recv().unwrap();
    assert_eq!(arrivals.len(), sent.len());
    let mut delays: Vec<f64> = arrivals.iter().zip(&sent).map(|(arrived, sent)| arrived - sent).collect();
    delays.sort_by(f64::total_cmp);
    let median = delays[delays.len() / 2];
    eprintln!("a delay of {median:.6} s, {:.6} s at most", delays[delays.len() - 1]);
    assert!((0.0..0.005).contains(&median), "{delays:?}");
}

/// Lets `send` measure a busy link with IP packets of `bytes` bytes. The rate must be `expected`, in bit/s, within a
/// percent.
pub(crate) fn assert_rate(lab: &Lab, bytes: usize, expected: f64, send: impl Fn(&Lab) -> Report) {
    undisturbed(|| {
        let arrivals = lab.receiver.start(arrivals);
        thread::sleep(Duration::from_millis(200));
        let report = send(lab);
        let arrivals = arrivals.recv().unwrap();
        let [first, .., last] = arrivals[..] else { return (report, Err(Wrong::new("nothing arrives", 1.0))) };
        let seconds = last - first;
        let rate = (arrivals.len() - 1) as f64 * 8.0 * bytes as f64 / seconds;
        eprintln!("{:.4} of the rate in {seconds:.2} s", rate / expected);
        let right = (rate / expected - 1.0).abs() < 0.01;
        let off = (rate / expected - 1.0).abs() * seconds;
        (report, if right { Ok(()) } else { Err(Wrong::new(format!("{rate:.0} bit/s instead of {expected:.0}"), off)) })
    });
}

/// Passes the bytes of every datagram to `each` until none arrives for a second. Waits longer for the first.
pub(crate) fn drain(socket: &UdpSocket, mut each: impl FnMut(&[u8])) {
    let mut buffer = [0; 2048];
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    loop {
        match socket.recv(&mut buffer) {
            Ok(length) => {
                socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
                each(&buffer[..length]);
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

/// Returns UDP's count `name` in this thread's namespace.
pub(crate) fn udp_count(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/thread-self/net/snmp").unwrap();
    let mut lines = text.lines().filter(|line| line.starts_with("Udp:"));
    let (names, values) = (lines.next().unwrap(), lines.next().unwrap());
    let at = names.split_whitespace().position(|word| word == name).unwrap();
    values.split_whitespace().nth(at).unwrap().parse().unwrap()
}
