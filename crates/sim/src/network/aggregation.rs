//! Links that send packets in frames of several, as wireless ones do.

use fairlane_qdisc::{Duration, Qdisc, Time};
use fairlane_scenario::Aggregation;

use crate::measure::accounting::QueueAccounting;
use crate::measure::observer::Observer;
use crate::network::link::{Link, LinkQueue, Managed, Medium};
use crate::network::{Network, observed, retry_at};
use crate::packet::{Flags, NO_SACK, Packet, PacketKind};
use crate::schedule::event_key::Target;

/// The frames of a link.
#[derive(Debug)]
pub(crate) struct Frames {
    limits: Aggregation,
    /// The time at which the medium is free for the next frame; `None` if none waits for it.
    access: Option<Time>,
}

/// A packet of a frame, and the time that it takes.
type FramePart = (Packet, Duration);

impl Frames {
    pub(crate) const fn new(limits: Aggregation) -> Self {
        Self { limits, access: None }
    }

    /// Returns when a frame may begin, if that is not now. `queued` is true if a packet waits.
    pub(crate) fn hold(&mut self, now: Time, queued: bool) -> Option<Time> {
        if !queued || self.access.take() == Some(now) {
            return None;
        }
        self.access = Some(now + self.limits.access);
        self.access
    }
}

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
    /// Takes a frame from the queue of `link` and sends it. All of it arrives at its end.
    #[cold]
    pub(crate) fn send_frame(&mut self, now: Time, link: u32) {
        let frame = self.take_frame(now, link);
        let Link { medium, carry, queue: LinkQueue::Managed(managed) } = &mut self.topology.links[link as usize] else {
            return;
        };
        let Medium { transmission, delay, .. } = &mut self.topology.media[*medium as usize];
        let delay = *delay;
        let Managed { discipline, meter, busy, release, impairments, .. } = &mut **managed;
        let Some(impairments) = impairments else { return };
        if frame.is_empty() {
            return release.set(retry_at(now, &discipline.status()), Target::Release(link), &mut self.events);
        }
        *busy = true;
        let mut end = now;
        for (packet, _) in &frame {
            let begin = end;
            end = impairments.finish(begin, packet.bytes, || transmission.next(carry, packet.bytes));
            if let Some(meter) = meter {
                meter.transmits(begin, end, packet.bytes);
            }
        }
        self.events.free_at(end, link);
        for (packet, _) in frame {
            self.deliver(now, end, delay, link, &packet);
        }
    }

    /// Sends `packet`, of a frame that began at `now` and ends at `end`, to the far end of `link`.
    fn deliver(&mut self, now: Time, end: Time, delay: Duration, link: u32, packet: &Packet) {
        let LinkQueue::Managed(managed) = &mut self.topology.links[link as usize].queue else { return };
        let Some(impairments) = &mut managed.impairments else { return };
        match impairments.arrival(end, delay) {
            None => self.lose(now, link, packet),
            Some(arrival) if impairments.reorders() => {
                impairments.keep(packet, arrival, packet.route + 1);
                self.events.push(arrival, Target::ReorderedArrival(link));
            }
            Some(arrival) => self.travel(arrival, packet, None),
        }
    }

    /// Takes the packets of a frame from the queue of `link`; acknowledgements that others replace are lost.
    fn take_frame(&mut self, now: Time, link: u32) -> Vec<FramePart> {
        let (mut frame, mut thinned): (Vec<FramePart>, Vec<Packet>) = (Vec::new(), Vec::new());
        let Link { medium, queue: LinkQueue::Managed(managed), .. } = &mut self.topology.links[link as usize] else {
            return frame;
        };
        let rate = self.topology.media[*medium as usize].transmission.rate();
        let Managed { discipline, meter, impairments, .. } = &mut **managed;
        let frames = impairments.as_ref().and_then(|wire| wire.frames.as_ref());
        let Some(Frames { limits, .. }) = frames else { return frame };
        while has_room(limits, &frame) {
            let mut accounting = QueueAccounting {
                link,
                meter: meter.as_mut(),
                sacks: &mut self.sacks,
                dropped: &mut self.dropped,
                observer: &mut self.observer,
                backlog: if O::ACTIVE { discipline.packets() } else { 0 },
                average: None,
            };
            let Some(packet) = discipline.dequeue(now, &mut accounting) else { break };
            (accounting.backlog, accounting.average) = observed::<O>(discipline);
            accounting.departed(now, &packet);
            if let Some(place) = replaced(&frame, &packet).filter(|_| limits.thin_acks) {
                thinned.push(frame.remove(place).0);
            }
            frame.push((packet, rate.transmission(u64::from(packet.bytes))));
        }
        for packet in &thinned {
            self.lose(now, link, packet);
        }
        frame
    }
}
