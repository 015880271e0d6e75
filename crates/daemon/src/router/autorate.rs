//! Adjusts the rates of a router to a link whose rate varies.

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{io, process};

use fairlane_autorate::{Autorate, Blocker, Config, Decision, Direction, PROBE_INTERVAL, ProbeDelay, Reason};
use fairlane_linux::{ProbeAnswer, ProbeEvent, ProbeSocket, now};
use fairlane_qdisc::{Duration, Rate, Time};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tracing::{info, warn};

use super::autorate_settings::AutorateSettings;
use super::remote::Remote;

/// The time until sockets that have failed are opened again, as for an interface that was removed.
const REOPEN: Duration = Duration::from_millis(1000);

/// The number of probes that may be on their way.
const ON_THE_WAY: usize = 1024;

/// The adjustment of one direction, as an operator sees it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AutorateView {
    pub(super) config: Config,
    /// The rate that was decided.
    pub(super) rate: Rate,
    pub(super) dry_run: bool,
    /// The reason of the last decision to change the rate, or to keep it.
    pub(super) reason: Reason,
    pub(super) blocker: Option<Blocker>,
    /// By reason, in the order of [`Reason::ALL`].
    pub(super) decisions: [u64; Reason::ALL.len()],
    pub(super) sent: u64,
    pub(super) answered: u64,
}

/// The views of all ways; `None` for one whose rate stays.
pub(super) type AutorateViews = Arc<Mutex<Vec<Option<AutorateView>>>>;

/// The thread that adjusts the rates. Dropping it ends the thread; the rates stay as they are.
pub(super) struct Adjuster {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Adjuster {
    /// Starts to adjust the rates of `routers`, one for each way of the settings, behind `interface`.
    pub(super) fn start(
        settings: &AutorateSettings,
        interface: &str,
        routers: &[Remote],
        views: &AutorateViews,
    ) -> io::Result<Self> {
        let socket = open(settings, interface)?;
        let started = now();
        let mut ways = Vec::new();
        let mut shown = Vec::new();
        for (at, (config, router)) in settings.configs.iter().zip(routers).enumerate() {
            let Some(config) = config else {
                shown.push(None);
                continue;
            };
            let autorate =
                Autorate::new(config.clone(), started).map_err(|error| io::Error::other(error.to_string()))?;
            shown.push(Some(AutorateView {
                config: config.clone(),
                rate: autorate.rate(),
                dry_run: settings.dry_run,
                reason: Reason::Held,
                blocker: None,
                decisions: [0; Reason::ALL.len()],
                sent: 0,
                answered: 0,
            }));
            ways.push(AdjustedWay { at, autorate, router: router.clone() });
        }
        *lock(views) = shown;
        let probes = ProbeTable::new(settings.reflectors.clone());
        let (end, ended) = mpsc::channel();
        let (settings, interface, views) = (settings.clone(), interface.to_owned(), Arc::clone(views));
        let (socket, silent, forbidden) = (Some(socket), false, false);
        let adjustment = Adjustment { settings, interface, socket, ways, probes, views, silent, forbidden };
        let work = move || adjustment.run(&ended);
        let thread = thread::Builder::new().name("autorate".to_owned()).spawn(work)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Adjuster {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // If it panicked, it has said so.
            let _ = thread.join();
        }
    }
}

fn open(settings: &AutorateSettings, interface: &str) -> io::Result<ProbeSocket> {
    ProbeSocket::open(interface, settings.kind, process::id() as u16)
}

/// A way whose rate is adjusted.
struct AdjustedWay {
    /// Its place among all ways.
    at: usize,
    autorate: Autorate,
    router: Remote,
}

/// Everything that the thread has.
struct Adjustment {
    settings: AutorateSettings,
    interface: String,
    /// `None` while it cannot be opened.
    socket: Option<ProbeSocket>,
    ways: Vec<AdjustedWay>,
    probes: ProbeTable,
    views: AutorateViews,
    /// `true` once the log has said that no probe is answered.
    silent: bool,
    /// `true` once the log has said that a probe is forbidden.
    forbidden: bool,
}

impl Adjustment {
    fn run(mut self, ended: &Receiver<()>) {
        let mut due = now();
        while ended.try_recv() == Err(TryRecvError::Empty) {
            let Some(socket) = &self.socket else {
                wait(None, REOPEN);
                self.socket = open(&self.settings, &self.interface).ok();
                continue;
            };
            wait(Some(socket), due.since(now()));
            if let Err(error) = self.hear() {
                warn!(%error, "autorate: probes fail, and the rate stays");
                self.socket = None;
                continue;
            }
            if now() >= due {
                due = now() + PROBE_INTERVAL;
                self.probe();
            }
        }
    }

    /// Sends the next probe, and has the traffic judged.
    fn probe(&mut self) {
        let Some(socket) = &self.socket else { return };
        let (reflector, number) = self.probes.next();
        let sent = socket.send(reflector, number);
        if let Err(error) = &sent
            && !self.forbidden
        {
            warn!(%reflector, %error, "autorate: a firewall, or IPAddressDeny= of the systemd unit, forbids probes there");
            self.forbidden = true;
        }
        let Some(bytes) = socket.bytes() else { return };
        for n in 0..self.ways.len() {
            let way = &mut self.ways[n];
            let decision = way.autorate.traffic(now(), of(way.autorate.config().direction, bytes));
            self.carry_out(n, decision);
        }
        let mut views = lock(&self.views);
        views.iter_mut().flatten().for_each(|view| view.sent += 1);
    }

    /// Takes all probes and answers that were seen.
    fn hear(&mut self) -> io::Result<()> {
        while let Some(socket) = &self.socket
            && let Some(ProbeEvent { at, number, answer }) = socket.receive()?
        {
            let Some(bytes) = socket.bytes() else { continue };
            match answer {
                None => {
                    let Some(reflector) = self.probes.left(number, at) else { continue };
                    for AdjustedWay { autorate, .. } in &mut self.ways {
                        let bytes = of(autorate.config().direction, bytes);
                        autorate.sent(at, reflector, bytes);
                    }
                }
                Some(answer) => self.answered(at, number, answer, bytes),
            }
        }
        Ok(())
    }

    fn answered(&mut self, at: Time, number: u16, answer: ProbeAnswer, bytes: (u64, u64)) {
        let Some((reflector, left)) = self.probes.answered(number) else { return };
        for n in 0..self.ways.len() {
            let autorate = &mut self.ways[n].autorate;
            let direction = autorate.config().direction;
            let decision = autorate.answered(at, reflector, left, delay(direction, answer), of(direction, bytes));
            self.carry_out(n, decision);
        }
        lock(&self.views).iter_mut().flatten().for_each(|view| view.answered += 1);
    }

    /// Has the way's router send at the decided rate, and shows the decision.
    fn carry_out(&mut self, n: usize, decision: Decision) {
        let AdjustedWay { at, router, .. } = &self.ways[n];
        if decision.changes() && !self.settings.dry_run {
            router.set_rate(decision.rate);
        }
        if let Some(Some(view)) = lock(&self.views).get_mut(*at) {
            (view.rate, view.blocker) = (decision.rate, decision.blocker);
            // Most observations ask for no change; those keep the last reason in view.
            if decision.reason != Reason::Held || decision.blocker.is_some() {
                view.reason = decision.reason;
                let place = Reason::ALL.iter().position(|reason| *reason == decision.reason);
                place.into_iter().for_each(|place| view.decisions[place] += 1);
            }
        }
        let silent = decision.reason == Reason::NoAnswers;
        if silent && !self.silent {
            warn!(rate = %decision.rate, "autorate: no probe is answered, and the rate is the least");
        } else if self.silent && matches!(decision.reason, Reason::Raised | Reason::DecayedUp) {
            info!("autorate: probes are answered again");
        }
        self.silent = silent || (self.silent && !matches!(decision.reason, Reason::Raised | Reason::DecayedUp));
    }
}

/// Returns the bytes of a direction: those that the interface has sent, or received.
const fn of(direction: Direction, (sent, received): (u64, u64)) -> u64 {
    match direction {
        Direction::Upload => sent,
        Direction::Download => received,
    }
}

fn delay(direction: Direction, answer: ProbeAnswer) -> ProbeDelay {
    match (answer.one_way_millis, direction) {
        (None, _) => ProbeDelay::RoundTrip,
        (Some((to, _)), Direction::Upload) => ProbeDelay::OneWay(to * 1_000_000),
        (Some((_, back)), Direction::Download) => ProbeDelay::OneWay(back * 1_000_000),
    }
}

/// Waits until the socket has something to read, at most for this time. An interrupted wait is shorter, which is
/// harmless.
fn wait(socket: Option<&ProbeSocket>, most: Duration) {
    let mut ready: Vec<PollFd<'_>> =
        socket.iter().map(|socket| PollFd::new(socket.as_fd(), PollFlags::POLLIN)).collect();
    let millis = u16::try_from(most.as_nanos().div_ceil(1_000_000)).unwrap_or(u16::MAX);
    let _ = poll(&mut ready, PollTimeout::from(millis));
}

/// The probes on their way.
struct ProbeTable {
    reflectors: Vec<Ipv4Addr>,
    last: u16,
    /// By number: the reflector, and the time at which the probe left.
    probes: Vec<Option<(u16, usize, Option<Time>)>>,
}

impl ProbeTable {
    fn new(reflectors: Vec<Ipv4Addr>) -> Self {
        Self { reflectors, last: 0, probes: vec![None; ON_THE_WAY] }
    }

    /// Returns the reflector and the number of the next probe.
    fn next(&mut self) -> (Ipv4Addr, u16) {
        self.last = self.last.wrapping_add(1);
        let reflector = usize::from(self.last) % self.reflectors.len();
        self.probes[usize::from(self.last) % ON_THE_WAY] = Some((self.last, reflector, None));
        (self.reflectors[reflector], self.last)
    }

    /// Notes that a probe leaves, and returns its reflector; `None` if it is not known or has left before.
    fn left(&mut self, number: u16, at: Time) -> Option<usize> {
        let (of, reflector, left) = self.probes[usize::from(number) % ON_THE_WAY].as_mut()?;
        if *of != number || left.is_some() {
            return None;
        }
        *left = Some(at);
        Some(*reflector)
    }

    /// Returns the reflector of a probe that was answered for the first time, and the time at which it left.
    fn answered(&mut self, number: u16) -> Option<(usize, Time)> {
        let place = &mut self.probes[usize::from(number) % ON_THE_WAY];
        let (reflector, left) =
            place.filter(|(of, ..)| *of == number).and_then(|(_, reflector, left)| Some((reflector, left?)))?;
        *place = None;
        Some((reflector, left))
    }
}

fn lock(views: &AutorateViews) -> MutexGuard<'_, Vec<Option<AutorateView>>> {
    views.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reflectors take turns, and each probe counts once. Would catch an answer that is taken for that of another
    /// probe, 1024 later.
    #[test]
    fn each_probe_has_one_answer() {
        let addresses = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
        let mut probes = ProbeTable::new(addresses.to_vec());
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        assert_eq!((probes.next(), probes.next()), ((addresses[1], 1), (addresses[0], 2)));
        assert_eq!((probes.left(1, at(5)), probes.left(1, at(6)), probes.left(9, at(6))), (Some(1), None, None));
        assert_eq!((probes.answered(2), probes.answered(1), probes.answered(1)), (None, Some((1, at(5))), None));
        probes.left(2, at(7));
        for _ in 0..ON_THE_WAY {
            probes.next();
        }
        assert_eq!(probes.answered(2), None);
    }

    #[test]
    fn each_direction_has_its_bytes_and_its_delay() {
        let bytes = (1, 2);
        assert_eq!([Direction::Upload, Direction::Download].map(|direction| of(direction, bytes)), [1, 2]);
        let answer = ProbeAnswer { one_way_millis: Some((3, -4)) };
        assert_eq!(delay(Direction::Upload, answer), ProbeDelay::OneWay(3_000_000));
        assert_eq!(delay(Direction::Download, answer), ProbeDelay::OneWay(-4_000_000));
        let echo = ProbeAnswer { one_way_millis: None };
        assert_eq!(delay(Direction::Download, echo), ProbeDelay::RoundTrip);
    }
}
