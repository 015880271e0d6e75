//! TFRC from end to end.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Qdisc, Seed, Time};
use fairlane_scenario::Tfrc;

use super::Common;
use crate::Observer;
use crate::event::{Alarm, Target};
use crate::packet::{Flags, NO_SACK, Packet};
use crate::plane::Plane;
use crate::source::on_off::Turns;
use crate::tfrc::{Arrival, Feedback, Receiver, Sender};

/// Size of a report on the wire.
const REPORT_BYTES: u32 = 40;

/// A sender and its receiver.
///
/// What their packets carry beyond a number and a time stays here and is looked up by number: the sender's round trip time
/// changes once a report, and few reports are under way.
#[derive(Debug)]
pub(crate) struct RateControlled {
    sender: Sender,
    receiver: Receiver,
    ecn: bool,
    /// On and off periods; `None`: data without end.
    turns: Option<Box<Turns>>,
    started: bool,
    /// The round trip times that data packets carry, each from a number on.
    rtts: VecDeque<(u32, Option<Duration>)>,
    /// The reports under way, by number.
    reports: VecDeque<(u32, Feedback)>,
    next_report: u32,
    sender_wakes: Alarm,
    receiver_wakes: Alarm,
}

impl RateControlled {
    pub(crate) fn new(tfrc: &Tfrc, bytes: u32, seed: Seed) -> Self {
        Self {
            sender: Sender::new(bytes, tfrc.damping, tfrc.rate),
            receiver: Receiver::new(bytes),
            ecn: tfrc.ecn,
            turns: tfrc.on_off.map(|law| Box::new(Turns::new(&law, seed))),
            started: false,
            rtts: VecDeque::new(),
            reports: VecDeque::new(),
            next_report: 0,
            sender_wakes: Alarm::off(),
            receiver_wakes: Alarm::off(),
        }
    }

    /// It starts or stops, or an on or off period ends.
    pub(crate) fn on_source<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if common.is_stopped(now) {
            self.sender.stop(now);
            return;
        }
        if !std::mem::replace(&mut self.started, true)
            && let Some(stop) = common.stop
        {
            plane.events.push(stop, Target::Source(common.id));
        }
        let (on, length) = self.turns.as_mut().map_or((true, None), |turns| {
            let (on, length) = turns.next();
            (on, Some(length))
        });
        if let Some(length) = length {
            plane.events.push(now + length, Target::Source(common.id));
        }
        if on {
            self.sender.start(now);
        } else {
            self.sender.stop(now);
        }
        self.wake_sender(now, common, plane);
    }

    /// The sender may have a packet to send, or its timer may be due.
    pub(crate) fn on_sender_timer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if !self.sender_wakes.rings(now) {
            return;
        }
        if let Some(seq) = self.sender.on_timer(now) {
            let rtt = self.sender.rtt();
            if self.rtts.back().is_none_or(|(_, last)| *last != rtt) {
                self.rtts.push_back((seq, rtt));
            }
            common.totals.sent += 1;
            let flags = Flags::default().with(Flags::ECT, self.ecn);
            plane.inject(now, &Packet { seq, ..common.data(now, flags) });
        }
        self.wake_sender(now, common, plane);
    }

    /// The receiver's timer may be due.
    pub(crate) fn on_receiver_timer<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        common: &Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        if self.receiver_wakes.rings(now) {
            let report = self.receiver.on_timer(now);
            self.send_report(now, report, common, plane);
        }
    }

    /// A report has reached the sender.
    pub(crate) fn on_report<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        // Those before it have been lost; one that comes behind a later one is old news.
        while let Some((number, report)) = self.reports.front().copied().filter(|(number, _)| *number <= packet.seq) {
            self.reports.pop_front();
            if number == packet.seq {
                self.sender.on_feedback(now, &report);
            }
        }
        self.wake_sender(now, common, plane);
    }

    /// A packet has reached the receiver.
    pub(crate) fn on_data<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        common.totals.unique_bytes += u64::from(packet.bytes);
        while self.rtts.get(1).is_some_and(|(from, _)| *from <= packet.seq) {
            self.rtts.pop_front();
        }
        let arrival = Arrival {
            seq: packet.seq,
            sent: packet.sent,
            rtt: self.rtts.front().and_then(|(_, rtt)| *rtt),
            marked: packet.flags.has(Flags::CE),
        };
        let report = self.receiver.on_packet(now, arrival);
        self.send_report(now, report, common, plane);
    }

    fn wake_sender<O: Observer, D: Qdisc<Packet>>(&mut self, now: Time, common: &Common, plane: &mut Plane<'_, O, D>) {
        let deadline = self.sender.deadline().map(|deadline| deadline.max(now));
        self.sender_wakes.set(deadline, Target::SenderTimer(common.id), &mut plane.events);
    }

    /// Sends a report, if there is one, and looks at the receiver's deadline.
    fn send_report<O: Observer, D: Qdisc<Packet>>(
        &mut self,
        now: Time,
        report: Option<Feedback>,
        common: &Common,
        plane: &mut Plane<'_, O, D>,
    ) {
        self.receiver_wakes.set(self.receiver.deadline(), Target::ReceiverTimer(common.id), &mut plane.events);
        let Some(report) = report else { return };
        self.reports.push_back((self.next_report, report));
        let packet = Packet {
            sent: report.echo,
            at: now,
            flow: common.id,
            seq: self.next_report,
            bytes: REPORT_BYTES,
            route: common.routes.back,
            sack: NO_SACK,
            flags: Flags::ACK,
            class: 0,
        };
        self.next_report = self.next_report.wrapping_add(1);
        plane.inject(now, &packet);
    }
}
