//! The end points: what sends, and what receives.

mod connection;
mod datagrams;
mod tfrc;
mod transfers;

use fairlane_qdisc::{Duration, Qdisc, Seed, Time};
use fairlane_scenario::{FlowGroup, Traffic};

use crate::link::wire_bytes;
use crate::network::Routes;
use crate::packet::{Flags, NO_SACK, Packet};
use crate::plane::Plane;
use crate::source::draw::part;
use crate::tcp::Sender;
use crate::{FlowSample, Observer};

use connection::Connection;
use datagrams::Datagrams;
use tfrc::RateControlled;

/// What is counted of a flow from end to end, since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
}

/// A flow: both of its ends. A million of them are a million times its size: a test holds it.
#[derive(Debug)]
pub(crate) struct Flow {
    common: Common,
    ends: Ends,
}

/// What every flow has.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) id: u32,
    pub(crate) totals: Totals,
    routes: Routes,
    /// Size of a data packet.
    bytes: u32,
    /// The traffic class of its data.
    class: u8,
    stop: Option<Time>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most flows are TCP, and a box would cost each packet a cache miss")]
enum Ends {
    Tcp(Connection),
    Udp(Datagrams),
    Tfrc(Box<RateControlled>),
}

impl Common {
    /// A packet of data without its number.
    fn data(&self, now: Time, flags: Flags) -> Packet {
        Packet {
            sent: now,
            at: now,
            flow: self.id,
            seq: 0,
            bytes: self.bytes,
            route: self.routes.forward,
            sack: NO_SACK,
            flags,
            class: self.class,
        }
    }

    /// Whether the flow is to send no more.
    fn is_stopped(&self, now: Time) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }
}

impl Flow {
    /// Flow `id`, which is number `index` of `group`.
    pub(crate) fn new(id: u32, (group, index): (&FlowGroup, u32), routes: Routes, seed: Seed) -> Self {
        let bytes = wire_bytes(group.packet);
        let ends = match &group.traffic {
            Traffic::Tcp(tcp) => Ends::Tcp(Connection::new(tcp, bytes, seed)),
            Traffic::Udp(udp) => Ends::Udp(Datagrams::new(udp, index, bytes, seed)),
            Traffic::Tfrc(tfrc) => Ends::Tfrc(Box::new(RateControlled::new(tfrc, bytes, seed))),
        };
        let stop = group.stop.map(|stop| Time::ZERO + stop);
        Self { common: Common { id, totals: Totals::default(), routes, bytes, class: group.class, stop }, ends }
    }

    /// Draws when the flow of `group` has its first event.
    pub(crate) fn start(&mut self, group: &FlowGroup, seed: Seed) -> Time {
        let mut random = seed.stream("start");
        let spread = Duration::from_nanos(group.start_to.as_nanos().saturating_sub(group.start_from.as_nanos()));
        let start = Time::ZERO + group.start_from + part(spread, random.unit());
        match &mut self.ends {
            Ends::Tcp(_) | Ends::Tfrc(_) => start,
            Ends::Udp(datagrams) => start + datagrams.first(&mut random),
        }
    }

    pub(crate) fn totals(&self) -> Totals {
        self.common.totals
    }

    /// The measurement begins.
    pub(crate) fn begin_measurement(&mut self) {
        if let Ends::Tcp(connection) = &mut self.ends {
            connection.begin_measurement();
        }
    }

    /// How long each completed transfer took, in nanoseconds; `None` for a flow without transfers.
    pub(crate) fn completions(&self) -> Option<&[u64]> {
        match &self.ends {
            Ends::Tcp(connection) => connection.completions(),
            Ends::Udp(_) | Ends::Tfrc(_) => None,
        }
    }

    /// Something of all that the sender, or else the receiver, will need; see [`Lookahead`](crate::ahead::Lookahead).
    pub(crate) fn glance(&self, sends: bool) -> u64 {
        let ends = match &self.ends {
            Ends::Tcp(connection) => connection.glance(sends),
            Ends::Udp(_) | Ends::Tfrc(_) => 0,
        };
        self.common.totals.sent ^ ends
    }

    /// The route of what the sender, or else the receiver, sends.
    pub(crate) fn route(&self, sends: bool) -> u32 {
        if sends { self.common.routes.forward } else { self.common.routes.back }
    }

    /// What it has done so far; what became of its packets on the way is known elsewhere.
    pub(crate) fn sample(&self, dropped: u64, lost: u64) -> FlowSample {
        let sender = match &self.ends {
            Ends::Tcp(connection) => Some(connection.sender()),
            Ends::Udp(_) | Ends::Tfrc(_) => None,
        };
        let Common { id, totals, bytes, .. } = &self.common;
        FlowSample {
            flow: *id,
            sent: totals.sent,
            delivered: totals.delivered,
            delivered_bytes: match &self.ends {
                // Its packets may differ in size, and none comes twice.
                Ends::Udp(_) => totals.unique_bytes,
                Ends::Tcp(_) | Ends::Tfrc(_) => totals.delivered * u64::from(*bytes),
            },
            unique_bytes: totals.unique_bytes,
            dropped,
            lost,
            retransmitted: totals.retransmitted,
            timeouts: totals.timeouts,
            cwnd: sender.map(Sender::cwnd),
            srtt: sender.and_then(Sender::srtt),
        }
    }

    /// The source's event: it starts, stops, or sends its next packet.
    pub(crate) fn on_source<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        match &mut self.ends {
            Ends::Tcp(connection) => connection.on_source(now, &mut self.common, plane),
            Ends::Udp(datagrams) => datagrams.on_source(now, &mut self.common, plane),
            Ends::Tfrc(tfrc) => tfrc.on_source(now, &mut self.common, plane),
        }
    }

    /// The sender's timer may be due.
    pub(crate) fn on_sender_timer<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        match &mut self.ends {
            Ends::Tcp(connection) => connection.on_sender_timer(now, &mut self.common, plane),
            Ends::Tfrc(tfrc) => tfrc.on_sender_timer(now, &mut self.common, plane),
            Ends::Udp(_) => {}
        }
    }

    /// The receiver's timer may be due.
    pub(crate) fn on_receiver_timer<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        match &mut self.ends {
            Ends::Tcp(connection) => connection.on_receiver_timer(now, &self.common, plane),
            Ends::Tfrc(tfrc) => tfrc.on_receiver_timer(now, &self.common, plane),
            Ends::Udp(_) => {}
        }
    }

    /// A packet has reached its host.
    pub(crate) fn on_packet<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: Packet,
        plane: &mut Plane<'_, O, D>,
    ) {
        if packet.flags.has(Flags::ACK) {
            match &mut self.ends {
                Ends::Tcp(connection) => connection.on_ack(now, &packet, &mut self.common, plane),
                Ends::Tfrc(tfrc) => tfrc.on_report(now, &packet, &self.common, plane),
                Ends::Udp(_) => {}
            }
            return;
        }
        self.common.totals.delivered += 1;
        if O::ACTIVE {
            plane.observer.delivered(now, self.common.id, packet.seq);
        }
        match &mut self.ends {
            Ends::Tcp(connection) => connection.on_segment(now, &packet, &mut self.common, plane),
            Ends::Tfrc(tfrc) => tfrc.on_data(now, &packet, &mut self.common, plane),
            Ends::Udp(_) => self.common.totals.unique_bytes += u64::from(packet.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;

    /// With four links, its counts at a queue and its part of the result a flow is to take less than 1 KiB.
    #[test]
    fn a_flow_stays_small() {
        assert!(size_of::<Flow>() <= 512, "{}", size_of::<Flow>());
        assert!(size_of::<Link<fairlane_qdisc::AnyQdisc<Packet>>>() <= 48);
    }
}
