//! One direction of one interface, from the choice of the path to the last reload.

use std::fs;
use std::net::UdpSocket;
use std::process::{Child, Command, Output};
use std::thread::{sleep, spawn};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::directions;
use crate::machine::{Checked, LOG, balanced, end, ensure, get, pinned, run, start, state, tell, until};

const FILE: &str = "/tmp/router.toml";
const CHOKE: &str = r#"queue = { kind = "choke", limit = "300p", min = "20p", max = "60p" }"#;
const GCHOKE: &str = r#"queue = { kind = "gchoke", limit = "300p", min = "20p", max = "60p" }"#;
const CODEL: &str = r#"queue = { kind = "codel" }"#;

pub(super) fn answer(program: &str) -> String {
    let said = check(program);
    let log = fs::read_to_string(LOG).unwrap_or_default();
    said.map_or_else(|error| format!("failed: {error}\nlog of the router:\n{log}"), |()| "passed".to_owned())
}

fn check(fairlane: &str) -> Checked {
    for words in [
        "addr add 127.0.0.1/8 dev lo",
        "link set lo up",
        "link add eth7 type dummy",
        "link set eth7 up",
        "addr add 10.9.0.1/24 dev eth7",
    ] {
        run("ip", words)?;
    }
    the_path_is_chosen(fairlane)?;
    configure(CHOKE)?;
    let router = start(fairlane, &format!("router --config {FILE}"))?;
    let worked = works(fairlane, &router);
    let ended = end(router, "eth7");
    worked.and(ended)?;
    let pinned = pinned()?;
    ensure(pinned == 0, || format!("{pinned} pinned folders are left"))?;
    a_discipline_alone_can_be_watched(fairlane)?;
    directions::check(fairlane)
}

/// A discipline that `fairlane bpf attach` has left is seen by `bpf metrics` and `top --bpf`.
fn a_discipline_alone_can_be_watched(fairlane: &str) -> Checked {
    run(fairlane, "bpf attach eth7 choke limit=300p min=20p max=60p --rate 10mbit")?;
    flood()?;
    let metrics = run(fairlane, "bpf metrics eth7")?;
    let arrived =
        metrics.lines().find_map(|line| line.strip_prefix("fairlane_arrived_packets_total{interface=\"eth7\"} "));
    ensure(arrived.is_some_and(|count| count.parse::<u64>().is_ok_and(|count| count > 1000)), || metrics.clone())?;
    let top = run(fairlane, "top --bpf eth7 --once")?;
    for expected in ["choke, bpf on eth7", "10mbit, Ethernet", "limit 300p", "min 20p, max 60p", "0 in all"] {
        ensure(top.contains(expected), || format!("there is no \"{expected}\" in\n{top}"))?;
    }
    run(fairlane, "bpf detach eth7")?;
    let none = Command::new(fairlane).args(["top", "--bpf", "eth7", "--once"]).output()?;
    let said = String::from_utf8(none.stderr)?;
    ensure(none.status.code() == Some(2) && said.contains("fairlane bpf attach"), || said.clone())
}

/// `auto` names its reason; `bpf` is refused where it is not possible.
fn the_path_is_chosen(fairlane: &str) -> Checked {
    let dry = |path: &str, rest: &str| -> Checked<Output> {
        let words = format!("router --dry-run --path {path} --interface eth7 --rate 10mbit {rest}");
        Ok(Command::new(fairlane).args(words.split(' ')).output()?)
    };
    let text = |output: &Output| [&*output.stdout, &*output.stderr].concat();
    for (path, rest, expected) in [
        ("auto", "choke", "Path bpf, since this kernel"),
        ("auto", "codel", "Path nfqueue, since bpf is not possible: there is no BPF program for codel"),
        ("auto", "choke --overhead 38b", "Path nfqueue, since bpf is not possible: the kernel knows no --overhead"),
        ("bpf", "codel", "--path bpf: there is no BPF program for codel"),
        ("bpf", "choke --queue-num 0", "--queue-num is for other paths than bpf"),
        ("bpf", "choke --interface lo", "exactly one --interface"),
    ] {
        let said = String::from_utf8(text(&dry(path, rest)?))?;
        ensure(said.contains(expected), || format!("--path {path} {rest} does not say \"{expected}\": {said}"))?;
    }
    Ok(())
}

/// The router from its start to its last reload.
fn works(fairlane: &str, router: &Child) -> Checked {
    let first = until("the router serves its state", || state().ok())?;
    ensure(first["path"] == "bpf" && first["interfaces"][0] == "eth7", || format!("{first:#}"))?;
    flood()?;
    let before = balanced()?;
    ensure(before["dropped"]["match_victim"]["packets"].as_u64() > Some(0), || format!("{before:#}"))?;
    let metrics = get("/metrics")?;
    for name in ["arrived_packets_total", "departed_bytes_total", "flushed_packets_total", "backlog_packets", "average"]
    {
        let line = format!("fairlane_{name}{{interface=\"eth7\"}} ");
        ensure(metrics.contains(&line), || format!("there is no {line} in {metrics}"))?;
    }
    let top = Command::new(fairlane).args(["top", "9277", "--once"]).output()?;
    let top = String::from_utf8(top.stdout)?;
    ensure(top.contains("choke, bpf on eth7") && top.contains("limit 300p"), || top.clone())?;

    // Another discipline: counts go on, and what waited is counted as flushed.
    configure(GCHOKE)?;
    let flooding = spawn(|| (0..8).all(|_| flood().is_ok()));
    sleep(Duration::from_millis(100));
    tell(router, Signal::SIGHUP)?;
    until("the reload", || state().ok().filter(|state| state["reloads"] == 1))?;
    ensure(flooding.join().is_ok_and(|sent| sent), || "the flood has failed".to_owned())?;
    ensure(run("tc", "qdisc show dev eth7")?.contains("fl_gchoke"), || "gchoke is not attached".to_owned())?;
    let after = balanced()?;
    let arrived = |state: &Value| state["arrived"]["packets"].as_u64().unwrap_or_default();
    ensure(arrived(&after) > arrived(&before) && after["flushed"]["packets"].as_u64() > Some(0), || {
        format!("{after:#}")
    })?;

    // A discipline without a program changes nothing.
    configure(CODEL)?;
    tell(router, Signal::SIGHUP)?;
    until("the refusal", || fs::read_to_string(LOG).ok().filter(|log| log.contains("no BPF program for codel")))?;
    ensure(balanced()?["discipline"]["kind"] == "gchoke", || "the discipline has changed".to_owned())?;

    // Another program removes the discipline, and it comes back.
    run("tc", "qdisc replace dev eth7 root pfifo")?;
    until("the discipline is back", || {
        run("tc", "qdisc show dev eth7").ok().filter(|text| text.contains("fl_gchoke"))
    })?;

    let second = Command::new(fairlane)
        .args(["router", "--path", "bpf", "--interface", "eth7", "--rate", "1mbit", "choke"])
        .output()?;
    let said = String::from_utf8(second.stderr)?;
    ensure(second.status.code() == Some(2) && said.contains("eth7"), || format!("a second router: {said}"))
}

/// Sends at four times the link's rate, from sockets each of which may have some packets in the queue.
pub(super) fn flood() -> Checked {
    let sockets = (0..8).map(|_| UdpSocket::bind("10.9.0.1:0")).collect::<Result<Vec<_>, _>>()?;
    for socket in &sockets {
        socket.set_nonblocking(true)?;
    }
    for _ in 0..500 {
        for socket in &sockets {
            // It is full for now.
            let _ = socket.send_to(&[0; 972], "10.9.0.2:9");
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn configure(queue: &str) -> Checked {
    Ok(fs::write(FILE, format!("path = \"bpf\"\ninterface = \"eth7\"\nrate = \"10mbit\"\nmetrics = 9277\n{queue}\n"))?)
}
