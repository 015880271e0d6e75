//! A network namespace for a test, where the system permits one.

use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};

/// Runs `test` in a new network namespace that has only loopback, or prints why the system refuses one.
pub(crate) fn in_namespace(test: impl FnOnce() + Send + 'static) {
    let there = |program: &str| Command::new(program).arg("-V").output().is_ok();
    if let Some(missing) = ["ip", "iptables-restore"].into_iter().find(|program| !there(program)) {
        eprintln!("skipped: there is no {missing}");
        return;
    }
    let outcome = thread::spawn(|| {
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
            eprintln!("skipped: no network namespace of our own: {error}");
            return;
        }
        tool("ip", "link set lo up");
        if !std::fs::exists("/proc/thread-self/net/netfilter/nfnetlink_queue").unwrap() {
            eprintln!("skipped: this kernel has no NFQUEUE");
            return;
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
