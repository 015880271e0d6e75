//! A network namespace for a test, where the system permits one.

use std::process::Command;

use nix::sched::{CloneFlags, unshare};

/// Runs `test` in a new network namespace that has only loopback, or prints why the system refuses one.
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if let Some(missing) = ["ip", "iptables-restore"].into_iter().find(|program| !there(program)) {
        let requirement = if missing == "ip" { "ip" } else { "iptables" };
        return skip::because(requirement, format!("there is no {missing}"));
    }
    let outcome = skip::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            return skip::because("netns", format!("no network namespace of our own: {error}"));
        }
        tool("ip", "link set lo up");
        if !std::fs::exists("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap() {
            return skip::because("nfqueue", "this kernel has no NFQUEUE");
        }
        test();
    });
    if let Err(panic) = outcome.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Runs `program` in this thread's namespace and returns its output.
pub(crate) fn tool(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
