//! Tests in a guest, where the kernel has what that of the machine may lack, and the clock is the test's own.
//!
//! The guest's first process is the test program itself: its test `first_process` calls [`serve`], which starts the
//! program again for the tests that [`run`] was asked for. One guest is enough for all tests of a program.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use fairlane_guest::{Guest, GuestError, Limits, inside};
use serde::{Deserialize, Serialize};

use crate::common::guest::fetched;

/// The fairlane under test, in the guest at the same place.
const FAIRLANE: &str = env!("CARGO_BIN_EXE_fairlane");

/// The programs that set up firewalls, in the guest's `/bin`, each with the names by which tests and the router start
/// it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Firewalls {
    /// nft, and iptables on nf_tables.
    NftAndIptables,
    /// iptables on its own tables, as before nf_tables.
    IptablesLegacy,
}

/// Tests to run with the programs in `path`.
#[derive(Debug, Deserialize, Serialize)]
struct Group {
    path: String,
    tests: Vec<String>,
    links: Vec<(String, String)>,
}

#[derive(Debug, Deserialize, Serialize)]
struct Answer {
    success: bool,
    said: String,
}

const PROGRAMS: [(&str, &str); 6] = [
    ("ip", "iproute2"),
    ("sh", "dash"),
    ("tc", "iproute2"),
    ("nft", "nftables"),
    ("xtables-nft-multi", "iptables"),
    ("xtables-legacy-multi", "iptables"),
];

const IPTABLES: [&str; 6] =
    ["iptables", "iptables-restore", "iptables-save", "ip6tables", "ip6tables-restore", "ip6tables-save"];

const MODULES: [&str; 24] = [
    "veth",
    "nfnetlink_queue",
    "nf_tables",
    "nft_queue",
    "nft_compat",
    "nft_chain_nat",
    "nft_nat",
    "nf_conntrack_netlink",
    "iptable_mangle",
    "iptable_filter",
    "ip6table_mangle",
    "ip6table_filter",
    "xt_NFQUEUE",
    "xt_mark",
    "xt_DSCP",
    "xt_dscp",
    "xt_tcpudp",
    "sch_tbf",
    "xt_policy",
    "xfrm_user",
    "esp4",
    "authenc",
    "crypto_null",
    "ipip",
];

const LIMITS: Limits = Limits { memory_mib: 768, cpu_s: 300 };

impl Firewalls {
    fn group(self, tests: &[&str]) -> Group {
        let (name, iptables) = match self {
            Self::NftAndIptables => ("nft", "xtables-nft-multi"),
            Self::IptablesLegacy => ("iptables-legacy", "xtables-legacy-multi"),
        };
        let mut links = vec![("ip", "ip"), ("sh", "sh"), ("tc", "tc")];
        links.extend(IPTABLES.map(|name| (name, iptables)));
        links.extend(matches!(self, Self::NftAndIptables).then_some(("nft", "nft")));
        Group {
            path: format!("/run/{name}"),
            tests: tests.iter().map(|&name| name.to_owned()).collect(),
            links: links.into_iter().map(|(link, program)| (link.to_owned(), format!("/bin/{program}"))).collect(),
        }
    }
}

/// Runs the named tests of this program in a guest, with each of these firewalls in turn; a test that fails there, or
/// is skipped, fails here. Where guests cannot run it prints why.
pub(crate) fn run(wanted: &[(Firewalls, &[&str])]) {
    let Some(kernel) = fetched() else { return };
    let mut guest = match Guest::new(&kernel, &PROGRAMS, &MODULES, LIMITS) {
        Ok(guest) => guest,
        Err(error @ GuestError::NoTool(..)) => return skip::because("qemu", error.to_string()),
        Err(error) => panic!("{error}"),
    };
    guest.add_program(Path::new(FAIRLANE)).unwrap();
    for folder in ["/usr/lib/x86_64-linux-gnu/xtables", "/usr/lib64/xtables", "/usr/lib/xtables"] {
        for plugin in fs::read_dir(folder).into_iter().flatten().flatten() {
            guest.add(&plugin.path()).unwrap();
        }
    }
    guest.set_arguments(&["--exact", "first_process", "--ignored", "--nocapture", "--test-threads=1"]);
    let groups: Vec<Group> = wanted.iter().map(|(firewalls, tests)| firewalls.group(tests)).collect();
    let job = serde_json::to_vec(&groups).unwrap();
    let answers = guest.run(&job, 1, &mut |_| true).unwrap_or_else(|error| panic!("{error}"));
    let answers: Vec<Answer> = serde_json::from_slice(&answers).unwrap();
    assert_eq!(answers.len(), groups.len());
    for (group, Answer { success, said }) in groups.iter().zip(&answers) {
        eprintln!("in a guest, {}: {said}", group.path);
        assert!(*success && !said.contains("skipped: "), "with {}", group.path);
        assert!(said.contains(&format!("test result: ok. {} passed", group.tests.len())), "with {}", group.path);
    }
}

/// Runs the requested test, as the guest's first process; elsewhere does nothing.
pub(crate) fn serve() {
    if inside::is_here() {
        inside::serve(|job, _| {
            let groups: Vec<Group> = serde_json::from_slice(job).unwrap();
            let answers: Vec<Answer> = groups.iter().map(answer).collect();
            serde_json::to_vec(&answers).unwrap()
        });
    }
}

fn answer(group: &Group) -> Answer {
    fs::create_dir(&group.path).unwrap();
    for (link, program) in &group.links {
        symlink(program, Path::new(&group.path).join(link)).unwrap();
    }
    let mut tests = Command::new(std::env::current_exe().unwrap());
    tests.args(["--exact", "--include-ignored", "--nocapture", "--test-threads=1"]).args(&group.tests);
    let output = tests.env("PATH", &group.path).env("CARGO_BIN_EXE_fairlane", FAIRLANE).output().unwrap();
    let said = [&output.stdout[..], &output.stderr].concat();
    Answer { success: output.status.success(), said: String::from_utf8_lossy(&said).into_owned() }
}
