//! Links that send packets in frames of several, as wireless ones do.

use fairlane_qdisc::{Duration, Time};
use fairlane_scenario::Aggregation;
use fairlane_traffic::Impairments;

use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::link_run::AtLink;
use crate::packet::{Flags, NO_SACK, Packet, PacketKind};

/// A packet of a frame, and the time that it takes.
type FramePart = (Packet, Duration);

/// Returns true if a frame within `limits` takes a further packet.
fn has_room(limits: &Aggregation, frame: &[FramePart]) -> bool {
    let time: u64 = frame.iter().map(|(_, time)| time.as_nanos()).sum();
    frame.len() < limits.packets as usize && limits.time.is_none_or(|most| time < most.as_nanos())
}

/// Returns the place in `frame` of the acknowledgement that `packet` replaces.
fn replaced(frame: &[FramePart], packet: &Packet) -> Option<usize> {
    let same = |other: &Packet| {
        is_plain_ack(other) && (other.flow, other.flags) == (packet.flow, packet.flags) && other.seq <= packet.seq
    };
    frame.iter().position(|(other, _)| is_plain_ack(packet) && same(other))
}

/// Returns true for an acknowledgement of TCP that says no more than the next segment expected.
fn is_plain_ack(packet: &Packet) -> bool {
    packet.kind() == PacketKind::Ack && !packet.flags.has(Flags::REPORT) && packet.sack == NO_SACK
}

impl<O: Observer> Network<O> {
    /// Takes a frame from the queue of a link and sends it. All of it arrives at its end.
    #[cold]
    pub(crate) fn send_frame(&mut self, now: Time, at: &mut AtLink<'_>) {
        let frame = self.take_frame(now, at);
        let delay = at.transmitter.delay;
        let Some(wire) = at.managed.impairments.as_mut().filter(|_| !frame.is_empty()) else { return };
        at.managed.busy = true;
        let mut end = now;
        for (packet, _) in &frame {
            let begin = end;
            end = wire.finish(begin, packet.bytes, || at.transmitter.next(packet.bytes));
            if let Some(meter) = &mut at.managed.meter {
                meter.transmits(begin, end, packet.bytes);
            }
        }
        at.events.free = end;
        for (packet, _) in frame {
            let arrival = at.managed.impairments.as_mut().and_then(|wire| wire.arrival(end, delay));
            self.leave(now, arrival, &packet, at);
        }
    }

    /// Takes the packets of a frame from the queue of a link; acknowledgements that others replace are lost.
    fn take_frame(&mut self, now: Time, at: &mut AtLink<'_>) -> Vec<FramePart> {
        let (mut frame, mut thinned): (Vec<FramePart>, Vec<Packet>) = (Vec::new(), Vec::new());
        let rate = self.topology.media[self.topology.links[at.link as usize].medium as usize].transmission.rate();
        let Some(limits) = at.managed.impairments.as_ref().and_then(Impairments::frame).copied() else { return frame };
        while has_room(&limits, &frame) {
            let Some(packet) = self.dequeue(now, at) else { break };
            self.accounting(at).departed(now, &packet);
            if let Some(place) = replaced(&frame, &packet).filter(|_| limits.thin_acks) {
                thinned.push(frame.remove(place).0);
            }
            frame.push((packet, rate.transmission(u64::from(packet.bytes))));
        }
        for packet in &thinned {
            self.lose(now, packet, at);
        }
        frame
    }
}
