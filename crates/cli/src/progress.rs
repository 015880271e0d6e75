//! Watching over long work: a bar on a terminal, and Ctrl-C.

#[cfg(target_os = "linux")]
use std::cell::Cell;
use std::io::{self, IsTerminal};
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

#[cfg(target_os = "linux")]
use fairlane_batch::machine::Watch;
use fairlane_batch::machine::thread_cpu_s;
use fairlane_batch::{Batch, Done};
use fairlane_sim::Control;
use indicatif::{ProgressBar, ProgressStyle};

use crate::error::Failure;
use crate::output;

/// What a shell expects of a program that SIGINT ended.
const ENDED_BY_SIGINT: i32 = 130;
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The hand on all runs: the first Ctrl-C stops them, the second ends the program at once.
pub(crate) fn control() -> Result<Arc<Control>, Failure> {
    let control = Arc::new(Control::with_clock(thread_cpu_s));
    let ours = Arc::clone(&control);
    let handler = move || {
        if ours.stopped() {
            process::exit(ENDED_BY_SIGINT);
        }
        ours.stop();
        output::tell("stopping: what is done will be kept; once more to end at once\n");
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::plain(format!("cannot listen for Ctrl-C: {error}")))?;
    Ok(control)
}

/// Executes `batch` and shows on a terminal how far it is.
pub(crate) fn batch(batch: &Batch, control: &Control) -> Result<Done, Failure> {
    watched(control, batch.runs(), || batch.execute(control)).map_err(Failure::from)
}

/// Does `work` and shows on a terminal how many of `total` runs have come to their end.
pub(crate) fn watched<T>(control: &Control, total: u64, work: impl FnOnce() -> T) -> T {
    if !io::stderr().is_terminal() {
        return work();
    }
    thread::scope(|scope| {
        // Dropping the sender is what ends the watcher, also when `work` panics.
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

/// On a terminal, how far runs are that take as long as they are told to.
#[cfg(target_os = "linux")]
pub(crate) struct Seconds {
    bar: ProgressBar,
    a_run: f64,
    /// When the run under way began.
    since: Cell<Watch>,
    ended: Cell<u32>,
}

#[cfg(target_os = "linux")]
impl Seconds {
    /// Of `runs` runs of `a_run` seconds each; the first begins now.
    pub(crate) fn new(a_run: f64, runs: u64) -> Self {
        let bar = if io::stderr().is_terminal() { ProgressBar::new(0) } else { ProgressBar::hidden() };
        bar.set_length((a_run * runs as f64).ceil() as u64);
        let style = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_bar} {pos} of {len} s");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, a_run, since: Cell::new(Watch::start()), ended: Cell::new(0) }
    }

    /// Shows how far they are now.
    pub(crate) fn look(&self) {
        let now = self.since.get().elapsed_s().min(self.a_run);
        self.bar.set_position((f64::from(self.ended.get()) * self.a_run + now) as u64);
        self.bar.tick();
    }

    /// A run has come to its end.
    pub(crate) fn run_ended(&self) {
        self.ended.set(self.ended.get() + 1);
        self.since.set(Watch::start());
    }

    /// Writes to the terminal while the bar is out of the way.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        self.bar.suspend(write);
    }
}

#[cfg(target_os = "linux")]
impl Drop for Seconds {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
