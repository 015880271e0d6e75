//! A discipline in the kernel, which this process attaches, watches and detaches.

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use fairlane_bpf::{Attached, Program, State};
use fairlane_linux::{Link, Report, now};
use fairlane_qdisc::{Count, QdiscConfig, Rate, Reason};
use tracing::warn;

/// The time between two looks at the interface.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// Tells whether this build and the kernel have queue disciplines in BPF.
pub(super) fn check() -> Result<(), String> {
    fairlane_bpf::check().map_err(|error| error.to_string())
}

/// Tells whether there is a program for a discipline.
pub(super) fn has_program(discipline: &QdiscConfig, rate: Rate) -> Result<(), String> {
    Program::new(discipline, rate).map(drop).map_err(|error| error.to_string())
}

/// A discipline in the kernel.
pub(super) struct KernelRouter {
    interface: String,
    /// True for the packets that arrive by the interface.
    down: bool,
    now: Mutex<InPlace>,
    told: Condvar,
}

/// The state that changes while the router works.
struct InPlace {
    program: Program,
    attached: Attached,
    /// The counts of the disciplines that this one has replaced.
    before: Report,
    stopping: bool,
    /// Nothing is left at the interface.
    detached: bool,
}

impl KernelRouter {
    /// Attaches a discipline to an interface, for the packets that leave by it, or arrive if it is `down`.
    pub(super) fn attach(interface: &str, down: bool, discipline: &QdiscConfig, link: Link) -> Result<Self, String> {
        let program = program(discipline, link, down)?;
        let attached = attach(interface, &program)?;
        let now = InPlace { program, attached, before: Report::default(), stopping: false, detached: false };
        Ok(Self { interface: interface.to_owned(), down, now: Mutex::new(now), told: Condvar::new() })
    }

    /// Returns the counts since the start, and the present queue.
    pub(super) fn report(&self) -> Report {
        self.lock().report()
    }

    /// Replaces the discipline. The kernel drops the packets that wait in the old one.
    pub(super) fn reload(&self, discipline: &QdiscConfig, link: Link) -> Result<(), String> {
        let program = program(discipline, link, self.down)?;
        let mut now = self.lock();
        now.replace(&self.interface, program)?;
        now.before.reloads += 1;
        Ok(())
    }

    /// Ends [`run`](Self::run).
    pub(super) fn stop(&self) {
        self.lock().stopping = true;
        self.told.notify_all();
    }

    /// Watches the discipline until [`stop`](Self::stop) is called, then detaches it and returns the final counts.
    pub(super) fn run(&self) -> io::Result<Report> {
        let mut now = self.lock();
        while !now.stopping {
            (now, _) = self.told.wait_timeout(now, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner);
            if !now.stopping && !now.attached.is_in_place() {
                let program = now.program.clone();
                now.replace(&self.interface, program).map_err(io::Error::other)?;
                warn!(interface = self.interface, "another program removed the discipline; it is attached again");
            }
        }
        now.detached = true;
        now.attached.detach().map_err(io::Error::other)?;
        Ok(now.report())
    }

    /// Poisoning is ignored: the data is consistent whenever the lock is released.
    fn lock(&self) -> MutexGuard<'_, InPlace> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A router that cannot start, or fails, leaves nothing behind.
impl Drop for KernelRouter {
    fn drop(&mut self) {
        let now = self.now.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !now.detached {
            // The error that ended the router is the one to report.
            let _ = now.attached.detach();
        }
    }
}

impl InPlace {
    /// Attaches a program, and takes over the final counts of the one before.
    fn replace(&mut self, interface: &str, program: Program) -> Result<(), String> {
        let attached = attach(interface, &program)?;
        if let Ok(state) = self.attached.state() {
            add(&mut self.before, &state);
        }
        (self.program, self.attached) = (program, attached);
        Ok(())
    }

    fn report(&self) -> Report {
        let mut report = Report { at: now(), ..self.before.clone() };
        if let Ok(state) = self.attached.state() {
            add(&mut report, &state);
            show_queue(&mut report, &state);
        }
        report
    }
}

/// Returns the report of a discipline that nobody watches.
pub(super) fn report(state: &State) -> Report {
    let mut report = Report { at: now(), ..Report::default() };
    add(&mut report, state);
    show_queue(&mut report, state);
    report
}

fn show_queue(report: &mut Report, state: &State) {
    (report.packets, report.bytes) = (state.queued.packets as usize, state.queued.bytes);
    report.average = Some(state.average);
}

fn program(discipline: &QdiscConfig, link: Link, down: bool) -> Result<Program, String> {
    let program = Program::new(discipline, link.rate).map_err(|error| error.to_string())?;
    Ok(if down { program.for_arriving() } else { program })
}

fn attach(interface: &str, program: &Program) -> Result<Attached, String> {
    fairlane_bpf::attach(interface, program).map_err(|error| error.to_string())
}

/// Adds the counts of a discipline to a report.
fn add(report: &mut Report, state: &State) {
    let counters = state.counters();
    let add = |to: &mut Count, count: Count| {
        to.packets += count.packets;
        to.bytes += count.bytes;
    };
    add(&mut report.counters.arrived, counters.arrived);
    add(&mut report.counters.departed, counters.departed);
    add(&mut report.flushed, state.flushed.into());
    for reason in Reason::ALL {
        report.counters.add_drops(reason, counters.dropped(reason));
        report.counters.add_marks(reason, counters.marked(reason));
    }
}
