//! `fairlane shell`: commands behind links, as an ordinary user. Expected values are closed forms; the programs inside
//! are this one.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "links in real time need a clock")]

mod common;
#[path = "shell/inside.rs"]
mod inside;
#[path = "shell/records.rs"]
mod records;
#[path = "shell/started.rs"]
mod started;

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

use common::Place;
use fairlane_qdisc::{Seed, Time};
use fairlane_scenario::Document;
use fairlane_traffic::Propagation;
use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpgid};
use started::{Started, answers, shell, shell_in};

/// Writes a scenario with these keys of `[bottleneck]` and of its `reverse`.
fn scenario(place: &Place, name: &str, forward: &str, reverse: &str) -> String {
    let text = format!(
        "duration = \"60s\"\nseed = 7\n[bottleneck]\n{forward}\nqueue = {{ kind = \"droptail\", limit = \"1000p\" }}\n\
         [bottleneck.reverse]\n{reverse}\n[[flows]]\nname = \"a\"\nkind = \"tcp\"\n"
    );
    place.write(name, &text)
}

/// Starts a server that returns each datagram, and returns its port.
fn echo() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2000];
        while let Ok((read, from)) = socket.recv_from(&mut buffer) {
            let _ = socket.send_to(&buffer[..read], from);
        }
    });
    port
}

/// Starts a server that sends to each connection as fast as it can, and returns its port.
fn source() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            thread::spawn(move || while connection.write_all(&[7; 16 << 10]).is_ok() {});
        }
    });
    port
}

/// Would catch an exit code that is not the command's, a signal that does not reach it, and a command that is run as
/// another user.
#[test]
fn a_command_is_as_without_the_shell() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    for (command, code) in [
        (&["sh", "-c", "exit 7"][..], 7),
        (&["sh", "-c", "kill -TERM $$"], 128 + 15),
        (&["sh", "-c", "trap 'exit 9' TERM; kill -TERM $$; exit 1"], 9),
        (&["no-such-command"], 127),
        (&["/"], 126),
    ] {
        let Some(output) = shell(&[&file], command) else { return };
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{command:?}: {said}");
    }
    let output = shell(&["--quiet", &file], &["sh", "-c", "echo out; echo err >&2; id -u; cat"]).unwrap();
    let user = started::user().to_string();
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("out\n{user}\n"));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "err\n");
    let Some(mut running) =
        Started::new(&[&file], &["sh", "-c", "trap 'exit 5' USR1; echo up; while :; do sleep 0.1; done"])
    else {
        return;
    };
    running.wait_for("up");
    running.signal(Signal::SIGUSR1);
    assert_eq!(running.code(), 5);
}

/// A datagram of 100 bytes with 28 of headers takes 0.1024 ms at 10 Mbit/s, and 10 ms and 15 ms of delay: 25.2048 ms
/// there and back. Two links in a row take it twice. Would catch a delay that is left out, or added twice.
#[test]
fn round_trips_are_the_sum_of_the_links() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"15ms\"", "delay = \"10ms\"");
    let port = echo().to_string();
    let fairlane = env!("CARGO_BIN_EXE_fairlane");
    for (around, links) in [(&[][..], 1.0), (&[fairlane, "shell", "--quiet", &file, "--"][..], 2.0)] {
        let command = [around, &inside::command()].concat();
        let watch = skip::Watch::start(|_| false);
        let Some(output) =
            shell_in(&["--quiet", &file], &command, &[("FAIRLANE_INSIDE", &format!("echo gateway:{port} 100 40"))])
        else {
            return;
        };
        let longest = watch.end().longest;
        let times: Vec<f64> = answers(&output);
        let (least, expected) = (times.iter().copied().fold(f64::MAX, f64::min), links * 25.2048);
        assert!(times.len() >= 38, "{output:?}");
        assert!(least >= expected - 0.001, "{least} ms are less than the links take: {expected} ms");
        if least > expected + links * 0.5 {
            if longest > Duration::from_millis(2) {
                return skip::because("quiet", format!("processors were away for {longest:?}"));
            }
            panic!("{least} ms, and the links take {expected} ms");
        }
    }
}

/// A packet of 1500 bytes carries 1448 of data. In any time the link sends no more than its rate; and a server that
/// always has data gets 90 % of it and more if the machine has time. Would catch a burst, and a rate of another layer.
#[test]
fn a_download_gets_the_rate_of_the_link() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"20mbit\"\ndelay = \"2ms\"", "delay = \"2ms\"");
    let inside = format!("download gateway:{} 3", source());
    let watch = skip::Watch::start(|_| false);
    let Some(output) = shell_in(&[&file], &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else { return };
    let waits = watch.end();
    let [bytes, seconds] = answers(&output)[..] else { panic!("{output:?}") };
    let (rate, most) = (bytes * 8.0 / seconds, 20e6 * 1448.0 / 1500.0);
    assert!(rate <= most * 1.005, "{rate} bit/s of {most}");
    if rate < 0.9 * most {
        if waits.longest > Duration::from_millis(5) {
            return skip::because("quiet", format!("processors were away for {waits:?}"));
        }
        panic!("{rate} bit/s of {most}: {output:?}");
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("down  droptail") && said.contains("packets late by"), "{said}");
}

/// The link draws its losses as the simulator does, from the same seed: the same packets are lost, by their number.
/// Would catch losses of another model, another seed, and in the wrong direction.
#[test]
fn the_simulators_packets_are_lost() {
    const SENT: usize = 200;
    let place = started::place();
    let loss = "loss = { p = 0.1, r = 0.4 }";
    let file = scenario(&place, "a.toml", &format!("rate = \"100mbit\"\ndelay = \"5ms\"\n{loss}"), "delay = \"5ms\"");
    let model = Document::open(std::path::Path::new(&file)).and_then(|document| document.scenario()).unwrap();
    let wire = &model.links[0].forward.wire;
    let seed = Seed::new(7).numbered(0).named("wire").named("bottleneck");
    let mut propagation = Propagation::new(wire.loss, wire.jitter, wire.reorder, seed);
    let expected: Vec<f64> = (0..SENT)
        .filter(|_| propagation.arrival(Time::ZERO, wire.jitter).is_some())
        .map(|number| number as f64)
        .collect();
    assert!((100..190).contains(&expected.len()), "{}", expected.len());
    let inside = format!("echo-numbers gateway:{} {SENT}", echo());
    let Some(output) = shell_in(&["--quiet", &file], &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else {
        return;
    };
    assert_eq!(answers(&output), expected);
}

/// The first datagram of a flow comes in fragments. Would catch one that reaches the far end before it accepts the
/// flow, and is refused.
#[test]
fn a_first_datagram_may_be_larger_than_the_mtu() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let inside = format!("echo gateway:{} 1900 3", echo());
    let Some(output) = shell_in(&["--quiet", &file], &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else {
        return;
    };
    assert_eq!(answers(&output).len(), 3, "{output:?}");
}

/// Would catch another way out than the link, a server of the caller's host that is not `gateway`, a port that looks
/// open though nobody listens, and names that are asked around the link.
#[test]
fn gateway_is_the_callers_host() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut heard = String::new();
        connection.read_to_string(&mut heard).unwrap();
        connection.write_all(heard.to_uppercase().as_bytes()).unwrap();
    });
    let said = |inside: &str| {
        let output = shell_in(&["--quiet", &file], &inside::command(), &[("FAIRLANE_INSIDE", inside)])?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(answer) = said(&format!("say gateway:{port} hello")) else { return };
    assert!(answer.contains("answer: HELLO"), "{answer}");
    server.join().unwrap();
    let refused = said(&format!("say gateway:{port} hello")).unwrap();
    assert!(refused.contains("error: ConnectionRefused"), "{refused}");
    // The loopback interface inside is another one.
    let refused = said(&format!("say 127.0.0.1:{} hello", source())).unwrap();
    assert!(refused.contains("error: ConnectionRefused"), "{refused}");
    let files = shell(&["--quiet", &file], &["cat", "/etc/hosts", "/etc/resolv.conf"]).unwrap();
    let text = String::from_utf8_lossy(&files.stdout).into_owned();
    assert!(text.starts_with("198.18.0.1 gateway\n2001:2::1 gateway\n"), "{text}");
    let servers: Vec<&str> = text.lines().filter(|line| line.starts_with("nameserver")).collect();
    assert_eq!(servers, ["nameserver 198.18.0.1"], "{text}");
}

/// Would catch a served port that leads elsewhere, or does not go over the link.
#[test]
fn a_port_of_the_host_leads_inside() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"\ndelay = \"30ms\"", "delay = \"20ms\"");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let listen = format!("--listen={free}:80");
    let command = inside::command();
    let Some(mut running) =
        Started::with(&["--quiet", &listen, &file], &command, &[("FAIRLANE_INSIDE", "serve 80 served")])
    else {
        return;
    };
    running.wait_for("serving");
    let began = Instant::now();
    let mut connection = TcpStream::connect(("127.0.0.1", free)).unwrap();
    let mut heard = String::new();
    connection.read_to_string(&mut heard).unwrap();
    let took = began.elapsed();
    assert_eq!(heard, "served");
    // The handshake, and then the server's data.
    assert!(took >= Duration::from_millis(30 + 20 + 20), "{took:?}");
    running.signal(Signal::SIGTERM);
    assert_eq!(running.code(), 128 + 15);
}

/// Would catch a server inside, one that is not there yet when the command starts, one that stays, and one that fails
/// without a word.
#[test]
fn a_server_runs_at_the_far_end() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"100mbit\"\ndelay = \"30ms\"", "delay = \"20ms\"");
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let [program, others @ ..] = inside::command();
    let server = format!("env 'FAIRLANE_INSIDE=serve {free} served' '{program}' {}", others.join(" "));
    // It listens a second later than it starts.
    let late = format!("sh -c 'sleep 1; exec \"$@\"' sh {server}");
    let inside = format!("say gateway:{free} hello");
    // A port of the shell's own is no sign that the server listens.
    for server in [&server, &late] {
        let options = ["--quiet", &file, "--listen", "0:9", "--server", server];
        let Some(output) = shell_in(&options, &inside::command(), &[("FAIRLANE_INSIDE", &inside)]) else { return };
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("answer: served") && !said.contains("serving"), "{output:?}");
        let error = TcpStream::connect(("127.0.0.1", free)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
    for (server, part) in [
        ("no-such-server", "cannot execute no-such-server: No such file"),
        ("sh -c 'exit 3'", "it ended with exit code 3 before it listened"),
    ] {
        let output = shell(&["--quiet", &file, "--server", server], &["true"]).unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(part), "{said}");
    }
}

/// Would catch a shell that waits for its own socket, which the command has removed, and one that removes a file that
/// is not its own.
#[test]
fn a_command_may_remove_the_socket_of_top() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let socket = place.name("s");
    let script = format!("sleep 1.5; rm {socket}; echo kept > {socket}");
    let Some(output) = shell(&["--quiet", "--top", &socket, &file], &["timeout", "20", "sh", "-c", &script]) else {
        return;
    };
    assert!(output.status.success(), "{output:?}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "kept\n");
}

/// A server that takes its time to end: a signal to the shell meanwhile costs no results, and Ctrl-C, which a terminal
/// sends to its process group, is for the command alone.
#[test]
fn a_signal_after_the_command_costs_no_results() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let json = place.name("o.json");
    let server = "sh -c 'trap : TERM; python3 -m http.server --bind 127.0.0.1 0 & while :; do wait; done'";
    let options = ["--quiet", &file, "--json", &json, "--server", server];
    let Some(mut running) = Started::new(&options, &["sh", "-c", "echo up; sleep 0.3; echo over"]) else { return };
    running.wait_for("up");
    let group = |process: i32| getpgid(Some(Pid::from_raw(process))).unwrap();
    let all = running.processes();
    assert!(all.iter().any(|process| group(*process) != group(all[0])), "{all:?}");
    running.wait_for("over");
    thread::sleep(Duration::from_millis(300));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.code(), 0);
    assert!(fs::read_to_string(&json).unwrap().contains("\"engine\""));
}

/// A server that ends by itself is told of. Would catch refused connections without a word.
#[test]
fn a_server_that_ends_first_is_told_of() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let server = "timeout 1 python3 -m http.server --bind 127.0.0.1 0";
    let Some(output) = shell(&[&file, "--server", server], &["sleep", "2"]) else { return };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("warning: the server (--server) ended before"), "{said}");
    let Some(output) = shell(&[&file, "--server", server], &["true"]) else { return };
    assert!(!String::from_utf8_lossy(&output.stderr).contains("ended before"), "{output:?}");
}

/// Would catch processes that outlive the shell, and with them its namespaces: whoever is killed, all others end.
#[test]
fn nothing_is_left_after_a_kill() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let script = "setsid sleep 1000 & sleep 1000 & echo up; wait";
    for victim in ["fairlane", "first", "sh"] {
        let Some(mut running) = Started::new(&["--quiet", &file], &["sh", "-c", script]) else { return };
        running.wait_for("up");
        let all = running.processes();
        // The shell, the first process inside, sh and two sleeps.
        assert!(all.len() >= 5, "{all:?}");
        running.kill(match victim {
            "fairlane" => all[0],
            "first" => all[1],
            _ => all[2],
        });
        let code = running.code();
        assert_eq!(code, 128 + 9, "{victim}");
        let began = Instant::now();
        while all
            .iter()
            .any(|process| fs::exists(format!("/proc/{process}/exe")).unwrap_or(false) && !started::is_dead(*process))
        {
            assert!(began.elapsed() < Duration::from_secs(10), "{victim}: {all:?} are left");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// 2 Mbit/s in packets of 1000 bytes are 250 packets a second, for as long as the command runs. Would catch flows that
/// do not start, go on after the command, or do not cross the link.
#[test]
fn the_scenarios_flows_run_with_the_command() {
    let place = started::place();
    let text = "duration = \"60s\"\n[bottleneck]\nrate = \"10mbit\"\ndelay = \"1ms\"\n[[flows]]\nname = \"cbr\"\nkind = \"udp\"\nstart = \"0s\"\n\
                rate = \"2mbit\"\npacket = \"1000b\"\n[[flows]]\nname = \"ftp\"\nkind = \"tcp\"\ncc = \"reno\"\nfrom = \"right\"\nto = \"left\"\n";
    let file = place.write("a.toml", text);
    let (began, watch) = (Instant::now(), skip::Watch::start(|_| false));
    let Some(output) = shell(&[&file, "--flows"], &["sleep", "2"]) else { return };
    let (elapsed, waits) = (began.elapsed().as_secs_f64(), watch.end());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let counts = |group: &str| -> Vec<f64> {
        let line = said.lines().find(|line| line.starts_with(&format!("flows {group}: "))).expect(&said);
        line.split_whitespace().filter_map(|word| word.parse().ok()).collect()
    };
    let [sent, received] = counts("cbr")[..2] else { panic!("{said}") };
    assert!(sent <= elapsed * 250.0 + 1.0, "{said} in {elapsed} s");
    if sent < 2.0 * 250.0 * 0.98 {
        if waits.longest > Duration::from_millis(5) {
            return skip::because("quiet", format!("processors were away for {waits:?}"));
        }
        panic!("{said} in {elapsed} s");
    }
    assert!((0.9 * sent..=sent).contains(&received), "{said}");
    assert!(counts("ftp")[1] > 100.0, "{said}");
    assert!(said.contains("udp 10.78.0.1:") && said.contains("tcp 10.79.0.2:"), "{said}");
}

/// Would catch a discipline that is not the one asked for, and an outcome that cannot be read.
#[test]
fn a_command_runs_once_with_each_discipline() {
    let place = started::place();
    let file = scenario(&place, "a.toml", "rate = \"10mbit\"\ndelay = \"1ms\"", "delay = \"1ms\"");
    let json = place.name("out.json");
    let inside = format!("echo gateway:{} 100 3", echo());
    let command = inside::command();
    let environment = [("FAIRLANE_INSIDE", inside.as_str())];
    let Some(output) = shell_in(&[&file, "--queue", "choke,fq-codel", "--json", &json], &command, &environment) else {
        return;
    };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("choke:\n") && said.contains("fq-codel:\n"), "{said}");
    let text = fs::read_to_string(&json).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let kinds: Vec<&str> =
        value["outcomes"].as_array().unwrap().iter().map(|one| one["queues"][0]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["choke", "fq-codel"]);
    // The second command has the signal mask of the first.
    let killed = shell(&[&file, "--queue", "choke,red"], &["sh", "-c", "kill -TERM $$; echo alive"]).unwrap();
    assert_eq!((killed.status.code(), &killed.stdout[..]), (Some(128 + 15), &b""[..]));
    // So ends a command that Ctrl-C has ended.
    let interrupted = shell(&[&file, "--queue", "choke,red"], &["sh", "-c", "echo one; exit 130"]).unwrap();
    assert_eq!((interrupted.status.code(), &interrupted.stdout[..]), (Some(128 + 2), &b"one\n"[..]));
    let flows = value["outcomes"][0]["flows"].as_array().unwrap();
    assert!(flows.iter().any(|flow| flow["name"].as_str().unwrap().starts_with("udp 198.18.0.1:")), "{text}");
}

/// A link of real programs needs no flows of the simulator. Would catch a file that is refused for their absence, flows
/// that are asked for and do not run, and a run without any.
#[test]
fn a_file_may_have_links_alone() {
    let place = started::place();
    let file = place.write("link.toml", "[bottleneck]\nrate = \"10mbit\"\ndelay = \"1ms\"\n");
    for (arguments, part) in [
        (
            &["shell", &file, "--flows", "--", "true"][..],
            "the scenario's own flows are asked for (--flows), and it has none",
        ),
        (&["run", &file], "`duration` is missing"),
        (&["run", &file, "--set", "duration=1s"], "`flows` is missing"),
        (&["check", &file], "`flows` is missing"),
    ] {
        let output = common::fairlane(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(part), "{arguments:?}: {said}");
    }
    let Some(output) = shell(&[&file], &["true"]) else { return };
    assert!(output.status.success(), "{output:?}");
}

/// Would catch a part of the scenario that is left out without a word.
#[test]
fn what_it_cannot_do_is_refused() {
    let place = started::place();
    let two = "duration = \"1s\"\n[[links]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1mbit\"\n[[links]]\nname = \"y\"\nfrom = \"b\"\n\
               to = \"c\"\nrate = \"1mbit\"\n[[flows]]\nname = \"f\"\nkind = \"tcp\"\nfrom = \"a\"\nto = \"c\"\n";
    let two = place.write("two.toml", two);
    let shaped = scenario(
        &place,
        "s.toml",
        "rate = \"10mbit\"\nshaper = { kind = \"fixed\", rate = \"9mbit\" }",
        "delay = \"1ms\"",
    );
    for (file, part) in [(&two, "a shell has one link, not 2"), (&shaped, "an emulated link has no shaper")] {
        let output = common::fairlane(&["shell", file, "--", "true"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(part), "{said}");
    }
}

/// The programs inside.
#[test]
fn inside() {
    inside::run();
}
