//! Counts the events at a queue and reports them to the observer.

use fairlane_qdisc::{DropSink, Qdisc, Reason, Time};

use crate::measure::observer::{Observer, PacketEvent, QueueEvent};
use crate::measure::queue_meter::Meter;
use crate::packet::{Flags, Packet, PacketKind};
use crate::sack_table::SackTable;

/// The records of packets, in addition to the meters of queues.
pub(crate) struct Records<O> {
    pub(crate) sacks: SackTable,
    /// The data packets of each flow that queues have dropped.
    pub(crate) dropped: Vec<u64>,
    /// The data packets of each flow that were lost during transmission.
    pub(crate) lost: Vec<u64>,
    pub(crate) observer: O,
    /// The backlog and the average that the observer is shown with the next events.
    shown: (usize, Option<f64>),
}

impl<O: Observer> Records<O> {
    /// Returns the records of this many flows.
    pub(crate) fn new(observer: O, flows: usize) -> Self {
        let (dropped, lost) = (vec![0; flows], vec![0; flows]);
        Self { sacks: SackTable::default(), dropped, lost, observer, shown: (0, None) }
    }

    /// Shows the backlog and the average of `discipline` with the events that follow. It is not asked if nobody
    /// observes.
    #[inline(always)]
    pub(crate) fn show(&mut self, discipline: &impl Qdisc<Packet>) {
        if O::ACTIVE {
            let status = discipline.status();
            self.shown = (status.packets, status.average);
        }
    }

    /// Shows this backlog and no average with the events that follow.
    #[inline(always)]
    pub(crate) fn show_backlog(&mut self, packets: usize) {
        if O::ACTIVE {
            self.shown = (packets, None);
        }
    }

    /// Shows the observer the payload of `packet`, if it has one.
    pub(crate) fn show_payload(&mut self, packet: &Packet) {
        if packet.flags.has(Flags::PAYLOAD) {
            self.observer.payload(self.sacks.payload(packet.sack));
        }
    }

    /// Returns the event of `packet` at a link, without a backlog and an average.
    pub(crate) fn event(&self, at: Time, link: u32, packet: &Packet, queue_event: QueueEvent) -> PacketEvent {
        PacketEvent {
            at,
            link,
            queue_event,
            flow: packet.flow,
            kind: packet.kind(),
            seq: packet.seq,
            bytes: packet.bytes,
            ecn_capable: fairlane_qdisc::Packet::ecn_capable(packet),
            l4s: packet.flags.has(Flags::ECT_1),
            class: packet.class,
            marked: packet.flags.has(Flags::CE),
            ece: packet.flags.has(Flags::ECE),
            cwr: packet.flags.has(Flags::CWR),
            sent: packet.sent,
            sack: self.sacks.get(packet.sack),
            backlog: 0,
            average: None,
        }
    }
}

/// Counts and reports the events at one queue while a packet enters or leaves it.
pub(crate) struct QueueAccounting<'p, O> {
    pub(crate) link: u32,
    pub(crate) meter: &'p mut Option<Meter>,
    pub(crate) records: &'p mut Records<O>,
}

impl<O: Observer> QueueAccounting<'_, O> {
    #[inline(always)]
    pub(crate) fn arrived(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = self.meter {
            meter.arrived(now, packet.flow);
        }
        self.report(now, packet, QueueEvent::Arrived);
    }

    #[inline(always)]
    pub(crate) fn departed(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = self.meter {
            meter.departed(now, packet.flow, packet.bytes, packet.at);
        }
        self.handed_over(now, packet);
    }

    /// Reports a departure that is not counted here, since the packet stays in another part of the same queue.
    #[inline(always)]
    pub(crate) fn handed_over(&mut self, now: Time, packet: &Packet) {
        self.report(now, packet, QueueEvent::Departed { sojourn: now - packet.at });
    }

    /// Counts a packet that was lost during transmission.
    pub(crate) fn lost(&mut self, now: Time, packet: &Packet) {
        if packet.kind() == PacketKind::Data {
            self.records.lost[packet.flow as usize] += 1;
        }
        self.records.sacks.forget(packet.sack);
        if let Some(meter) = self.meter {
            meter.lost(packet.flow);
        }
        self.report(now, packet, QueueEvent::Lost);
    }

    #[inline(always)]
    fn report(&mut self, now: Time, packet: &Packet, queue_event: QueueEvent) {
        if O::ACTIVE {
            let event = self.records.event(now, self.link, packet, queue_event);
            let (backlog, average) = self.records.shown;
            self.records.show_payload(packet);
            self.records.observer.packet(&PacketEvent { backlog, average, ..event });
        }
    }
}

impl<O: Observer> DropSink<Packet> for QueueAccounting<'_, O> {
    fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        if let Some(meter) = self.meter {
            meter.dropped(now, packet.flow, reason);
        }
        if packet.kind() == PacketKind::Data {
            self.records.dropped[packet.flow as usize] += 1;
        }
        self.records.sacks.forget(packet.sack);
        self.report(now, &packet, QueueEvent::Dropped(reason));
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        if let Some(meter) = self.meter {
            meter.marked(packet.flow);
        }
        self.report(now, packet, QueueEvent::Marked(reason));
    }
}
