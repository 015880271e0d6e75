//! Packets that go from one part of a divided run to another.

use std::sync::Arc;

use fairlane_qdisc::Time;

use crate::division::Division;
use crate::packet::{NO_SACK, Packet};
use crate::route::Step;
use crate::sack_table::{AckOptions, SackTable};
use crate::schedule::Schedule;

/// The way from a part to all others, and from them.
#[derive(Debug)]
pub(crate) struct Border {
    pub(crate) division: Arc<Division>,
    /// The number of this part.
    part: usize,
    /// What goes to each part.
    pub(crate) outgoing: Vec<Mail>,
    /// What has come from each part.
    pub(crate) incoming: Vec<Mail>,
}

/// Packets from one part to another, in the order in which they were sent.
///
/// It has cache lines of its own, two since processors fetch lines in pairs: threads that write side by side to one line wait for each other.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct Mail {
    /// Each packet with its line, and true if it waited for its link.
    pub(crate) packets: Vec<(u32, Packet, bool)>,
    /// The options of those that have some.
    options: Vec<AckOptions>,
    /// The time of the first arrival.
    pub(crate) first: Time,
}

impl Default for Mail {
    fn default() -> Self {
        Self { packets: Vec::new(), options: Vec::new(), first: Time::MAX }
    }
}

impl Border {
    pub(crate) fn new(division: &Arc<Division>, part: usize) -> Self {
        let mail = || std::iter::repeat_with(Mail::default).take(division.parts()).collect();
        Self { division: Arc::clone(division), part, outgoing: mail(), incoming: mail() }
    }

    /// Schedules the arrival of a packet at `step` of its route, or passes it to the part where it arrives.
    pub(crate) fn send(
        &mut self,
        (line, packet, waited): (u32, Packet, bool),
        step: Step,
        events: &mut Schedule,
        sacks: &mut SackTable,
    ) {
        let to = self.division.part_of(step, packet.flow);
        if to == self.part {
            return events.send(self.line_of(line, to), &packet, (packet.at, packet.route), waited);
        }
        let mail = &mut self.outgoing[to];
        mail.first = mail.first.min(packet.at);
        if packet.sack != NO_SACK {
            mail.options.push(sacks.take(packet.sack));
        }
        mail.packets.push((line, packet, waited));
    }

    /// Schedules the arrivals of the packets that have come.
    pub(crate) fn receive(&mut self, events: &mut Schedule, sacks: &mut SackTable) {
        for from in 0..self.incoming.len() {
            let Mail { packets, options, first } = &mut self.incoming[from];
            *first = Time::MAX;
            let (packets, mut options) = (std::mem::take(packets), std::mem::take(options).into_iter());
            for (line, packet, waited) in &packets {
                let mut packet = *packet;
                if packet.sack != NO_SACK {
                    packet.sack = sacks.keep(options.next().unwrap_or_default());
                }
                events.send(self.line_of(*line, from), &packet, (packet.at, packet.route), *waited);
            }
            // Keeps the memory.
            self.incoming[from].packets = packets;
            self.incoming[from].packets.clear();
        }
    }

    /// Returns the number of the delay line for packets from one part: those of several parts would not come in the order of time.
    fn line_of(&self, line: u32, from: usize) -> u32 {
        line * self.division.parts() as u32 + from as u32
    }
}
