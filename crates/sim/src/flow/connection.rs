//! TCP from end to end.

use fairlane_qdisc::{Qdisc, Seed, Time};
use fairlane_scenario::Tcp;

use super::{Common, Totals};
use crate::Observer;
use crate::event::{Alarm, Target};
use crate::link::wire_bytes;
use crate::packet::{Flags, Packet};
use crate::plane::Plane;
use crate::source::draw::part;
use crate::tcp::{Ack, Network, Receiver, Segment, Sender};

/// A sender and its receiver.
#[derive(Debug)]
pub(crate) struct Connection {
    sender: Sender,
    receiver: Receiver,
    ack_bytes: u32,
    ecn: bool,
    started: bool,
    sender_wakes: Alarm,
    receiver_wakes: Alarm,
}

impl Connection {
    pub(crate) fn new(tcp: &Tcp, seed: Seed) -> Self {
        Self {
            sender: Sender::new(tcp, part(tcp.tick, seed.stream("clock").unit())),
            receiver: Receiver::new(tcp),
            ack_bytes: wire_bytes(tcp.ack),
            ecn: tcp.ecn,
            started: false,
            sender_wakes: Alarm::off(),
            receiver_wakes: Alarm::off(),
        }
    }

    /// It starts or stops.
    pub(crate) fn on_source<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if common.is_stopped(now) {
            self.sender.stop();
            return;
        }
        if !self.started {
            self.started = true;
            if let Some(stop) = common.stop {
                plane.events.push(stop, Target::Source(common.id));
            }
            self.with_sender(now, common, plane, |sender, wire| sender.start(now, wire));
        }
    }

    /// The sender's timer may be due.
    pub(crate) fn on_sender_timer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if !self.sender_wakes.rings(now) {
            return;
        }
        let due = self.sender.deadline().is_some_and(|deadline| deadline <= now);
        self.with_sender(now, common, plane, |sender, wire| {
            if due {
                sender.on_timer(now, wire);
            }
        });
    }

    /// The receiver's timer may be due.
    pub(crate) fn on_receiver_timer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if !self.receiver_wakes.rings(now) {
            return;
        }
        let due = self.receiver.deadline().is_some_and(|deadline| deadline <= now);
        let ack = if due { self.receiver.on_timer(now) } else { None };
        self.answer(now, ack, common, plane);
    }

    /// An acknowledgement has reached the sender.
    pub(crate) fn on_ack<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        let sack = plane.sacks.take(packet.sack);
        let ack = Ack { next: packet.seq, sack, ece: packet.flags.has(Flags::ECE), echo: packet.sent };
        self.with_sender(now, common, plane, |sender, wire| sender.on_ack(now, &ack, wire));
    }

    /// A segment has reached the receiver.
    pub(crate) fn on_segment<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        let (ce, cwr) = (packet.flags.has(Flags::CE), packet.flags.has(Flags::CWR));
        let received = self.receiver.on_segment(now, packet.seq, packet.sent, ce, cwr);
        if received.new {
            common.totals.unique_bytes += u64::from(packet.bytes);
        }
        self.answer(now, received.ack, common, plane);
    }

    /// Lets the sender act, then looks at its deadline.
    fn with_sender<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
        act: impl FnOnce(&mut Sender, &mut Wire<'_, '_, O, D>),
    ) {
        let packet = common.data(now, Flags::default().with(Flags::ECT, self.ecn));
        act(&mut self.sender, &mut Wire { now, packet, totals: &mut common.totals, plane });
        common.totals.timeouts = self.sender.timeouts();
        self.sender_wakes.set(self.sender.deadline(), Target::SenderTimer(common.id), &mut plane.events);
    }

    /// Sends an acknowledgement, if there is one, and looks at the receiver's deadline.
    fn answer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        ack: Option<Ack>,
        common: &Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        self.receiver_wakes.set(self.receiver.deadline(), Target::ReceiverTimer(common.id), &mut plane.events);
        let Some(ack) = ack else { return };
        let packet = Packet {
            sent: ack.echo,
            at: now,
            flow: common.id,
            seq: ack.next,
            bytes: self.ack_bytes,
            route: common.routes.back,
            sack: plane.sacks.keep(ack.sack),
            flags: Flags::ACK.with(Flags::ECE, ack.ece),
        };
        plane.inject(now, &packet);
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
