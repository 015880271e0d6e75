//! Packets that go from one part of a divided run to another.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use fairlane_qdisc::Time;

use crate::network::route::Step;
use crate::packet::{NO_SACK, Packet};
use crate::parallel::partition::Division;
use crate::sack_table::{AckOptions, SackTable};
use crate::schedule::Schedule;

/// The way from a part to all others, and from them.
#[derive(Debug)]
pub(crate) struct Border {
    pub(crate) division: Arc<Division>,
    /// The number of this part.
    part: usize,
    /// What goes to each part.
    outgoing: Vec<Mail>,
    /// What is being received.
    received: Mail,
}

/// Packets from one part to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Each packet with its line, and true if it waited for its link.
    packets: Vec<(u32, Packet, bool)>,
    /// The options of those that have some.
    options: Vec<AckOptions>,
}

impl Mail {
    /// Takes all of `more`, whose packets were sent later, and leaves it empty. It copies the packets instead of exchanging the memory: another thread
    /// has just read that of the mailbox, and to write packet by packet to it takes longer.
    fn append(&mut self, more: &mut Self) {
        self.packets.append(&mut more.packets);
        self.options.append(&mut more.options);
    }
}

/// What has been sent from each part to each other one, and has not been received. Each mailbox has cache lines of its own: threads that write side
/// by side to one line wait for each other.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    parts: usize,
    boxes: Vec<CachePadded<Mutex<Mail>>>,
}

impl Mailboxes {
    pub(crate) fn new(parts: usize) -> Self {
        Self { parts, boxes: std::iter::repeat_with(CachePadded::default).take(parts * parts).collect() }
    }

    fn open(&self, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        self.boxes[from * self.parts + to].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time of the first arrival from part `from` at part `to`.
    pub(crate) fn first(&self, from: usize, to: usize) -> Time {
        self.open(from, to).packets.iter().map(|(_, packet, _)| packet.at).min().unwrap_or(Time::MAX)
    }
}

impl Border {
    pub(crate) fn new(division: &Arc<Division>, part: usize) -> Self {
        let mail = || std::iter::repeat_with(Mail::default).take(division.parts()).collect();
        Self { division: Arc::clone(division), part, outgoing: mail(), received: Mail::default() }
    }

    /// Schedules the arrival of a packet at `step` of its route, or passes it to the part where it arrives.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        (line, packet, waited): (u32, &Packet, bool),
        step: Step,
        events: &mut Schedule,
        sacks: &mut SackTable,
    ) {
        let to = self.division.part_of(step, packet.flow);
        if to == self.part {
            return events.send(self.division.line_of(line, to), packet, (packet.at, packet.route), waited);
        }
        let mail = &mut self.outgoing[to];
        if packet.sack != NO_SACK {
            mail.options.push(sacks.take(packet.sack));
        }
        mail.packets.push((line, *packet, waited));
    }

    /// Puts what this part has sent into the mailboxes.
    pub(crate) fn post(&mut self, mailboxes: &Mailboxes) {
        for (to, mail) in self.outgoing.iter_mut().enumerate().filter(|(_, mail)| !mail.packets.is_empty()) {
            mailboxes.open(self.part, to).append(mail);
        }
    }

    /// Schedules the arrivals of the packets that have come. How early they come depends on the threads, and nothing else does: each line has the packets
    /// of one part, in the order in which they were sent.
    pub(crate) fn receive(&mut self, mailboxes: &Mailboxes, events: &mut Schedule, sacks: &mut SackTable) {
        let division = Arc::clone(&self.division);
        for from in division.lookaheads.sources(self.part) {
            mem::swap(&mut self.received, &mut *mailboxes.open(from, self.part));
            let Mail { packets, options } = &mut self.received;
            let mut options = options.drain(..);
            for (line, packet, waited) in packets.iter() {
                let (line, place) = (division.line_of(*line, from), (packet.at, packet.route));
                if packet.sack == NO_SACK {
                    events.send(line, packet, place, *waited);
                } else {
                    let sack = sacks.store(options.next().unwrap_or_default());
                    events.send(line, &Packet { sack, ..*packet }, place, *waited);
                }
            }
            packets.clear();
        }
    }
}
