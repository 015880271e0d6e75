//! Changes of a scenario while it runs.

use std::borrow::Cow;
use std::fmt;
use std::mem;

use fairlane_qdisc::{BoxQdisc, Host, ParameterError, Rate, ReplaceableQdisc, Time};
use fairlane_scenario::{Access, FlowGroup, Hop, Link, LinkSide, Scenario, Source, Traffic};

use crate::build::names::{link_name, link_of};
use crate::measure::observer::Observer;
use crate::network::Network;
use crate::network::droptail_link::DroptailLink;
use crate::network::link::{LinkQueue, Managed, droptail_limit};
use crate::packet::Packet;
use crate::run::engine::Engine;

/// The reason why a scenario cannot be changed in this way while it runs.
#[derive(Debug)]
pub enum ChangeError {
    /// The change concerns something that is fixed when the run begins.
    Fixed {
        /// The fixed part of the scenario, such as `the warm-up`.
        what: String,
    },
    /// The parameters of a queue contradict each other.
    Queue {
        /// The link's name.
        link: String,
        /// The error in the parameters.
        error: ParameterError,
    },
    /// The queue's discipline is the caller's, so the scenario has no parameters for it.
    Custom {
        /// The link's name.
        link: String,
    },
    /// A link or a source of rate zero would never send.
    NoRate,
}

impl fmt::Display for ChangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { what } => write!(
                f,
                "{what} cannot change during a run; what can are the rates of links, of UDP sources and of TFRC, and the queues of links"
            ),
            Self::Queue { link, error } => write!(f, "the queue of link \"{link}\": {error}"),
            Self::Custom { link } => {
                write!(f, "the queue of link \"{link}\" has a discipline of the caller; change that object itself")
            }
            Self::NoRate => f.write_str("a rate during a run must be above zero"),
        }
    }
}

impl std::error::Error for ChangeError {}

/// The new queue of a link.
enum NewQueue {
    /// The limit in packets of a droptail link.
    Limit(usize),
    /// A discipline with its name in outcomes.
    Discipline(&'static str, BoxQdisc<Packet>),
}

impl<O: Observer> Engine<'_, O> {
    /// Replaces the scenario by `to`, which differs in rates and queues of links and in rates of flows only. After an
    /// error nothing has changed.
    pub(crate) fn change(&mut self, to: &Scenario) -> Result<(), ChangeError> {
        if *self.scenario == *to {
            return Ok(());
        }
        check_fixed(&self.scenario, to)?;
        let queues = self.new_queues(to)?;
        let from = mem::replace(&mut self.scenario, Cow::Owned(to.clone()));
        for (link, queue) in queues {
            self.part.network.set_queue(link, queue);
        }
        for (link, before, after) in sides(&from, to) {
            if before.rate != after.rate {
                let sending = self.part.network.topology.sending(link);
                let network = &mut self.part.network;
                network.topology.set_link_rate(self.part.now, sending, after.rate);
                // Packets may take less time than before.
                network.events.shorten(link, after.delay);
            }
        }
        let (mut flow, mut link) = (0, self.part.network.topology.first_host_link);
        for (before, after) in from.flows.iter().zip(&to.flows) {
            link = self.part.network.set_host_rates(self.part.now, link, before, after);
            if let Some(rate) = source_rate(&after.traffic).filter(|rate| source_rate(&before.traffic) != Some(*rate)) {
                (flow..flow + after.count)
                    .for_each(|flow| self.part.hosts.flows.with(flow, |flow| flow.set_rate(rate)));
            }
            flow += after.count;
        }
        self.changes += 1;
        Ok(())
    }

    /// Returns the links whose queues differ in `to`, with their new queues.
    fn new_queues(&self, to: &Scenario) -> Result<Vec<(u32, NewQueue)>, ChangeError> {
        let mut queues = Vec::new();
        for (number, before, after) in sides(&self.scenario, to) {
            if before.queue.config() == after.queue.config() {
                continue;
            }
            let link = link_name(to, number);
            let queue = match &self.part.network.topology.links[number as usize].queue {
                LinkQueue::Managed(managed) if managed.custom => return Err(ChangeError::Custom { link }),
                LinkQueue::Managed(_) => {
                    let seed = self.seed.named("queue").named(&link).numbered(self.changes);
                    let host = Host { rate: after.queue_rate(), seed };
                    let built = after.queue.build(&host).map_err(|error| ChangeError::Queue { link, error })?;
                    NewQueue::Discipline(after.queue.kind().name(), built)
                }
                LinkQueue::Droptail(_) => match droptail_limit(after.queue.config()) {
                    Some(limit) => NewQueue::Limit(limit),
                    None => return Err(fixed(format!("the discipline of link \"{link}\", which carries no data"))),
                },
            };
            queues.push((number, queue));
        }
        Ok(queues)
    }
}

impl<O: Observer> Network<O> {
    /// Replaces the queue of `link`. The packets in it stay and leave first.
    fn set_queue(&mut self, link: u32, queue: NewQueue) {
        let state = &mut self.topology.links[link as usize];
        state.queue = match (mem::replace(&mut state.queue, LinkQueue::Droptail(DroptailLink::default())), queue) {
            (LinkQueue::Managed(managed), NewQueue::Discipline(kind, discipline)) => {
                let mut replaced = ReplaceableQdisc::new(managed.discipline);
                replaced.replace(discipline);
                LinkQueue::Managed(Box::new(Managed { kind, discipline: Box::new(replaced), ..*managed }))
            }
            (queue, NewQueue::Limit(limit)) => {
                self.topology.media[state.medium as usize].limit = limit;
                queue
            }
            (queue, NewQueue::Discipline(..)) => queue,
        };
    }

    /// Sets the rates of the links of a group's hosts, the first of which is `first`. Returns the number of the link
    /// after them.
    fn set_host_rates(&mut self, now: Time, first: u32, before: &FlowGroup, after: &FlowGroup) -> u32 {
        let ends = [(&before.source, &after.source), (&before.sink, &after.sink)];
        let ends: Vec<(&Access, &Access)> =
            ends.into_iter().filter_map(|(before, after)| before.as_ref().zip(after.as_ref())).collect();
        let (count, each) = (after.count, 2 * ends.len() as u32);
        for ((before, after), end) in ends.into_iter().zip(0_u32..) {
            if before.rate != after.rate {
                let links = (0..count).flat_map(|flow| [0, 1].map(|way| first + flow * each + 2 * end + way));
                self.topology.set_host_rate(now, links, after.rate);
            }
        }
        first + count * each
    }
}

fn fixed(what: impl Into<String>) -> ChangeError {
    ChangeError::Fixed { what: what.into() }
}

/// Returns both directions of all links with their numbers, before and after a change.
fn sides<'a>(from: &'a Scenario, to: &'a Scenario) -> impl Iterator<Item = (u32, &'a LinkSide, &'a LinkSide)> {
    let links = from.links.iter().zip(&to.links).enumerate();
    links.flat_map(|(link, (from, to))| {
        let both = [(false, &from.forward, &to.forward), (true, &from.reverse, &to.reverse)];
        both.map(|(reverse, from, to)| (link_of(Hop { link, reverse }), from, to))
    })
}

/// Checks that `to` differs from `from` only in what can change during a run.
fn check_fixed(from: &Scenario, to: &Scenario) -> Result<(), ChangeError> {
    let parts = [
        ("the name", from.name == to.name),
        ("the duration", from.duration == to.duration),
        ("the warm-up", from.warmup == to.warmup),
        ("the seed", from.seed == to.seed),
        ("the set of links", from.nodes == to.nodes && from.links.len() == to.links.len()),
        ("the set of flows", from.flows.len() == to.flows.len()),
    ];
    if let Some((what, _)) = parts.into_iter().find(|(_, same)| !same) {
        return Err(fixed(what));
    }
    for (from, to) in from.links.iter().zip(&to.links) {
        if unchangeable_link(from, to) != *from {
            return Err(fixed(format!("more of link \"{}\" than its rate and its queue", from.name)));
        }
        if [&to.forward, &to.reverse].into_iter().any(|side| side.rate == Rate::default()) {
            return Err(ChangeError::NoRate);
        }
    }
    for (from, to) in from.flows.iter().zip(&to.flows) {
        if unchangeable_group(from, to) != *from {
            return Err(fixed(format!("more of flows \"{}\" than a rate", from.name)));
        }
        let hosts = [&to.source, &to.sink].into_iter().flatten().map(|access| Some(access.rate));
        if hosts.chain(source_rate(&to.traffic)).any(|rate| rate == Some(Rate::default())) {
            return Err(ChangeError::NoRate);
        }
    }
    Ok(())
}

/// Returns `to` with everything that can change as in `from`.
fn unchangeable_link(from: &Link, to: &Link) -> Link {
    let side = |from: &LinkSide, to: &LinkSide| LinkSide { rate: from.rate, queue: from.queue.clone(), ..to.clone() };
    Link { forward: side(&from.forward, &to.forward), reverse: side(&from.reverse, &to.reverse), ..to.clone() }
}

/// Returns `to` with everything that can change as in `from`.
fn unchangeable_group(from: &FlowGroup, to: &FlowGroup) -> FlowGroup {
    let mut group = to.clone();
    for (from, to) in [(&from.source, &mut group.source), (&from.sink, &mut group.sink)] {
        if let (Some(from), Some(to)) = (from, to) {
            to.rate = from.rate;
            // Values derived from the rate follow it.
            if from.queue.parameters() == to.queue.parameters() {
                to.queue = from.queue.clone();
            }
        }
    }
    match (&from.traffic, &mut group.traffic) {
        (Traffic::Udp(from), Traffic::Udp(to)) if has_rate(&from.source) => to.rate = from.rate,
        (Traffic::Tfrc(from), Traffic::Tfrc(to)) => to.rate = from.rate,
        _ => {}
    }
    group
}

/// Returns the rate of the sources of flows, `Some(None)` if it is unlimited; `None` for flows whose rate cannot
/// change: TCP, endpoints, and UDP in slots or from a trace.
const fn source_rate(traffic: &Traffic) -> Option<Option<Rate>> {
    match traffic {
        Traffic::Udp(udp) if has_rate(&udp.source) => Some(Some(udp.rate)),
        Traffic::Tfrc(tfrc) => Some(tfrc.rate),
        Traffic::Udp(_) | Traffic::Tcp(_) | Traffic::Endpoint => None,
    }
}

/// Returns true for sources that send at [`Udp::rate`](fairlane_scenario::Udp::rate); slots and traces have times of
/// their own.
const fn has_rate(source: &Source) -> bool {
    matches!(source, Source::Cbr { .. } | Source::Poisson | Source::OnOff(_))
}
