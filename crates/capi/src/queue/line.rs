//! The packets of a queue: a discipline that can be replaced, and the packet that fl_peek_bytes has taken out of it.

use std::mem;

use fairlane_qdisc::{BoxQdisc, Counters, DropSink, Fate, Packet as _, Qdisc, Rate, ReplaceableQdisc, Status, Time};

use crate::packet::Held;

/// The packets in a queue.
pub(super) struct Line {
    pub(super) discipline: Discipline,
    /// The packet that leaves next, if that has been asked for.
    pub(super) next: Option<Held>,
}

/// The discipline of a queue.
pub(super) enum Discipline {
    First(BoxQdisc<Held>),
    /// Disciplines that were replaced, with the packets that they still have, and the present one.
    Replaced(Box<ReplaceableQdisc<Held>>),
}

impl Line {
    pub(super) const fn new(discipline: BoxQdisc<Held>) -> Self {
        Self { discipline: Discipline::First(discipline), next: None }
    }

    /// Takes the next packet.
    #[inline]
    pub(super) fn take(&mut self, now: Time, told: &mut dyn DropSink<Held>) -> Option<Held> {
        if self.next.is_some() {
            return self.next.take();
        }
        self.discipline.get_mut().dequeue(now, told)
    }

    pub(super) fn peeked(&self) -> (u64, u64) {
        self.next.as_ref().map_or((0, 0), |next| (1, u64::from(next.bytes())))
    }
}

/// The line as [`Shaper`] sees it.
impl Qdisc<Held> for Line {
    fn enqueue(&mut self, now: Time, packet: Held, told: &mut dyn DropSink<Held>) -> Fate {
        self.discipline.get_mut().enqueue(now, packet, told)
    }

    fn dequeue(&mut self, now: Time, told: &mut dyn DropSink<Held>) -> Option<Held> {
        self.take(now, told)
    }

    fn status(&self) -> Status {
        let (mut status, (packets, bytes)) = (self.discipline.get().status(), self.peeked());
        status.packets += packets as usize;
        status.bytes += bytes;
        // The packet that has been asked for may leave.
        status.ready_at = status.ready_at.filter(|_| packets == 0);
        status
    }

    fn counters(&self) -> &Counters {
        self.discipline.get().counters()
    }

    /// A rate of 0 is not known.
    fn link_rate(&mut self, rate: Rate) {
        if rate > Rate::from_bits_per_second(0) {
            self.discipline.get_mut().link_rate(rate);
        }
    }

    fn packets(&self) -> usize {
        self.discipline.get().packets() + usize::from(self.next.is_some())
    }
}

impl Discipline {
    #[inline]
    fn get(&self) -> &dyn Qdisc<Held> {
        match self {
            Self::First(discipline) => &**discipline,
            Self::Replaced(discipline) => &**discipline,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self) -> &mut dyn Qdisc<Held> {
        match self {
            Self::First(discipline) => &mut **discipline,
            Self::Replaced(discipline) => {
                rare();
                &mut **discipline
            }
        }
    }

    /// Sends arrivals to `newest` from now on.
    pub(super) fn replace(&mut self, newest: BoxQdisc<Held>) {
        match self {
            Self::Replaced(discipline) => discipline.replace(newest),
            Self::First(first) => {
                let before = mem::replace(first, newest);
                if let Self::First(newest) = mem::replace(self, Self::Replaced(Box::new(ReplaceableQdisc::new(before))))
                {
                    self.replace(newest);
                }
            }
        }
    }
}

/// Makes the way to it one that few take: a jump, and no choice between two values each time.
#[cold]
const fn rare() {}
