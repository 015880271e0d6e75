//! One direction of the dumbbell: the source's link, the queue before the bottleneck, and the destination's link.
//!
//! Time here is that of the network, not of the machine: each packet comes, leaves and arrives at the moment when it would on
//! real links. Should the machine be late, a verdict is late; the next packet's time does not depend on it.

use std::collections::HashMap;

use fairlane_qdisc::{Duration, Host, Packet, ParameterError, Rate, Seed, Time};
use fairlane_scenario::LinkSide;

use crate::delays::Delays;
use crate::engine::Engine;
use crate::nfqueue::{Decision, Verdict};
use crate::packet::{Held, Marking};

use super::host_link::{HostLink, Waiting};
use super::meter::Meter;

/// One direction.
pub(super) struct Direction {
    /// By flow, the link before the queue; `None` where the host is the node.
    first: Vec<Option<HostLink>>,
    before: Waiting<(u32, Held)>,
    engine: Engine<Meter>,
    rate: Rate,
    delay: Duration,
    /// By flow, the link behind the bottleneck.
    last: Vec<Option<HostLink>>,
    after: Waiting<Verdict>,
    /// The flow and the size of each packet that the queue has not yet given out, by its number.
    packets: HashMap<u32, (u32, u32)>,
    /// Packets of each flow that its host's links had no room for.
    dropped_at_hosts: Vec<u64>,
    lateness: Delays,
    verdicts: Vec<Verdict>,
}

impl Direction {
    /// The link `side`, between the links of each flow's hosts.
    pub(super) fn new(
        side: &LinkSide,
        marking: Marking,
        seed: Seed,
        hosts: Vec<(Option<HostLink>, Option<HostLink>)>,
    ) -> Result<Self, ParameterError> {
        let discipline = side.queue.build(&Host { rate: side.rate, seed })?;
        let flows = hosts.len();
        let (first, last) = hosts.into_iter().unzip();
        Ok(Self {
            first,
            before: Waiting::new(),
            engine: Engine::with_witness(discipline, side.rate, marking, Meter::new(flows)),
            rate: side.rate,
            delay: side.delay,
            last,
            after: Waiting::new(),
            packets: HashMap::new(),
            dropped_at_hosts: vec![0; flows],
            lateness: Delays::default(),
            verdicts: Vec::new(),
        })
    }

    /// Whether there is a flow of this number.
    pub(super) fn knows(&self, flow: u32) -> bool {
        (flow as usize) < self.first.len()
    }

    /// A packet of `flow`, which it [`knows`](Self::knows), leaves its source at `now`.
    pub(super) fn arrive(&mut self, now: Time, flow: u32, packet: Held) {
        let (id, bytes) = (packet.id, packet.bytes());
        match pass(&mut self.first[flow as usize], now, bytes) {
            Some(at) => {
                self.packets.insert(id, (flow, bytes));
                self.before.push(at, (flow, packet));
            }
            None => self.drop_at_host(id, flow),
        }
    }

    /// Lets everything happen that happens by `now`, in its order.
    pub(super) fn advance(&mut self, now: Time) {
        loop {
            let coming = self.before.next().unwrap_or(Time::MAX);
            let leaving = self.engine.due().unwrap_or(Time::MAX);
            let at = coming.min(leaving);
            if at > now || at == Time::MAX {
                break;
            }
            if coming <= leaving
                && let Some((_, (flow, packet))) = self.before.pop(at)
            {
                self.engine.witness().expect(packet.id, flow);
                self.engine.arrive(at, packet);
                let average = self.engine.average();
                self.engine.witness().averaged(average);
            } else {
                self.engine.advance(at);
            }
            self.send_on(at);
        }
        while let Some((due, verdict)) = self.after.pop(now) {
            self.lateness.add(now.since(due));
            self.verdicts.push(verdict);
        }
    }

    /// What the queue gave out at `at` goes on, or is dropped.
    fn send_on(&mut self, at: Time) {
        let decided: Vec<Verdict> = self.engine.verdicts().collect();
        for verdict in decided {
            let Some((flow, bytes)) = self.packets.remove(&verdict.id) else { continue };
            if verdict.decision == Decision::Drop {
                self.verdicts.push(verdict);
                continue;
            }
            let across = at + self.rate.transmission(bytes.into()) + self.delay;
            match pass(&mut self.last[flow as usize], across, bytes) {
                Some(there) => self.after.push(there, verdict),
                None => self.drop_at_host(verdict.id, flow),
            }
        }
    }

    fn drop_at_host(&mut self, id: u32, flow: u32) {
        self.dropped_at_hosts[flow as usize] += 1;
        self.verdicts.push(Verdict { id, decision: Decision::Drop });
    }

    /// When something happens next.
    pub(super) fn due(&self) -> Option<Time> {
        [self.before.next(), self.engine.due(), self.after.next()].into_iter().flatten().min()
    }

    /// The verdicts since the last call.
    pub(super) fn verdicts(&mut self) -> std::vec::Drain<'_, Verdict> {
        self.verdicts.drain(..)
    }

    /// The measurement begins.
    pub(super) fn begin(&mut self, now: Time) {
        self.engine.witness().begin(now);
        self.dropped_at_hosts.fill(0);
        self.lateness = Delays::default();
    }

    /// Who counts at the queue.
    pub(super) const fn meter(&mut self) -> &mut Meter {
        self.engine.witness()
    }

    /// By flow, what the links of its hosts had no room for.
    pub(super) fn dropped_at_hosts(&self) -> &[u64] {
        &self.dropped_at_hosts
    }

    /// How much later than on real links packets arrived.
    pub(super) const fn lateness(&self) -> &Delays {
        &self.lateness
    }
}

/// When a packet is at the other end of a host's link; at once where there is none.
fn pass(link: &mut Option<HostLink>, at: Time, bytes: u32) -> Option<Time> {
    match link {
        Some(link) => link.pass(at, bytes),
        None => Some(at),
    }
}
