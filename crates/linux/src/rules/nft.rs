//! Rules by nft(8): a table of our own.

use super::tool::run;
use super::{RuleError, Rules};
use crate::queues::Queues;

const NFT: &str = "nft";

/// What the names of our tables begin with; the queue's number follows.
const TABLE: &str = "fairlane_q";

/// The family of our tables: IPv4 and IPv6.
const FAMILY: &str = "inet";

/// Whether nft and the kernel can do what our rules do.
pub(super) fn is_there() -> bool {
    matches!(run(NFT, &["--check", "--file", "-"], &probe()), Ok(Some(_)))
}

/// The statements of our rules in a chain that has no hook: a hook would come and go, and when one goes, the kernel drops what
/// waits in queues, in all of them.
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

/// The queues that have a table of ours; `None` without nft.
pub(super) fn installed() -> Result<Option<Vec<u16>>, RuleError> {
    Ok(run(NFT, &["list", "tables"], "")?.map(|tables| queues(&tables)))
}

/// Whether there is a table of ours for `queue`.
pub(super) fn has(queue: u16) -> Result<bool, RuleError> {
    Ok(installed()?.is_some_and(|queues| queues.contains(&queue)))
}

/// The queues of our tables among those listed.
fn queues(tables: &str) -> Vec<u16> {
    let ours = |line: &str| {
        let name = line.trim().strip_prefix("table ")?.strip_prefix(FAMILY)?.trim_start();
        name.strip_prefix(TABLE)?.parse().ok()
    };
    tables.lines().filter_map(ours).collect()
}

pub(super) fn shown(rules: &Rules) -> String {
    format!("# {NFT} --file -\n{}", script(rules))
}

/// What sends a packet to a queue. Among several the processor decides that has the packet.
fn statement(queues: Queues) -> String {
    if queues.first() == queues.last() {
        format!("queue num {queues} bypass")
    } else {
        format!("queue flags bypass,fanout to {}-{}", queues.first(), queues.last())
    }
}

/// One transaction. The first two lines make way for the table, whether or not there is one.
///
/// We queue behind what others filter (priority 0 of the hooks before), and before source addresses are translated (100). Packets
/// that go on come to the hook after the one that queued them, which marks.
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

    /// nft(8), statement `queue`: flags, and a range of queues.
    #[test]
    fn several_queues_are_spread_by_processor() {
        let several = Rules { queues: Queues::new(7, 9).unwrap(), ..rules() };
        let script = script(&several);
        assert!(script.contains("} queue flags bypass,fanout to 7-9\n"), "{script}");
        assert!(script.starts_with("table inet fairlane_q7\n"), "{script}");
    }

    /// nft(8): would catch a rule without bypass or interface, and a table that is not deleted in the same transaction.
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

    /// Would catch a probe that no nft takes, so that it is never used: nothing but queueing may be what the kernel lacks.
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
