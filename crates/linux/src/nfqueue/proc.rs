//! The kernel's own counts of each NFQUEUE, from `/proc/net/netfilter/nfnetlink_queue`.

use std::fs;
use std::io;

/// The file for the network namespace of this thread.
const FILE: &str = "/proc/thread-self/net/netfilter/nfnetlink_queue";

/// The kernel's counts of a bound NFQUEUE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelQueue {
    /// The number of the NFQUEUE.
    pub number: u16,
    /// The netlink port of the program that has bound the queue.
    pub port: u32,
    /// The number of packets that wait for their verdict.
    pub waiting: u64,
    /// Packets dropped because the maximum number of packets was waiting.
    pub dropped_full: u64,
    /// Packets dropped because the program's receive buffer was full.
    pub dropped_unread: u64,
    /// The number of the last packet: the count of all packets except those dropped before they were numbered.
    pub numbered: u64,
}

impl KernelQueue {
    /// Returns the sum of the counts of two queues, with the number and port of the first.
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

/// Returns the bound NFQUEUEs of this thread's network namespace.
///
/// # Errors
/// The kernel has no NFQUEUE, or this user may not read its counts.
pub fn kernel_queues() -> io::Result<Vec<KernelQueue>> {
    fs::read_to_string(FILE).map(|text| text.lines().filter_map(parse).collect())
}

/// Returns the NFQUEUE `number`; `None` if it is not bound or its counts cannot be read.
#[must_use]
pub fn kernel_queue(number: u16) -> Option<KernelQueue> {
    kernel_queues().ok()?.into_iter().find(|queue| queue.number == number)
}

/// Parses a line: number, port, packets waiting, copy mode, copy range, packets dropped for each of two reasons, the
/// number of the last packet, and a 1.
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

    /// A line in the format of `seq_show` in the kernel's `nfnetlink_queue.c`.
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

    /// Would catch a sum that takes a count from one queue only.
    #[test]
    fn counts_of_two_queues_add_up() {
        let of = |line: &str| parse(line).unwrap();
        let both = of("7 23948 912 2 128 31 5 40321 1").with(of("8 23949 1000 2 128 200 30 4000 1"));
        assert_eq!(both, of("7 23948 1912 2 128 231 35 44321 1"));
    }
}
