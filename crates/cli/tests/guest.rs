//! `fairlane lab --in guest`: real Linux TCP in virtual time, and the kernel's own disciplines.
#![cfg(target_os = "linux")]

mod common;

use std::fs::File;
use std::io::Write;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::fairlane;
use common::guest::kernel;
use serde_json::Value;

const FIGURE_3: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lab-fig3.toml");

/// Eight TCPs and a flood for four seconds.
const SHORT: [&str; 6] = ["--set", "duration=4s", "--set", "warmup=1s", "--set", "flows.ftp.count=8"];

fn lab(kernel: &str, args: &[&str]) -> Output {
    fairlane(&[&["lab", FIGURE_3, "--in", "guest", "--kernel", kernel, "--json"], &SHORT[..], args].concat())
}

fn outcomes(output: &Output) -> Vec<Value> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut printed: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let outcomes = printed["outcomes"].as_array_mut().expect("outcomes");
    // The cost is that of this machine.
    outcomes.iter_mut().for_each(|outcome| drop(outcome.as_object_mut().expect("an outcome").remove("cost")));
    outcomes.clone()
}

/// UDP's share in percent.
fn flood(outcome: &Value) -> f64 {
    let groups = outcome["groups"].as_array().expect("groups");
    let group = groups.iter().find(|group| group["name"] == "cbr").expect("the flood");
    100.0 * group["share"].as_f64().expect("a share")
}

/// Two guests side by side, which take each other's processor, differ in nothing, while others wait for the disk; a
/// third with another seed differs. `tests/guest/deterministic` does so for longer.
#[test]
fn a_seed_names_a_run() {
    let Some(kernel) = kernel() else { return };
    let (folder, done) = (tempfile::tempdir().expect("a folder"), AtomicBool::new(false));
    let [first, second, other] = thread::scope(|scope| {
        for name in ["a", "b"] {
            let (path, done) = (folder.path().join(name), &done);
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let mut file = File::create(&path).expect("a file");
                    file.write_all(&vec![0; 16 << 20]).and_then(|()| file.sync_all()).expect("it is written");
                }
            });
        }
        let brief = ["--set", "duration=2s", "--set", "flows.ftp.count=4"];
        let runs =
            ["1", "1", "2"].map(|seed| scope.spawn(move || lab(kernel, &[&brief[..], &["--seed", seed]].concat())));
        let runs = runs.map(thread::ScopedJoinHandle::join);
        done.store(true, Ordering::Relaxed);
        runs.map(|run| outcomes(&run.expect("it ends")))
    });
    assert_eq!(first, second);
    assert_ne!(flood(&first[0]), flood(&other[0]));
}

/// CHOKe of the library on Linux, the kernel's and the simulator's protect 32 flows alike: UDP's shares are within 4
/// points, and what two runs of three seconds differ by, and so are delays. The words of tc(8) are told, and what the
/// kernel does otherwise.
#[test]
fn the_kernels_own_discipline_is_beside_ours() {
    let Some(kernel) = kernel() else { return };
    let output = lab(kernel, &["--set", "flows.ftp.count=32", "--against-kernel", "--against-sim"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("note: the kernel's discipline is tc's \"choke limit 300 min 100 max 200 "), "{stderr}");
    assert!(stderr.contains("note: sch_choke draws three times"), "{stderr}");
    let outcomes = outcomes(&output);
    let engines: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["engine"]).collect();
    assert_eq!(engines, ["linux", "kernel", "sim"]);
    let shares: Vec<f64> = outcomes.iter().map(flood).collect();
    eprintln!("UDP's share in percent on Linux, of the kernel and of the simulator: {shares:.1?}");
    for (one, other) in [(0, 1), (0, 2), (1, 2)] {
        assert!((shares[one] - shares[other]).abs() <= 8.0, "{shares:?}");
    }
    let delay = |outcome: &Value| outcome["queues"][0]["delay_s"]["mean"].as_f64().expect("a delay");
    let delays: Vec<f64> = outcomes.iter().map(delay).collect();
    assert!(delays.iter().all(|delay| (delay / delays[0] - 1.0).abs() < 0.3), "{delays:?}");
}

/// Everything that a link and its flows can be: data in both directions, loss and jitter, ECN for some, transfers, off
/// periods, and UDP of random times and sizes.
const MIXED: &str = r#"
duration = "4s"
warmup = "1s"
[bottleneck]
rate = "5mbit"
delay = "10ms"
loss = 0.02
jitter = "2ms"
queue = { kind = "red", limit = "100p", min = "2p", max = "30p", weight = 0.02, ecn = true }
reverse = { rate = "5mbit", queue = { kind = "droptail", limit = "50p" } }
[access]
rate = "100mbit"
delay = "1ms"
[tcp]
preset = "modern"
[[flows]]
name = "marked"
kind = "tcp"
cc = "cubic"
count = 2
tcp.ecn = true
[[flows]]
name = "up"
kind = "tcp"
cc = "reno"
count = 2
from = "right"
to = "left"
[[flows]]
name = "web"
kind = "tcp"
cc = "cubic"
count = 4
source = "transfers"
size = "20p"
think = "300ms"
[[flows]]
name = "chat"
kind = "tcp"
cc = "cubic"
source = "exponential"
on = "200ms"
off = "300ms"
[[flows]]
name = "poisson"
kind = "udp"
rate = "1mbit"
source = "poisson"
[[flows]]
name = "sized"
kind = "udp"
rate = "500kbit"
sizes = "geometric"
jitter = 0.5
[[flows]]
name = "voice"
kind = "udp"
rate = "200kbit"
source = "exponential"
on = "500ms"
off = "500ms"
packet = "200b"
from = "right"
to = "left"
"#;

/// Linux over IPv4 and IPv6 compared with the simulator. UDP draws from the same sequences: it offers the same number
/// of packets. Losses of the wire are in its direction only, and 2 %; marks are in the group that asks for
/// ECN; transfers complete as often as in the simulator but for chance, since they wait for lost packets, which are
/// other ones.
#[test]
fn all_kinds_of_traffic_run_on_linux_too() {
    let Some(kernel) = kernel() else { return };
    let file = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    std::fs::write(file.path(), MIXED).expect("it is written");
    let file = file.path().to_str().expect("a name");
    let lab = ["lab", file, "--in", "guest", "--kernel", kernel, "--json"];
    let [linux, v6, sim] = thread::scope(|scope| {
        let v4 = scope.spawn(|| outcomes(&fairlane(&lab)));
        let v6 = scope.spawn(|| outcomes(&fairlane(&[&lab[..], &["--ipv6"]].concat())));
        let sim = serde_json::from_slice(&fairlane(&["run", file, "--json"]).stdout).expect("it is JSON");
        let [v4, v6] = [v4, v6].map(|lab| lab.join().expect("it ends").remove(0));
        [v4, v6, sim]
    });
    // With the same seed only the other headers make a difference.
    assert_ne!(linux["flows"], v6["flows"]);
    for outcome in [&linux, &v6] {
        let sum = |outcome: &Value, group: &str, number: &str| -> f64 {
            let flows = outcome["flows"].as_array().expect("flows");
            let prefix = format!("{group}/");
            let of_group = flows.iter().filter(|flow| flow["name"].as_str().expect("a name").starts_with(&prefix));
            of_group.map(|flow| flow[number].as_f64().unwrap_or(0.0)).sum()
        };
        for udp in ["poisson", "sized", "voice"] {
            let (here, there) = (sum(outcome, udp, "sent"), sum(&sim, udp, "sent"));
            assert!((here - there).abs() <= 2.0, "{udp}: {here} packets, {there} in the simulator");
        }
        for queue in outcome["queues"].as_array().expect("queues") {
            let reverse = queue["name"] == "bottleneck/reverse";
            for group in queue["groups"].as_array().expect("groups") {
                let asks = group["name"] == "marked";
                assert_eq!(group["marked"].as_u64() > Some(0), asks && !reverse, "{group}");
            }
        }
        assert_eq!((sum(outcome, "up", "lost"), sum(outcome, "voice", "lost")), (0.0, 0.0));
        let groups = ["marked", "web", "chat", "poisson", "sized"];
        let of_all = |number: &str| groups.iter().map(|group| sum(outcome, group, number)).sum::<f64>();
        let lost = of_all("lost") / of_all("delivered");
        assert!((0.008..0.035).contains(&lost), "{lost}");
        let completed = |outcome: &Value| {
            let mut groups = outcome["groups"].as_array().expect("groups").iter();
            let web = groups.find(|group| group["name"] == "web").expect("the group");
            web["transfers"]["completed"].as_f64().expect("a number")
        };
        let (here, there) = (completed(outcome), completed(&sim));
        // Three standard deviations of the difference of two Poisson counts.
        assert!((here - there).abs() <= 3.0 * (here + there).sqrt(), "{here} transfers, {there} in the simulator");
        let up = sum(outcome, "up", "goodput_bps");
        assert!(up > 3.5e6, "{up} bit/s against the direction of the others");
    }
}

/// CHOKe as a BPF program in the kernel, under forty times the link's rate. The ring has room for its holes: the link
/// stays busy, and UDP has less than a fifth of it, where the kernel's own CHOKe loses count.
#[cfg(feature = "bpf")]
#[test]
fn our_choke_in_the_kernel_withstands_a_flood() {
    let Some(kernel) = kernel() else { return };
    let flood = ["--set", "bottleneck.rate=1mbit", "--set", "flows.cbr.rate=40mbit", "--set", "duration=5s"];
    let output = lab(kernel, &[&flood[..], &["--against-bpf"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("this build has no BPF programs") {
        skip::because("clang", stderr);
        return;
    }
    let outcomes = outcomes(&output);
    let engines: Vec<&Value> = outcomes.iter().map(|outcome| &outcome["engine"]).collect();
    assert_eq!(engines, ["linux", "bpf"]);
    let shares: Vec<f64> = outcomes.iter().map(self::flood).collect();
    eprintln!("UDP's share in percent in user space and in the kernel: {shares:.1?}");
    assert!(shares.iter().all(|share| *share < 20.0), "{shares:?}");
    for outcome in &outcomes {
        let used = outcome["queues"][0]["utilisation"].as_f64().expect("a number");
        assert!(used > 0.99, "{used}");
    }
}

/// A discipline that the kernel does not have is refused with its place in the file, and needs no kernel.
#[test]
fn what_the_kernel_does_not_have_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display().to_string();
    let output = lab(&folder, &["--queue", "gchoke", "--against-kernel"]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("the kernel has no gchoke") && stderr.contains("fq-codel"), "{stderr}");
}

/// A folder without a kernel is named with the remedy, before anything is run.
#[test]
fn without_a_kernel_the_remedy_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display().to_string();
    let output = lab(&folder, &[]);
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("there is no kernel in") && stderr.contains("--setup"), "{stderr}");
}
