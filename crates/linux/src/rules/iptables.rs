//! Rules by iptables-restore(8) and ip6tables-restore(8): chains of our own in `mangle`, and the rules that lead there.
//!
//! `TOS` works in `mangle` alone, so a packet has to be queued in a hook before the last, POSTROUTING. That is before `filter`: what
//! is filtered there has passed the queue.

use std::path::Path;

use super::tool::run;
use super::{RuleError, Rules};
use crate::queues::Queues;

/// The tools of IPv4 and of IPv6: one that restores, one that saves.
const FAMILIES: [Family; 2] = [
    Family { restore: "iptables-restore", save: "iptables-save" },
    Family { restore: "ip6tables-restore", save: "ip6tables-save" },
];

/// What the names of our chains begin with; the queue's number follows.
const CHAIN: &str = "FAIRLANE-Q";

/// What the name of the chain ends in that marks.
const MARKS: &str = "-CE";

/// There without IPv6 is not.
const IPV6: &str = "/proc/thread-self/net/if_inet6";

#[derive(Clone, Copy, Debug)]
struct Family {
    restore: &'static str,
    save: &'static str,
}

/// The families that the kernel has.
fn families() -> &'static [Family] {
    if Path::new(IPV6).exists() { &FAMILIES } else { &FAMILIES[..1] }
}

pub(super) fn is_there() -> bool {
    families().iter().all(|family| matches!(run(family.restore, &["--version"], ""), Ok(Some(_))))
}

/// Each family is one transaction. Should the second fail, the first is taken back.
pub(super) fn install(rules: &Rules) -> Result<(), RuleError> {
    let script = script(rules);
    for family in families() {
        let installed = family.remove(rules.queues.first()).and_then(|()| family.restore(&script));
        if let Err(error) = installed {
            // The first error is what matters; what cannot be taken back now is found by the next start.
            let _ = remove(rules.queues.first());
            return Err(error);
        }
    }
    Ok(())
}

pub(super) fn stop(queue: u16) -> Result<(), RuleError> {
    families().iter().try_for_each(|family| family.stop(queue))
}

pub(super) fn remove(queue: u16) -> Result<(), RuleError> {
    families().iter().try_for_each(|family| family.remove(queue))
}

/// Whether all families have the rules that lead to the queue, and those in our chains.
pub(super) fn is_installed(rules: &Rules) -> Result<bool, RuleError> {
    for family in families() {
        if !is_whole(&family.save()?, rules) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The queues that have a chain of ours; `None` without iptables.
pub(super) fn installed() -> Result<Option<Vec<u16>>, RuleError> {
    let mut found = Vec::new();
    for family in families() {
        let Some(saved) = run(family.save, &[], "")? else { return Ok(None) };
        found.extend(mangle(&saved).filter_map(queue_of_chain_line));
    }
    found.sort_unstable();
    found.dedup();
    Ok(Some(found))
}

impl Family {
    fn restore(self, script: &str) -> Result<(), RuleError> {
        // It waits for others who change rules, five seconds at most.
        run(self.restore, &["--noflush", "--wait", "5"], script)?.map(drop).ok_or(RuleError::NoTool)
    }

    /// All rules as they are; none without the tool.
    fn save(self) -> Result<String, RuleError> {
        run(self.save, &[], "").map(Option::unwrap_or_default)
    }

    fn stop(self, queue: u16) -> Result<(), RuleError> {
        let there = mangle(&self.save()?).any(|line| queue_of_chain_line(line) == Some(queue));
        if there { self.restore(&format!("*mangle\n-F {CHAIN}{queue}\nCOMMIT\n")) } else { Ok(()) }
    }

    fn remove(self, queue: u16) -> Result<(), RuleError> {
        removal(&self.save()?, queue).map_or(Ok(()), |script| self.restore(&script))
    }
}

/// The lines of the table `mangle`.
fn mangle(saved: &str) -> impl Iterator<Item = &str> {
    saved.lines().skip_while(|line| *line != "*mangle").take_while(|line| *line != "COMMIT")
}

/// The queue that a chain of ours is for, by the line that names it: `:FAIRLANE-Q0 - [0:0]`.
fn queue_of_chain_line(line: &str) -> Option<u16> {
    queue_of(line.strip_prefix(':')?.split(' ').next()?)
}

/// The queue that `chain` is for, if it is ours.
fn queue_of(chain: &str) -> Option<u16> {
    let number = chain.strip_prefix(CHAIN)?;
    number.strip_suffix(MARKS).unwrap_or(number).parse().ok()
}

/// Whether `line` is a rule that leads to a chain of ours for `queue`.
fn leads(line: &str, queue: u16) -> bool {
    line.rsplit_once(" -j ").is_some_and(|(_, target)| queue_of(target) == Some(queue))
}

/// Whether the rules of `rules` are in what was saved. How the tool prints them is its own, so they are counted.
fn is_whole(saved: &str, rules: &Rules) -> bool {
    let queue = rules.queues.first();
    let filled = |chain: String| mangle(saved).any(|line| line.starts_with(&format!("-A {chain} ")));
    let leading = mangle(saved).filter(|line| leads(line, queue)).count();
    leading >= 3 * rules.interfaces.len()
        && filled(format!("{CHAIN}{queue}"))
        && filled(format!("{CHAIN}{queue}{MARKS}"))
}

/// The transaction that removes our chains for `queue` and the rules that lead there; `None` if there are none.
fn removal(saved: &str, queue: u16) -> Option<String> {
    let chains: Vec<&str> = mangle(saved)
        .filter(|line| queue_of_chain_line(line) == Some(queue))
        .filter_map(|line| line.strip_prefix(':')?.split(' ').next())
        .collect();
    if chains.is_empty() {
        return None;
    }
    let mut script = String::from("*mangle\n");
    for rule in mangle(saved).filter(|line| leads(line, queue)) {
        script += &rule.replacen("-A ", "-D ", 1);
        script.push('\n');
    }
    script.extend(chains.iter().map(|chain| format!("-F {chain}\n")));
    script.extend(chains.iter().map(|chain| format!("-X {chain}\n")));
    Some(script + "COMMIT\n")
}

pub(super) fn shown(rules: &Rules) -> String {
    let names: Vec<&str> = families().iter().map(|family| family.restore).collect();
    let command = names.join(" and ");
    format!("# {command} --noflush --wait 5\n{}", script(rules))
}

/// What sends a packet to a queue. Among several the processor decides that has the packet: a choice by addresses alone makes the
/// processors wait for each other's queues, and at overload nothing gets on.
fn target(queues: Queues) -> String {
    if queues.first() == queues.last() {
        format!("NFQUEUE --queue-num {queues} --queue-bypass")
    } else {
        format!("NFQUEUE --queue-balance {queues} --queue-cpu-fanout --queue-bypass")
    }
}

/// One transaction. Packets are marked first of all in POSTROUTING, before a rule of others changes the mark.
fn script(rules: &Rules) -> String {
    let Rules { queues, interfaces, ce_bit } = rules;
    let (chain, target) = (format!("{CHAIN}{}", queues.first()), target(*queues));
    let mut script = format!(
        "\
*mangle
:{chain} - [0:0]
:{chain}{MARKS} - [0:0]
-A {chain} -j {target}
-A {chain}{MARKS} -j TOS --set-tos 0x03/0x03
-A {chain}{MARKS} -j MARK --set-xmark 0x0/{ce_bit:#x}
"
    );
    for name in interfaces {
        script += &format!(
            "\
-A FORWARD -o {name} -j {chain}
-A OUTPUT -o {name} -j {chain}
-I POSTROUTING 1 -o {name} -m mark --mark {ce_bit:#x}/{ce_bit:#x} -j {chain}{MARKS}
"
        );
    }
    script + "COMMIT\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::rules;

    /// As iptables-save(8) prints it.
    const SAVED: &str = "\
# Generated by iptables-save v1.8.9
*filter
:FORWARD ACCEPT [0:0]
:FAIRLANE-Q7 - [0:0]
-A FORWARD -j FAIRLANE-Q7
COMMIT
*mangle
:PREROUTING ACCEPT [0:0]
:FORWARD ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:FAIRLANE-Q7 - [0:0]
:FAIRLANE-Q7-CE - [0:0]
:FAIRLANE-Q70 - [0:0]
:MY-FAIRLANE-Q7 - [0:0]
:FAIRLANE-QX - [0:0]
-A FORWARD -o eth0 -j FAIRLANE-Q7
-A FORWARD -m comment --comment \"not -A, and to -j FAIRLANE-Q7\" -j ACCEPT
-A FORWARD -o eth0 -j FAIRLANE-Q70
-A FORWARD -j MY-FAIRLANE-Q7
-A POSTROUTING -o eth0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE
-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass
-A FAIRLANE-Q7-CE -j TOS --set-tos 0x03/0x03
COMMIT
*nat
:FAIRLANE-Q8 - [0:0]
COMMIT
";

    /// Would catch the removal of a rule or a chain of others, of another table or of another queue.
    #[test]
    fn only_what_is_ours_is_removed() {
        let expected = "\
*mangle
-D FORWARD -o eth0 -j FAIRLANE-Q7
-D POSTROUTING -o eth0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE
-F FAIRLANE-Q7
-F FAIRLANE-Q7-CE
-X FAIRLANE-Q7
-X FAIRLANE-Q7-CE
COMMIT
";
        assert_eq!(removal(SAVED, 7).as_deref(), Some(expected));
        assert_eq!((removal(SAVED, 8), removal("", 7)), (None, None));
        let found: Vec<u16> = mangle(SAVED).filter_map(queue_of_chain_line).collect();
        assert_eq!(found, [7, 7, 70]);
    }

    /// What the script makes is whole; without any one of its rules it is not.
    #[test]
    fn rules_that_are_gone_are_missed() {
        let script = script(&rules()).replace("-I POSTROUTING 1", "-A POSTROUTING");
        assert!(is_whole(&script, &rules()));
        for gone in [
            "-A FAIRLANE-Q7 ",
            "-A FAIRLANE-Q7-CE ",
            "-A FORWARD -o wan.2 ",
            "-A OUTPUT -o eth0 ",
            "-A POSTROUTING -o eth0 ",
        ] {
            let left: String =
                script.lines().filter(|line| !line.starts_with(gone)).map(|line| format!("{line}\n")).collect();
            assert!(left.len() < script.len() && !is_whole(&left, &rules()), "{gone}");
        }
        assert!(!is_whole("", &rules()));
    }

    /// Would catch a rule without bypass, and one that is not for the interfaces that were given.
    #[test]
    fn the_script_is_one_transaction() {
        let script = script(&rules());
        let rules: Vec<&str> = script.lines().filter(|line| line.starts_with('-')).collect();
        let expected = [
            "-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass",
            "-A FAIRLANE-Q7-CE -j TOS --set-tos 0x03/0x03",
            "-A FAIRLANE-Q7-CE -j MARK --set-xmark 0x0/0x40000000",
            "-A FORWARD -o eth0 -j FAIRLANE-Q7",
            "-A OUTPUT -o eth0 -j FAIRLANE-Q7",
            "-I POSTROUTING 1 -o eth0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE",
            "-A FORWARD -o wan.2 -j FAIRLANE-Q7",
            "-A OUTPUT -o wan.2 -j FAIRLANE-Q7",
            "-I POSTROUTING 1 -o wan.2 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE",
        ];
        assert_eq!(rules, expected);
        let several = Rules { queues: Queues::new(7, 9).unwrap(), ..self::rules() };
        let target = "-A FAIRLANE-Q7 -j NFQUEUE --queue-balance 7:9 --queue-cpu-fanout --queue-bypass\n";
        assert!(super::script(&several).contains(target));
        assert!(script.starts_with("*mangle\n:FAIRLANE-Q7 - [0:0]\n:FAIRLANE-Q7-CE - [0:0]\n"));
        assert!(script.ends_with("COMMIT\n") && script.matches("COMMIT").count() == 1);
    }
}
