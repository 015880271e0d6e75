//! Routers that do not have root's rights, or no memory.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::Command;

use nix::sys::signal::Signal;

use crate::common::Place;
use crate::namespace::{in_namespace, tool};
use crate::running::{Running, has_rules, nothing, rules, tables, through, with};

/// The user and the group `nobody`.
const NOBODY: u32 = 65_534;

/// A program with two capabilities from its file (setcap(8)), started by nobody. Would catch privileges that the router
/// keeps for itself: the tools that change rules and the guard, which have none from their files, would be refused.
#[test]
fn a_program_with_capabilities_needs_no_root() {
    in_namespace(|| {
        let there = |program: &str| Command::new(program).arg("--help").output().is_ok();
        if let Some(missing) = ["setcap", "setpriv"].into_iter().find(|program| !there(program)) {
            return skip::because(missing, format!("there is no {missing}"));
        }
        let place = Place::new();
        // The caller's own folder is not used, nor are its programs.
        let (program, runtime) = (place.name("fairlane"), format!("/run/user/{NOBODY}"));
        fs::set_permissions(place.name(""), Permissions::from_mode(0o755)).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_fairlane"), &program).unwrap();
        fs::create_dir_all(&runtime).unwrap();
        chown(&runtime, Some(NOBODY), Some(NOBODY)).unwrap();
        for name in ["nft", "iptables", "iptables-restore"] {
            place.write(name, "#!/bin/sh\necho 'a program of the caller' >&2; exit 3\n");
            fs::set_permissions(place.path(name), Permissions::from_mode(0o755)).unwrap();
        }
        let given = Command::new("setcap").args(["cap_net_admin,cap_net_raw+ep", &program]).output().unwrap();
        if !given.status.success() {
            let why = String::from_utf8_lossy(&given.stderr);
            return skip::because("setcap", format!("this file system has no capabilities: {why}"));
        }
        let before = nothing();
        let mut nobody = Command::new("setpriv");
        nobody.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=+all"]);
        nobody
            .arg(&program)
            .env("XDG_RUNTIME_DIR", place.name(""))
            .env("PATH", format!("{}:/usr/bin:/bin", place.name("")));
        let mut router = Running::start_program(nobody, &with(&["droptail", "limit=100p"]));
        let status = fs::read_to_string(format!("/proc/{}/status", router.id())).unwrap();
        assert!(status.contains("Uid:\t65534\t65534\t65534\t65534"), "{status}");
        assert!(!router.said.contains("no process guards the rules"), "{}", router.said);
        assert!(has_rules(0) && router.guard().is_some(), "{}", router.said);
        assert_eq!(through(50), 50);
        router.signal(Signal::SIGTERM);
        assert!(router.wait_for("ended").contains("arrived=50 departed=50"), "{}", router.said);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
        fs::remove_dir_all(&runtime).unwrap();
    });
}

/// The router's address space may not grow any more. Would catch rules that stay because the tool that removes them
/// cannot be started: the start of a program needs memory for its stack.
#[test]
fn without_memory_the_rules_are_removed() {
    in_namespace(|| {
        if Command::new("prlimit").arg("--version").output().is_err() {
            return skip::because("prlimit", "there is no prlimit");
        }
        let before = nothing();
        let mut router = Running::start(&with(&["droptail", "limit=100p"]));
        assert_eq!(through(50), 50);
        let status = fs::read_to_string(format!("/proc/{}/status", router.id())).unwrap();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap().trim();
        let bytes = 1024 * kilobytes.trim_end_matches(" kB").parse::<u64>().unwrap();
        tool("prlimit", &format!("--pid {} --as={bytes}", router.id()));
        assert_eq!(through(50), 50);
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1), "{}", router.rest());
    });
}
