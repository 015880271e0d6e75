//! Waiting for packets and for the events of a link.

use std::io;
use std::num::NonZeroUsize;
use std::sync::LazyLock;
use std::thread::available_parallelism;

use fairlane_qdisc::Duration;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;

/// The time before an event from which the thread polls instead of sleeping: the kernel wakes it later than asked. With
/// one processor it sleeps, since the others could not work.
static SPIN: LazyLock<Duration> = LazyLock::new(|| {
    Duration::from_nanos(if available_parallelism().map_or(1, NonZeroUsize::get) > 1 { 100_000 } else { 0 })
});

/// Waits until one of `sources` is ready, or shortly before an event that is due in `until`, and at most for `most`.
///
/// # Errors
/// The system refuses it.
pub fn wait(sources: &mut [PollFd<'_>], until: Option<Duration>, most: Duration) -> io::Result<()> {
    let until = until.map_or(most.as_nanos(), |until| until.as_nanos().saturating_sub(SPIN.as_nanos()));
    if until == 0 {
        return Ok(());
    }
    let timeout = TimeSpec::new(0, until.min(most.as_nanos()) as i64);
    match ppoll(sources, Some(timeout), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
