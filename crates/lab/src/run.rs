//! Runs of a scenario, and their outcome.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, channel};
use std::time;

use fairlane_linux::now;
use fairlane_outcome::{Cost, Expected, FlowRun, FlowSample, Run};
use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{KernelDiscipline, Scenario};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::unistd::{Gid, Uid};

use crate::address::IpVersion;
use crate::check::Checks;
use crate::error::{LabError, setup};
use crate::hosts::receiver::{Receiver, ReceiverResults};
use crate::hosts::sender::{Sender, SenderResults, SenderSample};
use crate::in_kernel::{InKernel, Installer};
use crate::network::Network;
use crate::network::node::Node;
use crate::plan::LabPlan;
use crate::router::{LabRouter, RouterResults};
use crate::samples::{LabSample, monotonic};
use crate::timeline::Timeline;
use crate::user_namespace::enter_user_namespace;
use crate::verify::CheckInput;

/// The time between the end of the setup and time zero of the scenario.
const HEAD_START: Duration = Duration::from_millis(50);

/// The maximum time after the measurement until all counts are available.
const COUNTING: Duration = Duration::from_millis(10_000);

/// The interval at which the lab checks whether it was interrupted.
const POLL_INTERVAL: time::Duration = time::Duration::from_millis(20);

/// The number of file descriptors needed in addition to those of the flows.
const DESCRIPTORS: u64 = 128;

/// A scenario that the lab supports, on a machine that can run the lab.
///
/// Each run creates its own network namespaces and removes them. A run needs the machine's processors for itself:
/// execute one run at a time.
#[derive(Clone, Debug)]
pub struct Lab {
    plan: LabPlan,
    /// The sampling interval; `None` for no samples.
    every: Option<Duration>,
    /// The discipline of the kernel in place of the library's; `None` for the library's.
    in_kernel: Option<InKernel>,
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The outcome; its engine is `linux`, or `kernel` if the queue is [the kernel's own](Lab::with_kernel_discipline),
    /// or that of an [installer](Lab::with_installed).
    pub run: Run,
    /// The checks that the queue was the bottleneck. All of them passed.
    pub checks: Checks,
    /// The samples over time, if they were [requested](Lab::sampled).
    pub samples: Vec<LabSample>,
}

impl Lab {
    /// Checks that `scenario` can be run on this machine, over this version of IP. A process that may not create
    /// network namespaces moves to a user namespace, which it can while it has one thread.
    ///
    /// # Errors
    /// The lab does not support the scenario, the user may not create namespaces, or the kernel or a tool lacks
    /// something.
    pub fn new(scenario: &Scenario, ip_version: IpVersion) -> Result<Self, LabError> {
        let plan = LabPlan::new(scenario, ip_version)?;
        let tool = |name, option| Command::new(name).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status();
        tool("ip", "-V").map_err(|_| LabError::NoTool("ip", "iproute2"))?;
        if !may_create_namespaces() {
            // The tools have the rights of the namespace's root.
            enter_user_namespace(Uid::from_raw(0), Gid::from_raw(0)).map_err(LabError::NotPermitted)?;
        }
        let tried = plan.clone();
        Node::new("lab-trial")?.run(move || tried.check_kernel())?;
        Ok(Self { plan, every: None, in_kernel: None })
    }

    /// Checks that `scenario` can be run by the lab over this version of IP on some machine. This machine is not looked
    /// at.
    ///
    /// # Errors
    /// The lab does not support the scenario.
    pub fn elsewhere(scenario: &Scenario, ip_version: IpVersion) -> Result<Self, LabError> {
        Ok(Self { plan: LabPlan::new(scenario, ip_version)?, every: None, in_kernel: None })
    }

    /// Returns the differences between the TCP of Linux and that of the simulator for this scenario, a sentence for
    /// each.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        self.plan.differences()
    }

    /// Returns the lab with the kernel's own discipline in place of the library's, and that discipline.
    ///
    /// # Errors
    /// The kernel has no such discipline.
    pub fn with_kernel_discipline(self) -> Result<(Self, KernelDiscipline), LabError> {
        let discipline = self.plan.kernel_discipline()?;
        Ok((Self { in_kernel: Some(InKernel::Own(discipline.clone())), ..self }, discipline))
    }

    /// Returns the lab with a discipline of the kernel, which `installer` installs, in place of the library's.
    ///
    /// # Errors
    /// The link cannot be in the kernel.
    pub fn with_installed(self, installer: Installer) -> Result<Self, LabError> {
        self.plan.check_kernel_link()?;
        Ok(Self { in_kernel: Some(InKernel::Installed(installer)), ..self })
    }

    /// Takes samples at the interval `every`, and at the end of the run; none for `None`.
    #[must_use]
    pub fn sampled(self, every: impl Into<Option<Duration>>) -> Self {
        Self { every: every.into(), ..self }
    }

    /// Runs the scenario once, in real time. `run` is the number of the run, from 0. When `stopped` returns `true`, the
    /// run ends early with the results so far.
    ///
    /// # Errors
    /// The network cannot be created, the run was stopped before the measurement began, or a check failed.
    pub fn run(&self, run: u32, stopped: &dyn Fn() -> bool) -> Result<Measured, LabError> {
        let plan = &self.plan;
        let began = now();
        allow_descriptors(2 * plan.flows.len() as u64 + DESCRIPTORS)?;
        let network = Network::new(plan, self.in_kernel.is_some())?;
        // IPv6 may speak before both ends of an interface are up.
        let dropped_before = network.interface_drops()?;
        let seed = Seed::new(plan.scenario.seed).numbered(u64::from(run));
        let ended =
            RunningParts::start(&network, plan, seed, &Timeline::new(self.every), self.in_kernel.clone(), stopped)?
                .play(plan, stopped)?;
        let interface_drops = network.interface_drops()? - dropped_before;
        let PartResults { sent, routed, received, timeline, cut } = ended;
        let results = CheckInput { plan, sent: &sent, routed: &routed, received: &received, interface_drops };
        let checks = results.checks();
        if !checks.hold() {
            return Err(LabError::NotTheBottleneck(checks));
        }
        let mut measured = outcome(plan, run, &sent, &routed, &received);
        measured.to_s = timeline.to().since(timeline.start()).as_secs();
        if let Some(discipline) = &self.in_kernel {
            measured.engine = discipline.engine().into();
        }
        measured.partial = cut;
        measured.cost.wall_s = now().since(began).as_secs();
        let samples = samples(plan, timeline.start(), &sent, &routed, &received);
        Ok(Measured { run: measured, checks, samples })
    }
}

/// The parts of a run, each in its namespace. Dropping it ends them.
struct RunningParts {
    timeline: Timeline,
    routed: Channel<Result<RouterResults, LabError>>,
    /// One for each side from which data come.
    received: Vec<Channel<Result<ReceiverResults, LabError>>>,
    sent: Vec<Channel<Result<SenderResults, LabError>>>,
}

impl Drop for RunningParts {
    fn drop(&mut self) {
        self.timeline.end();
    }
}

/// The results of all parts.
struct PartResults {
    sent: SenderResults,
    routed: RouterResults,
    received: ReceiverResults,
    timeline: Timeline,
    cut: bool,
}

impl RunningParts {
    /// Starts the parts one after the other, each when the one before is ready.
    fn start(
        network: &Network,
        plan: &LabPlan,
        seed: Seed,
        timeline: &Timeline,
        in_kernel: Option<InKernel>,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, LabError> {
        let routed = {
            let (plan, timeline) = (plan.clone(), timeline.clone());
            begin(&network.router, move |ready| {
                let router = LabRouter::new(&plan, seed, in_kernel)?;
                ready();
                router.run(&timeline)
            })
        };
        // From here on an error ends the parts that have been started.
        let mut parts = Self { timeline: timeline.clone(), routed: routed.1, received: Vec::new(), sent: Vec::new() };
        wait_for(&routed.0, &parts.routed, stopped)?;
        for side in plan.sides() {
            let (plan, timeline) = (plan.clone(), timeline.clone());
            let (ready, received) = begin(network.hosts(side.other()), move |ready| {
                let receiver = Receiver::new(&plan, side)?;
                ready();
                receiver.run(&timeline)
            });
            wait_for(&ready, &received, stopped)?;
            parts.received.push(received);
        }
        for side in plan.sides() {
            let (plan, timeline) = (plan.clone(), timeline.clone());
            let (ready, sent) = begin(network.hosts(side), move |ready| {
                let sender = Sender::new(&plan, side, seed, &timeline)?;
                ready();
                sender.run(&timeline)
            });
            wait_for(&ready, &sent, stopped)?;
            parts.sent.push(sent);
        }
        Ok(parts)
    }

    /// Waits until the scenario has run.
    fn play(self, plan: &LabPlan, stopped: &dyn Fn() -> bool) -> Result<PartResults, LabError> {
        let (timeline, scenario) = (&self.timeline, &plan.scenario);
        timeline.begin(now() + HEAD_START, scenario.warmup, scenario.duration);
        let parts = (1 + self.sent.len() + self.received.len()) as u32;
        let mut cut = false;
        while timeline.measured() < parts {
            // A part that ends before it is told to has failed.
            match self.routed.recv_timeout(POLL_INTERVAL) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Err(error)) => return Err(error),
                Ok(Ok(_)) | Err(RecvTimeoutError::Disconnected) => return Err(gone("the router")),
            }
            self.sent.iter().try_for_each(failure)?;
            self.received.iter().try_for_each(failure)?;
            let now = now();
            if !cut && now < timeline.to() && stopped() {
                if now <= timeline.from() {
                    return Err(LabError::Interrupted);
                }
                cut = true;
                timeline.cut(now);
            }
            if timeline.to() != Time::MAX && now > timeline.to() + COUNTING {
                return Err(gone("counting"));
            }
        }
        timeline.end();
        Ok(PartResults {
            routed: self.routed.recv().unwrap_or_else(|_| Err(gone("the router")))?,
            sent: joined(&self.sent, "the senders", |all, other| all.join(&other))?,
            received: joined(&self.received, "the receivers", ReceiverResults::join)?,
            timeline: timeline.clone(),
            cut,
        })
    }
}

/// Returns the error of a part that has failed.
fn failure<T>(part: &Channel<Result<T, LabError>>) -> Result<(), LabError> {
    match part.try_recv() {
        Ok(Err(error)) => Err(error),
        Ok(Ok(_)) | Err(_) => Ok(()),
    }
}

/// Returns the results of both sides as one.
fn joined<T>(
    parts: &[Channel<Result<T, LabError>>],
    name: &'static str,
    join: impl Fn(T, T) -> T,
) -> Result<T, LabError> {
    let mut results = parts.iter().map(|part| part.recv().unwrap_or_else(|_| Err(gone(name))));
    let first = results.next().unwrap_or_else(|| Err(gone(name)))?;
    results.try_fold(first, |all, result| Ok(join(all, result?)))
}

/// Starts a part. Returns a channel that signals that it is ready, and one for its result.
fn begin<T: Send + 'static>(
    node: &Node,
    part: impl FnOnce(&dyn Fn()) -> Result<T, LabError> + Send + 'static,
) -> (Channel<()>, Channel<Result<T, LabError>>) {
    let (tell, told) = channel();
    let result = node.start(move || {
        part(&|| {
            // If another part has failed, nobody waits for this signal.
            let _ = tell.send(());
        })
    });
    (told, result)
}

/// Waits until a part is ready, or returns its error.
fn wait_for<T>(
    ready: &Channel<()>,
    result: &Channel<Result<T, LabError>>,
    stopped: &dyn Fn() -> bool,
) -> Result<(), LabError> {
    loop {
        match ready.recv_timeout(POLL_INTERVAL) {
            Ok(()) => return Ok(()),
            Err(RecvTimeoutError::Timeout) if stopped() => return Err(LabError::Interrupted),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match result.recv() {
        Ok(Err(error)) => Err(error),
        Ok(Ok(_)) | Err(_) => Err(gone("a part")),
    }
}

fn gone(part: &'static str) -> LabError {
    LabError::Failed(part, io::Error::other("it ended too early"))
}

/// Returns `true` if this process has the capability to create network namespaces.
fn may_create_namespaces() -> bool {
    const SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    effective.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).is_some_and(|set| set & SYS_ADMIN != 0)
}

/// Raises the limit of open files to `wanted` if necessary.
fn allow_descriptors(wanted: u64) -> Result<(), LabError> {
    let failed = || setup("files that may be open");
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed())?;
    if soft >= wanted {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).map_err(failed())
}

/// Returns the samples that all parts have taken.
fn samples(
    plan: &LabPlan,
    start: Time,
    sent: &SenderResults,
    routed: &RouterResults,
    received: &ReceiverResults,
) -> Vec<LabSample> {
    let mut flows = vec![FlowSample::default(); plan.flows.len()];
    let mut samples = Vec::new();
    for ((routed, sent_by), came) in routed.samples.iter().zip(&sent.samples).zip(&received.samples) {
        for (id, last) in flows.iter_mut().enumerate() {
            let (SenderSample { sent: sent_here, cwnd, srtt }, came) = (sent_by[id], came[id]);
            // Data cross one of the ways, acknowledgements the other.
            let way = plan.place(id as u32);
            let now = FlowSample {
                flow: id as u32,
                sent: sent_here.packets,
                retransmitted: sent_here.again,
                timeouts: sent_here.timeouts,
                cwnd,
                srtt,
                delivered: came.packets,
                delivered_bytes: came.delivered_bytes(plan, id as u32),
                unique_bytes: whole(plan, sent, id, came.bytes),
                dropped: routed.ways[way].dropped[id],
                lost: routed.ways[way].lost[id],
            };
            *last = monotonic(last, now);
        }
        let queues = routed.ways.iter().map(|way| way.queue).collect();
        samples.push(LabSample { at: routed.at.since(start), queues, flows: flows.clone() });
    }
    samples
}

/// Returns the bytes of the whole packets that carry this many bytes, headers included. Those of UDP count whole
/// packets.
fn whole(plan: &LabPlan, sent: &SenderResults, id: usize, data: u64) -> u64 {
    if plan.is_udp(id as u32) {
        return data;
    }
    data * plan.group(id as u32).packet.get() / sent.payloads[id].max(1)
}

/// Returns the outcome, without the end of the measurement and the elapsed time.
fn outcome(plan: &LabPlan, run: u32, sent: &SenderResults, routed: &RouterResults, received: &ReceiverResults) -> Run {
    let scenario = &plan.scenario;
    let names = scenario.flows.iter().map(|group| group.name.clone());
    let transports: Vec<Arc<str>> = scenario.flows.iter().map(|group| plan.transport(group).into()).collect();
    let flow = |id: usize| {
        let (group, (place, index)) = (plan.group(id as u32), plan.flows[id]);
        let (sent_here, came) = (sent.flows[id], received.flows[id]);
        let way = &routed.ways[plan.place(id as u32)].counts;
        let at_queue = &way.queue.flows[id];
        FlowRun {
            id: id as u32,
            name: format!("{}/{index}", group.name).into(),
            group: group.name.as_str().into(),
            kind: group.traffic.kind().into(),
            transport: transports[place].clone(),
            exit: Some(plan.place(id as u32)),
            sent: sent_here.packets,
            delivered: came.packets,
            unique_bytes: whole(plan, sent, id, came.bytes),
            dropped: at_queue.dropped.iter().sum::<u64>() + way.dropped_at_hosts[id],
            lost: at_queue.lost,
            retransmitted: sent_here.again,
            timeouts: sent_here.timeouts,
            completions_ns: plan.has_transfers(id as u32).then(|| received.completions[id].clone()),
            ..FlowRun::default()
        }
    };
    Run {
        scenario: scenario.name.clone(),
        engine: "linux".into(),
        seed: scenario.seed,
        run,
        from_s: scenario.warmup.as_secs(),
        to_s: scenario.duration.as_secs(),
        partial: false,
        queues: routed.ways.iter().map(|way| way.counts.queue.clone()).collect(),
        flows: (0..plan.flows.len()).map(flow).collect(),
        cost: Cost { events: routed.packets, packet_hops: routed.packets, ..Cost::default() },
        expected: Expected { fair_bps: names.zip(scenario.fair_rates()).collect(), notes: scenario.limit_notes() },
    }
}
