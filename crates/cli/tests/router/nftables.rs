//! What only a kernel whose nftables can queue shows. The kernels of other machines may lack `nft_queue`, so this is tested in a guest.

use nix::sys::signal::Signal;

use crate::namespace::{in_namespace, tool};
use crate::running::{Running, state, tables, through, with};

/// Returns the commands of docs/router.md that queue by nftables, for loopback.
fn commands() -> Vec<String> {
    let page = include_str!("../../../../docs/router.md");
    let commands = page.lines().filter_map(|line| line.strip_prefix("nft add "));
    commands.map(|command| format!("add {}", command.replace("eth0", "lo").replace('\'', ""))).collect()
}

fn arrived() -> u64 {
    // The report is at most a quarter of a second old.
    std::thread::sleep(std::time::Duration::from_millis(600));
    state()["arrived"]["packets"].as_u64().unwrap()
}

/// The user's own rule is left alone from the start to the end, and lets packets pass without a router.
#[test]
#[ignore = "needs nft_queue: it_holds_in_a_guest_with_other_firewalls runs it"]
fn the_users_own_rule_queues() {
    in_namespace(|| {
        let commands = commands();
        assert_eq!(commands.len(), 3);
        commands.iter().for_each(|command| drop(tool("nft", command)));
        let before = tool("nft", "list ruleset");
        assert!(before.contains("queue flags bypass to 0"), "{before}");
        assert_eq!(through(50), 50);
        let mut router = Running::start(&["--queue-num=0", "--rate=10mbit", "droptail", "limit=100p"]);
        assert!(router.said.contains("no rules, since there is no --interface"), "{}", router.said);
        assert_eq!((through(50), arrived()), (50, 50));
        assert_eq!(tool("nft", "list ruleset"), before);
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
        assert_eq!((tool("nft", "list ruleset"), through(50)), (before, 50));
    });
}

/// The router's own table: nft is preferred to iptables, the kernel's list of it has the queue and the marks, and nothing of iptables
/// changes.
#[test]
#[ignore = "needs nft_queue: it_holds_in_a_guest_with_other_firewalls runs it"]
fn the_routers_table_queues() {
    in_namespace(|| {
        let mut router = Running::start(&with(&["droptail", "limit=100p"]));
        assert!(router.said.contains("rules installed queue=0 firewall=nft"), "{}", router.said);
        assert_eq!((through(50), arrived()), (50, 50));
        let listed = tool("nft", "list ruleset");
        assert_eq!(tables(), "table inet fairlane_q0\n");
        for rule in
            ["oifname \"lo\" queue flags bypass to 0", "ip ecn set ce", "ip6 ecn set ce", "meta mark set meta mark"]
        {
            assert!(listed.contains(rule), "{listed}");
        }
        assert!(!listed.contains("FAIRLANE"), "{listed}");
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), tool("nft", "list ruleset")), (Some(0), String::new()));
    });
}
