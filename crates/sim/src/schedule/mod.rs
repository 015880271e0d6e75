//! The event schedule: arrivals of packets, events at links, and timers.

pub(crate) mod bit_index;
pub(crate) mod calendar;
pub(crate) mod delay_line;
pub(crate) mod event_key;
pub(crate) mod first_arrivals;
pub(crate) mod link_events;
pub(crate) mod port;
pub(crate) mod timer;
pub(crate) mod timing_wheel;
pub(crate) mod tournament;
pub(crate) mod upcoming;

use fairlane_qdisc::{Duration, Time};

use crate::packet::Packet;
use crate::schedule::event_key::{FirstArrival, Target, event_key, time_of};
use crate::schedule::link_events::{LinkEvent, LinkEvents};
use crate::schedule::port::Port;
use crate::schedule::timing_wheel::TimingWheel;
use crate::schedule::tournament::Tournament;

/// The next event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// This packet, which was at this place of the port, reaches its host or the link of its host.
    Arrival(u32, Packet),
    /// An event of the timing wheel.
    Timer(Target),
    /// Events at this link between nodes are due.
    Link(u32),
}

/// A line of a port, on which packets are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The number of the port: that of its link between nodes, or of [hosts](Ports::hosts_of).
    pub(crate) port: u32,
    /// The number of the line in the port.
    pub(crate) line: u32,
}

impl Line {
    /// No line.
    pub(crate) const NONE: Self = Self { port: u32::MAX, line: u32::MAX };

    /// Returns true for [`NONE`](Self::NONE).
    #[inline(always)]
    pub(crate) const fn is_none(self) -> bool {
        self.port == Self::NONE.port
    }
}

/// The ports of a network. Each source of packets to a port has a line, and all lines are numbered: of packets of a
/// flow that arrive at several ports at the same time that of the lower line comes first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ports {
    /// For each link between nodes: the lines to it, and its [lookahead](LinkEvents::lookahead).
    pub(crate) links: Vec<(Vec<u32>, Duration)>,
    /// The lines to hosts, and to links of hosts with a discipline.
    pub(crate) hosts: Vec<u32>,
    /// The lines to hosts that take packets [early](crate::flow::hosts).
    pub(crate) early: Vec<u32>,
}

impl Ports {
    /// Returns the ports of a partition, one of so many, with a line for each partition in place of each line here.
    pub(crate) fn divided(&self, partitions: u32) -> Self {
        let each = |lines: &Vec<u32>| {
            lines.iter().flat_map(|line| line * partitions..(line + 1) * partitions).collect::<Vec<u32>>()
        };
        Self {
            links: self.links.iter().map(|(lines, lookahead)| (each(lines), *lookahead)).collect(),
            hosts: each(&self.hosts),
            early: each(&self.early),
        }
    }

    /// Returns the number of the port of hosts, where there are so many links between nodes.
    #[inline(always)]
    pub(crate) const fn hosts_of(links: usize) -> usize {
        links
    }

    /// Returns the number of the port of hosts that take packets early.
    #[inline(always)]
    pub(crate) const fn early_of(links: usize) -> usize {
        links + 1
    }

    /// Returns the tag in keys of the events at a link, or at a port after those of links, and of the packets in its
    /// calendar. The timing wheel has tag 0.
    pub(crate) const fn tag_of_link(link: u32) -> u32 {
        link + 1
    }

    /// Returns the tags of arrivals on these lines, which follow those of links and hosts.
    fn tags(&self, lines: &[u32]) -> impl Iterator<Item = u32> {
        lines.iter().map(|line| self.links.len() as u32 + 2 + line)
    }

    /// Returns the leaf of the schedule's tournament to which each tag belongs.
    fn leaf_of_tag(&self) -> Vec<u32> {
        let mut leaves = vec![TIMERS as u32; self.links.len() + 2];
        for ((lines, _), link) in self.links.iter().zip(0_u32..) {
            let leaf = LINKS as u32 + link;
            leaves[Self::tag_of_link(link) as usize] = leaf;
            for tag in self.tags(lines) {
                leaves.resize(leaves.len().max(tag as usize + 1), TIMERS as u32);
                leaves[tag as usize] = leaf;
            }
        }
        leaves
    }
}

/// Each event is kept where that is cheapest: packets in the [port](Port) of their destination, the events of links
/// between nodes in [`LinkEvents`], and all else in a [timing wheel](TimingWheel). The next event is the earlier of
/// two: that of a [tournament](Tournament) of links and the wheel, and that of the port of hosts.
#[derive(Debug)]
pub(crate) struct Schedule {
    timers: TimingWheel<()>,
    /// The ports: one of each link between nodes, one of hosts, and one of early hosts.
    ports: Vec<Port>,
    links: Vec<LinkEvents>,
    /// The leaves are the timing wheel and the links.
    tournament: Tournament,
    /// The time until which events have been handled.
    #[cfg(debug_assertions)]
    now: Time,
}

/// The leaves of a [`Schedule`]'s tournament.
const TIMERS: usize = 0;
const LINKS: usize = 1;

impl Schedule {
    /// Returns an empty schedule. `events_per_second` affects the speed and nothing else.
    pub(crate) fn new(ports: &Ports, events_per_second: f64) -> Self {
        let lines = ports.links.iter().map(|(lines, _)| lines).chain([&ports.hosts, &ports.early]);
        let port = |(lines, port): (&Vec<u32>, u32)| {
            let calendar = std::iter::once(Ports::tag_of_link(port));
            Port::new(calendar.chain(ports.tags(lines)).collect(), events_per_second)
        };
        Self {
            timers: TimingWheel::new(events_per_second),
            ports: lines.zip(0..).map(port).collect(),
            links: ports.links.iter().map(|(_, lookahead)| LinkEvents::new(*lookahead)).collect(),
            tournament: Tournament::new(LINKS + ports.links.len(), ports.leaf_of_tag()),
            #[cfg(debug_assertions)]
            now: Time::ZERO,
        }
    }

    /// Returns the port of hosts, and of links of hosts with a discipline.
    #[inline(always)]
    pub(crate) fn hosts(&mut self) -> &mut Port {
        let hosts = Ports::hosts_of(self.links.len());
        &mut self.ports[hosts]
    }

    /// Returns the port of hosts that take packets [early](crate::flow::hosts).
    #[inline(always)]
    pub(crate) fn early(&mut self) -> &mut Port {
        let early = Ports::early_of(self.links.len());
        &mut self.ports[early]
    }

    /// Schedules a timer. One in the past comes next.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.timers.push(event_key(at, target), ());
        self.tournament.set(TIMERS, self.timers.bound());
    }

    /// Schedules the arrival of `packet` on this line, at a time and at a step of its route.
    #[inline(always)]
    pub(crate) fn send(&mut self, line: Line, packet: &Packet, place: (Time, u32)) {
        #[cfg(debug_assertions)]
        assert!(place.0 >= self.now, "a packet arrives at {:?}, before {:?}", place.0, self.now);
        let port = &mut self.ports[line.port as usize];
        if !port.push_behind(line.line, packet, place) {
            self.insert(line, &Packet { at: place.0, route: place.1, ..*packet });
        }
    }

    /// Notes that all events before `now` have been handled. A timer may have been set to a time that had passed.
    #[inline(always)]
    pub(crate) fn passed(&mut self, now: Time) {
        #[cfg(debug_assertions)]
        {
            self.now = self.now.max(now);
        }
        let _ = now;
    }

    /// Schedules the arrival of a packet that may be the first one at its port.
    #[inline(never)]
    fn insert(&mut self, Line { port, line }: Line, packet: &Packet) {
        let is_first = self.ports[port as usize].insert(line, packet);
        if is_first && (port as usize) < self.links.len() {
            self.update(port);
        }
    }

    /// Returns the next event before `until`, with its time. It is removed; events at links are to be taken.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, until: Time) -> Option<(Time, Next)> {
        loop {
            let first = self.hosts().first();
            let other = self.tournament.winner();
            let at = time_of(other);
            if first.at < at || (first.at == at && self.comes_first(first, other)) {
                if first.at >= until {
                    return None;
                }
                let Some(packet) = self.hosts().pop() else { continue };
                return Some((first.at, Next::Arrival(first.place(), packet)));
            }
            if at >= until {
                return None;
            }
            let Some(link) = self.tournament.leaf_of(other).checked_sub(LINKS) else {
                let timer = self.timers.pop();
                self.tournament.set(TIMERS, self.timers.bound());
                let Some((key, ())) = timer else { continue };
                return Some((at, Next::Timer(Target::decode(key))));
            };
            return Some((at, Next::Link(link as u32)));
        }
    }

    /// Returns true if the first arrival at hosts comes before the event with this key, of the same time.
    #[inline(never)]
    fn comes_first(&mut self, first: FirstArrival, key: u128) -> bool {
        first.key() | u128::from(self.hosts().tag()) < key
    }

    /// Returns true if the events at this link between nodes are handled in event order.
    #[inline(always)]
    pub(crate) fn is_in_order(&self, link: u32) -> bool {
        self.links[link as usize].lookahead == Duration::ZERO
    }

    /// Removes and returns the next event at `link`, with the packet that arrives; `None` if none is due at `now`. Then
    /// [`schedule_link`](Self::schedule_link) must follow.
    pub(crate) fn pop_at_link(&mut self, link: u32, now: Time) -> Option<(LinkEvent, Option<Packet>)> {
        let (events, port) = (&mut self.links[link as usize], &mut self.ports[link as usize]);
        let next = events.next_before(now + Duration::from_nanos(1), port.first().at);
        let popped = match next {
            Some((_, LinkEvent::Arrival)) => port.pop().map(|packet| (LinkEvent::Arrival, Some(packet))),
            next => next.map(|(_, event)| (event, None)),
        };
        if popped.is_none() {
            self.update(link);
        }
        popped
    }

    /// Takes the events at `link`, and its port, until they are [put back](Self::put_back). Nothing is sent there
    /// meanwhile, since no route crosses a link twice in a row.
    pub(crate) fn take_out(&mut self, link: u32) -> (LinkEvents, Port) {
        (self.links[link as usize], std::mem::take(&mut self.ports[link as usize]))
    }

    /// Puts back the events at `link` and its port.
    pub(crate) fn put_back(&mut self, link: u32, events: LinkEvents, port: Port) {
        self.links[link as usize] = events;
        self.ports[link as usize] = port;
        self.update(link);
    }

    /// Schedules the end of a transmission and the release of a packet at `link`, [`Time::MAX`] for none.
    pub(crate) fn schedule_link(&mut self, link: u32, free: Time, release: Time) {
        match self.links.get_mut(link as usize) {
            Some(events) => {
                events.free = events.free.min(free);
                events.release = events.release.min(release);
                self.update(link);
            }
            // The link of a host.
            None => {
                let targets = [(free, Target::LinkFree(link)), (release, Target::Release(link))];
                for (at, target) in targets.into_iter().filter(|(at, _)| *at < Time::MAX) {
                    self.push(at, target);
                }
            }
        }
    }

    /// Compares the next event at `link` anew.
    fn update(&mut self, link: u32) {
        let port = &self.ports[link as usize];
        let key = self.links[link as usize].key(link, port.first(), port.tag());
        self.tournament.set(LINKS + link as usize, key);
    }

    /// Shortens the lookahead of `link` to `lookahead`, if it is longer.
    pub(crate) fn shorten(&mut self, link: u32, lookahead: Duration) {
        if let Some(events) = self.links.get_mut(link as usize) {
            debug_assert!(lookahead > Duration::ZERO || events.lookahead == Duration::ZERO, "the link was lazy");
            events.lookahead = events.lookahead.min(lookahead);
            self.update(link);
        }
    }

    /// Returns the lazily processed links with an event before `until`.
    pub(crate) fn lazy_links_before(&self, until: Time) -> Vec<u32> {
        let is_behind = |events: &LinkEvents| events.lookahead > Duration::ZERO && events.next < until;
        (0..).zip(&self.links).filter(|(_, events)| is_behind(events)).map(|(link, _)| link).collect()
    }

    /// Returns a time before which there is no event.
    pub(crate) fn next_at(&mut self) -> Time {
        let links = self.links.iter().map(|events| events.next).min().unwrap_or(Time::MAX);
        let hosts = self.hosts().first().at.min(self.early().first().at);
        time_of(self.tournament.winner()).min(links).min(hosts)
    }

    /// Returns the number of packets on their way.
    pub(crate) fn packets(&self) -> usize {
        self.ports.iter().map(Port::len).sum()
    }

    /// Returns the timing wheel.
    #[inline(always)]
    pub(crate) const fn timers(&mut self) -> &mut TimingWheel<()> {
        &mut self.timers
    }
}

#[cfg(test)]
mod tests;
