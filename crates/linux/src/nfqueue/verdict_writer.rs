//! Verdicts not sent yet, encoded as netlink messages in the order of the decisions.
//!
//! Packets that are accepted in their order of arrival share one message, `NFQNL_MSG_VERDICT_BATCH`. It accepts every
//! packet up to a given one, so it is sent only if no packet before that one waits, and gives all the same mark.

use std::collections::VecDeque;

use crate::nfqueue::{Decision, Verdict, accept_up_to};

/// The maximum distance in packet numbers between the oldest packet without a verdict and the newest one for which both
/// are tracked individually. The kernel lets fewer packets wait (65,536 on Linux 6.18), but others may have come and
/// gone meanwhile.
const SPAN: usize = 1 << 20;

/// The pending verdicts of one queue.
#[derive(Debug)]
pub(crate) struct VerdictWriter {
    queue: u16,
    bytes: Vec<u8>,
    awaited: PendingVerdicts,
    /// Packets accepted in their order of arrival, not written yet.
    run: Option<AcceptRun>,
}

/// Packets with consecutive arrivals.
#[derive(Clone, Copy, Debug)]
struct AcceptRun {
    last: u32,
    repeat: Option<u32>,
    several: bool,
}

impl VerdictWriter {
    pub(crate) fn new(queue: u16) -> Self {
        Self { queue, bytes: Vec::new(), awaited: PendingVerdicts::default(), run: None }
    }

    /// Notes the arrival of a packet that needs a verdict. `id` increases from call to call.
    pub(crate) fn arrived(&mut self, id: u32) {
        self.awaited.arrived(id);
    }

    pub(crate) fn decide(&mut self, verdict: &Verdict) {
        let oldest = self.awaited.decided(verdict.id);
        let repeat = verdict.repeat;
        let goes_on = self.run.is_some_and(|run| run.repeat == repeat);
        if !goes_on || !oldest || verdict.decision != Decision::Accept {
            self.end_run();
        }
        if oldest && verdict.decision == Decision::Accept {
            self.run = Some(AcceptRun { last: verdict.id, repeat, several: goes_on });
        } else {
            verdict.write(self.queue, &mut self.bytes);
        }
    }

    /// Accepts every waiting packet up to `id`.
    pub(crate) fn accept_up_to(&mut self, id: u32) {
        self.end_run();
        self.awaited.decided_up_to(id);
        accept_up_to(id, self.queue, None, &mut self.bytes);
    }

    /// Returns all messages.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        self.end_run();
        &mut self.bytes
    }

    /// Returns the approximate number of bytes of all messages.
    pub(crate) fn length(&self) -> usize {
        self.bytes.len()
    }

    fn end_run(&mut self) {
        match self.run.take() {
            Some(AcceptRun { last, repeat, several: true }) => {
                accept_up_to(last, self.queue, repeat, &mut self.bytes);
            }
            // Unlike a batch, a single verdict is answered if the kernel does not know the packet.
            Some(AcceptRun { last, repeat, several: false }) => {
                Verdict { id: last, decision: Decision::Accept, repeat }.write(self.queue, &mut self.bytes);
            }
            None => {}
        }
    }
}

/// The packets without a verdict.
#[derive(Debug, Default)]
struct PendingVerdicts {
    /// The packet number of the first entry of `decided`.
    first: u32,
    /// One entry for each packet number; `false` only for packets without a verdict.
    decided: VecDeque<bool>,
    /// The number of packets before `first` without a verdict.
    before: u32,
}

impl PendingVerdicts {
    fn arrived(&mut self, id: u32) {
        let length = id.wrapping_sub(self.first) as usize;
        // Skipped numbers are those of packets that the kernel could not hand over.
        if !(self.decided.len()..SPAN).contains(&length) || self.decided.is_empty() {
            self.before += self.decided.drain(..).filter(|decided| !decided).count() as u32;
            self.first = id;
        } else {
            self.decided.resize(length, true);
        }
        self.decided.push_back(false);
    }

    /// Notes a verdict on every packet up to `id`.
    fn decided_up_to(&mut self, id: u32) {
        let count = id.wrapping_sub(self.first).wrapping_add(1);
        // Numbers wrap. Like the kernel, compare them within half of their range.
        if count < 1 << 31 {
            let count = (count as usize).min(self.decided.len());
            self.decided.drain(..count);
            self.first = self.first.wrapping_add(count as u32);
            self.before = 0;
        }
    }

    /// Notes a verdict on `id`. Returns `true` if it was the oldest packet without a verdict.
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

    /// The queue of a kernel, and the verdicts on its packets in order.
    #[derive(Default)]
    struct SimulatedKernel {
        waiting: Vec<u32>,
        fates: Vec<(u32, bool)>,
    }

    impl SimulatedKernel {
        /// Executes the messages as `nfnetlink_queue.h` defines them: the lower byte of the type is 1 for a verdict and
        /// 3 for a batch, and verdict and packet number follow 24 bytes of headers.
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

    /// Picks a packet: mostly the first, sometimes one from the middle, and sometimes the one behind a first packet
    /// that is held back.
    fn pick(random: &mut Stream, waiting: usize, held_back: bool) -> usize {
        match random.below(4) {
            0 => random.below(waiting as u32) as usize,
            _ => usize::from(held_back).min(waiting - 1),
        }
    }

    /// Random orders of arrivals and verdicts, with packet numbers that wrap. Would catch a batch that accepts another
    /// packet too, a packet number skipped by the kernel that is waited for, and a wrap.
    #[test]
    fn the_kernel_executes_the_decisions() {
        let mut random = Seed::new(1).stream("verdicts");
        let mut several = 0;
        for start in [1, u32::MAX - 500, 1 << 31] {
            let (mut verdicts, mut kernel, mut next) = (VerdictWriter::new(0), SimulatedKernel::default(), start);
            let (mut held, mut expected) = (Vec::new(), Vec::new());
            for _ in 0..3000 {
                for _ in 0..random.below(5) {
                    // Sometimes the kernel has no room, for a few packets or for very many.
                    let skipped = [2, 70, SPAN as u32 + 5].get(random.below(60) as usize);
                    next = next.wrapping_add(skipped.copied().unwrap_or(1));
                    verdicts.arrived(next);
                    kernel.waiting.push(next);
                    held.push(next);
                }
                let held_back = random.below(2) == 0;
                for _ in 0..random.below(5).min(held.len() as u32) {
                    let id = held.remove(pick(&mut random, held.len(), held_back));
                    let accept = random.below(10) > 0;
                    let decision = if accept { Decision::Accept } else { Decision::Drop };
                    verdicts.decide(&Verdict { id, decision, repeat: None });
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

    /// A FIFO queue needs one message for all packets. Would catch a queue that holds its first packet back and batches
    /// packets behind it.
    #[test]
    fn packets_in_order_take_one_message() {
        let mut verdicts = VerdictWriter::new(0);
        let accept = |verdicts: &mut VerdictWriter, ids: std::ops::Range<u32>| {
            ids.for_each(|id| verdicts.decide(&Verdict { id, decision: Decision::Accept, repeat: None }));
            let length = verdicts.bytes().len();
            verdicts.bytes().clear();
            length / 32
        };
        (1..=200).for_each(|id| verdicts.arrived(id));
        assert_eq!(accept(&mut verdicts, 1..65), 1);
        assert_eq!(accept(&mut verdicts, 66..130), 64);
        assert_eq!(accept(&mut verdicts, 65..66), 1);
        assert_eq!(accept(&mut verdicts, 130..199), 1);
        // Packets covered by a batch are no longer waited for.
        (201..=210).for_each(|id| verdicts.arrived(id));
        verdicts.accept_up_to(205);
        verdicts.bytes().clear();
        assert_eq!(accept(&mut verdicts, 206..211), 1);
        assert!(verdicts.awaited.decided.is_empty());
        // Nor are packets that arrived too long ago to be tracked individually.
        let (old, new) = (211, 211 + SPAN as u32);
        [old, new, new + 1, new + 2].iter().for_each(|id| verdicts.arrived(*id));
        verdicts.accept_up_to(new);
        verdicts.bytes().clear();
        assert_eq!(accept(&mut verdicts, new + 1..new + 3), 1);
    }
}
