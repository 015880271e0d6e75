//! TCP with segmentation offload, with packets that are segmented before the queue and with GSO packets queued whole.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "TCP needs real time")]

mod common;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use common::{Lab, PORT, RECEIVER, RECOVERY, RouterConfig, Wrong, config, lab, queue_config, start, undisturbed};
use fairlane_linux::{DataPath, QueueConfig, Report, Router};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::sys::socket::{setsockopt, sockopt};

const RATE: f64 = 200e6;
const MTU: f64 = 1500.0;
/// The data in a full segment: the MTU without 20 bytes of IP, 20 of TCP and 12 of timestamps (RFC 9293, RFC 7323).
const DATA: f64 = MTU - 52.0;

/// The duration of the transfer.
const SENT: Duration = Duration::from_millis(2500);

/// The results of a transfer.
struct Transfer {
    /// The bytes that the receiver has read.
    bytes: u64,
    /// Their rate in bit/s, from the first byte to the last.
    rate: f64,
    report: Report,
}

/// Reads everything and returns the number of bytes and their rate. Retransmissions fill every gap, so that no byte is
/// missing.
fn read(listener: &TcpListener) -> (u64, f64) {
    let (mut stream, _) = listener.accept().unwrap();
    let mut buffer = vec![0; 1 << 18];
    let (mut bytes, mut last) = (0, Instant::now());
    let first = last;
    loop {
        let more = stream.read(&mut buffer).unwrap() as u64;
        if more == 0 {
            return (bytes, bytes as f64 * 8.0 / (last - first).as_secs_f64());
        }
        (bytes, last) = (bytes + more, Instant::now());
    }
}

fn transfer(lab: &Lab, gso: Option<u32>) -> Transfer {
    let path = DataPath::Queue(QueueConfig { gso: gso.is_some(), mtu: gso, ..queue_config(0) });
    // A queue of 80 ms, which a sender that halves its window does not empty, and which outlasts a short pause of the
    // machine.
    let droptail = QdiscParameters::new(Kind::DropTail).with("limit", "2mb").unwrap();
    let router =
        Router::new(&RouterConfig { path, ..config(&droptail, Rate::from_bits_per_second(RATE as u64)) }).unwrap();
    let working = start(router, 0);
    let listener = lab.receiver.run(|| TcpListener::bind((RECEIVER, PORT)).unwrap());
    let received = lab.receiver.start(move || read(&listener));
    lab.sender.run(|| {
        let (mut stream, start) = (TcpStream::connect((RECEIVER, PORT)).unwrap(), Instant::now());
        // The system's default may be another congestion control, and BBR sometimes stays below the link's rate.
        setsockopt(&stream, sockopt::TcpCongestion, &"reno".into()).unwrap();
        while start.elapsed() < SENT {
            stream.write_all(&[7; 1 << 16]).unwrap();
        }
    });
    let (bytes, rate) = received.recv().unwrap();
    thread::sleep(Duration::from_millis(100));
    Transfer { bytes, rate, report: working.stop() }
}

/// GSO packets take as much of the link as their segments: the rate is the link's within 2 %, and the bytes counted are
/// those of the segments that carry the data. Would catch GSO packets that are counted without the headers of their
/// segments (3.5 % too fast), packets that are lost, and an offload that is not active, so that nothing is measured.
#[test]
fn gso_packets_have_the_size_of_their_segments() {
    lab(false, |lab| {
        for gso in [None, Some(MTU as u32)] {
            undisturbed(|| {
                let Transfer { bytes, rate, report } = transfer(lab, gso);
                let counters = &report.counters;
                let mean = counters.arrived.bytes as f64 / counters.arrived.packets as f64;
                let share = rate / (RATE * DATA / MTU);
                eprintln!("gso {gso:?}: {share:.4} of what the link can carry, {mean:.0} bytes a packet");
                assert_eq!(gso.is_some(), mean > 2.0 * MTU, "gso {gso:?}: {mean} bytes a packet: {report:?}");
                // Retransmissions and segments that are not full make the difference.
                let carried = bytes as f64 * MTU / DATA;
                let departed = counters.departed.bytes as f64;
                assert!((departed / carried - 1.0).abs() < 0.01, "gso {gso:?}: {departed} for {carried}: {report:?}");
                let gone = counters.departed.bytes + counters.dropped_total().bytes;
                assert_eq!(counters.arrived.bytes, gone, "gso {gso:?}: {report:?}");
                assert_eq!(report.kernel.unwrap().dropped_unread, 0, "gso {gso:?}: {report:?}");
                let right = (share - 1.0).abs() < 0.02;
                let off = (share - 1.0).abs() * SENT.as_secs_f64() / RECOVERY;
                (report, if right { Ok(()) } else { Err(Wrong::new(format!("gso {gso:?}: {share}"), off)) })
            });
        }
    });
}
