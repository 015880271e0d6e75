//! The flows of a scenario between two namespaces that a caller has connected by a link.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsFd;
use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use fairlane_linux::now;
use fairlane_qdisc::{Duration, Seed};
use fairlane_scenario::Scenario;
use nix::poll::ppoll;
use nix::sys::time::TimeSpec;

use crate::address::{IpVersion, Side};
use crate::error::{LabError, setup};
use crate::hosts::receiver::{Receiver, ReceiverResults};
use crate::hosts::sender::{Sender, SenderResults};
use crate::hosts::tcp_info::TcpInfo;
use crate::plan::LabPlan;
use crate::timeline::Timeline;

/// A time that no run takes: ten years.
const ENDLESS: Duration = Duration::from_millis(10 * 365 * 86_400_000);

/// The longest time until all parts have counted.
const COUNTING: Duration = Duration::from_millis(1_000);

/// The networks of the hosts, and the length of their prefix.
const LEFT: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 0);
const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 0);
const PREFIX: u8 = 16;

/// One end of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Packets from here take the forward direction.
    Left,
    /// Packets from here take the reverse direction.
    Right,
}

/// The TCP and UDP flows of a scenario, over IPv4, without a link.
///
/// Each end has a network of hosts, which has to be local there and reachable from the other end. The flows begin with
/// [`begin`](Self::begin) and end with [`end`](Self::end).
pub struct HostedFlows {
    plan: LabPlan,
    seed: Seed,
    timeline: Timeline,
    receivers: Mutex<Vec<Part<ReceiverResults>>>,
    senders: Mutex<Vec<Part<SenderResults>>>,
}

type Part<T> = JoinHandle<Result<T, LabError>>;

/// The counts of a flow at its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostedCounts {
    /// The flow's name, such as `ftp/0`.
    pub name: String,
    /// Packets with data sent, including retransmissions.
    pub sent: u64,
    /// Packets with data received.
    pub received: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Retransmission timeouts; 0 before Linux 6.7, which does not report them.
    pub timeouts: u64,
}

/// Returns the retransmissions of a TCP connection since it was opened, and the timeouts among them, from the kernel.
///
/// # Errors
/// The socket is no connection of TCP.
pub fn retransmissions(connection: impl AsFd) -> io::Result<(u64, u64)> {
    let info = TcpInfo::of(connection.as_fd())?;
    Ok((info.sent_again, info.timeouts))
}

impl HostedFlows {
    /// Returns the flows of `scenario`.
    ///
    /// # Errors
    /// The lab does not support a flow, or the kernel does not have its congestion control.
    pub fn new(scenario: &Scenario) -> Result<Self, LabError> {
        let plan = LabPlan::hosted(scenario, IpVersion::V4)?;
        plan.check_kernel()?;
        let seed = Seed::new(scenario.seed).numbered(0);
        let (receivers, senders) = (Mutex::default(), Mutex::default());
        Ok(Self { plan, seed, timeline: Timeline::new(None), receivers, senders })
    }

    /// Returns the network of the hosts at `end`, and the length of its prefix.
    #[must_use]
    pub fn network(end: End) -> (IpAddr, u8) {
        (IpAddr::V4(if end == End::Left { LEFT } else { RIGHT }), PREFIX)
    }

    /// Opens the receivers at `end`, whose namespace is this thread's, and starts them in a thread.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn receive(&self, end: End) -> Result<(), LabError> {
        let from = side(end).other();
        if !self.plan.sides().contains(&from) {
            return Ok(());
        }
        let (receiver, timeline) = (Receiver::new(&self.plan, from)?, self.timeline.clone());
        let part = start("shell-receivers", move || receiver.run(&timeline))?;
        self.receivers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(part);
        Ok(())
    }

    /// Opens the senders at `end`, whose namespace is this thread's, and their connections to the receivers at the
    /// other end, and starts them in a thread.
    ///
    /// # Errors
    /// The system refuses it, or a connection cannot be opened.
    pub fn send(&self, end: End) -> Result<(), LabError> {
        let side = side(end);
        if !self.plan.sides().contains(&side) {
            return Ok(());
        }
        let (sender, timeline) = (Sender::new(&self.plan, side, self.seed, &self.timeline)?, self.timeline.clone());
        let part = start("shell-senders", move || sender.run(&timeline))?;
        self.senders.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(part);
        Ok(())
    }

    /// Begins: time zero of the scenario is now.
    pub fn begin(&self) {
        self.timeline.begin(now(), Duration::ZERO, ENDLESS);
    }

    /// Ends the flows, and returns the counts of each.
    ///
    /// # Errors
    /// A part of them has failed.
    pub fn end(self) -> Result<Vec<HostedCounts>, LabError> {
        let receivers = self.receivers.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let senders = self.senders.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.timeline.cut(now());
        let (parts, until) = ((receivers.len() + senders.len()) as u32, now() + COUNTING);
        while self.timeline.measured() < parts && now() < until {
            // Waits for the time alone.
            let _ = ppoll(&mut [], Some(TimeSpec::new(0, 1_000_000)), None);
        }
        self.timeline.end();
        let received = joined(receivers, ReceiverResults::join)?;
        let sent = joined(senders, |all, other| all.join(&other))?;
        let names = self.plan.scenario.flow_names().enumerate();
        let counts = |(id, name): (usize, String)| {
            let sent = sent.as_ref().map(|all| all.flows[id]).unwrap_or_default();
            let received = received.as_ref().map(|all| all.flows[id]).unwrap_or_default();
            HostedCounts {
                name,
                sent: sent.packets,
                received: received.packets,
                retransmitted: sent.again,
                timeouts: sent.timeouts,
            }
        };
        Ok(names.map(counts).collect())
    }
}

const fn side(end: End) -> Side {
    match end {
        End::Left => Side::Left,
        End::Right => Side::Right,
    }
}

/// Starts a part in a thread of this thread's namespace.
fn start<T: Send + 'static>(
    name: &str,
    part: impl FnOnce() -> Result<T, LabError> + Send + 'static,
) -> Result<Part<T>, LabError> {
    thread::Builder::new().name(name.to_owned()).spawn(part).map_err(setup("a thread"))
}

/// Returns the results of all parts as one; `None` without parts.
fn joined<T>(parts: Vec<Part<T>>, join: impl Fn(T, T) -> T) -> Result<Option<T>, LabError> {
    let mut all = None;
    for part in parts {
        let gone = |_| Err(LabError::Failed("the flows", io::Error::other("a thread has ended")));
        let results = part.join().unwrap_or_else(gone)?;
        all = Some(match all {
            Some(before) => join(before, results),
            None => results,
        });
    }
    Ok(all)
}
