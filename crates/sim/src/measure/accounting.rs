//! Counts the events at a queue and reports them to the observer.

use fairlane_qdisc::{DropSink, Reason, Time};

use crate::measure::observer::{Observer, PacketEvent, QueueEvent};
use crate::measure::queue_meter::Meter;
use crate::packet::{Flags, Packet, PacketKind};
use crate::sack_table::SackTable;

/// Counts and reports the events at one queue while a packet enters or leaves it.
pub(crate) struct QueueAccounting<'p, O> {
    pub(crate) link: u32,
    pub(crate) meter: Option<&'p mut Meter>,
    pub(crate) sacks: &'p mut SackTable,
    /// The data packets of each flow that queues have dropped.
    pub(crate) dropped: &'p mut Vec<u64>,
    pub(crate) observer: &'p mut O,
    pub(crate) backlog: usize,
    pub(crate) average: Option<f64>,
}

impl<O: Observer> QueueAccounting<'_, O> {
    pub(crate) fn arrived(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.arrived(now, packet.flow);
        }
        self.report(now, packet, QueueEvent::Arrived);
    }

    pub(crate) fn departed(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.departed(now, packet.flow, packet.bytes, packet.at);
        }
        self.handed_over(now, packet);
    }

    /// Reports a departure that is not counted here, since the packet stays in another part of the same queue.
    pub(crate) fn handed_over(&mut self, now: Time, packet: &Packet) {
        self.report(now, packet, QueueEvent::Departed { sojourn: now - packet.at });
    }

    pub(crate) fn lost(&mut self, now: Time, packet: &Packet) {
        if let Some(meter) = &mut self.meter {
            meter.lost(packet.flow);
        }
        self.report(now, packet, QueueEvent::Lost);
    }

    fn report(&mut self, now: Time, packet: &Packet, queue_event: QueueEvent) {
        if O::ACTIVE {
            let event = event(now, self.link, packet, queue_event, self.sacks);
            self.observer.packet(&PacketEvent { backlog: self.backlog, average: self.average, ..event });
        }
    }
}

/// Returns the event of `packet` at a link whose queue is not observed.
pub(crate) fn event(at: Time, link: u32, packet: &Packet, queue_event: QueueEvent, sacks: &SackTable) -> PacketEvent {
    PacketEvent {
        at,
        link,
        queue_event,
        flow: packet.flow,
        kind: packet.kind(),
        seq: packet.seq,
        bytes: packet.bytes,
        ecn_capable: fairlane_qdisc::Packet::ecn_capable(packet),
        marked: packet.flags.has(Flags::CE),
        ece: packet.flags.has(Flags::ECE),
        cwr: packet.flags.has(Flags::CWR),
        sent: packet.sent,
        sack: sacks.get(packet.sack),
        backlog: 0,
        average: None,
    }
}

impl<O: Observer> DropSink<Packet> for QueueAccounting<'_, O> {
    fn dropped(&mut self, now: Time, packet: Packet, reason: Reason) {
        if let Some(meter) = &mut self.meter {
            meter.dropped(now, packet.flow, reason);
        }
        if packet.kind() == PacketKind::Data {
            self.dropped[packet.flow as usize] += 1;
        }
        self.sacks.forget(packet.sack);
        self.report(now, &packet, QueueEvent::Dropped(reason));
    }

    fn marked(&mut self, now: Time, packet: &Packet, reason: Reason) {
        if let Some(meter) = &mut self.meter {
            meter.marked(packet.flow);
        }
        self.report(now, packet, QueueEvent::Marked(reason));
    }
}
