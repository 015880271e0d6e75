//! What the kernel itself counts of each NFQUEUE: `/proc/net/netfilter/nfnetlink_queue`.

use std::fs;
use std::io;

/// The file, of this thread's network namespace.
const FILE: &str = "/proc/thread-self/net/netfilter/nfnetlink_queue";

/// What the kernel counts of an NFQUEUE that is bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelQueue {
    /// The number of the NFQUEUE.
    pub number: u16,
    /// The netlink port of the program that has bound it.
    pub port: u32,
    /// Packets that wait for their verdict.
    pub waiting: u64,
    /// Packets that were dropped since as many waited as may.
    pub dropped_full: u64,
    /// Packets that were dropped since the program's receive buffer was full.
    pub dropped_unread: u64,
    /// The number of the last packet: how many there were, without those that were dropped before they were given one.
    pub numbered: u64,
}

impl KernelQueue {
    /// This queue and another together, under this one's number.
    pub(crate) const fn with(self, other: Self) -> Self {
        Self {
            waiting: self.waiting + other.waiting,
            dropped_full: self.dropped_full + other.dropped_full,
            dropped_unread: self.dropped_unread + other.dropped_unread,
            numbered: self.numbered + other.numbered,
            ..self
        }
    }
}

/// The NFQUEUEs of this thread's network namespace that are bound.
///
/// # Errors
/// The kernel has no NFQUEUE, or does not show it to this user.
pub fn kernel_queues() -> io::Result<Vec<KernelQueue>> {
    fs::read_to_string(FILE).map(|text| text.lines().filter_map(parse).collect())
}

/// The NFQUEUE `number`, if it is bound and the kernel tells.
pub(crate) fn kernel_queue(number: u16) -> Option<KernelQueue> {
    kernel_queues().ok()?.into_iter().find(|queue| queue.number == number)
}

/// A line: number, port, waiting, copy mode, copy range, two kinds of drops, the last packet's number, and a 1.
fn parse(line: &str) -> Option<KernelQueue> {
    let mut fields = line.split_whitespace();
    let number = fields.next()?.parse().ok()?;
    let port = fields.next()?.parse().ok()?;
    let waiting = fields.next()?.parse().ok()?;
    let mut fields = fields.skip(2);
    let dropped_full = fields.next()?.parse().ok()?;
    let dropped_unread = fields.next()?.parse().ok()?;
    let numbered = fields.next()?.parse().ok()?;
    Some(KernelQueue { number, port, waiting, dropped_full, dropped_unread, numbered })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line of the format in the kernel's `nfnetlink_queue.c`, `seq_show`.
    #[test]
    fn a_line_is_read_and_another_is_not() {
        let line = "    7  23948   912 2   128    31     5    40321  1";
        let expected = KernelQueue {
            number: 7,
            port: 23_948,
            waiting: 912,
            dropped_full: 31,
            dropped_unread: 5,
            numbered: 40_321,
        };
        assert_eq!(parse(line), Some(expected));
        for wrong in ["", "7", "7 1 2 2 128 1 1", "70000 1 2 2 128 1 1 1 1", "a 1 2 2 128 1 1 1 1"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    /// Two queues of one router. Would catch a count that is one queue's alone.
    #[test]
    fn counts_of_two_queues_add_up() {
        let of = |line: &str| parse(line).unwrap();
        let both = of("7 23948 912 2 128 31 5 40321 1").with(of("8 23949 1000 2 128 200 30 4000 1"));
        assert_eq!(both, of("7 23948 1912 2 128 231 35 44321 1"));
    }
}
