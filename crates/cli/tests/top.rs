//! What a router tells of itself, and `fairlane top`, which shows it.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "sockets need real time")]

mod common;
#[path = "common/namespace.rs"]
mod namespace;
#[path = "common/running.rs"]
mod running;

use std::net::UdpSocket;
use std::thread;
use std::time::Duration;

use namespace::in_namespace;
use nix::sys::signal::Signal;
use running::{Running, metric, refused, rules, scrape, state, tables, with};

/// A flood and a thin flow through CHOKe: the flood's matches are told under its name, in both forms, and they add up to the queue's
/// own counts. Would catch a flow that is told under another's name and a loss that is counted for nobody.
#[test]
fn the_flow_that_matches_itself_is_named() {
    in_namespace(|| {
        let choke = ["choke", "limit=60p", "min=5p", "max=40p", "weight=0.1"];
        let _router = Running::start(&with(&choke));
        let to = UdpSocket::bind("127.0.0.1:0").unwrap();
        let [flood, thin] = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        for n in 0..3000 {
            flood.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
            if n % 30 == 0 {
                thin.send_to(&[1; 972], to.local_addr().unwrap()).unwrap();
            }
        }
        thread::sleep(Duration::from_millis(600));
        let (state, metrics) = (state(), scrape());
        let name = |from: &UdpSocket| format!("udp/{}>{}", from.local_addr().unwrap(), to.local_addr().unwrap());
        let flows = state["top_flows"].as_array().unwrap();
        let told = |from: &UdpSocket| flows.iter().find(|told| told["flow"] == name(from).as_str()).unwrap();
        let flooded = told(&flood);
        assert_eq!(flows[0]["flow"], name(&flood).as_str(), "the heaviest is first: {state:#}");
        // Of 3000 packets at once 50 or so can be sent.
        let matched = flooded["matched_packets"].as_u64().unwrap();
        assert!(matched > 500 && matched <= 3000, "{state:#}");
        let (dropped, by_flow) = (&state["dropped"], |reason: &str| {
            flows.iter().map(|flow| flow["dropped"][reason]["packets"].as_u64().unwrap_or(0)).sum::<u64>()
        });
        for reason in ["match_arrival", "match_victim", "forced", "early", "limit"] {
            assert_eq!(dropped[reason]["packets"].as_u64(), Some(by_flow(reason)), "{reason}: {state:#}");
        }
        let labels = format!("queue=\"0\",flow=\"{}\"", name(&flood));
        let told = |what: &str| metric(&metrics, &format!("fairlane_flow_{what}_total"), &labels).unwrap();
        assert_eq!(told("matched_packets"), matched as f64, "{metrics}");
        assert_eq!(told("dropped_packets"), flooded["lost_packets"].as_f64().unwrap(), "{metrics}");
        assert_eq!((flooded["missed_packets"].as_u64(), told("marked_packets")), (Some(0), 0.0));
        assert_eq!(state["discipline"]["parameters"]["min"], "5p", "{state:#}");
        assert_eq!(state["link"]["rate_bps"], 10_000_000);
        assert!(state["sojourn_s"]["p99"].as_f64().unwrap() <= state["sojourn_s"]["max"].as_f64().unwrap() * 1.26);
    });
}

/// The usual port is taken: by another router, which is told of, and the second works all the same. An address that was asked for has
/// to be free.
#[test]
fn the_usual_port_stops_nobody() {
    in_namespace(|| {
        let others = |number| ["--queue-num", number, "--interface=lo", "--rate=10mbit", "droptail"];
        let _first = Running::start(&others("0"));
        assert_eq!(state()["queue_num"], 0);
        let mut second = Running::start(&others("1"));
        assert!(second.said.contains("no metrics, since 127.0.0.1:9277 cannot be had"), "{}", second.said);
        second.signal(Signal::SIGTERM);
        assert_eq!(second.end(), Some(0));
        let asked = [&["router", "--metrics", "9277"], &others("1")[..]].concat();
        let before = (rules(), tables());
        refused(&asked, &["cannot serve metrics at 127.0.0.1:9277", "choose another --metrics"]);
        assert_eq!((rules(), tables()), before);
        let mut silent = Running::start(&[&["--metrics", "off"], &others("1")[..]].concat());
        assert!(!silent.said.contains("metrics"), "{}", silent.said);
        silent.signal(Signal::SIGTERM);
        assert_eq!(silent.end(), Some(0));
    });
}
