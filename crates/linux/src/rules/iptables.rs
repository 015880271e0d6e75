//! Rules by iptables-restore(8) and ip6tables-restore(8): chains in `mangle`, and the rules that jump to them.
//!
//! The target `TOS` exists in `mangle` only, so a packet has to be queued in a hook before the last, POSTROUTING. That
//! is before `filter`: packets that are filtered there have passed the queue.

use std::path::Path;

use super::tool::run;
use super::{RuleDirection, RuleError, Rules};
use crate::nfqueue::queue_numbers::Queues;

/// The tools for IPv4 and IPv6.
const FAMILIES: [Family; 2] = [
    Family { restore: "iptables-restore", save: "iptables-save" },
    Family { restore: "ip6tables-restore", save: "ip6tables-save" },
];

/// The prefix of chain names, followed by the number of the queue.
const CHAIN: &str = "FAIRLANE-Q";

/// The suffix of the chain that marks packets.
const MARKS: &str = "-CE";

/// The time that the tools wait for others that change rules, in seconds.
const WAIT: &str = "3";

/// A file that exists only with IPv6.
const IPV6: &str = "/proc/thread-self/net/if_inet6";

#[derive(Clone, Copy, Debug)]
struct Family {
    restore: &'static str,
    save: &'static str,
}

/// Returns the address families that the kernel has.
fn families() -> &'static [Family] {
    if Path::new(IPV6).exists() { &FAMILIES } else { &FAMILIES[..1] }
}

pub(super) fn is_available() -> bool {
    families().iter().all(|family| matches!(run(family.restore, &["--version"], ""), Ok(Some(_))))
}

/// Installs the rules in place of existing ones, one transaction for each family. If one fails, the rules of all are
/// removed.
pub(super) fn install(rules: &Rules) -> Result<(), RuleError> {
    for family in families() {
        if let Err(error) = family.install(rules) {
            // The first error is the one to report. The next start finds what cannot be removed now.
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

/// Returns `true` if all families have the rules that jump to our chains, and those in our chains.
pub(super) fn is_installed(rules: &Rules) -> Result<bool, RuleError> {
    for family in families() {
        if !is_complete(&family.save()?, rules) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the queues for which there are chains of ours; `None` without iptables.
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
        // The wait is shorter than the watchdog of a service manager.
        run(self.restore, &["--noflush", "--wait", WAIT], script)?.map(drop).ok_or(RuleError::NoTool)
    }

    /// Returns all rules as saved by the tool; an empty string if there is no tool.
    fn save(self) -> Result<String, RuleError> {
        run(self.save, &[], "").map(Option::unwrap_or_default)
    }

    fn install(self, rules: &Rules) -> Result<(), RuleError> {
        self.restore(&script(rules, &self.save()?))
    }

    fn stop(self, queue: u16) -> Result<(), RuleError> {
        let there = mangle(&self.save()?).any(|line| queue_of_chain_line(line) == Some(queue));
        if there { self.restore(&format!("*mangle\n-F {CHAIN}{queue}\nCOMMIT\n")) } else { Ok(()) }
    }

    fn remove(self, queue: u16) -> Result<(), RuleError> {
        removal(&self.save()?, queue).map_or(Ok(()), |script| self.restore(&script))
    }
}

/// Returns the lines of the table `mangle`.
fn mangle(saved: &str) -> impl Iterator<Item = &str> {
    saved.lines().skip_while(|line| *line != "*mangle").take_while(|line| *line != "COMMIT")
}

/// Returns the queue of a chain of ours, from the line that declares it: `:FAIRLANE-Q0 - [0:0]`.
fn queue_of_chain_line(line: &str) -> Option<u16> {
    queue_of(line.strip_prefix(':')?.split(' ').next()?)
}

/// Returns the queue of `chain` if it is ours.
fn queue_of(chain: &str) -> Option<u16> {
    let number = chain.strip_prefix(CHAIN)?;
    number.strip_suffix(MARKS).unwrap_or(number).parse().ok()
}

/// Returns `true` if `line` is a rule that jumps to a chain of ours for `queue`.
fn jumps_to_chain(line: &str, queue: u16) -> bool {
    line.rsplit_once(" -j ").is_some_and(|(_, target)| queue_of(target) == Some(queue))
}

/// Returns `true` if the saved rules contain `rules`. The tool's formatting may differ, so the rules are counted.
fn is_complete(saved: &str, rules: &Rules) -> bool {
    let queue = rules.queues.first();
    let filled = |chain: String| mangle(saved).any(|line| line.starts_with(&format!("-A {chain} ")));
    let leading = mangle(saved).filter(|line| jumps_to_chain(line, queue)).count();
    leading >= 3 * rules.interfaces.len()
        && filled(format!("{CHAIN}{queue}"))
        && filled(format!("{CHAIN}{queue}{MARKS}"))
}

/// Returns the transaction that removes our chains for `queue` and the rules that jump to them; `None` if there are
/// none.
fn removal(saved: &str, queue: u16) -> Option<String> {
    let chains: Vec<&str> = mangle(saved)
        .filter(|line| queue_of_chain_line(line) == Some(queue))
        .filter_map(|line| line.strip_prefix(':')?.split(' ').next())
        .collect();
    if chains.is_empty() {
        return None;
    }
    let mut script = format!("*mangle\n{}", jumps_removed(saved, queue));
    script.extend(chains.iter().map(|chain| format!("-F {chain}\n")));
    script.extend(chains.iter().map(|chain| format!("-X {chain}\n")));
    Some(script + "COMMIT\n")
}

/// Returns the lines that remove the rules that jump to our chains for `queue`.
fn jumps_removed(saved: &str, queue: u16) -> String {
    let jumps = mangle(saved).filter(|line| jumps_to_chain(line, queue));
    jumps.map(|rule| rule.replacen("-A ", "-D ", 1) + "\n").collect()
}

pub(super) fn script_with_command(rules: &Rules) -> String {
    let names: Vec<&str> = families().iter().map(|family| family.restore).collect();
    let command = names.join(" and ");
    format!("# {command} --noflush --wait {WAIT}\n{}", script(rules, ""))
}

/// Returns the target that sends a packet to a queue. The processor that handles the packet selects among several
/// queues. A selection by addresses would make processors wait for each other's queues, and throughput would collapse
/// at overload.
fn target(queues: Queues) -> String {
    if queues.first() == queues.last() {
        format!("NFQUEUE --queue-num {queues} --queue-bypass")
    } else {
        format!("NFQUEUE --queue-balance {queues} --queue-cpu-fanout --queue-bypass")
    }
}

/// Returns the transaction that installs the rules in place of those that are `saved`. Declaring a chain empties it.
/// Packets are marked first in the hook behind the one that queues them, before another rule changes their mark.
fn script(rules: &Rules, saved: &str) -> String {
    let Rules { direction, queues, interfaces, ce_bit } = rules;
    let (queued_in, by, marked_in) = match direction {
        RuleDirection::Leaving => (&["FORWARD", "OUTPUT"][..], "-o", &["POSTROUTING"][..]),
        RuleDirection::Arriving => (&["PREROUTING"][..], "-i", &["FORWARD", "INPUT"][..]),
    };
    let (chain, target) = (format!("{CHAIN}{}", queues.first()), target(*queues));
    let mut script = format!(
        "\
*mangle
:{chain} - [0:0]
:{chain}{MARKS} - [0:0]
{}-A {chain} -j {target}
-A {chain}{MARKS} -j TOS --set-tos 0x03/0x03
-A {chain}{MARKS} -j MARK --set-xmark 0x0/{ce_bit:#x}
",
        jumps_removed(saved, queues.first())
    );
    for name in interfaces {
        for hook in queued_in {
            script += &format!("-A {hook} {by} {name} -j {chain}\n");
        }
        for hook in marked_in {
            script += &format!("-I {hook} 1 {by} {name} -m mark --mark {ce_bit:#x}/{ce_bit:#x} -j {chain}{MARKS}\n");
        }
    }
    script + "COMMIT\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::rules;

    /// In the format of iptables-save(8).
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

    /// Would catch the removal of a rule or chain of another owner, table or queue.
    #[test]
    fn only_our_rules_are_removed() {
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

    /// Would catch packets that pass unqueued between two transactions, a rule of the old interfaces that stays, and
    /// one of another owner that is removed.
    #[test]
    fn rules_are_replaced_in_one_transaction() {
        let script = script(&Rules { interfaces: vec!["eth1".to_owned()], ..rules() }, SAVED);
        let expected = "\
*mangle
:FAIRLANE-Q7 - [0:0]
:FAIRLANE-Q7-CE - [0:0]
-D FORWARD -o eth0 -j FAIRLANE-Q7
-D POSTROUTING -o eth0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE
-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass
";
        assert!(script.starts_with(expected), "{script}");
        assert!(script.ends_with("-j FAIRLANE-Q7-CE\nCOMMIT\n") && script.matches("COMMIT").count() == 1, "{script}");
    }

    /// Would catch a missing rule that is not noticed, and complete rules that are not recognised.
    #[test]
    fn missing_rules_are_noticed() {
        let script = script(&rules(), "").replace("-I POSTROUTING 1", "-A POSTROUTING");
        assert!(is_complete(&script, &rules()));
        for gone in [
            "-A FAIRLANE-Q7 ",
            "-A FAIRLANE-Q7-CE ",
            "-A FORWARD -o wan.2 ",
            "-A OUTPUT -o eth0 ",
            "-A POSTROUTING -o eth0 ",
        ] {
            let left: String =
                script.lines().filter(|line| !line.starts_with(gone)).map(|line| format!("{line}\n")).collect();
            assert!(left.len() < script.len() && !is_complete(&left, &rules()), "{gone}");
        }
        assert!(!is_complete("", &rules()));
    }

    /// Would catch a mark that is set in a hook before the queue's, and one that is left to other packets.
    #[test]
    fn arriving_packets_are_queued_before_they_are_routed() {
        let rules = Rules { direction: RuleDirection::Arriving, interfaces: vec!["wan0".to_owned()], ..rules() };
        let script = script(&rules, "");
        let jumps: Vec<&str> = script.lines().filter(|line| line.contains("wan0")).collect();
        let expected = [
            "-A PREROUTING -i wan0 -j FAIRLANE-Q7",
            "-I FORWARD 1 -i wan0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE",
            "-I INPUT 1 -i wan0 -m mark --mark 0x40000000/0x40000000 -j FAIRLANE-Q7-CE",
        ];
        assert_eq!(jumps, expected);
        assert!(is_complete(&script.replace("-I FORWARD 1", "-A FORWARD").replace("-I INPUT 1", "-A INPUT"), &rules));
    }

    /// Would catch a rule without bypass, and one for an interface that was not given.
    #[test]
    fn the_script_is_one_transaction() {
        let script = script(&rules(), "");
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
        assert!(super::script(&several, "").contains(target));
        assert!(script.starts_with("*mangle\n:FAIRLANE-Q7 - [0:0]\n:FAIRLANE-Q7-CE - [0:0]\n"));
        assert!(script.ends_with("COMMIT\n") && script.matches("COMMIT").count() == 1);
    }
}
