//! Senders: one as fast as the machine, and one with a rate.

use std::io::IoSlice;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::sockopt::{Ipv4Tos, Ipv6TClass};
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, sendmmsg, setsockopt};

use super::{PORT, RECEIVER, RECEIVER6};

/// The flows, identified by their ports.
const FLOWS: usize = 16;
/// The number of datagrams sent in one call.
const BATCH: usize = 64;

/// Sends IP packets of `bytes` bytes, 64 at a time from each of 16 ports in turn, while `goes_on` returns `true` for
/// the number of packets sent.
pub(crate) fn send_while(bytes: usize, mut goes_on: impl FnMut(u64) -> bool) {
    let datagram = vec![7; bytes - 28];
    let sockets: Vec<UdpSocket> = (0..FLOWS).map(|_| UdpSocket::bind(("0.0.0.0", 0)).unwrap()).collect();
    sockets.iter().for_each(|socket| socket.connect((RECEIVER, PORT)).unwrap());
    let slices = [[IoSlice::new(&datagram)]; BATCH];
    let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, None);
    let mut sent = 0;
    for socket in sockets.iter().cycle() {
        if !goes_on(sent) {
            return;
        }
        // A datagram that is dropped locally is not counted.
        let batch = sendmmsg(socket.as_raw_fd(), &mut headers, &slices, [None; BATCH], [], MsgFlags::empty());
        sent += batch.map_or(0, Iterator::count) as u64;
    }
}

/// Sends 60 datagrams of 101 bytes by each version of IP, with a DSCP of 5; a third of them are Not-ECT, the others
/// ECT(0).
pub(crate) fn send_classes() {
    let (four, six) = (UdpSocket::bind(("0.0.0.0", 0)).unwrap(), UdpSocket::bind(("::", 0)).unwrap());
    for n in 0..60_u8 {
        let class = 5 << 2 | if n % 3 == 0 { 0 } else { 2 };
        setsockopt(&four, Ipv4Tos, &class).unwrap();
        setsockopt(&six, Ipv6TClass, &class).unwrap();
        four.send_to(&[n; 101], (RECEIVER, PORT)).unwrap();
        six.send_to(&[n; 101], (RECEIVER6, PORT)).unwrap();
    }
}

/// Sends datagrams in IP packets of `bytes` bytes at about `rate` bit/s for `seconds`.
pub(crate) fn send_at(rate: f64, bytes: usize, seconds: f64) {
    let socket = UdpSocket::bind(("0.0.0.0", 0)).unwrap();
    let (datagram, start) = (vec![7; bytes - 28], Instant::now());
    let mut sent = 0.0;
    while start.elapsed().as_secs_f64() < seconds {
        while sent < start.elapsed().as_secs_f64() * rate {
            let _ = socket.send_to(&datagram, (RECEIVER, PORT));
            sent += 8.0 * bytes as f64;
        }
        thread::sleep(Duration::from_micros(500));
    }
}
