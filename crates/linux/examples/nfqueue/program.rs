//! The programs that decide on the packets of a queue.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fairlane_linux::nfqueue::{Copied, Message, Setup};
use fairlane_linux::{QueueSocket, Router};
use fairlane_qdisc::{Kind, QdiscParameters, Rate};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::common::config;

/// A rate above any flood, so that no packet waits long for the link.
pub(crate) const RATE: Rate = Rate::from_bits_per_second(100_000_000_000);

/// A program under measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Accepts every packet, with one verdict per batch.
    Bare,
    /// A router with this discipline.
    Router(Kind),
}

/// All programs. The others are compared with the first.
pub(crate) const PROGRAMS: [Program; 4] =
    [Program::Bare, Program::Router(Kind::DropTail), Program::Router(Kind::Choke), Program::Router(Kind::FqCodel)];

/// A program that has bound queue 0.
pub(crate) struct Bound {
    /// Runs until it is told to stop and no packet waits, and returns the number of packets.
    pub(crate) work: Box<dyn FnOnce() -> u64 + Send>,
    /// Tells the program to stop, before or while it runs.
    pub(crate) stop: Box<dyn Fn()>,
}

impl Program {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Bare => "bare".to_owned(),
            Self::Router(kind) => kind.to_string(),
        }
    }

    pub(crate) fn bind(self) -> Bound {
        let Self::Router(kind) = self else {
            let setup = Setup {
                queue: 0,
                copied: Copied::Headers,
                max_packets: 1_000_000,
                fail_open: false,
                gso: false,
                conntrack: false,
            };
            let socket = QueueSocket::bind(&setup).unwrap();
            let over = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&over);
            return Bound {
                work: Box::new(move || accept_everything(socket, &told)),
                stop: Box::new(move || over.store(true, Ordering::Relaxed)),
            };
        };
        let router = Router::new(&config(&discipline(kind), RATE)).unwrap();
        let handle = router.handle();
        Bound {
            work: Box::new(|| {
                let report = router.run().unwrap();
                assert_eq!(report.counters.dropped_total().packets, 0, "a dropped packet costs less: {report:?}");
                report.counters.arrived.packets
            }),
            stop: Box::new(move || handle.stop(fairlane_qdisc::Duration::from_secs(2.0))),
        }
    }
}

/// Decides on every packet with as little work as possible, and returns the number of packets.
fn accept_everything(mut socket: QueueSocket, over: &AtomicBool) -> u64 {
    let (mut batch, mut packets) = (socket.receive_buffer(), 0);
    loop {
        let mut last = None;
        let received = socket.receive(&mut batch, |message| {
            if let Message::Packet(queued) = message {
                (last, packets) = (Some(queued.id), packets + 1);
            }
        });
        last.map_or(Ok(()), |last| socket.accept_up_to(last)).unwrap();
        if received.unwrap().more {
            continue;
        }
        if over.load(Ordering::Relaxed) {
            return packets;
        }
        poll(&mut [PollFd::new(socket.as_fd(), PollFlags::POLLIN)], PollTimeout::from(50_u8)).unwrap();
    }
}

/// Returns a queue that drops nothing: it has room for many batches.
pub(crate) fn discipline(kind: Kind) -> QdiscParameters {
    let config = QdiscParameters::new(kind);
    match kind {
        Kind::Choke => {
            config.with("limit", "20000p").unwrap().with("min", "5000p").unwrap().with("max", "15000p").unwrap()
        }
        _ => config.with("limit", "20000p").unwrap(),
    }
}
