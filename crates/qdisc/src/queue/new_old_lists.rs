//! The new and the old list of queues of RFC 8290: deficit round robin in which queues that become active go first.
//!
//! A queue that becomes active joins the list of new queues with a quantum of credit. Once it has used its credit, or
//! has become empty, it moves to the list of old queues. New queues are served before old ones, so a flow that sends
//! less than a quantum per round never waits for the backlog of others.
//!
//! **Source.** RFC 8290, section 4.2 (Hoeiland-Joergensen, McKenney, Täht, Gettys, Dumazet, 2018).

use alloc::vec;
use alloc::vec::Vec;

/// No queue.
const NIL: u32 = u32::MAX;

/// The list that a queue is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Membership {
    /// Neither list: the queue is not active.
    Inactive,
    New,
    Old,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ListedQueue {
    /// The bytes that the queue may still send in this round; negative after a packet larger than its credit.
    credit: i64,
    /// The queue behind it in its list.
    next: u32,
    list: Membership,
}

const INACTIVE: ListedQueue = ListedQueue { credit: 0, next: NIL, list: Membership::Inactive };

/// The ends and the length of a list. In an empty one `head` is [`NIL`], and `tail` means nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct QueueList {
    head: u32,
    tail: u32,
    len: u32,
}

const EMPTY: QueueList = QueueList { head: NIL, tail: NIL, len: 0 };

/// The lists of new and of old queues.
#[derive(Debug)]
pub(crate) struct NewOldLists {
    queues: Vec<ListedQueue>,
    new: QueueList,
    old: QueueList,
    quantum: i64,
}

impl NewOldLists {
    /// Creates the lists for `queues` queues, all inactive, with a quantum of `quantum` bytes, which is not 0.
    pub(crate) fn new(queues: u32, quantum: u64) -> Self {
        let queues = vec![INACTIVE; queues as usize];
        // A packet has less than 2^32 bytes, so a larger quantum makes no difference.
        Self { queues, new: EMPTY, old: EMPTY, quantum: quantum.clamp(1, 1 << 32) as i64 }
    }

    /// Notes that `queue` has a packet to send: an inactive queue becomes new.
    #[inline]
    pub(crate) fn activate(&mut self, queue: usize) {
        if self.queues[queue].list == Membership::Inactive {
            self.queues[queue].credit = self.quantum;
            self.join(queue, Membership::New);
        }
    }

    /// Returns the queue whose turn it is.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<usize> {
        let head = self.head();
        if self.queues.get(head)?.credit > 0 { Some(head) } else { self.next_in_credit() }
    }

    /// Returns the first of the new queues, or else of the old ones; no queue if there is none.
    #[inline]
    const fn head(&self) -> usize {
        (if self.new.head == NIL { self.old.head } else { self.new.head }) as usize
    }

    /// Does the same where the first queue has used its credit.
    #[inline(never)]
    fn next_in_credit(&mut self) -> Option<usize> {
        let mut visited = 0;
        loop {
            let head = self.head();
            let queue = self.queues.get_mut(head)?;
            if queue.credit > 0 {
                return Some(head);
            }
            queue.credit += self.quantum;
            self.leave(head);
            self.join(head, Membership::Old);
            visited += 1;
            if visited > self.old.len {
                self.skip_rounds();
                visited = 0;
            }
        }
    }

    /// Grants at once the credit of all rounds in which no old queue may send.
    fn skip_rounds(&mut self) {
        let mut most = i64::MIN;
        let mut at = self.old.head;
        while let Some(queue) = self.queues.get(at as usize) {
            most = most.max(queue.credit);
            at = queue.next;
        }
        // All rounds before the one in which the first queue may send.
        let rounds = if most < 0 { -most / self.quantum } else { 0 };
        let mut at = self.old.head;
        while let Some(queue) = self.queues.get_mut(at as usize) {
            queue.credit += rounds * self.quantum;
            at = queue.next;
        }
    }

    /// Subtracts `bytes` bytes, which `queue` has sent, from its credit. It must be its turn.
    pub(crate) fn charge(&mut self, queue: usize, bytes: u32) {
        self.queues[queue].credit -= i64::from(bytes);
    }

    /// Notes that `queue`, whose turn it is, has no packet to send. An old queue becomes inactive. A new one becomes
    /// old first: otherwise it could become new again at once and starve the old ones. Tells whether it is still
    /// active.
    pub(crate) fn exhausted(&mut self, queue: usize) -> bool {
        let was_new = self.queues[queue].list == Membership::New;
        self.leave(queue);
        if was_new {
            self.join(queue, Membership::Old);
        }
        was_new
    }

    /// Tells whether `queue` is in one of the lists.
    pub(crate) fn is_active(&self, queue: usize) -> bool {
        self.queues[queue].list != Membership::Inactive
    }

    fn list(&mut self, list: Membership) -> &mut QueueList {
        if list == Membership::New { &mut self.new } else { &mut self.old }
    }

    /// Removes `queue`, the head of its list, from it.
    fn leave(&mut self, queue: usize) {
        let ListedQueue { next, list, .. } = self.queues[queue];
        let list = self.list(list);
        list.head = next;
        list.len -= 1;
        self.queues[queue].list = Membership::Inactive;
    }

    /// Appends `queue`, which is in neither list, to `list`.
    fn join(&mut self, queue: usize, list: Membership) {
        self.queues[queue].list = list;
        let ends = self.list(list);
        // The first of a list is put behind itself: that takes no branch, which would often be mispredicted.
        let is_first = ends.len == 0;
        let last = if is_first { queue } else { ends.tail as usize };
        ends.head = if is_first { queue as u32 } else { ends.head };
        ends.tail = queue as u32;
        ends.len += 1;
        self.queues[last].next = queue as u32;
        self.queues[queue].next = NIL;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8290, section 4.2. Would catch an old queue served before a new one, a wrong quantum, and an empty new queue
    /// that does not become old.
    #[test]
    fn new_queues_go_first_once() {
        let mut lists = NewOldLists::new(4, 1000);
        lists.activate(0);
        lists.activate(1);
        assert_eq!(lists.next(), Some(0));
        lists.charge(0, 1000);
        assert_eq!(lists.next(), Some(1));
        lists.charge(1, 600);
        assert_eq!(lists.next(), Some(1));
        lists.charge(1, 600);
        // Both are old now, 0 with a credit of 1000 bytes and 1 with 800; 2 is new.
        lists.activate(2);
        assert_eq!(lists.next(), Some(2));
        lists.exhausted(2);
        lists.activate(2);
        assert_eq!(lists.next(), Some(0), "2 is not new again");
        lists.charge(0, 1000);
        assert_eq!(lists.next(), Some(1));
        lists.charge(1, 1000);
        assert_eq!(lists.next(), Some(2));
        lists.exhausted(2);
        assert_eq!(lists.next(), Some(0));
        lists.exhausted(0);
        assert_eq!(lists.next(), Some(1));
        lists.exhausted(1);
        assert_eq!(lists.next(), None);
    }

    /// Would catch rounds that are visited one by one, which takes hours with a quantum of one byte and packets of four
    /// gigabytes, and skipped rounds that favour a queue.
    #[test]
    fn rounds_without_a_turn_are_skipped() {
        let mut lists = NewOldLists::new(3, 1);
        let mut sent = [0_u64; 3];
        for queue in 0..3 {
            lists.activate(queue);
        }
        for _ in 0..3000 {
            let Some(queue) = lists.next() else { break };
            let bytes = [u32::MAX, u32::MAX / 2, 1000][queue];
            sent[queue] += u64::from(bytes);
            lists.charge(queue, bytes);
        }
        let (least, most) = (sent.iter().min().copied().unwrap_or(0), sent.iter().max().copied().unwrap_or(0));
        assert!(most - least <= u64::from(u32::MAX), "{sent:?}");
    }
}
