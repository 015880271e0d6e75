//! A scenario is run, and what was measured becomes an outcome.

use std::io;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver as Channel, RecvTimeoutError, channel};
use std::time;

use fairlane_outcome::{Cost, FlowRun, FlowSample, Run};
use fairlane_qdisc::{Duration, Seed, Time};
use fairlane_scenario::{FlowGroup, Scenario, Traffic};
use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::clock::now;
use crate::nfqueue::{Copied, Setup};
use crate::rules::Firewall;
use crate::socket::QueueSocket;

use super::checks::{Checks, Results};
use super::error::{LabError, setup};
use super::moments::{Moment, not_before};
use super::network::{Network, lead_to_queues};
use super::node::Node;
use super::plan::Plan;
use super::receiver::{AllReceived, Receiver};
use super::router::{Routed, Router};
use super::sender::{AllSent, Sender, SentBy};
use super::stage::Stage;

/// Senders, router, receivers.
const PARTS: u32 = 3;

/// From the moment when everything is ready to the scenario's time zero.
const HEAD_START: Duration = Duration::from_millis(50);

/// How long after the end of the window its counts may take to come in.
const COUNTING: Duration = Duration::from_millis(10_000);

/// After how long the lab looks whether it is interrupted.
const LOOK: time::Duration = time::Duration::from_millis(20);

/// Descriptors beside those of the flows.
const DESCRIPTORS: u64 = 128;

/// A scenario that the lab can do, on a machine that can do the lab.
///
/// Each run makes its own network namespaces and removes them. The processors of the machine are the lab's: run one at a time.
#[derive(Clone, Debug)]
pub struct Lab {
    plan: Plan,
    /// After how long, again and again, samples are taken.
    every: Option<Duration>,
}

/// What a run of the lab gave.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What was counted; its engine is `linux`.
    pub run: Run,
    /// What made sure that it is the queue that was measured. All of it holds.
    pub checks: Checks,
    /// What it did over time, if that was [asked for](Lab::sampled).
    pub moments: Vec<Moment>,
}

impl Lab {
    /// Makes sure that `scenario` can be run here. Nothing is changed.
    ///
    /// # Errors
    /// The scenario wants what the lab cannot do, this user may not make namespaces, or the kernel or a tool is missing.
    pub fn new(scenario: &Scenario) -> Result<Self, LabError> {
        let plan = Plan::new(scenario)?;
        let tool = |name, option| Command::new(name).arg(option).stdout(Stdio::null()).stderr(Stdio::null()).status();
        tool("ip", "-V").map_err(|_| LabError::NoTool("ip", "iproute2"))?;
        let tried = plan.clone();
        Node::new("lab-trial")?.run(move || {
            tried.check_kernel()?;
            let setup = Setup { queue: 0, copied: Copied::Headers, most_packets: 1, fail_open: false, gso: false };
            drop(QueueSocket::bind(&setup)?);
            Firewall::find()?;
            Ok(())
        })?;
        Ok(Self { plan, every: None })
    }

    /// Also tells what a run has done, again and again after `every`, and at its end.
    #[must_use]
    pub fn sampled(self, every: Duration) -> Self {
        Self { every: Some(every), ..self }
    }

    /// Runs the scenario once, in real time; `run` is the number of the run, from 0. When `stopped` becomes true, the run ends
    /// early, with what was measured until then.
    ///
    /// # Errors
    /// The network could not be made, the run was stopped before its measurement began, or what was measured is not the queue.
    pub fn run(&self, run: u32, stopped: &dyn Fn() -> bool) -> Result<Measured, LabError> {
        let plan = &self.plan;
        let began = now();
        allow_descriptors(2 * plan.flows.len() as u64 + DESCRIPTORS)?;
        let network = Network::new(plan)?;
        let seed = Seed::new(plan.scenario.seed).numbered(u64::from(run));
        let ended = Parts::start(&network, plan, seed, Stage::new(self.every), stopped)?.play(plan, stopped)?;
        let interface_drops = network.interface_drops()?;
        let Ended { sent, routed, received, stage, cut } = ended;
        let results = Results { plan, sent: &sent, routed: &routed, received: &received, interface_drops };
        let checks = results.checks();
        if !checks.hold() {
            return Err(LabError::NotTheBottleneck(checks));
        }
        let mut measured = outcome(plan, run, &sent, &routed, &received);
        measured.to_s = stage.to().since(stage.start()).as_secs();
        measured.partial = cut;
        measured.cost.wall_s = now().since(began).as_secs();
        let moments = moments(plan, stage.start(), &sent, &routed, &received);
        Ok(Measured { run: measured, checks, moments })
    }
}

/// The parts of a run, each at work in its namespace. Dropping it ends them.
struct Parts {
    stage: Stage,
    routed: Channel<Result<Routed, LabError>>,
    received: Channel<Result<AllReceived, LabError>>,
    sent: Channel<Result<AllSent, LabError>>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        self.stage.end();
    }
}

/// What the parts gave.
struct Ended {
    sent: AllSent,
    routed: Routed,
    received: AllReceived,
    stage: Stage,
    cut: bool,
}

impl Parts {
    /// Starts them one after the other, each when the one before is ready.
    fn start(
        network: &Network,
        plan: &Plan,
        seed: Seed,
        stage: Stage,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, LabError> {
        let routed = {
            let (plan, stage) = (plan.clone(), stage.clone());
            begin(&network.router, move |ready| {
                let router = Router::new(&plan, seed)?;
                lead_to_queues()?;
                ready();
                router.run(&stage)
            })
        };
        let received = {
            let (plan, stage) = (plan.clone(), stage.clone());
            begin(&network.receiver, move |ready| {
                let receiver = Receiver::new(&plan)?;
                ready();
                receiver.run(&stage)
            })
        };
        // From here on whoever has started ends with us.
        let parts = Self { stage: stage.clone(), routed: routed.1, received: received.1, sent: channel().1 };
        wait_for(&routed.0, &parts.routed, stopped)?;
        wait_for(&received.0, &parts.received, stopped)?;
        let plan = plan.clone();
        let sent = begin(&network.sender, move |ready| {
            let sender = Sender::new(&plan, seed, &stage)?;
            ready();
            sender.run(&stage)
        });
        let mut parts = parts;
        parts.sent = sent.1;
        wait_for(&sent.0, &parts.sent, stopped)?;
        Ok(parts)
    }

    /// Lets the scenario's time go by.
    fn play(self, plan: &Plan, stopped: &dyn Fn() -> bool) -> Result<Ended, LabError> {
        let (stage, scenario) = (&self.stage, &plan.scenario);
        stage.begin(now() + HEAD_START, scenario.warmup, scenario.duration);
        let mut cut = false;
        while stage.measured() < PARTS {
            // No part ends before it is told to, unless it fails.
            match self.routed.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Err(error)) => return Err(error),
                Ok(Ok(_)) | Err(RecvTimeoutError::Disconnected) => return Err(gone("the router")),
            }
            if let Ok(Err(error)) = self.sent.try_recv() {
                return Err(error);
            }
            if let Ok(Err(error)) = self.received.try_recv() {
                return Err(error);
            }
            let now = now();
            if !cut && now < stage.to() && stopped() {
                if now <= stage.from() {
                    return Err(LabError::Interrupted);
                }
                cut = true;
                stage.cut(now);
            }
            if stage.to() != Time::MAX && now > stage.to() + COUNTING {
                return Err(gone("counting"));
            }
        }
        stage.end();
        Ok(Ended {
            routed: self.routed.recv().unwrap_or_else(|_| Err(gone("the router")))?,
            sent: self.sent.recv().unwrap_or_else(|_| Err(gone("the senders")))?,
            received: self.received.recv().unwrap_or_else(|_| Err(gone("the receivers")))?,
            stage: stage.clone(),
            cut,
        })
    }
}

/// Starts a part: a channel that says when it is ready, and one for its result.
fn begin<T: Send + 'static>(
    node: &Node,
    part: impl FnOnce(&dyn Fn()) -> Result<T, LabError> + Send + 'static,
) -> (Channel<()>, Channel<Result<T, LabError>>) {
    let (tell, told) = channel();
    let result = node.start(move || {
        part(&|| {
            // Nobody waits for it any more if another part has failed.
            let _ = tell.send(());
        })
    });
    (told, result)
}

/// Waits until a part is ready, or why it is not.
fn wait_for<T>(
    ready: &Channel<()>,
    result: &Channel<Result<T, LabError>>,
    stopped: &dyn Fn() -> bool,
) -> Result<(), LabError> {
    loop {
        match ready.recv_timeout(LOOK) {
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

/// Lets this process have so many files open, if it may not already.
fn allow_descriptors(wanted: u64) -> Result<(), LabError> {
    let failed = || setup("files that may be open");
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).map_err(failed())?;
    if soft >= wanted {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, wanted, hard.max(wanted)).map_err(failed())
}

/// What was done by each moment that all parts have a sample of.
fn moments(plan: &Plan, start: Time, sent: &AllSent, routed: &Routed, received: &AllReceived) -> Vec<Moment> {
    let mut flows = vec![FlowSample::default(); plan.flows.len()];
    let mut moments = Vec::new();
    for ((routed, sent_by), came) in routed.moments.iter().zip(&sent.moments).zip(&received.moments) {
        for (id, last) in flows.iter_mut().enumerate() {
            let (SentBy { sent: sent_here, cwnd, srtt }, came) = (sent_by[id], came[id]);
            let now = FlowSample {
                flow: id as u32,
                sent: sent_here.packets,
                retransmitted: sent_here.again,
                timeouts: sent_here.timeouts,
                cwnd,
                srtt,
                delivered: came.packets,
                delivered_bytes: came.packets * plan.group(id as u32).packet.get(),
                unique_bytes: whole(plan, sent, id, came.bytes),
                dropped: routed.dropped[id],
                lost: 0,
            };
            *last = not_before(last, now);
        }
        moments.push(Moment { at: routed.at.since(start), queue: routed.queue, flows: flows.clone() });
    }
    moments
}

/// Bytes of whole packets that carry so many bytes of data: the data of a packet stands for all of it.
fn whole(plan: &Plan, sent: &AllSent, id: usize, data: u64) -> u64 {
    data * plan.group(id as u32).packet.get() / sent.payloads[id].max(1)
}

/// What was counted, without the end of the window and the cost in time.
fn outcome(plan: &Plan, run: u32, sent: &AllSent, routed: &Routed, received: &AllReceived) -> Run {
    let scenario = &plan.scenario;
    let flow = |id: usize| {
        let (group, (_, index)) = (plan.group(id as u32), plan.flows[id]);
        let (sent_here, came) = (sent.flows[id], received.flows[id]);
        let dropped: u64 = routed.queue.flows[id].dropped.iter().sum();
        FlowRun {
            id: id as u32,
            name: format!("{}/{index}", group.name),
            group: group.name.clone(),
            kind: kind(group),
            exit: Some(0),
            sent: sent_here.packets,
            delivered: came.packets,
            unique_bytes: whole(plan, sent, id, came.bytes),
            dropped: dropped + routed.dropped_at_hosts[id],
            lost: 0,
            retransmitted: sent_here.again,
            timeouts: sent_here.timeouts,
            completions_ns: None,
        }
    };
    Run {
        scenario: scenario.name.clone(),
        engine: "linux",
        seed: scenario.seed,
        run,
        from_s: scenario.warmup.as_secs(),
        to_s: scenario.duration.as_secs(),
        partial: false,
        queues: vec![routed.queue.clone()],
        flows: (0..plan.flows.len()).map(flow).collect(),
        cost: Cost { events: routed.packets, packet_hops: routed.packets, ..Cost::default() },
    }
}

const fn kind(group: &FlowGroup) -> &'static str {
    match group.traffic {
        Traffic::Tcp(_) => "tcp",
        Traffic::Udp(_) => "udp",
        Traffic::Tfrc(_) => "tfrc",
    }
}
