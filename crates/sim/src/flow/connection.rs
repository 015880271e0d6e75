//! TCP from end to end.

use fairlane_qdisc::{Duration, Qdisc, Seed, Time};
use fairlane_scenario::{self as scenario, Tcp};

use super::transfers::Transfers;
use super::{Common, Totals};
use crate::Observer;
use crate::event::{Alarm, Target};
use crate::link::wire_bytes;
use crate::packet::{Flags, Packet};
use crate::plane::Plane;
use crate::source::draw::part;
use crate::source::on_off::Turns;
use crate::tcp::{Ack, Network, Receiver, Segment, Sender};

/// A sender and its receiver, and what gives them their data.
///
/// Where one connection follows another, the numbers of its segments on the wire go on from those of the one before with one
/// left out. So what is left in the network of an old connection is told from the new one's, be it the acknowledgement of
/// everything.
#[derive(Debug)]
pub(crate) struct Connection {
    application: Application,
    sender: Sender,
    receiver: Receiver,
    ack_bytes: u32,
    ecn: bool,
    /// How far the sender's clock is ahead.
    clock: Duration,
    /// The number on the wire of the connection's first segment.
    first: u32,
    /// Timeouts of the connections before.
    timeouts_before: u64,
    started: bool,
    sender_wakes: Alarm,
    /// Apart from the one above: pacing would make it ring for each segment, and leave as many behind in the queue of events.
    release: Alarm,
    receiver_wakes: Alarm,
}

/// What gives the sender its data.
#[derive(Debug)]
enum Application {
    /// Unlimited data.
    Ftp,
    /// One transfer after the other.
    Transfers(Box<Transfers>),
    /// Unlimited data by turns.
    OnOff(Box<Turns>),
}

impl Application {
    fn new(tcp: &Tcp, bytes: u32, seed: Seed) -> Self {
        match &tcp.application {
            scenario::Application::Ftp => Self::Ftp,
            scenario::Application::Transfers(law) => Self::Transfers(Box::new(Transfers::new(tcp, law, bytes, seed))),
            scenario::Application::OnOff(law) => Self::OnOff(Box::new(Turns::new(law, seed))),
        }
    }
}

impl Connection {
    pub(crate) fn new(tcp: &Tcp, bytes: u32, seed: Seed) -> Self {
        let clock = part(tcp.tick, seed.stream("clock").unit());
        Self {
            application: Application::new(tcp, bytes, seed),
            sender: Sender::new(tcp, clock),
            receiver: Receiver::new(tcp),
            ack_bytes: wire_bytes(tcp.ack),
            ecn: tcp.ecn,
            clock,
            first: 0,
            timeouts_before: 0,
            started: false,
            sender_wakes: Alarm::off(),
            release: Alarm::off(),
            receiver_wakes: Alarm::off(),
        }
    }

    /// It starts or stops, or the application has something to say.
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
        if !self.started
            && let Some(stop) = common.stop
        {
            plane.events.push(stop, Target::Source(common.id));
        }
        let again = std::mem::replace(&mut self.started, true);
        match &mut self.application {
            Application::Ftp => self.with_sender(now, common, plane, |sender, wire| sender.start(now, wire)),
            Application::Transfers(transfers) => {
                if again {
                    let Some(first) = after(self.first, transfers.size()) else { return };
                    self.first = first;
                    self.timeouts_before += self.sender.timeouts();
                    self.sender = Sender::new(&transfers.tcp, self.clock);
                    self.receiver = Receiver::new(&transfers.tcp);
                }
                let size = transfers.begin(now);
                self.with_sender(now, common, plane, |sender, wire| sender.supply(now, size, wire));
            }
            Application::OnOff(turns) => {
                let (on, length) = turns.next();
                plane.events.push(now + length, Target::Source(common.id));
                if on {
                    self.with_sender(now, common, plane, |sender, wire| sender.start(now, wire));
                } else {
                    self.sender.stop();
                }
            }
        }
    }

    /// The sender of the present connection.
    pub(crate) const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// Something of each part of the sender or of the receiver; see [`Lookahead`](crate::ahead::Lookahead).
    pub(crate) fn glance(&self, sends: bool) -> u64 {
        let nanos = |time: Option<Time>| time.map_or(0, Time::as_nanos);
        if sends {
            let sender = &self.sender;
            let parts = sender.timeouts() ^ u64::from(sender.acknowledged()) ^ sender.cwnd().to_bits();
            parts ^ sender.rto().as_nanos() ^ nanos(sender.deadline()) ^ u64::from(self.first)
        } else {
            u64::from(self.receiver.next()) ^ nanos(self.receiver.deadline()) ^ u64::from(self.ack_bytes)
        }
    }

    /// The measurement begins.
    pub(crate) fn begin_measurement(&mut self) {
        if let Application::Transfers(transfers) = &mut self.application {
            transfers.begin_measurement();
        }
    }

    /// How long each completed transfer took, in nanoseconds; `None` for an application that makes none.
    pub(crate) fn completions(&self) -> Option<&[u64]> {
        match &self.application {
            Application::Transfers(transfers) => Some(transfers.completions()),
            Application::Ftp | Application::OnOff(_) => None,
        }
    }

    /// The sender's timer may be due.
    pub(crate) fn on_sender_timer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if !(self.sender_wakes.rings(now) | self.release.rings(now)) {
            return;
        }
        let due = [self.sender.deadline(), self.sender.release()].into_iter().flatten().any(|time| time <= now);
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
        let Some(next) = packet.seq.checked_sub(self.first) else { return };
        let ack = Ack { next, sack, ece: packet.flags.has(Flags::ECE), echo: packet.sent };
        self.with_sender(now, common, plane, |sender, wire| sender.on_ack(now, &ack, wire));
        if let Application::Transfers(transfers) = &mut self.application
            && let Some(pause) = transfers.acknowledged(self.sender.acknowledged())
        {
            plane.events.push(now + pause, Target::Source(common.id));
        }
    }

    /// A segment has reached the receiver.
    pub(crate) fn on_segment<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        let Some(seq) = packet.seq.checked_sub(self.first) else { return };
        let (ce, cwr) = (packet.flags.has(Flags::CE), packet.flags.has(Flags::CWR));
        let received = self.receiver.on_segment(now, seq, packet.sent, ce, cwr);
        if received.new {
            common.totals.unique_bytes += u64::from(packet.bytes);
        }
        if let Application::Transfers(transfers) = &mut self.application {
            transfers.received(now, self.receiver.next());
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
        act(&mut self.sender, &mut Wire { now, packet, first: self.first, totals: &mut common.totals, plane });
        common.totals.timeouts = self.timeouts_before + self.sender.timeouts();
        self.sender_wakes.set(self.sender.deadline(), Target::SenderTimer(common.id), &mut plane.events);
        self.release.set(self.sender.release(), Target::SenderTimer(common.id), &mut plane.events);
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
            seq: self.first.wrapping_add(ack.next),
            bytes: self.ack_bytes,
            route: common.routes.back,
            sack: plane.sacks.keep(ack.sack),
            flags: Flags::ACK.with(Flags::ECE, ack.ece),
            class: 0,
        };
        plane.inject(now, &packet);
    }
}

/// The number of the first segment of the connection that follows one of `size` segments from `first` on; `None` when numbers
/// run out.
fn after(first: u32, size: u32) -> Option<u32> {
    // Room for the longest transfer is left, too.
    const LAST: u32 = u32::MAX / 2;
    first.checked_add(size)?.checked_add(1).filter(|next| *next <= LAST)
}

/// The way into the network for a sender's segments.
struct Wire<'f, 'o, O, D> {
    now: Time,
    packet: Packet,
    first: u32,
    totals: &'f mut Totals,
    plane: &'f mut Plane<'o, O, D>,
}

impl<O: Observer, D: Qdisc<Packet>> Network for Wire<'_, '_, O, D> {
    fn send(&mut self, segment: Segment) {
        self.totals.sent += 1;
        self.totals.retransmitted += u64::from(segment.retransmission);
        let flags = self.packet.flags.with(Flags::CWR, segment.cwr);
        let seq = self.first.wrapping_add(segment.seq);
        self.plane.inject(self.now, &Packet { seq, flags, ..self.packet });
    }
}
