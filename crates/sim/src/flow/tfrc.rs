//! A TFRC flow: sender, receiver and application.

use std::collections::VecDeque;

use fairlane_qdisc::{Duration, Rate, Seed, Time};
use fairlane_scenario::Tfrc;
use fairlane_traffic::OnOffPeriods;

use super::common::Common;
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::packet::{Flags, NO_SACK, Packet};
use crate::schedule::event_key::Target;
use crate::schedule::timer::{Timer, is_due};
use crate::tfrc::{Arrival, Feedback, TfrcReceiver, TfrcSender};

/// The size of a report.
const REPORT_BYTES: u32 = 40;

/// A sender and its receiver.
///
/// The header fields that a [`Packet`] has no room for are kept here and found by sequence number: the sender's
/// round-trip time, which changes once per report, and the contents of the few reports in flight.
#[derive(Debug)]
pub(crate) struct RateControlled {
    sender: TfrcSender,
    receiver: TfrcReceiver,
    ecn: bool,
    /// On and off periods; `None` for unlimited data.
    periods: Option<Box<OnOffPeriods>>,
    started: bool,
    /// The round-trip times that data packets carry, each with the first sequence number that has it.
    rtts: VecDeque<(u32, Option<Duration>)>,
    /// The reports in flight, by sequence number.
    reports: VecDeque<(u32, Feedback)>,
    next_report: u32,
    sender_timer: Timer,
    receiver_timer: Timer,
}

impl RateControlled {
    pub(crate) fn new(tfrc: &Tfrc, bytes: u32, seed: Seed) -> Self {
        Self {
            sender: TfrcSender::new(bytes, tfrc.damping, tfrc.rate),
            receiver: TfrcReceiver::new(bytes),
            ecn: tfrc.ecn,
            periods: tfrc.on_off.map(|config| Box::new(OnOffPeriods::new(&config, seed))),
            started: false,
            rtts: VecDeque::new(),
            reports: VecDeque::new(),
            next_report: 0,
            sender_timer: Timer::off(),
            receiver_timer: Timer::off(),
        }
    }

    /// Sets the application's rate for the packets after the one that is scheduled.
    pub(crate) fn set_limit(&mut self, limit: Option<Rate>) {
        self.sender.set_limit(limit);
    }

    /// Handles the flow's start and stop, and the ends of on and off periods.
    pub(crate) fn on_source<O: Observer>(&mut self, now: Time, common: &mut Common, network: &mut Network<O>) {
        if common.is_stopped(now) {
            self.sender.stop(now);
            return;
        }
        if !std::mem::replace(&mut self.started, true)
            && let Some(stop) = common.stop()
        {
            network.events.push(stop, Target::Source(common.id));
        }
        let (on, length) = self.periods.as_mut().map_or((true, None), |periods| {
            let (on, length) = periods.next_period();
            (on, Some(length))
        });
        if let Some(length) = length {
            network.events.push(now + length, Target::Source(common.id));
        }
        if on {
            self.sender.start(now);
        } else {
            self.sender.stop(now);
        }
        self.set_sender_timer(now, common, network);
    }

    /// Handles a timer event of the sender, which may send a packet; returns true if the timer is due.
    pub(crate) fn on_sender_timer<O: Observer>(
        &mut self,
        now: Time,
        common: &mut Common,
        network: &mut Network<O>,
    ) -> bool {
        if !self.sender_timer.fires(now) {
            return false;
        }
        let due = is_due(self.sender.deadline(), now);
        if let Some(seq) = self.sender.on_timer(now) {
            let rtt = self.sender.rtt();
            if self.rtts.back().is_none_or(|(_, last)| *last != rtt) {
                self.rtts.push_back((seq, rtt));
            }
            common.totals.sent += 1;
            let flags = Flags::default().with(Flags::ECT, self.ecn);
            network.inject(now, &Packet { seq, ..common.data(now, flags) });
        }
        self.set_sender_timer(now, common, network);
        due
    }

    /// Handles a timer event of the receiver.
    pub(crate) fn on_receiver_timer<O: Observer>(
        &mut self,
        now: Time,
        common: &Common,
        network: &mut Network<O>,
    ) -> bool {
        if !self.receiver_timer.fires(now) {
            return false;
        }
        let due = is_due(self.receiver.deadline(), now);
        let report = self.receiver.on_timer(now);
        self.send_report(now, report, common, network);
        due
    }

    /// Handles a report at the sender.
    pub(crate) fn on_report<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &Common,
        network: &mut Network<O>,
    ) {
        // Earlier reports have been lost or will be ignored as out of date.
        while let Some((number, report)) = self.reports.front().copied().filter(|(number, _)| *number <= packet.seq) {
            self.reports.pop_front();
            if number == packet.seq {
                self.sender.on_feedback(now, &report);
            }
        }
        self.set_sender_timer(now, common, network);
    }

    /// Handles a data packet at the receiver.
    pub(crate) fn on_data<O: Observer>(
        &mut self,
        now: Time,
        packet: &Packet,
        common: &mut Common,
        network: &mut Network<O>,
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
        self.send_report(now, report, common, network);
    }

    fn set_sender_timer<O: Observer>(&mut self, now: Time, common: &Common, network: &mut Network<O>) {
        let deadline = self.sender.deadline().map(|deadline| deadline.max(now));
        self.sender_timer.set(deadline, Target::SenderTimer(common.id), &mut network.events);
    }

    /// Sends the report, if there is one, and sets the receiver's timer.
    fn send_report<O: Observer>(
        &mut self,
        now: Time,
        report: Option<Feedback>,
        common: &Common,
        network: &mut Network<O>,
    ) {
        self.receiver_timer.set(self.receiver.deadline(), Target::ReceiverTimer(common.id), &mut network.events);
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
            flags: Flags::ACK.with(Flags::REPORT, true),
            class: 0,
        };
        self.next_report = self.next_report.wrapping_add(1);
        network.inject(now, &packet);
    }
}
