//! A shell from its start to its end.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{self, JoinHandle};

use fairlane_lab::{HostedCounts, HostedFlows, Lateness, Timeline};
use fairlane_linux::rtnetlink::{Route, RouteSocket, VethEnd};
use fairlane_outcome::Run;
use fairlane_qdisc::{Duration, Seed};
use fairlane_scenario::Scenario;
use nix::poll::{PollFd, PollFlags, poll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::unistd::{Pid, getpgrp};

use crate::address::{Addresses, PREFIXES};
use crate::error::{ShellError, setup};
use crate::flows::RunningFlows;
use crate::isolate::{INTERFACE, Inside, Interior, Message, Network, TcpSettings, resolver};
use crate::outcome::outcome;
use crate::path::{Capture, Direction, Ends, LinkPath, LinkResults, LinkSample, Shared, Signalled};
use crate::plan::ShellPlan;
use crate::relay::{Destinations, Gate, Namespace, OUT, Relay, Retransmitted, Served};
use crate::server::Server;
use crate::sys::{foreground, set_foreground};

/// The interfaces of the link's namespace.
const NEAR: &str = "near";
const FAR: &str = "far";

/// The hardware addresses: both hosts have the same, since they resolve none.
const HOST: [u8; 6] = [2, 0, 0, 0, 0, 1];
const BRIDGE: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Signals that come to this process and are the command's.
const FOR_COMMAND: [Signal; 6] =
    [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGUSR1, Signal::SIGUSR2];

/// The interval at which the threads of the link are looked at, and samples are passed on.
const LOOK_MS: u16 = 500;

/// The exit code of a command that was killed.
const KILLED: u8 = 128 + Signal::SIGKILL as u8;

/// A port of the caller's host that leads to a port inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listen {
    /// Where the caller's host listens.
    pub at: SocketAddr,
    /// The port inside.
    pub port: u16,
}

/// The properties of a shell apart from its scenario.
#[derive(Clone, Debug)]
pub struct Options {
    /// TCP asks for ECN, inside and at the far end.
    pub ecn: bool,
    /// The congestion control of TCP inside and at the far end; `None`: the system's.
    pub congestion: Option<String>,
    /// The MTU of the link in bytes.
    pub mtu: u32,
    /// The scenario's own flows run next to the command.
    pub flows: bool,
    /// The file for a capture of the packets that have crossed the link.
    pub pcap: Option<PathBuf>,
    /// The ports that lead inside.
    pub listen: Vec<Listen>,
    /// A command that runs at the far end while the shell's own command runs, which starts when this one listens; none
    /// if it is empty.
    pub server: Vec<OsString>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ecn: false,
            congestion: None,
            mtu: 1500,
            flows: false,
            pcap: None,
            listen: Vec::new(),
            server: Vec::new(),
        }
    }
}

/// The link over time, while the command runs.
pub struct Follow<'a> {
    /// The interval between samples. The last one is at the end.
    pub every: Duration,
    /// Is called with each sample, some time after it was taken. It does not hold up packets.
    pub hear: &'a mut dyn FnMut(LinkSample),
}

/// A scenario whose link a command can be put behind.
#[derive(Clone, Debug)]
pub struct Shell {
    plan: ShellPlan,
    options: Options,
}

/// A command that has ended, and what its link counted.
#[derive(Debug)]
pub struct Ended {
    /// The command's exit code, or 128 and the number of the signal that ended it.
    pub code: u8,
    /// The counts; the engine is `shell`. The first queue is that of packets towards the command, the second that of
    /// packets from it. Each flow is a five-tuple in one direction.
    pub run: Run,
    /// How late packets were delivered.
    pub lateness: Lateness,
    /// Frames that were lost outside of the link, since the machine was too slow.
    pub lost_frames: u64,
    /// By direction, the seconds in which the discipline dropped or marked packets. If the link was not used then, the
    /// discipline limited the throughput and not the link.
    pub signalled: [Signalled; 2],
    /// The reason why the capture lacks packets, such as a full disk; `None` if it has all, or none was asked for.
    pub capture_failed: Option<io::Error>,
    /// The [server](Options::server) ended before the command.
    pub server_ended: bool,
    /// The scenario's own flows, by their counts at both ends; none unless [`Options::flows`] asks for them.
    pub flows: Vec<HostedCounts>,
}

impl Shell {
    /// Returns a shell behind the only link of `scenario`, whose forward direction is towards the command.
    ///
    /// # Errors
    /// A shell does not support the scenario, or its flows are asked for and there are none.
    pub fn new(scenario: &Scenario, options: Options) -> Result<Self, ShellError> {
        Ok(Self { plan: ShellPlan::new(scenario, options.flows)?, options })
    }

    /// Runs `command` behind the link until it ends, and samples the link for `follow`. Called while the process has
    /// one thread.
    ///
    /// # Errors
    /// The namespaces cannot be created, the command cannot be executed, or the link has failed.
    pub fn run(&self, command: &[OsString], follow: Option<Follow<'_>>) -> Result<Ended, ShellError> {
        let addresses = Addresses::here();
        let has_ipv6 = UdpSocket::bind("[::]:0").and_then(|socket| socket.connect("[2000::1]:9")).is_ok();
        let destinations = Destinations::new(addresses, resolver());
        let tcp = TcpSettings { ecn: self.options.ecn, congestion: self.options.congestion.clone() };
        tcp.check()?;
        let network = Network { addresses, tcp, has_ipv6 };
        let interior = Interior { command: command.to_vec(), network: Some(network.clone()) };
        let flows = self.options.flows.then(|| HostedFlows::new(&self.plan.scenario)).transpose()?;
        let in_foreground = foreground(io::stdin()) == Some(getpgrp());
        let mut inside = Inside::create(&interior)?;
        let server = &self.options.server;
        let server = (!server.is_empty()).then(|| Server::start(server)).transpose()?;
        // After the server, which would inherit these sockets and be taken for one that listens.
        let served = self.served(addresses)?;
        // The command has the mask from before. From here on signals are read.
        let signals: SigSet = FOR_COMMAND.into_iter().collect();
        let before = signals.thread_swap_mask(SigmaskHow::SIG_BLOCK).map_err(setup("signals"))?;
        allow_descriptors();
        let timeline = Timeline::new(follow.as_ref().map(|follow| follow.every));
        let (running, samples) = self.start(&network, inside.pid, destinations, served, timeline)?;
        let mut follower = Follower { samples, follow };
        inside.set_up()?;
        let flows = flows.map(|flows| RunningFlows::start(flows, inside.pid, &running.far, addresses)).transpose()?;
        inside.start()?;
        let ended = supervise(&mut inside, &signals, &running, &mut follower);
        let counts = flows.map_or(Ok(Vec::new()), RunningFlows::stop);
        let results = running.stop();
        follower.pass_on();
        let server_ended = server.as_ref().is_some_and(Server::has_ended);
        server.into_iter().for_each(Server::end);
        if in_foreground {
            restore_terminal();
        }
        forget(&signals).map_err(setup("signals"))?;
        before.thread_set_mask().map_err(setup("signals"))?;
        let (results, retransmitted) = results?;
        Ok(Ended { flows: counts?, server_ended, ..outcome(&self.plan.scenario, ended?, results, &retransmitted) })
    }

    /// Opens the ports that lead inside.
    fn served(&self, addresses: Addresses) -> Result<Vec<Served>, ShellError> {
        let [inside, _] = addresses.inside();
        let open = |listen: &Listen| {
            let listener = TcpListener::bind(listen.at).map_err(setup(format!("listening at {}", listen.at)))?;
            Ok(Served { listener, inside: SocketAddr::new(inside, listen.port) })
        };
        self.options.listen.iter().map(open).collect()
    }

    /// Creates the namespaces of the link and of its far end, and starts the link and the relay.
    fn start(
        &self,
        network: &Network,
        inside: Pid,
        destinations: Destinations,
        served: Vec<Served>,
        timeline: Timeline,
    ) -> Result<(Running, Receiver<LinkSample>), ShellError> {
        let (far, between) = (Namespace::new("shell-far")?, Namespace::new("shell-link")?);
        let (mtu, far_id, addresses, tcp) = (self.options.mtu, far.id(), network.addresses, network.tcp.clone());
        between.run(move || join(inside, far_id, mtu)).map_err(setup("the interfaces of the link"))?;
        far.run(move || far_end(addresses, &tcp)).map_err(setup("the far end of the link"))?;
        let directions = {
            let link = self.plan.link.clone();
            let seed = Seed::new(self.plan.scenario.seed).numbered(0);
            let [down_timeline, up_timeline] = [timeline.clone(), timeline.clone()];
            let open = move || {
                let reverse = format!("{}/reverse", link.name);
                let (down, up): (Ends<'_>, Ends<'_>) = ([FAR, NEAR], [NEAR, FAR]);
                let down = Direction::open(&link.forward, &link.name, down, seed, down_timeline);
                let up = Direction::open(&link.reverse, &reverse, up, seed, up_timeline);
                Ok(down.and_then(|down| Ok([down, up?])))
            };
            between.run(open).map_err(setup("the link"))??
        };
        let wake = || EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK).map_err(setup("an eventfd"));
        let shared = Arc::new(Shared { over: AtomicBool::new(false), wake: wake()? });
        let relay_wake = Arc::new(wake()?);
        let ((contact, contacts), (answer, answers)) = (channel(), channel());
        let gate = Gate::new(addresses.gateway());
        let capture = self.options.pcap.as_deref().map(Capture::create).transpose()?;
        let (sample, samples) = channel();
        let followed = (timeline, sample);
        let path =
            LinkPath::new(directions, gate, (contact, answers), relay_wake.clone(), shared.clone(), capture, followed);
        let far = Arc::new(far);
        let wakes = (relay_wake.clone(), shared.clone());
        let relay =
            Relay::new(far.clone(), destinations, (contacts, answer), wakes, served).map_err(setup("the relay"))?;
        let thread = |name: &str| thread::Builder::new().name(name.to_owned());
        let link = thread("shell-path").spawn(move || path.run()).map_err(setup("a thread"))?;
        let over = shared.clone();
        let relay = thread("shell-relay").spawn(move || relay.run(&over.over)).map_err(setup("a thread"))?;
        Ok((Running { end: End { shared, relay_wake }, far, link, relay }, samples))
    }
}

/// Passes samples of the link on.
struct Follower<'a> {
    samples: Receiver<LinkSample>,
    follow: Option<Follow<'a>>,
}

impl Follower<'_> {
    /// Passes on the samples that were taken since the last call.
    fn pass_on(&mut self) {
        if let Some(follow) = &mut self.follow {
            self.samples.try_iter().for_each(&mut follow.hear);
        }
    }
}

/// The threads of a link.
struct Running {
    end: End,
    far: Arc<Namespace>,
    link: JoinHandle<io::Result<LinkResults>>,
    relay: JoinHandle<io::Result<Vec<Retransmitted>>>,
}

impl Running {
    /// Returns `true` if a thread has ended though it was not told to.
    fn has_failed(&self) -> bool {
        self.link.is_finished() || self.relay.is_finished()
    }

    /// Ends the link and returns its counts, and the retransmissions at the far end.
    fn stop(self) -> Result<(LinkResults, Vec<Retransmitted>), ShellError> {
        drop(self.end);
        let gone = || io::Error::other("its thread ended");
        let retransmitted = self.relay.join().unwrap_or_else(|_| Err(gone()));
        let results = self.link.join().unwrap_or_else(|_| Err(gone()));
        Ok((results.map_err(ShellError::Link)?, retransmitted.map_err(ShellError::Link)?))
    }
}

/// Dropping it ends the threads of a link.
struct End {
    shared: Arc<Shared>,
    relay_wake: Arc<EventFd>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        // A thread that has ended needs no waking.
        let _ = (self.shared.wake.write(1), self.relay_wake.write(1));
    }
}

/// Passes signals on, and waits until the command has ended. Returns its exit code.
fn supervise(
    inside: &mut Inside,
    signals: &SigSet,
    running: &Running,
    follower: &mut Follower<'_>,
) -> Result<u8, ShellError> {
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signal_fd = SignalFd::with_flags(signals, flags).map_err(setup("signals"))?;
    // Signals that come before the command has started wait.
    let mut started = false;
    loop {
        let heard = if started { PollFlags::POLLIN } else { PollFlags::empty() };
        let mut ready = [PollFd::new(inside.as_fd(), PollFlags::POLLIN), PollFd::new(signal_fd.as_fd(), heard)];
        // An interrupted wait is repeated.
        let _ = poll(&mut ready, LOOK_MS);
        let [message, signal] = ready.map(|one| one.any() == Some(true));
        follower.pass_on();
        if running.has_failed() {
            let _ = kill(inside.pid, Signal::SIGKILL);
            return Ok(KILLED);
        }
        if signal {
            pass_on(&signal_fd, inside.pid);
        }
        if message {
            match inside.message() {
                Some(Message::Ready) => {}
                Some(Message::Started) => started = true,
                Some(Message::Ended(code)) => return Ok(code),
                Some(Message::Failed(reason)) => return Err(ShellError::Inside(reason)),
                Some(Message::NoCommand(reason, code)) => return Err(ShellError::Command(reason, code)),
                // Someone has killed it, and with it all that was inside.
                None => return Ok(KILLED),
            }
        }
    }
}

/// Sends the signals that have come to `to`. The terminal sends its own to the command too.
fn pass_on(signals: &SignalFd, to: Pid) {
    while let Ok(Some(info)) = signals.read_signal() {
        let of_terminal = info.ssi_code > 0;
        if let Ok(signal) = Signal::try_from(info.ssi_signo as i32)
            && !of_terminal
        {
            // It may have ended.
            let _ = kill(to, signal);
        }
    }
}

/// Forgets the signals that came after the command's end: there is nobody to pass them on to, and the results are to be
/// kept.
fn forget(signals: &SigSet) -> nix::Result<()> {
    let waiting = SignalFd::with_flags(signals, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?;
    while let Ok(Some(_)) = waiting.read_signal() {}
    Ok(())
}

/// Raises this process's limit of open files as far as it may: each connection has two here.
fn allow_descriptors() {
    if let Ok((_, most)) = getrlimit(Resource::RLIMIT_NOFILE) {
        // With the limit from before there may be fewer connections.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, most, most);
    }
}

/// Makes this process group the foreground one again, which a shell with job control has taken from it.
fn restore_terminal() {
    let stop: SigSet = [Signal::SIGTTOU].into_iter().collect();
    if stop.thread_block().is_ok() {
        // Standard input may be no terminal, or another group's.
        let _ = set_foreground(io::stdin(), getpgrp());
    }
}

/// Connects the link's namespace, which is this thread's, with those of the command and of the far end.
fn join(inside: Pid, far: u32, mtu: u32) -> io::Result<()> {
    let route = RouteSocket::open()?;
    let end = |name, address, namespace_of| VethEnd { name, address, namespace_of };
    route.add_veth([end(NEAR, BRIDGE, None), end(INTERFACE, HOST, Some(inside.as_raw() as u32))], mtu)?;
    route.add_veth([end(FAR, BRIDGE, None), end(OUT, HOST, Some(far))], mtu)?;
    for interface in [NEAR, FAR] {
        set(&format!("net/ipv6/conf/{interface}/disable_ipv6"), "1");
        route.set_up(interface, false)?;
    }
    Ok(())
}

/// Sets up the far end in its namespace, which is this thread's: all addresses are its own, so that the relay can
/// accept connections to any.
fn far_end(addresses: Addresses, tcp: &TcpSettings) -> io::Result<()> {
    let route = RouteSocket::open()?;
    route.set_up("lo", true)?;
    set(&format!("net/ipv6/conf/{OUT}/addr_gen_mode"), "1");
    set(&format!("net/ipv6/conf/{OUT}/router_solicitations"), "0");
    set(&format!("net/ipv6/conf/{OUT}/disable_ipv6"), "0");
    tcp.apply()?;
    route.set_up(OUT, false)?;
    let [gateway4, gateway6] = addresses.gateway();
    route.add_address(OUT, gateway4, PREFIXES[0])?;
    let local = |to: IpAddr| Route { to: (to, 0), via: None, interface: "lo", local: true };
    route.add_route(&local(Ipv4Addr::UNSPECIFIED.into()))?;
    // The kernel may have no IPv6.
    if route.add_address(OUT, gateway6, PREFIXES[1]).is_ok() {
        route.add_route(&local(std::net::Ipv6Addr::UNSPECIFIED.into()))?;
    }
    Ok(())
}

/// Sets a parameter of the kernel in this thread's network namespace, if it has it.
fn set(name: &str, value: &str) {
    // Without IPv6 there is no such parameter.
    let _ = fs::write(format!("/proc/sys/{name}"), value);
}
