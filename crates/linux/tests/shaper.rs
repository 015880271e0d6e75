//! The shaper for ten seconds, by the clock of the receiver's kernel.
#![cfg(target_os = "linux")]
#![allow(clippy::disallowed_methods, reason = "the shaper works in real time")]

mod common;

use std::io::IoSliceMut;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::send::send_at;
use common::{Lab, config, lab, listen, start};
use fairlane_linux::{Report, Router};
use fairlane_qdisc::{Kind, QdiscConfig, Rate};
use nix::cmsg_space;
use nix::sys::prctl::set_timerslack;
use nix::sys::socket::sockopt::{ReceiveTimeout, ReceiveTimestampns};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrIn, recvmsg, setsockopt};
use nix::sys::time::{TimeSpec, TimeVal, TimeValLike};

const RATE: f64 = 10e6;
/// Bytes of an IP packet.
const BYTES: usize = 1500;
/// What a packet takes of the link, in seconds.
const PACKET: f64 = 8.0 * BYTES as f64 / RATE;
const MILLISECOND: f64 = 1e-3;

/// When packets arrived, in seconds, by the kernel's own stamps: until none comes for two seconds.
fn arrivals() -> Vec<f64> {
    let socket = listen();
    setsockopt(&socket, ReceiveTimestampns, &true).unwrap();
    setsockopt(&socket, ReceiveTimeout, &TimeVal::seconds(2)).unwrap();
    let (mut arrivals, mut buffer, mut control) = (Vec::new(), [0; 2048], cmsg_space!(TimeSpec));
    loop {
        let mut parts = [IoSliceMut::new(&mut buffer)];
        let received = recvmsg::<SockaddrIn>(socket.as_raw_fd(), &mut parts, Some(&mut control), MsgFlags::empty());
        let Ok(received) = received else { return arrivals };
        for message in received.cmsgs().unwrap() {
            if let ControlMessageOwned::ScmTimestampns(at) = message {
                arrivals.push(at.num_nanoseconds() as f64 / 1e9);
            }
        }
    }
}

/// The value that all but a hundredth are below.
fn p99(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() * 99 / 100]
}

/// How much later than it wanted a thread wakes which sleeps for the time of a packet again and again, as the router does, until it is
/// told.
fn oversleeping(over: &AtomicBool) -> Vec<f64> {
    let _ = set_timerslack(1);
    let mut late = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        thread::sleep(Duration::from_secs_f64(PACKET));
        late.push(start.elapsed().as_secs_f64() - PACKET);
    }
    late
}

/// Ten seconds of a link that has always something to send.
struct Measured {
    /// Of the link's rate.
    rate: f64,
    /// How far from a packet's time packets came after one another, in seconds.
    jitter: f64,
    /// How late a thread was that did nothing else, in seconds.
    machine: f64,
    report: Report,
}

fn measure(lab: &Lab) -> Measured {
    let droptail = QdiscConfig::new(Kind::DropTail).with("limit", "100p").unwrap();
    let working = start(Router::new(&config(droptail, Rate::from_bits_per_second(RATE as u64))).unwrap(), 0);
    let arrivals = lab.receiver.start(arrivals);
    let over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&over);
    let other = thread::spawn(move || oversleeping(&told));
    lab.sender.run(|| send_at(1.3 * RATE, BYTES, 10.0));
    over.store(true, Ordering::Relaxed);
    let machine = p99(other.join().unwrap());
    let report = working.stop();
    let arrivals = arrivals.recv().unwrap();
    let gaps: Vec<f64> = arrivals.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let rate = gaps.len() as f64 * PACKET / gaps.iter().sum::<f64>();
    let jitter = p99(gaps.iter().map(|gap| (gap - PACKET).abs()).collect());
    eprintln!("{rate:.5} of the rate, jitter {jitter:.6} s, a thread beside it {machine:.6} s late (p99)");
    assert!(gaps.len() > 8000, "{report:?}");
    Measured { rate, jitter, machine, report }
}

/// The rate within a percent, and 99 of 100 packets within a packet's time and a millisecond of their place behind the one before, by
/// the receiver and by the router's own count. Would catch a shaper that sends in bursts, drifts or sleeps too long.
///
/// A machine can be too busy for that: if a thread beside it that only sleeps is itself late by more than a millisecond (p99), it is
/// measured once more.
#[test]
fn packets_leave_evenly_for_ten_seconds() {
    lab(false, |lab| {
        let mut measured = measure(lab);
        if measured.machine > MILLISECOND {
            eprintln!("the machine was busy: once more");
            measured = measure(lab);
        }
        let Measured { rate, jitter, machine, report } = measured;
        let said = format!("{rate} of the rate, jitter {jitter} s, a thread beside it {machine} s late: {report:?}");
        assert!((rate - 1.0).abs() < 0.01, "{said}");
        assert!(jitter < PACKET + MILLISECOND, "{said}");
        // Classes end at 1 and 2 ms; what the bound is above the latter is given away.
        let in_time: u64 =
            report.lateness.classes().filter(|(bound, _)| *bound < PACKET + MILLISECOND).map(|of| of.1).sum();
        assert!(in_time as f64 > 0.99 * report.lateness.count() as f64, "{said}");
        assert_eq!((report.released, report.kernel.unwrap().dropped_unread), (0, 0), "{said}");
    });
}
