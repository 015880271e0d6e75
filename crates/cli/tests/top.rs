//! A router's `/metrics` and `/state`, and `fairlane top`, which shows them.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "sockets need real time")]

mod common;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use common::{fairlane, printed};
use namespace::{in_namespace, tool};
use nix::pty::{Winsize, openpty};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{Running, has_rules, metric, refused, rules, said, scrape, settle, sockets, state, tables, with};

/// A flood and a thin flow through CHOKe: both forms report the flood's matches under its name, and the flows' counts
/// add up to those of the queue. Would catch a flow with another flow's name, and a loss that is counted for no flow.
#[test]
fn the_flow_that_matches_itself_is_named() {
    in_namespace(|| {
        let choke = ["choke", "limit=60p", "min=5p", "max=40p", "weight=0.1"];
        let _router = Running::start(&with(&choke));
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        let [flood, thin] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        for n in 0..3000 {
            flood.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
            if n % 30 == 0 {
                thin.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
            }
        }
        settle();
        let (state, metrics) = (state(), scrape());
        let name = |from: &UdpSocket| format!("udp/{}>{}", from.local_addr().unwrap(), to.local_addr().unwrap());
        let flows = state["top_flows"].as_array().unwrap();
        let told = |from: &UdpSocket| flows.iter().find(|told| told["flow"] == name(from).as_str()).unwrap();
        let flooded = told(&flood);
        assert_eq!(flows[0]["flow"], name(&flood).as_str(), "the heaviest is first: {state:#}");
        // Of 3000 packets in a burst about 50 can be sent.
        let matched = flooded["matched_packets"].as_u64().unwrap();
        assert!(matched > 500 && matched <= 3000, "{state:#}");
        let (dropped, by_flow) = (&state["dropped"], |reason: &str| {
            flows.iter().map(|flow| flow["dropped"][reason]["packets"].as_u64().unwrap_or(0)).sum::<u64>()
        });
        for reason in ["match_arrival", "match_victim", "forced", "early", "limit"] {
            assert_eq!(dropped[reason]["packets"].as_u64(), Some(by_flow(reason)), "{reason}: {state:#}");
        }
        let labels = format!("queue=\"0\",flow=\"{}\"", name(&flood));
        let told = |what: &str| metric(&metrics, &format!("fairlane_flow_{what}_total"), &labels).unwrap();
        assert_eq!(told("matched_packets"), matched as f64, "{metrics}");
        assert_eq!(told("dropped_packets"), flooded["lost_packets"].as_f64().unwrap(), "{metrics}");
        assert_eq!((flooded["missed_packets"].as_u64(), told("marked_packets")), (Some(0), 0.0));
        assert_eq!(state["discipline"]["parameters"]["min"], "5p", "{state:#}");
        assert_eq!(state["link"]["rate_bps"], 10_000_000);
        assert!(state["sojourn_s"]["p99"].as_f64().unwrap() <= state["sojourn_s"]["max"].as_f64().unwrap() * 1.26);
    });
}

/// Each router has a socket that only its user can open, named after its queue; one that a killed router has left stops
/// nobody. A place that was asked for must be free.
#[test]
fn each_router_has_its_socket() {
    in_namespace(|| {
        // No two routers have the same interface.
        tool("ip", "link add near type veth peer name far");
        let on = |number, interface| ["--queue-num", number, "--interface", interface, "--rate=10mbit", "droptail"];
        let mut killed = Running::start(&on("0", "lo"));
        let left = sockets();
        killed.signal(Signal::SIGKILL);
        killed.end();
        assert!(left[0].exists() && sockets().is_empty());
        let first_router = Running::start(&on("0", "lo"));
        assert_eq!((sockets(), fs::metadata(&left[0]).unwrap().permissions().mode() & 0o777), (left.clone(), 0o600));
        // The state has a time from the first report on, since rates are differences between two of them.
        let first = state();
        assert_eq!(first["path"], "queue 0");
        assert!(first["at_s"].as_f64().unwrap() > 0.0, "{first:#}");
        let mut second = Running::start(&on("1", "near"));
        let both = sockets();
        assert!(both.len() == 2 && second.said.contains(&both[1].display().to_string()), "{both:?}: {}", second.said);
        refused(&["top", "--once"], &["2 routers run here", "name one of /run/fairlane/"]);
        let shown = printed(&["top", "--once", &both[1].display().to_string()]);
        assert!(shown.starts_with("droptail, queue 1 on near"), "{shown}");
        second.signal(Signal::SIGTERM);
        assert_eq!((second.end(), both[1].exists()), (Some(0), false));
        assert!(printed(&["top", "--once"]).starts_with("droptail, queue 0 on lo"));
        let _taken = TcpListener::bind("127.0.0.1:9277").unwrap();
        let before = (rules(), tables());
        for taken in ["9277", "/proc/version"] {
            let asked = [&["router", "--metrics", taken], &on("1", "near")[..]].concat();
            refused(&asked, &["cannot serve metrics at ", "choose another --metrics"]);
        }
        assert_eq!((rules(), tables()), before);
        let mut silent = Running::start(&[&["--metrics", "off"], &on("1", "near")[..]].concat());
        assert!(!silent.said.contains("metrics"), "{}", silent.said);
        silent.signal(Signal::SIGTERM);
        assert_eq!(silent.end(), Some(0));
        drop(first_router);
    });
}

/// The errors without a router, and with another server at its address.
#[test]
fn no_router_is_said() {
    in_namespace(|| {
        refused(&["top"], &["no router answers at 127.0.0.1:9277", "--metrics address"]);
        refused(&["top", "/nowhere"], &["no router answers at /nowhere", "--metrics address"]);
        let listener = TcpListener::bind("127.0.0.1:9277").unwrap();
        let other = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1000]).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}").unwrap();
        });
        refused(&["top", "9277"], &["what answers at 127.0.0.1:9277 is not a router"]);
        other.join().unwrap();
    });
}

/// Under any behaviour of clients, there are at most 32 connections, memory stays, and requests are answered. Would
/// catch connections without an end in time or number, and answers to the pages of others (DNS rebinding).
#[test]
fn clients_cannot_hold_the_router_up() {
    in_namespace(|| {
        let mut router = Running::start(&with(&["--metrics=9277", "droptail"]));
        let memory = || {
            let status = fs::read_to_string(format!("/proc/{}/status", router.id())).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let descriptors = || fs::read_dir(format!("/proc/{}/fd", router.id())).unwrap().count();
        let (before, open) = (memory(), descriptors());
        let connect = || TcpStream::connect("127.0.0.1:9277").unwrap();
        let (mut idle, mut half) = (Vec::new(), Vec::new());
        for n in 0..800 {
            idle.push(connect());
            half.push(connect());
            // A reset connection is one that the router has closed.
            let _ = half[n].write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Long: ");
            let _ = half[n].write_all(&[b'x'; 4096]);
        }
        assert!(scrape().contains("fairlane_arrived_packets_total"));
        let (after, now) = (memory(), descriptors());
        assert!(after < before + 4096, "{before} kB before, {after} kB after");
        assert!(now <= open + 32, "{open} descriptors before, {now} after");
        let answer = |request: &str| {
            let (mut stream, mut text) = (connect(), String::new());
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_string(&mut text).unwrap();
            text.split("\r\n").next().unwrap().to_owned()
        };
        for (request, expected) in [
            ("GET /metrics HTTP/1.1\r\nHost: evil.example.com\r\n\r\n", "HTTP/1.1 421 Misdirected Request"),
            ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:9277\r\n\r\n", "HTTP/1.1 200 OK"),
            ("GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 Not Found"),
            ("POST /state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 405 Method Not Allowed"),
            ("nonsense\r\n\r\n", "HTTP/1.1 400 Bad Request"),
        ] {
            assert_eq!(answer(request), expected, "{request}");
        }
        // Five seconds for a header, by docs/router.md.
        let (mut slow, start) = (connect(), Instant::now());
        slow.write_all(b"GET /metrics HTTP/1.1\r\n").unwrap();
        slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let _ = slow.read_to_end(&mut Vec::new());
        let waited = start.elapsed().as_secs_f64();
        assert!((4.9..9.5).contains(&waited), "{waited} s");
        // Rules that vanish come back all the same, and the end takes them away.
        tool("iptables", "-t mangle -F");
        router.wait_for("installed again");
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), has_rules(0)), (Some(0), false));
    });
}

/// On a pipe the view is printed once, as with `--once` on a terminal. A proxy in the environment is not used.
#[test]
fn a_pipe_gets_text() {
    in_namespace(|| {
        let _router = Running::start(&with(&["choke", "limit=60p", "min=20p", "max=40p"]));
        let text = printed(&["top", "--interval=300ms"]);
        for part in
            ["choke, queue 0 on lo ", "\n10mbit, overhead 0b, mpu 0b, noatm\n", "\nlink ", ", min 20p, max 40p "]
        {
            assert!(text.contains(part), "no \"{part}\" in {text}");
        }
        assert!(!text.contains('\x1b'), "{text}");
        let mut proxied = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        proxied.args(["top", "--once"]).env("http_proxy", "http://127.0.0.1:1").env("all_proxy", "http://127.0.0.1:1");
        assert_eq!(said(&proxied.output().unwrap()).0, Some(0));
        assert_eq!(fairlane(&["top", "--interval=10ms"]).status.code(), Some(2));
    });
}

/// `fairlane top` on a pseudo-terminal.
struct OnTerminal {
    child: Child,
    keys: File,
    slave: OwnedFd,
    /// The pieces of its output.
    written: Receiver<String>,
    seen: String,
}

impl OnTerminal {
    fn start() -> Self {
        Self::start_as("xterm", 100, 30)
    }

    /// Starts it on a terminal of the type `term` and of this size.
    fn start_as(term: &str, ws_col: u16, ws_row: u16) -> Self {
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).unwrap();
        let end = || pty.slave.try_clone().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        command.args(["top", "--interval=250ms"]).env("TERM", term).stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        let keys = File::from(pty.master);
        let mut screen = keys.try_clone().unwrap();
        let (tell, written) = mpsc::channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // The kernel returns EIO when no process has the other end open.
            while let Ok(length @ 1..) = screen.read(&mut buffer) {
                if tell.send(String::from_utf8_lossy(&buffer[..length]).into_owned()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, slave: pty.slave, written, seen: String::new() }
    }

    /// Waits until `part` was written since the last call that found something.
    fn wait_for(&mut self, part: &str) {
        let start = Instant::now();
        while !self.seen.contains(part) {
            let left = Duration::from_secs(60).saturating_sub(start.elapsed());
            match self.written.recv_timeout(left) {
                Ok(piece) => self.seen += &piece,
                Err(_) => panic!("no {part:?} in {:?}", self.seen),
            }
        }
        self.seen.clear();
    }

    /// Waits for the end and returns the exit code.
    fn end(mut self) -> Option<i32> {
        // The alternate screen was left, and the cursor is shown again.
        self.wait_for("\x1b[?1049l");
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(60) {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        panic!("it does not end");
    }
}

/// On a terminal the view runs until a key or a signal ends it, and the terminal is restored. Without an answer of the
/// router it keeps asking until there is one.
#[test]
fn a_terminal_gets_a_view_that_lives() {
    in_namespace(|| {
        let router = Running::start(&with(&["choke", "limit=60p", "min=20p", "max=40p"]));
        for how in ["q", "\x1b", "\x03", "SIGTERM"] {
            let mut top = OnTerminal::start();
            top.wait_for("choke, queue 0 on lo");
            match how {
                "SIGTERM" => kill(Pid::from_raw(top.child.id() as i32), Signal::SIGTERM).unwrap(),
                keys => top.keys.write_all(keys.as_bytes()).unwrap(),
            }
            assert_eq!(top.end(), Some(0), "{how:?}");
        }
        let mut top = OnTerminal::start();
        top.wait_for("sorted by matched");
        top.keys.write_all(b"s").unwrap();
        top.wait_for("lost");
        drop(router);
        top.wait_for("no router answers");
        let _another = Running::start(&with(&["red", "limit=60p"]));
        top.wait_for("red");
        top.keys.write_all(b"q").unwrap();
        assert_eq!(top.end(), Some(0));
    });
}

/// A terminal of 65535 columns and lines, from the start or later. Would catch a view as large as the terminal, for
/// which there is no memory.
#[test]
fn a_terminal_of_any_size_gets_a_view() {
    in_namespace(|| {
        let _router = Running::start(&with(&["choke", "limit=60p", "min=20p", "max=40p"]));
        let mut from_the_start = OnTerminal::start_as("xterm", u16::MAX, u16::MAX);
        from_the_start.wait_for("choke, queue 0 on lo");
        let mut later = OnTerminal::start();
        later.wait_for("choke, queue 0 on lo");
        for size in [["cols", "65535", "rows", "65535"], ["cols", "90", "rows", "30"]] {
            let stdin = later.slave.try_clone().unwrap();
            assert!(Command::new("stty").args(size).stdin(stdin).status().unwrap().success());
            kill(Pid::from_raw(later.child.id() as i32), Signal::SIGWINCH).unwrap();
            later.wait_for("choke, queue 0 on lo");
        }
        for mut top in [from_the_start, later] {
            top.keys.write_all(b"q").unwrap();
            assert_eq!(top.end(), Some(0));
        }
    });
}

/// Port 0 stands for any free port. Would catch a router that does not report the port.
#[test]
fn a_free_port_is_named() {
    in_namespace(|| {
        let router = Running::start(&with(&["red", "--metrics=0"]));
        let place = router.said.split("address=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap();
        assert!(printed(&["top", place, "--interval=250ms"]).starts_with("red, queue 0 on lo"), "{}", router.said);
    });
}

/// A terminal without cursor control (TERM=dumb), as in an editor, gets plain text. Would catch control codes in its
/// output.
#[test]
fn a_dumb_terminal_gets_text() {
    in_namespace(|| {
        let _router = Running::start(&with(&["choke", "limit=60p", "min=20p", "max=40p"]));
        let mut top = OnTerminal::start_as("dumb", 100, 30);
        assert_eq!(top.child.wait().unwrap().code(), Some(0));
        // The output ends with the last of its writers.
        drop(top.slave);
        let mut text = String::new();
        while let Ok(piece) = top.written.recv_timeout(Duration::from_secs(60)) {
            text += &piece;
        }
        assert!(text.starts_with("choke, queue 0 on lo") && !text.contains('\x1b'), "{text:?}");
    });
}

/// `/state` has every key that the page describes, and no other.
#[test]
fn the_keys_of_the_state_are_those_of_the_page() {
    in_namespace(|| {
        let _router = Running::start(&with(&["choke"]));
        let state = state();
        let page = include_str!("../../../docs/router.md");
        let table = page.split_once("\n## State\n").unwrap().1.split_once("\n## ").unwrap().0;
        let rows = table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('|')).map(|(keys, _)| keys);
        let described: Vec<&str> = rows.flat_map(|keys| keys.split('`')).filter(|part| part.len() > 2).collect();
        assert!(described.len() > 20, "{described:?}");
        for key in &described {
            let found = key.split('.').try_fold(&state, |value, key| value.get(key));
            assert!(found.is_some(), "the page has {key}, and the state does not: {state:#}");
        }
        for key in common::keys(&state) {
            let prefix = format!("{key}.");
            assert!(described.iter().any(|it| *it == key || it.starts_with(&prefix)), "the page does not have {key}");
        }
    });
}
