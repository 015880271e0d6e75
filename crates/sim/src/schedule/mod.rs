//! Everything that is going to happen: packets that arrive, links that become free, and the events of flows.

pub(crate) mod arrival;
pub(crate) mod bit_index;
pub(crate) mod calendar;
pub(crate) mod delay_line;
pub(crate) mod event_key;
pub(crate) mod link_port;
pub(crate) mod timer;
pub(crate) mod timing_wheel;
pub(crate) mod tournament;

use std::mem;

use fairlane_qdisc::{Duration, Time};

use crate::network::prefetch::Waiting;
use crate::packet::Packet;
use crate::schedule::arrival::FirstArrival;
use crate::schedule::calendar::WaitedPackets;
use crate::schedule::delay_line::{DelayLine, LineEnd, Pushed};
use crate::schedule::event_key::{Target, arrival_key, event_key, start_key, time_of};
use crate::schedule::link_port::Inlet;
use crate::schedule::timing_wheel::EventQueue;
use crate::schedule::tournament::{NEVER, Tournament};

/// What happens next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Next {
    /// A packet reaches the far end of a link.
    Arrival(Arriving),
    Event(Target),
    /// What happened at this link between nodes before now is needed.
    Link(u32),
}

/// Where the packet is that arrives next.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arriving {
    /// On the line of this leaf of the arrivals.
    OnLine(u32),
    /// Among those that waited for their link.
    Waited,
}

/// The arrivals and events of a run, each kept where that is cheapest: most packets in [delay lines](DelayLine), where they need not
/// be sorted; the packets that waited for their link, which come in any order, in a [calendar](WaitedPackets) or on lines of their own; the ends of
/// transmissions in a place for each link; and all else in an [event queue](EventQueue). A [tournament](Tournament) tells which of them has what
/// comes next.
///
/// What happens at a link between nodes is handled later, if it can be; see [`Inlet`].
#[derive(Debug)]
pub(crate) struct Schedule {
    events: EventQueue,
    waited: WaitedPackets,
    /// The packets that have not waited; then, line by line, those that have, on their way to a link that is looked at later: behind equal bursts
    /// they come nearly in order, too.
    lines: Vec<DelayLine>,
    /// Where each line leads.
    ways: Vec<Way>,
    /// The lines to hosts that take packets ahead of their time that have packets.
    ahead: Vec<u32>,
    /// The packets for such hosts that waited for their link.
    ahead_waited: WaitedPackets,
    /// The first arrival of all these.
    first_ahead: Time,
    /// Those of the links between nodes that are looked at later; `None` while one is being looked at, and for those whose events are
    /// handled in their turn.
    inlets: Vec<Option<Box<Inlet>>>,
    /// The leaves are the lines to all but links that are looked at later.
    arrivals: Tournament<FirstArrival>,
    /// The line of each of these leaves.
    line_of: Vec<u32>,
    /// The leaves are the event queue, the packets that waited and the links between nodes.
    tournament: Tournament<u128>,
}

/// Where a line leads.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// To where packets are handled in their turn: the line is this leaf of the arrivals.
    InTurn(u32),
    /// To this link between nodes, which is looked at later.
    Later(u32),
    /// To hosts that take packets [ahead of their time](crate::flow::hosts).
    Ahead,
}

/// The leaves of a [`Schedule`]'s tournament of all but lines.
const EVENTS: usize = 0;
const WAITED: usize = 1;
const LINKS: usize = 2;

impl Schedule {
    /// Returns an empty schedule of these `lines`. For each of `links` its lookahead is given if what happens there is handled later. `events_per_second` affects the speed and nothing else.
    pub(crate) fn new(lines: &[LineEnd], links: &[Option<Duration>], events_per_second: f64) -> Self {
        let mut line_of = Vec::new();
        let ways = (0..).zip(lines).map(|(line, end)| match end {
            LineEnd::Link(link) if links[*link as usize].is_some() => Way::Later(*link),
            LineEnd::Ahead(from) if links[*from as usize].is_some() => Way::Ahead,
            _ => {
                line_of.push(line);
                Way::InTurn(line_of.len() as u32 - 1)
            }
        });
        let ways = ways.collect();
        let inlet = |link, lookahead: Option<_>| lookahead.map(|time| Box::new(Inlet::new(link, time, lines)));
        Self {
            events: EventQueue::new(events_per_second),
            waited: WaitedPackets::default(),
            lines: lines.iter().chain(lines).map(|_| DelayLine::default()).collect(),
            ways,
            ahead: Vec::new(),
            ahead_waited: WaitedPackets::default(),
            first_ahead: Time::MAX,
            inlets: (0..).zip(links).map(|(link, lookahead)| inlet(link, *lookahead)).collect(),
            arrivals: Tournament::new(line_of.len()),
            tournament: Tournament::new(LINKS + links.len()),
            line_of,
        }
    }

    /// Schedules an event. An event in the past comes next.
    pub(crate) fn push(&mut self, at: Time, target: Target) {
        self.events.push(at, target);
        self.tournament.set(EVENTS, self.events.bound());
    }

    /// Schedules the end of the transmission on `link`, which has no other one.
    #[inline]
    pub(crate) fn free_at(&mut self, at: Time, link: u32) {
        let link_free = Target::LinkFree(link);
        match self.inlets.get_mut(link as usize) {
            Some(Some(inlet)) => inlet.free = at,
            Some(None) => self.tournament.set(LINKS + link as usize, event_key(at, link_free)),
            None => self.push(at, link_free),
        }
    }

    /// Schedules the time at which the discipline of `link` is asked again, unless it is asked earlier.
    pub(crate) fn release_at(&mut self, at: Time, link: u32) {
        match self.inlets.get_mut(link as usize) {
            Some(Some(inlet)) => inlet.release = at,
            _ => self.push(at, Target::Release(link)),
        }
    }

    /// Schedules the arrival of `packet`, which comes on this line, at `at` at this step of its route. It does not come in
    /// order if it `waited` for its link.
    #[inline(always)]
    pub(crate) fn send(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32), waited: bool) {
        let pushed = if waited {
            self.send_apart(line, packet, (at, route))
        } else {
            self.lines[line as usize].push(packet, at, route)
        };
        if pushed != Pushed::Behind {
            self.send_with_care(line, Packet { at, route, ..*packet }, pushed);
        }
    }

    /// Adds a packet that waited for its link to the line of such packets, if there is one. A browser loads the program for each visit, so there this
    /// is compiled once.
    #[cfg_attr(not(target_family = "wasm"), inline(always))]
    #[cfg_attr(target_family = "wasm", inline(never))]
    fn send_apart(&mut self, line: u32, packet: &Packet, (at, route): (Time, u32)) -> Pushed {
        match self.ways[line as usize] {
            Way::Later(_) => {
                let apart = self.apart(line);
                self.lines[apart].push(packet, at, route)
            }
            Way::InTurn(_) | Way::Ahead => Pushed::Refused,
        }
    }

    /// Returns the index of the line of packets that waited beside a line to a link that is looked at later.
    #[inline(always)]
    const fn apart(&self, line: u32) -> usize {
        line as usize + self.ways.len()
    }

    /// Goes on with a packet that has become the first on its line, or comes out of order.
    #[inline(never)]
    fn send_with_care(&mut self, line: u32, packet: Packet, pushed: Pushed) {
        let at = packet.at;
        let refused = pushed == Pushed::Refused;
        match self.ways[line as usize] {
            Way::InTurn(_) if refused => {
                if self.waited.push(&packet) {
                    self.tournament.set(WAITED, self.first_that_waited());
                }
            }
            Way::InTurn(place) => self.arrivals.set(place as usize, FirstArrival { at, flow: packet.flow, place }),
            Way::Ahead => {
                self.first_ahead = self.first_ahead.min(at);
                if refused {
                    self.ahead_waited.push(&packet);
                } else if self.lines[line as usize].len() == 1 {
                    self.ahead.push(line);
                }
            }
            Way::Later(link) => {
                let apart = self.apart(line);
                let Some(inlet) = &mut self.inlets[link as usize] else { return };
                // A packet that waited has been refused there once, and is again.
                if refused && self.lines[apart].push(&packet, at, packet.route) == Pushed::Refused {
                    inlet.waited.push(&packet);
                }
                if at < inlet.next {
                    inlet.next = at;
                    // Until the link is free, an arrival has no effect elsewhere.
                    if inlet.free == Time::MAX {
                        self.defer(link);
                    }
                }
            }
        }
    }

    /// Returns what happens next, with its time, if that is before `until`. What it returns is to be handled, and packets to be removed.
    #[inline(always)]
    pub(crate) fn next_before(&mut self, until: Time) -> Option<(Time, Next)> {
        loop {
            let first = self.arrivals.winner();
            let other = self.tournament.known_winner();
            let at = time_of(other);
            if first.at < at || (first.at == at && comes_first(first.at, first.flow, other)) {
                return (first.at < until).then_some((first.at, Next::Arrival(Arriving::OnLine(first.place))));
            }
            if at >= until {
                return None;
            }
            if let Some(next) = self.next_but_lines(other as u32 as usize) {
                return Some((at, next));
            }
        }
    }

    /// Returns what happens next at this leaf of the tournament; `None` if the event queue must look again.
    #[inline(never)]
    fn next_but_lines(&mut self, leaf: usize) -> Option<Next> {
        if leaf == EVENTS {
            let event = self.events.pop();
            self.tournament.set(EVENTS, self.events.bound());
            return event.map(Next::Event);
        }
        let Some(link) = leaf.checked_sub(LINKS) else { return Some(Next::Arrival(Arriving::Waited)) };
        self.tournament.set(leaf, NEVER);
        let later = self.inlets[link].is_some();
        let link = link as u32;
        Some(if later { Next::Link(link) } else { Next::Event(Target::LinkFree(link)) })
    }

    /// Removes and returns the packet that arrives next.
    #[inline(always)]
    pub(crate) fn pop(&mut self, arriving: Arriving) -> Option<Packet> {
        let Arriving::OnLine(leaf) = arriving else { return self.pop_waited() };
        let line = &mut self.lines[self.line_of[leaf as usize] as usize];
        let packet = line.front().copied();
        let next = line.remove_first();
        self.arrivals.replace_winner(next.map_or(FirstArrival::NONE, |next| next.as_first(leaf)));
        packet
    }

    /// Returns the number of places of packets for hosts that take them ahead of their time: lines, and the packets that waited for their link.
    pub(crate) const fn places_ahead(&self) -> usize {
        self.ahead.len() + 1
    }

    /// Removes and returns the first packet of the place of this number if it arrives before `until`.
    #[inline]
    pub(crate) fn pop_ahead(&mut self, place: usize, until: Time) -> Option<Packet> {
        let Some(line) = self.ahead.get(place) else {
            return if self.ahead_waited.first().at < until { self.ahead_waited.take_first() } else { None };
        };
        let line = &mut self.lines[*line as usize];
        let packet = line.front().copied().filter(|packet| packet.at < until)?;
        line.remove_first();
        Some(packet)
    }

    /// Returns the packets at the place of this number.
    pub(crate) fn place_ahead(&mut self, place: usize) -> &mut dyn Waiting {
        match self.ahead.get(place) {
            Some(line) => &mut self.lines[*line as usize],
            None => &mut self.ahead_waited,
        }
    }

    /// Returns the time of the first arrival at such a host.
    pub(crate) const fn first_ahead(&self) -> Time {
        self.first_ahead
    }

    /// Finds it again after packets have been removed.
    pub(crate) fn find_first_ahead(&mut self) {
        let Self { ahead, lines, .. } = self;
        ahead.retain(|line| lines[*line as usize].len() > 0);
        let on_lines = ahead.iter().map(|line| lines[*line as usize].first_at()).min();
        self.first_ahead = self.ahead_waited.first().at.min(on_lines.unwrap_or(Time::MAX));
    }

    /// Returns true if a packet for such a host that waited for its link arrives before `until`.
    pub(crate) fn has_waited_ahead(&self, until: Time) -> bool {
        self.ahead_waited.first().at < until
    }

    #[inline(never)]
    fn pop_waited(&mut self) -> Option<Packet> {
        let packet = self.waited.take_first();
        self.tournament.set(WAITED, self.first_that_waited());
        packet
    }

    /// Takes out what is to happen at `link`, if that is looked at later, until it is [put back](Self::put_back). Nothing is scheduled
    /// there meanwhile: what the link sends does not come back to it at once.
    pub(crate) fn take_out(&mut self, link: u32) -> Option<Box<Inlet>> {
        let mut inlet = self.inlets[link as usize].take()?;
        self.swap_lines(&mut inlet);
        Some(inlet)
    }

    /// Puts back what is still to happen at `link`.
    pub(crate) fn put_back(&mut self, link: u32, mut inlet: Box<Inlet>) {
        self.swap_lines(&mut inlet);
        self.inlets[link as usize] = Some(inlet);
        self.defer(link);
    }

    /// Exchanges the lines that lead to an inlet for those that it has, of which one side is empty. Where both are, nothing need be moved.
    #[inline(always)]
    fn swap_lines(&mut self, Inlet { lines, numbers, .. }: &mut Inlet) {
        for (line, number) in lines.iter_mut().zip(numbers) {
            let own = &mut self.lines[*number as usize];
            if own.len() + line.len() > 0 {
                mem::swap(line, own);
            }
        }
    }

    /// Lets what is still to happen at `link` wait until it is needed.
    fn defer(&mut self, link: u32) {
        let wake = self.inlets[link as usize].as_ref().map_or(Time::MAX, |inlet| inlet.wake());
        self.tournament.set(LINKS + link as usize, if wake < Time::MAX { start_key(wake) } else { NEVER });
    }

    /// Shortens the lookahead of `link` to `lookahead`, if it is longer.
    pub(crate) fn shorten(&mut self, link: u32, lookahead: Duration) {
        if let Some(Some(inlet)) = self.inlets.get_mut(link as usize) {
            inlet.lookahead = inlet.lookahead.min(lookahead);
            self.defer(link);
        }
    }

    /// Returns the links that are looked at later where something happens before `until`.
    pub(crate) fn links_before(&self, until: Time) -> Vec<u32> {
        let happens = |inlet: &Option<Box<Inlet>>| inlet.as_ref().is_some_and(|inlet| inlet.next < until);
        (0..).zip(&self.inlets).filter(|(_, inlet)| happens(inlet)).map(|(link, _)| link).collect()
    }

    /// Returns a time before which nothing happens.
    pub(crate) fn next_at(&mut self) -> Time {
        let inlets = self.inlets.iter().flatten().map(|inlet| inlet.next).min();
        let in_turn = time_of(self.tournament.known_winner()).min(self.arrivals.winner().at);
        in_turn.min(self.first_ahead).min(inlets.unwrap_or(Time::MAX))
    }

    /// Returns the number of packets on links.
    pub(crate) fn packets(&self) -> usize {
        let waited: usize = self.inlets.iter().flatten().map(|inlet| inlet.waited.len()).sum();
        waited + self.waited.len() + self.ahead_waited.len() + self.lines.iter().map(DelayLine::len).sum::<usize>()
    }

    /// Returns the packets on links, in any order.
    pub(crate) fn into_packets(self) -> impl Iterator<Item = Packet> {
        let waited = self.inlets.into_iter().flatten().flat_map(|inlet| inlet.waited.into_packets());
        let waited = waited.chain(self.waited.into_packets()).chain(self.ahead_waited.into_packets());
        waited.chain(self.lines.into_iter().flat_map(DelayLine::into_packets))
    }

    /// Returns the timers and all else that is no arrival.
    #[inline(always)]
    pub(crate) const fn timers(&mut self) -> &mut EventQueue {
        &mut self.events
    }

    /// Returns the packets that wait where the last arrival came from.
    #[inline(always)]
    pub(crate) fn last_place(&mut self, arrived: Arriving) -> &mut dyn Waiting {
        match arrived {
            Arriving::OnLine(leaf) => &mut self.lines[self.line_of[leaf as usize] as usize],
            Arriving::Waited => &mut self.waited,
        }
    }

    fn first_that_waited(&self) -> u128 {
        match self.waited.first() {
            FirstArrival { at: Time::MAX, .. } => NEVER,
            FirstArrival { at, flow, .. } => arrival_key(at, flow),
        }
    }
}

/// Returns true if a packet of `flow` that arrives on a line at `at` comes before what has this key. Of the same flow, a packet that waited
/// comes first.
#[inline(never)]
fn comes_first(at: Time, flow: u32, key: u128) -> bool {
    arrival_key(at, flow) | u128::from(u32::MAX) < key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Flags, NO_SACK};

    /// Would catch lines that stay among those with packets after these were taken, once for each packet, and a first arrival that is not found again.
    #[test]
    fn lines_without_packets_are_forgotten() {
        let mut schedule =
            Schedule::new(&[LineEnd::Ahead(0), LineEnd::Ahead(0)], &[Some(Duration::from_millis(1))], 1.0);
        let at = Time::from_nanos;
        for nanos in [10, 20, 30] {
            let (sent, flags) = (Time::ZERO, Flags::default());
            let packet = Packet { sent, at: sent, flow: 0, seq: 0, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 };
            schedule.send(0, &packet, (at(nanos), 1), false);
            schedule.send(1, &packet, (at(nanos + 5), 1), false);
            schedule.send(0, &packet, (at(nanos + 7), 1), true);
            assert_eq!((schedule.places_ahead(), schedule.first_ahead()), (3, at(nanos)));
            let due = |schedule: &mut Schedule, until| {
                let places = 0..schedule.places_ahead();
                let due = places.filter(|place| schedule.pop_ahead(*place, until).is_some()).count();
                schedule.find_first_ahead();
                due
            };
            assert_eq!(due(&mut schedule, at(nanos)), 0);
            assert_eq!(due(&mut schedule, at(nanos + 1)), 1);
            assert_eq!((schedule.places_ahead(), schedule.first_ahead()), (2, at(nanos + 5)));
            assert_eq!(due(&mut schedule, at(nanos + 9)), 2);
            assert_eq!((schedule.places_ahead(), schedule.first_ahead()), (1, Time::MAX));
        }
    }

    /// Packets to a link that is looked at a millisecond later, each before all others: one that waited for its host's link, then others with and
    /// without a wait. Would catch a packet that is on a line and of which the link does not know, so that it would be handled late.
    #[test]
    fn a_link_knows_of_the_first_packet_of_each_line() {
        let lookahead = Duration::from_millis(1);
        for waits in [[true, true, true], [true, false, true], [false, true, false], [false, false, true]] {
            let mut schedule = Schedule::new(&[LineEnd::Link(0)], &[Some(lookahead)], 1.0);
            for (nanos, waited) in [500_u64, 400, 300].into_iter().zip(waits) {
                let (sent, at, flags) = (Time::ZERO, Time::from_nanos(nanos), Flags::default());
                let packet = Packet { sent, at, flow: 0, seq: 0, bytes: 1, route: 0, sack: NO_SACK, flags, class: 0 };
                schedule.send(0, &packet, (at, 0), waited);
                assert_eq!((schedule.next_at(), schedule.links_before(at)), (at, vec![]));
                assert_eq!(schedule.links_before(at + Duration::from_nanos(1)), [0]);
            }
            assert_eq!(schedule.packets(), 3);
            let next = schedule.next_before(Time::MAX);
            assert!(matches!(next, Some((at, Next::Link(0))) if at == Time::from_nanos(300) + lookahead), "{next:?}");
        }
    }
}
