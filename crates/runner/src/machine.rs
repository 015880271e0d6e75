//! The machine's clocks and memory.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fairlane_outcome::Cost;
use fairlane_sim::Control;

pub use system::{peak_rss_bytes, thread_cpu_s};

/// Measures what a run costs, from its start.
#[derive(Clone, Copy, Debug)]
pub struct CostMeter {
    began: Instant,
    cpu_before_s: f64,
}

impl CostMeter {
    /// Starts to measure in this thread.
    #[expect(clippy::disallowed_methods, reason = "wall-clock time is used only for an outcome's cost")]
    #[must_use]
    pub fn start() -> Self {
        Self { began: Instant::now(), cpu_before_s: thread_cpu_s() }
    }

    /// Sets the CPU seconds of this thread since the start, the seconds on the wall, and the memory of the process.
    pub fn measure(&self, cost: &mut Cost) {
        cost.cpu_s = thread_cpu_s() - self.cpu_before_s;
        self.measure_outside(cost);
    }

    /// Sets what [`measure`](Self::measure) sets but the CPU seconds, which the runs themselves have counted.
    pub fn measure_outside(&self, cost: &mut Cost) {
        cost.wall_s = self.began.elapsed().as_secs_f64();
        cost.peak_rss_bytes = peak_rss_bytes();
    }
}

/// Does `work`, and stops `control` if it takes longer than `limit`. Returns true next to its result if so.
pub fn within<T>(limit: Duration, control: &Control, work: impl FnOnce() -> T) -> (T, bool) {
    thread::scope(|scope| {
        // Dropping the sender ends the watcher, also when `work` panics.
        let (working, done) = mpsc::channel::<()>();
        let watcher = scope.spawn(move || {
            let over = done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout);
            if over {
                control.stop();
            }
            over
        });
        let result = work();
        drop(working);
        (result, watcher.join().unwrap_or(false))
    })
}

#[cfg(unix)]
mod system {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::time::{ClockId, clock_gettime};

    /// Returns the CPU seconds of the calling thread; 0 where the system does not count them.
    #[must_use]
    pub fn thread_cpu_s() -> f64 {
        let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
        used.map_or(0.0, |time| std::time::Duration::from(time).as_secs_f64())
    }

    /// Returns the largest resident memory of this process so far, in bytes; 0 where the system does not count it.
    #[must_use]
    pub fn peak_rss_bytes() -> u64 {
        status_peak().unwrap_or_else(usage_peak)
    }

    /// Returns what Linux calls VmHWM (proc(5)). What getrusage(2) counts begins with the memory of the program that
    /// started this one.
    fn status_peak() -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kilobytes * 1024)
    }

    fn usage_peak() -> u64 {
        // Apple counts in bytes, all others in units of 1024.
        let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0) * unit)
    }
}

#[cfg(not(unix))]
mod system {
    /// Returns 0: the CPU seconds are not read on this system.
    #[must_use]
    pub const fn thread_cpu_s() -> f64 {
        0.0
    }

    /// Returns 0: the resident memory is not read on this system.
    #[must_use]
    pub const fn peak_rss_bytes() -> u64 {
        0
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Uses `seconds` of this thread's CPU time, which other processes do not change.
    fn work(seconds: f64) {
        let began = thread_cpu_s();
        while thread_cpu_s() - began < seconds {}
    }

    /// Would catch another unit, and a peak that is forgotten.
    #[test]
    fn the_peak_has_what_was_used() {
        const BYTES: usize = 64_000_000;
        let before = peak_rss_bytes();
        let used = std::hint::black_box(vec![1_u8; BYTES]);
        drop(used);
        let after = peak_rss_bytes();
        assert!(after >= BYTES as u64 && after < before + 4 * BYTES as u64, "{before}, {after}");
    }

    /// Would catch a cost that counts what came before the start, and CPU seconds that take the place of those of the
    /// runs.
    #[test]
    fn the_meter_counts_from_its_start() {
        work(0.1);
        let meter = CostMeter::start();
        work(0.02);
        let mut cost = Cost { events: 7, packet_hops: 5, ..Cost::default() };
        meter.measure(&mut cost);
        assert!((0.02..0.1).contains(&cost.cpu_s), "{cost:?}");
        assert!(cost.wall_s > 0.99 * cost.cpu_s && cost.peak_rss_bytes > 0, "{cost:?}");
        assert_eq!((cost.events, cost.packet_hops), (7, 5));
        let mut of_runs = Cost { cpu_s: 3.0, ..Cost::default() };
        meter.measure_outside(&mut of_runs);
        assert_eq!(of_runs.cpu_s, 3.0);
        assert!(of_runs.wall_s >= cost.wall_s && of_runs.peak_rss_bytes > 0);
    }
}
