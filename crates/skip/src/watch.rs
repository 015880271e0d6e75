//! How busy a machine is, measured beside the code under test.
#![allow(clippy::disallowed_methods, reason = "a busy machine is seen by a real clock")]

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the watchers sleep.
const SLEEP: Duration = Duration::from_millis(1);

/// The time between two looks at the threads.
const LOOK: Duration = Duration::from_millis(5);

/// Watches a machine while a test measures in real time, and tells the longest time that somebody had to wait for a processor.
///
/// A thread on each processor sleeps for a millisecond again and again, and notes how much longer it took: that is seen where a
/// processor is taken away as a whole, as from a virtual machine. Another looks at the time that the watched threads of this process
/// were ready to run and had no processor (the second number of `/proc/…/schedstat`, of the kernel's scheduler). Neither asks the code
/// under test: one that is slow, or that sleeps, does not wait for a processor.
#[derive(Debug)]
pub struct Watch {
    over: Arc<AtomicBool>,
    watchers: Vec<JoinHandle<Duration>>,
}

impl Watch {
    /// Starts to watch the processors and the threads of this process whose names satisfy `watched`. Threads that start later are
    /// watched, too. Linux keeps 15 bytes of a name.
    #[must_use]
    pub fn start(watched: fn(&str) -> bool) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let spawn = |watcher: Box<dyn FnOnce(&AtomicBool) -> Duration + Send>| {
            let over = Arc::clone(&over);
            let thread = thread::Builder::new().name("watch".to_owned());
            thread.spawn(move || watcher(&over)).expect("the system starts a thread")
        };
        let mut watchers = vec![spawn(Box::new(move |over| longest_wait(over, watched)))];
        for processor in 0..thread::available_parallelism().map_or(1, usize::from) {
            watchers.push(spawn(Box::new(move |over| {
                stay_on(processor);
                longest_sleep(over)
            })));
        }
        Self { over, watchers }
    }

    /// Ends the watch, and returns the longest time that somebody had to wait for a processor.
    ///
    /// # Panics
    ///
    /// If a watcher has panicked.
    #[must_use]
    pub fn longest(mut self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        let waits = self.watchers.drain(..).map(|watcher| watcher.join().expect("a watcher does not panic"));
        waits.max().unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// Keeps this thread on one of the processors that it may use. Where that is not possible it runs anywhere.
fn stay_on(number: usize) {
    #[cfg(target_os = "linux")]
    {
        use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
        use nix::unistd::Pid;

        let this = Pid::from_raw(0);
        let Ok(ours) = sched_getaffinity(this) else { return };
        let mut ours = (0..CpuSet::count()).filter(|processor| ours.is_set(*processor).unwrap_or(false));
        let mut one = CpuSet::new();
        if ours.nth(number).is_some_and(|processor| one.set(processor).is_ok()) {
            let _ = sched_setaffinity(this, &one);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = number;
}

/// Sleeps until the watch is over, and returns the longest time by which a sleep was too long.
fn longest_sleep(over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        thread::sleep(SLEEP);
        longest = longest.max(start.elapsed().saturating_sub(SLEEP));
    }
    longest
}

/// Looks at the watched threads until the watch is over, and returns the longest time that one has waited between two looks.
fn longest_wait(over: &AtomicBool, watched: fn(&str) -> bool) -> Duration {
    let mut before = waits(watched);
    let mut longest = 0;
    while !over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let now = waits(watched);
        for (thread, wait) in &now {
            longest = longest.max(wait.saturating_sub(before.get(thread).copied().unwrap_or(0)));
        }
        before = now;
    }
    Duration::from_nanos(longest)
}

/// The nanoseconds that each watched thread has waited for a processor so far; nothing on kernels that do not tell.
fn waits(watched: fn(&str) -> bool) -> HashMap<String, u64> {
    let threads = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let of = |thread: &fs::DirEntry| {
        let read = |name| fs::read_to_string(thread.path().join(name)).ok();
        let name = read("comm")?;
        let wait = watched(name.trim_end()).then(|| read("schedstat")).flatten()?;
        wait.split(' ').nth(1)?.parse().ok()
    };
    threads.filter_map(|thread| Some((thread.file_name().to_string_lossy().into_owned(), of(&thread)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the code under test does with its time is not the machine's: neither sleeping nor computing counts as waiting. Would catch a
    /// measure that excuses slow code.
    #[test]
    fn a_thread_that_sleeps_or_computes_does_not_wait() {
        let over = AtomicBool::new(false);
        let longest = thread::scope(|scope| {
            let watch = scope.spawn(|| longest_wait(&over, |name| name == "slow"));
            let slow = thread::Builder::new().name("slow".to_owned());
            let slow = slow.spawn_scoped(scope, || {
                for _ in 0..5 {
                    thread::sleep(Duration::from_millis(100));
                }
            });
            slow.unwrap().join().unwrap();
            over.store(true, Ordering::Relaxed);
            watch.join().unwrap()
        });
        assert!(longest < Duration::from_millis(100), "{longest:?}");
    }

    /// Two threads that compute on one processor wait for each other. Would catch a watch of other threads, and one that sees nothing.
    #[cfg(target_os = "linux")]
    #[test]
    fn threads_that_share_a_processor_wait() {
        let compute = || {
            let spinning = thread::Builder::new().name("shared".to_owned());
            spinning
                .spawn(|| {
                    stay_on(0);
                    let start = Instant::now();
                    while start.elapsed() < Duration::from_secs(1) {}
                })
                .unwrap()
        };
        let waited = waits(|name| name == "shared").len();
        let over = Arc::new(AtomicBool::new(false));
        let watch = {
            let over = Arc::clone(&over);
            thread::spawn(move || longest_wait(&over, |name| name == "shared"))
        };
        let threads = [compute(), compute(), compute()];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        over.store(true, Ordering::Relaxed);
        let longest = watch.join().unwrap();
        assert!(waited == 0 && longest > Duration::from_micros(500), "{longest:?}");
    }

    /// Would catch a watch that does not end.
    #[test]
    fn a_watch_ends() {
        let watch = Watch::start(|_| true);
        thread::sleep(Duration::from_millis(20));
        assert!(watch.longest() > Duration::ZERO);
    }
}
