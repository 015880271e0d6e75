//! `contrib/c/tunnel.c` between two network namespaces, under a flood.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "sockets need real time")]

mod common;
#[path = "../../linux/tests/common/node.rs"]
mod node;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{CRATE, Outcome, compile, installed, text};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use node::Node;

/// The tunnel's rate in bit/s, and how many times as much the flood sends.
const RATE: u64 = 10_000_000;
const FLOOD: u64 = 3;

/// Measured after so long a start.
const START: Duration = Duration::from_secs(1);
const MEASURED: Duration = Duration::from_secs(4);

/// The first of these is the receiver's address in the tunnel.
const INSIDE: [&str; 2] = ["10.88.0.1", "10.88.0.2"];
const OUTSIDE: [&str; 2] = ["10.99.0.1", "10.99.0.2"];

/// Runs `ip` in the namespace of the calling thread.
fn ip(arguments: &str) {
    let output = Command::new("ip").args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The missing requirement, and the reason.
fn impossible() -> Option<(&'static str, String)> {
    if Command::new("ip").arg("-V").output().is_err() {
        return Some(("ip", "there is no ip".to_owned()));
    }
    let tried = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|error| ("netns", format!("no network namespace: {error}")))?;
        let made = Command::new("ip").args(["tuntap", "add", "dev", "tun0", "mode", "tun"]).output();
        let made = made.map_err(|error| ("ip", error.to_string()))?;
        let why = String::from_utf8_lossy(&made.stderr).into_owned();
        if made.status.success() { Ok(()) } else { Err(("tun", why)) }
    });
    tried.join().unwrap().err()
}

/// One end of a tunnel. It ends with the value, and after a minute in any case.
struct Tunnel(Child);

impl Tunnel {
    /// Starts the end `this` in the namespace of the calling thread.
    fn start(program: &Path, this: usize, discipline: &str) -> Self {
        let peer = format!("{}:7000", OUTSIDE[1 - this]);
        let mut command = Command::new("timeout");
        // The search for leaks stops the program by ptrace(2), which not every machine lets end.
        command.env("ASAN_OPTIONS", "detect_leaks=0").args(["--kill-after=5", "60"]).arg(program);
        command.args(["tun0", "7000", &peer, &RATE.to_string(), discipline]);
        Self(command.stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Ends it, and returns what it printed.
    fn end(mut self) -> String {
        self.stop();
        let mut printed = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut printed).unwrap();
        assert!(self.0.wait().unwrap().success(), "{printed}");
        printed
    }

    fn stop(&self) {
        // timeout(1) hands the signal on.
        kill(Pid::from_raw(self.0.id() as i32), Signal::SIGTERM).unwrap();
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // An error means that it has ended.
        if self.0.try_wait().is_ok_and(|status| status.is_none()) {
            self.stop();
            let _ = self.0.wait();
        }
    }
}

/// The bytes that the receiver got while it measured, and its packets with a mark and with a wrong header in all.
#[derive(Clone, Copy, Debug)]
struct Got {
    tcp: u64,
    udp: u64,
    marked: u64,
    wrong: u64,
}

/// Returns a count of the kernel for the namespace of the calling thread: `name` in a table of the file.
fn kernel(file: &str, table: &str, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap();
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let (names, counts) = (lines.next().unwrap(), lines.next().unwrap());
    let place = names.split_whitespace().position(|known| known == name).unwrap();
    counts.split_whitespace().nth(place).unwrap().parse().unwrap()
}

/// Counts the bytes that `read` returns, until the test is over. Sockets time out, so that it ends.
fn count(bytes: &AtomicU64, over: &AtomicBool, mut read: impl FnMut(&mut [u8]) -> std::io::Result<usize>) {
    let mut data = vec![0; 65_536];
    while !over.load(Ordering::Relaxed) {
        match read(&mut data) {
            Ok(0) => return,
            Ok(got) => drop(bytes.fetch_add(got as u64, Ordering::Relaxed)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return,
        }
    }
}

/// Four TCP transfers and a flood of UDP, from one namespace through the tunnel to the other.
fn flooded(program: PathBuf, discipline: &'static str) -> Got {
    let (receiver, sender) = (Node::new(), Node::new());
    let tid = sender.tid;
    receiver.run(move || ip(&format!("link add out type veth peer name out netns {tid}")));
    let nodes = [&receiver, &sender];
    let tunnels: Vec<Tunnel> = (0..2)
        .map(|this| {
            let program = program.clone();
            nodes[this].run(move || {
                // Its TCP can be marked.
                fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap();
                ip(&format!("address add {}/24 dev out", OUTSIDE[this]));
                ip("link set out up");
                ip("tuntap add dev tun0 mode tun");
                ip("link set tun0 mtu 1400 up");
                ip(&format!("address add {}/24 dev tun0", INSIDE[this]));
                Tunnel::start(&program, this, discipline)
            })
        })
        .collect();

    let over = Arc::new(AtomicBool::new(false));
    let (tcp, udp) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let wait = Some(Duration::from_millis(100));
    let (ended, tcp_bytes, udp_bytes) = (Arc::clone(&over), Arc::clone(&tcp), Arc::clone(&udp));
    let sinks = receiver.run(move || {
        let listener = TcpListener::bind((INSIDE[0], 8000)).unwrap();
        let datagrams = UdpSocket::bind((INSIDE[0], 8000)).unwrap();
        datagrams.set_read_timeout(wait).unwrap();
        let is_over = Arc::clone(&ended);
        let flood = thread::spawn(move || count(&udp_bytes, &is_over, |data| datagrams.recv(data)));
        let accepting = thread::spawn(move || {
            listener.incoming().take(4).map(Result::unwrap).for_each(|mut stream| {
                let (bytes, ended) = (Arc::clone(&tcp_bytes), Arc::clone(&ended));
                stream.set_read_timeout(wait).unwrap();
                thread::spawn(move || count(&bytes, &ended, |data| stream.read(data)));
            });
        });
        [flood, accepting]
    });
    let ended = Arc::clone(&over);
    let sources = sender.run(move || {
        // The transfers begin on an idle tunnel.
        let streams: Vec<TcpStream> = (0..4).map(|_| connected()).collect();
        let mut sources: Vec<_> = streams
            .into_iter()
            .map(|mut stream| {
                let ended = Arc::clone(&ended);
                thread::spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        // A write that takes too long is tried again.
                        let _ = stream.write(&[0; 16_384]);
                    }
                })
            })
            .collect();
        sources.push(thread::spawn(move || flood(&ended)));
        sources
    });

    thread::sleep(START);
    let now = || (tcp.load(Ordering::Relaxed), udp.load(Ordering::Relaxed));
    let before = now();
    thread::sleep(MEASURED);
    let after = now();
    over.store(true, Ordering::Relaxed);
    sources.into_iter().chain(sinks).for_each(|thread| thread.join().unwrap());
    for (this, tunnel) in tunnels.into_iter().enumerate() {
        let printed = tunnel.end();
        // The receiver sends acknowledgements alone.
        let dropped = !printed.contains(" 0 dropped");
        assert!(printed.contains(" sent, ") && dropped == (this == 1), "{discipline}: {printed}");
    }
    let (marked, wrong) =
        receiver.run(|| (kernel("netstat", "IpExt:", "InCEPkts"), kernel("snmp", "Ip:", "InHdrErrors")));
    Got { tcp: after.0 - before.0, udp: after.1 - before.1, marked, wrong }
}

/// Returns a connection to the receiver, once both ends of the tunnel are there.
fn connected() -> TcpStream {
    let address = format!("{}:8000", INSIDE[0]).parse().unwrap();
    let stream = (0..20).find_map(|_| TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok());
    let stream = stream.expect("a tunnel that carries packets");
    stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
    stream
}

/// Sends datagrams at a constant rate until the test is over.
fn flood(over: &AtomicBool) {
    let socket = UdpSocket::bind((INSIDE[1], 0)).unwrap();
    let (datagram, start, mut sent) = ([0; 1000], Instant::now(), 0);
    while !over.load(Ordering::Relaxed) {
        let due = start.elapsed().as_micros() as u64 * RATE * FLOOD / 8_000_000;
        // After a pause, less than that which would have been sent in it.
        sent = due.saturating_sub(20_000).max(sent);
        while sent < due {
            let _ = socket.send_to(&datagram, (INSIDE[0], 8000));
            sent += datagram.len() as u64;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// As for the tunnel in C. Would catch a tunnel in Go that does not build, loses packets or rate, or breaks a header.
#[test]
fn the_tunnel_in_go_shares_its_link() -> Outcome {
    if let Some((requirement, why)) = impossible() {
        skip::because(requirement, why);
        return Ok(());
    }
    let Some(prefix) = installed("capi-for-go-tunnel")? else { return Ok(()) };
    let program = prefix.join("tunnel");
    let mut build = Command::new("go");
    build.args(["build", "-o"]).arg(&program).arg("./tunnel").current_dir(Path::new(CRATE).join("../../contrib/go"));
    build.env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")).env("GOPROXY", "off").env("CGO_ENABLED", "1");
    // Found without an environment, as the program runs in other namespaces.
    build.env("CGO_LDFLAGS", format!("-Wl,-rpath,{}", prefix.join("lib").display()));
    match build.output() {
        Ok(output) => drop(text(output)?),
        Err(error) => {
            skip::because("go", error.to_string());
            return Ok(());
        }
    }
    let got = flooded(program, "fq-codel");
    println!("{got:?}");
    assert!(8 * (got.tcp + got.udp) > RATE * MEASURED.as_secs() / 2, "{got:?}");
    assert!(got.tcp > 2 * got.udp && got.marked > 0 && got.wrong == 0, "{got:?}");
    Ok(())
}

/// Dropping at a full queue leaves the link to a flood; fair queueing gives the four transfers four fifths, and CHOKe
/// several times as much as they had. Would catch a tunnel that loses packets or rate, flows that are not told apart,
/// packets that wait outside of the discipline, and marks that break a header.
#[test]
fn disciplines_keep_a_flood_from_the_transfers() -> Outcome {
    if let Some((requirement, why)) = impossible() {
        skip::because(requirement, why);
        return Ok(());
    }
    let flags = ["-std=c99", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    let program = compile(&Path::new(CRATE).join("../../contrib/c/tunnel.c"), "tunnel", &flags)?;
    let disciplines = ["droptail limit=100p", "fq-codel", "choke limit=100p min=15p max=45p"];
    let runs = disciplines.map(|discipline| {
        let program = program.clone();
        thread::spawn(move || flooded(program, discipline))
    });
    let [droptail, fair, choke] = runs.map(|run| run.join().unwrap());
    let told = format!("droptail {droptail:?}, fq-codel {fair:?}, choke {choke:?}");
    println!("{told}");
    for got in [droptail, fair, choke] {
        let bits = 8 * (got.tcp + got.udp);
        let link = RATE * MEASURED.as_secs();
        assert!((link / 2..link * 21 / 20).contains(&bits), "{told}");
        assert_eq!(got.wrong, 0, "{told}");
    }
    assert!(fair.marked > 0, "{told}");
    assert!(droptail.udp > 4 * droptail.tcp, "{told}");
    assert!(fair.tcp > 2 * fair.udp && fair.tcp > 3 * droptail.tcp, "{told}");
    assert!(choke.tcp > 3 * droptail.tcp, "{told}");
    Ok(())
}
