//! The queue and the link behind it, without a clock or a socket: packets arrive, time passes, and verdicts come out.

pub(crate) mod delay_histogram;
pub(crate) mod queued_packet;
pub(crate) mod top_flows;

use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Duration, LinkClock, Packet, Qdisc, Rate, Reason, Tagged, Time};

use self::delay_histogram::DelayHistogram;
use self::queued_packet::{Marking, QueuedPacket};
use crate::nfqueue::{Decision, Verdict};

/// A packet and its time of arrival.
pub type TimestampedPacket = Tagged<QueuedPacket, Time>;

/// The longest delay that the link makes up for. A link that was kept from sending for longer, as when other programs occupied
/// the processors, loses the rest: the burst would only fill the next queue.
const MAX_CATCH_UP: Duration = Duration::from_millis(50);

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

/// One or more disciplines and the link that they feed.
pub struct Shaper<W> {
    /// The last discipline takes new packets. Those before it were replaced and send what they still hold, the oldest first.
    disciplines: Vec<BoxQdisc<TimestampedPacket>>,
    link: LinkClock,
    /// The earliest time at which a discipline may release a packet.
    held_until: Time,
    marking: Marking,
    accounting: Accounting<W>,
}

/// The counts since the start and the pending verdicts.
#[derive(Default)]
struct Accounting<W> {
    observer: W,
    /// The packets in all disciplines, counted here because asking each of them after each packet takes longer than a decision.
    queued: usize,
    counters: Counters,
    sojourn: DelayHistogram,
    lateness: DelayHistogram,
    verdicts: Vec<Verdict>,
}

impl<W: PacketObserver> Shaper<W> {
    /// Creates a shaper for a link of `rate`. Marked packets are changed as `marking` says, and `observer` receives the events.
    #[must_use]
    pub fn new(discipline: BoxQdisc<TimestampedPacket>, rate: Rate, marking: Marking, observer: W) -> Self {
        Self {
            disciplines: vec![discipline],
            link: LinkClock::new(rate),
            held_until: Time::ZERO,
            marking,
            accounting: Accounting {
                observer,
                queued: 0,
                counters: Counters::default(),
                sojourn: DelayHistogram::default(),
                lateness: DelayHistogram::default(),
                verdicts: Vec::new(),
            },
        }
    }

    /// Offers a packet that arrives at `now`, after the link has sent what it can send by then. `now` never runs backwards.
    pub fn arrive(&mut self, now: Time, packet: QueuedPacket) {
        self.advance(now);
        if self.packets() == 0 {
            self.link.wake(now);
        }
        self.accounting.arrived(now, &packet);
        if let Some(discipline) = self.disciplines.last_mut() {
            discipline.enqueue(now, Tagged::new(packet, now), &mut self.accounting);
        }
        // The new packet may be ready at once even if the discipline holds the others back.
        self.held_until = self.held_until.min(now);
        self.advance(now);
    }

    /// Lets the link send what it can send by `now`.
    pub fn advance(&mut self, now: Time) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            self.send_next(now, due);
        }
    }

    /// Returns the time at which the link may have a packet to send; `None` if the queue is empty.
    #[must_use]
    pub fn due(&self) -> Option<Time> {
        let due = self.link.next().max(self.held_until);
        (self.packets() > 0 && due < Time::MAX).then_some(due)
    }

    /// Adds a discipline that takes new packets, and changes the rate of the link. Queued packets leave first, from the disciplines
    /// that hold them.
    pub fn replace(&mut self, discipline: BoxQdisc<TimestampedPacket>, rate: Rate) {
        self.disciplines.retain(|discipline| discipline.packets() > 0);
        self.set_link_rate(rate);
        self.disciplines.push(discipline);
    }

    /// Changes the rate of the link. The disciplines keep their packets and their state.
    pub fn set_link_rate(&mut self, rate: Rate) {
        self.link.set_rate(rate);
        for discipline in &mut self.disciplines {
            discipline.link_rate(rate);
        }
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
        debug_assert_eq!(self.accounting.queued, self.disciplines.iter().map(Qdisc::packets).sum::<usize>());
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
        self.disciplines.iter().map(Qdisc::bytes).sum()
    }

    /// Returns the average queue that the discipline compares with its thresholds, in their unit.
    #[must_use]
    pub fn average(&self) -> Option<f64> {
        self.disciplines.last().and_then(Qdisc::average)
    }

    /// Returns the probability with which the discipline signals.
    #[must_use]
    pub fn probability(&self) -> Option<f64> {
        self.disciplines.last().and_then(Qdisc::probability)
    }

    /// Returns the counts of all disciplines since the start.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.accounting.counters
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

    /// Sends one packet at `now` that could have been sent at `due`, or notes until when the disciplines hold their packets back.
    fn send_next(&mut self, now: Time, due: Time) {
        let Some(packet) = self.dequeue(now) else {
            let held = self.disciplines.iter().filter(|discipline| discipline.packets() > 0);
            let ready = held.filter_map(Qdisc::ready_at).min().unwrap_or(Time::MAX);
            // A discipline may return a time in the past; asking again at the same time would never end.
            self.held_until = ready.max(now + Duration::from_nanos(1));
            return;
        };
        // Time without a packet to send is lost. Time by which the caller was late is made up for.
        self.link.wake(due);
        let late = now.since(due);
        if late > MAX_CATCH_UP {
            self.link.wake(Time::from_nanos(now.as_nanos() - MAX_CATCH_UP.as_nanos()));
        }
        self.link.advance(packet.packet.bytes());
        self.accounting.departed(now, packet, late, self.marking);
    }

    /// Removes and returns the next packet of the oldest discipline that releases one.
    fn dequeue(&mut self, now: Time) -> Option<TimestampedPacket> {
        let accounting = &mut self.accounting;
        let packet = self.disciplines.iter_mut().find_map(|discipline| discipline.dequeue(now, accounting));
        while self.disciplines.len() > 1 && self.disciplines[0].packets() == 0 {
            self.disciplines.remove(0);
        }
        packet
    }
}

impl<W: PacketObserver> Accounting<W> {
    fn arrived(&mut self, now: Time, packet: &QueuedPacket) {
        self.queued += 1;
        self.counters.arrived.add(packet.bytes());
        self.observer.arrived(now, packet);
    }

    fn departed(&mut self, now: Time, packet: TimestampedPacket, late: Duration, marking: Marking) {
        let Tagged { packet, tag: since } = packet;
        self.queued -= 1;
        self.counters.departed.add(packet.bytes());
        self.sojourn.add(now.since(since));
        self.lateness.add(late);
        self.observer.departed(now, &packet, since);
        self.verdicts.push(Verdict { id: packet.id, decision: packet.decision(marking) });
    }
}

impl<W: PacketObserver> DropSink<TimestampedPacket> for Accounting<W> {
    fn dropped(&mut self, now: Time, packet: TimestampedPacket, reason: Reason) {
        self.queued -= 1;
        self.observer.dropped(now, &packet.packet, reason);
        self.counters.count_drop(reason, packet.packet.bytes());
        self.verdicts.push(Verdict { id: packet.packet.id, decision: Decision::Drop });
    }

    fn marked(&mut self, _now: Time, packet: &TimestampedPacket, reason: Reason) {
        self.observer.marked(&packet.packet, reason);
        self.counters.count_mark(reason, packet.packet.bytes());
    }
}

#[cfg(test)]
mod tests;
