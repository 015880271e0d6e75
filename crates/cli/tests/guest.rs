//! `fairlane lab --in guest`: real Linux TCP in virtual time, and the kernel's own disciplines.
#![cfg(target_os = "linux")]

mod common;

use std::process::Output;
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

/// Two guests side by side, which take each other's processor, differ in nothing; a third with another seed differs.
#[test]
fn a_seed_names_a_run() {
    let Some(kernel) = kernel() else { return };
    let [first, second, other] = thread::scope(|scope| {
        let brief = ["--set", "duration=3s"];
        let runs =
            ["1", "1", "2"].map(|seed| scope.spawn(move || lab(kernel, &[&brief[..], &["--seed", seed]].concat())));
        runs.map(|run| outcomes(&run.join().expect("it ends")))
    });
    assert_eq!(first, second);
    assert_ne!(flood(&first[0]), flood(&other[0]));
}

/// CHOKe of the library on Linux, the kernel's and the simulator's protect 32 flows alike: UDP's shares are within 4 points, and what two
/// runs of three seconds differ by, and so are delays. The words of tc(8) are told, and what the kernel does otherwise.
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

/// CHOKe as a BPF program in the kernel, under forty times the link's rate. The ring has room for its holes: the link stays busy, and UDP
/// has less than a fifth of it, where the kernel's own CHOKe loses count.
#[cfg(feature = "bpf")]
#[test]
fn our_choke_in_the_kernel_withstands_a_flood() {
    let Some(kernel) = kernel() else { return };
    let flood = ["--set", "bottleneck.rate=1mbit", "--set", "flows.cbr.rate=40mbit", "--set", "duration=6s"];
    let output = lab(kernel, &[&flood[..], &["--against-bpf"]].concat());
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("this build has no BPF programs") {
        eprintln!("skipped: {stderr}");
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
