//! The numbers of a router's NFQUEUEs.

use std::fmt;

/// NFQUEUEs whose numbers follow one another, among which packets are spread by the processor that they come by. One, mostly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    first: u16,
    last: u16,
}

impl Queues {
    /// How many there may be: each has a thread, and none is used beyond the number of processors.
    pub const MOST: u16 = 64;

    /// The queues from `first` to `last`.
    ///
    /// # Errors
    /// There are none, or more than [`MOST`](Self::MOST).
    pub fn new(first: u16, last: u16) -> Result<Self, String> {
        match last.checked_sub(first) {
            Some(0..Self::MOST) => Ok(Self { first, last }),
            Some(_) => Err(format!("{first}:{last} are more than {} queues", Self::MOST)),
            None => Err(format!("{first}:{last} ends before it begins")),
        }
    }

    /// The number of the first, which names the rules.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The number of the last.
    #[must_use]
    pub const fn last(self) -> u16 {
        self.last
    }

    /// All numbers.
    pub fn numbers(self) -> impl Iterator<Item = u16> {
        self.first..=self.last
    }
}

impl From<u16> for Queues {
    fn from(number: u16) -> Self {
        Self { first: number, last: number }
    }
}

/// `0`, or `0:3` as in iptables' `--queue-balance`.
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
