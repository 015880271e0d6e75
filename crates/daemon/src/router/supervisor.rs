//! Starts, supervises and ends a router.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use fairlane_console::Failure;
use fairlane_linux::{DataPath, Report, Reservation, Rules};
use fairlane_qdisc::{Duration, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use sd_notify::NotifyState;
use tracing::{error, info, warn};

use super::autorate::Adjuster;
use super::http::{Current, Exporter};
use super::installed::{InstalledRules, clean_up};
use super::metrics_server::MetricsServer;
use super::ready::{Ready, refused};
use super::remote::{Engine, Remote};
use super::settings::{Settings, Sources};
use super::way::{Direction, Path, Way};
use super::{log, privileges};
use crate::args::router::Log;

/// The longest time in milliseconds between two checks of the router.
const LOOK_EVERY: u16 = 250;

/// Runs a router until a signal ends it. Errors are written to the log too.
pub(super) fn run(ready: &Ready) -> Result<(), Failure> {
    let form = ready.settings.log;
    log::start(form);
    work(ready).map_err(|failure| logged(form, failure))
}

/// Writes an error to the log before there is a router.
pub(super) fn refuse(form: Log, failure: Failure) -> Failure {
    log::start(form);
    logged(form, failure)
}

/// Writes an error to the log in JSON: there every line of standard error is JSON.
fn logged(form: Log, failure: Failure) -> Failure {
    match form {
        Log::Text => failure,
        Log::Json => {
            error!("{}", failure.line());
            Failure::Logged
        }
    }
}

fn work(ready: &Ready) -> Result<(), Failure> {
    let Ready { sources, settings, rules } = ready;
    settings.warnings().iter().for_each(|warning| warn!("{warning}"));
    settings.note().iter().for_each(|note| info!("{note}"));
    // Before other threads start, since threads inherit the mask of signals and the privileges.
    let signals = signals().map_err(|error| Failure::plain(format!("cannot listen for signals: {error}")))?;
    privileges::pass_on();
    if let Some(reason) = &settings.chosen {
        info!("path {reason}");
    }
    let queues: Vec<u16> = rules.iter().map(Rules::queue).collect();
    let ours = !rules.is_empty() || matches!(settings.path(), Some(Path::Kernel(_)));
    let reserved = ours.then(|| Reservation::new(&settings.interfaces, &queues)).transpose();
    let reserved = reserved.map_err(|error| refused(&error))?;
    let engines = settings.ways.iter().map(|way| Engine::open(settings, way)).collect::<Result<Vec<_>, _>>()?;
    let remotes: Vec<Remote> = engines.iter().map(Engine::remote).collect();
    let current: Current = Arc::new(Mutex::new(settings.clone()));
    let exporter = Exporter::new(remotes.clone(), Arc::clone(&current));
    let server = MetricsServer::start(settings, &exporter)?;
    let installed = install(settings, rules, &remotes)?;
    let mut routers = Vec::new();
    for (engine, way) in engines.into_iter().zip(&settings.ways) {
        routers.push(Running::start(engine, way.direction)?);
    }
    let mut supervisor = Supervisor {
        routers,
        sources,
        settings: settings.clone(),
        current,
        reserved,
        installed,
        server,
        exporter,
        adjuster: None,
        alive: Alive::default(),
        unfit: false,
    };
    supervisor.adjust()?;
    settings.ways.iter().for_each(log_start);
    notify(&[NotifyState::Ready]);
    supervisor.until_told_to_end(&signals);
    notify(&[NotifyState::Stopping]);
    supervisor.end(&signals)
}

/// Installs the rules, if packets are queued, and removes those of killed routers.
fn install(settings: &Settings, rules: &[Rules], remotes: &[Remote]) -> Result<Option<InstalledRules>, Failure> {
    let queues: Vec<_> = settings.ways.iter().filter_map(|way| way.path.queues()).collect();
    if queues.is_empty() {
        return Ok(None);
    }
    let numbers: Vec<u16> = queues.iter().map(|queues| queues.first()).collect();
    clean_up(&numbers, !rules.is_empty())?;
    let Some((firewall, bits)) = settings.ours else {
        let queues = queues.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        info!(queue = queues, "no rules, since there is no --interface: your own rules have to send packets here");
        return Ok(None);
    };
    info!(%bits, %firewall, "firewall marks in use");
    InstalledRules::install(firewall, rules, remotes.to_vec()).map(Some)
}

fn log_start(way: &Way) {
    let (rate, discipline) = (way.link.rate, way.discipline.kind());
    let direction = way.direction.map(Direction::name);
    match &way.path {
        Path::Process(DataPath::Queue(queue)) => info!(direction, queue = %queue.queues, %rate, %discipline, "working"),
        Path::Kernel(interface) => info!(direction, interface, %rate, %discipline, "working in the kernel"),
        Path::Process(DataPath::Bridge(bridge)) => {
            info!(direction, inside = bridge.inside, outside = bridge.outside, %rate, %discipline, "working");
        }
    }
}

fn signals() -> nix::Result<SignalFd> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// A router at work on its own thread.
pub(super) struct Running {
    direction: Option<Direction>,
    pub(super) remote: Remote,
    thread: JoinHandle<io::Result<Report>>,
}

impl Running {
    fn start(engine: Engine, direction: Option<Direction>) -> Result<Self, Failure> {
        let remote = engine.remote();
        let name = direction.map_or("router", Direction::name).to_owned();
        let thread = thread::Builder::new().name(name).spawn(|| engine.run());
        let thread = thread.map_err(|error| Failure::plain(format!("cannot start a thread: {error}")))?;
        Ok(Self { direction, remote, thread })
    }

    /// Waits for the end, and logs the totals.
    fn join(self) -> Result<(), Failure> {
        let report =
            self.thread.join().map_err(|_| Failure::plain("the router has failed: this is a defect of Fairlane"))?;
        let report = report.map_err(|error| Failure::plain(format!("the data path failed: {error}")))?;
        log_totals(self.direction, &report);
        Ok(())
    }
}

/// The times of the last reports.
#[derive(Default)]
struct Alive(Vec<Time>);

impl Alive {
    /// Returns true if all of `reports` are newer than at the last call: all routers are alive.
    fn are(&mut self, reports: &[Report]) -> bool {
        self.0.resize(reports.len(), Time::ZERO);
        let all = self.0.iter().zip(reports).all(|(seen, report)| report.at > *seen);
        self.0 = reports.iter().map(|report| report.at).collect();
        all
    }
}

/// Supervises a running router.
pub(super) struct Supervisor<'s> {
    /// One for each way of the settings.
    pub(super) routers: Vec<Running>,
    pub(super) sources: &'s Sources,
    pub(super) settings: Settings,
    /// The same, for the HTTP server.
    pub(super) current: Current,
    /// `None` without rules or a discipline of ours at the interfaces.
    pub(super) reserved: Option<Reservation>,
    pub(super) installed: Option<InstalledRules>,
    pub(super) server: MetricsServer,
    pub(super) exporter: Arc<Exporter>,
    /// `None` if the rates stay.
    pub(super) adjuster: Option<Adjuster>,
    alive: Alive,
    /// `true` once the warning about frames that do not fit was logged.
    unfit: bool,
}

impl Supervisor<'_> {
    fn until_told_to_end(&mut self, signals: &SignalFd) {
        while !self.routers.iter().any(|router| router.thread.is_finished()) {
            match self.wait(signals) {
                Some(Signal::SIGHUP) => self.reload(),
                Some(signal) => {
                    info!(%signal, "ending");
                    return;
                }
                None => self.look(),
            }
            if let Some(installed) = &mut self.installed {
                installed.look();
                self.exporter.rules_restored.store(installed.restored(), Ordering::Relaxed);
            }
        }
        error!("the router has ended by itself");
    }

    /// Begins to adjust the rates anew, from those of the settings, or ceases to.
    pub(super) fn adjust(&mut self) -> Result<(), Failure> {
        self.adjuster = None;
        self.exporter.autorate.lock().unwrap_or_else(PoisonError::into_inner).clear();
        let (Some(autorate), [interface]) = (&self.settings.autorate, &self.settings.interfaces[..]) else {
            return Ok(());
        };
        let remotes: Vec<Remote> = self.routers.iter().map(|router| router.remote.clone()).collect();
        let adjuster = Adjuster::start(autorate, interface, &remotes, &self.exporter.autorate);
        let adjuster =
            adjuster.map_err(|error| Failure::plain(format!("autorate: cannot probe by {interface}: {error}")))?;
        info!(dry_run = autorate.dry_run, "adjusting the rate");
        self.adjuster = Some(adjuster);
        Ok(())
    }

    /// Lets queued packets leave, ends the routers and removes the rules. A second signal ends the draining.
    fn end(mut self, signals: &SignalFd) -> Result<(), Failure> {
        self.adjuster = None;
        let stopped = self.installed.as_mut().map_or(Ok(()), InstalledRules::stop);
        self.stop_routers(self.settings.drain);
        while !self.routers.iter().all(|router| router.thread.is_finished()) {
            match self.wait(signals) {
                Some(Signal::SIGHUP) => {}
                Some(_) => self.stop_routers(Duration::ZERO),
                None => self.look(),
            }
        }
        let mut result = stopped;
        for router in self.routers.drain(..) {
            result = router.join().and(result);
        }
        // After the last packet: see `Firewall::remove`.
        result.and(self.installed.take().map_or(Ok(()), InstalledRules::remove))
    }

    fn stop_routers(&self, drain: Duration) {
        self.routers.iter().for_each(|router| router.remote.stop(drain));
    }

    /// Waits a while for a signal, or until there is something to look at.
    fn wait(&self, signals: &SignalFd) -> Option<Signal> {
        let sources = self.installed.iter().flat_map(InstalledRules::sources).chain([signals.as_fd()]);
        let mut ready: Vec<PollFd<'_>> = sources.map(|source| PollFd::new(source, PollFlags::POLLIN)).collect();
        // An interrupted wait is shorter, which is harmless.
        let _ = poll(&mut ready, PollTimeout::from(LOOK_EVERY));
        let signal = signals.read_signal().ok()??;
        Signal::try_from(i32::try_from(signal.ssi_signo).ok()?).ok()
    }

    /// Checks the routers' reports and the server.
    fn look(&mut self) {
        let reports: Vec<Report> = self.routers.iter().map(|router| router.remote.report()).collect();
        // systemd's watchdog is told only while the routers themselves are alive.
        if self.alive.are(&reports) {
            notify(&[NotifyState::Watchdog]);
        }
        let is_unfit =
            |report: &Report| report.bridge.is_some_and(|bridge| bridge.forward.unfit + bridge.reverse.unfit > 0);
        if !self.unfit && reports.iter().any(is_unfit) {
            self.unfit = true;
            warn!(
                "frames are dropped that the other interface cannot send: they are longer than its MTU was at the start, and a new start reads \
                 that again; or they are a tunnel's that offload has joined, for which ethtool -K NAME tso off gso off at the neighbour helps, or gro \
                 off here; or they were joined of more segments than any sender joins"
            );
        }
        self.server.look(&self.settings);
    }
}

/// Notifies systemd, if it started us.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "cannot notify systemd");
    }
}

fn log_totals(direction: Option<Direction>, report: &Report) {
    let counters = &report.counters;
    info!(
        direction = direction.map(Direction::name),
        arrived = counters.arrived.packets,
        departed = counters.departed.packets,
        dropped = counters.dropped_total().packets,
        marked = counters.marked_total().packets,
        flushed = report.flushed.packets,
        released = report.released,
        kernel_dropped = report.kernel_dropped(),
        unfit = report.bridge.map(|bridge| bridge.forward.unfit + bridge.reverse.unfit),
        "ended"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a report after this many seconds.
    fn report(seconds: u64) -> Report {
        Report { at: Time::ZERO + Duration::from_millis(1000 * seconds), ..Report::default() }
    }

    /// A router that hangs publishes no reports. Would catch a watchdog that is notified although one of two routers
    /// hangs.
    #[test]
    fn a_router_that_hangs_is_seen() {
        let mut alive = Alive::default();
        let told = [[1, 1], [1, 1], [2, 1], [3, 2], [4, 2], [5, 3]].map(|at| alive.are(&at.map(report)));
        assert_eq!(told, [true, false, false, true, false, true]);
    }
}
