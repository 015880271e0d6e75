//! The queue and the link behind it, without a clock and without a socket: packets come, time goes on, verdicts come out.

use fairlane_qdisc::{AnyQdisc, Counters, Duration, Fate, LinkClock, Packet, Qdisc, Rate, Reason, Tagged, Time};

use crate::delays::Delays;
use crate::nfqueue::{Decision, Verdict};
use crate::packet::{Held, Marking};

/// A packet and when it came.
pub(crate) type Waiting = Tagged<Held, Time>;

/// A link that was kept from sending for longer, such as by a machine that had no time for us, does not make up for more than
/// this: a burst would go on to fill the next queue.
const MOST_LATE: Duration = Duration::from_millis(50);

/// Sees what becomes of each packet.
pub(crate) trait Witness {
    /// `packet` is offered to the discipline.
    fn arrived(&mut self, _now: Time, _packet: &Held) {}
    /// The link begins to send `packet`, which came at `since`.
    fn departed(&mut self, _now: Time, _packet: &Held, _since: Time) {}
    /// `packet` is dropped.
    fn dropped(&mut self, _now: Time, _packet: &Held, _reason: Reason) {}
    /// `packet` is marked.
    fn marked(&mut self, _packet: &Held, _reason: Reason) {}
}

/// Disciplines before a link of a rate.
pub(crate) struct Engine<W> {
    /// The last one takes what comes. Those before it were replaced and give out what they still have, the oldest first.
    disciplines: Vec<AnyQdisc<Waiting>>,
    link: LinkClock,
    /// Before this the disciplines give out nothing of what they have.
    held_until: Time,
    marking: Marking,
    books: Books<W>,
}

/// What has happened, and what there is to tell the kernel.
#[derive(Default)]
struct Books<W> {
    witness: W,
    counters: Counters,
    sojourn: Delays,
    lateness: Delays,
    verdicts: Vec<Verdict>,
}

impl<W: Witness> Engine<W> {
    pub(crate) fn new(discipline: AnyQdisc<Waiting>, rate: Rate, marking: Marking, witness: W) -> Self {
        Self {
            disciplines: vec![discipline],
            link: LinkClock::new(rate),
            held_until: Time::ZERO,
            marking,
            books: Books {
                witness,
                counters: Counters::default(),
                sojourn: Delays::default(),
                lateness: Delays::default(),
                verdicts: Vec::new(),
            },
        }
    }

    /// A packet comes at `now`, which never runs backwards. What the link can send by then goes before.
    pub(crate) fn arrive(&mut self, now: Time, packet: Held) {
        self.advance(now);
        if self.packets() == 0 {
            self.link.wake(now);
        }
        self.books.counters.arrived.add(packet.bytes());
        self.books.witness.arrived(now, &packet);
        if let Some(discipline) = self.disciplines.last_mut() {
            discipline.enqueue(now, Tagged::new(packet, now), &mut self.books);
        }
        // It may be ready at once, whatever the others wait for.
        self.held_until = self.held_until.min(now);
        self.advance(now);
    }

    /// Lets the link send what it can by `now`.
    pub(crate) fn advance(&mut self, now: Time) {
        while let Some(due) = self.due().filter(|due| *due <= now) {
            self.send_next(now, due);
        }
    }

    /// When the link may have something to send; `None` while there is nothing.
    pub(crate) fn due(&self) -> Option<Time> {
        let due = self.link.next().max(self.held_until);
        (self.packets() > 0 && due < Time::MAX).then_some(due)
    }

    /// Another discipline takes what comes from now on, before a link of `rate`. What waits already leaves first, as it would have.
    pub(crate) fn replace(&mut self, discipline: AnyQdisc<Waiting>, rate: Rate) {
        self.disciplines.retain(|discipline| discipline.packets() > 0);
        self.disciplines.push(discipline);
        self.link.set_rate(rate);
    }

    /// Who sees what becomes of each packet.
    pub(crate) const fn witness(&mut self) -> &mut W {
        &mut self.books.witness
    }

    /// What that one has seen.
    pub(crate) const fn seen(&self) -> &W {
        &self.books.witness
    }

    /// The verdicts since the last call.
    pub(crate) fn verdicts(&mut self) -> std::vec::Drain<'_, Verdict> {
        self.books.verdicts.drain(..)
    }

    /// Packets that wait.
    pub(crate) fn packets(&self) -> usize {
        self.disciplines.iter().map(Qdisc::packets).sum()
    }

    /// Their bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.disciplines.iter().map(Qdisc::bytes).sum()
    }

    /// The average that the discipline steers by.
    pub(crate) fn average(&self) -> Option<f64> {
        self.disciplines.last().and_then(Qdisc::average)
    }

    /// The probability with which the discipline signals.
    pub(crate) fn probability(&self) -> Option<f64> {
        self.disciplines.last().and_then(Qdisc::probability)
    }

    /// What was counted since the start, by all disciplines.
    pub(crate) const fn counters(&self) -> &Counters {
        &self.books.counters
    }

    /// How long the packets waited that went on.
    pub(crate) const fn sojourn(&self) -> &Delays {
        &self.books.sojourn
    }

    /// How much later than the link's rate says packets went on.
    pub(crate) const fn lateness(&self) -> &Delays {
        &self.books.lateness
    }

    /// Sends one packet at `now` which could have gone at `due`, or finds that there is none.
    fn send_next(&mut self, now: Time, due: Time) {
        let Some(waiting) = self.dequeue(now) else {
            let held = self.disciplines.iter().filter(|discipline| discipline.packets() > 0);
            let ready = held.filter_map(Qdisc::ready_at).min().unwrap_or(Time::MAX);
            // Never at once: a discipline may say a time that is past.
            self.held_until = ready.max(now + Duration::from_nanos(1));
            return;
        };
        // Time in which there was nothing to send is lost; time in which we were late is made up for.
        self.link.wake(due);
        let late = now.since(due);
        if late > MOST_LATE {
            self.link.wake(Time::from_nanos(now.as_nanos() - MOST_LATE.as_nanos()));
        }
        self.link.advance(waiting.packet.bytes());
        self.books.departed(now, waiting, late, self.marking);
    }

    /// The next packet of the oldest discipline that has one for the link.
    fn dequeue(&mut self, now: Time) -> Option<Waiting> {
        let books = &mut self.books;
        let waiting = self.disciplines.iter_mut().find_map(|discipline| discipline.dequeue(now, books));
        while self.disciplines.len() > 1 && self.disciplines[0].packets() == 0 {
            self.disciplines.remove(0);
        }
        waiting
    }
}

impl<W: Witness> Books<W> {
    fn departed(&mut self, now: Time, waiting: Waiting, late: Duration, marking: Marking) {
        self.counters.departed.add(waiting.packet.bytes());
        self.sojourn.add(now.since(waiting.tag));
        self.lateness.add(late);
        self.witness.departed(now, &waiting.packet, waiting.tag);
        let id = waiting.packet.id;
        self.verdicts.push(Verdict { id, decision: waiting.packet.decision(marking) });
    }
}

impl<W: Witness> Fate<Waiting> for Books<W> {
    fn dropped(&mut self, now: Time, waiting: Waiting, reason: Reason) {
        self.witness.dropped(now, &waiting.packet, reason);
        self.counters.count_drop(reason, waiting.packet.bytes());
        self.verdicts.push(Verdict { id: waiting.packet.id, decision: Decision::Drop });
    }

    fn marked(&mut self, _now: Time, waiting: &Waiting, reason: Reason) {
        self.witness.marked(&waiting.packet, reason);
        self.counters.count_mark(reason, waiting.packet.bytes());
    }
}

#[cfg(test)]
mod tests;
