//! Rules by iptables-restore(8) and ip6tables-restore(8): chains in `mangle`, and the rules that jump to them.
//!
//! Leaving packets are queued in POSTROUTING, behind all filters and routing decisions, and arriving ones in
//! PREROUTING. A packet that is accepted there goes on with the next table, so others' rules in this one would not see
//! it. Hence it is sent through the hook once more, with a bit in its mark: our rules, the first ones, know it by that,
//! clear the bit, and let it pass to all others. No rule of others and no routing decision sees the bit.

use std::path::Path;

use fairlane_qdisc::headers::Network;

use super::encrypted::{Encrypted, once_if_possible};
use super::tool::run;
use super::{RuleDirection, RuleError, Rules};
use crate::nfqueue::queue_numbers::Queues;

/// The tools for IPv4 and IPv6.
const FAMILIES: [Family; 2] = [
    Family { restore: "iptables-restore", list: "iptables", is_ipv4: true },
    Family { restore: "ip6tables-restore", list: "ip6tables", is_ipv4: false },
];

/// The prefix of chain names, followed by the number of the queue.
const CHAIN: &str = "FAIRLANE-Q";

/// The suffix of the chain for packets that have left the queue.
const PASSED: &str = "-PASSED";

/// The time that the tools wait for others that change rules, in seconds.
const WAIT: &str = "2";

/// A file that exists only with IPv6.
const IPV6: &str = "/proc/thread-self/net/if_inet6";

#[derive(Clone, Copy, Debug)]
struct Family {
    restore: &'static str,
    list: &'static str,
    is_ipv4: bool,
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
pub(super) fn install(rules: &Rules) -> Result<Encrypted, RuleError> {
    let each = families().iter().map(|family| family.install(rules)).collect::<Result<Vec<_>, _>>();
    match each {
        Ok(each) if each.contains(&Encrypted::Twice) => Ok(Encrypted::Twice),
        Ok(_) => Ok(Encrypted::Once),
        Err(error) => {
            // The first error is the one to report. The next start finds what cannot be removed now.
            let _ = remove(rules.queues.first());
            Err(error)
        }
    }
}

pub(super) fn stop(queue: u16) -> Result<(), RuleError> {
    families().iter().try_for_each(|family| family.stop(queue))
}

pub(super) fn remove(queue: u16) -> Result<(), RuleError> {
    families().iter().try_for_each(|family| family.remove(queue))
}

/// Returns the rules of others in `mangle`, where firewall marks are made.
pub(super) fn others() -> Result<String, RuleError> {
    let mut all = String::new();
    for family in families() {
        let listed = family.list()?.unwrap_or_default();
        let of_others = listed.lines().filter(|line| !line.split(' ').any(|word| queue_of(word).is_some()));
        of_others.for_each(|line| all.extend([line, "\n"]));
    }
    Ok(all)
}

/// Returns `true` if all families have the rules that jump to our chains before all others, and those in our chains.
pub(super) fn is_installed(rules: &Rules) -> Result<bool, RuleError> {
    for family in families() {
        if !is_complete(&family.list()?.unwrap_or_default(), rules, family.is_ipv4) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the queues for which there are chains of ours; `None` without iptables.
pub(super) fn installed() -> Result<Option<Vec<u16>>, RuleError> {
    let mut found = Vec::new();
    for family in families() {
        let Some(listed) = family.list()? else { return Ok(None) };
        found.extend(listed.lines().filter_map(queue_of_chain_line));
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

    /// Returns the rules of `mangle`; `None` if there is no tool. Unlike iptables-save(8), this takes no longer where
    /// other tables have ten thousands of rules.
    fn list(self) -> Result<Option<String>, RuleError> {
        run(self.list, &["--wait", WAIT, "-t", "mangle", "-S"], "")
    }

    fn install(self, rules: &Rules) -> Result<Encrypted, RuleError> {
        let listed = self.list()?.unwrap_or_default();
        once_if_possible(|encrypted| self.restore(&script(rules, &listed, encrypted)))
    }

    fn stop(self, queue: u16) -> Result<(), RuleError> {
        let listed = self.list()?.unwrap_or_default();
        let there = listed.lines().any(|line| queue_of_chain_line(line) == Some(queue));
        if there { self.restore(&format!("*mangle\n-F {CHAIN}{queue}\nCOMMIT\n")) } else { Ok(()) }
    }

    fn remove(self, queue: u16) -> Result<(), RuleError> {
        removal(&self.list()?.unwrap_or_default(), queue).map_or(Ok(()), |script| self.restore(&script))
    }
}

/// Returns the queue of a chain of ours, from the line that declares it: `-N FAIRLANE-Q0`.
fn queue_of_chain_line(line: &str) -> Option<u16> {
    queue_of(line.strip_prefix("-N ")?)
}

/// Returns the queue of `chain` if it is ours.
fn queue_of(chain: &str) -> Option<u16> {
    let number = chain.strip_prefix(CHAIN)?;
    number.strip_suffix(PASSED).unwrap_or(number).parse().ok()
}

/// Returns `true` if `line` is a rule that jumps to a chain of ours for `queue`.
fn jumps_to_chain(line: &str, queue: u16) -> bool {
    line.rsplit_once(" -j ").is_some_and(|(_, target)| queue_of(target) == Some(queue))
}

/// Returns `true` if the listed rules contain `rules`, before those of others. The tool's formatting may differ, so the
/// rules are counted.
fn is_complete(listed: &str, rules: &Rules, is_ipv4: bool) -> bool {
    let queue = rules.queues.first();
    let count = |chain: String| listed.lines().filter(|line| line.starts_with(&format!("-A {chain} "))).count();
    let exempt = rules.exempt.networks().iter().filter(|network| network.address().is_ipv4() == is_ipv4).count();
    let ours: Vec<&str> = leading(listed, rules.direction).collect();
    let in_order = ours.iter().is_sorted_by_key(|line| line.ends_with(PASSED));
    let jumps: Vec<&&str> = ours.iter().filter(|line| jumps_to_chain(line, queue)).collect();
    let bridges = if rules.direction == RuleDirection::Leaving { rules.bridges().count() } else { 0 };
    in_order
        && jumps.len() == 2 * rules.interfaces.len()
        && jumps.iter().filter(|line| line.contains(" --physdev-is-bridged ")).count() == bridges
        && count(format!("{CHAIN}{queue}")) == exempt + 1
        && count(format!("{CHAIN}{queue}{PASSED}")) > 0
}

/// Returns the first rules of the hook as long as they are those of routers, this one or others.
fn leading(listed: &str, direction: RuleDirection) -> impl Iterator<Item = &str> {
    let of_hook =
        move |line: &&str| line.strip_prefix("-A ").is_some_and(|rule| rule.split(' ').next() == Some(hook(direction)));
    let is_ours = |line: &&str| line.rsplit_once(" -j ").is_some_and(|(_, target)| queue_of(target).is_some());
    listed.lines().filter(of_hook).take_while(is_ours)
}

/// Returns the hook whose packets are queued.
const fn hook(direction: RuleDirection) -> &'static str {
    match direction {
        RuleDirection::Leaving => "POSTROUTING",
        RuleDirection::Arriving => "PREROUTING",
    }
}

/// Returns the transaction that removes our chains for `queue` and the rules that jump to them; `None` if there are
/// none.
fn removal(listed: &str, queue: u16) -> Option<String> {
    let declared = listed.lines().filter(|line| queue_of_chain_line(line) == Some(queue));
    let chains: Vec<&str> = declared.filter_map(|line| line.strip_prefix("-N ")).collect();
    if chains.is_empty() {
        return None;
    }
    let mut script = format!("*mangle\n{}", jumps_removed(listed, queue));
    script.extend(chains.iter().map(|chain| format!("-F {chain}\n")));
    script.extend(chains.iter().map(|chain| format!("-X {chain}\n")));
    Some(script + "COMMIT\n")
}

/// Returns the lines that remove the rules that jump to our chains for `queue`.
fn jumps_removed(listed: &str, queue: u16) -> String {
    let jumps = listed.lines().filter(|line| jumps_to_chain(line, queue));
    jumps.map(|rule| rule.replacen("-A ", "-D ", 1) + "\n").collect()
}

pub(super) fn script_with_command(rules: &Rules) -> String {
    let names: Vec<&str> = families().iter().map(|family| family.restore).collect();
    let command = names.join(" and ");
    format!("# {command} --noflush --wait {WAIT}\n{}", script(rules, "", Encrypted::Once))
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

/// Returns the transaction that installs the rules in place of those that are `listed`. Declaring a chain empties it.
fn script(rules: &Rules, listed: &str, encrypted: Encrypted) -> String {
    let Rules { direction, queues, interfaces, bits, exempt } = rules;
    let (chain, target) = (format!("{CHAIN}{}", queues.first()), target(*queues));
    let hook = hook(*direction);
    let (by, far, policy) = match direction {
        RuleDirection::Leaving => ("-o", "-d", " -m policy --dir out --pol none"),
        RuleDirection::Arriving => ("-i", "-s", " -m policy --dir in --pol none"),
    };
    let outer = if encrypted == Encrypted::Once { policy } else { "" };
    // A rule with the option of the other family is ignored (iptables(8)).
    let family = |network: &Network| if network.address().is_ipv4() { "-4" } else { "-6" };
    let exempt = exempt.networks().iter();
    let exempt: String =
        exempt.map(|network| format!("{} -A {chain} {far} {network} -j RETURN\n", family(network))).collect();
    let (passed, ce, both) = (bits.passed, bits.ce, bits.mask());
    let mut script = format!(
        "\
*mangle
:{chain} - [0:0]
:{chain}{PASSED} - [0:0]
{}{exempt}-A {chain} -j {target}
-A {chain}{PASSED} -m mark --mark {ce:#x}/{ce:#x} -m tos ! --tos 0x00/0x03 -j TOS --set-tos 0x03/0x03
-A {chain}{PASSED} -j MARK --set-xmark 0x0/{both:#x}
",
        jumps_removed(listed, queues.first())
    );
    // Rules that queue are before those for packets that have passed, also those of other routers: a packet whose bit
    // one router's rule had cleared would come to the other's queue, be repeated, and go round for ever.
    let others = leading(listed, *direction).filter(|line| !jumps_to_chain(line, queues.first()));
    let behind = others.take_while(|line| !line.ends_with(PASSED)).count() + interfaces.len() + 1;
    for name in interfaces {
        // Packets from port to port of a bridge do not leave by its link.
        let routed = if *direction == RuleDirection::Leaving && rules.bridges().any(|bridge| bridge == name) {
            " -m physdev ! --physdev-is-bridged"
        } else {
            ""
        };
        script +=
            &format!("-I {hook} 1 {by} {name}{routed}{outer} -m mark ! --mark {passed:#x}/{passed:#x} -j {chain}\n");
    }
    for name in interfaces {
        script +=
            &format!("-I {hook} {behind} {by} {name} -m mark --mark {passed:#x}/{passed:#x} -j {chain}{PASSED}\n");
    }
    script + "COMMIT\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::exempt::Exempt;
    use crate::rules::tests::rules;

    /// In the format of `iptables -S`.
    const LISTED: &str = "\
-P PREROUTING ACCEPT
-P FORWARD ACCEPT
-P POSTROUTING ACCEPT
-N FAIRLANE-Q7
-N FAIRLANE-Q7-PASSED
-N FAIRLANE-Q70
-N MY-FAIRLANE-Q7
-N FAIRLANE-QX
-A FORWARD -m comment --comment \"not -A, and to -j FAIRLANE-Q7\" -j ACCEPT
-A FORWARD -j MY-FAIRLANE-Q7
-A POSTROUTING -o eth0 -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7
-A POSTROUTING -o eth0 -j FAIRLANE-Q70
-A POSTROUTING -o eth0 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED
-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass
-A FAIRLANE-Q7-PASSED -j TOS --set-tos 0x03/0x03
";

    /// Returns the rules of the script as they are listed once they are installed, each at its place in its chain.
    fn listed(script: &str) -> String {
        let mut lines: Vec<String> = Vec::new();
        for line in script.lines() {
            let Some(rule) = line.strip_prefix("-I ") else {
                lines.push(line.to_owned());
                continue;
            };
            let mut words = rule.splitn(3, ' ');
            let (chain, place, rule) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
            let begin = format!("-A {chain} ");
            let first = lines.iter().position(|line| line.starts_with(&begin)).unwrap_or(lines.len());
            let there = lines.iter().filter(|line| line.starts_with(&begin)).count();
            let place: usize = place.parse().unwrap();
            assert!((1..=there + 1).contains(&place), "iptables refuses {line}");
            lines.insert(first + place - 1, begin + rule);
        }
        lines.join("\n") + "\n"
    }

    /// Would catch the removal of a rule or chain of another owner, table or queue.
    #[test]
    fn only_our_rules_are_removed() {
        let expected = "\
*mangle
-D POSTROUTING -o eth0 -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7
-D POSTROUTING -o eth0 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED
-F FAIRLANE-Q7
-F FAIRLANE-Q7-PASSED
-X FAIRLANE-Q7
-X FAIRLANE-Q7-PASSED
COMMIT
";
        assert_eq!(removal(LISTED, 7).as_deref(), Some(expected));
        assert_eq!((removal(LISTED, 8), removal("", 7)), (None, None));
        let found: Vec<u16> = LISTED.lines().filter_map(queue_of_chain_line).collect();
        assert_eq!(found, [7, 7, 70]);
    }

    /// Would catch packets that pass unqueued between two transactions, a rule of the old interfaces that stays, and
    /// one of another owner that is removed.
    #[test]
    fn rules_are_replaced_in_one_transaction() {
        let script = script(&Rules { interfaces: vec!["eth1".to_owned()], ..rules() }, LISTED, Encrypted::Once);
        let expected = "\
*mangle
:FAIRLANE-Q7 - [0:0]
:FAIRLANE-Q7-PASSED - [0:0]
-D POSTROUTING -o eth0 -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7
-D POSTROUTING -o eth0 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED
-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass
";
        assert!(script.starts_with(expected), "{script}");
        // Behind the rule of router 70.
        let passed = "-I POSTROUTING 3 -o eth1 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED\nCOMMIT\n";
        assert!(script.ends_with(passed) && script.matches("COMMIT").count() == 1, "{script}");
    }

    /// Would catch a missing rule that is not noticed, complete rules that are not recognised, and a rule of others
    /// before ours, which may accept packets.
    #[test]
    fn missing_rules_are_noticed() {
        let whole = listed(&script(&rules(), "", Encrypted::Once));
        assert!(is_complete(&whole, &rules(), true), "{whole}");
        for gone in [
            "-A FAIRLANE-Q7 ",
            "-A FAIRLANE-Q7-PASSED ",
            "-A POSTROUTING -o wan.2 -m policy --dir out --pol none -m mark ! ",
            "-A POSTROUTING -o wan.2 -m mark --mark",
            "-A POSTROUTING -o eth0 -m policy --dir out --pol none -m mark ! ",
        ] {
            let left: String =
                whole.lines().filter(|line| !line.starts_with(gone)).map(|line| format!("{line}\n")).collect();
            assert!(left.len() < whole.len() && !is_complete(&left, &rules(), true), "{gone}");
        }
        assert!(!is_complete("", &rules(), true));
        let first = whole.find("-A POSTROUTING").unwrap();
        let with = |at: usize, rule: &str| format!("{}{rule}\n{}", &whole[..at], &whole[at..]);
        assert!(!is_complete(&with(first, "-A POSTROUTING -o eth0 -j ACCEPT"), &rules(), true));
        assert!(is_complete(&with(first, "-A POSTROUTING -o eth1 -j FAIRLANE-Q70"), &rules(), true));
        assert!(is_complete(&with(whole.len() - "COMMIT\n".len(), "-A POSTROUTING -o eth0 -j ACCEPT"), &rules(), true));
        // The queue of another router behind our rule for packets that have passed: they would go round.
        let behind = whole.rfind("-A POSTROUTING").unwrap();
        assert!(!is_complete(&with(behind, "-A POSTROUTING -o eth0 -j FAIRLANE-Q70"), &rules(), true));
    }

    /// Would catch a bit that a routing decision sees, or that stays.
    #[test]
    fn arriving_packets_are_queued_before_they_are_routed() {
        let rules = Rules { direction: RuleDirection::Arriving, interfaces: vec!["wan0".to_owned()], ..rules() };
        let script = listed(&script(&rules, "", Encrypted::Once));
        let jumps: Vec<&str> = script.lines().filter(|line| line.contains("wan0")).collect();
        let expected = [
            "-A PREROUTING -i wan0 -m policy --dir in --pol none -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7",
            "-A PREROUTING -i wan0 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED",
        ];
        assert_eq!(jumps, expected);
        assert!(is_complete(&script, &rules, true));
    }

    /// Each family has its own prefixes (iptables(8), `-4` and `-6`). Would catch rules behind the one that queues, the
    /// near address in place of the far one, and a missing rule that is not noticed.
    #[test]
    fn exempt_addresses_are_not_queued() {
        let exempt = ["10.0.0.0/8", "192.168.1.1", "fd00::/8"].map(|network| network.parse().unwrap());
        let rules = rules().exempting(Exempt::new(&exempt));
        let whole = script(&rules, "", Encrypted::Once);
        let expected = "\
-4 -A FAIRLANE-Q7 -d 10.0.0.0/8 -j RETURN
-4 -A FAIRLANE-Q7 -d 192.168.1.1 -j RETURN
-6 -A FAIRLANE-Q7 -d fd00::/8 -j RETURN
-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass
";
        assert!(whole.contains(expected), "{whole}");
        let arriving = Rules { direction: RuleDirection::Arriving, ..rules.clone() };
        assert!(script(&arriving, "", Encrypted::Once).contains("-6 -A FAIRLANE-Q7 -s fd00::/8 -j RETURN\n"));
        for (option, other, is_ipv4) in [("-4 ", "-6 ", true), ("-6 ", "-4 ", false)] {
            let of_family = whole.lines().filter(|line| !line.starts_with(other));
            let of_family: String = of_family.map(|line| format!("{}\n", line.trim_start_matches(option))).collect();
            let listed = listed(&of_family);
            assert!(is_complete(&listed, &rules, is_ipv4), "{listed}");
            let first = listed.lines().find(|line| line.ends_with("RETURN")).unwrap();
            assert!(!is_complete(&listed.replace(&format!("{first}\n"), ""), &rules, is_ipv4));
        }
    }

    /// Would catch a rule without bypass, one for an interface that was not given, and a packet that comes to the queue
    /// twice.
    #[test]
    fn the_script_is_one_transaction() {
        let script = script(&rules(), "", Encrypted::Once);
        let whole = listed(&script);
        let installed: Vec<&str> = whole.lines().filter(|line| line.starts_with('-')).collect();
        let expected = [
            "-A FAIRLANE-Q7 -j NFQUEUE --queue-num 7 --queue-bypass",
            "-A FAIRLANE-Q7-PASSED -m mark --mark 0x40000000/0x40000000 -m tos ! --tos 0x00/0x03 -j TOS --set-tos 0x03/0x03",
            "-A FAIRLANE-Q7-PASSED -j MARK --set-xmark 0x0/0x60000000",
            "-A POSTROUTING -o wan.2 -m policy --dir out --pol none -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7",
            "-A POSTROUTING -o eth0 -m policy --dir out --pol none -m mark ! --mark 0x20000000/0x20000000 -j FAIRLANE-Q7",
            "-A POSTROUTING -o wan.2 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED",
            "-A POSTROUTING -o eth0 -m mark --mark 0x20000000/0x20000000 -j FAIRLANE-Q7-PASSED",
        ];
        assert_eq!(installed, expected);
        let several = Rules { queues: Queues::new(7, 9).unwrap(), ..rules() };
        let target = "-A FAIRLANE-Q7 -j NFQUEUE --queue-balance 7:9 --queue-cpu-fanout --queue-bypass\n";
        assert!(super::script(&several, "", Encrypted::Once).contains(target));
        assert!(script.starts_with("*mangle\n:FAIRLANE-Q7 - [0:0]\n:FAIRLANE-Q7-PASSED - [0:0]\n"));
        assert!(script.ends_with("COMMIT\n") && script.matches("COMMIT").count() == 1);
    }
}
