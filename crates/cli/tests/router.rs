//! `fairlane router`: running routers in a network namespace of the test, on this machine and in a guest.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "signals and sockets need real time")]

mod common;
#[path = "common/in_guest.rs"]
mod in_guest;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "../../linux/tests/common/node.rs"]
mod node;
#[path = "common/running.rs"]
mod running;

#[path = "router/autorate.rs"]
mod autorate;
#[path = "router/clock.rs"]
mod clock;
#[path = "router/directions.rs"]
mod directions;
#[path = "router/exempt.rs"]
mod exempt;
#[path = "router/guard.rs"]
mod guard;
#[path = "router/interfaces.rs"]
mod interfaces;
#[path = "router/limits.rs"]
mod limits;
#[path = "router/moving.rs"]
mod moving;
#[path = "router/nftables.rs"]
mod nftables;
#[path = "router/other_rules.rs"]
mod other_rules;
#[path = "router/tunnels.rs"]
mod tunnels;

use std::fs::{File, Permissions};
use std::io::{self, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixDatagram;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use common::{Place, fairlane};
use in_guest::Firewalls;
use namespace::{in_namespace, tool};
use nix::sys::signal::Signal;
use running::{Running, has_rules, metric, nothing, rules, said, scrape, tables, through, until_free, with};
use serde_json::Value;

/// In a guest, whose kernel can queue by nftables and has the tables of old: the tests above and below that install
/// rules, and those that need a clock of their own. The machine's iptables is on nf_tables.
#[test]
fn it_holds_in_a_guest_with_other_firewalls() {
    let nft = [
        "a_killed_router_is_in_nobodys_way",
        "rules_that_others_took_away_come_back",
        "other_rules::a_discipline_of_the_kernel_is_behind_all_rules",
        "other_rules::a_mark_of_others_changes_no_header",
        "other_rules::free_bits_are_chosen_and_kept_an_eye_on",
        "other_rules::later_rules_see_queued_packets",
        "other_rules::marks_change_no_route_and_no_mark",
        "clock::a_clock_that_is_set_changes_nothing",
        "nftables::the_users_own_rule_queues",
        "nftables::the_routers_table_queues",
        "nftables::hosts_behind_translation_are_told",
        "directions::both_directions_have_their_rate",
        "exempt::exempt_packets_do_not_wait",
        "guard::packets_pass_while_the_router_stands_still",
        "interfaces::a_renamed_interface_is_followed",
        "interfaces::an_interface_that_goes_and_comes_back_is_queued",
        "moving::interfaces_come_and_go_under_traffic",
        "tunnels::a_packet_of_ipsec_is_queued_once",
        "tunnels::a_packet_in_a_tunnel_is_queued_once",
    ];
    let legacy = [
        "other_rules::later_rules_see_queued_packets",
        "other_rules::marks_change_no_route_and_no_mark",
        "guard::packets_pass_while_the_router_stands_still",
        "rules_that_are_refused_leave_nothing",
        "tunnels::a_packet_of_ipsec_is_queued_once",
        "rules_that_others_took_away_come_back",
    ];
    in_guest::run(&[(Firewalls::NftAndIptables, &nft), (Firewalls::IptablesLegacy, &legacy)]);
}

#[test]
#[ignore = "the first process of a guest"]
fn first_process() {
    in_guest::serve();
}

/// After a router was killed packets pass, the next start or `--clean` removes its rules, and the rules of others are
/// unchanged.
#[test]
fn a_killed_router_is_in_nobodys_way() {
    in_namespace(|| {
        for name in ["iptables", "ip6tables"] {
            tool(name, "-t mangle -N MINE");
            tool(name, "-t mangle -A FORWARD -p udp -j MINE");
            tool(name, "-t filter -A OUTPUT -p udp --dport 9 -j DROP");
        }
        let before = (rules(), tables());
        for how in ["the next start", "--clean", "the next start with another queue", "the next start without rules"] {
            let mut router = Running::start(&with(&["droptail", "limit=100p"]));
            assert_eq!((through(50), has_rules(0)), (50, true), "{how}");
            router.signal(Signal::SIGKILL);
            assert_eq!(router.end(), None);
            until_free(0);
            assert_eq!((through(50), has_rules(0)), (50, true), "{how}");
            if how == "--clean" {
                // Only rules of queues that no program has bound are removed.
                let other = Running::start(&["--queue-num", "1", "--interface", "lo", "--rate", "10mbit", "droptail"]);
                assert!(!has_rules(0) && has_rules(1), "{}", rules());
                let (code, stdout, _) = said(&fairlane(&["router", "--clean"]));
                assert_eq!((code, &*stdout), (Some(0), "no rules are left behind\n"));
                assert!(has_rules(1), "{}", rules());
                other.signal(Signal::SIGKILL);
                drop(other);
                let (code, stdout, _) = said(&fairlane(&["router", "--clean"]));
                assert!(code == Some(0) && stdout.starts_with("removed the rules for queue 1 ("), "{stdout}");
            } else if how == "the next start without rules" {
                let mut next = Running::start(&["--queue-num=0", "--rate=10mbit", "droptail"]);
                assert_eq!((rules(), tables()), before.clone(), "{how}");
                next.signal(Signal::SIGTERM);
                assert_eq!(next.end(), Some(0), "{how}");
            } else {
                let (number, queue) = if how == "the next start" { ("0", 0) } else { ("7", 7) };
                let mut next =
                    Running::start(&["--queue-num", number, "--interface", "lo", "--rate", "10mbit", "droptail"]);
                assert_eq!((has_rules(0), has_rules(queue)), (queue == 0, true), "{how}: {}", rules());
                next.signal(Signal::SIGTERM);
                assert_eq!(next.end(), Some(0), "{how}");
            }
            assert_eq!((rules(), tables()), before.clone(), "{how}");
        }
    });
}

/// A log that nobody reads, and one on a full disk, hold nothing up: packets pass, a reload is taken, the end takes the
/// rules away, and the lines that were lost are counted.
#[test]
fn a_log_that_cannot_be_written_changes_nothing() {
    in_namespace(|| {
        // A pipe holds 64 KiB (pipe(7)).
        let (_unread, mut pipe) = io::pipe().unwrap();
        pipe.write_all(&[b'x'; 65_536]).unwrap();
        let disk = File::options().write(true).open("/dev/full").unwrap();
        for log in [Stdio::from(pipe), disk.into()] {
            let mut router = Running::start_unheard(&with(&["droptail", "limit=100p"]), log);
            assert_eq!((through(50), has_rules(0)), (50, true));
            router.signal(Signal::SIGHUP);
            let dropped = || metric(&scrape(), "fairlane_log_lines_dropped_total", "queue=\"0\"");
            assert!(dropped() >= Some(1.0), "{:?}", dropped());
            let told = Instant::now();
            router.signal(Signal::SIGTERM);
            assert_eq!(router.end(), Some(0));
            assert!(told.elapsed() < Duration::from_secs(5), "{:?}", told.elapsed());
            assert!(!has_rules(0), "{}", rules());
        }
    });
}

/// At the end queued packets leave first: 25 packets of 8 ms each at 1 Mbit/s. The rules are removed at once.
#[test]
fn the_end_drains_the_queue_within_its_bound() {
    in_namespace(|| {
        // The queue holds 0.2 s and 4 s, so a busy machine does not empty the second one before the end.
        for (drain, rate, least, most) in [("5s", "1mbit", 100, 4000), ("10ms", "50kbit", 0, 4000)] {
            let args =
                ["--queue-num", "0", "--interface", "lo", "--rate", rate, "--drain", drain, "--log=json", "droptail"];
            let mut router = Running::start(&args);
            let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
            receiver.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
            for _ in 0..25 {
                sender.send_to(&[1; 972], receiver.local_addr().unwrap()).unwrap();
            }
            router.signal(Signal::SIGTERM);
            let start = Instant::now();
            let line = router.wait_for("\"ended\"");
            let took = start.elapsed().as_millis();
            assert_eq!(router.end(), Some(0), "{line}");
            assert!((least..most).contains(&took), "{drain}: {took} ms: {line}");
            assert_eq!((0..25).take_while(|_| receiver.recv(&mut [0; 2000]).is_ok()).count(), 25, "{drain}: {line}");
            let ended: Value = serde_json::from_str(&line).unwrap();
            assert_eq!((ended["arrived"].as_u64(), ended["dropped"].as_u64()), (Some(25), Some(0)), "{line}");
            assert_eq!(ended["released"].as_u64().unwrap() > 0, drain == "10ms", "{line}");
            assert!(!has_rules(0), "{}", rules());
        }
    });
}

/// Rules for IPv4 and IPv6 are two transactions. Would catch a first one that is left in place when the second is
/// refused.
#[test]
fn rules_that_are_refused_leave_nothing() {
    in_namespace(|| {
        let place = Place::new();
        let found = std::env::var_os("PATH").unwrap();
        for name in ["iptables-restore", "iptables", "ip6tables"] {
            let program = std::env::split_paths(&found).map(|folder| folder.join(name)).find(|path| path.exists());
            symlink(program.unwrap(), place.path(name)).unwrap();
        }
        let refusing = "#!/bin/sh\n[ \"$1\" = --version ] || { echo 'no room today' >&2; exit 4; }\n";
        place.write("ip6tables-restore", refusing);
        std::fs::set_permissions(place.path("ip6tables-restore"), Permissions::from_mode(0o755)).unwrap();
        for name in ["iptables", "ip6tables"] {
            tool(name, "-t mangle -N MINE");
            tool(name, "-t mangle -A FORWARD -p udp -j MINE");
        }
        let before = rules();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
        command.args([&["router"], &with(&["red"])[..]].concat()).env("PATH", place.path(""));
        let (code, _, stderr) = said(&command.output().unwrap());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("ip6tables-restore refused: no room today"), "{stderr}");
        assert_eq!(rules(), before);
    });
}

/// `sd_notify(3)` and `sd_watchdog_enabled(3)`. Would catch READY=1 before packets are processed, a reload that never
/// ends, and a watchdog without notifications.
#[test]
fn systemd_hears_of_the_start_a_reload_and_the_end() {
    in_namespace(|| {
        let place = Place::new();
        let file = place.write("router.toml", "queue-num = 0\nrate = \"1mbit\"\nqueue = { kind = \"red\" }\n");
        let socket = UnixDatagram::bind(place.path("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let heard = || {
            let mut buffer = [0; 500];
            let length = socket.recv(&mut buffer).unwrap();
            String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
        };
        let hear = |expected: &str| while !heard().starts_with(expected) {};
        let mut router = Running::start_with(&["--config", &file], &[("NOTIFY_SOCKET", &place.name("notify"))]);
        assert_eq!(heard(), "READY=1");
        // Notified repeatedly while the router works.
        (0..2).for_each(|_| assert_eq!(heard(), "WATCHDOG=1"));
        router.signal(Signal::SIGHUP);
        hear("RELOADING=1\nMONOTONIC_USEC=");
        hear("READY=1");
        router.signal(Signal::SIGTERM);
        hear("STOPPING=1");
        assert_eq!(router.end(), Some(0));
    });
}

/// A second router for the same queue is refused and changes nothing; a third one for another queue works at the same
/// time as the first.
#[test]
fn a_queue_that_is_taken_is_left_alone() {
    in_namespace(|| {
        let _first = Running::start(&with(&["droptail"]));
        let during = (rules(), tables());
        let (code, _, stderr) = said(&fairlane(&[&["router"], &with(&["choke"])[..]].concat()));
        assert_eq!(code, Some(2));
        assert!(stderr.contains("another fairlane router queues the packets that leave by \"lo\""), "{stderr}");
        assert_eq!((rules(), tables()), during);
        assert_eq!(through(20), 20);
    });
}

/// With a log in JSON every line is JSON, also for errors before the start, at the start, and in the file that asks for
/// JSON.
#[test]
fn what_goes_wrong_is_a_line_of_the_log() {
    in_namespace(|| {
        let place = Place::new();
        let file =
            "queue-num = 0\nrate = \"1mbit\"\nlog = \"json\"\ninterface = \"nosuch0\"\nqueue = { kind = \"red\" }\n";
        let file = place.write("router.toml", file);
        let _first = Running::start(&with(&["droptail"]));
        let _taken = TcpListener::bind("127.0.0.1:9277").unwrap();
        let common = ["--rate=1mbit", "--log=json", "choke"];
        for (args, part) in [
            (&["--queue-num=0"][..], "queue 0 is bound by another program"),
            (&["--queue-num=1", "--metrics=9277"], "choose another --metrics"),
            (&["--queue-num=1", "--interface=nosuch0"], "there is no interface \"nosuch0\""),
            (&["--queue-num=1", "--overhead=10b", "--bridge=lo,lo"], "--queue-num is for an NFQUEUE"),
            (&["--config", &file], "there is no interface \"nosuch0\""),
        ] {
            let rest = if args[0] == "--config" { &[][..] } else { &common };
            let (code, stdout, stderr) = said(&fairlane(&[&["router"], args, rest].concat()));
            assert_eq!((code, &*stdout), (Some(2), ""), "{args:?}: {stderr}");
            let lines: Vec<Value> = stderr.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            let last = lines.last().unwrap();
            assert_eq!(last["level"], "ERROR", "{stderr}");
            assert!(last["message"].as_str().unwrap().contains(part), "{args:?} does not say {part}: {stderr}");
        }
    });
}

/// Without the firewall tools in PATH, as for root by su(1) with a user's PATH. Would catch a `--clean` that reports no
/// rules because it cannot look, and a router without rules that needs the tools.
#[test]
fn without_tools_it_says_so() {
    in_namespace(|| {
        let place = Place::new();
        let nowhere = [("PATH", &*place.name(""))];
        let told = |args: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fairlane"));
            said(&command.args([&["router"], args].concat()).envs(nowhere).output().unwrap())
        };
        for args in [&["--clean"][..], &with(&["droptail"]), &[&with(&["droptail"])[..], &["--dry-run"]].concat()] {
            let (code, stdout, stderr) = told(args);
            assert_eq!((code, &*stdout), (Some(2), ""), "{args:?}: {stderr}");
            assert!(
                stderr.contains("neither an nft that can queue nor iptables-restore in PATH"),
                "{args:?}: {stderr}"
            );
        }
        assert!(!has_rules(0), "{}", rules());
        let mut router = Running::start_with(&["--queue-num=0", "--rate=1mbit", "droptail"], &nowhere);
        router.signal(Signal::SIGTERM);
        assert_eq!(router.end(), Some(0));
    });
}

/// A router starts while another one of the same interface and queue ends, ten times. Would catch a start that is
/// refused, and one that trips over rules which the other removes at that moment.
#[test]
fn a_start_that_crosses_an_end_works() {
    in_namespace(|| {
        let before = nothing();
        let mut router = Running::start(&with(&["droptail"]));
        for _ in 0..10 {
            router.signal(Signal::SIGTERM);
            let next = Running::start(&with(&["droptail"]));
            assert_eq!(router.end(), Some(0));
            router = next;
        }
        assert_eq!((through(20), has_rules(0)), (20, true));
        router.signal(Signal::SIGTERM);
        assert_eq!((router.end(), rules(), tables()), (Some(0), before.0, before.1));
    });
}

/// When a firewall hook is removed, the kernel drops the packets waiting in every queue. Would catch a router that adds
/// and removes a hook, for example to test a tool: packets in another router's queue must not be lost.
#[test]
fn what_waits_in_anothers_queue_stays() {
    in_namespace(|| {
        let _slow = Running::start(&["--queue-num=0", "--interface=lo", "--rate=50kbit", "droptail", "limit=100p"]);
        let (from, to) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        to.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        // A packet takes 160 ms: 15 are 2.4 s.
        for _ in 0..15 {
            from.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
        }
        let joined = ["router", "--queue-num=1:2", "--interface=lo", "--rate=1mbit", "--gso", "red", "--dry-run"];
        let (code, stdout, stderr) = said(&fairlane(&joined));
        assert_eq!((code, &*stderr), (Some(0), ""));
        // The MTU of loopback.
        assert!(stdout.contains("what segments of 65536 bytes take"), "{stdout}");
        let several = ["--queue-balance 1:2 --queue-cpu-fanout --queue-bypass", "queue flags bypass,fanout to 1-2"];
        assert!(several.iter().any(|rule| stdout.contains(rule)) && stdout.contains("Queue 1:2"), "{stdout}");
        // The end of a router with an nftables table removes a hook; the page documents this.
        if tables().is_empty() {
            tool("ip", "link add other0 type veth peer name other1");
            let mut other = Running::start(&["--queue-num=1", "--interface=other0", "--rate=1mbit", "red"]);
            other.signal(Signal::SIGTERM);
            assert_eq!(other.end(), Some(0));
        }
        assert_eq!(fairlane(&["router", "--clean"]).status.code(), Some(0));
        assert_eq!((0..15).take_while(|_| to.recv(&mut [0; 2000]).is_ok()).count(), 15);
    });
}

/// Another program that flushes all tables removes the router's rules too. They are installed again while the router
/// works, but not when it ends, and it ends normally without them.
#[test]
fn rules_that_others_took_away_come_back() {
    in_namespace(|| {
        let flush = || {
            if !tables().is_empty() {
                tool("nft", "flush ruleset");
            }
            for name in ["iptables", "ip6tables"] {
                tool(name, "-t mangle -F");
                tool(name, "-t mangle -X");
            }
            assert!(!has_rules(0), "{}", rules());
        };
        let mut router = Running::start(&with(&["droptail"]));
        flush();
        router.wait_for("another program removed rules of this router");
        router.wait_for("the rules are installed again");
        assert_eq!((through(50), has_rules(0)), (50, true));
        flush();
        router.signal(Signal::SIGTERM);
        let line = router.wait_for("ended");
        assert!(line.contains("arrived=50 ") && router.end() == Some(0), "{line}");
        assert!(!has_rules(0), "{}", rules());
    });
}

/// One router for each interface: a second one is refused for any queue and changes nothing. Another interface is
/// accepted, and the same one after the first router was killed. Would catch a router that gets no packets because the
/// first one has them all.
#[test]
fn an_interface_that_is_taken_is_left_alone() {
    in_namespace(|| {
        tool("ip", "link add other0 type veth peer name other1");
        // An interface that is named twice counts once.
        let mut first = Running::start(&with(&["droptail", "--interface", "lo"]));
        let during = (rules(), tables());
        let second = |interface: &str| {
            let interface = format!("--interface={interface}");
            fairlane(&[
                "router",
                "--queue-num=1",
                "--interface=other0",
                &interface,
                "--rate=1mbit",
                "--metrics=off",
                "choke",
            ])
        };
        let (code, _, stderr) = said(&second("lo"));
        assert_eq!(code, Some(2));
        assert!(stderr.contains("another fairlane router queues the packets that leave by \"lo\""), "{stderr}");
        assert_eq!((rules(), tables(), through(20)), (during.0, during.1, 20));
        let mut beside =
            Running::start(&["--queue-num=1", "--interface=other0", "--rate=1mbit", "--metrics=0", "choke"]);
        // The log has the port that the system chose.
        let line = beside.said.lines().find(|line| line.contains("serving /metrics")).unwrap().to_owned();
        assert!(line.contains("address=127.0.0.1:") && !line.contains("127.0.0.1:0"), "{line}");
        beside.signal(Signal::SIGTERM);
        assert_eq!(beside.end(), Some(0));
        first.signal(Signal::SIGKILL);
        assert_eq!(first.end(), None);
        let mut next = Running::start(&["--queue-num=1", "--interface=lo", "--rate=1mbit", "--metrics=off", "choke"]);
        next.signal(Signal::SIGTERM);
        assert_eq!(next.end(), Some(0));
    });
}
