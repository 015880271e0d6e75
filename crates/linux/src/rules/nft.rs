//! Rules by nft(8), in a table of their own.

use super::encrypted::{Encrypted, once_if_possible};
use super::tool::run;
use super::{RuleDirection, RuleError, Rules};
use crate::nfqueue::queue_numbers::Queues;

const NFT: &str = "nft";

/// The prefix of table names, followed by the number of the queue.
const TABLE: &str = "fairlane_q";

/// The address family of the tables: IPv4 and IPv6.
const FAMILY: &str = "inet";

/// Returns `true` if nft and the kernel support the statements of our rules.
pub(super) fn is_available() -> bool {
    matches!(run(NFT, &["--check", "--file", "-"], &probe()), Ok(Some(_)))
}

/// Returns a table with these statements in a chain without a hook. A hook that is removed would make the kernel drop
/// the packets that wait in any queue.
fn probe() -> String {
    format!(
        "\
table {FAMILY} {TABLE}robe {{
	chain statements {{
		oifname {{ \"lo\" }} meta mark & 0x1 == 0x1 ip ecn set ce
		queue num 0 bypass
	}}
}}
"
    )
}

pub(super) fn install(rules: &Rules) -> Result<Encrypted, RuleError> {
    once_if_possible(|encrypted| {
        let outer = if encrypted == Encrypted::Once { outer(rules.direction) } else { "" };
        run(NFT, &["--file", "-"], &script(rules, outer))?.map(drop).ok_or(RuleError::NoTool)
    })
}

pub(super) fn stop(queue: u16) -> Result<(), RuleError> {
    if !has(queue)? {
        return Ok(());
    }
    let script = format!("flush chain {FAMILY} {TABLE}{queue} to_queue\n");
    run(NFT, &["--file", "-"], &script)?.map(drop).ok_or(RuleError::NoTool)
}

pub(super) fn remove(queue: u16) -> Result<(), RuleError> {
    if !has(queue)? {
        return Ok(());
    }
    run(NFT, &["--file", "-"], &format!("delete table {FAMILY} {TABLE}{queue}\n"))?.map(drop).ok_or(RuleError::NoTool)
}

/// Returns the queues for which there is a table of ours; `None` without nft.
pub(super) fn installed() -> Result<Option<Vec<u16>>, RuleError> {
    // `list tables` takes seconds where there are ten thousands of rules.
    Ok(run(NFT, &["list", "chains", FAMILY], "")?.map(|tables| queues(&tables)))
}

/// Returns all rules but ours; where there are so many that the tool cannot list them in time, the names of their
/// chains.
pub(super) fn others() -> Result<String, RuleError> {
    let all = match run(NFT, &["--stateless", "list", "ruleset"], "") {
        Err(RuleError::Hangs(..)) => run(NFT, &["list", "chains"], ""),
        all => all,
    };
    let all = all?.unwrap_or_default();
    let mut ours = false;
    let lines = all.lines().filter(|line| {
        if line.starts_with("table ") {
            ours = !queues(line).is_empty();
        }
        !ours
    });
    Ok(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns `true` if all our statements are there.
pub(super) fn is_installed(rules: &Rules) -> Result<bool, RuleError> {
    let queue = rules.queues.first();
    Ok(has(queue)?
        && run(NFT, &["list", "table", FAMILY, &format!("{TABLE}{queue}")], "")?
            .is_some_and(|listed| is_complete(&listed, rules)))
}

/// Returns `true` if the listed table has the rules. The tool's formatting differs from ours, so statements are
/// counted.
fn is_complete(listed: &str, rules: &Rules) -> bool {
    let named = |line: &&str| rules.interfaces.iter().all(|name| line.contains(&format!("\"{name}\"")));
    let of_ours: Vec<&str> =
        listed.lines().filter(|line| line.contains(matched(rules.direction))).filter(named).collect();
    let with = |word: &str| of_ours.iter().filter(|line| line.contains(word)).count();
    with(" queue ") == 1
        && with(" accept") == exempt(rules).count()
        && with(" ecn set ce") == 2
        && with(" meta mark set ") == 1
}

/// Returns `true` if there is a table of ours for `queue`.
fn has(queue: u16) -> Result<bool, RuleError> {
    Ok(installed()?.is_some_and(|queues| queues.contains(&queue)))
}

/// Returns the queues of our tables among those listed.
fn queues(tables: &str) -> Vec<u16> {
    let ours = |line: &str| {
        let name = line.strip_prefix("table ")?.strip_prefix(FAMILY)?.trim().trim_end_matches(" {");
        name.strip_prefix(TABLE)?.parse().ok()
    };
    tables.lines().filter_map(ours).collect()
}

pub(super) fn script_with_command(rules: &Rules) -> String {
    format!("# {NFT} --file -\n{}", script(rules, outer(rules.direction)))
}

/// Returns the statement that sends a packet to a queue. The processor that handles the packet selects among several
/// queues.
fn statement(queues: Queues) -> String {
    if queues.first() == queues.last() {
        format!("queue num {queues} bypass")
    } else {
        format!("queue flags bypass,fanout to {}-{}", queues.first(), queues.last())
    }
}

/// Returns the transaction that installs the rules. The first two lines remove the rules of an existing table and work
/// without one too. Its chains stay, since the kernel drops the packets that wait in any queue when a chain leaves its
/// hook.
///
/// Leaving packets are queued behind all filters (priority 0) and before source addresses are translated (priority
/// 100); arriving ones behind connection tracking (-200) and before destinations are translated (-100). They continue
/// with the hook after the one that queued them, which marks.
///
/// Packets that `outer` does not match are not queued.
fn script(rules: &Rules, outer: &str) -> String {
    let Rules { direction, queues, interfaces, bits, .. } = rules;
    let ce_bit = bits.ce;
    let (hook, priority) = match direction {
        RuleDirection::Leaving => ("postrouting", 0),
        RuleDirection::Arriving => ("prerouting", -150),
    };
    let names: Vec<String> = interfaces.iter().map(|name| format!("\"{name}\"")).collect();
    let by = format!("{} {{ {} }}", matched(*direction), names.join(", "));
    let marked = format!("{by} meta mark & {ce_bit:#x} == {ce_bit:#x}");
    let table = format!("table {FAMILY} {TABLE}{}", queues.first());
    let queue = statement(*queues);
    let exempt: String = exempt(rules).map(|matched| format!("\t\t{by} {matched} accept\n")).collect();
    format!(
        "\
{table}
flush {table}
{table} {{
	chain to_queue {{
		type filter hook {hook} priority {priority}; policy accept;
{exempt}		{by} {outer}{queue}
	}}
	chain set_ce {{
		type filter hook {hook} priority {}; policy accept;
		{marked} ip ecn != not-ect ip ecn set ce
		{marked} ip6 ecn != not-ect ip6 ecn set ce
		{marked} meta mark set meta mark & {:#x}
	}}
}}
",
        priority + 1,
        !ce_bit
    )
}

/// Returns the expressions that match packets which are not queued, at most one for each address family. A chain that
/// accepts a packet passes it on to the next one of the hook.
fn exempt(rules: &Rules) -> impl Iterator<Item = String> {
    let far = match rules.direction {
        RuleDirection::Leaving => "daddr",
        RuleDirection::Arriving => "saddr",
    };
    [("ip", true), ("ip6", false)].into_iter().filter_map(move |(family, is_ipv4)| {
        let networks = rules.exempt.networks().iter().filter(|network| network.address().is_ipv4() == is_ipv4);
        let networks: Vec<String> = networks.map(ToString::to_string).collect();
        (!networks.is_empty()).then(|| format!("{family} {far} {{ {} }}", networks.join(", ")))
    })
}

/// Returns the expression for packets as they are on the link: those that IPsec will not encrypt, or has not decrypted.
/// The others pass the hook a second time, encrypted.
const fn outer(direction: RuleDirection) -> &'static str {
    match direction {
        RuleDirection::Leaving => "rt ipsec missing ",
        RuleDirection::Arriving => "meta ipsec missing ",
    }
}

/// Returns the key of a packet's interface.
const fn matched(direction: RuleDirection) -> &'static str {
    match direction {
        RuleDirection::Leaving => "oifname",
        RuleDirection::Arriving => "iifname",
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;
    use crate::packet::exempt::Exempt;
    use crate::rules::tests::rules;

    /// nft(8), statement `queue` with flags and a range of queues.
    #[test]
    fn several_queues_are_spread_by_processor() {
        let several = Rules { queues: Queues::new(7, 9).unwrap(), ..rules() };
        let script = script(&several, outer(several.direction));
        assert!(script.contains("} rt ipsec missing queue flags bypass,fanout to 7-9\n"), "{script}");
        assert!(script.starts_with("table inet fairlane_q7\n"), "{script}");
    }

    /// Connection tracking has priority -200, and destinations are translated at -100 (nft(8)).
    #[test]
    fn arriving_packets_are_queued_before_they_are_routed() {
        let script = script(&Rules { direction: RuleDirection::Arriving, ..rules() }, outer(RuleDirection::Arriving));
        assert_eq!(script.matches("hook prerouting priority -150; policy accept;").count(), 1, "{script}");
        assert_eq!(script.matches("hook prerouting priority -149; policy accept;").count(), 1, "{script}");
        assert_eq!(script.matches("iifname { \"eth0\", \"wan.2\" }").count(), 4, "{script}");
        assert!(!script.contains("oifname"), "{script}");
    }

    /// By nft(8). Would catch rules behind the one that queues, the near address in place of the far one, and a missing
    /// rule that is not noticed.
    #[test]
    fn exempt_addresses_are_not_queued() {
        let exempt = ["10.0.0.0/8", "192.168.1.1", "fd00::/8"].map(|network| network.parse().unwrap());
        let rules = rules().exempting(Exempt::new(&exempt));
        let whole = script(&rules, outer(rules.direction));
        let out = "oifname { \"eth0\", \"wan.2\" }";
        let expected = format!(
            "\t\t{out} ip daddr {{ 10.0.0.0/8, 192.168.1.1 }} accept\n\t\t{out} ip6 daddr {{ fd00::/8 }} accept\n\
             \t\t{out} rt ipsec missing queue num 7 bypass\n"
        );
        assert!(whole.contains(&expected), "{whole}");
        assert!(is_complete(&whole, &rules));
        for family in [" ip daddr", " ip6 daddr"] {
            let left: Vec<&str> = whole.lines().filter(|line| !line.contains(family)).collect();
            assert!(!is_complete(&left.join("\n"), &rules), "{family}");
        }
        let arriving = Rules { direction: RuleDirection::Arriving, ..rules };
        assert!(script(&arriving, outer(arriving.direction)).contains(" ip6 saddr { fd00::/8 } accept\n"));
    }

    /// By nft(8). Would catch a rule without bypass or interface, and old rules that are not removed in the same
    /// transaction.
    #[test]
    fn the_script_is_one_table() {
        let script = script(&rules(), outer(RuleDirection::Leaving));
        assert!(script.starts_with("table inet fairlane_q7\nflush table inet fairlane_q7\ntable inet fairlane_q7 {\n"));
        let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| line.contains("oifname")).collect();
        let out = "oifname { \"eth0\", \"wan.2\" }";
        assert_eq!(
            lines,
            [
                format!("{out} rt ipsec missing queue num 7 bypass"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 ip ecn != not-ect ip ecn set ce"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 ip6 ecn != not-ect ip6 ecn set ce"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 meta mark set meta mark & 0xbfffffff"),
            ]
        );
    }

    /// As nft 1.0.6 lists the rules. Would catch one that is missing, and rules for another interface.
    #[test]
    fn missing_statements_are_noticed() {
        let listed = "\
table inet fairlane_q7 {
	chain to_queue {
		type filter hook postrouting priority filter; policy accept;
		oifname { \"eth0\", \"wan.2\" } rt ipsec missing queue flags bypass to 7
	}

	chain set_ce {
		type filter hook postrouting priority 1; policy accept;
		oifname { \"eth0\", \"wan.2\" } meta mark & 0x40000000 == 0x40000000 ip ecn != not-ect ip ecn set ce
		oifname { \"eth0\", \"wan.2\" } meta mark & 0x40000000 == 0x40000000 ip6 ecn != not-ect ip6 ecn set ce
		oifname { \"eth0\", \"wan.2\" } meta mark & 0x40000000 == 0x40000000 meta mark set meta mark & 0xbfffffff
	}
}
";
        assert!(is_complete(listed, &rules()));
        let other = Rules { interfaces: vec!["eth0".to_owned(), "wan.3".to_owned()], ..rules() };
        assert!(!is_complete(listed, &other));
        for at in [3, 8, 9, 10] {
            let left: Vec<&str> = listed.lines().enumerate().filter(|(n, _)| *n != at).map(|(_, line)| line).collect();
            assert!(!is_complete(&left.join("\n"), &rules()), "{at}");
        }
    }

    /// Would catch a probe that nft rejects for another reason than a missing queue statement, so that nft would never
    /// be used.
    #[test]
    fn the_probe_is_right_but_for_queueing() {
        let tried = thread::spawn(|| {
            let alone = unshare(CloneFlags::CLONE_NEWNET);
            alone.map_err(|error| ("netns", format!("no network namespace of our own: {error}")))?;
            let probe = probe().replace("queue num 0 bypass", "accept");
            run(NFT, &["--check", "--file", "-"], &probe)
                .transpose()
                .map(|said| said.map_err(|error| error.to_string()))
                .ok_or_else(|| ("nft", "there is no nft".to_owned()))
        });
        match tried.join().unwrap() {
            Ok(said) => assert_eq!(said, Ok(String::new())),
            Err((requirement, reason)) => skip::because(requirement, reason),
        }
    }

    #[test]
    fn only_our_tables_are_found() {
        let listed = "table ip filter\ntable inet fairlane_q7\ntable ip fairlane_q8\ntable inet fairlane_q\n\
                      table inet fairlane_q99999\ntable inet fairlane_qx\ntable inet my_fairlane_q3\ntable inet fairlane_q10\n";
        assert_eq!(queues(listed), [7, 10]);
    }
}
