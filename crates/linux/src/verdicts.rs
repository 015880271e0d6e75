//! Verdicts that have not been sent yet, in the order in which they were made.
//!
//! Packets that are accepted in the order in which they came take one message together, `NFQNL_MSG_VERDICT_BATCH`: it lets every
//! packet pass up to one, so it may only be sent when nothing before that one waits.

use std::collections::VecDeque;

use crate::nfqueue::{Decision, Verdict, accept_up_to};

/// How far the last packet's number may be from that of the oldest whose verdict is awaited, to be remembered one by one. The
/// kernel lets fewer wait (65,536 on Linux 6.18), but others may have come and gone meanwhile.
const SPAN: usize = 1 << 20;

/// Messages for one queue.
#[derive(Debug)]
pub(crate) struct Verdicts {
    queue: u16,
    bytes: Vec<u8>,
    awaited: Awaited,
    /// Packets that are accepted by the next message.
    run: Option<Run>,
}

/// Packets that came one after the other.
#[derive(Clone, Copy, Debug)]
struct Run {
    last: u32,
    several: bool,
}

impl Verdicts {
    pub(crate) fn new(queue: u16) -> Self {
        Self { queue, bytes: Vec::new(), awaited: Awaited::default(), run: None }
    }

    /// A packet has come that needs a verdict. Numbers rise.
    pub(crate) fn came(&mut self, id: u32) {
        self.awaited.came(id);
    }

    pub(crate) fn decide(&mut self, verdict: &Verdict) {
        let oldest = self.awaited.decided(verdict.id);
        if oldest && verdict.decision == Decision::Accept {
            self.run = Some(Run { last: verdict.id, several: self.run.is_some() });
        } else {
            self.end_run();
            verdict.write(self.queue, &mut self.bytes);
        }
    }

    /// Lets everything pass that waits, up to `id`.
    pub(crate) fn accept_up_to(&mut self, id: u32) {
        self.end_run();
        self.awaited.decided_up_to(id);
        accept_up_to(id, self.queue, &mut self.bytes);
    }

    /// All messages.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        self.end_run();
        &mut self.bytes
    }

    /// About how many bytes there are.
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    fn end_run(&mut self) {
        match self.run.take() {
            Some(Run { last, several: true }) => accept_up_to(last, self.queue, &mut self.bytes),
            // The kernel says of each verdict of its own if it knew no such packet.
            Some(Run { last, several: false }) => {
                Verdict { id: last, decision: Decision::Accept }.write(self.queue, &mut self.bytes);
            }
            None => {}
        }
    }
}

/// Which packets await their verdict.
#[derive(Debug, Default)]
struct Awaited {
    /// The number of the first of `decided`.
    first: u32,
    /// One for each number; false only for packets that await their verdict.
    decided: VecDeque<bool>,
    /// Packets before `first` that await theirs.
    before: u32,
}

impl Awaited {
    fn came(&mut self, id: u32) {
        let length = id.wrapping_sub(self.first) as usize;
        // Numbers in between are those of packets that the kernel could not hand over.
        if !(self.decided.len()..SPAN).contains(&length) || self.decided.is_empty() {
            self.before += self.decided.drain(..).filter(|decided| !decided).count() as u32;
            self.first = id;
        } else {
            self.decided.resize(length, true);
        }
        self.decided.push_back(false);
    }

    /// Notes that there is a verdict on all up to `id`.
    fn decided_up_to(&mut self, id: u32) {
        let count = id.wrapping_sub(self.first).wrapping_add(1);
        // Numbers are compared within half of their range, as the kernel does.
        if count < 1 << 31 {
            let count = (count as usize).min(self.decided.len());
            self.decided.drain(..count);
            self.first = self.first.wrapping_add(count as u32);
            self.before = 0;
        }
    }

    /// Notes that there is a verdict on `id`; whether it was the oldest.
    fn decided(&mut self, id: u32) -> bool {
        let at = id.wrapping_sub(self.first) as usize;
        let Some(decided) = self.decided.get_mut(at) else {
            self.before = self.before.saturating_sub(1);
            return false;
        };
        *decided = true;
        let oldest = at == 0 && self.before == 0;
        while self.decided.front() == Some(&true) {
            self.decided.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::{Seed, Stream};

    use super::*;
    use crate::nfqueue::{Message, messages};

    /// A kernel's queue, and what became of its packets, in order.
    #[derive(Default)]
    struct Kernel {
        waiting: Vec<u32>,
        fates: Vec<(u32, bool)>,
    }

    impl Kernel {
        /// Does what the messages say, by `nfnetlink_queue.h`: the type's lower byte is 1 for a verdict and 3 for a batch, and the
        /// verdict and the number stand after 24 bytes of headers.
        fn obey(&mut self, bytes: &mut Vec<u8>) {
            assert!(messages(bytes).all(|message| message == Message::Other));
            for message in bytes.chunks_exact(32) {
                let number = |at: usize| u32::from_be_bytes(message[at..at + 4].try_into().unwrap());
                let (accept, id) = (number(24) == 1, number(28));
                let reached = |waiting: u32| match message[4] {
                    1 => waiting == id,
                    3 => waiting.wrapping_sub(id).wrapping_sub(1) >= 1 << 31,
                    other => panic!("a message of type {other}"),
                };
                let before = self.fates.len();
                self.fates.extend(self.waiting.iter().filter(|id| reached(**id)).map(|id| (*id, accept)));
                self.waiting.retain(|id| !reached(*id));
                assert!(self.fates.len() > before, "a verdict on what does not wait");
            }
            bytes.clear();
        }
    }

    /// Takes packets out of the front mostly, as a queue does, at times from the middle, and at times from behind one that is held back.
    fn pick(random: &mut Stream, waiting: usize, held_back: bool) -> usize {
        match random.below(4) {
            0 => random.below(waiting as u32) as usize,
            _ => usize::from(held_back).min(waiting - 1),
        }
    }

    /// Whatever the order of arrivals and verdicts, and wherever the kernel begins to count: each packet fares as was decided, in
    /// the order in which it was. Would catch a batch that lets another packet pass with it, numbers that the kernel skipped being
    /// waited for, and a wrap.
    #[test]
    fn the_kernel_does_what_was_decided() {
        let mut random = Seed::new(1).stream("verdicts");
        let mut several = 0;
        for start in [1, u32::MAX - 500, 1 << 31] {
            let (mut verdicts, mut kernel, mut next) = (Verdicts::new(0), Kernel::default(), start);
            let (mut held, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..3000 {
                for _ in 0..random.below(5) {
                    // At times the kernel has no room, for a few packets or for very many.
                    let skipped = [2, 70, SPAN as u32 + 5].get(random.below(60) as usize);
                    next = next.wrapping_add(skipped.copied().unwrap_or(1));
                    verdicts.came(next);
                    kernel.waiting.push(next);
                    held.push(next);
                }
                let held_back = random.below(2) == 0;
                for _ in 0..random.below(5).min(held.len() as u32) {
                    let id = held.remove(pick(&mut random, held.len(), held_back));
                    let accept = random.below(10) > 0;
                    let decision = if accept { Decision::Accept } else { Decision::Drop };
                    verdicts.decide(&Verdict { id, decision });
                    expected.push((id, accept));
                }
                if random.below(3) == 0 {
                    several += verdicts.bytes().chunks_exact(32).filter(|message| message[4] == 3).count();
                    kernel.obey(verdicts.bytes());
                    assert_eq!(kernel.fates, expected);
                    assert_eq!(kernel.waiting, held);
                }
            }
        }
        assert!(several > 500, "only {several} batches");
    }

    /// A queue that gives out what comes takes one message for all; one that holds the first packet back takes one for each.
    #[test]
    fn packets_in_order_take_one_message() {
        let mut verdicts = Verdicts::new(0);
        let accept = |verdicts: &mut Verdicts, ids: std::ops::Range<u32>| {
            ids.for_each(|id| verdicts.decide(&Verdict { id, decision: Decision::Accept }));
            let length = verdicts.bytes().len();
            verdicts.bytes().clear();
            length / 32
        };
        (1..=200).for_each(|id| verdicts.came(id));
        assert_eq!(accept(&mut verdicts, 1..65), 1);
        assert_eq!(accept(&mut verdicts, 66..130), 64);
        assert_eq!(accept(&mut verdicts, 65..66), 1);
        assert_eq!(accept(&mut verdicts, 130..199), 1);
        // What one verdict decided on together is not waited for.
        (201..=210).for_each(|id| verdicts.came(id));
        verdicts.accept_up_to(205);
        verdicts.bytes().clear();
        assert_eq!(accept(&mut verdicts, 206..211), 1);
        assert!(verdicts.awaited.decided.is_empty());
        // Nor what came so long before that it is not remembered by itself.
        let (old, new) = (211, 211 + SPAN as u32);
        [old, new, new + 1, new + 2].iter().for_each(|id| verdicts.came(*id));
        verdicts.accept_up_to(new);
        verdicts.bytes().clear();
        assert_eq!(accept(&mut verdicts, new + 1..new + 3), 1);
    }
}
