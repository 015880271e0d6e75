//! `aqmrun`: options, refusals, and a flood through each variant.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

#[path = "../../cli/tests/common/namespace.rs"]
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

/// The options of the paper's section 4, their parameters, and the defaults of `-w`, `-b` and `-c`; 15 is the max_th of
/// its measurement. Would catch an option that sets another parameter, and one that is ignored.
#[test]
fn it_says_what_it_works_with() {
    in_namespace(|| {
        let usual = ["choke on queue 0 at 11mbit", "limit 2000p", "min 5p", "max 15p", "weight 0.002"];
        let asked = ["gchoke on queue 3 at 5mbit", "limit 500p", "min 20p", "max 80p", "weight 0.01", "maxcomp 4"];
        let all = ["-m", "20", "-M", "80", "-Q", "3", "-w", "0.01", "-b", "500", "-c", "4", "--rate", "5mbit", "g"];
        for (args, expected) in [
            (&[][..], &usual[..]),
            (&["r"], &usual),
            (&["f"], &["front-choke on queue 0 at 11mbit", "limit 2000p"]),
            // A letter alone is the variant, and before a number the buffer.
            (&["b"], &["back-choke on queue 0 at 11mbit", "limit 2000p"]),
            (&["b", "-b", "100"], &["back-choke on queue 0 at 11mbit", "limit 100p"]),
            (&["-b", "100"], &["choke on queue 0 at 11mbit", "limit 100p"]),
            (&["g"], &["gchoke on queue 0 at 11mbit", "maxcomp 1"]),
            (&["x"], &["xchoke on queue 0 at 11mbit", "max 15p"]),
            (&all, &asked),
            (&["-m", "14"], &["min 14p", "warning: max 15p is below twice min 14p"]),
        ] {
            let mut child = aqmrun().args(args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(child.stderr.take().unwrap());
            // It gets the signal as soon as it handles it, which is before its first output.
            let mut text = String::new();
            said.read_line(&mut text).unwrap();
            kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
            said.read_to_string(&mut text).unwrap();
            assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}: {text}");
            let lines: Vec<String> =
                text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
            for part in expected {
                assert!(lines.iter().any(|line| line.starts_with(part)), "{args:?} does not say {part}: {text}");
            }
        }
    });
}

/// The error for refused `args`. A command that is not refused would run until a signal.
fn refused(args: &[&str]) -> Output {
    let mut child = aqmrun().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    child.wait_with_output().unwrap()
}

/// Floods a queue with one flow, through the paper's firewall rule, and returns the program's output.
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

/// One flow alone: a comparison always matches, so from min_th on each arrival takes a queued packet with it, and
/// Geometric CHOKe up to maxcomp of them; xCHOKe's table takes its share. Every packet is accounted for.
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
