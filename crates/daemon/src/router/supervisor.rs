//! Starts, supervises and ends a router.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use fairlane_console::Failure;
use fairlane_linux::{DataPath, Firewall, InterfaceLock, Leftover, Report, RuleError, Rules, leftovers, remove_rules};
use fairlane_qdisc::{Duration, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use sd_notify::NotifyState;
use tracing::{error, info, warn};

use super::action::{Ready, refused};
use super::http::{self, Current};
use super::interfaces::WatchedInterfaces;
use super::log;
use super::remote::{Engine, Remote};
use super::settings::{Path, Settings, Sources};
use crate::args::router::{Log, MetricsAddress};

/// The longest time in milliseconds between two checks of the router.
const LOOK_EVERY: u16 = 250;

/// The time without a packet after which the rules are checked.
const QUIET: Duration = Duration::from_millis(5000);

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
    let discipline = &settings.discipline;
    for warning in &discipline.explanation().warnings {
        warn!("{}: {warning}", discipline.kind());
    }
    // Before other threads start, since threads inherit the mask of signals.
    let signals = signals().map_err(|error| Failure::plain(format!("cannot listen for signals: {error}")))?;
    if let Some(reason) = &settings.chosen {
        info!("path {reason}");
    }
    let router = Engine::open(settings)?;
    let remote = router.remote();
    let current: Current = Arc::new(Mutex::new(settings.clone()));
    serve_metrics(settings.metrics, &remote, &current)?;
    let installed = match settings.path {
        Path::Process(DataPath::Queue(queue)) => {
            let queues = queue.queues;
            if rules.is_none() {
                info!(queue = %queues, "no rules, since there is no --interface: your own rules have to send packets here");
            }
            Some(InstalledRules::new(queues.first(), rules.as_ref())?)
        }
        Path::Process(DataPath::Bridge(_)) | Path::Kernel(_) => None,
    };
    let router = thread::Builder::new().name("router".to_owned()).spawn(|| router.run());
    let router = router.map_err(|error| Failure::plain(format!("cannot start a thread: {error}")))?;
    log_start(settings);
    notify(&[NotifyState::Ready]);
    let mut supervisor = Supervisor {
        remote,
        sources,
        settings: settings.clone(),
        current,
        interfaces: WatchedInterfaces::new(&settings.interfaces),
        seen: LastReport::default(),
        unfit: false,
    };
    supervisor.until_told_to_end(&signals, &router, installed.as_ref());
    notify(&[NotifyState::Stopping]);
    let stopped = installed.as_ref().map_or(Ok(()), InstalledRules::stop);
    supervisor.remote.stop(supervisor.settings.drain);
    supervisor.until_over(&signals, &router);
    let report = router.join().map_err(|_| Failure::plain("the router has failed: this is a defect of Fairlane"))?;
    let report = report.map_err(|error| Failure::plain(format!("the data path failed: {error}")))?;
    log_totals(&report);
    stopped.and(installed.map_or(Ok(()), InstalledRules::remove))
}

fn log_start(settings: &Settings) {
    let (rate, discipline) = (settings.link.rate, settings.discipline.kind());
    match &settings.path {
        Path::Process(DataPath::Queue(queue)) => info!(queue = %queue.queues, %rate, %discipline, "working"),
        Path::Kernel(interface) => info!(interface, %rate, %discipline, "working in the kernel"),
        Path::Process(DataPath::Bridge(bridge)) => {
            info!(inside = bridge.inside, outside = bridge.outside, %rate, %discipline, "working");
        }
    }
}

/// Serves metrics at the configured address. A default address in use, for example by another router, is no error.
fn serve_metrics(metrics: MetricsAddress, remote: &Remote, current: &Current) -> Result<(), Failure> {
    let Some(address) = metrics.address() else { return Ok(()) };
    match http::serve(address, remote.clone(), Arc::clone(current)) {
        Ok(address) => info!(%address, "serving /metrics, and /state for fairlane top"),
        Err(error) if metrics == MetricsAddress::Usual => {
            warn!("no metrics, since {address} is not available: {error}; --metrics takes another port, or off");
        }
        Err(error) => {
            let message = format!("cannot serve metrics at {address}: {error}");
            return Err(Failure::new(message, "choose another --metrics"));
        }
    }
    Ok(())
}

fn signals() -> nix::Result<SignalFd> {
    let signals = SigSet::from_iter([Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP]);
    signals.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// The rules in place; dropping it removes them.
struct InstalledRules<'r> {
    queue: u16,
    by: Option<(Firewall, &'r Rules)>,
    /// No other router queues packets of these interfaces.
    _claim: Option<InterfaceLock>,
}

impl<'r> InstalledRules<'r> {
    /// Removes the rules of killed routers and installs `rules` for `queue`, which is ours.
    fn new(queue: u16, rules: Option<&'r Rules>) -> Result<Self, Failure> {
        let claim = rules.map(Rules::lock_interfaces).transpose().map_err(|error| refused(&error))?;
        let left = match leftovers() {
            // Without rules no tool is needed.
            Err(RuleError::NoTool) if rules.is_none() => Vec::new(),
            left => left.map_err(|error| refused(&error))?,
        };
        for Leftover { firewall, queue } in left {
            firewall.remove(queue).map_err(|error| refused(&error))?;
            warn!(queue, %firewall, "removed the rules of a router that was killed");
        }
        remove_rules(queue).map_err(|error| refused(&error))?;
        let Some(rules) = rules else { return Ok(Self { queue, by: None, _claim: None }) };
        let firewall = Firewall::find().map_err(|error| refused(&error))?;
        firewall.install(rules).map_err(|error| refused(&error))?;
        info!(queue, %firewall, "rules installed");
        Ok(Self { queue, by: Some((firewall, rules)), _claim: claim })
    }

    /// Installs the rules again if another program has removed them.
    fn keep(&self) {
        let Some((firewall, rules)) = self.by else { return };
        let mended = firewall.is_installed(rules).and_then(|there| {
            if !there {
                firewall.install(rules)?;
                warn!(queue = self.queue, "another program removed the rules; they are installed again");
            }
            Ok(())
        });
        if let Err(error) = mended {
            error!(%error, "packets may pass unqueued: the rules cannot be checked");
        }
    }

    /// Stops sending packets to the queue.
    fn stop(&self) -> Result<(), Failure> {
        self.by.map_or(Ok(()), |(firewall, _)| firewall.stop(self.queue).map_err(|error| refused(&error)))
    }

    fn remove(mut self) -> Result<(), Failure> {
        let Some((firewall, _)) = self.by.take() else { return Ok(()) };
        firewall.remove(self.queue).map_err(|error| refused(&error))
    }
}

impl Drop for InstalledRules<'_> {
    fn drop(&mut self) {
        if let Some((firewall, _)) = self.by.take()
            && let Err(error) = firewall.remove(self.queue)
        {
            error!(%error, "the rules could not be removed: fairlane router --clean does it later");
        }
    }
}

/// Detects that no packets arrive, as when the rules were removed.
struct QuietPeriod {
    arrived: u64,
    since: Time,
}

impl QuietPeriod {
    /// Returns true if nothing has arrived for [`QUIET`], and then starts again.
    fn is_long(&mut self, report: &Report) -> bool {
        let arrived = report.counters.arrived.packets;
        let long = arrived == self.arrived && report.at.since(self.since) > QUIET;
        if long || arrived != self.arrived {
            *self = Self { arrived, since: report.at };
        }
        long
    }
}

/// The time of the last report.
#[derive(Default)]
struct LastReport(Time);

impl LastReport {
    /// Returns true if `report` is newer: the router is alive.
    fn is_before(&mut self, report: &Report) -> bool {
        let new = report.at > self.0;
        self.0 = report.at;
        new
    }
}

/// Supervises a running router.
struct Supervisor<'s> {
    remote: Remote,
    sources: &'s Sources,
    settings: Settings,
    /// The same, for the HTTP server.
    current: Current,
    interfaces: WatchedInterfaces,
    seen: LastReport,
    /// `true` once the warning about frames that do not fit was logged.
    unfit: bool,
}

impl Supervisor<'_> {
    fn until_told_to_end(
        &mut self,
        signals: &SignalFd,
        router: &JoinHandle<io::Result<Report>>,
        installed: Option<&InstalledRules<'_>>,
    ) {
        let mut quiet = QuietPeriod { arrived: 0, since: self.remote.report().at };
        while !router.is_finished() {
            match wait(signals) {
                Some(Signal::SIGHUP) => self.reload(),
                Some(signal) => {
                    info!(%signal, "ending");
                    return;
                }
                None => self.look(),
            }
            if let Some(installed) = installed
                && quiet.is_long(&self.remote.report())
            {
                installed.keep();
            }
        }
        error!("the router has ended by itself");
    }

    /// Waits for the end; a second signal ends the draining.
    fn until_over(&mut self, signals: &SignalFd, router: &JoinHandle<io::Result<Report>>) {
        while !router.is_finished() {
            match wait(signals) {
                Some(Signal::SIGHUP) => {}
                Some(_) => self.remote.stop(Duration::ZERO),
                None => self.look(),
            }
        }
    }

    /// Checks the interfaces and the router's report.
    fn look(&mut self) {
        self.interfaces.look();
        let report = self.remote.report();
        self.feed_watchdog(&report);
        let unfit = report.bridge.is_some_and(|bridge| bridge.forward.unfit + bridge.reverse.unfit > 0);
        if unfit && !self.unfit {
            self.unfit = true;
            warn!(
                "frames are dropped that the other interface cannot send: they are longer than its MTU was at the start, and a new start reads \
                 that again; or they are a tunnel's that offload has joined, for which ethtool -K NAME tso off gso off at the neighbour helps, or gro \
                 off here"
            );
        }
    }

    /// Notifies systemd's watchdog only while the router itself is alive.
    fn feed_watchdog(&mut self, report: &Report) {
        if self.seen.is_before(report) {
            notify(&[NotifyState::Watchdog]);
        }
    }

    /// Reads the file again. If it is wrong, the log says why and nothing changes.
    fn reload(&mut self) {
        if self.sources.file().is_none() {
            warn!("there is no --config to read again");
            return;
        }
        if let Ok(now) = NotifyState::monotonic_usec_now() {
            notify(&[NotifyState::Reloading, now]);
        }
        match self.sources.read() {
            Ok(new) => self.replace(new),
            Err(failure) => error!("the file is refused, and nothing has changed: {}", failure.line()),
        }
        notify(&[NotifyState::Ready]);
    }

    fn replace(&mut self, new: Settings) {
        for word in self.settings.fixed(&new) {
            warn!("{word} changes with the next start");
        }
        let (discipline, link) = (&new.discipline, new.link);
        if let Err(error) = self.remote.reload(discipline, link) {
            error!("the file is refused, and nothing has changed: {} {error}", discipline.kind());
            return;
        }
        self.settings.discipline = new.discipline;
        (self.settings.link, self.settings.drain) = (link, new.drain);
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = self.settings.clone();
        // After the update, as a reader of this line may request the state immediately.
        let queued = match self.settings.path {
            Path::Process(_) => "leave first",
            Path::Kernel(_) => "were dropped",
        };
        info!(rate = %link.rate, discipline = %self.settings.discipline.kind(), "reloaded; queued packets {queued}");
    }
}

/// Waits a while for a signal.
fn wait(signals: &SignalFd) -> Option<Signal> {
    let mut ready = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
    // An interrupted wait is shorter, which is harmless.
    let _ = poll(&mut ready, PollTimeout::from(LOOK_EVERY));
    let signal = signals.read_signal().ok()??;
    Signal::try_from(i32::try_from(signal.ssi_signo).ok()?).ok()
}

/// Notifies systemd, if it started us.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        warn!(%error, "cannot notify systemd");
    }
}

fn log_totals(report: &Report) {
    let counters = &report.counters;
    info!(
        arrived = counters.arrived.packets,
        departed = counters.departed.packets,
        dropped = counters.dropped_total().packets,
        marked = counters.marked_total().packets,
        flushed = report.flushed.packets,
        released = report.released,
        kernel_dropped = report.kernel_dropped(),
        "ended"
    );
}

#[cfg(test)]
mod tests {
    use fairlane_qdisc::Count;

    use super::*;

    /// Returns a report after this many seconds with this many arrived packets.
    fn report(seconds: u64, packets: u64) -> Report {
        let mut report = Report { at: Time::ZERO + Duration::from_millis(1000 * seconds), ..Report::default() };
        report.counters.arrived = Count { packets, bytes: 0 };
        report
    }

    /// A router that hangs publishes no reports. Would catch a watchdog that is notified although the router hangs.
    #[test]
    fn a_router_that_hangs_is_seen() {
        let mut seen = LastReport::default();
        let told = [1, 1, 1, 2, 2, 3].map(|seconds| seen.is_before(&report(seconds, 0)));
        assert_eq!(told, [true, false, false, true, false, true]);
    }

    /// Detected after more than five seconds without a packet, and again after five more.
    #[test]
    fn nothing_for_a_while_is_noticed() {
        let mut quiet = QuietPeriod { arrived: 0, since: Time::ZERO };
        let said = [(5, 0), (6, 0), (7, 0), (11, 0), (12, 0), (13, 9), (18, 9), (19, 9), (25, 10), (26, 10)]
            .map(|(seconds, packets)| quiet.is_long(&report(seconds, packets)));
        assert_eq!(said, [false, true, false, false, true, false, false, true, false, false]);
    }
}
