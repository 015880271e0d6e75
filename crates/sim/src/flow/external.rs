//! A flow between two endpoints that a program brings.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use fairlane_qdisc::Time;
use fairlane_scenario::FlowGroup;

use super::common::Common;
use crate::endpoint::{CallLimit, Ecn, End, Endpoint, EndpointError, LARGEST, Outgoing, Pair, Problem, caught};
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::{Flags, Packet};
use crate::schedule::event_key::Target;
use crate::schedule::timer::{Timer, is_due};

/// The two endpoints.
#[derive(Debug)]
pub(crate) struct External {
    group: String,
    index: u32,
    source: Host,
    sink: Host,
    started: bool,
    /// The bytes on the wire of the datagrams that have reached the sink.
    arrived_bytes: u64,
}

/// An endpoint and its host.
#[derive(Debug)]
struct Host {
    end: End,
    /// Nobody locks it: it makes a run `Sync`, which an endpoint need not be.
    endpoint: Mutex<Box<dyn Endpoint>>,
    /// The flows of the group.
    flows: Range<u32>,
    timer: Timer,
    next_seq: u32,
    calls: CallLimit,
}

impl External {
    /// Returns the endpoints of flow `id`, which has number `index` in `group`.
    pub(super) fn new(id: u32, (group, index): (&FlowGroup, u32), Pair { source, sink }: Pair) -> Self {
        let first = id - index;
        let host = |end, endpoint| Host {
            end,
            endpoint: Mutex::new(endpoint),
            flows: first..first + group.count,
            timer: Timer::off(),
            next_seq: 0,
            calls: CallLimit::new(),
        };
        let (source, sink) = (host(End::Source, source), host(End::Sink, sink));
        Self { group: group.name.clone(), index, source, sink, started: false, arrived_bytes: 0 }
    }

    pub(super) const fn arrived_bytes(&self) -> u64 {
        self.arrived_bytes
    }

    /// Starts both endpoints.
    #[inline(never)]
    pub(super) fn on_source<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        self.started = true;
        for end in [End::Sink, End::Source] {
            self.with_host(now, end, common, network, |host, common, network| {
                host.call(|endpoint| endpoint.start(now))?;
                host.serve(now, common, network)
            });
        }
    }

    /// Handles a timer event of an endpoint, which may also have been woken; returns true if its deadline has come.
    #[inline(never)]
    pub(super) fn on_timer<O: Observer>(
        &mut self,
        now: Time,
        end: End,
        common: &mut Common,
        network: &mut Network<O>,
    ) -> bool {
        let mut due = false;
        self.with_host(now, end, common, network, |host, common, network| {
            host.timer.fires(now);
            due = is_due(host.call(|endpoint| endpoint.deadline())?, now);
            if due {
                host.call(|endpoint| endpoint.on_timer(now))?;
            }
            host.serve(now, common, network)
        });
        due
    }

    /// Passes a datagram to the endpoint that it has reached.
    #[inline(never)]
    pub(super) fn on_datagram<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        network: &mut Network<O>,
    ) {
        let end = if packet.flags.has(Flags::ACK) { End::Source } else { End::Sink };
        if end == End::Sink {
            self.arrived_bytes += u64::from(packet.bytes);
        }
        network.records.sacks.take_datagram(packet.sack);
        self.with_host(now, end, common, network, |host, common, network| {
            let datagram = &mut network.records.sacks.datagram;
            host.call(|endpoint| endpoint.receive(now, datagram, ecn_of(packet.flags)))?;
            host.serve(now, common, network)
        });
    }

    /// Calls `act` with the host of `end`, unless the flow has not started or the run has failed, and notes a problem
    /// as the run's failure.
    fn with_host<O: Observer>(
        &mut self,
        now: Time,
        end: End,
        common: &mut Common,
        network: &mut Network<O>,
        act: impl FnOnce(&mut Host, &mut Common, &mut Network<O>) -> Result<(), Problem>,
    ) {
        if !self.started || network.failure.is_some() {
            return;
        }
        let host = match end {
            End::Source => &mut self.source,
            End::Sink => &mut self.sink,
        };
        if let Err(problem) = act(host, common, network) {
            let (group, index) = (self.group.clone(), self.index);
            network.failure = Some(Box::new(EndpointError { group, index, end, at: now, problem }));
        }
    }
}

impl Host {
    /// Calls a method of the endpoint; a panic is its problem.
    fn call<T>(&mut self, method: impl FnOnce(&mut dyn Endpoint) -> T) -> Result<T, Problem> {
        let endpoint = self.endpoint.get_mut().unwrap_or_else(PoisonError::into_inner);
        caught(|| method(&mut **endpoint))
    }

    /// Sends what the endpoint has to send at `now`, wakes others, lets the timers expire that are due, and sets the
    /// timer.
    fn serve<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) -> Result<(), Problem> {
        loop {
            while let Some(outgoing) = self.transmit(now, &mut network.records.sacks.datagram)? {
                self.calls.count(now, Problem::Endless("transmit"))?;
                self.send(now, outgoing, common, network)?;
            }
            self.wake_others(now, network)?;
            let deadline = self.call(|endpoint| endpoint.deadline())?;
            let Some(due) = deadline.filter(|deadline| *deadline <= now) else {
                self.timer.set(deadline, timer_of(self.end, common.id), &mut network.events);
                break;
            };
            self.calls.count(now, Problem::PastDeadline(due))?;
            self.call(|endpoint| endpoint.on_timer(now))?;
        }
        if self.end == End::Sink {
            let delivered = self.call(|endpoint| endpoint.delivered_bytes())?;
            common.totals.unique_bytes = common.totals.unique_bytes.max(delivered);
        }
        Ok(())
    }

    /// Schedules an event for each flow that the endpoint wakes.
    fn wake_others<O: Observer>(&mut self, now: Time, network: &mut Network<O>) -> Result<(), Problem> {
        while let Some(index) = self.call(|endpoint| endpoint.wake())? {
            self.calls.count(now, Problem::Endless("wake"))?;
            let flow = self.flows.clone().nth(index as usize).ok_or(Problem::NoFlow(index))?;
            network.events.push(now, timer_of(self.end, flow));
        }
        Ok(())
    }

    /// Lets the endpoint write its next datagram into the buffer.
    fn transmit(&mut self, now: Time, datagram: &mut Vec<u8>) -> Result<Option<Outgoing>, Problem> {
        datagram.clear();
        self.call(|endpoint| endpoint.transmit(now, datagram))
    }

    /// Sends the datagram that has been written.
    fn send<O: Observer>(
        &mut self,
        now: Time,
        Outgoing { bytes, ecn, class }: Outgoing,
        common: &mut Common,
        network: &mut Network<O>,
    ) -> Result<(), Problem> {
        if !(1..=LARGEST).contains(&bytes) {
            return Err(Problem::Size(bytes));
        }
        let payload = network.records.sacks.datagram.len();
        if payload > bytes as usize {
            return Err(Problem::Payload { bytes, payload });
        }
        let (seq, sack) = (self.next_seq, network.records.sacks.keep_datagram());
        self.next_seq = seq.wrapping_add(1);
        let (class, flags) = (class & !0b11, Flags::of_ecn(ecn).with(Flags::PAYLOAD, true));
        let packet = Packet { seq, bytes, sack, class, ..common.data(now, flags) };
        let packet = match self.end {
            End::Source => {
                common.totals.sent += 1;
                packet
            }
            // No filter of acknowledgements may drop a datagram.
            End::Sink => {
                let flags = flags.with(Flags::ACK, true).with(Flags::REPORT, true);
                Packet { route: common.routes.back, flags, ..packet }
            }
        };
        network.inject(now, &packet);
        Ok(())
    }
}

const fn timer_of(end: End, flow: u32) -> Target {
    match end {
        End::Source => Target::SenderTimer(flow),
        End::Sink => Target::ReceiverTimer(flow),
    }
}

const fn ecn_of(flags: Flags) -> Ecn {
    if flags.has(Flags::CE) {
        Ecn::Ce
    } else if flags.has(Flags::ECT_1) {
        Ecn::Ect1
    } else if flags.has(Flags::ECT) {
        Ecn::Ect0
    } else {
        Ecn::NotEct
    }
}
