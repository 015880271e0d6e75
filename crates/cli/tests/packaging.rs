//! The files in `packaging` work unchanged.
#![cfg(target_os = "linux")]

mod common;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Place, fairlane, printed};
use namespace::{in_namespace, tool};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::{Running, scrape, through, with};

fn packaging(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(name)
}

/// Would catch a key that no longer exists, and a parameter that the discipline does not have.
#[test]
fn the_example_of_a_router_is_right() {
    in_namespace(|| {
        tool("ip", "link add eth0 type veth peer name modem");
        let said = printed(&["router", "--dry-run", "--config", &packaging("router.toml").display().to_string()]);
        for part in [
            "Link of 18mbit, overhead 38b, mpu 84b, noatm\n",
            "ecn           true       given",
            "Rules for packets leaving by eth0\n",
        ] {
            assert!(said.contains(part), "no \"{part}\" in {said}");
        }
    });
}

/// systemd-analyze(1) accepts the unit. Would catch a directive that systemd does not know, or that belongs to another
/// section.
#[test]
fn systemd_takes_the_unit() {
    let place = Place::new();
    let text = fs::read_to_string(packaging("systemd/fairlane-router@.service")).unwrap();
    let program = "=/usr/local/bin/fairlane ";
    assert_eq!(text.matches(program).count(), 2);
    let text = text.replace(program, &format!("={} ", env!("CARGO_BIN_EXE_fairlane")));
    let unit = place.write("fairlane-router@eth0.service", &text);
    let verified = Command::new("systemd-analyze").args(["verify", "--man=no", &unit]).output();
    let Ok(verified) = verified else {
        skip::because("systemd-analyze", "there is no systemd-analyze");
        return;
    };
    assert_eq!((verified.status.code(), String::from_utf8_lossy(&verified.stderr).trim()), (Some(0), ""));
    // In tenths: 2.0 of 10 (systemd-analyze(1)).
    let threshold = ["security", "--offline=true", "--threshold=20", &unit];
    let exposed = Command::new("systemd-analyze").args(threshold).output().unwrap();
    let told = String::from_utf8_lossy(&exposed.stdout);
    assert_eq!(exposed.status.code(), Some(0), "{:?}", told.lines().last());
    // The unit refers to this manual page.
    let man = place.name("man");
    printed(&["man", &man]);
    assert!(text.contains("Documentation=man:fairlane-router(1)"));
    for page in ["fairlane-router.1", "fairlane-top.1", "aqmrun.1"] {
        assert!(fs::read_to_string(Path::new(&man).join(page)).unwrap().contains(".SH OPTIONS"), "{page}");
    }
}

/// Returns the system calls of the unit's filter, as systemd-analyze(1) tells its sets.
fn allowed(unit: &str) -> Option<BTreeSet<String>> {
    let members = |set: &str| -> Option<Vec<String>> {
        let told = Command::new("systemd-analyze").args(["syscall-filter", set]).output().ok()?;
        let lines = String::from_utf8(told.stdout).ok()?;
        Some(lines.lines().skip(1).map(str::trim).filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
    };
    let mut allowed = BTreeSet::new();
    for filter in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (denied, sets) = filter.strip_prefix('~').map_or((false, filter), |sets| (true, sets));
        let mut left: Vec<String> = sets.split(' ').map(str::to_owned).collect();
        while let Some(name) = left.pop() {
            if name.starts_with('@') {
                left.extend(members(&name)?);
            } else if denied {
                allowed.remove(&name);
            } else {
                allowed.insert(name);
            }
        }
    }
    Some(allowed)
}

/// From its start over a reload to its end, the router, its guard and the tools that it runs make only system calls of
/// the unit's filter. Would catch one that the filter forbids, which is seen only under systemd.
#[test]
fn the_units_filter_has_all_system_calls() {
    let unit = fs::read_to_string(packaging("systemd/fairlane-router@.service")).unwrap();
    if Command::new("strace").arg("-V").output().is_err() {
        return skip::because("strace", "there is no strace");
    }
    let Some(allowed) = allowed(&unit) else {
        return skip::because("systemd-analyze", "there is no systemd-analyze");
    };
    assert!(allowed.contains("sendmsg") && !allowed.contains("mount"), "{allowed:?}");
    in_namespace(move || {
        let place = Place::new();
        let file = "interface = \"lo\"\nup = \"10mbit\"\ndown = \"10mbit\"\nqueue = { kind = \"fq-codel\" }\n";
        let (file, calls) = (place.write("router.toml", file), place.name("calls"));
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o", &calls, env!("CARGO_BIN_EXE_fairlane")]);
        let mut router = Running::start_program(command, &["--config", &file]);
        assert_eq!(through(50), 50);
        tool("iptables", "-t mangle -F");
        router.wait_for("the rules are installed again");
        let traced = fs::read_to_string(format!("/proc/{0}/task/{0}/children", router.id())).unwrap();
        let traced = traced.split_whitespace().next().unwrap().parse().unwrap();
        kill(Pid::from_raw(traced), Signal::SIGHUP).unwrap();
        router.wait_for("reloaded");
        scrape();
        kill(Pid::from_raw(traced), Signal::SIGTERM).unwrap();
        assert_eq!(router.end(), Some(0), "{}", router.rest());
        let calls = fs::read_to_string(&calls).unwrap();
        let names =
            calls.lines().filter_map(|line| line.split_whitespace().nth(1)?.split_once('(')).map(|(name, _)| name);
        let made: BTreeSet<&str> = names.collect();
        assert!(made.contains("sendmsg") && made.contains("execve"), "{made:?}");
        // Privileges are passed on for a router that is not root, as the unit's is; nobody looks at the result.
        let forbidden: Vec<&str> =
            made.into_iter().filter(|name| *name != "capset" && !allowed.contains(*name)).collect();
        assert!(forbidden.is_empty(), "the unit forbids {forbidden:?}");
    });
}

/// The service starts a router for each file through procd. Would catch a syntax error in the script.
#[test]
fn the_service_of_openwrt_starts_a_router_for_each_file() {
    let place = Place::new();
    let script = fs::read_to_string(packaging("openwrt/fairlane.init")).unwrap();
    assert!(script.contains("for file in /etc/fairlane/*.toml"));
    let folder = place.name("").trim_end_matches('/').to_owned();
    let script = script.replace("/etc/fairlane/*", &format!("{folder}/*"));
    let script = place.write("fairlane.init", &script.replace("/usr/sbin/fairlane", env!("CARGO_BIN_EXE_fairlane")));
    for name in ["wan", "lan"] {
        place.write(&format!("{name}.toml"), "queue-num = 0\nrate = \"1mbit\"\nqueue = { kind = \"red\" }\n");
    }
    let procd = "procd_open_instance() { echo \"open $*\"; }; procd_set_param() { echo \"set $*\"; }; \
                 procd_close_instance() { echo close; }; procd_send_signal() { echo \"signal $*\"; };";
    let run = |call: &str| Command::new("sh").args(["-euc", &format!("{procd} . {script}; {call}")]).output().unwrap();
    let started = run("start_service; reload_service");
    assert_eq!((started.status.code(), String::from_utf8_lossy(&started.stderr).as_ref()), (Some(0), ""));
    let said = String::from_utf8(started.stdout).unwrap();
    for name in ["lan", "wan"] {
        let program = env!("CARGO_BIN_EXE_fairlane");
        let command = format!("set command {program} router --config {folder}/{name}.toml\n");
        assert!(said.contains(&format!("open {name}\n{command}")), "{said}");
    }
    assert!(said.ends_with("signal fairlane * HUP\n"), "{said}");
    // A file that is wrong is told, and no router reads it.
    place.write("wan.toml", "");
    let refused = run("reload_service");
    assert!(!refused.status.success() && refused.stdout.is_empty());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a router needs --rate"));
}

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)).unwrap()
}

/// Runs the dry runs of the page, and parses its other commands. Would catch an option that no longer exists, and a
/// discipline whose parameters have changed.
#[test]
fn the_commands_that_change_nothing_work() {
    in_namespace(|| {
        for name in ["eth0", "eth1", "eth2"] {
            tool("ip", &format!("link add {name} type veth peer name {name}-peer"));
            tool("ip", &format!("link set {name} up"));
        }
        let page = page("deploy.md");
        let code = page.split("```").skip(1).step_by(2).flat_map(str::lines);
        let commands: Vec<&str> =
            code.filter_map(|line| line.trim_start_matches("sudo ").strip_prefix("fairlane ")).collect();
        let harmless = |command: &&&str| command.contains("--dry-run") && !command.contains("--config");
        let tried: Vec<&&str> = commands.iter().filter(harmless).collect();
        assert!(!tried.is_empty());
        for command in tried {
            printed(&command.split_whitespace().collect::<Vec<_>>());
        }
        // This command is part of a sentence.
        let explain = page.split('`').find_map(|part| part.strip_prefix("fairlane explain ")).unwrap();
        printed(&[&["explain"], &explain.split(' ').collect::<Vec<_>>()[..]].concat());
        // Other commands need a terminal, a service manager or a file of the machine, so they run with --help.
        for command in commands {
            let words = command.split(['|', '#', '&']).next().unwrap().split_whitespace();
            let output = fairlane(&words.chain(["--help"]).collect::<Vec<_>>());
            assert_eq!(output.status.code(), Some(0), "fairlane {command}");
        }
    });
}

/// Would catch a query for a metric that the router does not serve under that name.
#[test]
fn the_metrics_that_the_pages_name_are_served() {
    in_namespace(|| {
        for name in ["lan0", "wan0"] {
            tool("ip", &format!("link add {name} type veth peer name {name}-peer"));
            tool("ip", &format!("link set {name} up"));
        }
        let place = Place::new();
        let autorate = "[autorate]\nprobe = \"echo:127.0.0.1\"\nmin = \"1mbit\"\nmax = \"20mbit\"\n";
        let file = place.write("router.toml", &format!("queue = {{ kind = \"choke\" }}\n{autorate}"));
        let bridge = ["--bridge=lan0,wan0", "--rate=10mbit", "choke"];
        // One after the other, so that it is clear which one is asked.
        let served = [&bridge[..], &with(&["--config", &file])].map(|args| {
            let _router = Running::start(args);
            scrape()
        });
        let served = served.concat();
        let pages = [page("deploy.md"), page("router.md")].concat();
        let words = pages.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
        // The tables of nftables have similar names, and only a discipline in the kernel flushes packets
        // (tests/kernel_path).
        let others = ["fairlane_q", "fairlane_flushed_packets_total", "fairlane_autorate_"];
        let names = words.filter(|word| word.starts_with("fairlane_") && !others.contains(word));
        let mut found = 0;
        for name in names {
            // A family is described by its name without the ending, which the format gives to its samples.
            let family = name.trim_end_matches("_bucket").trim_end_matches("_total");
            assert!(served.contains(&format!("# TYPE {family}")), "{name} is not in {served}");
            found += 1;
        }
        assert!(found > 20, "{found}");
    });
}
