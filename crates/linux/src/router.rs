//! A router: one NFQUEUE, a discipline and the link behind it, in one thread.

use std::io;
use std::os::fd::AsFd;

use fairlane_qdisc::{Duration, Host, ParameterError, QdiscConfig, Rate, Time};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;

use crate::clock::now;
use crate::engine::Engine;
use crate::flow::{FlowKeys, FlowsBy, random_seed};
use crate::kernel::kernel_queue;
use crate::link_layer::LinkLayer;
use crate::nfqueue::{Message, Setup};
use crate::packet::{Held, Marking};
use crate::remote::{Order, Remote};
use crate::report::Report;
use crate::socket::{Batch, BindError, QueueSocket};
use crate::top_flows::TopFlows;

/// How many packets may wait in the kernel: those in our queue, and those on their way to us. It is far above any queue's limit,
/// so that the discipline decides what is dropped. Linux 6.18 holds 65,536 whatever is asked for.
const MOST_PACKETS: u32 = 1_000_000;

/// How often the report is renewed.
const PUBLISH: Duration = Duration::from_millis(250);

/// Waiting in the kernel for less than this takes longer than this.
const SHORT: Duration = Duration::from_nanos(2_000);

/// Beyond every packet that the kernel can have numbered by now: numbers are compared within half of their range.
const AHEAD: u32 = 1 << 30;

/// The link that the queue feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its rate; not 0.
    pub rate: Rate,
    /// What a packet takes on it.
    pub layer: LinkLayer,
}

/// What a router is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct RouterConfig {
    /// The number of the NFQUEUE.
    pub queue: u16,
    /// The link behind it.
    pub link: Link,
    /// The discipline.
    pub discipline: QdiscConfig,
    /// What a flow is.
    pub flows: FlowsBy,
    /// How packets are marked.
    pub marking: Marking,
    /// What the kernel cannot hand over to us passes, past the discipline, instead of being dropped.
    pub fail_open: bool,
}

/// Why a router did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its queue was not bound.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The discipline's parameters contradict each other.
    #[error(transparent)]
    Discipline(#[from] ParameterError),
    /// The link has no rate.
    #[error("a link needs a rate above zero")]
    NoRate,
    /// The system has no file descriptors left, or the like.
    #[error("the router cannot be woken: {0}")]
    System(#[source] io::Error),
}

/// A router whose queue is bound; [`run`](Self::run) works.
pub struct Router {
    socket: QueueSocket,
    engine: Engine<TopFlows>,
    keys: FlowKeys,
    layer: LinkLayer,
    marking: Marking,
    number: u16,
    remote: Remote,
    /// What is not in the engine.
    tally: Tally,
    /// The number of the last packet.
    last: u32,
    /// When it ends even if packets wait.
    end: Option<Time>,
}

/// What is counted at the socket.
#[derive(Clone, Copy, Default)]
struct Tally {
    overruns: u64,
    unknown: u64,
    malformed: u64,
    unsent: u64,
    reloads: u64,
}

impl Router {
    /// Binds the queue. Packets that rules send to it wait from now on.
    ///
    /// # Errors
    /// The queue cannot be bound, or the discipline cannot be.
    pub fn new(config: &RouterConfig) -> Result<Self, StartError> {
        let Link { rate, layer } = config.link;
        if rate.bits_per_second() == 0 {
            return Err(StartError::NoRate);
        }
        let discipline = config.discipline.build(&Host { rate, seed: random_seed() })?;
        let remote = Remote::new().map_err(StartError::System)?;
        let copied = config.marking.copied();
        let setup = Setup { queue: config.queue, copied, most_packets: MOST_PACKETS, fail_open: config.fail_open };
        Ok(Self {
            socket: QueueSocket::bind(&setup)?,
            engine: Engine::new(discipline, rate, config.marking, TopFlows::new(config.flows)),
            keys: FlowKeys::new(config.flows),
            layer,
            marking: config.marking,
            number: config.queue,
            remote,
            tally: Tally::default(),
            last: 0,
            end: None,
        })
    }

    /// A handle for other threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// Works until [`Remote::stop`]; what has happened then.
    ///
    /// # Errors
    /// The socket failed. The kernel drops what waited, and packets pass that come after it, if the rule has the bypass.
    pub fn run(mut self) -> io::Result<Report> {
        // Without it the kernel may let us sleep for 50 us longer than asked for.
        let _ = set_timerslack(1);
        let mut batch = self.socket.batch();
        let mut published = now();
        loop {
            let more = self.receive(&mut batch)?;
            self.flush()?;
            let now = now();
            self.obey(now);
            if self.is_over(now, more) {
                break;
            }
            if now.since(published) >= PUBLISH {
                self.remote.publish(self.report());
                published = now;
            }
            if !more {
                self.wait(now)?;
            }
        }
        let mut report = self.report();
        self.socket.accept_up_to(self.last.wrapping_add(AHEAD))?;
        report.released = report.packets as u64;
        (report.packets, report.bytes) = (0, 0);
        self.remote.publish(report.clone());
        Ok(report)
    }

    /// Takes in what has come and lets the link send; whether there may be more.
    fn receive(&mut self, batch: &mut Batch) -> io::Result<bool> {
        let Self { socket, engine, keys, layer, marking, tally, last, .. } = self;
        let arrived = now();
        let received = socket.receive(batch, |message| match message {
            Message::Packet(queued) => {
                *last = queued.id;
                engine.arrive(arrived, Held::new(&queued, keys, *layer, *marking));
            }
            Message::Answer(answer) => tally.unknown += u64::from(answer.error != 0),
            Message::Malformed => tally.malformed += 1,
            Message::Other => {}
        })?;
        tally.overruns += u64::from(received.overrun);
        engine.advance(now());
        Ok(received.more)
    }

    /// Tells the kernel of the verdicts. What it has no memory for now it is told again.
    fn flush(&mut self) -> io::Result<()> {
        let Self { socket, engine, tally, .. } = self;
        let mut sent = Ok(());
        for verdict in engine.verdicts() {
            sent = sent.and(socket.decide(&verdict));
        }
        match sent.and_then(|()| socket.flush()) {
            Err(error) if is_temporary(&error) => {
                tally.unsent += 1;
                Ok(())
            }
            result => result,
        }
    }

    /// Does what it was asked for.
    fn obey(&mut self, now: Time) {
        for order in self.remote.orders() {
            match order {
                Order::Reload(discipline, link) => {
                    self.engine.replace(now, *discipline, link.rate);
                    self.layer = link.layer;
                    self.tally.reloads += 1;
                }
                Order::Stop(most) => self.end = Some(now + most),
            }
        }
    }

    /// Whether it was told to stop and nothing waits, or there was time enough.
    fn is_over(&self, now: Time, more: bool) -> bool {
        self.end.is_some_and(|end| now >= end || (!more && self.engine.packets() == 0))
    }

    /// Waits for a packet, an order, or the moment when the link can send.
    fn wait(&self, now: Time) -> io::Result<()> {
        let until = self.engine.due().map_or(PUBLISH, |due| due.since(now).min(PUBLISH));
        if until <= SHORT {
            return Ok(());
        }
        let timeout = TimeSpec::new(0, until.as_nanos() as i64);
        let mut ready =
            [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN), PollFd::new(self.remote.wake(), PollFlags::POLLIN)];
        match ppoll(&mut ready, Some(timeout), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn report(&self) -> Report {
        let Tally { overruns, unknown, malformed, unsent, reloads } = self.tally;
        Report {
            at: now(),
            counters: self.engine.counters().clone(),
            packets: self.engine.packets(),
            bytes: self.engine.bytes(),
            average: self.engine.average(),
            sojourn: *self.engine.sojourn(),
            lateness: *self.engine.lateness(),
            flows: self.engine.seen().heaviest(),
            released: 0,
            overruns,
            unknown,
            malformed,
            unsent,
            reloads,
            kernel: kernel_queue(self.number),
        }
    }
}

/// Whether the same call may succeed later.
fn is_temporary(error: &io::Error) -> bool {
    let number = error.raw_os_error().map(Errno::from_raw);
    matches!(number, Some(Errno::ENOBUFS | Errno::ENOMEM | Errno::EAGAIN))
}
