//! The queue and the link behind it, without a clock or a socket: packets arrive, time passes, and verdicts come out.

pub(crate) mod delay_histogram;
pub(crate) mod queued_packet;
pub(crate) mod top_flows;

use fairlane_qdisc::{
    BoxQdisc, Counters, DropSink, Duration, Qdisc as _, Rate, Reason, ReplaceableQdisc, Tagged, Time,
};

use self::delay_histogram::DelayHistogram;
use self::queued_packet::{Marking, QueuedPacket};
use crate::nfqueue::{Decision, Verdict};

/// A packet and its time of arrival.
pub type TimestampedPacket = Tagged<QueuedPacket, Time>;

/// Receives each event of the queue.
pub trait PacketObserver {
    /// `packet` is offered to the discipline.
    fn arrived(&mut self, _now: Time, _packet: &QueuedPacket) {}
    /// The link begins to send `packet`, which arrived at `since`.
    fn departed(&mut self, _now: Time, _packet: &QueuedPacket, _since: Time) {}
    /// `packet` is dropped.
    fn dropped(&mut self, _now: Time, _packet: &QueuedPacket, _reason: Reason) {}
    /// `packet` is marked.
    fn marked(&mut self, _packet: &QueuedPacket, _reason: Reason) {}
}

/// A discipline that can be replaced, and the link that it feeds.
pub struct Shaper<W> {
    shaper: fairlane_qdisc::Shaper<ReplaceableQdisc<TimestampedPacket>>,
    marking: Marking,
    repeat: Option<u32>,
    accounting: Accounting<W>,
}

/// The delays since the start and the pending verdicts.
#[derive(Default)]
struct Accounting<W> {
    observer: W,
    /// The packets in the discipline, counted here because asking it after each packet takes longer than a decision.
    queued: usize,
    sojourn: DelayHistogram,
    lateness: DelayHistogram,
    verdicts: Vec<Verdict>,
}

impl<W: PacketObserver> Shaper<W> {
    /// Creates a shaper for a link of `rate`. Marked packets are changed as `marking` says, and `observer` receives the
    /// events.
    #[must_use]
    pub fn new(discipline: BoxQdisc<TimestampedPacket>, rate: Rate, marking: Marking, observer: W) -> Self {
        Self {
            shaper: fairlane_qdisc::Shaper::new(ReplaceableQdisc::new(discipline), rate),
            marking,
            repeat: None,
            accounting: Accounting {
                observer,
                queued: 0,
                sojourn: DelayHistogram::default(),
                lateness: DelayHistogram::default(),
                verdicts: Vec::new(),
            },
        }
    }

    /// Returns the shaper with verdicts that [repeat](Verdict::repeat) the rules, with this bit more in each packet's
    /// firewall mark.
    #[must_use]
    pub fn repeating(self, bit: Option<u32>) -> Self {
        Self { repeat: bit, ..self }
    }

    /// Offers a packet that arrives at `now`, after the link has sent as much as it can by then. `now` never runs
    /// backwards.
    pub fn arrive(&mut self, now: Time, packet: QueuedPacket) {
        self.advance(now);
        self.accounting.arrived(now, &packet);
        self.shaper.enqueue(now, Tagged::new(packet, now), &mut self.accounting);
        self.advance(now);
    }

    /// Lets the link send as much as it can by `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            self.send_next(now, due);
        }
    }

    /// Returns the time at which the link may have a packet to send; `None` if the queue is empty.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        self.shaper.next().filter(|_| self.packets() > 0)
    }

    /// Sends new packets to another discipline, built for `rate`, and changes the rate of the link. Queued packets
    /// leave first, from the disciplines that hold them.
    pub fn replace(&mut self, discipline: BoxQdisc<TimestampedPacket>, rate: Rate) {
        self.set_link_rate(rate);
        self.shaper.queue_mut().replace(discipline);
    }

    /// Changes the rate of the link. The disciplines keep their packets and their state.
    pub fn set_link_rate(&mut self, rate: Rate) {
        self.shaper.set_rate(rate);
    }

    /// Returns the observer.
    #[must_use]
    pub const fn observer(&self) -> &W {
        &self.accounting.observer
    }

    /// Returns the observer for changes.
    pub const fn observer_mut(&mut self) -> &mut W {
        &mut self.accounting.observer
    }

    /// Removes and returns the verdicts decided since the last call.
    pub fn verdicts(&mut self) -> std::vec::Drain<'_, Verdict> {
        debug_assert_eq!(self.accounting.queued, self.shaper.queue().packets());
        self.accounting.verdicts.drain(..)
    }

    /// Returns the number of queued packets.
    #[must_use]
    pub const fn packets(&self) -> usize {
        self.accounting.queued
    }

    /// Returns the bytes of the queued packets, in their sizes on the link.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.shaper.queue().bytes()
    }

    /// Returns the average queue that the discipline compares with its thresholds, in their unit.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        self.shaper.queue().average()
    }

    /// Returns the counts of all disciplines since the start.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.shaper.queue().counters()
    }

    /// Returns the times that packets spent in the queue, of those that were sent.
    #[must_use]
    pub const fn sojourn(&self) -> &DelayHistogram {
        &self.accounting.sojourn
    }

    /// Returns how much later than at the rate of the link packets were sent.
    #[must_use]
    pub const fn lateness(&self) -> &DelayHistogram {
        &self.accounting.lateness
    }

    /// Sends one packet at `now` that could have been sent at `due`, unless the discipline holds its packets back.
    fn send_next(&mut self, now: Time, due: Time) {
        if let Some(packet) = self.shaper.dequeue(now, &mut self.accounting) {
            self.accounting.departed(now, packet, now.since(due), (self.marking, self.repeat));
        }
    }
}

impl<W: PacketObserver> Accounting<W> {
    fn arrived(&mut self, now: Time, packet: &QueuedPacket) {
        self.queued += 1;
        self.observer.arrived(now, packet);
    }

    fn departed(
        &mut self,
        now: Time,
        packet: TimestampedPacket,
        late: Duration,
        (marking, bit): (Marking, Option<u32>),
    ) {
        let Tagged { packet, tag: since } = packet;
        self.queued -= 1;
        self.sojourn.add(now.since(since));
        self.lateness.add(late);
        self.observer.departed(now, &packet, since);
        let repeat = bit.map(|bit| packet.firewall_mark() | bit);
        self.verdicts.push(Verdict { id: packet.id, decision: packet.decision(marking), repeat });
    }
}

impl<W: PacketObserver> DropSink<TimestampedPacket> for Accounting<W> {
    fn dropped(&mut self, now: Time, packet: TimestampedPacket, reason: Reason) {
        self.queued -= 1;
        self.observer.dropped(now, &packet.packet, reason);
        self.verdicts.push(Verdict { id: packet.packet.id, decision: Decision::Drop, repeat: None });
    }

    fn marked(&mut self, _now: Time, packet: &TimestampedPacket, reason: Reason) {
        self.observer.marked(&packet.packet, reason);
    }
}

#[cfg(test)]
mod tests;
