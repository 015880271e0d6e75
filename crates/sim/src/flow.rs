//! The end points: what sends, and what receives.

use fairlane_qdisc::{Duration, Qdisc, Rate, Seed, Stream, Time};
use fairlane_scenario::{FlowGroup, Tcp, Traffic, Udp};

use crate::event::{Alarm, Target};
use crate::link::{Transmitter, wire_bytes};
use crate::network::Routes;
use crate::packet::{Flags, NO_SACK, Packet};
use crate::plane::Plane;
use crate::tcp::{Ack, Network, Receiver, Segment, Sender};
use crate::{FlowSample, Observer};

/// What is counted of a flow from end to end, since the start.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) sent: u64,
    pub(crate) delivered: u64,
    pub(crate) unique_bytes: u64,
    pub(crate) retransmitted: u64,
    pub(crate) timeouts: u64,
    pub(crate) dropped: u64,
    pub(crate) lost: u64,
}

/// A flow: both of its ends.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) id: u32,
    pub(crate) totals: Totals,
    routes: Routes,
    bytes: u32,
    started: bool,
    stop: Option<Time>,
    ends: Ends,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most flows are TCP, and a box would cost each packet a cache miss")]
enum Ends {
    Tcp(Connection),
    Udp(Pacer),
}

#[derive(Debug)]
struct Connection {
    sender: Sender,
    receiver: Receiver,
    ack_bytes: u32,
    ecn: bool,
    sender_wakes: Alarm,
    receiver_wakes: Alarm,
}

/// A source at a constant rate.
#[derive(Debug)]
struct Pacer {
    pace: Transmitter,
    jitter: f64,
    random: Stream,
    ecn: bool,
    next_seq: u32,
}

impl Pacer {
    fn new(udp: &Udp, seed: Seed) -> Self {
        Self {
            pace: Transmitter::new(udp.rate),
            jitter: udp.jitter,
            random: seed.stream("jitter"),
            ecn: udp.ecn,
            next_seq: 0,
        }
    }

    fn interval(&mut self, bytes: u32) -> Duration {
        let interval = self.pace.next(bytes);
        if self.jitter == 0.0 {
            return interval;
        }
        let factor = 1.0 + self.jitter * (2.0 * self.random.unit() - 1.0);
        Duration::from_nanos((interval.as_nanos() as f64 * factor) as u64)
    }
}

/// When flow `index` of `group` starts, with the phase of its first packet.
pub(crate) fn start(group: &FlowGroup, seed: Seed) -> Time {
    let mut random = seed.stream("start");
    let spread = group.start_to.as_nanos().saturating_sub(group.start_from.as_nanos());
    let start = Time::ZERO + group.start_from + part(spread, random.unit());
    match &group.traffic {
        Traffic::Tcp(_) => start,
        Traffic::Udp(udp) => start + part(interval(udp.rate, group).as_nanos(), random.unit()),
    }
}

fn part(whole: u64, fraction: f64) -> Duration {
    Duration::from_nanos((whole as f64 * fraction) as u64)
}

fn interval(rate: Rate, group: &FlowGroup) -> Duration {
    rate.transmission(group.packet.get())
}

impl Flow {
    pub(crate) fn new(id: u32, group: &FlowGroup, routes: Routes, seed: Seed) -> Self {
        let ends = match &group.traffic {
            Traffic::Tcp(tcp) => Ends::Tcp(Connection::new(tcp, seed)),
            Traffic::Udp(udp) => Ends::Udp(Pacer::new(udp, seed)),
        };
        Self {
            id,
            totals: Totals::default(),
            routes,
            bytes: wire_bytes(group.packet),
            started: false,
            stop: group.stop.map(|stop| Time::ZERO + stop),
            ends,
        }
    }

    /// What it has done so far; what became of its packets on the way is known elsewhere.
    pub(crate) fn sample(&self, dropped: u64, lost: u64) -> FlowSample {
        let sender = match &self.ends {
            Ends::Tcp(connection) => Some(&connection.sender),
            Ends::Udp(_) => None,
        };
        FlowSample {
            flow: self.id,
            sent: self.totals.sent,
            delivered: self.totals.delivered,
            delivered_bytes: self.totals.delivered * u64::from(self.bytes),
            unique_bytes: self.totals.unique_bytes,
            dropped,
            lost,
            retransmitted: self.totals.retransmitted,
            timeouts: self.totals.timeouts,
            cwnd: sender.map(Sender::cwnd),
            srtt: sender.and_then(Sender::srtt),
        }
    }

    /// The source's event: it starts, stops, or sends its next packet.
    pub(crate) fn on_source<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        let stopped = self.stop.is_some_and(|stop| now >= stop);
        match &mut self.ends {
            Ends::Udp(_) if stopped => {}
            Ends::Udp(_) => self.send_datagram(now, plane),
            Ends::Tcp(connection) if stopped => connection.sender.stop(),
            Ends::Tcp(_) if !self.started => {
                self.started = true;
                if let Some(stop) = self.stop {
                    plane.events.push(stop, Target::Source(self.id));
                }
                self.with_sender(now, plane, |sender, wire| sender.start(now, wire));
            }
            Ends::Tcp(_) => {}
        }
    }

    /// The sender's timer may be due.
    pub(crate) fn on_sender_timer<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        let Ends::Tcp(connection) = &mut self.ends else { return };
        if !connection.sender_wakes.rings(now) {
            return;
        }
        let due = connection.sender.deadline().is_some_and(|deadline| deadline <= now);
        self.with_sender(now, plane, |sender, wire| {
            if due {
                sender.on_timer(now, wire);
            }
        });
    }

    /// The receiver's timer may be due.
    pub(crate) fn on_receiver_timer<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        let Ends::Tcp(connection) = &mut self.ends else { return };
        if !connection.receiver_wakes.rings(now) {
            return;
        }
        let due = connection.receiver.deadline().is_some_and(|deadline| deadline <= now);
        let ack = if due { connection.receiver.on_timer(now) } else { None };
        self.answer(now, ack, plane);
    }

    /// A packet has reached its host.
    pub(crate) fn on_packet<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: Packet,
        plane: &mut Plane<'_, O, D>,
    ) {
        if packet.flags.has(Flags::ACK) {
            let sack = plane.sacks.take(packet.sack);
            let ack = Ack { next: packet.seq, sack, ece: packet.flags.has(Flags::ECE), echo: packet.sent };
            self.with_sender(now, plane, |sender, wire| sender.on_ack(now, &ack, wire));
            return;
        }
        self.totals.delivered += 1;
        if O::ACTIVE {
            plane.observer.delivered(now, self.id, packet.seq);
        }
        let Ends::Tcp(connection) = &mut self.ends else {
            self.totals.unique_bytes += u64::from(packet.bytes);
            return;
        };
        let (ce, cwr) = (packet.flags.has(Flags::CE), packet.flags.has(Flags::CWR));
        let received = connection.receiver.on_segment(now, packet.seq, packet.sent, ce, cwr);
        if received.new {
            self.totals.unique_bytes += u64::from(packet.bytes);
        }
        self.answer(now, received.ack, plane);
    }

    fn send_datagram<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, plane: &mut Plane<'_, O, D>) {
        let Ends::Udp(pacer) = &mut self.ends else { return };
        let packet = Packet {
            sent: now,
            at: now,
            flow: self.id,
            seq: pacer.next_seq,
            bytes: self.bytes,
            route: self.routes.forward,
            sack: NO_SACK,
            flags: Flags::DATAGRAM.with(Flags::ECT, pacer.ecn),
        };
        pacer.next_seq = pacer.next_seq.wrapping_add(1);
        plane.events.push(now + pacer.interval(self.bytes), Target::Source(self.id));
        self.totals.sent += 1;
        plane.inject(now, &packet);
    }

    /// Lets the sender act, then looks at its deadline.
    fn with_sender<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        plane: &mut Plane<'_, O, D>,
        act: impl FnOnce(&mut Sender, &mut Wire<'_, '_, O, D>),
    ) {
        let Ends::Tcp(connection) = &mut self.ends else { return };
        let packet = Packet {
            sent: now,
            at: now,
            flow: self.id,
            seq: 0,
            bytes: self.bytes,
            route: self.routes.forward,
            sack: NO_SACK,
            flags: Flags::default().with(Flags::ECT, connection.ecn),
        };
        act(&mut connection.sender, &mut Wire { now, packet, totals: &mut self.totals, plane });
        self.totals.timeouts = connection.sender.timeouts();
        connection.sender_wakes.set(connection.sender.deadline(), Target::SenderTimer(self.id), &mut plane.events);
    }

    /// Sends an acknowledgement, if there is one, and looks at the receiver's deadline.
    fn answer<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, ack: Option<Ack>, plane: &mut Plane<'_, O, D>) {
        let Ends::Tcp(connection) = &mut self.ends else { return };
        connection.receiver_wakes.set(
            connection.receiver.deadline(),
            Target::ReceiverTimer(self.id),
            &mut plane.events,
        );
        let Some(ack) = ack else { return };
        let packet = Packet {
            sent: ack.echo,
            at: now,
            flow: self.id,
            seq: ack.next,
            bytes: connection.ack_bytes,
            route: self.routes.back,
            sack: plane.sacks.keep(ack.sack),
            flags: Flags::ACK.with(Flags::ECE, ack.ece),
        };
        plane.inject(now, &packet);
    }
}

impl Connection {
    fn new(tcp: &Tcp, seed: Seed) -> Self {
        Self {
            sender: Sender::new(tcp, part(tcp.tick.as_nanos(), seed.stream("clock").unit())),
            receiver: Receiver::new(tcp),
            ack_bytes: wire_bytes(tcp.ack),
            ecn: tcp.ecn,
            sender_wakes: Alarm::off(),
            receiver_wakes: Alarm::off(),
        }
    }
}

/// The way into the network for a sender's segments.
struct Wire<'f, 'o, O, D> {
    now: Time,
    packet: Packet,
    totals: &'f mut Totals,
    plane: &'f mut Plane<'o, O, D>,
}

impl<O: Observer, D: Qdisc<Packet>> Network for Wire<'_, '_, O, D> {
    fn send(&mut self, segment: Segment) {
        self.totals.sent += 1;
        self.totals.retransmitted += u64::from(segment.retransmission);
        let flags = self.packet.flags.with(Flags::CWR, segment.cwr);
        self.plane.inject(self.now, &Packet { seq: segment.seq, flags, ..self.packet });
    }
}
