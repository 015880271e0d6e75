//! A running `fairlane router` in a namespace of the test, with its log and metrics.
#![allow(dead_code, reason = "each test program uses its own part")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBufForce;
use nix::unistd::Pid;
use serde_json::Value;

use crate::common::fairlane;
use crate::namespace::tool;

pub(crate) fn said(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

pub(crate) fn refused(args: &[&str], parts: &[&str]) {
    let (code, stdout, stderr) = said(&fairlane(args));
    assert_eq!((code, &*stdout), (Some(2), ""), "{args:?}: {stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{args:?} does not say \"{part}\": {stderr}");
    }
}

/// A socket with room for everything that these tests send: on a busy machine it loses nothing before it is read. A
/// program that another test is just starting has the descriptors of this one for a moment, so an address may be in use
/// after its socket was closed.
pub(crate) fn listen(address: &str) -> UdpSocket {
    let end = Instant::now() + PATIENCE;
    let socket = loop {
        match UdpSocket::bind(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < end => {
                thread::sleep(Duration::from_millis(5));
            }
            bound => break bound.unwrap(),
        }
    };
    setsockopt(&socket, RcvBufForce, &(64 << 20)).unwrap();
    socket
}

/// Waits until the kernel has freed the queue of a router that was killed. A tool that it was just starting has its
/// descriptors for a moment longer, and what is queued until then is lost.
pub(crate) fn until_free(queue: u16) {
    let end = Instant::now() + PATIENCE;
    let numbers = || {
        let text = fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap();
        text.lines().filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect::<Vec<u16>>()
    };
    while numbers().contains(&queue) {
        assert!(Instant::now() < end, "queue {queue} is still bound");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until `/state` tells what was so when this was called: the second report after it, of each direction. Reports
/// are a quarter of a second apart.
pub(crate) fn settle() {
    let end = Instant::now() + PATIENCE;
    let times = || {
        let state = state();
        let ways = if state["at_s"].is_null() { vec![&state["up"], &state["down"]] } else { vec![&state] };
        ways.into_iter().map(|way| way["at_s"].as_f64().expect("a time")).collect::<Vec<f64>>()
    };
    for _ in 0..2 {
        let before = times();
        while times().iter().zip(&before).any(|(now, before)| now <= before) {
            assert!(Instant::now() < end, "there are no reports");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

/// All firewall rules, without the comments that contain the time, and without the counts of packets, as in `[3:84]`.
pub(crate) fn rules() -> String {
    let all = [tool("iptables-save", ""), tool("ip6tables-save", "")].concat();
    let rules = all.lines().filter(|line| !line.starts_with('#'));
    rules.map(|line| format!("{}\n", line.split(" [").next().unwrap())).collect()
}

/// All rules and tables of a namespace that nobody has used before. The iptables on nf_tables leaves the tables that it
/// has made empty behind, so they are made first.
pub(crate) fn nothing() -> (String, String) {
    for name in ["iptables", "ip6tables"] {
        tool(name, "-t mangle -N PASSING");
        tool(name, "-t mangle -X PASSING");
    }
    (rules(), tables())
}

/// Returns true if Fairlane's rules for `queue` are installed, by nft or by iptables.
pub(crate) fn has_rules(queue: u16) -> bool {
    rules().contains(&format!(":FAIRLANE-Q{queue} ")) || tables().contains(&format!("table inet fairlane_q{queue}\n"))
}

/// The tables of nftables; empty where nft is not installed.
pub(crate) fn tables() -> String {
    let there = Command::new("nft").arg("-v").output().is_ok();
    if there { tool("nft", "list tables inet") } else { String::new() }
}

/// How long a line of the log may take, on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running router; dropping it ends it.
pub(crate) struct Running {
    child: Child,
    /// The lines of the log.
    log: Receiver<String>,
    /// The part of the log that was read.
    pub(crate) said: String,
}

impl Running {
    /// Starts a router and waits until it is ready.
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_with(args, &[])
    }

    /// As above, with other environment variables.
    pub(crate) fn start_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        command.envs(environment.iter().copied());
        Self::start_program(command, args)
    }

    /// Starts a router by another command, and waits until it is ready.
    pub(crate) fn start_program(mut command: Command, args: &[&str]) -> Self {
        command.args([&["router"], args].concat()).stdin(Stdio::null()).stderr(Stdio::piped());
        if !command.get_envs().any(|(name, _)| name == "NOTIFY_SOCKET") {
            command.env_remove("NOTIFY_SOCKET");
        }
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, log) = channel();
        thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        let mut running = Self { child, log, said: String::new() };
        running.wait_for("working");
        running
    }

    /// Starts a router whose log goes to `log`, and waits until it answers.
    pub(crate) fn start_unheard(args: &[&str], log: Stdio) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        command.args([&["router"], args].concat()).stdin(Stdio::null()).stderr(log);
        let (_, unheard) = channel();
        let running = Self { child: command.spawn().unwrap(), log: unheard, said: String::new() };
        let end = Instant::now() + PATIENCE;
        while sockets().is_empty() || !has_rules(0) {
            assert!(Instant::now() < end, "the router does not start");
            thread::sleep(Duration::from_millis(20));
        }
        running
    }

    /// Reads the log up to a line that contains `word`, and returns that line.
    pub(crate) fn wait_for(&mut self, word: &str) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let line = self.log.recv_timeout(end.saturating_duration_since(Instant::now()));
            let line = line.unwrap_or_else(|error| panic!("no \"{word}\" in {}: {error}", self.said));
            self.said += &format!("{line}\n");
            if line.contains(word) {
                return line;
            }
        }
    }

    /// Returns true if the router has not ended.
    pub(crate) fn is_working(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The process that guards the router's rules.
    pub(crate) fn guard(&self) -> Option<i32> {
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.id())).unwrap();
        let is_guard =
            |id: &&str| fs::read(format!("/proc/{id}/cmdline")).unwrap().windows(7).any(|part| part == b"--guard");
        children.split_whitespace().find(is_guard).map(|id| id.parse().unwrap())
    }

    /// The log up to the end of the router, which has ended.
    pub(crate) fn rest(&mut self) -> String {
        while let Ok(line) = self.log.recv_timeout(Duration::from_secs(5)) {
            self.said += &format!("{line}\n");
        }
        self.said.clone()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.id() as i32), signal).unwrap();
    }

    /// Stops the process, and returns when all of its threads stand still: the kernel stops them one after the other.
    pub(crate) fn stop(&self) {
        self.signal(Signal::SIGSTOP);
        let start = Instant::now();
        let stands = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            // The state follows the name, which is in parentheses (proc_pid_stat(5)).
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        };
        while !fs::read_dir(format!("/proc/{}/task", self.id())).unwrap().all(|task| stands(task.unwrap())) {
            assert!(start.elapsed() < PATIENCE, "the process does not stop");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for the end, and returns the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("the router does not end");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `packets` datagrams of 972 bytes (IP packets of 1000 bytes) over loopback and returns how many arrive.
pub(crate) fn through(packets: u32) -> u32 {
    let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    to.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    for _ in 0..packets {
        from.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
    }
    (0..packets).take_while(|_| to.recv(&mut [0; 2000]).is_ok()).count() as u32
}

pub(crate) const LOOPBACK: [&str; 6] = ["--queue-num", "0", "--interface", "lo", "--rate", "10mbit"];

pub(crate) fn with<'a>(rest: &[&'a str]) -> Vec<&'a str> {
    [&LOOPBACK[..], rest].concat()
}

/// Sends a request, and returns everything that comes back.
fn answer(mut stream: impl Read + Write, request: &str) -> String {
    let mut text = String::new();
    stream.write_all(request.as_bytes()).unwrap();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Asks the router at the default socket, or at port 9277.
pub(crate) fn get(path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let text = match sockets().first() {
        Some(socket) => {
            let stream = UnixStream::connect(socket).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            answer(stream, &request)
        }
        None => {
            let stream = TcpStream::connect("127.0.0.1:9277").unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            answer(stream, &request)
        }
    };
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    text
}

/// The sockets of routers in this namespace at which somebody listens.
pub(crate) fn sockets() -> Vec<PathBuf> {
    let namespace = fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let Ok(entries) = fs::read_dir("/run/fairlane") else { return Vec::new() };
    let paths = entries.map(|entry| entry.unwrap().path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with(&format!("{namespace}-")) && name.ends_with(".sock") && UnixStream::connect(path).is_ok()
    };
    let mut sockets: Vec<PathBuf> = paths.filter(ours).collect();
    sockets.sort();
    sockets
}

pub(crate) fn scrape() -> String {
    let text = get("/metrics");
    assert!(text.contains("application/openmetrics-text"), "{text}");
    text
}

/// The router's `/state`.
pub(crate) fn state() -> Value {
    let text = get("/state");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("application/json"), "{head}");
    serde_json::from_str(body).unwrap()
}

/// The value of the metric `name` with exactly these `labels`.
pub(crate) fn metric(metrics: &str, name: &str, labels: &str) -> Option<f64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(&format!("{name}{{{labels}}} ")))?;
    line.parse().ok()
}
