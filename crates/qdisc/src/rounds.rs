//! Whose turn it is among queues: deficit round robin in which queues that have just become active go first.
//!
//! A queue that was empty comes to the new line with a quantum; once it has sent that, or has no more, it goes to the old
//! line. New queues are asked first. So a flow that sends less than a quantum in a round is never behind others' backlog.
//!
//! **Source.** RFC 8290, section 4.2 (Hoeiland-Joergensen, McKenney, Täht, Gettys, Dumazet, 2018).

use alloc::vec;
use alloc::vec::Vec;

/// No queue.
const NIL: u32 = u32::MAX;

/// Where a queue stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In no line: it has nothing to send.
    Idle,
    New,
    Old,
}

/// What is known of a queue.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Bytes that it may still send.
    deficit: i64,
    /// The one behind it in its line.
    next: u32,
    place: Place,
}

const IDLE: Turn = Turn { deficit: 0, next: NIL, place: Place::Idle };

/// A line of queues.
#[derive(Clone, Copy, Debug)]
struct Line {
    head: u32,
    tail: u32,
    queues: u32,
}

const EMPTY: Line = Line { head: NIL, tail: NIL, queues: 0 };

/// The lines of new and of old queues.
#[derive(Debug)]
pub(crate) struct Rounds {
    turns: Vec<Turn>,
    new: Line,
    old: Line,
    quantum: i64,
}

impl Rounds {
    /// `queues` queues, all of them idle, that send `quantum` bytes in a round; not 0.
    pub(crate) fn new(queues: u32, quantum: u64) -> Self {
        let turns = vec![IDLE; queues as usize];
        // A packet has at most 2^32 bytes, and so has no quantum more use than that.
        Self { turns, new: EMPTY, old: EMPTY, quantum: quantum.clamp(1, 1 << 32) as i64 }
    }

    /// `queue` has something to send.
    pub(crate) fn wake(&mut self, queue: usize) {
        if self.turns[queue].place == Place::Idle {
            self.turns[queue].deficit = self.quantum;
            self.join(queue, Place::New);
        }
    }

    /// The queue that may send.
    pub(crate) fn next(&mut self) -> Option<usize> {
        let mut asked = 0;
        loop {
            let line = if self.new.queues > 0 { self.new } else { self.old };
            let queue = line.head as usize;
            let turn = self.turns.get_mut(queue)?;
            if turn.deficit > 0 {
                return Some(queue);
            }
            turn.deficit += self.quantum;
            self.leave(queue);
            self.join(queue, Place::Old);
            asked += 1;
            if asked > self.old.queues {
                self.skip_rounds();
                asked = 0;
            }
        }
    }

    /// Nobody may send for some rounds yet: they all pass at once.
    fn skip_rounds(&mut self) {
        let mut best = i64::MIN;
        let mut at = self.old.head;
        while let Some(turn) = self.turns.get(at as usize) {
            best = best.max(turn.deficit);
            at = turn.next;
        }
        // Short of the round in which the first may send.
        let rounds = if best < 0 { -best / self.quantum } else { 0 };
        let mut at = self.old.head;
        while let Some(turn) = self.turns.get_mut(at as usize) {
            turn.deficit += rounds * self.quantum;
            at = turn.next;
        }
    }

    /// `queue`, whose turn it is, has sent `bytes` bytes.
    pub(crate) fn charge(&mut self, queue: usize, bytes: u32) {
        self.turns[queue].deficit -= i64::from(bytes);
    }

    /// `queue`, whose turn it is, has nothing to send. A new one stays for a round, or else it could come back as new at
    /// once, and old ones would starve.
    pub(crate) fn exhausted(&mut self, queue: usize) {
        let place = self.turns[queue].place;
        self.leave(queue);
        if place == Place::New {
            self.join(queue, Place::Old);
        }
    }

    fn line(&mut self, place: Place) -> &mut Line {
        if place == Place::New { &mut self.new } else { &mut self.old }
    }

    /// Takes `queue`, the head of its line, out of it.
    fn leave(&mut self, queue: usize) {
        let Turn { next, place, .. } = self.turns[queue];
        let line = self.line(place);
        line.head = next;
        if next == NIL {
            line.tail = NIL;
        }
        line.queues -= 1;
        self.turns[queue].place = Place::Idle;
    }

    /// Puts `queue`, which is in no line, at the tail of one.
    fn join(&mut self, queue: usize, place: Place) {
        self.turns[queue].next = NIL;
        self.turns[queue].place = place;
        let line = self.line(place);
        let tail = core::mem::replace(&mut line.tail, queue as u32);
        line.queues += 1;
        match self.turns.get_mut(tail as usize) {
            Some(turn) => turn.next = queue as u32,
            None => self.line(place).head = queue as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8290, section 4.2: new before old, a quantum each, and back into the old line once a new one is empty.
    #[test]
    fn new_queues_go_first_once() {
        let mut rounds = Rounds::new(4, 1000);
        rounds.wake(0);
        rounds.wake(1);
        assert_eq!(rounds.next(), Some(0));
        rounds.charge(0, 1000);
        assert_eq!(rounds.next(), Some(1));
        rounds.charge(1, 600);
        assert_eq!(rounds.next(), Some(1));
        rounds.charge(1, 600);
        // Both are old now, 0 with 1000 and 1 with 800 bytes; 2 is new.
        rounds.wake(2);
        assert_eq!(rounds.next(), Some(2));
        rounds.exhausted(2);
        rounds.wake(2);
        assert_eq!(rounds.next(), Some(0), "2 is not new again");
        rounds.charge(0, 1000);
        assert_eq!(rounds.next(), Some(1));
        rounds.charge(1, 1000);
        assert_eq!(rounds.next(), Some(2));
        rounds.exhausted(2);
        assert_eq!(rounds.next(), Some(0));
        rounds.exhausted(0);
        assert_eq!(rounds.next(), Some(1));
        rounds.exhausted(1);
        assert_eq!(rounds.next(), None);
    }

    /// A packet of four gigabytes and a quantum of one byte: the rounds pass at once, and in the end all have sent alike.
    #[test]
    fn rounds_without_a_turn_are_skipped() {
        let mut rounds = Rounds::new(3, 1);
        let mut sent = [0_u64; 3];
        for queue in 0..3 {
            rounds.wake(queue);
        }
        for _ in 0..3000 {
            let Some(queue) = rounds.next() else { break };
            let bytes = [u32::MAX, u32::MAX / 2, 1000][queue];
            sent[queue] += u64::from(bytes);
            rounds.charge(queue, bytes);
        }
        let (least, most) = (sent.iter().min().copied().unwrap_or(0), sent.iter().max().copied().unwrap_or(0));
        assert!(most - least <= u64::from(u32::MAX), "{sent:?}");
    }
}
