//! Packets that leave for another partition of a divided run.

use std::sync::Arc;

use crate::network::route::Step;
use crate::packet::{NO_SACK, Packet};
use crate::sack_table::{AckOptions, SackTable};
use crate::schedule::{Line, Schedule};

/// The partition that each link and each flow belongs to.
#[derive(Debug)]
pub(crate) struct Owners {
    pub(crate) links: Vec<u16>,
    pub(crate) flows: Vec<u16>,
    pub(crate) partitions: usize,
}

impl Owners {
    /// Returns the partition that handles the arrival of a packet of `flow` at `step` of its route.
    #[inline]
    pub(crate) fn of(&self, step: Step, flow: u32) -> usize {
        match step.link(flow) {
            Some(link) => usize::from(self.links[link as usize]),
            None => self.of_flow(flow),
        }
    }

    /// Returns the partition of a flow.
    #[inline]
    pub(crate) fn of_flow(&self, flow: u32) -> usize {
        usize::from(self.flows[flow as usize])
    }

    /// Returns the line for packets from one partition: those of several would not come in the order of time.
    #[inline]
    const fn line_from(&self, Line { port, line }: Line, from: usize) -> Line {
        Line { port, line: line * self.partitions as u32 + from as u32 }
    }
}

/// Packets from one partition to another, in the order in which they were sent.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Each packet with its line.
    packets: Vec<(Line, Packet)>,
    /// The options of those that have some.
    options: Vec<AckOptions>,
}

impl Mail {
    /// Adds all of `more`, whose packets were sent later, and leaves it empty. It copies the packets instead of
    /// exchanging the memory: another thread has just read that of the mailbox, and to write packet by packet to it
    /// takes longer.
    pub(crate) fn append(&mut self, more: &mut Self) {
        self.packets.append(&mut more.packets);
        self.options.append(&mut more.options);
    }

    /// Returns the arrivals of the packets.
    pub(crate) fn arrivals(&self) -> impl Iterator<Item = fairlane_qdisc::Time> {
        self.packets.iter().map(|(_, packet)| packet.at)
    }
}

/// The boundary of a partition: packets for the mailboxes of others, and the schedule of packets from others.
#[derive(Debug)]
pub(crate) struct Boundary {
    owners: Arc<Owners>,
    /// The number of this partition.
    pub(crate) partition: usize,
    /// The packets to each partition.
    pub(crate) outgoing: Vec<Mail>,
    /// The packets that are being received.
    pub(crate) incoming: Mail,
}

impl Boundary {
    pub(crate) fn new(owners: &Arc<Owners>, partition: usize) -> Self {
        let outgoing = std::iter::repeat_with(Mail::default).take(owners.partitions).collect();
        Self { owners: Arc::clone(owners), partition, outgoing, incoming: Mail::default() }
    }

    /// Schedules the arrival of a packet at `step` of its route, or passes it to the partition where it arrives.
    #[inline(always)]
    pub(crate) fn send(
        &mut self,
        (line, packet): (Line, &Packet),
        step: Step,
        events: &mut Schedule,
        sacks: &mut SackTable,
    ) {
        let to = self.owners.of(step, packet.flow);
        if to == self.partition {
            return events.send(self.owners.line_from(line, to), packet, (packet.at, packet.route));
        }
        let mail = &mut self.outgoing[to];
        if packet.sack != NO_SACK {
            mail.options.push(sacks.take(packet.sack));
        }
        mail.packets.push((line, *packet));
    }

    /// Schedules the arrivals of the incoming packets, all from one partition. How early they come depends on the
    /// threads, and nothing else does: each line has the packets of one partition, in the order in which they were
    /// sent.
    pub(crate) fn receive(&mut self, from: usize, events: &mut Schedule, sacks: &mut SackTable) {
        let Mail { packets, options } = &mut self.incoming;
        let mut options = options.drain(..);
        for (line, packet) in packets.iter() {
            let (line, place) = (self.owners.line_from(*line, from), (packet.at, packet.route));
            if packet.sack == NO_SACK {
                events.send(line, packet, place);
            } else {
                let sack = sacks.store(options.next().unwrap_or_default());
                events.send(line, &Packet { sack, ..*packet }, place);
            }
        }
        packets.clear();
    }
}
