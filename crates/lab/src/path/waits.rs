//! Waiting for packets and for the events of a link.

use std::io;
use std::num::NonZeroUsize;
use std::ops::RangeInclusive;
use std::thread::available_parallelism;

use fairlane_linux::now;
use fairlane_qdisc::Duration;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

/// The bounds of the margin in nanoseconds. A machine that wakes the thread later than the largest one is busy, and
/// polling would make it busier.
const MARGINS: RangeInclusive<u64> = 100_000..=500_000;

/// The part of the margin above the least one that is given up at each wake-up in time.
const FADE: u64 = 64;

/// The waits of a thread. It is woken a margin before an event, and polls from then on: the kernel wakes it late, by
/// how much depends on the machine. A virtual one that was idle takes some hundred microseconds.
#[derive(Debug)]
pub struct Waits {
    margins: RangeInclusive<u64>,
    margin: u64,
}

impl Waits {
    /// Begins the waits of this thread. With one processor there is no margin: while this thread polls, the others
    /// could not work.
    #[must_use]
    pub fn begin() -> Self {
        // Without this the kernel may extend each wait by 50 us.
        let _ = set_timerslack(1);
        let several = available_parallelism().map_or(1, NonZeroUsize::get) > 1;
        Self::within(if several { MARGINS } else { 0..=0 })
    }

    fn within(margins: RangeInclusive<u64>) -> Self {
        let margin = *margins.start();
        Self { margins, margin }
    }

    /// Waits until one of `sources` is ready, or shortly before an event that is due in `until`, and at most for
    /// `most`.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn wait(&mut self, sources: &mut [PollFd<'_>], until: Option<Duration>, most: Duration) -> io::Result<()> {
        let until = until.map_or(most.as_nanos(), |until| until.as_nanos().saturating_sub(self.margin));
        if until == 0 {
            return Ok(());
        }
        let (begun, sleep) = (now(), Duration::from_nanos(until.min(most.as_nanos())));
        match ppoll(sources, Some(TimeSpec::new(0, sleep.as_nanos() as i64)), None) {
            Ok(0) => self.learn(now().since(begun + sleep)),
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Takes note of a wake-up that came `late` after the time asked for.
    fn learn(&mut self, late: Duration) {
        let needed = late.as_nanos().saturating_add(late.as_nanos() / 4);
        self.margin = if needed > self.margin {
            needed.min(*self.margins.end())
        } else {
            self.margin - (self.margin - self.margins.start()) / FADE
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_follows_late_wake_ups_at_once_and_forgets_them_slowly() {
        let mut waits = Waits::within(MARGINS);
        let us = |micros: u64| Duration::from_nanos(micros * 1_000);
        waits.learn(us(60));
        assert_eq!(waits.margin, 100_000, "the least");
        waits.learn(us(200));
        assert_eq!(waits.margin, 250_000, "a quarter more than it was late");
        waits.learn(us(100));
        assert_eq!(waits.margin, 250_000 - 150_000 / 64);
        waits.learn(us(30_000));
        assert_eq!(waits.margin, 500_000, "the most");
        (0..2_000).for_each(|_| waits.learn(us(10)));
        assert!((100_000..100_100).contains(&waits.margin), "{waits:?}");
    }

    #[test]
    fn with_one_processor_there_is_no_margin() {
        let mut waits = Waits::within(0..=0);
        waits.learn(Duration::from_millis(20));
        assert_eq!(waits.margin, 0);
    }
}
