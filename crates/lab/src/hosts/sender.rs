//! The senders of the flows on one side, in one thread.

mod connection;
mod counts;
mod datagrams;
mod flow;
mod transfers;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::mem;
use std::os::fd::AsFd;

use fairlane_linux::now;
use fairlane_qdisc::{Duration, Seed, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollTimeout};
use nix::sys::prctl::set_timerslack;

use crate::address::Side;
use crate::error::{LabError, setup};
use crate::plan::LabPlan;
use crate::timeline::Timeline;
use connection::{is_open, timeout};
use flow::Flow;

pub(crate) use counts::{FlowSent, SenderResults, SenderSample};

/// The maximum time to open the connections.
const OPENING: Duration = Duration::from_millis(15_000);
/// The longest wait before the thread checks whether the run has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The senders of the flows whose data come from one side.
pub(crate) struct Sender {
    epoll: Epoll,
    flows: Vec<Flow>,
    /// The number of flows of the scenario.
    all: usize,
    /// The times of the flows' events. Those of the same time are in this order.
    times: BinaryHeap<Reverse<(Time, Event, usize)>>,
    /// UDP packets whose time to be sent has come.
    udp_due: u64,
}

/// An event of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Stop,
    Source,
}

/// The counts at the start of the measurement.
struct Before {
    flows: Vec<FlowSent>,
    udp_due: u64,
    transfers: u64,
}

impl Sender {
    /// Opens all sockets in this thread's namespace after the receivers are ready. As in the simulator, TCP connections
    /// are established before the scenario begins, but for those of transfers and of later phases. `seed` is that of
    /// the scenario and the run.
    pub(crate) fn new(plan: &LabPlan, side: Side, seed: Seed, timeline: &Timeline) -> Result<Self, LabError> {
        let sender = Self::open(plan, side, seed).map_err(setup("the senders"))?;
        sender.connected(timeline)?;
        Ok(sender)
    }

    fn open(plan: &LabPlan, side: Side, seed: Seed) -> io::Result<Self> {
        let ids = (0..plan.flows.len() as u32).filter(|id| plan.side(*id) == side);
        let flows = ids.map(|id| Flow::open(plan, id, seed)).collect::<io::Result<_>>()?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        Ok(Self { epoll, flows, all: plan.flows.len(), times: BinaryHeap::new(), udp_due: 0 })
    }

    /// Waits until all connections are established.
    fn connected(&self, timeline: &Timeline) -> Result<(), LabError> {
        let failed = |error: io::Error| LabError::Failed("opening TCP's connections", error);
        let end = now() + OPENING;
        for connection in self.flows.iter().filter_map(Flow::first_connection) {
            while !is_open(connection, POLL_INTERVAL).map_err(failed)? {
                if timeline.is_over() {
                    return Err(LabError::Interrupted);
                }
                if now() >= end {
                    return Err(failed(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        Ok(())
    }

    /// Sends until the end of the run, and returns the results of the measurement.
    pub(crate) fn run(mut self, timeline: &Timeline) -> Result<SenderResults, LabError> {
        let failed = |error: io::Error| LabError::Failed("the senders", error);
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let (mut before, mut sent) = (None, None);
        let (mut sample_times, mut samples) = (timeline.sample_times(), Vec::new());
        let mut scheduled = false;
        while !timeline.is_over() {
            let now = now();
            if !scheduled && timeline.start() < Time::MAX {
                self.schedule(timeline.start());
                scheduled = true;
            }
            while sample_times.take_due(now, timeline).is_some() {
                samples.push(self.by_flow(Flow::sample));
            }
            if before.is_none() && now >= timeline.from() {
                before = Some(self.before());
            }
            if let Some(before) = before.as_ref().filter(|_| sent.is_none() && now >= timeline.to()) {
                sent = Some(self.sent_since(before, mem::take(&mut samples)));
                timeline.count_measured();
            }
            if sent.is_none() {
                self.events(now).map_err(failed)?;
                let next = self.next(now, timeline).min(sample_times.next(timeline));
                self.wait(now, next).map_err(failed)?;
            } else {
                // The receivers may end first and reset the connections.
                let _ = ppoll(&mut [], Some(timeout(POLL_INTERVAL)), None);
            }
        }
        sent.ok_or(LabError::Interrupted)
    }

    /// Notes the flows' starts and stops. Time zero is at `zero`.
    fn schedule(&mut self, zero: Time) {
        for (place, flow) in self.flows.iter_mut().enumerate() {
            flow.zero = zero;
            self.times.push(Reverse((zero + flow.start, Event::Source, place)));
            self.times.extend(flow.stop.map(|stop| Reverse((zero + stop, Event::Stop, place))));
            for phase in flow.later_phases() {
                self.times.push(Reverse((zero + phase.to, Event::Stop, place)));
                // The packet of a UDP flow that no longer belongs to a phase begins the next one.
                if flow.is_tcp() {
                    self.times.push(Reverse((zero + phase.from, Event::Source, place)));
                }
            }
        }
    }

    /// Handles the events whose time has come.
    fn events(&mut self, now: Time) -> io::Result<()> {
        while let Some(&Reverse((at, event, place))) = self.times.peek().filter(|Reverse((at, ..))| *at <= now) {
            self.times.pop();
            let flow = &mut self.flows[place];
            if event == Event::Stop {
                flow.stop();
                continue;
            }
            self.udp_due += u64::from(flow.is_sending_udp());
            let next = flow.on_source((at, now), &self.epoll, place as u64)?;
            self.times.extend(next.map(|next| Reverse((next, Event::Source, place))));
        }
        Ok(())
    }

    /// Returns the time of the next event of a flow, or the next edge of the measurement.
    fn next(&self, now: Time, timeline: &Timeline) -> Time {
        let edges = [timeline.start(), timeline.from(), timeline.to()].into_iter().filter(|edge| *edge > now);
        edges.chain(self.times.peek().map(|Reverse((at, ..))| *at)).min().unwrap_or(Time::MAX)
    }

    /// Waits until `next`, or until a connection is ready, and goes on with those that are.
    fn wait(&mut self, now: Time, next: Time) -> io::Result<()> {
        let mut ready = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut ready, Some(timeout(next.since(now).min(POLL_INTERVAL))), None) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut events = [EpollEvent::empty(); 64];
        let ready = self.epoll.wait(&mut events, EpollTimeout::ZERO)?;
        for event in &events[..ready] {
            let place = event.data() as usize;
            let Some(flow) = self.flows.get_mut(place) else { continue };
            let next = flow.on_ready(fairlane_linux::now(), &self.epoll, place as u64)?;
            self.times.extend(next.map(|next| Reverse((next, Event::Source, place))));
        }
        Ok(())
    }

    /// Returns what `value` gives for each flow of the scenario; the default for flows of the other side.
    fn by_flow<T: Clone + Default>(&self, value: impl Fn(&Flow) -> T) -> Vec<T> {
        let mut values = vec![T::default(); self.all];
        for flow in &self.flows {
            values[flow.id as usize] = value(flow);
        }
        values
    }

    fn before(&self) -> Before {
        Before { flows: self.by_flow(Flow::sent), udp_due: self.udp_due, transfers: self.transfers() }
    }

    fn transfers(&self) -> u64 {
        self.flows.iter().map(Flow::transfers).sum()
    }

    fn sent_since(&self, before: &Before, samples: Vec<Vec<SenderSample>>) -> SenderResults {
        let sent = self.by_flow(Flow::sent);
        SenderResults {
            samples,
            flows: sent.iter().zip(&before.flows).map(|(after, before)| after.since(before)).collect(),
            payloads: self.by_flow(Flow::payload),
            udp_due: self.udp_due - before.udp_due,
            transfers: self.transfers() - before.transfers,
            unsent_bytes: self.flows.iter().map(Flow::unsent_bytes).max().unwrap_or(0),
            round_trip: self.flows.iter().filter_map(Flow::round_trip).min(),
        }
    }
}
