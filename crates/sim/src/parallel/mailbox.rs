//! The mailboxes between the partitions of a divided run.

use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_utils::CachePadded;
use fairlane_qdisc::Time;

use crate::network::Network;
use crate::network::boundary::{Boundary, Mail};

/// The packets that each partition has sent to each other one and that have not been received. Each mailbox has its own
/// cache lines, since threads that write to one line wait for each other.
#[derive(Debug)]
pub(crate) struct Mailboxes {
    partitions: usize,
    boxes: Vec<CachePadded<Mutex<Mail>>>,
}

impl Mailboxes {
    pub(crate) fn new(partitions: usize) -> Self {
        let boxes = std::iter::repeat_with(CachePadded::default).take(partitions * partitions).collect();
        Self { partitions, boxes }
    }

    fn open(&self, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        self.boxes[from * self.partitions + to].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time of the first arrival from partition `from` at partition `to`.
    pub(crate) fn first(&self, from: usize, to: usize) -> Time {
        self.open(from, to).arrivals().min().unwrap_or(Time::MAX)
    }

    /// Takes what a partition has sent.
    pub(crate) fn post(&self, boundary: &mut Boundary) {
        let Boundary { partition, outgoing, .. } = boundary;
        for (to, mail) in outgoing.iter_mut().enumerate().filter(|(_, mail)| mail.arrivals().next().is_some()) {
            self.open(*partition, to).append(mail);
        }
    }

    /// Schedules the arrivals of the packets sent to the partition of `network` from each of these partitions.
    pub(crate) fn receive(&self, sources: impl Iterator<Item = usize>, network: &mut Network<()>) {
        let Network { boundary: Some(boundary), events, records, .. } = network else { return };
        for from in sources {
            mem::swap(&mut boundary.incoming, &mut *self.open(from, boundary.partition));
            boundary.receive(from, events, &mut records.sacks);
        }
    }
}
