//! `aqmrun`, the papers' program.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

#[path = "common/namespace.rs"]
mod namespace;

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use namespace::{in_namespace, tool};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

fn aqmrun() -> Command {
    Command::new(env!("CARGO_BIN_EXE_aqmrun"))
}

#[test]
fn what_the_paper_does_not_have_is_refused() {
    for (args, part) in [
        (&["-c", "3", "f"][..], "-c is for Geometric CHOKe"),
        (&["z"], "r, f, b, g, x"),
        (&["-m", "20", "-M", "15"], "min must not be above max"),
        (&["-w", "2"], "weight"),
        (&["-Q", "70000"], "70000"),
        (&["-b", "0"], "'-b <SIZE>'"),
        (&["--rate", "11"], "unit"),
    ] {
        let output = refused(args);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{args:?}: {stderr}");
        assert!(stderr.contains(part), "{args:?} does not say \"{part}\": {stderr}");
    }
}

/// What it says to `args`. One that is not refused would work without end.
fn refused(args: &[&str]) -> Output {
    let mut child = aqmrun().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(5) {
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

/// Floods a queue with one flow, by the paper's rule, and gives what the program printed.
fn flooded(args: &[&str]) -> String {
    let mut child = aqmrun().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    tool("iptables", "-I OUTPUT 1 -o lo -p udp -j NFQUEUE --queue-num 0 --queue-bypass");
    let (socket, start) = (UdpSocket::bind("127.0.0.1:0").unwrap(), Instant::now());
    let (to, mut sent) = (UdpSocket::bind("127.0.0.1:0").unwrap(), 0.0);
    // Twice the link's rate, 5 Mbit/s, for a second and a half: long enough for an average of weight 0.02.
    while start.elapsed() < Duration::from_millis(1500) {
        while sent < start.elapsed().as_secs_f64() * 10e6 {
            socket.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
            sent += 8000.0;
        }
        thread::sleep(Duration::from_micros(500));
    }
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{line}{text}");
    tool("iptables", "-D OUTPUT 1");
    text
}

/// The number behind `name`.
fn value(text: &str, name: &str) -> u64 {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok());
    number.unwrap_or_else(|| if name.starts_with("dropped") { 0 } else { panic!("no {name} in {text}") })
}

/// One flow alone: a comparison always matches, so from min_th on each arrival takes a queued packet with it, and Geometric CHOKe up
/// to maxcomp of them; xCHOKe's table takes its share. Every packet is accounted for.
#[test]
fn each_variant_does_what_it_is_named_for() {
    in_namespace(|| {
        for (args, victims) in [(&["r"][..], 1), (&["f"], 1), (&["b"], 1), (&["-c", "3", "g"], 3), (&["x"], 1)] {
            let options = ["-m", "5", "-M", "15", "-w", "0.02", "-b", "100", "--rate", "5mbit"];
            let text = flooded(&[&options, args].concat());
            let dropped: u64 = text
                .lines()
                .filter_map(|line| line.strip_prefix("dropped ")?.rsplit_once(' ')?.1.parse::<u64>().ok())
                .sum();
            let (arrivals, matched) = (value(&text, "dropped match_arrival"), value(&text, "dropped match_victim"));
            let decided = value(&text, "forwarded") + dropped + value(&text, "released");
            assert_eq!(value(&text, "arrived") + value(&text, "dropped by the kernel"), decided, "{args:?}: {text}");
            assert!(arrivals > 5 && matched >= arrivals && matched <= victims * arrivals, "{args:?}: {text}");
            let table = value(&text, "dropped table");
            assert_eq!((table > 0, arrivals + table > 50), (args == ["x"], true), "{args:?}: {text}");
            assert_eq!(matched > arrivals, victims > 1, "{args:?}: {text}");
        }
    });
}
