//! The numbers of a router's NFQUEUEs.

use std::fmt;

/// One NFQUEUE, or several with consecutive numbers. The rules spread packets over them by the processor that handles
/// the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    first: u16,
    last: u16,
}

impl Queues {
    /// The maximum number of queues. Each has a thread; more queues than processors bring no gain.
    pub const MAX: u16 = 64;

    /// Returns the queues from `first` to `last`, inclusive.
    ///
    /// # Errors
    /// `last` is below `first`, or there are more than [`MAX`](Self::MAX) queues.
    pub fn new(first: u16, last: u16) -> Result<Self, String> {
        match last.checked_sub(first) {
            Some(0..Self::MAX) => Ok(Self { first, last }),
            Some(_) => Err(format!("{first}:{last} has more than {} queues", Self::MAX)),
            None => Err(format!("{first}:{last} ends before it begins")),
        }
    }

    /// Returns the number of the first queue, which names the rules.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// Returns the number of the last queue.
    #[must_use]
    pub const fn last(self) -> u16 {
        self.last
    }

    /// Returns all numbers in ascending order.
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        self.first..=self.last
    }
}

impl From<u16> for Queues {
    fn from(number: u16) -> Self {
        Self { first: number, last: number }
    }
}

/// Formats as `0`, or as `0:3` like iptables' `--queue-balance`.
impl fmt::Display for Queues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        f.pad(&format!("{}:{}", self.first, self.last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// iptables-extensions(8): `--queue-balance 0:3` are the queues 0, 1, 2 and 3.
    #[test]
    fn a_range_is_written_as_iptables_writes_it() {
        let queues = Queues::new(0, 3).unwrap();
        assert_eq!(queues.numbers().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!((queues.to_string(), Queues::from(7).to_string()), ("0:3".to_owned(), "7".to_owned()));
        assert_eq!(Queues::new(7, 7), Ok(Queues::from(7)));
        assert_eq!(Queues::new(65_472, 65_535).unwrap().numbers().count(), 64);
        for (first, last) in [(3, 0), (0, 64), (0, 65_535)] {
            assert!(Queues::new(first, last).is_err(), "{first}:{last}");
        }
    }
}
