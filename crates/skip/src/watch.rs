//! How busy a machine is, measured apart from the code under test.
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

/// A wait from which on a processor was taken away as a whole, and not only shared.
const TAKEN: Duration = Duration::from_millis(10);

/// The times that somebody had to wait for a processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// The longest.
    pub longest: Duration,
    /// All of the watched threads together, and those for which the processor that was away most was taken away.
    pub total: Duration,
}

/// Watches a machine while a test measures in real time, and tells how long somebody had to wait for a processor.
///
/// A thread on each processor sleeps for a millisecond again and again, and notes how much longer it took: that is seen
/// where a processor is taken away as a whole, as from a virtual machine. Another looks at the time that the watched
/// threads of this process were ready to run and had no processor (the second number of `/proc/…/schedstat`, of the
/// kernel's scheduler). Neither asks the code under test: one that is slow, or that sleeps, does not wait for a
/// processor.
#[derive(Debug)]
pub struct Watch {
    over: Arc<AtomicBool>,
    waits: JoinHandle<Waits>,
    sleeps: Vec<JoinHandle<Waits>>,
}

impl Watch {
    /// Starts to watch the processors and the threads of this process whose names satisfy `watched`. Threads that start
    /// later are watched, too. Linux keeps 15 bytes of a name.
    #[must_use]
    pub fn start(watched: fn(&str) -> bool) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let spawn = |watcher: Box<dyn FnOnce(&AtomicBool) -> Waits + Send>| {
            let over = Arc::clone(&over);
            let thread = thread::Builder::new().name("watch".to_owned());
            thread.spawn(move || watcher(&over)).expect("the system starts a thread")
        };
        let waits = spawn(Box::new(move |over| waits(over, watched)));
        let on = |processor| {
            spawn(Box::new(move |over| {
                stay_on(processor);
                sleeps(over)
            }))
        };
        let sleeps = (0..thread::available_parallelism().map_or(1, usize::from)).map(on).collect();
        Self { over, waits, sleeps }
    }

    /// Ends the watch.
    ///
    /// # Panics
    ///
    /// If a watcher has panicked.
    #[must_use]
    pub fn end(self) -> Waits {
        self.over.store(true, Ordering::Relaxed);
        let told = |watcher: JoinHandle<Waits>| watcher.join().expect("a watcher does not panic");
        let waits = told(self.waits);
        let sleeps: Vec<Waits> = self.sleeps.into_iter().map(told).collect();
        let most = |of: fn(&Waits) -> Duration| sleeps.iter().map(of).max().unwrap_or_default();
        Waits { longest: waits.longest.max(most(|it| it.longest)), total: waits.total + most(|it| it.total) }
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

/// Sleeps until the watch is over, and returns by how much sleeps were too long.
fn sleeps(over: &AtomicBool) -> Waits {
    let mut all = Waits::default();
    while !over.load(Ordering::Relaxed) {
        let start = Instant::now();
        thread::sleep(SLEEP);
        let late = start.elapsed().saturating_sub(SLEEP);
        all.longest = all.longest.max(late);
        if late > TAKEN {
            all.total += late;
        }
    }
    all
}

/// Looks at the watched threads until the watch is over, and returns how long they have waited between two looks.
fn waits(over: &AtomicBool, watched: fn(&str) -> bool) -> Waits {
    let mut before = waited(watched);
    let mut all = Waits::default();
    while !over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        let now = waited(watched);
        for (thread, wait) in &now {
            let wait = Duration::from_nanos(wait.saturating_sub(before.get(thread).copied().unwrap_or(0)));
            all = Waits { longest: all.longest.max(wait), total: all.total + wait };
        }
        before = now;
    }
    all
}

/// The nanoseconds that each watched thread has waited for a processor so far; nothing on kernels that do not tell.
fn waited(watched: fn(&str) -> bool) -> HashMap<String, u64> {
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

    /// Time that the code under test spends is not the machine's: neither sleeping nor computing counts as waiting.
    /// Would catch a measure that excuses slow code.
    #[test]
    fn a_thread_that_sleeps_or_computes_does_not_wait() {
        let over = AtomicBool::new(false);
        let longest = thread::scope(|scope| {
            let watch = scope.spawn(|| waits(&over, |name| name == "slow"));
            let slow = thread::Builder::new().name("slow".to_owned());
            let slow = slow.spawn_scoped(scope, || {
                for _ in 0..5 {
                    thread::sleep(Duration::from_millis(100));
                }
            });
            slow.unwrap().join().unwrap();
            over.store(true, Ordering::Relaxed);
            watch.join().unwrap().longest
        });
        assert!(longest < Duration::from_millis(100), "{longest:?}");
    }

    /// Two threads that compute on one processor wait for each other. Would catch a watch of other threads, and one
    /// that sees nothing.
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
        let before = waited(|name| name == "shared").len();
        let over = Arc::new(AtomicBool::new(false));
        let watch = {
            let over = Arc::clone(&over);
            thread::spawn(move || waits(&over, |name| name == "shared"))
        };
        let threads = [compute(), compute(), compute()];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        over.store(true, Ordering::Relaxed);
        // Three threads take turns for a second, so that two seconds are waited altogether, less what the machine has
        // others do.
        let Waits { longest, total } = watch.join().unwrap();
        assert!(before == 0 && longest > Duration::from_micros(500), "{longest:?}");
        assert!(total > Duration::from_millis(500) && total > longest, "{total:?}");
    }

    /// Would catch a watch that does not end.
    #[test]
    fn a_watch_ends() {
        let watch = Watch::start(|_| true);
        thread::sleep(Duration::from_millis(20));
        assert!(watch.end().longest > Duration::ZERO);
    }
}
