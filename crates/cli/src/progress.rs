//! Long work: a progress bar on a terminal, and Ctrl-C.

#[cfg(all(feature = "lab", target_os = "linux"))]
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::process;
use std::sync::Arc;
#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use fairlane_console::Failure;
#[cfg(all(feature = "lab", target_os = "linux"))]
use fairlane_console::Stopwatch;
use fairlane_outcome::{Outcome, OutputFile};
use fairlane_runner::machine::thread_cpu_s;
use fairlane_runner::{Batch, BatchResult};
use fairlane_sim::Control;
use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// The exit code that a shell reports for a program ended by SIGINT.
const ENDED_BY_SIGINT: i32 = 130;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Returns the control of all runs: the first Ctrl-C stops them, the second ends the program at once.
pub(crate) fn control() -> Result<Arc<Control>, Failure> {
    control_of("finished work is kept")
}

/// As [`control`], for work of which the first Ctrl-C leaves what `left` tells.
pub(crate) fn control_of(left: &'static str) -> Result<Arc<Control>, Failure> {
    let control = Arc::new(Control::with_clock(thread_cpu_s));
    let ours = Arc::clone(&control);
    let handler = move || {
        if ours.stopped() {
            OutputFile::abandon_all();
            process::exit(ENDED_BY_SIGINT);
        }
        ours.stop();
        output::tell(&format!("stopping: {left}; press Ctrl-C again to end at once\n"));
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::plain(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(control)
}

/// Executes `batch` with a progress bar.
pub(crate) fn batch(batch: &Batch, control: &Control) -> Result<BatchResult, Failure> {
    watched(control, batch.runs(), || batch.execute(control)).map_err(Failure::from)
}

/// As [`batch`], with [`Batch::execute_each`].
pub(crate) fn batch_each(
    batch: &Batch,
    control: &Control,
    done: impl Fn(usize, &Outcome) + Sync,
) -> Result<BatchResult, Failure> {
    watched(control, batch.runs(), || batch.execute_each(control, done)).map_err(Failure::from)
}

/// Does `work` with a bar of the runs finished of `total`.
pub(crate) fn watched<T>(control: &Control, total: u64, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        // Dropping the sender ends the watcher, also when `work` panics.
        let (_working, done) = mpsc::channel::<()>();
        scope.spawn(move || watch(control, total, &done));
        work()
    })
}

fn watch(control: &Control, total: u64, done: &mpsc::Receiver<()>) {
    let bar = ProgressBar::new(total);
    let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_bar} {pos}/{len} runs {eta:>4}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    while done.recv_timeout(LOOK_EVERY) == Err(RecvTimeoutError::Timeout) {
        bar.set_position(control.finished());
        bar.tick();
    }
    bar.finish_and_clear();
}

/// How long work in seconds shows its progress.
#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
struct SecondsBar {
    bar: ProgressBar,
    /// For a program that reads standard error: the progress in the last line.
    lines: Option<AtomicU64>,
}

#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
impl SecondsBar {
    /// Starts a bar of `total` seconds, or tells them in lines.
    fn new(total: f64, template: &str, lines: bool) -> Self {
        let bar = if io::stderr().is_terminal() && !lines { ProgressBar::new(0) } else { ProgressBar::hidden() };
        bar.set_length(total.ceil() as u64);
        let style = ProgressStyle::with_template(&format!("{{spinner}} {{elapsed_precise}} {{wide_bar}} {template}"));
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, lines: lines.then(AtomicU64::default) }
    }

    fn set(&self, seconds: u64) {
        self.bar.set_position(seconds);
        self.bar.tick();
        if self.lines.as_ref().is_some_and(|told| told.fetch_max(seconds, Ordering::Relaxed) < seconds) {
            output::tell(&format!("progress {seconds} {}\n", self.bar.length().unwrap_or(seconds)));
        }
    }
}

#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
impl Drop for SecondsBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A progress bar of runs that take a known time.
#[cfg(all(feature = "lab", target_os = "linux"))]
pub(crate) struct Seconds {
    bar: SecondsBar,
    a_run: f64,
    /// The start of the current run.
    since: Cell<Stopwatch>,
    ended: Cell<u32>,
}

#[cfg(all(feature = "lab", target_os = "linux"))]
impl Seconds {
    /// Starts a bar for `runs` runs of `a_run` seconds each, or tells them in lines; the first begins now.
    pub(crate) fn new(a_run: f64, runs: u64, lines: bool) -> Self {
        let bar = SecondsBar::new(a_run * runs as f64, "{pos} of {len} s", lines);
        Self { bar, a_run, since: Cell::new(Stopwatch::start()), ended: Cell::new(0) }
    }

    /// Updates the bar.
    pub(crate) fn look(&self) {
        let now = self.since.get().elapsed_s().min(self.a_run);
        self.bar.set((f64::from(self.ended.get()) * self.a_run + now) as u64);
    }

    /// Counts a finished run.
    pub(crate) fn run_ended(&self) {
        self.ended.set(self.ended.get() + 1);
        self.since.set(Stopwatch::start());
    }

    /// Writes to the terminal while the bar is hidden.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.bar.suspend(write);
    }
}

/// A progress bar of runs side by side, each of which tells how far it is.
#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
pub(crate) struct VirtualSeconds {
    bar: SecondsBar,
    /// Of each run.
    done: Vec<AtomicU64>,
}

#[cfg(all(any(feature = "lab", feature = "shell"), target_os = "linux"))]
impl VirtualSeconds {
    /// Starts a bar for `runs` runs of `a_run` seconds each, or tells them in lines.
    pub(crate) fn new(a_run: f64, runs: usize, lines: bool) -> Self {
        let bar = SecondsBar::new(a_run * runs as f64, "{pos} of {len} s of the guests", lines);
        Self { bar, done: (0..runs).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Run `index` is at `seconds`.
    pub(crate) fn set(&self, index: usize, seconds: f64) {
        if let Some(done) = self.done.get(index) {
            done.store(seconds as u64, Ordering::Relaxed);
        }
        self.bar.set(self.done.iter().map(|done| done.load(Ordering::Relaxed)).sum());
    }
}
