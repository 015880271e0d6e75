//! Scripts in a subset of packetdrill's language, whose numbers were worked out by hand from the RFCs.

mod interpreter;
mod robust;

use std::path::{Path, PathBuf};

use self::interpreter::{Mode, Outcome, PRESETS, run, run_folder, summary, table};

/// A packet that a script does not mention is a difference.
const STRICT: Mode<'static> = Mode { preset: "modern", strict: true };

/// Returns the folder of the scripts.
fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/packetdrill/scripts")
}

fn passes(text: &str) -> bool {
    run(text, STRICT).outcome == Outcome::Passes
}

/// Would catch any packet at another time, of other data or with another acknowledgement than the RFC says, and any
/// other window.
#[test]
fn all_scripts_pass() {
    let lines = run_folder(&scripts(), STRICT).expect("the folder of scripts");
    assert!(lines.len() >= 60, "{} scripts", lines.len());
    let failures: Vec<_> = lines.into_iter().filter(|line| line.report.outcome != Outcome::Passes).collect();
    assert!(failures.is_empty(), "\n{}{}", table(&failures), summary(&failures));
}

/// Would catch a part of a script that is not compared: each script without one of its expected packets, with one twice
/// or with a false assertion does not pass.
#[test]
fn no_changed_script_passes() {
    let lines = run_folder(&scripts(), STRICT).expect("the folder of scripts");
    let mut changed = 0;
    for name in lines.into_iter().map(|line| line.name) {
        let text = std::fs::read_to_string(scripts().join(&name)).expect("a script");
        let lines: Vec<&str> = text.lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let with = |replacement: &[&str]| [&lines[..at], replacement, &lines[at + 1..]].concat().join("\n");
            let wrong = if line.contains("assert ") {
                vec![with(&[&line.replacen("assert ", "assert 1 == 2 and ", 1)])]
            } else if line.contains(" > ") && !line.contains("> S") {
                let time = line.split_whitespace().next().unwrap_or_default();
                vec![with(&[&format!("{time} %{{ pass }}%")]), with(&[line, line])]
            } else {
                continue;
            };
            changed += wrong.len();
            assert!(wrong.iter().all(|text| !passes(text)), "{name} without line {}: {line}", at + 1);
        }
    }
    assert!(changed > 500, "{changed} changes");
}

/// The lines of a script before its data.
const OPENING: &str = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n\
    +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
    +0 > S. 0:0(0) ack 1 <...>\n\
    +.1 < . 1:1(0) ack 1 win 1000\n";

/// Returns the message for a script that begins with a handshake in lines 1 to 4.
fn message(rest: &str) -> String {
    let report = run(&format!("{OPENING}{rest}"), STRICT);
    match report.outcome {
        Outcome::Passes => "passes".to_owned(),
        Outcome::Differs { line, expected, got } => format!("line {line}: {expected}, not {got}"),
        Outcome::NotComparable(problem) => problem.to_string(),
    }
}

/// Would catch a difference that is not found, and a message without the place, the packet or the time.
#[test]
fn differences_are_described() {
    let sent = "+0 write(4, ..., 3000) = 3000\n";
    for (rest, expected) in [
        ("+0 > . 1:3001(3000) ack 1", "passes"),
        ("+.003 > . 1:3001(3000) ack 1", "passes"),
        ("* > . 1:3001(3000) ack 1", "passes"),
        ("+0~+.1 > . 1:3001(3000) ack 1", "passes"),
        (
            "+.005 > . 1:3001(3000) ack 1",
            "line 6: > . 1:3001(3000) ack 1 from 0.101000 to 0.109000 s, not > . 1:1001(1000) at 0.100000 s",
        ),
        ("+0 > . 1001:3001(2000) ack 1", "line 6: > . 1001:3001(2000) ack 1, not > . 1:1001(1000) at 0.100000 s"),
        (
            "+0 > . 1:3001(3000) ack 1\n+0 > . 1:1001(1000) ack 1",
            "line 7: > . 1:1001(1000) ack 1, not no packet up to 0.104000 s",
        ),
        ("+.1 close(4) = 0", "line 6: no packet, not > . 1:1001(1000) at 0.100000 s"),
        ("+0 > W. 1:3001(3000) ack 1", "line 6: > W. 1:3001(3000) ack 1, not > . 1:1001(1000) at 0.100000 s"),
        ("+0 > . 1:3001(3000) ack 7", "line 6: > . 1:3001(3000) ack 7, not ack 1"),
        ("+0 %{ assert tcpi_unacked == 2, tcpi_unacked }%", "line 6: tcpi_unacked == 2, not tcpi_unacked = 3"),
    ] {
        assert_eq!(message(&format!("{sent}{rest}")), expected, "{rest}");
    }
}

/// Would catch a script that needs what the simulator does not have and is compared all the same.
#[test]
fn what_is_not_there_is_not_compared() {
    for (rest, reason) in [
        ("+0 < R. 1:1(0) ack 1 win 0", "line 5: a reset is not in the simulator"),
        ("+0 < . 1:1(0) ack 1 win 0", "line 5: a window of zero, and its probes, are not in the simulator"),
        ("+0 < . 1:1(0) ack 501 win 9", "line 5: ack 501 acknowledges a part of a segment, or what was not written"),
        ("+0 `tc qdisc add dev tun0 root red`", "line 5: the command `tc qdisc add dev tun0 root red` is not known"),
        ("+0 `rm -rf x`", "line 5: the command `rm -rf x` is not known"),
        (
            "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0",
            "line 5: the socket option TCP_CORK is not in the simulator",
        ),
        ("+0 setsockopt(4, SOL_TCP, TCP_CONGESTION, \"x\", 1) = 0", "line 5: there is no congestion control `x`"),
        ("+0 splice(4) = 0", "line 5: the call splice is not in the simulator"),
        ("+0 write(4, ..., 9) = -1 EAGAIN (Again)", "line 5: write returns `-1`, no number of bytes"),
        ("+0 < . 1:1(0) ack 1 win 9 <sack 1:501>", "line 5: the SACK block 1:501 has a part of a segment"),
        ("+0 accept(3, ..., ...) = 4", "line 1: the script compares nothing that the simulator has"),
        ("what", "line 5: `what` is not a time in seconds, up to 1000000"),
    ] {
        assert_eq!(message(rest), reason, "{rest}");
    }
    for (text, reason) in [
        ("", "line 1: there is no handshake of TCP: a SYN and a SYN-ACK"),
        ("// preset: modern cc=x\n", "line 1: there is no congestion control `x`"),
        ("// preset: modern x=1\n", "line 1: the key `x` is not known"),
        ("// preset: modern recovery=tahoe\n", "line 1: recovery cannot be `tahoe`, only reno, newreno, sack, rack"),
    ] {
        let text = if text.is_empty() { String::new() } else { format!("{text}{OPENING}") };
        let outcome = run(&text, STRICT).outcome;
        assert!(matches!(&outcome, Outcome::NotComparable(problem) if problem.to_string() == reason), "{outcome:?}");
    }
    let outcome = run(OPENING, Mode { preset: "tcp", strict: true }).outcome;
    let reason = format!("line 1: there is no preset `tcp`, only {}", PRESETS.join(", "));
    assert!(matches!(&outcome, Outcome::NotComparable(problem) if problem.to_string() == reason), "{outcome:?}");
}

/// Would catch an assertion on what the sender does not tell that counts as one that holds or not.
#[test]
fn unknown_counters_are_skipped() {
    let code = "+0 %{ assert tcpi_lost == 6, tcpi_lost; assert tcpi_snd_cwnd == 10 }%";
    let report = run(&format!("{OPENING}{code}"), STRICT);
    assert_eq!((report.outcome, report.compared, report.skipped.len()), (Outcome::Passes, 1, 1));
    assert_eq!(report.skipped[0].to_string(), "line 5: tcpi_lost is not in the public interface");
}
