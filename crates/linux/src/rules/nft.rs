//! Rules by nft(8), in a table of their own.

use super::tool::run;
use super::{RuleError, Rules};
use crate::queues::Queues;

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

pub(super) fn install(rules: &Rules) -> Result<(), RuleError> {
    run(NFT, &["--file", "-"], &script(rules))?.map(drop).ok_or(RuleError::NoTool)
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
    Ok(run(NFT, &["list", "tables"], "")?.map(|tables| queues(&tables)))
}

/// Returns `true` if there is a table of ours for `queue`.
pub(super) fn has(queue: u16) -> Result<bool, RuleError> {
    Ok(installed()?.is_some_and(|queues| queues.contains(&queue)))
}

/// Returns the queues of our tables among those listed.
fn queues(tables: &str) -> Vec<u16> {
    let ours = |line: &str| {
        let name = line.trim().strip_prefix("table ")?.strip_prefix(FAMILY)?.trim_start();
        name.strip_prefix(TABLE)?.parse().ok()
    };
    tables.lines().filter_map(ours).collect()
}

pub(super) fn script_with_command(rules: &Rules) -> String {
    format!("# {NFT} --file -\n{}", script(rules))
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

/// Returns the transaction that installs the rules. The first two lines remove an existing table and work without one
/// too.
///
/// Packets are queued behind all filters (priority 0) and before source addresses are translated (priority 100). They
/// continue with the hook after the one that queued them, which marks.
fn script(rules: &Rules) -> String {
    let Rules { queues, interfaces, ce_bit } = rules;
    let names: Vec<String> = interfaces.iter().map(|name| format!("\"{name}\"")).collect();
    let out = format!("oifname {{ {} }}", names.join(", "));
    let marked = format!("{out} meta mark & {ce_bit:#x} == {ce_bit:#x}");
    let table = format!("table {FAMILY} {TABLE}{}", queues.first());
    let queue = statement(*queues);
    format!(
        "\
{table}
delete {table}
{table} {{
	chain to_queue {{
		type filter hook postrouting priority 0; policy accept;
		{out} {queue}
	}}
	chain set_ce {{
		type filter hook postrouting priority 1; policy accept;
		{marked} ip ecn set ce
		{marked} ip6 ecn set ce
		{marked} meta mark set meta mark & {:#x}
	}}
}}
",
        !ce_bit
    )
}

#[cfg(test)]
mod tests {
    use std::thread;

    use nix::sched::{CloneFlags, unshare};

    use super::*;
    use crate::rules::tests::rules;

    /// nft(8), statement `queue` with flags and a range of queues.
    #[test]
    fn several_queues_are_spread_by_processor() {
        let several = Rules { queues: Queues::new(7, 9).unwrap(), ..rules() };
        let script = script(&several);
        assert!(script.contains("} queue flags bypass,fanout to 7-9\n"), "{script}");
        assert!(script.starts_with("table inet fairlane_q7\n"), "{script}");
    }

    /// By nft(8). Would catch a rule without bypass or interface, and an old table that is not deleted in the same
    /// transaction.
    #[test]
    fn the_script_is_one_table() {
        let script = script(&rules());
        assert!(
            script.starts_with("table inet fairlane_q7\ndelete table inet fairlane_q7\ntable inet fairlane_q7 {\n")
        );
        let lines: Vec<&str> = script.lines().map(str::trim).filter(|line| line.contains("oifname")).collect();
        let out = "oifname { \"eth0\", \"wan.2\" }";
        assert_eq!(
            lines,
            [
                format!("{out} queue num 7 bypass"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 ip ecn set ce"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 ip6 ecn set ce"),
                format!("{out} meta mark & 0x40000000 == 0x40000000 meta mark set meta mark & 0xbfffffff"),
            ]
        );
    }

    /// Would catch a probe that nft rejects for another reason than a missing queue statement, so that nft would never
    /// be used.
    #[test]
    fn the_probe_is_right_but_for_queueing() {
        let tried = thread::spawn(|| {
            if unshare(CloneFlags::CLONE_NEWNET).is_err() {
                return None;
            }
            let probe = probe().replace("queue num 0 bypass", "accept");
            run(NFT, &["--check", "--file", "-"], &probe)
                .transpose()
                .map(|said| said.map_err(|error| error.to_string()))
        });
        match tried.join().unwrap() {
            Some(said) => assert_eq!(said, Ok(String::new())),
            None => eprintln!("skipped: there is no nft, or no network namespace of our own"),
        }
    }

    #[test]
    fn only_our_tables_are_found() {
        let listed = "table ip filter\ntable inet fairlane_q7\ntable ip fairlane_q8\ntable inet fairlane_q\n\
                      table inet fairlane_q99999\ntable inet fairlane_qx\ntable inet my_fairlane_q3\ntable inet fairlane_q10\n";
        assert_eq!(queues(listed), [7, 10]);
    }
}
