//! Flows: the sending and receiving end points.

pub(crate) mod hosts;
pub(crate) mod numbered;

mod application;
mod cbr;
mod common;
mod connection;
mod datagrams;
mod external;
mod rpc;
mod tfrc;
mod transfers;
mod video;
mod web;

use fairlane_outcome::FlowSample;
use fairlane_qdisc::{Rate, Seed, Time};
use fairlane_scenario::{FlowGroup, Traffic};

use crate::application::Session;
use crate::endpoint::{End, EndpointError, Pair};
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::route::Routes;
use crate::packet::{Flags, Packet};
use crate::tcp::TcpSender;
use crate::tcp::congestion::FlowAlgorithm;

pub(crate) use application::Applications;
pub(crate) use common::Totals;

use application::Told;
use common::Common;
use connection::Connection;
use datagrams::Datagrams;
use external::External;
use tfrc::RateControlled;

/// A flow with both end points. Scenarios may have a million flows, so a test limits its size. It is aligned to cache
/// lines, so that it lies on as few of them as possible.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    common: Common,
    endpoints: Endpoints,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most flows are TCP, and a box would cost each packet a cache miss")]
enum Endpoints {
    Tcp(Connection),
    Udp(Datagrams),
    Tfrc(Box<RateControlled>),
    External(Box<External>),
}

impl Flow {
    /// Returns flow `id`, which has number `index` in `group`. `pair` are its endpoints, `applications` those of the
    /// group, and `own` is a congestion control of the program. Returns `None` if it needs endpoints or an application
    /// and has none.
    pub(crate) fn new(
        id: u32,
        (group, index): (&FlowGroup, u32),
        routes: Routes,
        seed: Seed,
        applications: &mut Applications,
        pair: Option<Pair>,
        own: Option<FlowAlgorithm>,
    ) -> Option<Self> {
        let common = Common::new(id, group, routes);
        let bytes = common.bytes;
        let endpoints = match &group.traffic {
            Traffic::Tcp(tcp) => Endpoints::Tcp(Connection::new(tcp, &common, seed, applications, own)?),
            Traffic::Udp(udp) => Endpoints::Udp(Datagrams::new(udp, index, bytes, seed)),
            Traffic::Tfrc(tfrc) => Endpoints::Tfrc(Box::new(RateControlled::new(tfrc, bytes, seed))),
            Traffic::Endpoint => Endpoints::External(Box::new(External::new(id, (group, index), pair?))),
        };
        Some(Self { common, endpoints })
    }

    /// Draws the time of the flow's first event.
    pub(crate) fn start(&mut self, group: &FlowGroup, seed: Seed) -> Time {
        let mut random = seed.stream("start");
        let start = Time::ZERO + fairlane_traffic::start(group, &mut random);
        match &mut self.endpoints {
            Endpoints::Tcp(_) | Endpoints::Tfrc(_) | Endpoints::External(_) => start,
            Endpoints::Udp(datagrams) => start + datagrams.first(&mut random),
        }
    }

    /// Returns true for TCP, which acknowledges segments as they come.
    pub(crate) const fn is_tcp(&self) -> bool {
        matches!(self.endpoints, Endpoints::Tcp(_))
    }

    pub(crate) fn totals(&self) -> Totals {
        self.common.totals
    }

    /// Starts the measurement.
    ///
    /// # Errors
    /// The application of a program fails.
    pub(crate) fn begin_measurement(&mut self, now: Time) -> Result<(), Box<EndpointError>> {
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.told_mut().map_or(Ok(()), |told| told.begin_measurement(now)),
            Endpoints::Udp(_) | Endpoints::Tfrc(_) | Endpoints::External(_) => Ok(()),
        }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// The application of a program fails.
    pub(crate) fn end(&mut self, now: Time) -> Result<(), Box<EndpointError>> {
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.told_mut().map_or(Ok(()), |told| told.end(now)),
            Endpoints::Udp(_) | Endpoints::Tfrc(_) | Endpoints::External(_) => Ok(()),
        }
    }

    /// Returns what its application has done; `None` for one without end.
    pub(crate) fn session(&self) -> Option<&Session> {
        match &self.endpoints {
            Endpoints::Tcp(connection) => connection.told().map(Told::session),
            Endpoints::Udp(_) | Endpoints::Tfrc(_) | Endpoints::External(_) => None,
        }
    }

    /// [Asks for](crate::network::prefetch) the scoreboard of the sender, or else of the receiver.
    pub(crate) fn prefetch_scoreboard(&self, sender: bool) {
        if let Endpoints::Tcp(connection) = &self.endpoints {
            connection.prefetch_scoreboard(sender);
        }
    }

    /// Returns the counts since time zero, with the packets that the network dropped and lost.
    pub(crate) fn sample(&self, dropped: u64, lost: u64) -> FlowSample {
        let sender = match &self.endpoints {
            Endpoints::Tcp(connection) => Some(connection.sender()),
            Endpoints::Udp(_) | Endpoints::Tfrc(_) | Endpoints::External(_) => None,
        };
        let Common { id, totals, bytes, .. } = &self.common;
        FlowSample {
            flow: *id,
            sent: totals.sent,
            delivered: totals.delivered,
            delivered_bytes: match &self.endpoints {
                // Packets may differ in size, and none is delivered twice.
                Endpoints::Udp(_) => totals.unique_bytes,
                Endpoints::External(external) => external.arrived_bytes(),
                Endpoints::Tcp(_) | Endpoints::Tfrc(_) => totals.delivered * u64::from(*bytes),
            },
            unique_bytes: totals.unique_bytes,
            dropped,
            lost,
            retransmitted: totals.retransmitted,
            timeouts: totals.timeouts,
            cwnd: sender.map(TcpSender::cwnd),
            srtt: sender.and_then(TcpSender::srtt),
        }
    }

    /// Sets the rate of the application; TCP has none. A UDP flow's next packet keeps the time for which it was
    /// scheduled.
    pub(crate) fn set_rate(&mut self, rate: Option<Rate>) {
        match (&mut self.endpoints, rate) {
            (Endpoints::Udp(datagrams), Some(rate)) => datagrams.set_rate(rate),
            (Endpoints::Tfrc(tfrc), limit) => tfrc.set_limit(limit),
            (Endpoints::Udp(_), None) | (Endpoints::Tcp(_) | Endpoints::External(_), _) => {}
        }
    }

    /// Handles an event of the source: the flow starts or stops, or sends its next packet.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, network: &mut Network<O>) {
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.on_source(now, &mut self.common, network),
            Endpoints::Udp(datagrams) => datagrams.on_source(now, &mut self.common, network),
            Endpoints::Tfrc(tfrc) => tfrc.on_source(now, &mut self.common, network),
            Endpoints::External(external) => external.on_source(now, &mut self.common, network),
        }
    }

    /// Handles a timer event of the sender; returns true if a timer is due.
    pub(crate) fn on_sender_timer<O: Observer>(&mut self, now: Time, network: &mut Network<O>) -> bool {
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.on_sender_timer(now, &mut self.common, network),
            Endpoints::Tfrc(tfrc) => tfrc.on_sender_timer(now, &mut self.common, network),
            Endpoints::External(external) => external.on_timer(now, End::Source, &mut self.common, network),
            Endpoints::Udp(_) => false,
        }
    }

    /// Handles a timer event of the receiver; returns true if the timer is due.
    pub(crate) fn on_receiver_timer<O: Observer>(&mut self, now: Time, network: &mut Network<O>) -> bool {
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.on_receiver_timer(now, &self.common, network),
            Endpoints::Tfrc(tfrc) => tfrc.on_receiver_timer(now, &self.common, network),
            Endpoints::External(external) => external.on_timer(now, End::Sink, &mut self.common, network),
            Endpoints::Udp(_) => false,
        }
    }

    /// Handles a packet that reaches its host at `now`, which may be [early](crate::flow::hosts).
    pub(crate) fn on_packet<O: Observer>(&mut self, now: Time, packet: &Packet, network: &mut Network<O>) {
        if packet.flags.has(Flags::ACK) {
            match &mut self.endpoints {
                Endpoints::Tcp(connection) => connection.on_ack(now, packet, &mut self.common, network),
                Endpoints::Tfrc(tfrc) => tfrc.on_report(now, packet, &self.common, network),
                Endpoints::External(external) => external.on_datagram(now, packet, &mut self.common, network),
                Endpoints::Udp(_) => {}
            }
            return;
        }
        if packet.flags.opens() {
            if let Endpoints::Tcp(connection) = &mut self.endpoints {
                connection.on_opening(now, packet, &self.common, network);
            }
            return;
        }
        self.common.totals.delivered += 1;
        if O::ACTIVE {
            network.records.observer.took(now, self.common.id, now - packet.sent, packet.bytes);
            network.records.observer.delivered(now, self.common.id, packet.seq);
        }
        match &mut self.endpoints {
            Endpoints::Tcp(connection) => connection.on_segment(now, packet, &mut self.common, network),
            Endpoints::Tfrc(tfrc) => tfrc.on_data(now, packet, &mut self.common, network),
            Endpoints::External(external) => external.on_datagram(now, packet, &mut self.common, network),
            Endpoints::Udp(_) => self.common.totals.unique_bytes += u64::from(packet.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::link::Link;

    /// Would catch a flow that, with four links, its counts at a queue and its part of the result, takes more than 1
    /// KiB.
    #[test]
    fn a_flow_stays_small() {
        assert!(size_of::<Flow>() <= 512, "{}", size_of::<Flow>());
        assert!(size_of::<Link>() <= 40);
    }
}
