//! Shapers in front of links, and the probes of their controllers.

use std::collections::{BTreeMap, VecDeque};

use fairlane_autorate::{Autorate, Decision, ProbeDelay};
use fairlane_qdisc::{Duration, Rate, Time};
use fairlane_scenario::{ProbeKind, ShaperKind};
use fairlane_traffic::Transmitter;

use crate::packet::{Flags, NO_SACK, Packet};

/// The reflectors of a controller, each of which answers a separate flow.
pub(crate) const REFLECTORS: u32 = 6;

/// The hops of a probe before it turns: the discipline and the buffer.
const HOPS: u32 = 2;

/// The most probes on their way back that are remembered.
const MOST_TURNED: usize = 4096;

/// The size of a probe and of its answer: an ICMP echo over IPv4 with 56 bytes of data, as by fping(8).
const PROBE_BYTES: u32 = 84;

/// The part of a link with a shaper to which a queue belongs, with the number of the shaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShapedPart {
    /// The discipline, which the shaper empties.
    Queue(u32),
    /// The link's own buffer.
    Buffer(u32),
}

/// A shaper: the transmitter of the discipline's queue, which hands packets over to the link's buffer at once.
#[derive(Debug)]
pub(crate) struct LinkShaper {
    /// The number of the link whose queue is the discipline.
    pub(crate) queue: u32,
    /// The number of the link with the buffer.
    pub(crate) buffer: u32,
    transmitter: Transmitter,
    /// The time at which each packet in the buffer arrived at the discipline.
    arrivals: VecDeque<Time>,
    /// The packet that has left the discipline and is not yet in the buffer.
    pub(crate) between: Option<Packet>,
    pub(crate) control: Option<RateControl>,
}

/// A controller and its probes.
#[derive(Debug)]
pub(crate) struct RateControl {
    pub(crate) autorate: Autorate,
    /// The start of the probes' route in the table: to the far end of the link and back.
    route: u32,
    /// The number of the first reflector's flow.
    first_flow: u32,
    sent: u32,
    probe: ProbeKind,
    /// The times at which probes on their way back, by flow and sequence number, were at the far end of the link.
    turned: BTreeMap<(u32, u32), Time>,
}

impl LinkShaper {
    pub(crate) fn new(queue: u32, buffer: u32, shaper: &fairlane_scenario::Shaper, first_flow: u32) -> Self {
        let autorate =
            (shaper.kind == ShaperKind::Autorate).then(|| Autorate::new(shaper.autorate.clone(), Time::ZERO));
        // The engine has checked the parameters.
        let control = autorate.and_then(Result::ok);
        let control = control.map(|autorate| RateControl {
            autorate,
            route: 0,
            first_flow,
            sent: 0,
            probe: shaper.probe,
            turned: BTreeMap::new(),
        });
        Self {
            queue,
            buffer,
            transmitter: Transmitter::new(shaper.rate),
            arrivals: VecDeque::new(),
            between: None,
            control,
        }
    }

    /// Sets the route of the probes.
    pub(crate) fn probe_along(&mut self, route: u32) {
        if let Some(control) = &mut self.control {
            control.route = route;
        }
    }

    /// Returns the rate.
    pub(crate) const fn rate(&self) -> Rate {
        self.transmitter.rate()
    }

    /// Sets the rate for the packets that follow.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.transmitter = Transmitter::new(rate);
    }

    /// Takes `packet` from the discipline for the buffer, and returns the time until the next packet may follow.
    pub(crate) fn take(&mut self, packet: &Packet) -> Duration {
        self.arrivals.push_back(packet.at);
        self.between = Some(*packet);
        self.transmitter.next(packet.bytes)
    }

    /// Notes that the buffer had no room for the packet that was handed over last.
    pub(crate) fn overflowed(&mut self) {
        self.arrivals.pop_back();
    }

    /// Returns when the packet that leaves the buffer arrived at the discipline.
    pub(crate) fn left(&mut self) -> Option<Time> {
        self.arrivals.pop_front()
    }
}

impl RateControl {
    /// Tells the controller if `packet`, which leaves the discipline for the link, is one of its probes; returns true
    /// then. `bytes` have left it so far.
    pub(crate) fn left(&mut self, now: Time, packet: &Packet, bytes: u64) -> bool {
        let reflector = self.reflector(packet);
        if let Some(reflector) = reflector {
            self.autorate.sent(now, reflector, bytes);
        }
        reflector.is_some()
    }

    /// Tells the controller that `packet`, one of its probes, is back.
    pub(crate) fn answered(&mut self, now: Time, packet: &Packet, bytes: u64) -> Option<Decision> {
        let reflector = self.reflector(packet)?;
        let turned = self.turned.remove(&(packet.flow, packet.seq));
        let one_way = |turned: Time| ProbeDelay::OneWay(turned.since(packet.sent).as_nanos() as i64);
        let delay = turned.map_or(ProbeDelay::RoundTrip, one_way);
        Some(self.autorate.answered(now, reflector, packet.sent, delay, bytes))
    }

    /// Notes the time at which a probe with time stamps is at the far end of the link; its next hop is the way back.
    pub(crate) fn passed(&mut self, now: Time, packet: &Packet) {
        if self.probe == ProbeKind::OneWay && packet.route == self.route + HOPS {
            self.turned.insert((packet.flow, packet.seq), now);
            if self.turned.len() > MOST_TURNED {
                self.turned.pop_first();
            }
        }
    }

    /// Returns the next probe.
    pub(crate) fn probe(&mut self, now: Time) -> Packet {
        let reflector = self.sent % REFLECTORS;
        let (seq, route) = (self.sent / REFLECTORS, self.route);
        self.sent = self.sent.wrapping_add(1);
        let (flow, flags) = (self.first_flow + reflector, Flags::DATAGRAM);
        Packet { sent: now, at: now, flow, seq, bytes: PROBE_BYTES, route, sack: NO_SACK, flags, class: 0 }
    }

    /// Returns the number of the reflector that answered `packet`; `None` if it is no probe of this controller.
    fn reflector(&self, packet: &Packet) -> Option<usize> {
        packet.flow.checked_sub(self.first_flow).filter(|reflector| *reflector < REFLECTORS).map(|it| it as usize)
    }
}
