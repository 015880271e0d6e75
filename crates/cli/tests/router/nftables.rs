//! Tests of a router whose rules queue by nftables. The kernel of this machine may lack `nft_queue`, so they run in a
//! guest.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};

use fairlane_linux::nfqueue::{Copied, Decision, Message, Setup, Verdict};
use fairlane_linux::{BindError, QueueSocket};
use nix::sys::signal::Signal;

use crate::namespace::{in_namespace, tool};
use crate::running::{Running, settle, state, tables, through, with};

/// Returns the commands of docs/router.md that queue by nftables, for loopback.
fn commands() -> Vec<String> {
    let page = include_str!("../../../../docs/router.md");
    let commands = page.lines().filter_map(|line| line.strip_prefix("nft add "));
    commands.map(|command| format!("add {}", command.replace("eth0", "lo").replace('\'', ""))).collect()
}

fn arrived() -> u64 {
    settle();
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

/// The router's own table: nft is preferred to iptables, the kernel's list of it has the queue and the marks, and
/// nothing of iptables changes.
#[test]
#[ignore = "needs nft_queue: it_holds_in_a_guest_with_other_firewalls runs it"]
fn the_routers_table_queues() {
    in_namespace(|| {
        let mut router = Running::start(&with(&["droptail", "limit=100p"]));
        assert!(router.said.contains("rules installed queue=0 firewall=nft"), "{}", router.said);
        assert_eq!((through(50), arrived()), (50, 50));
        let listed = tool("nft", "list ruleset");
        assert_eq!(tables(), "table inet fairlane_q0\n");
        for rule in [
            "oifname \"lo\" rt ipsec missing queue flags bypass to 0",
            "ip ecn set ce",
            "ip6 ecn set ce",
            "meta mark set meta mark",
        ] {
            assert!(listed.contains(rule), "{listed}");
        }
        assert!(!listed.contains("FAIRLANE"), "{listed}");
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), tool("nft", "list ruleset")), (Some(0), String::new()));
    });
}

/// A packet from 127.0.0.5 whose source is translated to 127.0.0.9 before it is queued, and the answer to it, whose
/// destination is translated back before. Would catch the address of the machine in place of the host behind it.
#[test]
#[ignore = "needs CONFIG_NETFILTER_NETLINK_GLUE_CT: it_holds_in_a_guest_with_other_firewalls runs it"]
fn hosts_behind_translation_are_told() {
    in_namespace(|| {
        let setup = |conntrack| {
            let copied = Copied::Headers;
            Setup { queue: 5, copied, max_packets: 100, fail_open: false, gso: false, conntrack }
        };
        let mut socket = match QueueSocket::bind(&setup(true)) {
            Err(BindError::NoConntrack) => return skip::because("conntrack", BindError::NoConntrack.to_string()),
            bound => bound.unwrap(),
        };
        for command in [
            "add table ip mine",
            "add chain ip mine translate { type nat hook postrouting priority 100 ; }",
            "add rule ip mine translate ip saddr 127.0.0.5 snat to 127.0.0.9",
            "add chain ip mine out { type filter hook postrouting priority 200 ; }",
            "add rule ip mine out oifname lo queue num 5",
        ] {
            tool("nft", command);
        }
        let (client, server) = (UdpSocket::bind("127.0.0.5:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        client.send_to(&[1; 100], server.local_addr().unwrap()).unwrap();
        let mut buffer = socket.receive_buffer();
        let mut next = || {
            let (mut seen, until) = (None, Instant::now() + Duration::from_secs(10));
            while seen.is_none() && Instant::now() < until {
                socket
                    .receive(&mut buffer, |message| {
                        if let Message::Packet(packet) = message {
                            seen = Some((packet.id, packet.payload[12..20].to_vec(), packet.hosts));
                        }
                    })
                    .unwrap();
            }
            let (id, addresses, hosts) = seen.expect("a packet");
            socket.decide(&Verdict { id, decision: Decision::Accept, repeat: None }).unwrap();
            socket.flush().unwrap();
            (addresses, hosts)
        };
        let local = |last| IpAddr::from(Ipv4Addr::new(127, 0, 0, last));
        assert_eq!(next(), (vec![127, 0, 0, 9, 127, 0, 0, 1], Some((local(5), local(1)))));
        let (_, from) = server.recv_from(&mut [0; 200]).unwrap();
        assert_eq!(from.ip(), local(9), "it was translated");
        server.send_to(&[2; 100], from).unwrap();
        assert_eq!(next().1, Some((local(1), local(5))));
        assert!(client.recv(&mut [0; 200]).is_ok());
    });
}
